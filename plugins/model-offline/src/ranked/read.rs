//! Reads the words of a question into items: texts, times, names, operators, numbers and small words.

use jiff::civil::Date;

use super::items::{Item, Kind};
use super::lexis::{self, Op, Quality, holds};
use super::link::{Hit, Index, LONGEST, Target};
use super::requests::{directed, requested};
use super::sentences::{
    TAIL, as_percentage, counts_of, defined, elliptic, ends_as_figures, figures_as_ends,
    names_in_full, opposites, plain_order, plain_rows, restated, sentences, with_tail,
    without_matching, without_tail,
};
use super::{lengths, times};
use crate::catalog::ColumnRef;
use crate::measures;
use crate::vocabulary::{Aggregate, MatchPosition};
use crate::words::{Token, TokenKind, tokenize};

/// Reads a question sentence by sentence; `today` is what "last month" goes by.
pub fn read(question: &str, index: &Index, today: Option<Date>) -> Vec<Item> {
    let mut items = Vec::new();
    let put_right = |sentence: &String| {
        let (sentence, defined) = defined(sentence);
        let tokens = opposites(
            without_matching(requested(tokenize(&sentence), index), index),
            index,
        );
        let tokens = counts_of(tokens, index);
        let tokens = plain_rows(without_tail(names_in_full(tokens, index)));
        let parts = with_tail(plain_order(directed(tokens)))
            .into_iter()
            .enumerate();
        let parts = parts.map(|(at, part)| (at > 0, part, defined.clone()));
        parts.collect::<Vec<_>>()
    };
    for (is_tail, tokens, defined) in sentences(question).iter().flat_map(put_right) {
        if !items.is_empty() {
            let mark = if is_tail { TAIL } else { "." };
            items.push(Item::plain(Kind::Op(Op::Break), mark));
        }
        let mut at = 0;
        while at < tokens.len() {
            let place = Place {
                tokens: &tokens,
                at,
                index,
                today,
            };
            if place.sums_total() {
                items.push(Item::plain(Kind::Op(Op::Agg(Aggregate::Sum)), "total"));
            }
            let (used, mut item) = place.item(&items);
            item.optional |=
                item.kind == Kind::Unknown && defined.contains(&item.text.to_lowercase());
            items.push(item);
            at += used;
        }
    }
    ends_as_figures(&mut items);
    figures_as_ends(&mut items);
    as_percentage(&mut items);
    restated(&mut items);
    lengths::settle(&mut items, index);
    items
}

/// A place in a sentence.
struct Place<'a> {
    tokens: &'a [Token],
    at: usize,
    index: &'a Index,
    today: Option<Date>,
}

