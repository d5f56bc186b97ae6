//! Values out of texts, and texts of values: what files and APIs write instead of dates and numbers.

use crate::values::{DataType, Value};
use crate::{datetime, sanity};

const DAY: i64 = 86_400_000_000;

/// What a text says in a column of a type; `None` when it cannot be read so. Bytes are the text's own.
pub fn value_of_text(text: &str, data_type: DataType) -> Option<Value> {
    Some(match data_type {
        DataType::Boolean if text.eq_ignore_ascii_case("true") => Value::Boolean(true),
        DataType::Boolean if text.eq_ignore_ascii_case("false") => Value::Boolean(false),
        DataType::Boolean => return None,
        DataType::Int64 => Value::Int64(text.parse().ok()?),
        DataType::Uint64 => Value::Uint64(text.parse().ok()?),
        DataType::Float64 => Value::Float64(text.parse().ok()?),
        DataType::Decimal => is_decimal(text).then(|| Value::Decimal(text.to_owned()))?,
        DataType::Text | DataType::Any => Value::Text(text.to_owned()),
        DataType::Bytes => Value::Bytes(text.as_bytes().to_vec()),
        DataType::Date => Value::Date(parse_date(text)?),
        DataType::Time => Value::Time(parse_time(text)?),
        DataType::Timestamp => match parse_timestamp(text)? {
            (micros, None) => Value::Timestamp(micros),
            (_, Some(_)) => return None,
        },
        DataType::TimestampUtc => {
            let (micros, offset) = parse_timestamp(text)?;
            Value::TimestampUtc(micros.checked_sub(offset?)?)
        }
        DataType::Json => {
            serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
            Value::Json(text.to_owned())
        }
    })
}

/// A number as the contract writes it, `1e10` too. A scanner has no words such as `NaN`.
fn is_decimal(text: &str) -> bool {
    sanity::is_decimal(text) && text.ends_with(|last: char| last.is_ascii_digit())
}

/// `2024-02-29` as days since 1970-01-01, in the Gregorian calendar; years 0000 to 9999.
pub fn parse_date(text: &str) -> Option<i32> {
    datetime::date_from_year_0(text.as_bytes())
}

/// `23:59:59.123456` as microseconds since midnight; seconds and their fraction may be absent.
pub fn parse_time(text: &str) -> Option<u64> {
    let (hours, rest) = two_digits(text.as_bytes())?;
    let (minutes, rest) = two_digits(rest.strip_prefix(b":")?)?;
    let (seconds, rest) = match rest.strip_prefix(b":") {
        Some(rest) => two_digits(rest)?,
        None => (0, rest),
    };
    let micros = match rest.strip_prefix(b".") {
        Some(fraction) => micros_of(fraction)?,
        None if rest.is_empty() => 0,
        None => return None,
    };
    let is_sane = hours < 24 && minutes < 60 && seconds < 60;
    is_sane.then_some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros)
}

/// The number that the first two characters write, and what follows.
fn two_digits(text: &[u8]) -> Option<(u64, &[u8])> {
    match text {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9', rest @ ..] => {
            Some((u64::from(tens - b'0') * 10 + u64::from(ones - b'0'), rest))
        }
        _ => None,
    }
}

/// The microseconds of one to nine digits behind the point of seconds. Those after the sixth are cut off.
fn micros_of(fraction: &[u8]) -> Option<u64> {
    let is_fraction = matches!(fraction.len(), 1..=9) && fraction.iter().all(u8::is_ascii_digit);
    let digit = |at: usize| fraction.get(at).map_or(0, |digit| u64::from(digit - b'0'));
    is_fraction.then(|| (0..6).fold(0, |micros, at| micros * 10 + digit(at)))
}

