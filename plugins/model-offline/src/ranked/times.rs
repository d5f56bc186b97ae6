//! Words of time in a question: periods, units that rows are grouped by, and the first rows of a table.

use jiff::civil::Date;

use super::items::Kind;
use super::link::Index;
use crate::catalog::Catalog;
use crate::dates::{self, DateTrouble, Period};
use crate::dialect::Unit;
use crate::query::{Check, Condition, Query};
use crate::vocabulary::holds;
use crate::words::{Token, TokenKind, starts_with, tokenize};

/// What the words at a place say about time, with the number of their tokens.
pub fn read(
    tokens: &[Token],
    at: usize,
    index: &Index,
    today: Option<Date>,
) -> Option<(usize, Kind)> {
    first_rows(tokens, at)
        .or_else(|| end(tokens, at))
        .or_else(|| newly(tokens, at))
        .or_else(|| clock(tokens, at).filter(|_| index.has_times))
        .or_else(|| unit(tokens, at, index))
        .or_else(|| period(tokens, at, today))
}

/// "first 10 rows of"
fn first_rows(tokens: &[Token], at: usize) -> Option<(usize, Kind)> {
    let number = tokens.get(at + 1).filter(|_| tokens[at].norm == "first")?;
    let count = number
        .norm
        .parse()
        .ok()
        .filter(|n| (1..=1000).contains(n))?;
    let rows = tokens.get(at + 2)?.stem == "row";
    rows.then_some((3, Kind::FirstRows(count)))
}

/// "when was the first order": the word that asks, and the end of time.
fn end(tokens: &[Token], at: usize) -> Option<(usize, Kind)> {
    let asks = tokens.first().is_some_and(|t| t.norm == "when");
    let last = |t: &Token| match t.norm.as_str() {
        "first" | "earliest" => Some(false),
        "last" | "latest" => Some(true),
        _ => None,
    };
    match (asks, at) {
        (true, 0) => tokens.iter().find_map(last).map(|_| (1, Kind::Soft)),
        (true, _) => last(&tokens[at]).map(|l| (1, Kind::End(l))),
        _ => None,
    }
}

/// "new customers in 2023" are those that came then; without a time it is not said which are new.
fn newly(tokens: &[Token], at: usize) -> Option<(usize, Kind)> {
    let year = |t: &Token| t.kind == TokenKind::Number && t.text.len() == 4;
    let timed = tokens
        .iter()
        .any(|t| year(t) || t.kind == TokenKind::Date || t.norm == "per");
    (tokens[at].norm == "new" && timed).then_some((1, Kind::Soft))
}

/// "per month", "by year", "monthly", "which month", "over the years", "each day of the week": only where the catalog
/// has dates, or years.
fn unit(tokens: &[Token], at: usize, index: &Index) -> Option<(usize, Kind)> {
    let token = &tokens[at];
    let over = starts_with(&tokens[at..], "over the").filter(|_| tokens.len() > at + 2);
    let named = at + over.unwrap_or(0);
    let unit = dates::unit_of(&tokens[named].stem)
        .or_else(|| (token.norm == "weekday").then_some(Unit::Weekday))?;
    let ranks = |t: &Token| holds("most least fewest highest lowest", &t.norm);
    let before = at.checked_sub(1).map_or("", |b| tokens[b].norm.as_str());
    // "per test and year"
    let listed = matches!(before, "and" | ",")
        && tokens[..at]
            .iter()
            .any(|t| holds("per by each every", &t.norm));
    let grouped = holds("per by each every which", before)
        || listed
            && tokens
                .get(at + 1)
                .is_none_or(|t| holds("in since for of", &t.norm))
        || before == "what" && tokens[at..].iter().any(ranks);
    let of_week = ["day of the week", "day of week"];
    let of_week = of_week
        .iter()
        .find_map(|words| starts_with(&tokens[at..], words));
    if let Some(used) = of_week.filter(|_| grouped && !index.dates.is_empty()) {
        return Some((used, Kind::Unit(Unit::Weekday)));
    }
    let years = unit == Unit::Year && !index.hits(&tokenize("year")).is_empty();
    let all = over.is_some()
        && tokens[named].norm != tokens[named].stem
        && (years || !index.dates.is_empty());
    let alone = token.norm.ends_with("ly") || token.norm.starts_with("annual");
    let known = !index.dates.is_empty() || alone && years;
    let is_unit = all || (alone || grouped && over.is_none()) && known && token.stem != "date";
    is_unit.then_some((named + 1 - at, Kind::Unit(unit)))
}

