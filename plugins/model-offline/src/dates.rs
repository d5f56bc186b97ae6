//! Dates in a question: periods, open and closed, exact and relative to today.

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};

use crate::dialect::Unit;
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

/// The words read, or what is wrong with them.
pub type Read = (usize, Result<Period, DateTrouble>);

/// Reads a period with its preposition ("since May 2023", "between A and B", "in 2024") at `at`.
/// `None` when no date starts there.
pub fn read_period(tokens: &[Token], at: usize, today: Option<Date>) -> Option<Read> {
    let word = tokens.get(at)?.norm.as_str();
    let bounded = |from: usize, shape: fn(Period) -> Period| {
        let (used, period) = read_plain(tokens, from, today)?;
        Some((from - at + used, period.map(shape)))
    };
    match word {
        "since" => bounded(at + 1, |p| Period {
            from: p.from,
            to: None,
        }),
        "after" => bounded(at + 1, |p| Period {
            from: p.to,
            to: None,
        }),
        "before" => bounded(at + 1, |p| Period {
            from: None,
            to: p.from,
        }),
        "until" | "till" | "through" => bounded(at + 1, |p| Period {
            from: None,
            to: p.to,
        }),
        "between" | "from" => {
            let first = read_plain(tokens, at + 1, today)?;
            let middle = at + 1 + first.0;
            let joined = tokens.get(middle).is_some_and(|t| {
                matches!(
                    t.norm.as_str(),
                    "and" | "to" | "until" | "till" | "through" | "up"
                )
            });
            match joined
                .then(|| read_plain(tokens, middle + 1, today))
                .flatten()
            {
                Some(last) => Some((middle + 1 + last.0 - at, span(first.1, last.1))),
                None if word == "from" && today.is_some() || first.1.is_ok() => {
                    Some((1 + first.0, first.1))
                }
                None => Some((1 + first.0, first.1)),
            }
        }
        "in" | "on" | "during" | "for" | "within" | "of" | "over" => bounded(at + 1, |p| p),
        _ => read_plain(tokens, at, today),
    }
}

fn span(
    first: Result<Period, DateTrouble>,
    last: Result<Period, DateTrouble>,
) -> Result<Period, DateTrouble> {
    match (first, last) {
        (Ok(a), Ok(b)) => Ok(Period {
            from: a.from,
            to: b.to,
        }),
        // "between March and May 2024": the year belongs to both, but which one is a guess.
        (Err(e), _) | (_, Err(e)) => Err(e),
    }
}

fn read_plain(tokens: &[Token], at: usize, today: Option<Date>) -> Option<Read> {
    let at_article = tokens.get(at).is_some_and(|t| t.norm == "the");
    let (start, skipped) = if at_article { (at + 1, 1) } else { (at, 0) };
    let (used, period) = read_literal(tokens, start)
        .or_else(|| read_month(tokens, start))
        .or_else(|| read_quarter(tokens, start))
        .or_else(|| read_year(tokens, start))
        .or_else(|| read_relative(tokens, start, today))?;
    Some((used + skipped, period))
}

fn year_at(tokens: &[Token], at: usize) -> Option<i16> {
    let token = tokens
        .get(at)
        .filter(|t| t.kind == TokenKind::Number && t.text.len() == 4)?;
    token
        .norm
        .parse()
        .ok()
        .filter(|y| (1900..=2100).contains(y))
}

fn number_at(tokens: &[Token], at: usize) -> Option<i32> {
    let token = tokens.get(at)?;
    let digits = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|e| token.norm.strip_suffix(e))
        .unwrap_or(&token.norm);
    digits.parse().ok().filter(|n| (1..=1000).contains(n))
}

fn days(from: Option<Date>, length: Span) -> Result<Period, DateTrouble> {
    let to = from.and_then(|d| d.checked_add(length).ok());
    if to.is_some() {
        Ok(Period { from, to })
    } else {
        Err(DateTrouble::ImpossibleDay)
    }
}

fn read_literal(tokens: &[Token], at: usize) -> Option<Read> {
    let token = tokens.get(at).filter(|t| t.kind == TokenKind::Date)?;
    let period = match token.norm.len() {
        7 => days(format!("{}-01", token.norm).parse().ok(), 1.month()),
        _ => days(token.norm.parse().ok(), 1.day()),
    };
    Some((1, period))
}

