//! Figures made of two: "the ratio of A to B", "the percentage of A that …", "the difference between A and B", "the
//! average number of A per B". Each part is a question of its own, with the groups of the whole.

mod bind;

use super::items::{Item, Kind};
use super::join::Graph;
use super::lexis::{Op, holds};
use super::parse::Stuck;
use super::{Asked, Failure, Reader};
use crate::catalog::{Catalog, Kind as Type};
use crate::query::{Edge, Expr, Pair, Query, Way, figure_of};
use crate::ranked::frame::Frame;
use crate::ranked::resolve::{Trouble, guessed};
use crate::vocabulary::Aggregate;
use bind::{is_part_of, whole_of};

/// Verbs that ask how a figure goes with groups.
const VARIES: &str = "vary varies differ differs change changes changed compare compares";

/// A question that asks for two figures, taken apart.
struct Parts {
    way: Way,
    first: Vec<Item>,
    second: Vec<Item>,
    /// Groups and the order, which hold for both.
    tail: Vec<Item>,
    /// The order of the figure, if the question says one: largest first.
    descending: Option<bool>,
    /// Whether groups are put in their own order: "over the years".
    in_time: bool,
    /// Whether the second is all that the first is a part of.
    is_whole: bool,
}

/// The figure of a part that does not say one.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Guess {
    None,
    Count,
    Sum,
}

fn stuck(items: &[Item]) -> Failure {
    let asks = items.iter().find(|i| matches!(i.op(), Some(Op::Pair(_))));
    unclear(asks.map_or("per", |i| &i.text))
}

fn unclear(text: &str) -> Failure {
    Failure::Stuck(Stuck::Unclear(text.to_owned()))
}

fn op(op: Op, text: &str) -> Item {
    Item::plain(Kind::Op(op), text)
}

fn is_small(item: &Item) -> bool {
    item.kind == Kind::Soft || item.is(Op::Is) || item.is(Op::Comma) || item.says("how")
}

/// A table, or a column that is no value.
fn is_thing(item: &Item) -> bool {
    item.is_name() && !item.optional || matches!(item.kind, Kind::Measure(_))
}

impl Reader<'_> {
    /// The reading of a question for two figures; none where it asks for something else.
    pub(super) fn paired(&self, items: &[Item]) -> Option<Result<Asked, Failure>> {
        let choices = choices(items)?;
        let mut failure = stuck(items);
        let mut found: Vec<Query> = Vec::new();
        for parts in choices {
            match self.joined(parts) {
                Ok(query) if found.contains(&query) => {}
                Ok(query) => found.push(query),
                Err(why) => failure = why,
            }
        }
        let query = match found.len() {
            0 => return Some(Err(failure)),
            1 => found.pop()?,
            // "flights to Rome to flights to Oslo": which "to" parts the two is not said.
            _ => return Some(Err(stuck(items))),
        };
        let (items, frame) = (items.to_vec(), Frame::default());
        Some(Ok(Asked {
            items,
            frame,
            query,
        }))
    }

    fn joined(&self, mut parts: Parts) -> Result<Query, Failure> {
        let word = parts.way.name();
        let read = |part: &[Item]| {
            let (asked, guess) = asks(self.catalog, part).ok_or_else(|| unclear(word))?;
            let asked = self.single([&asked, parts.tail.as_slice()].concat(), true)?;
            Ok::<_, Failure>((asked, guess))
        };
        let is_inner = has_group(&parts.first) && !has_group(&parts.tail);
        let (mut first, first_guess) = read(&parts.first)?;
        let is_share = parts.second.is_empty();
        if is_share {
            parts.second =
                whole_of(&parts.first, parts.tail.len(), &first).ok_or_else(|| unclear(word))?;
        }
        let (second, second_guess) = read(&parts.second)?;
        if is_share {
            let said = &parts.first[parts.second.len().min(parts.first.len())..];
            if !is_part_of(&first.query, &second.query, said) {
                return Err(unclear(word));
            }
        } else if parts.way != Way::Average
            && let Some(place) = self.shared(&parts, &first.query, &second.query, &read)?
        {
            // "A to B in Rome": the A are those in Rome too.
            parts.first.extend_from_slice(&parts.second[place..]);
            first = read(&parts.first)?.0;
        }
        if !fits(
            self.catalog,
            &parts,
            (&first.query, first_guess),
            (&second.query, second_guess),
        ) {
            return Err(unclear(word));
        }
        let mut first = first.query;
        if parts.way == Way::Average {
            first = belonging(self.catalog, first, &second.query).map_err(Failure::Trouble)?;
        } else if [first_guess, second_guess].contains(&Guess::Sum) {
            first
                .notes
                .push("each amount is summed up first".to_owned());
        }
        let query = combined(self.catalog, first, second.query, &parts, is_inner);
        query.map_err(Failure::Trouble)
    }
}

