//! A question that goes on from the one before it: "and in 2023?", "What about France?", "and by month?"

use std::collections::BTreeSet;

use super::frame::Frame;
use super::items::{Item, Kind};
use super::lexis::Op;
use super::link::Target;
use super::parse::Stuck;
use crate::catalog::{Catalog, ColumnRef};
use crate::query::Query;

/// A question that has a reading.
pub struct Asked {
    /// Its words.
    pub items: Vec<Item>,
    /// What it asks for.
    pub frame: Frame,
    /// The same over the catalog.
    pub query: Query,
}

/// The items of a question, and whether it goes on from another one.
pub fn read_next(question: &str, read: impl Fn(&str) -> Vec<Item>) -> (Vec<Item>, bool) {
    let (is_marked, text) = without_mark(question);
    let items = read(text);
    let goes_on = is_marked || is_part(&items);
    (items, goes_on)
}

/// The items of a question that goes on, put together with those of the last one that was answered.
pub fn with_last(catalog: &Catalog, items: Vec<Item>, last: &Asked) -> Result<Vec<Item>, Stuck> {
    if !is_part(&items) && items.iter().any(Item::is_name) {
        return Err(Stuck::Goes);
    }
    // "for 2020" does not say which of several tables has the date.
    let time = items.iter().find(|i| is_time(i));
    let time = time.filter(|_| items.iter().any(|i| i.is(Op::Of)));
    if let Some(time) = time
        && dated_tables(catalog, last) > 1
    {
        return Err(Stuck::Unclear(time.text.clone()));
    }
    Ok(combined(last.items.clone(), items))
}

/// Whether a question only says what to group by: "per class title".
pub fn only_groups(items: &[Item]) -> bool {
    is_part(items) && matches!(items[0].op(), Some(Op::By | Op::Each))
}

/// Whether an item is a time, as a number of four digits may be.
pub fn is_time(item: &Item) -> bool {
    match &item.kind {
        Kind::Period(_) | Kind::BadPeriod(_) => true,
        Kind::Number(n) => n.len() == 4,
        _ => false,
    }
}

/// How many tables of a question have dates.
fn dated_tables(catalog: &Catalog, asked: &Asked) -> usize {
    let source = &asked.query.source;
    let joined = source.joins.iter().map(|edge| edge.to);
    let named = asked.items.iter().filter_map(Item::best_table);
    let tables: BTreeSet<usize> = joined.chain(named).chain([source.base]).collect();
    let is_dated = |table: &&usize| {
        let mut columns = catalog.table(**table).columns.iter();
        columns.any(|column| column.kind == crate::catalog::Kind::Date)
    };
    tables.iter().filter(is_dated).count()
}

/// Whether a question starts with words that only say that it goes on, and the text without them.
fn without_mark(question: &str) -> (bool, &str) {
    const MARKS: &[&str] = &[
        "and what about ",
        "and how about ",
        "what about ",
        "how about ",
        "and ",
        "same ",
        "now ",
    ];
    let text = question.trim_start().trim_start_matches(['…', '.', ' ']);
    let starts = |mark: &&&str| {
        text.get(..mark.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(mark))
    };
    match MARKS.iter().find(starts) {
        Some(mark) => (true, &text[mark.len()..]),
        None => (false, question),
    }
}

/// Only conditions and groups, nothing that they could apply to.
fn is_part(items: &[Item]) -> bool {
    let mut grouped = false;
    !items.is_empty()
        && items.iter().all(|item| {
            let fits = match &item.kind {
                Kind::Period(_)
                | Kind::BadPeriod(_)
                | Kind::Unit(_)
                | Kind::Quote(_)
                | Kind::Soft => true,
                Kind::Number(n) => n.len() == 4,
                Kind::Op(
                    Op::By | Op::Each | Op::And | Op::Or | Op::Not | Op::In | Op::Of | Op::Break,
                ) => true,
                Kind::Names => grouped || item.is_value(),
                _ => false,
            };
            // "per staff name" names a table and its column.
            let goes_on = item.is(Op::And) || item.kind == Kind::Names;
            grouped = item.is(Op::By) || item.is(Op::Each) || grouped && goes_on;
            fits
        })
}

/// The old question with what the new one replaces taken out: a period for a period, a value for a value of the same
/// column, groups for groups.
fn combined(old: Vec<Item>, new: Vec<Item>) -> Vec<Item> {
    let group = |i: &Item| i.is(Op::By) || i.is(Op::Each) || matches!(i.kind, Kind::Unit(_));
    let (regroups, retimes) = (new.iter().any(group), new.iter().any(is_time));
    let replaced: Vec<ColumnRef> = new.iter().flat_map(values).collect();
    let is_gone = |i: &Item| i.is_value() && values(i).any(|c| replaced.contains(&c));
    let mut said = new.iter().filter(|i| i.kind != Kind::Soft);
    let places = (0..old.len()).filter(|at| is_gone(&old[*at]));
    if let (Some(value), None, [place]) =
        (said.next(), said.next(), &places.collect::<Vec<_>>()[..])
        && value.is_value()
    {
        // "What about jazz?" after "How many rock tracks are there?": one value for the other.
        let mut items = old;
        items[*place] = value.clone();
        return items;
    }
    let mut kept: Vec<Item> = Vec::new();
    let mut in_group = false;
    for item in old {
        let is_group = group(&item);
        let gone =
            (is_group || in_group) && regroups || is_time(&item) && retimes || is_gone(&item);
        in_group = item.is(Op::By) || item.is(Op::Each);
        if gone {
            // The preposition of what is gone goes with it.
            if kept.last().is_some_and(|k| k.is(Op::In)) {
                kept.pop();
            }
        } else {
            kept.push(item);
        }
    }
    // "What about 2022?" is "in 2022", unless it takes the place of another bound.
    let is_year = |i: &Item| matches!(&i.kind, Kind::Number(n) if n.len() == 4);
    if new.first().is_some_and(is_year)
        && !matches!(kept.last().and_then(Item::op), Some(Op::Compare(..)))
    {
        kept.push(Item::plain(Kind::Op(Op::In), "in"));
    }
    kept.into_iter().chain(new).collect()
}

fn values(item: &Item) -> impl Iterator<Item = ColumnRef> {
    item.hits.iter().filter_map(|h| match h.target {
        Target::Value(c, _) => Some(c),
        _ => None,
    })
}
