//! Words of time in a question: periods, units that rows are grouped by, and the first rows of a table.

use jiff::civil::Date;

use super::items::Kind;
use super::link::Index;
use crate::dates;
use crate::words::{Token, TokenKind};

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

/// "per month", "by year", "monthly", "which month": only where the catalog has dates.
fn unit(tokens: &[Token], at: usize, index: &Index) -> Option<(usize, Kind)> {
    let token = &tokens[at];
    let unit = dates::unit_of(&token.stem).filter(|_| !index.dates.is_empty())?;
    let alone = token.norm.ends_with("ly") || token.norm.starts_with("annual");
    let before = at.checked_sub(1).map(|b| tokens[b].norm.as_str());
    let grouped = matches!(before, Some("per" | "by" | "each" | "every" | "which"));
    ((alone || grouped) && token.stem != "date").then_some((1, Kind::Unit(unit)))
}

fn period(tokens: &[Token], at: usize, today: Option<Date>) -> Option<(usize, Kind)> {
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
        "between" | "from" => dated(at + 1),
        "since" => !year_next,
        _ => true,
    };
    if !(bounded && (token.kind == TokenKind::Date || month || day_first)) || LINKS.contains(&word)
    {
        return None;
    }
    let (used, period) = dates::read_period(tokens, at, today)?;
    Some((used, period.map_or_else(Kind::BadPeriod, Kind::Period)))
}

/// Words before a time that are read as comparisons.
const LINKS: &[&str] = &[
    "after", "before", "until", "till", "through", "during", "for", "within", "over", "the", "year",
];