/// The ways to take a question apart; none where it asks for one figure.
fn choices(items: &[Item]) -> Option<Vec<Parts>> {
    let at = items
        .iter()
        .position(|i| matches!(i.op(), Some(Op::Pair(_))));
    let Some(at) = at else {
        return per(items).map(|parts| vec![parts]);
    };
    let Some(Op::Pair(way)) = items[at].op() else {
        return None;
    };
    let mut tail = groups_before(&items[..at])?;
    let mut rest = items[at + 1..].to_vec();
    let descending = order_of_figure(&mut rest);
    let mut in_time = false;
    if let Some(verb) = rest.iter().position(|i| i.says(VARIES)) {
        let mut by = rest.split_off(verb);
        in_time = by.iter().any(|i| i.says("over"));
        by.remove(0);
        tail.extend(grouped_by(by)?);
    }
    let ends = |i: &Item| matches!(i.op(), Some(Op::OrderBy | Op::Break));
    if let Some(end) = rest.iter().position(ends) {
        let mut behind = rest.split_off(end);
        behind.pop_if(|i| i.is(Op::Break));
        tail.extend(behind);
    }
    let between = way == Way::Difference || rest.first().is_some_and(|i| i.is(Op::Between));
    let opens = |i: &Item| matches!(i.op(), Some(Op::Of | Op::Between));
    if rest.first().is_some_and(opens) {
        rest.remove(0);
    } else if !items[at].text.contains(' ') {
        return None;
    }
    let joins = |i: &usize| match between {
        true => rest[*i].is(Op::And),
        false => rest[*i].says("to out") && rest[*i].op() != Some(Op::NumberOf),
    };
    let places: Vec<usize> = (1..rest.len()).filter(joins).collect();
    let mut choices = Vec::new();
    for place in places {
        let is_out = rest[place].says("out");
        let start = place + 1 + usize::from(is_out);
        let (mut first, mut second) = (rest[..place].to_vec(), rest.get(start..)?.to_vec());
        let mut tail = tail.clone();
        if let Some(group) = last_group(&second) {
            tail.splice(0..0, grouped_by(second.split_off(group))?);
        }
        trim(&mut second);
        if !first.iter().any(is_thing) {
            // "the highest and lowest price"
            let noun = second.iter().position(is_thing)?;
            first.extend_from_slice(&second[noun..]);
        }
        let says_all = |i: &Item| {
            let text = i.text.to_lowercase();
            !i.is(Op::Agg(Aggregate::Sum)) && text.split(' ').any(|w| holds("all total", w))
        };
        let is_whole = is_out || second.iter().take(2).any(says_all);
        choices.push(Parts {
            way,
            first,
            second,
            tail,
            descending,
            in_time,
            is_whole,
        });
    }
    if choices.is_empty() && !between {
        // "the percentage of A that …"
        let mut first = rest;
        if let Some(group) = last_group(&first) {
            // "of the students in each town who have a pet"
            let mut groups = first.split_off(group);
            let end = groups.iter().position(says_which);
            let behind = end.map_or_else(Vec::new, |end| groups.split_off(end));
            tail.splice(0..0, grouped_by(groups)?);
            trim(&mut first);
            first.extend(behind);
        }
        trim(&mut first);
        choices.push(Parts {
            way,
            first,
            second: Vec::new(),
            tail,
            descending,
            in_time,
            is_whole: true,
        });
    }
    Some(choices)
}