fn read_year(tokens: &[Token], at: usize) -> Option<Read> {
    let named = tokens.get(at).is_some_and(|t| t.norm == "year");
    let start = if named { at + 1 } else { at };
    let year = year_at(tokens, start)?;
    Some((start + 1 - at, days(Date::new(year, 1, 1).ok(), 1.year())))
}

fn month_at(tokens: &[Token], at: usize) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let word = tokens.get(at).filter(|t| t.kind == TokenKind::Word)?;
    let norm = word.norm.as_str();
    let full = |m: &&str| {
        **m == *norm
            || (norm.len() == 3 && m.starts_with(norm))
            || (norm == "sept" && **m == *"september")
    };
    // "may" is a month only where a number stands beside it, so that "may I see" is not.
    let near_number = number_at(tokens, at + 1)
        .or_else(|| year_at(tokens, at + 1).map(i32::from))
        .is_some();
    let position = MONTHS.iter().position(full)?;
    (norm != "may" || near_number || word.text == "May").then_some(position as i8 + 1)
}

fn read_month(tokens: &[Token], at: usize) -> Option<Read> {
    let skip = |i: usize| {
        i + usize::from(
            tokens
                .get(i)
                .is_some_and(|t| t.norm == "," || t.norm == "of"),
        )
    };
    let day_first = number_at(tokens, at)
        .filter(|d| *d <= 31)
        .filter(|_| year_at(tokens, at).is_none());
    if let Some((day, month)) = day_first.zip(month_at(tokens, skip(at + 1))) {
        let year_place = skip(skip(at + 1) + 1);
        return Some(match year_at(tokens, year_place) {
            Some(year) => (year_place + 1 - at, one_day(year, month, day)),
            None => (skip(at + 1) + 1 - at, Err(DateTrouble::YearMissing)),
        });
    }
    let month = month_at(tokens, at)?;
    let year_place = skip(at + 1);
    if let Some(year) = year_at(tokens, year_place) {
        return Some((
            year_place + 1 - at,
            days(Date::new(year, month, 1).ok(), 1.month()),
        ));
    }
    if let Some(day) = number_at(tokens, at + 1).filter(|d| *d <= 31) {
        let year_place = skip(at + 2);
        return Some(match year_at(tokens, year_place) {
            Some(year) => (year_place + 1 - at, one_day(year, month, day)),
            None => (2, Err(DateTrouble::YearMissing)),
        });
    }
    Some((1, Err(DateTrouble::YearMissing)))
}

fn one_day(year: i16, month: i8, day: i32) -> Result<Period, DateTrouble> {
    let day = i8::try_from(day).unwrap_or(0);
    days(Date::new(year, month, day).ok(), 1.day())
}

fn read_quarter(tokens: &[Token], at: usize) -> Option<Read> {
    let short = |i: usize| {
        tokens
            .get(i)?
            .norm
            .strip_prefix('q')?
            .parse::<i8>()
            .ok()
            .filter(|q| (1..=4).contains(q))
    };
    let ordinal = |i: usize| {
        let quarter = tokens.get(i + 1)?.norm == "quarter";
        let words = [
            ["first", "1st"],
            ["second", "2nd"],
            ["third", "3rd"],
            ["fourth", "4th"],
        ];
        let position = words
            .iter()
            .position(|w| w.contains(&tokens[i].norm.as_str()))?;
        quarter.then_some(position as i8 + 1)
    };
    let (quarter, used) = match (short(at), ordinal(at)) {
        (Some(q), _) => (q, 1),
        (_, Some(q)) => (q, 2),
        _ => {
            let quarter = year_at(tokens, at).and(short(at + 1))?;
            return Some((2, quarter_of(year_at(tokens, at)?, quarter)));
        }
    };
    let of = usize::from(
        tokens
            .get(at + used)
            .is_some_and(|t| matches!(t.norm.as_str(), "of" | "in" | ",")),
    );
    match year_at(tokens, at + used + of) {
        Some(year) => Some((used + of + 1, quarter_of(year, quarter))),
        None => Some((used, Err(DateTrouble::YearMissing))),
    }
}

fn quarter_of(year: i16, quarter: i8) -> Result<Period, DateTrouble> {
    days(Date::new(year, quarter * 3 - 2, 1).ok(), 3.months())
}

