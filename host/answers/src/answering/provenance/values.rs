//! Dates and decimals in texts. Their digits are too short to identify an origin, but as a whole they do: the date of a
//! birth, a price.

use std::{collections::HashSet, fmt};

use jiff::civil::{Date, DateTime, Time};

use mindhost_base::decimal;

/// Days from today that statements name often: "the last 30 days".
const USUAL_DISTANCES: &[i32] = &[60, 90, 180, 364, 365, 366];
/// All days this near to today are usual.
const NEAR: i32 = 31;
/// Years of numbers that are read as dates.
const USUAL_YEARS: std::ops::RangeInclusive<i16> = 1900..=2100;
/// Most digits of a number with an exponent that is read. No engine has decimals with more.
const MAX_DIGITS: usize = 100;
/// Constants of units and of geometry.
const CONSTANTS: &[&str] = &["2.54", "3.14", "3.1416", "3.14159", "30.44", "365.25"];
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

/// A value that is compared as a whole, however it is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExactValue {
    Date(Date),
    /// A time of a date, without fractions of the second.
    Moment(DateTime),
    /// A month and a day of any year: "15 March".
    Day(i8, i8),
    /// Two or more digits stand behind the point; zeros at the end are cut off.
    Decimal(String),
    /// One digit stands behind the point. Such a number is too common to identify the origin of what was read.
    ShortDecimal(String),
}

impl ExactValue {
    /// Whether it is common in SQL, so that it says nothing about its origin: the first or last day of a month, days
    /// that are counted from today, whole hours, whole percents, and constants.
    pub fn is_usual(&self, today: Date) -> bool {
        match self {
            Self::Date(date) => is_first_or_last(*date) || is_counted_from(today, *date),
            Self::Moment(moment) => {
                let is_end = moment.hour() == 23 && moment.minute() == 59;
                is_end || (moment.minute() == 0 && moment.second() == 0)
            }
            Self::Day(..) | Self::ShortDecimal(_) => true,
            Self::Decimal(number) => is_usual_decimal(number),
        }
    }

    /// What else the author of a text has named with this value: the days beside a date, one of which is where a
    /// half-open range ends.
    pub fn neighbours(&self) -> Vec<Self> {
        match self {
            Self::Date(date) => beside(*date).map(Self::Date).collect(),
            // In leap years, other days are beside the end of February.
            Self::Day(month, day) => [2023, 2024]
                .into_iter()
                .filter_map(|year| Date::new(year, *month, *day).ok())
                .flat_map(beside)
                .map(Self::of_any_year)
                .collect(),
            Self::Moment(_) | Self::Decimal(_) | Self::ShortDecimal(_) => Vec::new(),
        }
    }

    /// The value with less detail, as the author of a text may have written it: the day of any year of a date, and 12.5
    /// for 12.50.
    pub fn less_exact(&self) -> Option<Self> {
        match self {
            Self::Date(date) => Some(Self::of_any_year(*date)),
            Self::Decimal(number) => Some(Self::ShortDecimal(number.clone())),
            Self::Moment(_) | Self::Day(..) | Self::ShortDecimal(_) => None,
        }
    }

    /// The value as a literal means it: 12.5 may be a copy of 12.50.
    pub fn of_literal(self) -> Self {
        match self {
            Self::ShortDecimal(number) => Self::Decimal(number),
            other => other,
        }
    }

    fn of_any_year(date: Date) -> Self {
        Self::Day(date.month(), date.day())
    }
}

/// As [`take`] reads it again.
impl fmt::Display for ExactValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Date(date) => write!(formatter, "{date}"),
            Self::Moment(moment) => write!(formatter, "{moment}"),
            Self::Day(month, day) => {
                let month = usize::try_from(*month)
                    .ok()
                    .and_then(|one| one.checked_sub(1));
                let name = month.and_then(|at| MONTHS.get(at)).unwrap_or(&"");
                write!(formatter, "{day} {name}")
            }
            Self::ShortDecimal(number) => formatter.write_str(number),
            // Two digits behind the point tell it from a short one.
            Self::Decimal(number) => match number.split_once('.') {
                Some((_, fraction)) if fraction.len() == 1 => write!(formatter, "{number}0"),
                _ => formatter.write_str(number),
            },
        }
    }
}

