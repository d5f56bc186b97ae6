//! Words that only relate two things where both are named. Alone with their rows they say something of them: "orders
//! were paid", "old patients".

use super::Failure;
use super::follow::is_time;
use super::items::{Item, Kind};
use super::lexis::{self, Op, holds};
use super::link::{Hit, Index, Target};
use super::parse::Stuck;
use super::resolve::Trouble;
use crate::catalog::{Catalog, ColumnRef, Kind as Type};
use crate::pick::label_columns;
use crate::words::{split, tokenize};

/// Words that carry something beside those that relate.
const WEIGHTY: &str = "old possible available will would could can need want see know";
/// Verbs that each row of an event can have.
const EVENTS: &str = "placed happened occurred recorded created listed made";
/// Words of pieces that are sold, which have a meaning of their own.
const SALES: &str = "sold sell sells bought buy purchased purchase";
/// Participles that do not end in "ed".
const PARTICIPLES: &str = "paid taken made held led found written taught sung driven sent built flown run spent done hidden";
/// Participles that only point at rows which are named anyway.
const POINTING: &str =
    "associated related connected linked attached contained included used located";

/// Takes such a word for the condition that it is, where its rows have one value, flag or date that is called so. What
/// the rows in question have of their own comes before what others have.
pub fn settle(
    catalog: &Catalog,
    index: &Index,
    mut items: Vec<Item>,
) -> Result<Vec<Item>, Failure> {
    for at in 0..items.len() {
        let Some(owner) = owner(&items, at) else {
            continue;
        };
        let item = &items[at];
        if joins_rows(catalog, &items, at, owner) {
            return Err(Failure::Stuck(Stuck::Unclear(item.text.clone())));
        }
        let small = is_small(item);
        if !small && (item.kind != Kind::Names || item.text.contains(' ') || item.is_table()) {
            continue;
        }
        let kind = |c: ColumnRef| catalog.column(c).kind;
        let flag = |c: ColumnRef| catalog.column(c).is_flag();
        let state = |c: ColumnRef| flag(c) || kind(c) == Type::Date;
        let mut hits = item.hits.clone();
        if small {
            hits.extend(index.hits(&tokenize(&item.text)));
        }
        let own = |h: &&Hit| {
            h.value()
                .is_some_and(|c| c.table == owner && h.score >= 0.9)
        };
        let value: Vec<Hit> = hits.iter().filter(own).cloned().collect();
        if !small && value.is_empty() {
            continue;
        }
        let columns = 0..catalog.table(owner).columns.len();
        let columns = columns.map(|column| ColumnRef::new(owner, column));
        let word = item.text.to_lowercase();
        let called = |c: &ColumnRef| {
            let name = split(&catalog.column(*c).plain);
            state(*c) && name.iter().any(|part| lexis::is_same_verb(&word, part))
        };
        let states: Vec<ColumnRef> = columns.filter(called).collect();
        let predicate = is_predicate(&items, at) && !is_timed(&items, at);
        match (value.first(), states.as_slice()) {
            (Some(value), [state, ..]) if predicate => {
                let value = value.value().map(|c| catalog.label(c));
                let labels = value.into_iter().chain([catalog.label(*state)]).collect();
                let trouble = Trouble::Ambiguous(item.text.clone(), labels);
                return Err(Failure::Trouble(trouble));
            }
            (Some(_), _) if small && is_done(&items, at) => {
                // "orders paid by card": a way of paying, or those with the status.
                return Err(Failure::Stuck(Stuck::Unclear(item.text.clone())));
            }
            (Some(_), _) if small => become_name(&mut items[at], value.clone()),
            (Some(_), _) => {
                // "orders shipped in 2024": a day of shipping, though it is a status too.
                let kept = if is_timed(&items, at) {
                    Type::Date
                } else {
                    Type::Text
                };
                items[at].hits.retain(|h| {
                    h.column()
                        .is_none_or(|c| c.table == owner || !state(c) || kind(c) == kept)
                });
            }
            (None, [one])
                if flag(*one) && predicate && is_alone(&items, at) && !is_timed(&items, at) =>
            {
                become_name(&mut items[at], vec![exact(*one)]);
            }
            (None, [one]) if predicate && is_alone(&items, at) && !asks_time(&items) => {
                let lacks = at > 0 && items[at - 1].is(Op::Without);
                become_name(&mut items[at], vec![exact(*one)]);
                items[at].happened = !lacks;
            }
            (None, [_, _, ..]) if predicate && is_alone(&items, at) => {
                let labels = states.iter().map(|c| catalog.label(*c)).collect();
                let trouble = Trouble::Ambiguous(item.text.clone(), labels);
                return Err(Failure::Trouble(trouble));
            }
            _ => {}
        }
    }
    Ok(items)
}

