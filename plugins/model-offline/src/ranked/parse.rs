//! Takes a question apart: order, groups, rankings, conditions, and what is left is shown.

mod compare;
mod facts;
mod order;
mod rank;
mod rest;
mod select;
mod values;

pub use facts::bounded;

use super::frame::{At, Figure, Filter, Frame, Rank, Test};
use super::items::{Item, Kind};
use super::lexis::{self, Op, Quality};
use super::link::Hit;
use crate::catalog::{Catalog, ColumnRef};
use crate::dates::{DateTrouble, Period};
use crate::measures::{self, Measure};
use crate::pick::concept_column;
use crate::vocabulary::{Aggregate, Comparison, MatchPosition};

/// Why a question cannot be taken apart; the words in question.
#[derive(Debug, Clone, PartialEq)]
pub enum Stuck {
    /// Nothing in the catalog or the language explains these words.
    Unknown(Vec<String>),
    /// These words have a place that the rules do not know.
    Unclear(String),
    /// A time that could not be read.
    Date(String, DateTrouble),
    /// A question that goes on from another one, and says too much for that, or from one that was declined.
    Goes,
    /// A word for rows that the question does not name.
    Refers(String),
    /// Words with several meanings.
    Several(String, Vec<String>),
}

/// Reads the items of a question.
pub fn parse(catalog: &Catalog, items: &[Item]) -> Result<Frame, Stuck> {
    let unknown: Vec<String> = items
        .iter()
        .filter(|i| {
            i.kind == Kind::Unknown || matches!(&i.kind, Kind::Quote(t) if t.trim().is_empty())
        })
        .map(|i| i.text.clone())
        .collect();
    if !unknown.is_empty() {
        return Err(Stuck::Unknown(unknown));
    }
    if let Some((text, trouble)) = items.iter().find_map(|i| match i.kind {
        Kind::BadPeriod(trouble) => Some((i.text.clone(), trouble)),
        _ => None,
    }) {
        return Err(Stuck::Date(text, trouble));
    }
    if let Some(item) = unclear(items) {
        return Err(Stuck::Unclear(item.text.clone()));
    }
    let mut parser = Parser {
        catalog,
        items,
        used: vec![false; items.len()],
        heads: heads(items),
        frame: Frame::default(),
    };
    parser.total_of_rows()?;
    parser.first_rows();
    parser.units();
    parser.ends()?;
    parser.holding();
    parser.dated();
    parser.happened();
    parser.flags();
    parser.missing();
    parser.stocked();
    parser.short_groups();
    parser.order()?;
    parser.groups()?;
    parser.rank()?;
    parser.comparisons()?;
    parser.sold()?;
    parser.values()?;
    parser.numbers()?;
    parser.without()?;
    parser.select()?;
    parser.ranked_two_ways()?;
    parser.counted_beside();
    parser.counted_groups();
    parser.rest()?;
    parser.frame.groups.sort_unstable();
    parser.link_filters()?;
    let shared = items
        .windows(2)
        .any(|w| w[0].text.eq_ignore_ascii_case("shared") && w[1].is(Op::By));
    parser.frame.both |= shared && parser.frame.filters.len() == 2;
    parser.both_rows()?;
    parser.excepted()?;
    Ok(parser.frame)
}