/// The values of a text in lower case, and the text without dates of ISO 8601, whose parts are no words.
pub fn take(text: &str) -> (HashSet<ExactValue>, String) {
    let mut values = HashSet::new();
    let mut rest = String::with_capacity(text.len());
    let mut ahead = text;
    let mut is_within_word = false;
    while let Some(first) = ahead.chars().next() {
        let found = iso(ahead).filter(|_| !is_within_word);
        let length = match found {
            Some((date, time, length)) => {
                values.insert(ExactValue::Date(date));
                values.extend(time.map(|time| ExactValue::Moment(date.to_datetime(time))));
                rest.push(' ');
                length
            }
            None => {
                // Its parts stay: it may be the number of an invoice too.
                values.extend(ordinal(ahead).filter(|_| !is_within_word));
                rest.push(first);
                first.len_utf8()
            }
        };
        is_within_word = first.is_alphanumeric() && length == first.len_utf8();
        ahead = ahead.get(length..).unwrap_or_default();
    }
    written_dates(&rest, &mut values);
    let parts = rest.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_')));
    values.extend(parts.filter_map(decimal));
    (values, rest)
}

/// The usual spelling of a number that is written with `_`, an exponent, or in another base: 10253 for `10_253`,
/// `1.0253e4` and `0x280d`.
pub fn respelt(text: &str) -> Option<String> {
    let number = text.trim_start_matches(['-', '+']);
    if !number.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let plain = number.replace('_', "");
    let based = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(prefix, radix)| u128::from_str_radix(plain.strip_prefix(prefix)?, radix).ok());
    let usual = match based {
        Some(number) => number.to_string(),
        None if plain.contains('e') => decimal::plain(&plain, MAX_DIGITS)?,
        None => plain,
    };
    (usual != number && usual.parse::<f64>().is_ok()).then_some(usual)
}

/// The date of a number like 20240331, or 2024091 with the day of its year.
pub fn compact_date(word: &str) -> Option<ExactValue> {
    let (year, rest) = digits(word, 4)?;
    if rest.len() == 3 {
        return day_of_year(year, rest);
    }
    let (month, rest) = digits(rest, 2)?;
    let (day, rest) = digits(rest, 2)?;
    let is_date = rest.is_empty() && USUAL_YEARS.contains(&year);
    let date = date(year, month, day).filter(|_| is_date);
    date.map(ExactValue::Date)
}

/// The date of a day of a year at the beginning of a text: `2024-091`.
fn ordinal(text: &str) -> Option<ExactValue> {
    let (year, rest) = digits(text, 4)?;
    let (day, rest) = rest.strip_prefix('-')?.split_at_checked(3)?;
    let goes_on = rest.starts_with(|c: char| c.is_alphanumeric() || c == '-');
    day_of_year(year, day).filter(|_| !goes_on)
}

fn day_of_year(year: i16, day: &str) -> Option<ExactValue> {
    let (day, _) = digits(day, 3).filter(|_| USUAL_YEARS.contains(&year))?;
    let first = Date::new(year, 1, 1).ok()?;
    let date = first.with().day_of_year(day).build();
    date.ok().map(ExactValue::Date)
}

/// Dates with two digits for the year, as people write them: 6/23/87. All orders and both centuries are meant.
pub fn short_dates(text: &str) -> HashSet<ExactValue> {
    let mut values = HashSet::new();
    for separator in ['/', '.', '-'] {
        for word in text.split(|c: char| !(c.is_alphanumeric() || c == separator)) {
            let parts: Vec<&str> = word.trim_matches(separator).split(separator).collect();
            if let [first, second, third] = *parts {
                let orders = orders(first, second, third).into_iter();
                values.extend(orders.flat_map(|(year, month, day)| {
                    let years = short_year(year).into_iter().flatten();
                    years.filter_map(move |year| date(year, month_of(month)?, day_of(day)?))
                }));
            }
        }
    }
    values.into_iter().map(ExactValue::Date).collect()
}

