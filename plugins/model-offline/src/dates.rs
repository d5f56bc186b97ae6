//! Dates in a question: periods, open and closed, exact and relative to today.

use jiff::civil::{Date, Weekday};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::{Span, ToSpan};

use crate::dialect::Unit;
use crate::vocabulary::holds;
use crate::words::{Token, TokenKind};

/// Days from `from` up to, not including, `to`; open where `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// First day.
    pub from: Option<Date>,
    /// The day after the last.
    pub to: Option<Date>,
}

/// Why words that are plainly about time could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateTrouble {
    /// A relative date, and the host did not say what day it is.
    TodayUnknown,
    /// A month or quarter without its year.
    YearMissing,
    /// No such day.
    ImpossibleDay,
    /// Words that mean other days to other people.
    Unclear,
}

impl DateTrouble {
    /// What is wrong with these words.
    pub fn sentence(self, words: &str) -> String {
        match self {
            Self::TodayUnknown => format!(
                "I was not told today's date, so I cannot work out \"{words}\". Please write the dates out."
            ),
            Self::YearMissing => {
                format!("\"{words}\" needs a year, as in \"March 2024\" or \"Q1 2024\".")
            }
            Self::ImpossibleDay => format!("\"{words}\" is not a day of the calendar."),
            Self::Unclear => {
                format!("\"{words}\" can mean different days. Please write the dates out.")
            }
        }
    }
}

/// The number of tokens read, and the period or what is wrong with it.
pub type Read = (usize, Result<Period, DateTrouble>);

/// Reads a period ("May 2023", "since May 2023", "between A and B", "last 7 days") at `at`. `None` when no date starts
/// there.
pub fn read_period(tokens: &[Token], at: usize, today: Option<Date>) -> Option<Read> {
    let opens = tokens.get(at)?.norm.as_str();
    if !matches!(opens, "since" | "between" | "from" | "starting") {
        return read_plain(tokens, at, today);
    }
    let joins = |t: &Token| matches!(t.norm.as_str(), "and" | "to" | "until" | "till" | "through");
    let is_range = |used: usize| opens != "since" && tokens.get(at + used).is_some_and(joins);
    if let Some(found) = read_start(tokens, at, today).filter(|(used, _)| !is_range(*used)) {
        return Some(found);
    }
    let (used, first) = read_limit(tokens, at + 1, today)?;
    if matches!(opens, "since" | "starting") {
        let since = first.map(|p| Period { to: None, ..p });
        return Some((used + 1, since));
    }
    let middle = at + 1 + used;
    if opens == "from" && is_open(tokens, middle) {
        let since = first.map(|p| Period { to: None, ..p });
        return Some((used + 2, since));
    }
    let last = tokens.get(middle).filter(|t| joins(t));
    let Some((more, last)) = last.and_then(|_| read_limit(tokens, middle + 1, today)) else {
        return Some((1 + used, first));
    };
    // "between March and May 2024": the year belongs to both, but which one is a guess.
    let span = first.and_then(|a| {
        Ok(Period {
            from: a.from,
            ..last?
        })
    });
    let end = middle + 1 + more;
    Some((end + inclusive(tokens, end) - at, span))
}

/// Whether a word says that a period goes on: "from 2023 on", "from May 2023 onwards".
pub fn is_open(tokens: &[Token], at: usize) -> bool {
    let word = tokens.get(at).map_or("", |t| t.norm.as_str());
    let ends = tokens.get(at + 1).is_none_or(|t| t.kind != TokenKind::Word);
    holds("onward onwards", word) || word == "on" && ends
}

/// The tokens of "inclusive of start and end dates", which a period is anyway.
fn inclusive(tokens: &[Token], at: usize) -> usize {
    let is = |at: usize, words: &str| tokens.get(at).is_some_and(|t| holds(words, &t.norm));
    let comma = usize::from(is(at, ",") && is(at + 1, "inclusive both"));
    let start = at + comma + usize::from(is(at + comma, "both"));
    if !is(start, "inclusive") {
        return 0;
    }
    let small = "of the both start starting end ending and first last date dates day days";
    let of = if is(start + 1, "of") {
        tokens.len()
    } else {
        start + 1
    };
    let end = (start + 1..of).find(|i| !is(*i, small)).unwrap_or(of);
    end - at
}

