//! Words that the Mind was taught for a table, a column or a value.

use super::items::{Item, Kind};
use super::lexis::Op;
use super::link::{Hit, Index, Target};
use super::read::read;
use crate::vocabulary::is_filler;

/// Names below this score are not sure.
const SURE: f32 = 0.9;

/// The one thing that a text means, if each of its words names that thing, its column or its table: "an order whose
/// status is cancelled". What says more, such as "a customer with three orders", is more than another word for it.
pub fn meant(index: &Index, text: &str) -> Option<Target> {
    let items = read(&text.to_lowercase(), index, None);
    let is_condition = |item: &Item| matches!(item.op(), Some(Op::Relative | Op::Have));
    let is_small = |item: &Item| match item.op() {
        Some(op) => op.connects() && op != Op::Both,
        None => item.kind == Kind::Soft && is_filler(&item.text),
    };
    let named: Vec<&Item> = items.iter().filter(|i| !is_small(i)).collect();
    let sure = |item: &Item| -> Vec<Target> {
        let hits = item.hits.iter().filter(|h| h.score >= SURE);
        hits.map(|h: &Hit| h.target.clone()).collect()
    };
    let is_part = |part: &Target, whole: &Target| match (part, whole) {
        (Target::Column(column), Target::Value(of, _)) => column == of,
        (Target::Table(table), Target::Column(of) | Target::Value(of, _)) => *table == of.table,
        _ => part == whole,
    };
    let fits = |target: &Target| {
        let names = |item: &&Item| sure(item).iter().any(|part| is_part(part, target));
        named.iter().all(names)
    };
    let all = named.iter().flat_map(|item| sure(item));
    let mut found: Vec<Target> = all.filter(fits).collect();
    let first = found.pop()?;
    // "a customer with an email" says which customers, and only a value does that.
    let is_plain = matches!(first, Target::Value(..)) || !items.iter().any(is_condition);
    (is_plain && found.iter().all(|other| *other == first)).then_some(first)
}