/// "saws related to Fine": rows of one table, which no small word relates.
fn joins_rows(catalog: &Catalog, items: &[Item], at: usize, owner: usize) -> bool {
    let passes = |i: &&Item| i.kind == Kind::Soft || i.best_table() == Some(owner);
    let links = |i: &Item| i.says("to with");
    let label = label_columns(catalog.table(owner));
    let names_row = |c: ColumnRef| c.table == owner && label.contains(&c.column);
    let says = |i: &Item| {
        let mut values = i.hits.iter().filter_map(Hit::value);
        i.is_value() && i.has_value(names_row) && values.all(names_row)
    };
    let related = is_small(&items[at]) && items[at].says(POINTING);
    let mut behind = items.iter().skip(at + 1);
    related && behind.next().is_some_and(links) && behind.find(|i| !passes(i)).is_some_and(says)
}

/// "How many rooms have a bath and how many do not?" counts rows for each value of the flag.
pub fn halves(catalog: &Catalog, mut items: Vec<Item>) -> Vec<Item> {
    let [before @ .., flag, and, many, not] = items.as_slice() else {
        return items;
    };
    let asks =
        and.is(Op::And) && many.is(Op::HowMany) && matches!(not.op(), Some(Op::Not | Op::Without));
    let says = |c: ColumnRef| catalog.column(c).is_flag();
    let verb = before.iter().rposition(|i| i.kind != Kind::Soft);
    let verb = verb.filter(|v| matches!(before[*v].op(), Some(Op::Have | Op::Is)));
    if let Some(verb) = verb.filter(|_| asks && flag.has_column(0.85, says)) {
        let flag = flag.clone();
        items.truncate(verb);
        items.push(Item::plain(Kind::Op(Op::Each), "for each"));
        items.push(flag);
    }
    items
}

fn exact(column: ColumnRef) -> Hit {
    Hit {
        target: Target::Column(column),
        score: 1.0,
    }
}

fn become_name(item: &mut Item, hits: Vec<Hit>) {
    item.kind = Kind::Names;
    item.optional = false;
    item.hits = hits;
}

/// Whether an item may stay without a role, though its word carries something where it stands alone.
fn is_small(item: &Item) -> bool {
    let word = item.text.to_lowercase();
    (item.kind == Kind::Soft || item.optional)
        && (lexis::is_relation(&word) || holds(WEIGHTY, &word))
}

fn is_thing(item: &Item) -> bool {
    let named = matches!(
        item.kind,
        Kind::Names | Kind::Quote(_) | Kind::Number(_) | Kind::Period(_) | Kind::Measure(_)
    );
    named && !item.optional
}

/// The table whose rows a word is said of: the one right behind it, else the nearest before.
fn owner(items: &[Item], at: usize) -> Option<usize> {
    let behind = items.get(at + 1).and_then(Item::best_table);
    let before = || {
        let mut before = items[..at].iter().rev().take_while(|i| !i.is(Op::Break));
        before.find_map(Item::best_table)
    };
    behind.or_else(before)
}

/// Whether a word stands behind "are" or "not", or right before its rows.
fn is_predicate(items: &[Item], at: usize) -> bool {
    let behind = items.get(at + 1).is_some_and(Item::is_table);
    let op = at.checked_sub(1).and_then(|before| items[before].op());
    let says = matches!(op, Some(Op::Is | Op::Have | Op::Not | Op::Without));
    says || behind && is_small(&items[at])
}

/// Whether a time follows: "shipped in 2024", "paid before May".
fn is_timed(items: &[Item], at: usize) -> bool {
    let linked = |i: &&Item| {
        i.kind == Kind::Soft || matches!(i.op(), Some(Op::In | Op::Compare(..) | Op::Between))
    };
    let next = items[at + 1..].iter().find(|i| !linked(i));
    next.is_some_and(is_time)
}

/// Whether what follows says how or for whom something was done: "paid by card", "paid with vouchers".
fn is_done(items: &[Item], at: usize) -> bool {
    let next = items.get(at + 1).and_then(Item::op);
    matches!(next, Some(Op::By | Op::In | Op::Relative)) && !is_timed(items, at)
}

fn asks_time(items: &[Item]) -> bool {
    let asks = |i: &Item| i.says("when year date time day");
    items.iter().any(asks)
}

/// Whether a participle stands right before its rows, and nothing before it does what it says: "paid visits", "the fee
/// of paid visits", but not "guests paid visits".
fn narrows(items: &[Item], at: usize) -> bool {
    let word = items[at].text.to_lowercase();
    let is_participle = word.ends_with("ed") || holds(PARTICIPLES, &word);
    let leads = |i: &Item| match i.op() {
        Some(Op::Relative) => i.text.eq_ignore_ascii_case("with"),
        Some(op) => matches!(
            op,
            Op::Of | Op::In | Op::NumberOf | Op::HowMany | Op::Agg(_) | Op::Each | Op::Break
        ),
        None => i.kind == Kind::Soft && i.says("the all any"),
    };
    let before = at.checked_sub(1).map(|before| &items[before]);
    is_participle
        && !holds(POINTING, &word)
        && items.get(at + 1).is_some_and(Item::is_table)
        && before.is_none_or(leads)
}

