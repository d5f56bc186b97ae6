//! Figures made of two: "the ratio of A to B", "the percentage of A that …", "the difference between A and B", "the
//! average number of A per B". Each part is a question of its own, with the groups of the whole.

use super::items::{Item, Kind};
use super::lexis::{Op, holds};
use super::parse::Stuck;
use super::{Asked, Failure, Reader};
use crate::catalog::{Catalog, ColumnRef};
use crate::query::{Expr, Pair, Query, Way};
use crate::ranked::frame::{Frame, Test};
use crate::ranked::resolve::Trouble;
use crate::vocabulary::Aggregate;

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

fn says(item: &Item, words: &str) -> bool {
    holds(words, &item.text.to_lowercase())
}

fn is_small(item: &Item) -> bool {
    item.kind == Kind::Soft || item.is(Op::Is) || item.is(Op::Comma) || says(item, "how")
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
        let read = |part: &[Item], tail: &[Item]| {
            let whole = asks(self.catalog, part).ok_or_else(|| unclear(word))?;
            self.single([&whole, tail].concat(), true)
        };
        let is_inner = has_group(&parts.first) && !has_group(&parts.tail);
        let mut first = read(&parts.first, &parts.tail)?;
        if parts.second.is_empty() {
            parts.second =
                whole_of(&parts.first, parts.tail.len(), &first).ok_or_else(|| unclear(word))?;
        }
        let second = read(&parts.second, &parts.tail)?;
        if let Some((column, place)) = place_of(&parts.second, &second) {
            let own = columns(&first.query);
            let others = columns(&second.query).len() > 1;
            let apart = first.query.source.base != second.query.source.base;
            if !own.contains(&column) {
                if !(others || parts.is_whole || own.is_empty() && apart) {
                    let text = parts.second[place + 1..].iter().map(|i| i.text.as_str());
                    let text = text.collect::<Vec<_>>().join(" ");
                    return Err(unclear(&text));
                }
                // "A to B in Rome": the A are those in Rome too.
                parts.first.extend_from_slice(&parts.second[place..]);
                first = read(&parts.first, &parts.tail)?;
            }
        }
        let query = combined(self.catalog, first.query, second.query, &parts, is_inner);
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
    if let Some(verb) = rest.iter().position(|i| says(i, VARIES)) {
        let mut by = rest.split_off(verb);
        in_time = by.iter().any(|i| says(i, "over"));
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
        false => says(&rest[*i], "to out") && rest[*i].op() != Some(Op::NumberOf),
    };
    let places: Vec<usize> = (1..rest.len()).filter(joins).collect();
    let mut choices = Vec::new();
    for place in places {
        let is_out = says(&rest[place], "out");
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
            i.text
                .to_lowercase()
                .split(' ')
                .any(|w| holds("all total", w))
        };
        let is_whole =
            is_out || second.first().is_some_and(says_all) || second.iter().take(2).any(says_all);
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
        links || says(i, "over") || i.kind == Kind::Soft && !i.is_name()
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
            || says(i, "overall")
    };
    while items.pop_if(joins).is_some() {}
}

/// A part as a question for one figure.
fn asks(catalog: &Catalog, part: &[Item]) -> Option<Vec<Item>> {
    let mut part = part.to_vec();
    let first = part
        .iter()
        .position(|i| i.kind != Kind::Soft && !i.is(Op::Of))?;
    let figure = match (part[first].op(), &part[first].kind) {
        (Some(Op::Most(down, None)), _) => {
            let end = if down { Aggregate::Max } else { Aggregate::Min };
            part[first].kind = Kind::Op(Op::Agg(end));
            return Some(part);
        }
        (Some(Op::NumberOf | Op::HowMany | Op::Agg(_)), _) | (None, Kind::Measure(_)) => {
            return Some(part);
        }
        _ => part.iter().find(|i| i.is_name() && !i.optional)?,
    };
    // "transaction amount" names the rows and the column.
    let owned = part.windows(2).find(|w| {
        let figure = w[1].has_column(w[1].column(), |c| catalog.is_figure(c));
        w[0].is_table() && w[1].is_name() && w[1].column() > w[1].table() && figure
    });
    if owned.is_some() {
        part.insert(0, op(Op::Agg(Aggregate::Sum), "sum"));
        return Some(part);
    }
    let head = part
        .iter()
        .take_while(|i| !matches!(i.op(), Some(Op::Relative | Op::In | Op::Of)));
    let is_figure = figure.has_column(figure.column(), |c| catalog.is_figure(c));
    let asked = match head.clone().any(Item::is_table) {
        true => op(Op::HowMany, "how many"),
        false if is_figure => op(Op::Agg(Aggregate::Sum), "sum"),
        false => return None,
    };
    part.insert(0, asked);
    Some(part)
}