/// "since 5 years ago", "starting 2 weeks ago", "since the start of the year"
fn read_start(tokens: &[Token], at: usize, today: Option<Date>) -> Option<Read> {
    let word = |i: usize| tokens.get(i).map_or("", |t| t.norm.as_str());
    let today = today.ok_or(DateTrouble::TodayUnknown);
    let since = |from: Option<Date>| {
        let from = from.ok_or(DateTrouble::ImpossibleDay)?;
        Ok(Period {
            from: Some(from),
            to: None,
        })
    };
    if let Some((used, count, unit)) = ago(tokens, at + 1) {
        let from = today.and_then(|t| since(t.checked_sub(length(unit, count)).ok()));
        return Some((used + 1, from));
    }
    let start = at + 1 + usize::from(word(at + 1) == "the");
    let opens = holds("start beginning", word(start)) && word(start + 1) == "of";
    let this = holds("the this current", word(start + 2));
    let unit = tokens.get(start + 3).and_then(|t| unit_of(&t.norm))?;
    let from = |t: Date| since(relative(t, unit, 0).and_then(|p| p.from));
    (opens && this).then(|| (start + 4 - at, today.and_then(from)))
}

/// "5 years ago": the number of tokens, how many, and of what.
fn ago(tokens: &[Token], at: usize) -> Option<(usize, i32, Unit)> {
    let count = match tokens.get(at)?.norm.as_str() {
        "a" => Some(1),
        number => number.parse::<i32>().ok(),
    };
    let count = count.filter(|n| (1..=1000).contains(n))?;
    let unit = unit_of(&tokens.get(at + 1)?.stem).filter(|_| tokens[at + 1].stem != "date")?;
    let ends = tokens.get(at + 2)?.norm == "ago";
    ends.then_some((3, count, unit))
}

/// Where a period starts or ends that is so long ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edge {
    Open,
    /// At the start of that day.
    Day,
    /// At its end.
    Next,
    /// At the end of today.
    Today,
}

/// The words before "3 months ago" with the edges of the period. "Up to" can mean both sides, so its period is open.
#[rustfmt::skip]
const AGO: &[(Edge, Edge, &str)] = &[
    (Edge::Open, Edge::Next,
        "at least; no less than; not less than; on or before; no later than; not later than; until; till"),
    (Edge::Day, Edge::Today, "at most; no more than; not more than; within"),
    (Edge::Day, Edge::Open, "on or after; no earlier than; not earlier than"),
    (Edge::Open, Edge::Day, "more than; over; before; earlier than; prior to"),
    (Edge::Next, Edge::Today, "less than; fewer than; under"),
    (Edge::Next, Edge::Open, "after; later than"),
    (Edge::Day, Edge::Next, "exactly"),
    (Edge::Open, Edge::Open, "up to"),
];

/// "more than 3 months ago", "at least 2 years ago": days up to, or since, that day.
pub fn read_bound_ago(tokens: &[Token], at: usize, today: Option<Date>) -> Option<Read> {
    let (words, from, to) = AGO.iter().find_map(|(from, to, all)| {
        let mut all = all.split("; ");
        let words = all.find_map(|w| crate::words::starts_with(&tokens[at..], w))?;
        Some((words, *from, *to))
    })?;
    let (used, count, unit) = ago(tokens, at + words)?;
    let period = today.ok_or(DateTrouble::TodayUnknown).and_then(|today| {
        let day = today.checked_sub(length(unit, count));
        let day = day.map_err(|_| DateTrouble::ImpossibleDay)?;
        let edge = |edge: Edge| match edge {
            Edge::Open => None,
            Edge::Day => Some(day),
            Edge::Next => day.tomorrow().ok(),
            Edge::Today => today.tomorrow().ok(),
        };
        let (from, to) = (edge(from), edge(to));
        from.or(to).ok_or(DateTrouble::Unclear)?;
        Ok(Period { from, to })
    });
    Some((words + used, period))
}

