//! Constants as the text of a dialect.

use datafusion::{
    arrow::temporal_conversions::{date32_to_datetime, timestamp_us_to_datetime},
    common::ScalarValue,
};

use super::dialects::Kind;
use crate::decode::decimal_text;
use mindhost_plugin_api::Dialect;

/// Digits that survive the way through a floating-point number, as SQLite stores decimals.
const FLOAT_DIGITS: usize = 15;
/// The days of a `Date` of ClickHouse, in every version: until 2105.
const CLICKHOUSE_DAYS: std::ops::Range<i32> = 0..49_000;
/// The longest text.
const MAX_TEXT: usize = 64 << 10;

/// A constant and its kind; `None` for NULL and for what has no form that means the same there.
pub fn literal(value: &ScalarValue, dialect: Dialect) -> Option<(String, Kind)> {
    use ScalarValue::{
        Boolean, Date32, Decimal128, Float64, Int8, Int16, Int32, Int64, LargeUtf8,
        TimestampMicrosecond, UInt8, UInt16, UInt32, Utf8, Utf8View,
    };
    Some(match value {
        Int8(Some(number)) => integer((*number).into()),
        Int16(Some(number)) => integer((*number).into()),
        Int32(Some(number)) => integer((*number).into()),
        Int64(Some(number)) => integer(*number),
        UInt8(Some(number)) => integer((*number).into()),
        UInt16(Some(number)) => integer((*number).into()),
        UInt32(Some(number)) => integer((*number).into()),
        Decimal128(Some(number), _, scale) => (decimal(*number, *scale, dialect)?, Kind::Decimal),
        Float64(Some(number)) => (float(*number, dialect)?, Kind::Float),
        Utf8(Some(text)) | LargeUtf8(Some(text)) | Utf8View(Some(text)) => {
            (quoted(text, dialect)?, Kind::Text)
        }
        Boolean(Some(value)) if dialect != Dialect::Sqlite => {
            (value.to_string().to_uppercase(), Kind::Boolean)
        }
        Date32(Some(days)) => (date(*days, dialect)?, Kind::Date),
        TimestampMicrosecond(Some(micros), zone) => moment(*micros, zone.is_some(), dialect)?,
        _ => return None,
    })
}

fn integer(number: i64) -> (String, Kind) {
    // The least one is no literal anywhere, and `--` begins a comment.
    let text = match number {
        i64::MIN => format!("({} - 1)", i64::MIN + 1),
        negative if negative < 0 => format!("({negative})"),
        _ => number.to_string(),
    };
    (text, Kind::Integer)
}

fn decimal(number: i128, scale: i8, dialect: Dialect) -> Option<String> {
    let text = decimal_text(number, scale)?;
    let digits = number.unsigned_abs().to_string().len();
    if dialect == Dialect::Sqlite && digits > FLOAT_DIGITS {
        return None;
    }
    Some(match number < 0 {
        true => format!("({text})"),
        false => text,
    })
}

/// Not zero, which has a sign here, and not NaN.
fn float(number: f64, dialect: Dialect) -> Option<String> {
    if !number.is_normal() {
        return None;
    }
    Some(match dialect {
        Dialect::Sqlite => format!("({number:?})"),
        // Without the exponent it would be a decimal.
        Dialect::Mysql => format!("({number:e})"),
        _ => format!("CAST('{number:?}' AS DOUBLE PRECISION)"),
    })
}

fn quoted(text: &str, dialect: Dialect) -> Option<String> {
    // A backslash begins an escape in ClickHouse, and by a setting in MySQL.
    let is_escaped = matches!(dialect, Dialect::Mysql | Dialect::Clickhouse) && text.contains('\\');
    let is_plain = !text.contains('\0') && text.len() <= MAX_TEXT && !is_escaped;
    is_plain.then(|| format!("'{}'", text.replace('\'', "''")))
}

fn date(days: i32, dialect: Dialect) -> Option<String> {
    // Days beyond those of a `Date` are another day to ClickHouse.
    if dialect == Dialect::Clickhouse && !CLICKHOUSE_DAYS.contains(&days) {
        return None;
    }
    let date = date32_to_datetime(days)?.date().to_string();
    let is_plain = date.len() == "2024-02-29".len();
    is_plain.then(|| match dialect {
        Dialect::Sqlite => format!("'{date}'"),
        Dialect::Clickhouse => format!("toDate('{date}')"),
        _ => format!("DATE '{date}'"),
    })
}

fn moment(micros: i64, has_zone: bool, dialect: Dialect) -> Option<(String, Kind)> {
    let at = timestamp_us_to_datetime(micros)?;
    let text = format!("{} {}", at.date(), at.format("%H:%M:%S%.6f"));
    let is_plain = text.len() == "2024-02-29 12:00:00.000000".len();
    if !is_plain {
        return None;
    }
    match (has_zone, dialect) {
        (false, Dialect::Postgresql | Dialect::Datafusion | Dialect::Mysql) => {
            Some((format!("TIMESTAMP '{text}'"), Kind::Timestamp))
        }
        (true, Dialect::Postgresql) => Some((
            format!("CAST('{text}+00' AS TIMESTAMP WITH TIME ZONE)"),
            Kind::TimestampUtc,
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &ScalarValue, dialect: Dialect) -> Option<String> {
        literal(value, dialect).map(|(text, _)| text)
    }

    #[test]
    fn constants_are_written_as_each_engine_reads_them() {
        let date = ScalarValue::Date32(Some(8_766));
        assert_eq!(
            text(&date, Dialect::Postgresql).unwrap(),
            "DATE '1994-01-01'"
        );
        assert_eq!(text(&date, Dialect::Sqlite).unwrap(), "'1994-01-01'");
        let name = ScalarValue::from("O'Hara");
        assert_eq!(text(&name, Dialect::Sqlite).unwrap(), "'O''Hara'");
        let least = ScalarValue::Int64(Some(i64::MIN));
        assert_eq!(
            text(&least, Dialect::Postgresql).unwrap(),
            "(-9223372036854775807 - 1)"
        );
        let at = ScalarValue::TimestampMicrosecond(Some(1_709_208_000_500_000), None);
        assert_eq!(
            text(&at, Dialect::Postgresql).unwrap(),
            "TIMESTAMP '2024-02-29 12:00:00.500000'"
        );
        assert_eq!(text(&at, Dialect::Sqlite), None);
    }

    #[test]
    fn constants_that_engines_take_differently_are_not_sent() {
        for value in [
            ScalarValue::Int64(None),
            ScalarValue::Float64(Some(0.0)),
            ScalarValue::Float64(Some(f64::NAN)),
            ScalarValue::from("a\0b"),
        ] {
            assert_eq!(text(&value, Dialect::Postgresql), None, "{value}");
        }
        let long = ScalarValue::Decimal128(Some(1_234_567_890_123_456), 38, 2);
        assert_eq!(text(&long, Dialect::Sqlite), None);
        assert!(text(&long, Dialect::Postgresql).is_some());
    }
}