/// What the rows with a condition are a part of: those without what follows "that" or "are", or without their only
/// condition.
fn whole_of(part: &[Item], tail: usize, asked: &Asked) -> Option<Vec<Item>> {
    let head = part.iter().position(Item::is_table)?;
    if let Some(cut) = (head + 1..part.len()).find(|i| says_which(&part[*i])) {
        return Some(part[..cut].to_vec());
    }
    let [filter] = asked.frame.filters.as_slice() else {
        return None;
    };
    let start = asked.items.len().checked_sub(part.len() + tail)?;
    let mut places = vec![filter.at];
    places.extend(filter.column);
    if let Test::Values(values) = &filter.test {
        places.extend(values);
    }
    let places: Vec<usize> = places.iter().filter_map(|p| p.checked_sub(start)).collect();
    let kept = part
        .iter()
        .enumerate()
        .filter(|(at, i)| !places.contains(at) || i.is_table());
    let mut kept: Vec<Item> = kept.map(|(_, i)| i.clone()).collect();
    trim(&mut kept);
    Some(kept)
}

/// Where a part ends with "in Rome", and the column of that.
fn place_of(part: &[Item], asked: &Asked) -> Option<(ColumnRef, usize)> {
    let links = |i: &Item| i.is(Op::In) || i.is(Op::Of) && i.text.to_lowercase().starts_with("for");
    let place = part.iter().rposition(links)?;
    let named = |i: &Item| {
        let fits = i.kind == Kind::Soft || i.is(Op::Of) || i.is(Op::Named);
        fits || matches!(
            i.kind,
            Kind::Names | Kind::Quote(_) | Kind::Number(_) | Kind::Period(_)
        )
    };
    let is_behind_rows = part[..place].iter().any(is_thing);
    let last = asked.query.source.conditions.last().and_then(|c| c.first());
    let last = last.or_else(|| {
        asked
            .query
            .members
            .last()?
            .source
            .conditions
            .last()?
            .first()
    })?;
    let is_plain = is_behind_rows && part[place + 1..].iter().all(named);
    is_plain.then_some((last.column, place))
}

/// The columns that the conditions of a query are about.
fn columns(query: &Query) -> Vec<ColumnRef> {
    let of_members = query.members.iter().flat_map(|m| &m.source.conditions);
    let all = query.source.conditions.iter().chain(of_members).flatten();
    let mut columns: Vec<ColumnRef> = all.map(|c| c.column).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
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
    let groups = |q: &Query| -> Vec<String> {
        let shown = q.outputs.iter().filter(|o| !o.expr.is_figure());
        shown.map(|o| o.name.to_lowercase()).collect()
    };
    let same = groups(&first) == groups(&second) && first.groups.len() == second.groups.len();
    let shown = |q: &Query| q.groups.iter().all(|g| q.name_of(g).is_some());
    let same = same && shown(&first) && shown(&second);
    let is_share = is_inner && second.groups.is_empty() && first.source.base == second.source.base;
    let near =
        catalog.table(first.source.base).datasource == catalog.table(second.source.base).datasource;
    if !is_plain(&first) || !is_plain(&second) || !(same || is_share) || !near {
        return Err(shape);
    }
    if first.source == second.source
        && first.members == second.members
        && first.groups == second.groups
    {
        let figure = |q: &Query| {
            q.outputs
                .iter()
                .map(|o| o.expr.clone())
                .find(Expr::is_figure)
        };
        if figure(&first) == figure(&second) {
            return Err(shape);
        }
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
        let figure = query
            .outputs
            .iter()
            .map(|o| o.expr.clone())
            .find(Expr::is_figure);
        query.order = figure.into_iter().map(|f| (f, down)).collect();
    }
    query.pair = Some(Box::new(Pair {
        second,
        way: parts.way,
    }));
    Ok(query)
}
