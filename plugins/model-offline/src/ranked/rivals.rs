//! Which of several names with the same claim to a word is meant: the one whose other words the question says too.

use super::items::Item;
use super::link::{Hit, Target};
use crate::catalog::Catalog;
use crate::words::name_stems as stems;

/// Two meanings closer than this are equally good.
pub const MARGIN: f32 = 0.15;

/// How well a name is said of which each word stands somewhere in the question.
pub const WHOLE: f32 = 0.9;

/// The one of several names whose other words the question says, where it says none of the others': the "cost" of
/// "round-trip fares" is `round_trip_cost`, and no `one_way_cost`.
pub fn told_by_rest(items: &[Item], at: usize, names: &[&str]) -> Option<usize> {
    let own = stems(&items[at].text);
    let others = items.iter().enumerate().filter(|(i, _)| *i != at);
    let said: Vec<String> = others.flat_map(|(_, i)| stems(&i.text)).collect();
    let names: Vec<Vec<String>> = names.iter().map(|name| stems(name)).collect();
    let is_shared = |w: &String| own.contains(w) || names.iter().all(|n| n.contains(w));
    let rests: Vec<Vec<&String>> = names
        .iter()
        .map(|n| n.iter().filter(|w| !is_shared(w)).collect())
        .collect();
    let is_whole = |rest: &Vec<&String>| rest.iter().all(|w| said.contains(w));
    let told = rests
        .iter()
        .position(|rest| !rest.is_empty() && is_whole(rest))?;
    let mut others = rests.iter().enumerate().filter(|(i, _)| *i != told);
    let is_untold =
        |rest: &Vec<&String>| !rest.is_empty() && !rest.iter().any(|w| said.contains(w));
    others.all(|(_, rest)| is_untold(rest)).then_some(told)
}

/// "How many tickets were returned?" is about `tickets_returned`, and not about `tickets_sold`.
pub fn settle(catalog: &Catalog, mut items: Vec<Item>) -> Vec<Item> {
    for at in 0..items.len() {
        let best = items[at].table();
        let tables = items[at].hits.iter().filter(|h| h.score > best - MARGIN);
        let tables: Vec<usize> = tables.filter_map(|h| h.table()).collect();
        if tables.len() < 2 || !items[at].is_table() {
            continue;
        }
        let names: Vec<&str> = tables.iter().map(|t| &*catalog.table(*t).plain).collect();
        if let Some(told) = told_by_rest(&items, at, &names) {
            let is_other = |t| t != tables[told] && tables.contains(&t);
            let hits = &mut items[at].hits;
            hits.retain(|h| !matches!(h.target, Target::Table(t) if is_other(t)));
            let is_told = |h: &&mut Hit| h.target == Target::Table(tables[told]);
            // All words of its name are said.
            hits.iter_mut()
                .filter(is_told)
                .for_each(|h| h.score = h.score.max(WHOLE));
        }
    }
    items
}