fn beside(date: Date) -> impl Iterator<Item = Date> {
    [date.yesterday(), date.tomorrow()].into_iter().flatten()
}

fn is_first_or_last(date: Date) -> bool {
    date.day() == 1 || date == date.last_of_month()
}

fn is_counted_from(today: Date, date: Date) -> bool {
    let Ok(span) = today.since(date) else {
        return false;
    };
    let days = span.get_days().abs();
    let is_months = date.day() == today.day() && days <= 366;
    days <= NEAR || is_months || USUAL_DISTANCES.contains(&days)
}

/// Whole percents up to a factor of two are as common as small whole numbers.
fn is_usual_decimal(number: &str) -> bool {
    let is_percent =
        |(whole, fraction): (&str, &str)| matches!(whole, "0" | "1") && fraction.len() <= 2;
    CONSTANTS.contains(&number) || number.split_once('.').is_some_and(is_percent)
}

/// A date at the beginning of a text as ISO 8601 writes it, the time behind it, and how many bytes both have.
fn iso(text: &str) -> Option<(Date, Option<Time>, usize)> {
    let (year, rest) = digits(text, 4)?;
    let (month, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let date = date(year, month, day)?;
    let (time, rest) = match time(rest) {
        Some((time, rest)) => (Some(time), rest),
        None => (None, rest),
    };
    let ends = !rest.starts_with(|c: char| c.is_ascii_digit());
    ends.then(|| (date, time, text.len() - rest.len()))
}

/// A time behind a date, and what is behind it.
fn time(text: &str) -> Option<(Time, &str)> {
    let (hour, rest) = digits(text.strip_prefix(['t', ' '])?, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
    let second = rest.strip_prefix(':').and_then(|rest| digits(rest, 2));
    let (second, rest) = second.unwrap_or((0, rest));
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let rest = rest.strip_prefix('z').unwrap_or(rest);
    let narrow = |number: i16| i8::try_from(number).ok();
    let time = Time::new(narrow(hour)?, narrow(minute)?, narrow(second)?, 0);
    Some((time.ok()?, rest))
}

/// A number of so many digits at the beginning of a text, and what is behind it.
fn digits(text: &str, count: usize) -> Option<(i16, &str)> {
    let (number, rest) = text.split_at_checked(count)?;
    let are_digits = number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse().ok().filter(|_| are_digits)?;
    Some((number, rest))
}

fn date(year: i16, month: i16, day: i16) -> Option<Date> {
    let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    Date::new(year, month, day).ok()
}

/// Dates in other forms: 31.03.2024, 3/31/2024, March 31st, 2024, and 31 March of any year. Where day and month may be
/// either, both dates are meant.
fn written_dates(text: &str, values: &mut HashSet<ExactValue>) {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !matches!(*part, "" | "of")).collect();
    for three in parts.windows(3) {
        if let [first, second, third] = *three {
            let orders = orders(first, second, third).into_iter();
            values.extend(orders.filter_map(|(year, month, day)| {
                let date = date(year_of(year)?, month_of(month)?, day_of(day)?)?;
                Some(ExactValue::Date(date))
            }));
        }
    }
    for two in parts.windows(2) {
        if let [first, second] = *two {
            let orders = [(first, second), (second, first)];
            values.extend(orders.into_iter().filter_map(|(month, day)| {
                let (month, day) = (named_month(month)?, day_of(day)?);
                let day = i8::try_from(day).ok()?;
                Some(ExactValue::Day(i8::try_from(month).ok()?, day))
            }));
        }
    }
}

/// The year, month and day in the orders that are in use.
fn orders<'a>(first: &'a str, second: &'a str, third: &'a str) -> [(&'a str, &'a str, &'a str); 3] {
    [
        (first, second, third),
        (third, second, first),
        (third, first, second),
    ]
}

/// The years of this and the last century that two digits may mean.
fn short_year(part: &str) -> Option<[i16; 2]> {
    let (year, rest) = digits(part, 2)?;
    rest.is_empty().then_some([1900 + year, 2000 + year])
}

fn year_of(part: &str) -> Option<i16> {
    digits(part, 4).and_then(|(year, rest)| rest.is_empty().then_some(year))
}

fn month_of(part: &str) -> Option<i16> {
    let is_number = (1..=2).contains(&part.len());
    let number = part.parse().ok().filter(|_| is_number);
    number.or_else(|| named_month(part))
}

/// The number of a month that is written in English, in whole or cut.
fn named_month(part: &str) -> Option<i16> {
    let is_long_enough = part.len() >= 3;
    let at = MONTHS.iter().position(|month| month.starts_with(part));
    at.filter(|_| is_long_enough)
        .and_then(|at| i16::try_from(at + 1).ok())
}

fn day_of(part: &str) -> Option<i16> {
    let number = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|ending| part.strip_suffix(ending))
        .unwrap_or(part);
    let day = number.parse().ok().filter(|_| number.len() <= 2)?;
    (1..=31).contains(&day).then_some(day)
}