/// "13:00", "1pm", "1:30 pm": a time of day.
fn clock(tokens: &[Token], at: usize) -> Option<(usize, Kind)> {
    let word = |i: usize| tokens.get(i).map_or("", |t| t.norm.as_str());
    let half = |text: &str| match text {
        "am" | "a.m" => Some(0),
        "pm" | "p.m" => Some(12),
        _ => None,
    };
    let glued = word(at)
        .len()
        .checked_sub(2)
        .and_then(|cut| word(at).split_at_checked(cut));
    let glued = glued.and_then(|(digits, end)| Some((digits, half(end)?)));
    let spaced = match (word(at + 1), word(at + 2)) {
        ("a", "m") => Some((2, 0)),
        ("p", "m") => Some((2, 12)),
        (next, _) => half(next).map(|h| (1, h)),
    };
    let (digits, used, add) = match (glued, spaced) {
        (Some((digits, half)), _) => (digits, 1, Some(half)),
        (_, Some((more, half))) => (word(at), 1 + more, Some(half)),
        _ => (word(at), 1, None),
    };
    let parts: Vec<&str> = digits.split(':').collect();
    let number = |p: &&str| p.parse::<u32>().ok().filter(|_| p.len() < 3);
    let parts = parts.iter().map(number).collect::<Option<Vec<u32>>>()?;
    let [hour, rest @ ..] = parts.as_slice() else {
        return None;
    };
    let minute = rest.first().copied().unwrap_or(0);
    let second = rest.get(1).copied().unwrap_or(0);
    let hour = match add {
        Some(half) if (1..=12).contains(hour) => hour % 12 + half,
        None if !rest.is_empty() && *hour < 24 => *hour,
        _ => return None,
    };
    let fits = rest.len() < 3 && minute < 60 && second < 60;
    fits.then(|| {
        (
            used,
            Kind::Clock(format!("{hour:02}:{minute:02}:{second:02}")),
        )
    })
}

fn period(tokens: &[Token], at: usize, today: Option<Date>) -> Option<(usize, Kind)> {
    let kind =
        |period: Result<Period, DateTrouble>| period.map_or_else(Kind::BadPeriod, Kind::Period);
    if let Some((used, period)) = dates::read_bound_ago(tokens, at, today) {
        return Some((used, kind(period)));
    }
    let dated = |used: usize| {
        let (more, period) = dates::read_period(tokens, at + used, today)?;
        period.ok().map(|period| (used + more, period))
    };
    let is_number = |i: usize| tokens.get(i).is_some_and(|t| t.kind == TokenKind::Number);
    // "over the last 30 days", but not "over 2000".
    if let Some((used, period)) =
        dated(1).filter(|_| tokens[at].norm == "over" && !is_number(at + 1))
    {
        return Some((used, Kind::Period(period)));
    }
    // All that was until then, or what happened then?
    let opens = ["as of", "as at", "by", "through"];
    let opens = opens.iter().find_map(|w| starts_with(&tokens[at..], w));
    if let Some((used, _)) = opens.and_then(dated) {
        return Some((used, Kind::BadPeriod(DateTrouble::Unclear)));
    }
    // "last year" is the one before this, and "the last year" may be the days since then.
    let the = at.checked_sub(1).is_some_and(|b| tokens[b].norm == "the");
    let unit = tokens.get(at + 1).and_then(|t| dates::unit_of(&t.norm));
    if let Some((used, _)) = dated(0).filter(|_| the && tokens[at].norm == "last" && unit.is_some())
    {
        return Some((used, Kind::BadPeriod(DateTrouble::Unclear)));
    }
    let token = &tokens[at];
    let word = token.norm.as_str();
    let next = tokens.get(at + 1);
    let year_next = next.is_some_and(|t| t.kind == TokenKind::Number && t.text.len() == 4);
    let quarter = word.len() == 2 && word.starts_with('q');
    let month = token.kind == TokenKind::Word
        && (word.len() >= 3 && word != "may" || quarter || word == "may" && year_next);
    let day_first = token.kind == TokenKind::Number
        && next.is_some_and(|t| t.kind == TokenKind::Word)
        && word.len() < 3;
    let dated = |i: usize| tokens.get(i).is_some_and(|t| t.kind == TokenKind::Date);
    let bounded = match word {
        "between" | "from" => {
            let month = tokens
                .get(at + 1)
                .is_some_and(|t| t.kind == TokenKind::Word);
            dated(at + 1)
                || year_next && dates::is_open(tokens, at + 2)
                || month && dates::read_period(tokens, at, today).is_some_and(|p| p.1.is_ok())
        }
        "since" | "starting" => !year_next,
        _ => true,
    };
    if !(bounded && (token.kind == TokenKind::Date || month || day_first)) || LINKS.contains(&word)
    {
        return None;
    }
    let (used, period) = dates::read_period(tokens, at, today)?;
    Some((used, kind(period)))
}

/// What is said of the days to come, where a column has some and a period reaches up to today or has no end.
pub fn to_come(catalog: &Catalog, query: &Query, today: Option<Date>) -> Vec<String> {
    let sources = query.members.iter().map(|m| &m.source);
    let all = sources
        .chain([&query.source])
        .flat_map(|s| s.conditions.iter().flatten());
    let note = |condition: &Condition| {
        let today = today?;
        let Check::Days(period) = condition.check else {
            return None;
        };
        let max = catalog.column(condition.column).max.as_ref()?;
        let max: Date = max.get(..10)?.parse().ok()?;
        let counted = match period.to {
            None => "are counted too",
            Some(to) if today.tomorrow().ok() == Some(to) => "are not counted",
            Some(_) => return None,
        };
        let label = catalog.label(condition.column);
        let says = max > today && period.from.is_some_and(|from| from <= today);
        says.then(|| format!("days of `{label}` after {today} {counted}"))
    };
    all.filter_map(note).collect()
}

/// Words before a time that are read as comparisons.
const LINKS: &[&str] = &[
    "after", "before", "until", "till", "through", "during", "for", "the", "year",
];
