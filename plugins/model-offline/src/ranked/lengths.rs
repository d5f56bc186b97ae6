//! Lengths of time in a question: "the average number of days between the order and its delivery", "in weeks".

use super::items::{Item, Kind};
use super::lexis::{self, Op, holds};
use super::link::{Hit, Index, Target};
use crate::words::{stem, tokenize};

/// Words before two dates that ask for the time between them, and those of them that do not say so alone.
const HEADS: &str = "time times difference interval gap lag duration length days hours minutes seconds weeks years long";
const SMALL: &str = "number no of how many in the elapsed total integer full whole";
/// Words of a date that do not say which.
const PLAIN: &str = "the its their his her a an date time day of s";
/// What things do that take time.
const LASTS: &str = "last lasts lasted lasting take takes took taken";

fn words(item: &Item) -> Vec<String> {
    let tokens = tokenize(&item.text);
    tokens.into_iter().map(|t| t.norm).collect()
}

/// Puts the words for lengths of time together, and passes over the unit that they are in.
pub fn settle(items: &mut Vec<Item>, index: &Index) {
    again(items);
    if index.spans.is_empty() {
        return;
    }
    for at in (0..items.len()).rev() {
        let Some((start, end, hits)) = between(items, at, index) else {
            continue;
        };
        let texts: Vec<&str> = items[start..end].iter().map(|i| i.text.as_str()).collect();
        let mut item = Item::plain(Kind::Names, &texts.join(" "));
        item.hits = hits;
        items.splice(start..end, [item]);
        break;
    }
    let tables: Vec<usize> = items.iter().filter_map(Item::best_table).collect();
    // A stored length or age has a unit of its own, which the question does not say.
    let is_stored = |hits: &[Hit]| {
        let mut columns = hits
            .iter()
            .filter(|h| h.score >= 0.9)
            .filter_map(Hit::column);
        columns.any(|c| !index.is_span(c) && (tables.is_empty() || tables.contains(&c.table)))
    };
    let is_span = |item: &Item| {
        let named = item.kind == Kind::Names && !is_stored(&item.hits);
        named && item.has_column(0.9, |c| index.is_span(c))
    };
    let asks = |item: &Item| {
        use lexis::Quality::{Age, Length};
        let is_age = match item.op() {
            Some(Op::Most(_, Some(Age)) | Op::Compare(_, Some(Age))) => true,
            Some(Op::Most(_, Some(Length)) | Op::Compare(_, Some(Length))) => false,
            _ if item.says(LASTS) => false,
            _ => return is_span(item),
        };
        let names: &[&str] = if is_age {
            &["age"]
        } else {
            &["length", "duration"]
        };
        let mut names = names.iter();
        !names.any(|name| is_stored(&index.hits(&tokenize(name))))
    };
    if !items.iter().any(asks) {
        return;
    }
    // "longer than 5 days", where a column is called days: what is longer is not said.
    let is_length = |i: &Item| matches!(i.op(), Some(Op::Compare(_, Some(lexis::Quality::Length))));
    let counted = |at: &usize| {
        let unit = items[*at].text.to_lowercase();
        let is_unit = holds("seconds minutes hours days weeks years", &unit);
        let number = matches!(items[at - 1].kind, Kind::Number(_));
        is_unit && number && is_stored(&index.hits(&tokenize(&unit)))
    };
    if items.iter().any(is_length)
        && let Some(at) = (1..items.len()).find(counted)
    {
        items[at].kind = Kind::Op(Op::Beyond);
        return;
    }
    let mut at = 0;
    while at < items.len() {
        let unit = |i: &Item| {
            i.says("seconds minutes hours days weeks years second minute hour day week year")
        };
        let small = |i: &&Item| words(i).iter().all(|w| holds(SMALL, w));
        let used = items[at..].iter().take_while(small).count();
        let counted = at > 0 && matches!(items[at - 1].kind, Kind::Number(_));
        let opens = items[at].is(Op::In) && used > 0 || counted;
        let last = at + if counted { 0 } else { used };
        if opens && items.get(last).is_some_and(unit) {
            items[at..=last]
                .iter_mut()
                .for_each(|i| i.kind = Kind::Soft);
        }
        let next = items[at + 1..].iter().find(|i| i.kind != Kind::Soft);
        let compares = next.is_some_and(|i| matches!(i.op(), Some(Op::Compare(..))));
        let closes = next.is_none_or(|i| i.op().is_some()) && !compares;
        if at > 0 && closes && items[at].says(LASTS) {
            items[at] = Item::plain(Kind::Soft, "is");
        }
        at += 1;
    }
}