/// `2024-02-29T23:59:59.5+02:00` as microseconds since 1970-01-01T00:00:00 of the clock that it shows, and the
/// microseconds that this clock is ahead of UTC, if the text says so (`Z` is none). A blank may stand for the `T`.
pub fn parse_timestamp(text: &str) -> Option<(i64, Option<i64>)> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let begins_offset = |byte| matches!(byte, b'Z' | b'z' | b'+' | b'-');
    let (clock, offset) = match rest.bytes().position(begins_offset) {
        Some(at) => (&rest[..at], Some(offset(&rest[at..])?)),
        None => (rest, None),
    };
    let micros = i64::try_from(parse_time(clock)?).ok()?;
    Some((i64::from(parse_date(date)?) * DAY + micros, offset))
}

fn offset(text: &str) -> Option<i64> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("Z" | "z", "") => return Some(0),
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let clock = match rest.len() {
        2 => format!("{rest}:00"),
        4 => format!("{}:{}", rest.get(..2)?, rest.get(2..)?),
        _ => rest.to_owned(),
    };
    Some(sign * i64::try_from(parse_time(&clock)?).ok()?)
}

/// Days since 1970 (the value of a filter on a `Date`) as `2024-02-29`. A year before 0 or after 9999 has a sign and six
/// digits.
pub fn format_date(days: i32) -> String {
    // Years that begin in March have the leap day at their end.
    let days = i64::from(days) + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = era * 400 + years + i64::from(month <= 2);
    match year {
        0..=9_999 => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{year:+07}-{month:02}-{day:02}"),
    }
}

/// Microseconds since midnight (the value of a filter on a `Time`) as `13:45:00` or `13:45:00.5`.
pub fn format_time(micros: u64) -> String {
    let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let clock = format!("{hours:02}:{minutes:02}:{seconds:02}");
    match rest {
        0 => clock,
        rest => format!("{clock}.{}", format!("{rest:06}").trim_end_matches('0')),
    }
}

/// Microseconds since 1970 (the value of a filter on a `Timestamp`) as `2024-02-29T13:45:00.000001`, without a zone. For
/// a `TimestampUtc`, write a `Z` behind it.
pub fn format_timestamp(micros: i64) -> String {
    let days = i32::try_from(micros.div_euclid(DAY)).unwrap_or_default();
    let clock = format_time(micros.rem_euclid(DAY).unsigned_abs());
    format!("{}T{clock}", format_date(days))
}

/// A decimal in the smallest unit: `minor_of("12.50", 2)` is 1250, for APIs that count in cents. `None` for a text that is
/// no number, and for one with more digits after the point than `digits` or more than 38 in all.
pub fn minor_of(decimal: &str, digits: u32) -> Option<i128> {
    if !is_decimal(decimal) {
        return None;
    }
    let (number, exponent) = match decimal.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse().ok()?),
        None => (decimal, 0_i32),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let units: i128 = format!("{whole}{fraction}").parse().ok()?;
    if units == 0 {
        return Some(0);
    }
    let moved = i32::try_from(fraction.len()).ok()?;
    let shift = exponent
        .checked_add(i32::try_from(digits).ok()?)?
        .checked_sub(moved)?;
    let scale = 10_i128.checked_pow(shift.unsigned_abs())?;
    let minor = match shift {
        0.. => units.checked_mul(scale)?,
        _ if units % scale == 0 => units / scale,
        _ => return None,
    };
    (minor.unsigned_abs() < 10_u128.pow(38)).then_some(minor)
}