impl Place<'_> {
    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |t| t.norm.as_str())
    }

    fn before(&self) -> &str {
        self.at.checked_sub(1).map_or("", |b| self.word(b))
    }

    fn is_capital(&self) -> bool {
        self.tokens[self.at]
            .text
            .starts_with(|c: char| c.is_uppercase())
    }

    /// Whether a word alone may mean a column.
    fn is_column(&self, at: usize, least: f32) -> bool {
        let hits = self.index.hits(&self.tokens[at..=at]);
        hits.iter()
            .any(|h| h.score >= least && matches!(h.target, Target::Column(_)))
    }

    fn plain(&self, used: usize, kind: Kind) -> (usize, Item) {
        let texts: Vec<&str> = self.tokens[self.at..self.at + used]
            .iter()
            .map(|t| t.text.as_str())
            .collect();
        (used, Item::plain(kind, &texts.join(" ")))
    }

    /// The item that starts here, with the number of its tokens.
    fn item(&self, before: &[Item]) -> (usize, Item) {
        let token = &self.tokens[self.at];
        if token.kind == TokenKind::Quoted || before.last().is_some_and(|b| self.is_pattern(b)) {
            let (used, mut item) = self.plain(1, Kind::Quote(token.text.trim().to_owned()));
            item.hits = self.index.hits(&self.tokens[self.at..=self.at]);
            item.hits.retain(|h| matches!(h.target, Target::Value(..)));
            return (used, item);
        }
        if matches!(
            [0, 1, 2].map(|i| self.word(self.at + i)),
            ["his", "or", "her"] | ["her", "or", "his"]
        ) {
            return self.plain(3, Kind::Soft);
        }
        if let Some(used) = self.unit_of(before) {
            return self.plain(used, Kind::Soft);
        }
        let code = self.is_code(before.last());
        let op = self.op().filter(|op| !code || *op != (1, Op::In));
        if self.at < 3 && self.word(self.at) == "all" && self.word(self.at + 1) == "of" {
            // "What are all of the names?"
            return self.plain(2, Kind::Soft);
        }
        let special = self.special();
        // A view called `average_rating` must not swallow "average rating", which has a meaning without it.
        let of_views = |hits: &[Hit]| hits.iter().all(|h| self.index.is_of_view(&h.target));
        let free = op.is_none() && special.is_none();
        let named = self.named().filter(|(_, hits)| free || !of_views(hits));
        let most = named.as_ref().map_or(0, |(used, _)| *used);
        let wins = |(used, kind): &(usize, Kind)| {
            *used >= most || matches!(kind, Kind::FirstRows(_) | Kind::End(_) | Kind::Soft)
        };
        if let Some((used, kind)) = special.filter(wins) {
            return self.plain(used, kind);
        }
        let soft = lexis::is_soft(&token.norm);
        if let Some((used, hits)) = named {
            let (_, mut item) = self.plain(used, Kind::Names);
            item.hits = hits;
            item.proper = self.at > 0 && self.is_capital();
            // "each dataset", where a table is called so
            let is_each = before.last().is_some_and(|b| b.is(Op::Each)) && item.table() >= 0.95;
            item.optional = used == 1 && soft && !code && !self.is_letter() && !is_each;
            let strength = item.table().max(item.column()).max(item.value());
            let wins = match op {
                Some((length, Op::Beyond | Op::Pair(_))) if used == length => {
                    item.table().max(item.column()) >= 0.8 && !holds("best worst", &token.norm)
                        || item.column() >= 0.95
                        || (item.value() > 0.9 && self.is_capital())
                }
                _ => used > op.map_or(0, |(length, _)| length),
            };
            if wins && (!item.optional || strength >= 0.6) {
                if used == 1 {
                    elliptic(self.tokens, self.at, &mut item, before, self.index);
                }
                return (used, item);
            }
        }
        if let Some((used, op)) = op {
            return self.plain(used, Kind::Op(op));
        }
        let kind = match token.kind {
            TokenKind::Number => Kind::Number(token.norm.clone()),
            TokenKind::Word if code || self.carries(soft) => Kind::Unknown,
            TokenKind::Word if soft || self.is_filler(before.last()) => Kind::Soft,
            _ => Kind::Unknown,
        };
        let (used, mut item) = self.plain(1, kind);
        item.proper = item.kind == Kind::Unknown && self.is_capital();
        (used, item)
    }

    /// The operator that starts here.
    fn op(&self) -> Option<(usize, Op)> {
        let found = lexis::op(self.tokens, self.at);
        // "never ordered", "ordered in 2024": what happened, and not how rows are put.
        let after = self.tokens.get(self.at + 2);
        let timed =
            self.word(self.at + 1) == "in" && after.is_some_and(|t| t.kind != TokenKind::Word);
        let happened = timed || matches!(self.before(), "never" | "not");
        if self.word(self.at) == "ordered" && happened || self.is_total() || self.sums_total() {
            return None;
        }
        if found == Some((1, Op::Beyond)) && self.is_end_of_rows() {
            let last = self.word(self.at) == "last";
            return Some((1, Op::Most(last, Some(Quality::Time))));
        }
        let Some((used, Op::Agg(_) | Op::NumberOf)) = found else {
            return found;
        };
        // "total amount of": where a column is the amount, the word names it.
        let amount = |i: &usize| self.word(*i) == "amount" && self.is_column(*i, 0.6);
        let amount = (self.at..self.at + used).find(amount);
        amount.map_or(found, |i| lexis::op(&self.tokens[..i], self.at))
    }

    /// Whether "first" or "last" is said of the rows of a table with dates: "the last order".
    fn is_end_of_rows(&self) -> bool {
        let rows = self.tokens.get(self.at + 1..self.at + 2);
        let hits = rows.map_or_else(Vec::new, |t| self.index.hits(t));
        let dated = |table| self.index.dates.iter().any(|d| d.table == table);
        let named = |h: &Hit| matches!(h.target, Target::Table(t) if h.score >= 0.9 && dated(t));
        holds("first last", self.word(self.at)) && hits.iter().any(named)
    }

    /// A taught metric, a time or a measure.
    fn special(&self) -> Option<(usize, Kind)> {
        if let Some((used, metric)) = self.index.taught(self.tokens, self.at) {
            return Some((used, Kind::Measure(metric)));
        }
        let time = times::read(self.tokens, self.at, self.index, self.today);
        time.or_else(|| self.measure())
    }

    /// Where the first taught metric behind this place starts: no other name reaches into it.
    fn next_taught(&self) -> usize {
        let all = self.tokens.len();
        let mut behind = self.at + 1..all.min(self.at + LONGEST);
        let found = behind.find(|i| self.index.taught(self.tokens, *i).is_some());
        found.unwrap_or(all)
    }

    /// A measure, where no table has a column that is called so. What a view works out is left to the measure.
    fn measure(&self) -> Option<(usize, Kind)> {
        let (used, measure) = measures::phrase(&self.tokens[..self.next_taught()], self.at)?;
        let hits = self.index.hits(&self.tokens[self.at..self.at + used]);
        // What a table is called are its rows: "number of sales".
        let own =
            |h: &Hit| h.score >= 0.6 && self.is_amount(h) || h.score >= 0.95 && h.table().is_some();
        let known = self.index.measures.contains(&measure) && !hits.iter().any(own);
        known.then_some((used, Kind::Measure(measure)))
    }

    fn is_amount(&self, hit: &Hit) -> bool {
        matches!(hit.target, Target::Column(c) if self.index.is_amount(c))
    }

    /// Whether "total" is the column that is called so: "a total of more than 200", "the average total", "order total",
    /// "the sum of total".
    fn is_total(&self) -> bool {
        let behind_of = self.at > 1 && self.before() == "of";
        let of = if behind_of {
            self.word(self.at - 2)
        } else {
            self.before()
        };
        let figure =
            holds("average maximum minimum highest lowest sum", of) || self.before() == "order";
        let (next, then) = (self.word(self.at + 1), self.word(self.at + 2));
        let bound = holds("over above below", next);
        let compared =
            bound || holds("of under between", next) && holds("more less at over above", then);
        (figure || compared) && self.names_total()
    }

    /// Whether "total" stands here, and a column is called so.
    fn names_total(&self) -> bool {
        self.word(self.at) == "total" && self.means_amount(self.at, 0.95)
    }

    /// Whether "total" asks for the sum of the column that is called so: "the total per customer", "the total of all
    /// orders". In "the total of all prices" it is that of another column.
    fn sums_total(&self) -> bool {
        let next = self.at + 1;
        let words = self.tokens.iter().enumerate().skip(next + 1);
        let mut behind = words.filter(|(_, t)| !holds(STOPS, &t.norm));
        let mut of_rows = || {
            let noun = behind.next();
            noun.is_some_and(|(at, t)| t.kind == TokenKind::Word && !self.means_amount(at, 0.6))
        };
        let ends = self
            .tokens
            .get(next)
            .is_none_or(|t| t.kind == TokenKind::Symbol);
        let goes_on = ends || holds("per by each for in on", self.word(next));
        self.names_total()
            && self.before() != "in"
            && !self.is_total()
            && (goes_on || self.word(next) == "of" && of_rows())
    }

    fn means_amount(&self, at: usize, least: f32) -> bool {
        let hits = self.index.hits(&self.tokens[at..=at]);
        hits.iter().any(|h| h.score >= least && self.is_amount(h))
    }

    /// Whether a small word says something here: "received an A", "who report to her", "who made an order", "the
    /// country and state".
    fn carries(&self, soft: bool) -> bool {
        let before = self.before();
        let word = self.word(self.at);
        // "in the year 2023", "5 years": beside a number it only says what that is.
        let near = self.at.saturating_sub(3)..self.tokens.len().min(self.at + 4);
        let is_number = |t: &Token| matches!(t.kind, TokenKind::Number | TokenKind::Date);
        let timed = self.tokens[near].iter().any(is_number);
        let listed = matches!(before, "and" | ",") && self.is_column(self.at, 0.0);
        self.at > 0
            && (self.tokens[self.at].text == "A"
                || word == "us" && before == "the"
                || holds("year years", word) && !timed
                || holds(REQUESTS, word) && holds("who that which to", before)
                || word == "order" && matches!(before, "an" | "a")
                || soft && listed && !holds("list show find give name return order", word))
    }

    /// "in the division AS?": a word in capitals behind a name, where others are not. "customers IN Rome" goes on.
    fn is_code(&self, before: Option<&Item>) -> bool {
        let small = |token: &Token| token.text.contains(char::is_lowercase);
        let ends = self
            .tokens
            .get(self.at + 1)
            .is_none_or(|next| next.kind == TokenKind::Symbol);
        before.is_some_and(Item::is_name)
            && ends
            && !small(&self.tokens[self.at])
            && self.tokens.iter().any(small)
    }

    /// Whether "A" is a letter and no article: "grade A", "got an A", "is A or B".
    fn is_letter(&self) -> bool {
        let Some(before) = self.at.checked_sub(1) else {
            return false;
        };
        let next = self.tokens.get(self.at + 1);
        let ends =
            next.is_none_or(|next| next.kind == TokenKind::Symbol || holds("and or", &next.norm));
        let is_named = || self.word(before) == "an" || self.is_column(before, 0.6);
        self.tokens[self.at].text == "A" && (ends || is_named())
    }

    /// Whether a word without quotes is the text that names start with, or hold: "starts with the letter J".
    fn is_pattern(&self, before: &Item) -> bool {
        let Some(Op::Like(place)) = before.op() else {
            return false;
        };
        let token = &self.tokens[self.at];
        let said = before.text.to_lowercase();
        let ends = |words: &str| holds(words, said.rsplit(' ').next().unwrap_or_default());
        let is_letter = ends("letter") && token.norm.chars().count() == 1;
        let is_named = ends("letter letters word string substring phrase")
            || place != MatchPosition::Inside && ends("with in prefix");
        let is_free = || {
            let hits = self.index.hits(&self.tokens[self.at..=self.at]);
            let names = |h: &Hit| h.score >= 0.6 && h.value().is_none();
            let small = lexis::is_soft(&token.norm) || lexis::op(self.tokens, self.at).is_some();
            !small && !hits.iter().any(names)
        };
        token.kind == TokenKind::Word && (is_letter || is_named && is_free())
    }

    /// Whether an unknown word adds nothing to its neighbours: "staff members", "30 minutes", "songs steered by".
    fn is_filler(&self, before: Option<&Item>) -> bool {
        let word = self.word(self.at);
        let rows = before.is_some_and(|b| b.is_name() && b.table() >= 0.8);
        let or_more = |b: &Item| {
            matches!(b.op(), Some(Op::Compare(..))) && b.text.to_lowercase().starts_with("or ")
        };
        let number = before.is_some_and(|b| matches!(b.kind, Kind::Number(_)) || or_more(b));
        let stem = word
            .strip_suffix("ed")
            .filter(|s| s.len() > 2 && !s.starts_with("un"));
        // "customers churned in 2023": the time is that of the verb, which no column has.
        let verb = stem
            .is_some_and(|s| holds(VERB_ENDS, self.word(self.at + 1)) && !self.index.has_part(s))
            && !self.is_time(self.at + 2);
        (rows && holds(MEMBERS, word)) || (number && holds(UNITS, word)) || verb
    }

    /// The words of a unit that is said of a number or of what stands before it: "rivers in square kilometers", "over 200
    /// mph". Where a name of the catalog says another unit, they carry something.
    fn unit_of(&self, items: &[Item]) -> Option<usize> {
        let before = items.last()?;
        let is_number = matches!(before.kind, Kind::Number(_));
        let mut end = self.at;
        if !is_number {
            let named = before.is_name() && !before.is_value();
            end += usize::from(named && self.word(end) == "in");
            if end == self.at {
                return None;
            }
            // "in people per square kilometer"
            end += 2 * usize::from(self.word(end) == "people" && self.word(end + 1) == "per");
        }
        end += usize::from(holds("square cubic", self.word(end)));
        // The last column that is said, or any: "the length of each ship in feet", "ships longer than 9 feet".
        let said = items.iter().rev().take_while(|i| !i.is(Op::Break));
        let column = said.filter(|i| i.is_name()).find(|i| i.column() >= 0.8);
        let fits = |c: ColumnRef| column.is_none_or(|i| i.has_column(0.8, |own| own == c));
        let closes = self.tokens.get(end + 1).is_none_or(|next| {
            next.kind == TokenKind::Symbol || holds("and for of in by", &next.norm)
        });
        let hits = self.tokens.get(end..=end).map(|unit| self.index.hits(unit));
        let is_free = hits.is_some_and(|hits| hits.iter().all(|h| h.score < 0.85));
        let fits = is_free && (is_number || closes) && self.index.may_be_in(self.word(end), fits);
        fits.then_some(end + 1 - self.at)
    }

    /// Whether a year, a date or a period stands at a place: "2023", "the year 2023", "March".
    fn is_time(&self, mut at: usize) -> bool {
        while holds("the year", self.word(at)) {
            at += 1;
        }
        self.tokens.get(at).is_some_and(|token| {
            let is_year = token.kind == TokenKind::Number && token.norm.len() == 4;
            let period = || times::read(self.tokens, at, self.index, self.today);
            let is_period =
                |(_, kind): (usize, Kind)| matches!(kind, Kind::Period(_) | Kind::BadPeriod(_));
            is_year || period().is_some_and(is_period)
        })
    }

    /// The longest name or value that starts here.
    fn named(&self) -> Option<(usize, Vec<Hit>)> {
        let token = &self.tokens[self.at];
        let tokens = &self.tokens[..self.next_taught()];
        let (mut used, mut hits) = self.index.longest(tokens, self.at)?;
        let value = |h: &Hit| matches!(h.target, Target::Value(..));
        if used == 1 {
            let short = token.norm.chars().count() < 2 && !self.is_capital();
            let asks = self.at == 0 && holds(REQUESTS, &token.norm);
            let stops = holds(STOPS, &token.norm) && !self.is_letter();
            if short || asks || token.kind != TokenKind::Word || stops {
                return None;
            }
            if lexis::is_soft(&token.norm) && !self.is_capital() {
                // "run drills": a small word is a value only where the next word names the table that holds it.
                let next = self.tokens.get(self.at + 1..self.at + 2);
                let next = next.map_or_else(Vec::new, |t| self.index.hits(t));
                let names = |t| {
                    next.iter()
                        .any(|h| h.target == Target::Table(t) && h.score >= 0.9)
                };
                hits.retain(|h| match h.target {
                    Target::Value(c, _) => names(c.table),
                    _ => true,
                });
            }
        } else if hits.iter().any(value) {
            // "Kent County": the value of one column, or `Kent` in the column `county`.
            let last = self.at + used - 1;
            let columns = self.index.hits(&self.tokens[last..=last]);
            let called = |c| {
                columns
                    .iter()
                    .any(|k| k.target == Target::Column(c) && k.score >= 0.9)
            };
            let mut first = self.index.hits(&self.tokens[self.at..last]);
            first.retain(|h| matches!(h.target, Target::Value(c, _) if called(c)));
            hits.extend(first);
            // "Oak Street" names a street that is called Oak before a stop of that name.
            let rows = columns
                .iter()
                .find(|h| h.score >= 0.9 && h.table().is_some());
            let mut first = self.index.hits(&self.tokens[self.at..last]);
            let table = rows.and_then(Hit::table);
            first.retain(|h| h.value().is_some_and(|c| Some(c.table) == table));
            if !first.is_empty()
                && !hits
                    .iter()
                    .any(|h| h.value().is_some_and(|c| Some(c.table) == table))
            {
                hits = first;
            }
        }
        // "phone numbers" are the column `phone`, and "region names" the column `region`.
        let exactly = |h: &Hit| h.score >= 0.85 && matches!(h.target, Target::Column(_));
        let rows = |h: &Hit| matches!(h.target, Target::Table(_));
        let next = self.word(self.at + used);
        let amount = || hits.iter().any(|h| self.is_amount(h));
        let says = holds("number numbers", next) || holds("name names", next) && !amount();
        if says && hits.iter().any(exactly) && !hits.iter().any(rows) {
            hits.retain(|h| !value(h));
            used += 1;
        }
        // "driver names", where `driver.driver` is what each is called
        let free = self
            .tokens
            .get(self.at + used)
            .is_some_and(|t| self.index.hits(std::slice::from_ref(t)).is_empty());
        if holds("name names", next) && free && hits.iter().any(rows) {
            let called = |h: &Hit| {
                h.score >= 0.95
                    && h.column()
                        .is_some_and(|c| hits.iter().any(|r| r.table() == Some(c.table)))
            };
            let name: Vec<Hit> = hits.iter().filter(|h| called(h)).cloned().collect();
            if !name.is_empty() {
                (used, hits) = (used + 1, name);
            }
        }
        // A phrase that starts or ends with a small word is that phrase without it, and one that starts with a metric
        // is the metric.
        let edge = |at: usize| holds(STOPS, self.word(at)) || self.word(at) == ",";
        let exact = hits.iter().any(|h| h.score >= 0.95);
        let metric = self.index.taught(self.tokens, self.at).is_some();
        let weak = metric || edge(self.at) || edge(self.at + used - 1);
        let cut = used > 1 && !exact && weak;
        (!cut && !hits.is_empty()).then_some((used, hits))
    }
}

/// Behind the name of a table they only say that its rows are meant.
const MEMBERS: &str = "member members item items entity entities";

/// Behind a number they only say what it counts.
const UNITS: &str = "years points inclusive";

/// What follows a verb that only relates two rows.
const VERB_ENDS: &str = "by in at from to for on with as any the a an";

/// What a request starts with, whatever the catalog calls so.
const REQUESTS: &str = "return report list display state present output";

const STOPS: &str = "a an the what which who whom there we our us me my i you your it its they their them his her please can \
    could would will all any do does did is are was were be of in for from to at on and or not with that whose \
    have has had by than no how many more as this these those so if show find give";