/// The first or the last days of a range: "6 months ago" is a day there.
fn read_limit(tokens: &[Token], at: usize, today: Option<Date>) -> Option<Read> {
    let Some((used, count, unit)) = ago(tokens, at) else {
        return read_plain(tokens, at, today);
    };
    let day = today.ok_or(DateTrouble::TodayUnknown);
    let day = day.and_then(|t| days(t.checked_sub(length(unit, count)).ok(), 1.day()));
    Some((used, day))
}

fn read_plain(tokens: &[Token], at: usize, today: Option<Date>) -> Option<Read> {
    let skipped = usize::from(tokens.get(at)?.norm == "the");
    let start = at + skipped;
    let (used, period) = read_half(tokens, start)
        .or_else(|| read_quarter(tokens, start))
        .or_else(|| read_calendar(tokens, start))
        .or_else(|| read_relative(tokens, start, today))?;
    Some((used + skipped, period))
}

/// How days, months and years are written; the longest comes first. `%B` is also read as its abbreviation.
const FORMATS: &[&str] = &[
    "%d %B %Y", "%B %d %Y", "%Y-%m-%d", "%Y-%m", "year %Y", "%B %Y", "%d %B", "%B %d", "%Y", "%B",
];

fn read_calendar(tokens: &[Token], at: usize) -> Option<Read> {
    let small = |t: &Token| matches!(t.norm.as_str(), "," | "of");
    (1..=5).rev().find_map(|used| {
        let words = tokens.get(at..at + used).filter(|w| !small(&w[used - 1]))?;
        let plain = words.iter().filter(|t| !small(t));
        let text: Vec<&str> = plain.map(|t| without_ordinal(&t.norm)).collect();
        // "may" is a month only where a number stands beside it, so that "may I see" is not.
        let may = text == ["may"] && words[0].text != "May";
        let text = text.join(" ").replace("sept ", "sep ");
        // Without a digit, only a month may stand there: to try all formats takes long.
        let has_digit = text.contains(|c: char| c.is_ascii_digit());
        let fits = |f: &&&str| !may && (has_digit || **f == "%B" && !text.contains(' '));
        let found = FORMATS.iter().filter(fits).find_map(|f| calendar(f, &text));
        Some((used, found?))
    })
}

fn without_ordinal(word: &str) -> &str {
    let end = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|e| word.strip_suffix(e));
    end.filter(|digits| digits.parse::<u8>().is_ok())
        .unwrap_or(word)
}

fn calendar(format: &str, text: &str) -> Option<Result<Period, DateTrouble>> {
    let parsed = BrokenDownTime::parse(format, text);
    let time = parsed
        .or_else(|_| BrokenDownTime::parse(format.replace("%B", "%b"), text))
        .ok()?;
    if !format.contains("%Y") {
        return Some(Err(DateTrouble::YearMissing));
    }
    let year = time.year().filter(|y| (1900..=2100).contains(y))?;
    let length = match (time.month(), time.day()) {
        (_, Some(_)) => 1.day(),
        (Some(_), None) => 1.month(),
        _ => 1.year(),
    };
    let first = Date::new(year, time.month().unwrap_or(1), time.day().unwrap_or(1));
    Some(days(first.ok(), length))
}

/// The days of a year.
pub fn year(text: &str) -> Option<Period> {
    days(Date::new(text.parse().ok()?, 1, 1).ok(), 1.year()).ok()
}

fn days(from: Option<Date>, length: Span) -> Result<Period, DateTrouble> {
    let to = from.and_then(|d| d.checked_add(length).ok());
    to.map(|_| Period { from, to })
        .ok_or(DateTrouble::ImpossibleDay)
}

/// "Q2 2024", "2024 Q2", "the second quarter of 2024"
fn read_quarter(tokens: &[Token], at: usize) -> Option<Read> {
    let word = |i: usize| tokens.get(i).map_or("", |t| t.norm.as_str());
    let year = |i: usize| {
        word(i)
            .parse::<i16>()
            .ok()
            .filter(|y| (1900..=2100).contains(y))
    };
    let short = |i: usize| word(i).strip_prefix('q')?.parse::<i8>().ok();
    let ordinals = [
        ["first", "1st"],
        ["second", "2nd"],
        ["third", "3rd"],
        ["fourth", "4th"],
    ];
    let long = |i: usize| ordinals.iter().position(|o| o.contains(&word(i)));
    let long = long(at)
        .filter(|_| word(at + 1) == "quarter")
        .map(|q| q as i8 + 1);
    let quarter = short(at).or(long).or_else(|| year(at).and(short(at + 1)));
    let quarter = quarter.filter(|q| (1..=4).contains(q))?;
    let used = if long.is_some() { 2 } else { 1 };
    let of = usize::from(matches!(word(at + used), "of" | "in" | ","));
    let (used, year) = match (year(at), year(at + used + of)) {
        (Some(year), _) => (2, year),
        (_, Some(year)) => (used + of + 1, year),
        _ => return Some((used, Err(DateTrouble::YearMissing))),
    };
    Some((
        used,
        days(Date::new(year, quarter * 3 - 2, 1).ok(), 3.months()),
    ))
}