/// "… Return the number of orders and the month as a date": the month that rows are grouped by, which is shown anyway.
fn again(items: &mut [Item]) {
    let Some(first) = items.iter().position(|i| matches!(i.kind, Kind::Unit(_))) else {
        return;
    };
    let Some(next) = items[first..].iter().position(|i| i.is(Op::Break)) else {
        return;
    };
    let unit = items[first].text.to_lowercase();
    for at in first + next..items.len() {
        let before = items[at - 1].text.to_lowercase();
        let is_same =
            items[at].text.to_lowercase() == unit && matches!(&*before, "the" | "and" | ",");
        let as_date =
            items[at].text == "date" && before == "a" && at > 1 && items[at - 2].text == "as";
        let open = |i: &Item| i.kind == Kind::Unknown || i.kind == Kind::Names && !i.is_table();
        if (is_same || as_date) && open(&items[at]) {
            items[at].kind = Kind::Soft;
            if is_same && items[at - 1].is(Op::And) {
                items[at - 1].kind = Kind::Soft;
            }
            if as_date {
                items[at - 2].kind = Kind::Soft;
            }
        }
    }
}

/// The places of "the days between A and B" whose "between" stands at a place, and the columns that it may mean.
fn between(items: &[Item], at: usize, index: &Index) -> Option<(usize, usize, Vec<Hit>)> {
    let opening = words(&items[at]);
    let opens = opening
        .last()
        .is_some_and(|w| matches!(w.as_str(), "between" | "from"));
    let is_head = |i: &Item| words(i).iter().all(|w| holds(HEADS, w) || holds(SMALL, w));
    let measures = |i: &Item| words(i).iter().any(|w| holds(HEADS, w));
    let start = (0..at)
        .rev()
        .take_while(|i| is_head(&items[*i]))
        .last()
        .unwrap_or(at);
    let start = (start..at)
        .find(|i| !matches!(items[*i].op(), Some(Op::In | Op::Of)))
        .unwrap_or(at);
    if !opens || !items[start..=at].iter().any(measures) {
        return None;
    }
    let joins = |i: &Item| i.is(Op::And) || matches!(i.text.as_str(), "to" | "until");
    let middle = (at + 2..items.len().min(at + 6)).find(|i| joins(&items[*i]))?;
    let stops = |i: &Item| i.op().is_some();
    let most = items.len().min(middle + 5);
    let end = (middle + 1..most)
        .find(|i| stops(&items[*i]))
        .unwrap_or(most);
    // The longest end of which each word belongs to a date.
    let ends = (middle + 2..=end).rev();
    ends.into_iter().find_map(|end| {
        let hits = index.between(&items[at + 1..middle], &items[middle + 1..end]);
        (!hits.is_empty()).then_some((start, end, hits))
    })
}

/// How well some words say which date a column holds: each of them must be a part of its name, or the table's.
pub fn says(items: &[Item], name: &[String], table: usize) -> f32 {
    let part = |word: &String| {
        let fit = |p: &String| match () {
            () if stem(p) == stem(word) => 1.0,
            () if lexis::is_same_verb(word, p) => 0.9,
            () if p.len() > 4 && word.get(..5) == p.get(..5) => 0.8,
            () => 0.0,
        };
        name.iter().map(fit).fold(0.0, f32::max)
    };
    let mut score: f32 = 1.0;
    let mut is_said = false;
    for item in items {
        for word in words(item).iter().filter(|w| !holds(PLAIN, w)) {
            let own = part(word);
            let names_rows = item.hits.iter().any(|h| h.target == Target::Table(table));
            if own > 0.0 || !names_rows {
                score = score.min(own);
                is_said = true;
            }
        }
    }
    if is_said { score } else { 0.0 }
}
