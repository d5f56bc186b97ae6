//! Words for rows of the question before: "their average salary", "these doctors", "do they have".

use super::follow::Asked;
use super::frame::Figure;
use super::items::{Item, Kind};
use super::lexis::{self, Op};
use crate::query::{Condition, Query};
use crate::vocabulary::holds;

const OWNERS: &str = "their its his her";

fn word(item: &Item) -> String {
    item.text.to_lowercase()
}

/// The place of a word that stands for rows which the question itself does not name.
pub fn place(items: &[Item]) -> Option<usize> {
    (0..items.len()).find(|at| refers(items, *at))
}

fn refers(items: &[Item], at: usize) -> bool {
    let word = word(&items[at]);
    let named = |i: &&Item| i.best_table().is_some() || i.is_value();
    let named = items[..at].iter().filter(named).count();
    let previous = at.checked_sub(1).map(|before| &items[before]);
    let next = items.get(at + 1);
    let table = next.and_then(Item::best_table);
    let again = || items[..at].iter().any(|i| i.best_table() == table);
    let told = |i: Option<&Item>| {
        i.is_some_and(|i| matches!(i.op(), Some(Op::Relative | Op::In | Op::Of | Op::Have)))
    };
    if ends_so(items, at) {
        return true;
    }
    if items[at].is(Op::Relative) {
        let behind_name = previous.is_none_or(Item::is_name);
        return word == "that" && table.is_some() && !behind_name && !again();
    }
    if items[at].kind != Kind::Soft {
        return false;
    }
    match word.as_str() {
        "they" | "it" | "he" | "she" => {
            let asks = previous.is_some_and(|i| i.says("do does did"));
            named < 1 + usize::from(asks)
        }
        "these" | "those" | "this" if table.is_some() => !again() && !told(items.get(at + 2)),
        "these" | "those" => named == 0 && !told(next),
        "them" | "him" => named == 0,
        _ => holds(OWNERS, &word) && named == 0,
    }
}

/// "How many tracks is that?", "how many customers are those?": what was found before, and not all rows of the table.
fn ends_so(items: &[Item], at: usize) -> bool {
    let is_behind = at.checked_sub(1).is_some_and(|b| items[b].is(Op::Is));
    is_behind && at + 1 == items.len() && holds("that this it those these they", &word(&items[at]))
}

/// The question with the rows of the last one in place of the word that stands for them. None where it is not sure what
/// the whole would mean.
pub fn replaced(mut items: Vec<Item>, at: usize, last: &Asked) -> Option<Vec<Item>> {
    let rows = rows_of(last)?;
    let holds_parts = |op: Op| {
        matches!(
            op,
            Op::HowMany | Op::NumberOf | Op::Agg(_) | Op::Of | Op::Is | Op::Have | Op::Relative
        )
    };
    let connected = |i: &Item| !matches!(i.kind, Kind::Unit(_)) && i.op().is_none_or(holds_parts);
    if !items.iter().all(connected) {
        return None;
    }
    let of = Item::plain(Kind::Op(Op::Of), "of");
    let said = word(&items[at]);
    if holds(OWNERS, &said) {
        items.remove(at);
    } else if holds("these those this that", &said) {
        let subject = last
            .frame
            .subject
            .and_then(|s| last.items.get(s)?.best_table());
        if items.get(at + 1)?.best_table() != subject {
            return None;
        }
        items.splice(at..at + 2, rows);
        return Some(items);
    } else if holds("they it he she", &said) {
        let mut rest = items[at + 1..].iter();
        let asks = at.checked_sub(1).map(|before| word(&items[before]))?;
        let has = rest.next().is_some_and(|i| i.is(Op::Have)) && rest.next().is_none();
        if !has || !holds("do does did", &asks) {
            return None;
        }
        items.truncate(at - 1);
    } else {
        return None;
    }
    items.push(of);
    items.extend(rows);
    Some(items)
}

/// What names the rows that a question is about, if it only counts or lists them.
fn rows_of(last: &Asked) -> Option<Vec<Item>> {
    let frame = &last.frame;
    let subject = frame.subject?;
    let counts = |f: &Figure| *f == Figure::Count(subject, false);
    let is_plain = frame.select.iter().all(counts)
        && frame.groups.is_empty()
        && frame.units.is_empty()
        && frame.order.is_empty()
        && frame.by_figure.is_none()
        && frame.rank.is_none()
        && frame.having.is_none()
        && frame.without.is_none()
        && frame.first_rows.is_none()
        && !frame.both;
    let asks = |i: &&Item| {
        i.kind == Kind::Soft || matches!(i.op(), Some(Op::HowMany | Op::NumberOf | Op::Of | Op::Is))
    };
    let rows = last.items.iter().skip_while(asks);
    let relates = |i: &Item| i.kind != Kind::Soft || lexis::is_relation(&word(i));
    let kept = rows.filter(|i| relates(i) && !i.is(Op::Is));
    let rows: Vec<Item> = kept.cloned().collect();
    let is_one = !rows
        .iter()
        .any(|i| matches!(i.op(), Some(Op::Break | Op::HowMany)));
    (is_plain && is_one && !rows.is_empty()).then_some(rows)
}

/// Whether a query keeps all conditions of the one before it, and its rows.
pub fn keeps(query: &Query, last: &Query) -> bool {
    let conditions = |query: &Query| -> Vec<(Vec<Condition>, bool)> {
        let own = query.source.conditions.iter().map(|c| (c.clone(), false));
        let of_members = query.members.iter().flat_map(|m| {
            let all = m.source.conditions.iter();
            all.map(|c| (c.clone(), m.negated))
        });
        own.chain(of_members).collect()
    };
    let (kept, old) = (conditions(query), conditions(last));
    let members = query.members.iter().flat_map(|m| &m.source.joins);
    let mut joins = query.source.joins.iter().chain(members);
    let rows = last.source.base;
    let has_rows = query.source.base == rows || joins.any(|e| e.to == rows);
    let is_whole = |m: &crate::query::Membership| m.source.conditions.is_empty();
    has_rows && old.iter().all(|c| kept.contains(c)) && !last.members.iter().any(is_whole)
}