/// "the first half of 2023", "H1 2023"
fn read_half(tokens: &[Token], at: usize) -> Option<Read> {
    let word = |i: usize| tokens.get(i).map_or("", |t| t.norm.as_str());
    let (used, half) = match (word(at), word(at + 1)) {
        ("first" | "1st", "half") => (2, 0),
        ("second" | "2nd", "half") => (2, 1),
        ("h1", _) => (1, 0),
        ("h2", _) => (1, 1),
        _ => return None,
    };
    let words = ["of", "in", "the", "year"];
    let small = (at + used..)
        .take_while(|i| words.contains(&word(*i)))
        .count();
    let year = word(at + used + small).parse::<i16>().ok();
    let Some(year) = year.filter(|y| (1900..=2100).contains(y)) else {
        return Some((used, Err(DateTrouble::YearMissing)));
    };
    let first = Date::new(year, 1 + 6 * half, 1).ok();
    Some((used + small + 1, days(first, 6.months())))
}

fn read_relative(tokens: &[Token], at: usize, today: Option<Date>) -> Option<Read> {
    let yesterday = || today.and_then(|t| t.checked_sub(1.day()).ok());
    let one = |day: Option<Date>| {
        let known = today.ok_or(DateTrouble::TodayUnknown);
        Some((1, known.and_then(|_| days(day, 1.day()))))
    };
    if let Some((used, count, unit)) = ago(tokens, at) {
        let known = today.ok_or(DateTrouble::TodayUnknown);
        let period = known.and_then(|t| relative(t, unit, count).ok_or(DateTrouble::ImpossibleDay));
        return Some((used, period));
    }
    let word = tokens.get(at)?.norm.as_str();
    let back = match word {
        "today" => return one(today),
        "yesterday" => return one(yesterday()),
        "this" | "current" => 0,
        "last" | "previous" | "past" => 1,
        _ => return None,
    };
    let count = tokens
        .get(at + 1)?
        .norm
        .parse::<i32>()
        .ok()
        .filter(|n| (1..=1000).contains(n));
    let mut unit_place = at + 1 + usize::from(count.is_some());
    let kind = tokens.get(unit_place).map_or("", |t| t.norm.as_str());
    let is_full = holds("full complete completed whole", kind);
    // Whether this month is one of the last 6 calendar months is not said.
    let is_unclear = kind == "calendar" && count.is_some_and(|n| n > 1);
    unit_place += usize::from(is_full || kind == "calendar");
    let unit = &tokens.get(unit_place)?.stem;
    // "The last date" is the latest one, not yesterday.
    let unit = unit_of(unit).filter(|_| unit != "date")?;
    // "The past month" ends today, "last month" ended with the month.
    let count = count.or((word == "past" && kind != "calendar").then_some(1));
    let (used, whole) = bounds(tokens, unit_place + 1);
    let period = today.ok_or(DateTrouble::TodayUnknown).and_then(|today| {
        let period = match count {
            Some(_) if is_unclear && !whole => return Err(DateTrouble::Unclear),
            Some(count) => back_to(today, unit, count, whole || is_full),
            None => relative(today, unit, back),
        };
        period.ok_or(DateTrouble::ImpossibleDay)
    });
    let used = if count.is_some() { used } else { 0 };
    Some((unit_place + 1 + used - at, period))
}