/// A word that says more than the rules tell.
fn unclear(items: &[Item]) -> Option<&Item> {
    let says = |i: Option<&Item>, words: &str| i.is_some_and(|i| i.says(words));
    let soft = |i: &Item| i.kind == Kind::Soft;
    let small = |i: &&Item| soft(i) || i.optional;
    let is_verb = |i: &Item| small(&i) && lexis::is_relation(&i.text.to_lowercase());
    // "the total number of songs" names a figure, also where another one is asked for.
    let counts = |i: &Item| i.is(Op::HowMany) && !i.text.to_lowercase().ends_with("number of");
    let place = (0..items.len()).find(|at| {
        let (item, next) = (&items[*at], items.get(at + 1));
        let before = at.checked_sub(1).map(|b| &items[b]);
        let op = item.op();
        let asks = !soft(item) && says(Some(item), "where when");
        let people = soft(item) && says(Some(item), "people persons person");
        // "the year of each song", where nothing is called so.
        let noun = soft(item) && lexis::is_noun(&item.text.to_lowercase());
        // "customers who have an order", where no table is called so.
        let mut things = items[at + 1..].iter().take_while(small).take(2);
        asks && before.is_none_or(|b| b.is(Op::Break))
            || people && before.is_some_and(|b| matches!(b.kind, Kind::Number(_)))
            || noun && next.is_some_and(|i| matches!(i.op(), Some(Op::Of | Op::Each)))
            || counts(item) && items[..*at].iter().any(counts)
            || matches!(op, Some(Op::Beyond | Op::Pair(_)))
            // "what town is Berg the capital of": of which town is not put together.
            || next.is_none() && says(Some(item), "of")
            // "any town but Rome"
            || says(Some(item), "but") && next.is_some_and(Item::is_value)
            || op == Some(Op::Have) && things.any(|i| says(Some(i), "order record"))
            // "who rent flats that they own"
            || op == Some(Op::Relative)
                && says(next, "they he she it")
                && items[..*at].iter().any(is_verb)
    });
    place.map(|at| &items[at])
}

/// Whether a word asks for what follows.
fn asks(item: &Item) -> bool {
    const ASKING: &str = "show list give return find report display what which who name tell";
    let word = item.text.to_lowercase();
    item.kind == Kind::Soft && lexis::holds(ASKING, &word) || item.is(Op::HowMany)
}

/// Items before the first word that starts a condition, sentence by sentence.
fn heads(items: &[Item]) -> Vec<bool> {
    let mut head = true;
    let mut any = false;
    let mut start = 0;
    let says = |at: usize, words: &str| {
        let item = items.get(at);
        item.is_some_and(|i| i.says(words))
    };
    items
        .iter()
        .enumerate()
        .map(|(at, item)| {
            match item.op() {
                Some(Op::Break) => (head, any, start) = (true, false, at + 1),
                // "For towns with at least 3 shops, show the town"
                Some(Op::Comma) if matches!(items[start].op(), Some(Op::Of | Op::Each)) => {
                    head |= items.get(at + 1).is_some_and(asks);
                }
                // "buyers who paid by card, along with the total": goes on with what is shown.
                Some(Op::And) if !lexis::holds("and & but", &item.text) => head = true,
                // "films that are shown and the name of the cinema"
                Some(Op::And) if says(at + 1, "the") && says(at + 2, "name names") => {
                    head |= items.get(at + 3).is_some_and(|i| i.is(Op::Of));
                }
                // "days for which the price is high"
                Some(Op::Of | Op::In) if any && says(at + 1, "which whom") => head = false,
                Some(Op::Relative | Op::Without) if any => head = false,
                Some(Op::Have) if any => head = false,
                _ => any |= item.is_name(),
            }
            head
        })
        .collect()
}

struct Parser<'a> {
    catalog: &'a Catalog,
    items: &'a [Item],
    used: Vec<bool>,
    heads: Vec<bool>,
    frame: Frame,
}