/// The smallest unit as a decimal: `decimal_of(1250, 2)` is `12.50`.
pub fn decimal_of(minor: i128, digits: u32) -> String {
    let sign = if minor < 0 { "-" } else { "" };
    let digits = digits as usize;
    let units = format!("{:0>width$}", minor.unsigned_abs(), width = digits + 1);
    let (whole, fraction) = units.split_at(units.len() - digits);
    match digits {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (text, days) in [
            ("1970-01-01", Some(0)),
            ("1969-12-31", Some(-1)),
            ("2000-03-01", Some(11_017)),
            ("2024-02-29", Some(19_782)),
            ("0000-01-01", Some(-719_528)),
            ("2023-02-29", None),
            ("1900-02-29", None),
            ("2023-13-01", None),
            ("2023-1-1", None),
            ("2023-01-0é", None),
        ] {
            assert_eq!(parse_date(text), days, "{text}");
        }
    }

    #[test]
    fn times_and_timestamps() {
        assert_eq!(parse_time("00:00:01.5"), Some(1_500_000));
        assert_eq!(parse_time("23:59"), Some(86_340_000_000));
        assert_eq!(parse_time("00:00:00.123456789"), Some(123_456));
        for bad in ["24:00", "1:00", "00:00:60", "00:00:00.", "00:00:00.x", "00"] {
            assert_eq!(parse_time(bad), None, "{bad}");
        }
        let noon = DAY / 2;
        assert_eq!(parse_timestamp("1970-01-01T12:00:00"), Some((noon, None)));
        assert_eq!(
            parse_timestamp("1970-01-01 12:00:00Z"),
            Some((noon, Some(0)))
        );
        let ahead = 3_600_000_000;
        assert_eq!(
            parse_timestamp("1970-01-01T12:00:00+01:00"),
            Some((noon, Some(ahead)))
        );
        assert_eq!(
            value_of_text("1970-01-01T12:00:00+0100", DataType::TimestampUtc),
            Some(Value::TimestampUtc(noon - ahead))
        );
        assert_eq!(
            value_of_text("1970-01-01T12:00:00Z", DataType::Timestamp),
            None
        );
    }

    #[test]
    fn dates_and_times_are_written_as_they_are_read() {
        for days in [-719_528, -1, 0, 59, 60, 11_016, 11_017, 19_782, 2_932_896] {
            assert_eq!(parse_date(&format_date(days)), Some(days));
        }
        assert_eq!(format_date(19_782), "2024-02-29");
        assert_eq!(format_date(2_932_897), "+010000-01-01");
        assert_eq!(format_date(-719_529), "-000001-12-31");
        for (micros, text) in [
            (0, "1970-01-01T00:00:00"),
            (-1, "1969-12-31T23:59:59.999999"),
            (1_500_000, "1970-01-01T00:00:01.5"),
        ] {
            assert_eq!(format_timestamp(micros), text);
            assert_eq!(parse_timestamp(text), Some((micros, None)));
        }
        assert_eq!(format_time(49_500_000_000), "13:45:00");
        // The largest numbers are written too.
        assert!(format_date(i32::MAX).starts_with("+5881580-"));
        assert!(format_timestamp(i64::MIN).starts_with("-290308-"));
    }

    #[test]
    fn decimals_are_counted_in_their_smallest_unit() {
        for (decimal, digits, minor) in [
            ("12.50", 2, Some(1_250)),
            ("-0.1", 2, Some(-10)),
            ("12.500", 2, Some(1_250)),
            ("1e3", 2, Some(100_000)),
            ("125e-2", 2, Some(125)),
            ("0e99999", 2, Some(0)),
            ("12.505", 2, None),
            ("1e-20", 2, None),
            ("1e99999999999", 2, None),
            ("1e40", 0, None),
            ("NaN", 2, None),
            ("", 2, None),
        ] {
            assert_eq!(minor_of(decimal, digits), minor, "{decimal}");
        }
        for (minor, digits, decimal) in [
            (1_250, 2, "12.50"),
            (-5, 2, "-0.05"),
            (0, 2, "0.00"),
            (7, 0, "7"),
            (i128::MIN, 0, "-170141183460469231731687303715884105728"),
        ] {
            assert_eq!(decimal_of(minor, digits), decimal);
        }
    }

    #[test]
    fn numbers_and_truth() {
        assert_eq!(
            value_of_text("-12.50", DataType::Decimal),
            Some(Value::Decimal("-12.50".into()))
        );
        assert_eq!(
            value_of_text("1e10", DataType::Decimal),
            Some(Value::Decimal("1e10".into()))
        );
        for bad in ["12.", "NaN", "-Infinity", "1e", ""] {
            assert_eq!(value_of_text(bad, DataType::Decimal), None, "{bad}");
        }
        assert_eq!(
            value_of_text("TRUE", DataType::Boolean),
            Some(Value::Boolean(true))
        );
        assert_eq!(value_of_text("yes", DataType::Boolean), None);
        assert_eq!(value_of_text("1e3", DataType::Int64), None);
    }
}