/// What stands behind "the last 6 months" and says where they end: the number of its tokens, and whether only whole
/// months before this one are meant.
fn bounds(tokens: &[Token], at: usize) -> (usize, bool) {
    let comma = usize::from(tokens.get(at).is_some_and(|t| t.norm == ","));
    let rest = &tokens[(at + comma).min(tokens.len())..];
    const TODAY: &[&str] = &[
        "from today",
        "from now",
        "up to today",
        "including today",
        "until today",
    ];
    const WHOLE: &[&str] = &[
        "not including",
        "excluding",
        "but not",
        "not counting",
        "without",
    ];
    let said = |all: &[&str]| {
        all.iter()
            .find_map(|words| crate::words::starts_with(rest, words))
    };
    if let Some(used) = said(TODAY) {
        return (comma + used, false);
    }
    if let Some(used) = said(WHOLE) {
        let small =
            |t: &&Token| holds("the this current one 1", &t.norm) || unit_of(&t.norm).is_some();
        let more = rest[used..].iter().take_while(small).count();
        let current = rest[used..used + more]
            .iter()
            .any(|t| holds("this current", &t.norm));
        return if current {
            (comma + used + more, true)
        } else {
            (0, false)
        };
    }
    let is_inclusive = rest.first().is_some_and(|t| t.norm == "inclusive");
    let days = ago(rest, 2).filter(|_| rest.get(1).is_some_and(|t| t.norm == "of"));
    match (is_inclusive, days) {
        (true, Some((used, ..))) => (comma + 2 + used, false),
        (true, None) => (inclusive(tokens, at), false),
        _ => (0, false),
    }
}

/// The days since so many units before today, and today; or as many whole units before the current one.
fn back_to(today: Date, unit: Unit, count: i32, whole: bool) -> Option<Period> {
    let (from, to) = match whole {
        true => {
            let first = relative(today, unit, 0)?.from?;
            (first.checked_sub(length(unit, count)).ok()?, first)
        }
        false => {
            let from = today.checked_sub(length(unit, count)).ok()?;
            (from, today.checked_add(1.day()).ok()?)
        }
    };
    Some(Period {
        from: Some(from),
        to: Some(to),
    })
}

/// The unit that a word in singular names.
pub fn unit_of(stem: &str) -> Option<Unit> {
    Some(match stem {
        "day" | "daily" | "date" => Unit::Day,
        "week" | "weekly" => Unit::Week,
        "month" | "monthly" => Unit::Month,
        "quarter" | "quarterly" => Unit::Quarter,
        "year" | "yearly" | "annual" | "annually" => Unit::Year,
        _ => return None,
    })
}

fn length(unit: Unit, n: i32) -> Span {
    match unit {
        Unit::Day | Unit::Weekday => n.days(),
        Unit::Week => n.weeks(),
        Unit::Month => n.months(),
        Unit::Quarter => (n * 3).months(),
        Unit::Year => n.years(),
    }
}

/// The calendar unit so many before the current one: "last year" is the year before this one.
fn relative(today: Date, unit: Unit, back: i32) -> Option<Period> {
    let first = match unit {
        Unit::Day | Unit::Weekday => Ok(today),
        Unit::Week => today.checked_sub(i32::from(today.weekday().since(Weekday::Monday)).days()),
        Unit::Month => Ok(today.first_of_month()),
        Unit::Quarter => Date::new(today.year(), (today.month() - 1) / 3 * 3 + 1, 1),
        Unit::Year => Ok(today.first_of_year()),
    };
    let first = first.ok()?.checked_sub(length(unit, back)).ok();
    days(first, length(unit, 1)).ok()
}