/// A number with digits behind its point that are not all 0. A unit may follow it.
fn decimal(part: &str) -> Option<ExactValue> {
    let number = part.trim_matches('.').trim_end_matches(char::is_alphabetic);
    let (whole, fraction) = number.split_once('.')?;
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let kept = fraction.trim_end_matches('0');
    if kept.is_empty() {
        return None;
    }
    let number = format!("{whole}.{kept}");
    Some(match fraction.len() {
        1 => ExactValue::ShortDecimal(number),
        _ => ExactValue::Decimal(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dates(text: &str) -> Vec<String> {
        let (values, _) = take(text);
        let mut dates: Vec<String> = values
            .iter()
            .filter_map(|value| match value {
                ExactValue::Date(date) => Some(date.to_string()),
                _ => None,
            })
            .collect();
        dates.sort();
        dates
    }

    fn decimals(text: &str) -> Vec<String> {
        let (values, _) = take(text);
        let mut decimals: Vec<String> = values
            .into_iter()
            .filter_map(|value| match value {
                ExactValue::Decimal(number) => Some(number),
                _ => None,
            })
            .collect();
        decimals.sort();
        decimals
    }

    #[test]
    fn number_is_read_in_its_usual_spelling() {
        for (written, usual) in [
            ("10_253", Some("10253")),
            ("1_0253", Some("10253")),
            ("10253e0", Some("10253")),
            ("-1.0253e4", Some("10253")),
            ("1234e-2", Some("12.34")),
            ("0x280d", Some("10253")),
            ("4111111111111111e0", Some("4111111111111111")),
            ("411111111111111.1e1", Some("4111111111111111")),
            ("+4111111111111111e+0", Some("4111111111111111")),
            ("1234567890123456789e0", Some("1234567890123456789")),
            ("0x10000000000000001", Some("18446744073709551617")),
            ("10253", None),
            ("12.50", None),
            ("x10253", None),
            ("1e999", None),
            ("4_gadgets", None),
        ] {
            assert_eq!(respelt(written).as_deref(), usual, "{written}");
        }
    }

    #[test]
    fn dates_are_found_however_they_are_written() {
        for text in [
            "2024-03-17",
            "born 2024-03-17, in spring",
            "2024-03-17t10:15:23.123456z",
            "2024-03-17 10:15",
            "x|2024-03-17|y",
            "17.03.2024",
            "3/17/2024",
            "march 17th, 2024",
            "the 17th of march 2024",
            "17-mar-2024",
            "2024/03/17",
        ] {
            assert_eq!(dates(text), ["2024-03-17"], "{text}");
        }
        assert_eq!(dates("02/03/2024"), ["2024-02-03", "2024-03-02"]);
        for text in ["2024-13-17", "12024-03-17", "2024-03-171", "17 03", "2024"] {
            assert!(dates(text).is_empty(), "{text}");
        }
        assert_eq!(
            compact_date("20240317"),
            take("2024-03-17").0.into_iter().next()
        );
        for day in ["2024-077", "day 2024-077, a sunday"] {
            assert_eq!(dates(day), ["2024-03-17"], "{day}");
        }
        assert_eq!(compact_date("2024077"), compact_date("20240317"));
        for text in [
            "2023-366",
            "2024-000",
            "2024-0771",
            "2024-077-1",
            "12024-077",
            "1024-077",
        ] {
            assert!(dates(text).is_empty(), "{text}");
        }
        assert!(compact_date("2023366").is_none() && compact_date("1002077").is_none());
        assert!(take("2024-077").1.contains("077"));
        assert!(compact_date("20241317").is_none() && compact_date("202403170").is_none());
        assert!(compact_date("10020317").is_none());
        assert!(take("since march 17").0.contains(&ExactValue::Day(3, 17)));
    }

    #[test]
    fn years_of_two_digits_are_of_this_or_the_last_century() {
        let expected = HashSet::from([
            ExactValue::Date(Date::constant(1987, 6, 23)),
            ExactValue::Date(Date::constant(2087, 6, 23)),
        ]);
        for text in [
            "6/23/87",
            "after 06/23/87, before summer",
            "23.6.87.",
            "23-jun-87",
            "87-06-23",
        ] {
            assert_eq!(short_dates(text), expected, "{text}");
            assert!(dates(text).is_empty(), "{text}");
        }
        assert_eq!(short_dates("6/23/87-7/24/88").len(), 4);
        for text in ["6/23/1987", "6 23 87", "6/23", "10:15:23", "v6.23.87"] {
            assert!(short_dates(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn days_beside_a_day_are_those_of_any_year() {
        let beside = |month, day| -> HashSet<ExactValue> {
            let neighbours = ExactValue::Day(month, day).neighbours();
            neighbours.into_iter().collect()
        };
        let days = |days: &[(i8, i8)]| -> HashSet<ExactValue> {
            let days = days.iter();
            days.map(|(month, day)| ExactValue::Day(*month, *day))
                .collect()
        };
        assert_eq!(beside(5, 9), days(&[(5, 8), (5, 10)]));
        assert_eq!(beside(12, 31), days(&[(12, 30), (1, 1)]));
        assert_eq!(beside(2, 28), days(&[(2, 27), (2, 29), (3, 1)]));
        assert_eq!(beside(2, 29), days(&[(2, 28), (3, 1)]));
        assert!(beside(2, 30).is_empty());
    }

    #[test]
    fn parts_of_a_date_are_no_words() {
        let (values, rest) = take("miller 2024-03-17t10:15:23z left");
        assert_eq!(rest, "miller   left");
        let moment = DateTime::constant(2024, 3, 17, 10, 15, 23, 0);
        assert!(values.contains(&ExactValue::Moment(moment)), "{values:?}");
    }

    #[test]
    fn decimals_are_numbers_with_two_digits_behind_the_point() {
        for (text, found) in [
            ("12.34", "12.34"),
            ("for 12.340 eur.", "12.34"),
            ("x|99.95eur", "99.95"),
            ("0012.50", "12.5"),
            ("12.34,x", "12.34"),
        ] {
            assert_eq!(decimals(text), [found], "{text}");
        }
        for text in [
            "12.3",
            "12.00",
            "10.0.12.34",
            "v12.34",
            "12",
            ".",
            "a.bc",
            "31.03.2024",
        ] {
            assert!(decimals(text).is_empty(), "{text}");
        }
        let short = ExactValue::ShortDecimal("12.5".to_owned());
        for text in ["12.5", "012.5kg"] {
            assert_eq!(take(text).0, HashSet::from([short.clone()]), "{text}");
        }
        assert!(take("12.0").0.is_empty());
    }

    #[test]
    fn usual_values_say_nothing() {
        let today = Date::constant(2026, 11, 27);
        let is_usual = |text: &str| take(text).0.iter().all(|value| value.is_usual(today));
        for usual in [
            "2024-01-01",
            "2024-02-29",
            "2024-03-31",
            "1970-01-01 00:00:00",
            "2024-12-31 23:59:59",
            "2024-04-01t08:00:00z",
            "2026-11-20",
            "2026-08-27",
            "2026-08-29",
            "march 17",
            "0.05",
            "1.19",
            "3.14",
        ] {
            assert!(is_usual(usual), "{usual}");
        }
        for value in [
            "1987-06-23",
            "2024-04-01 08:13:59",
            "2.49",
            "12.34",
            "0.125",
        ] {
            assert!(!is_usual(value), "{value}");
        }
    }
}
