//! Which of two figures a condition belongs to, and what a share is a part of.

use super::{Guess, Parts, is_thing, says_which, trim, unclear};
use crate::catalog::ColumnRef;
use crate::query::{Expr, Query, figure_of};
use crate::ranked::frame::Test;
use crate::ranked::items::{Item, Kind};
use crate::ranked::lexis::{Op, holds, is_relation};
use crate::ranked::{Asked, Failure, Reader};
use crate::vocabulary::Aggregate;

impl Reader<'_> {
    /// Where what both parts share starts in the second: "in Rome" of "A to B in Rome". None where each condition
    /// belongs to its own part; where that is not plain, the question is declined.
    pub(super) fn shared(
        &self,
        parts: &Parts,
        first: &Query,
        second: &Query,
        read: &impl Fn(&[Item]) -> Result<(Asked, Guess), Failure>,
    ) -> Result<Option<usize>, Failure> {
        let (own, other) = (columns(first), columns(second));
        let read = |part: &[Item]| read(part).map(|(asked, _)| columns(&asked.query));
        // Where a part goes on behind its rows, and the columns of that which the other part has no condition on.
        let behind = |part: &[Item], own: &[ColumnRef], other: &[ColumnRef]| {
            let more = less(own, other);
            match end_of_rows(part).filter(|_| !more.is_empty()) {
                Some(end) => (end, less(&more, &read(&part[..end]).unwrap_or_default())),
                None => (0, Vec::new()),
            }
        };
        let (first_end, of_first) = behind(&parts.first, &own, &other);
        let (second_end, of_second) = behind(&parts.second, &other, &own);
        let is_apart = first.source.base != second.source.base;
        let is_same = figure_of(first) == figure_of(second);
        // A condition on what only the rows of this part have: "with a weight above 5".
        let is_own = |from: &Item, columns: &[ColumnRef], of: &Query| {
            let own = columns.iter().all(|c| c.table == of.source.base);
            is_apart && own && !is_place(from) && !from.says("where")
        };
        let (from, is_plain) = match (of_first.is_empty(), of_second.is_empty()) {
            (true, true) => return Ok(None),
            (false, true) => {
                let is_part = !is_apart && is_same && (parts.is_whole || other.is_empty());
                let from = &parts.first[first_end..];
                (from, is_part || is_own(&from[0], &of_first, first))
            }
            (true, false) => {
                let all = &parts.second;
                let starts = |i: &usize| is_place(&all[*i]) && all[i + 1..].iter().all(names_place);
                let place = (second_end..all.len()).find(starts);
                if let Some(place) = place {
                    let differ = is_apart || !is_same || !own.is_empty();
                    if parts.is_whole && !is_apart || differ && read(&all[..place])? == own {
                        return Ok(Some(place));
                    }
                }
                let from = &all[second_end..];
                let is_clause = place.is_none() && !from[0].says("where");
                let is_part = is_clause && own.is_empty() && !is_apart;
                (
                    from,
                    is_part || place.is_none() && is_own(&from[0], &of_second, second),
                )
            }
            (false, false) => (&parts.second[second_end..], false),
        };
        if is_plain {
            return Ok(None);
        }
        let text: Vec<&str> = from.iter().map(|i| i.text.as_str()).collect();
        Err(unclear(&text.join(" ")))
    }
}

fn less(all: &[ColumnRef], others: &[ColumnRef]) -> Vec<ColumnRef> {
    let rest = all.iter().filter(|c| !others.contains(c));
    rest.copied().collect()
}

/// Whether an item starts a place or an owner: "in Rome", "of Bob".
fn is_place(item: &Item) -> bool {
    matches!(item.op(), Some(Op::In | Op::Of)) || matches!(item.kind, Kind::Period(_))
}