/// "the average number of orders per customer": all orders over all customers.
fn per(items: &[Item]) -> Option<Parts> {
    let average = Op::Agg(Aggregate::Average);
    let at = items.iter().position(|i| i.is(average))?;
    let is_bare = items[..at].iter().all(is_small);
    let counts = |i: &&Item| matches!(i.op(), Some(Op::NumberOf | Op::HowMany));
    let behind = items[at + 1..].iter().find(|i| i.kind != Kind::Soft);
    let each = (at..items.len()).find(|i| items[*i].is(Op::Each))?;
    let first = items[at + 1..each].to_vec();
    let counted = first.iter().find(|i| is_thing(i))?;
    let group = items[each + 1..].iter().find(|i| i.kind != Kind::Soft)?;
    let rows = |i: &Item| i.is_table() && i.column() < 0.8;
    let is_asked = is_bare && behind.as_ref().is_some_and(counts) && rows(counted) && rows(group);
    let mut second = items[each + 1..].to_vec();
    let ends = |i: &Item| matches!(i.op(), Some(Op::OrderBy | Op::Break | Op::Each));
    let mut tail = Vec::new();
    if let Some(end) = second.iter().position(ends) {
        tail = second.split_off(end);
    }
    is_asked.then_some(Parts {
        way: Way::Average,
        first,
        second,
        tail,
        descending: None,
        in_time: false,
        is_whole: false,
    })
}

/// "For each city, what is": the groups before the word. None where more stands there.
fn groups_before(items: &[Item]) -> Option<Vec<Item>> {
    let start = items
        .iter()
        .rposition(|i| i.is(Op::Break))
        .map_or(0, |i| i + 1);
    let kept: Vec<Item> = items[start..]
        .iter()
        .filter(|i| !is_small(i))
        .cloned()
        .collect();
    let is_group = |i: &Item| i.is(Op::Each) || i.kind == Kind::Names || i.is(Op::And);
    let opens = kept.first().is_none_or(|i| i.is(Op::Each));
    (start == 0 && opens && kept.iter().all(is_group)).then_some(kept)
}

fn has_group(items: &[Item]) -> bool {
    items.iter().any(|i| i.is(Op::Each))
}

/// Where the groups of a part start that end it.
fn last_group(items: &[Item]) -> Option<usize> {
    let named = |at: usize| {
        items[at + 1..].iter().all(|i| {
            i.kind == Kind::Soft || i.is_name() || i.is(Op::And) || matches!(i.kind, Kind::Unit(_))
        })
    };
    let opens = |at: &usize| items[*at].is(Op::Each) || items[*at].is(Op::By) && named(*at);
    (1..items.len()).find(opens)
}

/// "by city", "across different cities", "over the years": for each of them.
fn grouped_by(items: Vec<Item>) -> Option<Vec<Item>> {
    let opens = |i: &Item| {
        let links = matches!(
            i.op(),
            Some(Op::By | Op::Of | Op::In | Op::Each | Op::Distinct)
        );
        links || i.says("over") || i.kind == Kind::Soft && !i.is_name()
    };
    let start = items.iter().position(|i| !opens(i))?;
    if items[start..].iter().any(says_which) {
        // A condition behind the groups: of which of the two is not said.
        return None;
    }
    let rest = items[start..].iter().cloned();
    Some([op(Op::Each, "for each")].into_iter().chain(rest).collect())
}

/// Whether an item starts what is said of rows.
fn says_which(item: &Item) -> bool {
    matches!(
        item.op(),
        Some(
            Op::Relative
                | Op::Is
                | Op::Have
                | Op::Without
                | Op::Not
                | Op::Compare(..)
                | Op::Like(_)
        )
    )
}