/// Whether a small word neither relates what stands before it to what follows, nor belongs to the words that ask.
pub fn is_alone(items: &[Item], at: usize) -> bool {
    let word = items[at].text.to_lowercase();
    let start = (0..at).rev().find(|i| items[*i].is(Op::Break));
    let start = start.map_or(0, |i| i + 1);
    let opens = at == start && !holds(WEIGHTY, &word);
    if !is_small(&items[at]) || holds(SALES, &word) || holds(EVENTS, &word) {
        return false;
    }
    if narrows(items, at) {
        return true;
    }
    if opens {
        return false;
    }
    let says = |i: Option<&Item>, words: &str| i.is_some_and(|i| i.says(words));
    let (previous, next) = (
        at.checked_sub(1).and_then(|b| items.get(b)),
        items.get(at + 1),
    );
    let before = &items[start..at];
    let things = before.iter().filter(|i| is_thing(i)).count();
    match word.as_str() {
        "old" => {
            let aged = |i: &Item| matches!(i.kind, Kind::Number(_));
            return !says(previous, "years year how") && !previous.is_some_and(aged);
        }
        "will" | "would" | "could" | "can" => {
            return !says(previous, "i we you") && !says(next, "i we you");
        }
        // "in what month did they join"
        "did" if next.is_some_and(|i| !i.is(Op::Break)) => return false,
        "possible" | "available" => return next.is_none_or(|i| i.kind != Kind::Soft),
        "need" | "want" | "see" | "know" if things == 0 => return false,
        _ => {}
    }
    // "customers who joined per year": the verb says which date.
    let each =
        |i: &&Item| i.kind == Kind::Soft || matches!(i.op(), Some(Op::Each | Op::By | Op::In));
    let grouped = items[at + 1..].iter().find(|i| !each(i));
    if grouped.is_some_and(|i| matches!(i.kind, Kind::Unit(_))) {
        return false;
    }
    let who = says(items.get(start), "who whom");
    let asked = before
        .iter()
        .any(|i| says(Some(i), "did do does they he she it"));
    // "has each author written", but not "have been paid"
    let has = before
        .windows(2)
        .any(|w| w[0].is(Op::Have) && !w[1].is(Op::Is));
    let closes = |i: Option<&Item>| i.is_none_or(|i| i.is(Op::Break));
    let points = says(next, "there it them");
    let at_end = says(next, "in at to with for from on by") && {
        let points = usize::from(says(items.get(at + 2), "it them him her each"));
        closes(items.get(at + 2 + points))
    };
    // "where Chinese is spoken"
    let last = before
        .iter()
        .rev()
        .find(|i| is_thing(i) || i.is(Op::Relative));
    let relative = before.iter().any(|i| i.is(Op::Relative));
    let of_value = relative && last.is_some_and(Item::is_value) && closes(next);
    // "where more than 5 students live"
    let counts = |i: &Item| matches!(i.op(), Some(Op::Compare(..)));
    let counted = relative && before.iter().any(counts) && closes(next);
    let is_joined = asked || counted || has && closes(next) || points || at_end || of_value;
    let is_end = |i: &Item| matches!(i.kind, Kind::End(_));
    if things > 1 && is_joined || next.is_some_and(is_small) || before.iter().any(is_end) {
        return false;
    }
    // "published in each year"
    let grouped = items[at + 1..]
        .windows(2)
        .any(|w| w[0].is(Op::Each) && w[1].optional);
    let points = holds(POINTING, &word) && says(next, "with");
    let passes = |i: &&Item| match i.op() {
        // "associated with the topic 'Law'"
        Some(Op::Relative) => points && next == Some(*i),
        Some(Op::Each) => !says(Some(i), "per") && !i.text.to_lowercase().starts_with("for"),
        Some(Op::And | Op::Or | Op::Comma | Op::Break) => false,
        Some(_) => true,
        None => i.kind == Kind::Soft || i.optional && !grouped,
    };
    let follows = items[at + 1..].iter().find(|i| !passes(i));
    let relates = |i: &Item| is_thing(i) || grouped && i.optional;
    !((things > 0 || who) && follows.is_some_and(relates))
}

/// Whether a small word says no more than that rows came to be, before what they are grouped by: "published in each
/// year", "posted for each shop". Where a column is called so, `settle` has taken the word for it.
pub fn only_came(items: &[Item], at: usize) -> bool {
    const CAME: &str = "published posted written released issued registered joined founded established opened built \
        taken conducted played submitted produced held";
    let each = items.get(at + 1).is_some_and(|i| i.is(Op::Each));
    items[at].says(CAME) && each
}