/// How a person would write the period.
pub fn describe(period: Period) -> String {
    let last = |to: Date| to.checked_sub(1.day()).unwrap_or(to);
    match (period.from, period.to) {
        (Some(from), Some(to)) => {
            let spans = |length: Span| from.checked_add(length).ok() == Some(to);
            match () {
                () if spans(1.day()) => format!("on {from}"),
                () if from.day() == 1 && spans(1.month()) => {
                    format!("in {}", from.strftime("%Y-%m"))
                }
                () if from.day_of_year() == 1 && spans(1.year()) => format!("in {}", from.year()),
                () => format!("from {from} to {}", last(to)),
            }
        }
        (Some(from), None) => format!("since {from}"),
        (None, Some(to)) => format!("before {to}"),
        (None, None) => "at any time".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::tokenize;

    fn read(text: &str) -> Option<(usize, String)> {
        let today = "2026-11-20".parse().ok();
        let tokens = tokenize(text);
        let found = read_bound_ago(&tokens, 0, today);
        let (used, period) = found.or_else(|| read_period(&tokens, 0, today))?;
        Some((used, period.map_or_else(|e| format!("{e:?}"), describe)))
    }

    #[rustfmt::skip]
    #[test]
    fn periods_are_read_as_people_write_them() {
        for (text, used, expected) in [
            ("2024", 1, "in 2024"),
            ("March 2024 per", 2, "in 2024-03"),
            ("sept 2024", 2, "in 2024-09"),
            ("March 5, 2024", 4, "on 2024-03-05"),
            ("5th March 2024", 3, "on 2024-03-05"),
            ("from 2022 to 2023", 4, "from 2022-01-01 to 2023-12-31"),
            ("since May 2023", 3, "since 2023-05-01"),
            ("from May 2023 on", 4, "since 2023-05-01"),
            ("from 2023 onwards", 3, "since 2023-01-01"),
            ("from 2023 on Mondays", 2, "in 2023"),
            ("between 2024-01 and 2024-06-30", 4, "from 2024-01-01 to 2024-06-30"),
            ("Q2 2024", 2, "from 2024-04-01 to 2024-06-30"),
            ("2024 Q2", 2, "from 2024-04-01 to 2024-06-30"),
            ("the first quarter of 2024", 5, "from 2024-01-01 to 2024-03-31"),
            ("last year", 2, "in 2025"),
            ("this month", 2, "in 2026-11"),
            ("last week", 2, "from 2026-11-09 to 2026-11-15"),
            ("the last 7 days", 4, "from 2026-11-13 to 2026-11-20"),
            ("past week", 2, "from 2026-11-13 to 2026-11-20"),
            ("past 6 full months", 4, "from 2026-05-01 to 2026-10-31"),
            ("last complete month", 3, "in 2026-10"),
            ("past full week", 3, "from 2026-11-09 to 2026-11-15"),
            ("last calendar year", 3, "in 2025"),
            ("past 6 calendar months", 4, "Unclear"),
            ("past 6 calendar months excluding this month", 7, "from 2026-05-01 to 2026-10-31"),
            ("last 6 months, not including the current one", 9, "from 2026-05-01 to 2026-10-31"),
            ("past 30 days, inclusive of 30 days ago", 9, "from 2026-10-21 to 2026-11-20"),
            ("2 years ago", 3, "in 2024"),
            ("starting 5 years ago", 4, "since 2021-11-20"),
            ("more than 3 months ago", 5, "before 2026-08-20"),
            ("over a year ago", 4, "before 2025-11-20"),
            ("before 3 months ago", 4, "before 2026-08-20"),
            ("at least 3 months ago", 5, "before 2026-08-21"),
            ("at most 3 months ago", 5, "from 2026-08-20 to 2026-11-20"),
            ("less than 3 months ago", 5, "from 2026-08-21 to 2026-11-20"),
            ("after 3 months ago", 4, "since 2026-08-21"),
            ("exactly 2 weeks ago", 4, "on 2026-11-06"),
            ("up to 3 months ago", 5, "Unclear"),
            ("between 6 months ago and 3 months ago", 8, "from 2026-05-20 to 2026-08-20"),
            ("since the start of the year", 6, "since 2026-01-01"),
            ("first half of 2023", 4, "from 2023-01-01 to 2023-06-30"),
            (
                "between Jan 1, 2023 and Mar 31, 2023 (inclusive of start and end dates)",
                16,
                "from 2023-01-01 to 2023-03-31",
            ),
            ("yesterday", 1, "on 2026-11-19"),
            ("March", 1, "YearMissing"),
            ("2024-02-30", 1, "ImpossibleDay"),
        ] {
            assert_eq!(read(text), Some((used, expected.to_owned())), "{text}");
        }
        for text in ["orders", "may I", "Germany", "last order", "2500 orders"] {
            assert_eq!(read(text), None, "{text}");
        }
        let unknown = read_period(&tokenize("last year"), 0, None);
        assert_eq!(unknown, Some((2, Err(DateTrouble::TodayUnknown))));
    }
}