/// Takes "ordered by the ratio" out, and gives its direction.
fn order_of_figure(items: &mut Vec<Item>) -> Option<bool> {
    let at = items
        .iter()
        .position(|i| matches!(i.op(), Some(Op::Pair(_))))?;
    let orders =
        |i: &usize| items[*i].is(Op::OrderBy) || matches!(items[*i].op(), Some(Op::Direction(_)));
    let start = (0..at).find(orders)?;
    let way = |i: &Item| matches!(i.op(), Some(Op::Direction(_)));
    let end = (at + 1..items.len())
        .take_while(|i| way(&items[*i]) || items[*i].kind == Kind::Soft)
        .last();
    let gone: Vec<Item> = items.drain(start..end.unwrap_or(at) + 1).collect();
    trim(items);
    let said = gone.iter().find_map(|i| match i.op() {
        Some(Op::Direction(down)) => Some(down),
        _ => None,
    });
    Some(said.unwrap_or(false))
}

/// Cuts what only joined a part to the next.
fn trim(items: &mut Vec<Item>) {
    let joins = |i: &mut Item| {
        matches!(
            i.op(),
            Some(Op::In | Op::Of | Op::Comma | Op::And | Op::Break)
        ) || i.kind == Kind::Soft
            || i.says("overall")
    };
    while items.pop_if(joins).is_some() {}
}

/// A part as a question for one figure, and the figure that it does not say itself: a number of rows, or a sum.
fn asks(catalog: &Catalog, part: &[Item]) -> Option<(Vec<Item>, Guess)> {
    let mut part = part.to_vec();
    let first = part
        .iter()
        .position(|i| i.kind != Kind::Soft && !i.is(Op::Of))?;
    let figure = match (part[first].op(), &part[first].kind) {
        (Some(Op::Most(down, None)), _) => {
            let end = if down { Aggregate::Max } else { Aggregate::Min };
            part[first].kind = Kind::Op(Op::Agg(end));
            return Some((part, Guess::None));
        }
        (Some(Op::NumberOf | Op::HowMany | Op::Agg(_)), _) | (None, Kind::Measure(_)) => {
            return Some((part, Guess::None));
        }
        _ => part.iter().find(|i| i.is_name() && !i.optional)?,
    };
    let is_figure = |i: &Item| i.has_column(i.column(), |c| catalog.is_figure(c));
    // "transaction amount" names the rows and the column.
    let owned = part.windows(2).any(|w| {
        w[0].is_table() && w[1].is_name() && w[1].column() > w[1].table() && is_figure(&w[1])
    });
    let ends = |i: &&Item| !matches!(i.op(), Some(Op::Relative | Op::In | Op::Of));
    let has_rows = part.iter().take_while(ends).any(Item::is_table);
    let (asked, guess) = match () {
        () if !owned && has_rows => (op(Op::HowMany, "how many"), Guess::Count),
        () if owned || is_figure(figure) => (op(Op::Agg(Aggregate::Sum), "sum"), Guess::Sum),
        () => return None,
    };
    part.insert(0, asked);
    Some((part, guess))
}

/// Whether two figures make one, as they were said.
fn fits(catalog: &Catalog, parts: &Parts, first: (&Query, Guess), second: (&Query, Guess)) -> bool {
    let is_count = |q: &Query| matches!(figure_of(q), Some(Expr::Count(_)));
    let is_date = |q: &Query| {
        let column = figure_of(q).and_then(Expr::column);
        let counted = is_count(q);
        column.is_some_and(|c| !counted && catalog.column(c).kind == Type::Date)
    };
    let adds_up = |q: &Query| match figure_of(q) {
        Some(Expr::Agg(aggregate, _)) => *aggregate == Aggregate::Sum,
        _ => true,
    };
    let sums = [first.1, second.1].contains(&Guess::Sum);
    let is_alike = is_count(first.0) == is_count(second.0);
    let is_summed = adds_up(first.0) && adds_up(second.0) && parts.way != Way::Difference;
    !is_date(first.0)
        && !is_date(second.0)
        && (!sums || is_summed)
        && (is_alike || matches!(parts.way, Way::Ratio | Way::Average))
        // "the average age of senior to junior bakers" is about two ages.
        && (second.1 != Guess::Count || is_count(first.0))
}

