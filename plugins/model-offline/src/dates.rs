//! Dates in a question: periods, open and closed, exact and relative to today.

use jiff::civil::{Date, Weekday};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::{Span, ToSpan};

use crate::dialect::Unit;
use crate::words::Token;

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
        }
    }
}

/// The number of tokens read, and the period or what is wrong with it.
pub type Read = (usize, Result<Period, DateTrouble>);

/// Reads a period ("May 2023", "since May 2023", "between A and B", "last 7 days") at `at`. `None` when no date starts
/// there.
pub fn read_period(tokens: &[Token], at: usize, today: Option<Date>) -> Option<Read> {
    let opens = tokens.get(at)?.norm.as_str();
    if !matches!(opens, "since" | "between" | "from") {
        return read_plain(tokens, at, today);
    }
    let (used, first) = read_plain(tokens, at + 1, today)?;
    if opens == "since" {
        let since = first.map(|p| Period { to: None, ..p });
        return Some((used + 1, since));
    }
    let middle = at + 1 + used;
    let joins = |t: &Token| matches!(t.norm.as_str(), "and" | "to" | "until" | "till" | "through");
    let last = tokens.get(middle).filter(|t| joins(t));
    let Some((more, last)) = last.and_then(|_| read_plain(tokens, middle + 1, today)) else {
        return Some((1 + used, first));
    };
    // "between March and May 2024": the year belongs to both, but which one is a guess.
    let span = first.and_then(|a| {
        Ok(Period {
            from: a.from,
            ..last?
        })
    });
    Some((middle + 1 + more - at, span))
}

fn read_plain(tokens: &[Token], at: usize, today: Option<Date>) -> Option<Read> {
    let skipped = usize::from(tokens.get(at)?.norm == "the");
    let start = at + skipped;
    let (used, period) = read_quarter(tokens, start)
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
        let found = FORMATS
            .iter()
            .filter(|_| !may)
            .find_map(|f| calendar(f, &text));
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

fn read_relative(tokens: &[Token], at: usize, today: Option<Date>) -> Option<Read> {
    let yesterday = || today.and_then(|t| t.checked_sub(1.day()).ok());
    let one = |day: Option<Date>| {
        let known = today.ok_or(DateTrouble::TodayUnknown);
        Some((1, known.and_then(|_| days(day, 1.day()))))
    };
    let back = match tokens.get(at)?.norm.as_str() {
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
    let unit_place = at + 1 + usize::from(count.is_some());
    let unit = &tokens.get(unit_place)?.stem;
    // "The last date" is the latest one, not yesterday.
    let unit = unit_of(unit).filter(|_| unit != "date")?;
    let period = today.ok_or(DateTrouble::TodayUnknown);
    let period =
        period.and_then(|t| relative(t, unit, back, count).ok_or(DateTrouble::ImpossibleDay));
    Some((unit_place + 1 - at, period))
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

/// "last year" is the calendar year before this one; "last 7 days" are the seven up to and with today.
fn relative(today: Date, unit: Unit, back: i32, count: Option<i32>) -> Option<Period> {
    let length = |n: i32| match unit {
        Unit::Day => n.days(),
        Unit::Week => n.weeks(),
        Unit::Month => n.months(),
        Unit::Quarter => (n * 3).months(),
        Unit::Year => n.years(),
    };
    let tomorrow = today.checked_add(1.day()).ok()?;
    if let Some(count) = count {
        let from = tomorrow.checked_sub(length(count)).ok()?;
        return Some(Period {
            from: Some(from),
            to: Some(tomorrow),
        });
    }
    let first = match unit {
        Unit::Day => Ok(today),
        Unit::Week => today.checked_sub(i32::from(today.weekday().since(Weekday::Monday)).days()),
        Unit::Month => Ok(today.first_of_month()),
        Unit::Quarter => Date::new(today.year(), (today.month() - 1) / 3 * 3 + 1, 1),
        Unit::Year => Ok(today.first_of_year()),
    };
    days(first.ok()?.checked_sub(length(back)).ok(), length(1)).ok()
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
        let (used, period) = read_period(&tokenize(text), 0, today)?;
        Some((used, period.map_or_else(|e| format!("{e:?}"), describe)))
    }

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
            (
                "between 2024-01 and 2024-06-30",
                4,
                "from 2024-01-01 to 2024-06-30",
            ),
            ("Q2 2024", 2, "from 2024-04-01 to 2024-06-30"),
            ("2024 Q2", 2, "from 2024-04-01 to 2024-06-30"),
            (
                "the first quarter of 2024",
                5,
                "from 2024-01-01 to 2024-03-31",
            ),
            ("last year", 2, "in 2025"),
            ("this month", 2, "in 2026-11"),
            ("last week", 2, "from 2026-11-09 to 2026-11-15"),
            ("the last 7 days", 4, "from 2026-11-14 to 2026-11-20"),
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