fn names_place(item: &Item) -> bool {
    let fits = item.kind == Kind::Soft || item.is(Op::Of) || item.is(Op::Named);
    fits || matches!(
        item.kind,
        Kind::Names | Kind::Quote(_) | Kind::Number(_) | Kind::Period(_)
    )
}

/// Where a part goes on behind its rows: with a place, a time or a condition.
fn end_of_rows(part: &[Item]) -> Option<usize> {
    let mut head = part.iter().position(is_thing)?;
    loop {
        let opens = |i: &usize| is_place(&part[*i]) || says_which(&part[*i]);
        let end = (head + 1..part.len()).find(opens)?;
        let next = (end + 1..part.len()).find(opens).unwrap_or(part.len());
        // "the weight of the animals"
        let of_rows = part[end + 1..next]
            .iter()
            .all(|i| i.kind == Kind::Soft || i.is_table());
        match part[end].is(Op::Of) && of_rows {
            true => head = next - 1,
            false => return Some(end),
        }
    }
}

/// What the rows with a condition are a part of: those before the verb of the sentence ("orders that were paid | were
/// late"), before the only condition behind them, or without their only one.
pub(super) fn whole_of(part: &[Item], tail: usize, asked: &Asked) -> Option<Vec<Item>> {
    let head = part.iter().position(Item::is_table)?;
    let mut clauses = Vec::new();
    let mut wants_verb = false;
    for at in head + 1..part.len() {
        let (item, before) = (&part[at], &part[at - 1]);
        let text = item.text.to_lowercase();
        let is_verb = match item.op() {
            Some(Op::Is | Op::Have) => true,
            Some(Op::Not) => text.ends_with(" not"),
            Some(Op::Without) => !text.starts_with("with") && text != "no",
            Some(Op::Compare(..) | Op::Like(_)) => wants_verb,
            _ => item.kind == Kind::Soft && before.is(Op::Relative) && is_relation(&text),
        };
        match is_verb {
            true if wants_verb => wants_verb = false,
            true if item.kind == Kind::Soft || before.is(Op::And) || before.is(Op::Or) => {}
            true => return Some(part[..at].to_vec()),
            false if item.is(Op::Relative) => {
                clauses.push(at);
                let holds = text.split(' ').any(|w| holds("with having have has", w));
                wants_verb = !holds;
            }
            false if clauses.is_empty() && says_which(item) => clauses.push(at),
            false => {}
        }
    }
    match clauses.as_slice() {
        [] => {}
        [only] => return Some(part[..*only].to_vec()),
        // "orders over 5 that were paid": which of the two is asked for is not said.
        _ => return None,
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
    let kept = part.iter().enumerate();
    let kept = kept.filter(|(at, i)| !places.contains(at) || i.is_table());
    let mut kept: Vec<Item> = kept.map(|(_, i)| i.clone()).collect();
    trim(&mut kept);
    Some(kept)
}

/// Whether a figure is over some of the rows of another one, told by one condition, or by several that `said` joins.
pub(super) fn is_part_of(part: &Query, whole: &Query, said: &[Item]) -> bool {
    let (all, some) = (&whole.source.conditions, &part.source.conditions);
    let within = all.iter().all(|c| some.contains(c))
        && whole.members.iter().all(|m| part.members.contains(m));
    let own = some.iter().filter(|c| !all.contains(c)).count();
    let members = part.members.iter().filter(|m| !whole.members.contains(m));
    let members = members.map(|m| m.source.conditions.len().max(1));
    // "paid in March": whether all are those of March is not said.
    let is_range = said.iter().any(|i| i.is(Op::Between));
    let joined = said.iter().filter(|i| i.is(Op::And) && !is_range).count();
    let adds_up = |q: &Query| {
        matches!(
            figure_of(q),
            Some(Expr::Count(_) | Expr::Agg(Aggregate::Sum, _))
        )
    };
    let own = own + members.sum::<usize>();
    within && (1..=joined + 1).contains(&own) && adds_up(part) && adds_up(whole)
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