fn read_relative(tokens: &[Token], at: usize, today: Option<Date>) -> Option<Read> {
    let word = tokens.get(at)?.norm.as_str();
    let day = match word {
        "today" => Some(0),
        "yesterday" => Some(-1),
        _ => None,
    };
    if let Some(offset) = day {
        let start = today.and_then(|t| t.checked_add(offset.days()).ok());
        return Some((
            1,
            if today.is_none() {
                Err(DateTrouble::TodayUnknown)
            } else {
                days(start, 1.day())
            },
        ));
    }
    let back = match word {
        "this" | "current" => 0,
        "last" | "previous" | "past" => 1,
        _ => return None,
    };
    let count = number_at(tokens, at + 1);
    let unit_place = at + 1 + usize::from(count.is_some());
    let unit = &tokens.get(unit_place)?.stem;
    // "The last date" is the latest one, not yesterday.
    let unit = unit_of(unit).filter(|_| unit != "date")?;
    let used = unit_place + 1 - at;
    let Some(today) = today else {
        return Some((used, Err(DateTrouble::TodayUnknown)));
    };
    Some((used, relative(today, unit, back, count)))
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
fn relative(today: Date, unit: Unit, back: i32, count: Option<i32>) -> Result<Period, DateTrouble> {
    let length = |n: i32| match unit {
        Unit::Day => n.days(),
        Unit::Week => n.weeks(),
        Unit::Month => n.months(),
        Unit::Quarter => (n * 3).months(),
        Unit::Year => n.years(),
    };
    let tomorrow = today
        .checked_add(1.day())
        .map_err(|_| DateTrouble::ImpossibleDay)?;
    if let Some(count) = count {
        let from = tomorrow
            .checked_sub(length(count))
            .map_err(|_| DateTrouble::ImpossibleDay)?;
        return Ok(Period {
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
    let start = first
        .and_then(|f| f.checked_sub(length(back)))
        .map_err(|_| DateTrouble::ImpossibleDay)?;
    days(Some(start), length(1))
}

/// How a person would write the period.
pub fn describe(period: Period) -> String {
    let last = |to: Date| to.checked_sub(1.day()).unwrap_or(to);
    match (period.from, period.to) {
        (Some(from), Some(to)) if last(to) == from => format!("on {from}"),
        (Some(from), Some(to))
            if from.day() == 1 && from.checked_add(1.month()).ok() == Some(to) =>
        {
            format!("in {}", from.strftime("%Y-%m"))
        }
        (Some(from), Some(to))
            if from.day_of_year() == 1 && from.checked_add(1.year()).ok() == Some(to) =>
        {
            format!("in {}", from.year())
        }
        (Some(from), Some(to)) => format!("from {from} to {}", last(to)),
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
            ("in 2024", 2, "in 2024"),
            ("in March 2024 per", 3, "in 2024-03"),
            ("on March 5, 2024", 5, "on 2024-03-05"),
            ("5th March 2024", 3, "on 2024-03-05"),
            (
                "between 2024-01-01 and 2024-06-30",
                4,
                "from 2024-01-01 to 2024-06-30",
            ),
            ("from 2022 to 2023", 4, "from 2022-01-01 to 2023-12-31"),
            ("since May 2023", 3, "since 2023-05-01"),
            ("after 2023", 2, "since 2024-01-01"),
            ("before 2024", 2, "before 2024-01-01"),
            ("until 2024-02", 2, "before 2024-03-01"),
            ("in Q2 2024", 3, "from 2024-04-01 to 2024-06-30"),
            (
                "in the first quarter of 2024",
                6,
                "from 2024-01-01 to 2024-03-31",
            ),
            ("last year", 2, "in 2025"),
            ("this month", 2, "in 2026-11"),
            ("last week", 2, "from 2026-11-09 to 2026-11-15"),
            ("in the last 7 days", 5, "from 2026-11-14 to 2026-11-20"),
            ("yesterday", 1, "on 2026-11-19"),
        ] {
            assert_eq!(read(text), Some((used, expected.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(read("in March"), Some((2, "YearMissing".into())));
        assert_eq!(read("on 2024-02-30"), Some((2, "ImpossibleDay".into())));
        assert_eq!(
            read_period(&tokenize("last year"), 0, None),
            Some((2, Err(DateTrouble::TodayUnknown)))
        );
        for text in ["orders", "may I", "in Germany", "last order", "2500 orders"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