impl Parser<'_> {
    pub(super) fn get(&self, at: usize) -> Option<&Item> {
        self.items.get(at).filter(|_| !self.used[at])
    }

    pub(super) fn op(&self, at: usize) -> Option<Op> {
        self.items.get(at).and_then(Item::op)
    }

    pub(super) fn name(&self, at: usize) -> Option<At> {
        self.get(at).filter(|i| i.is_name()).map(|_| at)
    }

    pub(super) fn is_column(&self, at: At) -> bool {
        let item = &self.items[at];
        item.column() > item.table()
    }

    pub(super) fn is_table(&self, at: At) -> bool {
        self.items[at].is_table()
    }

    /// Whether every column that the item best means holds numbers.
    pub(super) fn is_numeric(&self, at: At) -> bool {
        let item = &self.items[at];
        let top = item.column();
        let best = item.hits.iter().filter(|h| h.score > top - 0.1);
        top > 0.0
            && best
                .filter_map(Hit::column)
                .all(|c| self.catalog.is_figure(c))
    }

    /// Whether a name best means a key, which has no name of its own.
    pub(super) fn is_key(&self, at: At) -> bool {
        let item = &self.items[at];
        item.has_column(item.column(), |c| {
            self.catalog.table(c.table).is_key(c.column)
        })
    }

    /// Whether a name may be rows to count, or a column that says how many there are.
    pub(super) fn holds_count(&self, at: At) -> bool {
        let item = &self.items[at];
        // `shops.order_count` is no rival of the orders where the question speaks of no shops.
        let own = item.best_table();
        let mut others = self.items.iter().filter_map(Item::best_table);
        let alone = others.all(|t| Some(t) == own);
        // "orders per town", where only shops have a town, and an `order_count`.
        let grouped = |t: usize| {
            let theirs = |i: &usize| self.items[*i].has_column(0.85, |c| c.table == t);
            let of_rows = |i: &usize| !self.items[*i].has_column(0.85, |c| Some(c.table) == own);
            let mut groups = self.frame.groups.iter();
            groups.any(|i| theirs(i) && of_rows(i))
        };
        let rival = |t: usize| Some(t) == own || grouped(t) || !alone && self.speaks_of(t, at);
        let figure = |c: ColumnRef| self.catalog.is_figure(c) && rival(c.table);
        item.table() > 0.8 && item.column() > 0.85 && item.has_column(0.0, figure)
    }

    /// Whether another name than that at `at` is a table, or can only be something of it.
    fn speaks_of(&self, table: usize, at: At) -> bool {
        let only = |item: &Item| {
            let sure = item.hits.iter().filter(|h| h.score >= 0.85);
            let mut tables = sure.map(|h| h.target.table()).peekable();
            !item.optional && tables.peek().is_some() && tables.all(|t| t == table)
        };
        let mut others = self.items.iter().enumerate().filter(|(i, _)| *i != at);
        others.any(|(_, item)| item.best_table() == Some(table) || only(item))
    }

    /// "the top 3 shops by number of orders", where shops have an `order_count`.
    fn ranked_two_ways(&self) -> Result<(), Stuck> {
        let ranked = self.frame.rank.iter().map(|r| &r.by);
        for figure in ranked.chain(self.frame.order.iter().map(|o| &o.0)) {
            if let Figure::Count(name, false) = figure
                && self.holds_count(*name)
                && !self.is_narrowed(*name)
            {
                return Err(self.counted_two_ways(*name, *name));
            }
        }
        Ok(())
    }

    /// What a count may be of: the rows of a table, or what a column says.
    pub(super) fn counted_two_ways(&self, at: At, name: At) -> Stuck {
        let item = &self.items[name];
        let rows = item.best_table().map(|t| self.catalog.table(t));
        let rows = rows.map(|t| format!("number of rows of {}", t.name));
        let held = item.hits.iter().filter(|h| h.score > 0.85);
        let held = held.filter_map(Hit::column);
        let held = held.filter(|c| self.catalog.is_figure(*c));
        let choices = rows.into_iter().chain(held.map(|c| self.catalog.label(c)));
        let words = [at, name].map(|i| self.items[i].text.to_lowercase());
        let text = words[usize::from(at == name)..].join(" ");
        Stuck::Several(text, choices.collect())
    }

    /// Whether a condition is on a column of the table that a name may be: "reviews with a rating above 3".
    pub(super) fn is_narrowed(&self, at: At) -> bool {
        let table = self.items[at].best_table();
        let own = |c: ColumnRef| Some(c.table) == table;
        let mut named = self.frame.filters.iter().filter_map(|f| f.column);
        named.any(|c| self.items[c].has_column(0.95, own))
    }

    /// Whether the question names nothing but this table, by the table's own name.
    pub(super) fn is_only_name(&self, at: At) -> bool {
        let says = |i: &Item| i.kind != Kind::Soft && i.op().is_none() && !i.optional;
        let mut others = self.items.iter().enumerate().filter(|(i, _)| *i != at);
        let alone = self.frame.groups.is_empty();
        alone && self.items[at].table() >= 0.99 && !others.any(|(_, item)| says(item))
    }

    /// "both shops with a garden and shops with a yard": rows of two kinds, which no single row is.
    fn both_rows(&mut self) -> Result<(), Stuck> {
        let Some(both) = (0..self.items.len()).find(|at| self.op(*at) == Some(Op::Both)) else {
            return Ok(());
        };
        let next = self.skip(both + 1);
        let again =
            |at: usize| at > next && self.items[at].best_table() == self.items[next].best_table();
        let is_said = self.is_table(next) && (next..self.items.len()).any(again);
        let no_filters = self.frame.filters.is_empty();
        // "who have been both guards and cooks"
        let been = both
            .checked_sub(1)
            .is_some_and(|b| self.op(b) == Some(Op::Is));
        self.refuse(no_filters && been && self.is_table(next), both)?;
        if !is_said || self.frame.both || no_filters {
            return Ok(());
        }
        let mut filters = self.frame.filters.iter();
        self.refuse(
            self.frame.filters.len() != 2 || filters.any(|f| f.at < both || f.or),
            both,
        )?;
        self.frame.both = true;
        Ok(())
    }

    /// "except those in Rome with two rooms": all others, or of the others those with two rooms.
    fn excepted(&self) -> Result<(), Stuck> {
        let excepts = |at: &usize| {
            let word = self.items[*at].text.to_lowercase();
            self.op(*at) == Some(Op::Not)
                && (word.starts_with("except") || word.starts_with("exclud"))
        };
        match (0..self.items.len()).find(excepts) {
            Some(at) if self.frame.filters.iter().filter(|f| f.at > at).count() > 1 => {
                Err(self.stuck(at))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn soft(&self, at: usize) -> bool {
        self.items.get(at).is_some_and(|i| i.kind == Kind::Soft)
    }

    /// The next place that is not a small word.
    pub(super) fn skip(&self, mut at: usize) -> usize {
        while self.soft(at) {
            at += 1;
        }
        at
    }

    pub(super) fn skip_ops(&self, mut at: usize, ops: &[Op]) -> usize {
        while self.soft(at) || self.op(at).is_some_and(|o| ops.contains(&o)) {
            at += 1;
        }
        at
    }

    /// The place before `at` that is neither a small word nor one of `ops`.
    pub(super) fn back(&self, at: usize, ops: &[Op]) -> Option<usize> {
        let mut before = at;
        while before > 0 {
            before -= 1;
            let passes = self.soft(before) || self.op(before).is_some_and(|o| ops.contains(&o));
            if !passes {
                return Some(before);
            }
        }
        None
    }

    pub(super) fn take(&mut self, range: std::ops::Range<usize>) {
        for at in range {
            self.used[at] = true;
        }
    }

    /// Keeps a condition that some places say.
    pub(super) fn keep(&mut self, places: std::ops::Range<usize>, filter: Filter) {
        self.take(places);
        if let Some(column) = filter.column {
            self.used[column] = true;
        }
        self.frame.filters.push(filter);
    }

    pub(super) fn stuck(&self, at: usize) -> Stuck {
        Stuck::Unclear(self.items[at].text.clone())
    }

    pub(super) fn refuse(&self, is_so: bool, at: usize) -> Result<(), Stuck> {
        match is_so {
            true => Err(self.stuck(at)),
            false => Ok(()),
        }
    }

    /// "the number of songs", "average age": the figure, and the place behind it.
    pub(super) fn figure(&self, at: usize) -> Option<(Figure, usize)> {
        if let Some(Kind::Measure(measure)) = self.get(at).map(|i| &i.kind) {
            return Some((Figure::Measure(*measure, at), at + 1));
        }
        match self.op(at)? {
            Op::NumberOf | Op::HowMany => {
                let mut next = self.skip(at + 1);
                let distinct = self.op(next) == Some(Op::Distinct);
                if distinct {
                    next = self.skip(next + 1);
                }
                // "how many cat toys": a value that is a condition already.
                while self.items.get(next).is_some_and(|i| {
                    self.used[next]
                        && matches!(i.kind, Kind::Names | Kind::Number(_) | Kind::Op(Op::Not))
                }) {
                    next = self.skip(next + 1);
                }
                if let Some((figure, end)) = self.figure(next)
                    && matches!(figure, Figure::Measure(m, _) if m.counts(self.catalog))
                {
                    return Some((figure, end));
                }
                let name = self.name(next)?;
                // "how many customers ordered": no rows of `customer_order`.
                let last = self.items[name].text.to_lowercase();
                let verb = last.rsplit_once(' ').map(|words| words.1);
                if verb.is_some_and(|w| w.ends_with("ed") && lexis::is_relation(w)) {
                    return None;
                }
                let inner = self
                    .name(name + 1)
                    .filter(|n| self.is_table(name) && self.is_column(*n));
                let crowded = self.name(name + 1).is_some_and(|n| !self.items[n].optional);
                match inner {
                    // "official languages": which of the two is counted is not said.
                    None if crowded => None,
                    // "different player positions"
                    Some(column) => distinct.then_some((Figure::Count(column, true), column + 1)),
                    // "the number of tracks sold"
                    None if !distinct && self.are_sold(name, name + 1) => self
                        .sells(name)
                        .then_some((Figure::Measure(Measure::Units, name), name + 2)),
                    None => Some((Figure::Count(name, distinct), name + 1)),
                }
            }
            Op::Agg(aggregate) => {
                let next = self.skip_ops(at + 1, &[Op::Of]);
                if let Some((figure @ Figure::Measure(..), end)) = self.figure(next) {
                    let is_total = aggregate == Aggregate::Sum && self.adds_up(&figure);
                    return is_total.then_some((figure, end));
                }
                let name = self.name(next)?;
                let inner = self
                    .name(name + 1)
                    .filter(|n| self.is_table(name) && self.is_column(*n) && self.is_numeric(*n));
                let name = inner.unwrap_or(name);
                let grouped = !self.frame.groups.is_empty();
                if self.is_table(name)
                    && grouped
                    && self.items[at].text.eq_ignore_ascii_case("total")
                {
                    // "total payments by method" is their number.
                    return Some((Figure::Count(name, false), name + 1));
                }
                Some((Figure::Agg(aggregate, name), name + 1))
            }
            _ => None,
        }
    }

    /// Whether a total of the figure is the figure itself.
    pub(super) fn adds_up(&self, figure: &Figure) -> bool {
        match figure {
            Figure::Measure(measure, _) => measure.adds_up(self.catalog),
            _ => true,
        }
    }

    pub(super) fn negated_before(&mut self, at: usize) -> bool {
        let Some(before) = self.back(at, &[Op::Is, Op::In]) else {
            return false;
        };
        let not = self.op(before) == Some(Op::Not) && !self.used[before];
        if not {
            self.used[before] = true;
        }
        not
    }
}

fn is_year(number: &str) -> bool {
    number.len() == 4
        && number
            .parse::<u32>()
            .is_ok_and(|n| (1000..=2100).contains(&n))
}
