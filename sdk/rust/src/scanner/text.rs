//! Values out of texts: what files and APIs write instead of dates and numbers.

use crate::values::{DataType, Value};

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

fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    [whole, fraction]
        .iter()
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `2024-02-29` as days since 1970-01-01, in the Gregorian calendar; years 0000 to 9999.
pub fn parse_date(text: &str) -> Option<i32> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) = (
        digits(&text[..4])?,
        digits(&text[5..7])?,
        digits(&text[8..])?,
    );
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // Years that begin in March have the leap day at their end.
    let shifted = if month > 2 { year } else { year - 1 };
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    i32::try_from(days).ok()
}

/// `23:59:59.123456` as microseconds since midnight; seconds and their fraction may be absent.
pub fn parse_time(text: &str) -> Option<u64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = clock.split(':');
    let two = |part: &str| (part.len() == 2).then(|| digits(part)).flatten();
    let hours = two(parts.next()?)?;
    let minutes = two(parts.next()?)?;
    let seconds = parts.next().map_or(Some(0), two)?;
    let sane = hours < 24 && minutes < 60 && seconds < 60 && parts.next().is_none();
    if !sane || fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let digits_of_micros = &fraction[..fraction.len().min(6)];
    digits(fraction)?;
    let micros = digits(digits_of_micros)? * 10_i64.pow(6 - digits_of_micros.len() as u32);
    u64::try_from(((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros).ok()
}

/// `2024-02-29T23:59:59.5+02:00` as microseconds since 1970-01-01T00:00:00 of the clock that it shows, and the
/// microseconds that this clock is ahead of UTC, if the text says so (`Z` is none). A blank may stand for the `T`.
pub fn parse_timestamp(text: &str) -> Option<(i64, Option<i64>)> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, offset) = match rest.find(['Z', 'z', '+', '-']) {
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

fn digits(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
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
    fn numbers_and_truth() {
        assert_eq!(
            value_of_text("-12.50", DataType::Decimal),
            Some(Value::Decimal("-12.50".into()))
        );
        assert_eq!(value_of_text("12.", DataType::Decimal), None);
        assert_eq!(
            value_of_text("TRUE", DataType::Boolean),
            Some(Value::Boolean(true))
        );
        assert_eq!(value_of_text("yes", DataType::Boolean), None);
        assert_eq!(value_of_text("1e3", DataType::Int64), None);
    }
}