/// The rows of the first that belong to one of the second, where each belongs to one at most.
fn belonging(catalog: &Catalog, mut first: Query, second: &Query) -> Result<Query, Trouble> {
    let (base, whole) = (first.source.base, second.source.base);
    let apart = Trouble::Shape("rows that each belong to one of the others");
    let steps = Graph::of(catalog).connect(base, &[whole]);
    let steps = steps.map_err(Trouble::NoWay)?;
    if base == whole || !second.members.is_empty() || steps.iter().any(|e| e.many) {
        return Err(apart);
    }
    let is_open = |e: &Edge| {
        let columns = &catalog.table(e.from).columns;
        e.pairs.iter().any(|p| columns[p.0].nullable)
    };
    let [rows, others] = [base, whole].map(|t| catalog.table(t).name.clone());
    first
        .notes
        .push(format!("`{others}` without any `{rows}` count too"));
    if steps.iter().any(is_open) {
        let note = format!("`{rows}` without one of the `{others}` do not");
        first.notes.push(note);
    }
    first.notes.extend(guessed(catalog, &steps));
    let source = &mut first.source;
    for edge in steps.iter().chain(&second.source.joins) {
        let is_there = edge.to == base || source.joins.iter().any(|e| e.to == edge.to);
        match source.joins.contains(edge) {
            true => {}
            false if is_there => return Err(apart),
            false => source.joins.push(edge.clone()),
        }
    }
    for condition in &second.source.conditions {
        if !source.conditions.contains(condition) {
            source.conditions.push(condition.clone());
        }
    }
    Ok(first)
}

/// One query of two, whose groups are the same, or are those of the first alone.
fn combined(
    catalog: &Catalog,
    first: Query,
    second: Query,
    parts: &Parts,
    is_inner: bool,
) -> Result<Query, Trouble> {
    let shape = Trouble::Shape("two figures that fit together");
    let is_plain = |q: &Query| {
        let figures = q.outputs.iter().filter(|o| o.expr.is_figure()).count();
        let whole = q.intersect.is_none() && q.count_groups.is_none() && q.having.is_none();
        figures == 1 && whole && q.limit.is_none() && q.pair.is_none() && q.taught().is_none()
    };
    let names = |q: &Query| -> Vec<String> {
        let shown = q.outputs.iter().filter(|o| !o.expr.is_figure());
        shown.map(|o| o.name.to_lowercase()).collect()
    };
    // A month of each is the same month; a name of each is not the same name.
    let is_same = |(a, b): (&Expr, &Expr)| match (a, b) {
        (Expr::Bucket(unit, _), Expr::Bucket(other, _)) => unit == other,
        _ => a == b,
    };
    let same = names(&first) == names(&second)
        && first.groups.len() == second.groups.len()
        && first.groups.iter().zip(&second.groups).all(is_same);
    let shown = |q: &Query| q.groups.iter().all(|g| q.name_of(g).is_some());
    let same = same && shown(&first) && shown(&second);
    let is_share = is_inner && second.groups.is_empty() && first.source.base == second.source.base;
    let near =
        catalog.table(first.source.base).datasource == catalog.table(second.source.base).datasource;
    if !is_plain(&first) || !is_plain(&second) || !(same || is_share) || !near {
        return Err(shape);
    }
    let is_one = first.source == second.source && first.members == second.members;
    if is_one && first.groups == second.groups && figure_of(&first) == figure_of(&second) {
        return Err(shape);
    }
    let mut query = first;
    for note in &second.notes {
        if !query.notes.contains(note) {
            query.notes.push(note.clone());
        }
    }
    let name = parts.way.name();
    for output in query.outputs.iter_mut().filter(|o| o.expr.is_figure()) {
        name.clone_into(&mut output.name);
    }
    if parts.in_time {
        query.order = query.groups.iter().map(|g| (g.clone(), false)).collect();
    }
    if let Some(down) = parts.descending {
        let figure = figure_of(&query).cloned();
        query.order = figure.into_iter().map(|f| (f, down)).collect();
    }
    query.pair = Some(Box::new(Pair {
        second,
        way: parts.way,
    }));
    Ok(query)
}
