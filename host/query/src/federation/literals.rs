//! Constants as the text of a dialect.

use datafusion::{
    arrow::datatypes::DataType,
    arrow::temporal_conversions::{date32_to_datetime, timestamp_us_to_datetime},
    common::ScalarValue,
    logical_expr::Operator,
};

use super::kinds::{DECIMAL64_DIGITS, Kind};
use crate::decode::decimal_text;
use mindhost_plugin_api::Dialect;

/// Digits that survive the way through a floating-point number, as SQLite stores decimals.
const FLOAT_DIGITS: usize = 15;
/// The days of a `Date` and a `DateTime` of ClickHouse, in every version: until 2105. Others wrap around.
const CLICKHOUSE_DAYS: std::ops::Range<i32> = 0..49_000;
/// Microseconds of a second, and of a day.
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// The longest text.
const MAX_TEXT: usize = 64 << 10;
/// Bytes of the longest text of SQL Server: the guard writes one with a quote as a sum of texts, and a sum of short texts
/// is cut there.
const MAX_MSSQL_BYTES: usize = 8_000;

/// A constant and its kind; `None` for NULL and for what has no form that means the same there.
pub fn literal(value: &ScalarValue, dialect: Dialect) -> Option<(String, Kind)> {
    use ScalarValue::{
        Boolean, Date32, Decimal128, Float64, Int8, Int16, Int32, Int64, LargeUtf8,
        TimestampMicrosecond, UInt8, UInt16, UInt32, UInt64, Utf8, Utf8View,
    };
    Some(match value {
        Int8(Some(number)) => integer((*number).into()),
        Int16(Some(number)) => integer((*number).into()),
        Int32(Some(number)) => integer((*number).into()),
        Int64(Some(number)) => integer(*number),
        UInt8(Some(number)) => integer((*number).into()),
        UInt16(Some(number)) => integer((*number).into()),
        UInt32(Some(number)) => integer((*number).into()),
        UInt64(Some(number)) => unsigned(*number, dialect)?,
        Decimal128(Some(number), _, scale) => match whole(*number, *scale) {
            Some(number) if dialect == Dialect::Clickhouse => of_clickhouse(number)?,
            _ => (decimal(*number, *scale, dialect)?, Kind::Decimal),
        },
        Float64(Some(number)) => (float(*number, dialect)?, Kind::Float),
        Utf8(Some(text)) | LargeUtf8(Some(text)) | Utf8View(Some(text)) => match dialect {
            // By itself it would be compared by the collation of the database.
            Dialect::Mssql => (utf16(text)?, Kind::Opaque),
            _ => (quoted(text, dialect)?, Kind::Text),
        },
        Boolean(Some(value)) if has_booleans(dialect) => {
            (value.to_string().to_uppercase(), Kind::Boolean)
        }
        Date32(Some(days)) => (date(*days, dialect)?, Kind::Date),
        TimestampMicrosecond(Some(micros), zone) => moment(*micros, zone.is_some(), dialect)?,
        _ => return None,
    })
}

/// Whether there are constants for truth values, in servers of every age.
fn has_booleans(dialect: Dialect) -> bool {
    !matches!(
        dialect,
        Dialect::Sqlite | Dialect::Mssql | Dialect::Clickhouse
    )
}

/// A constant of the type of a column of this kind, where that has a form of its own.
pub fn literal_beside(of: Kind, value: &ScalarValue, dialect: Dialect) -> Option<(String, Kind)> {
    use ScalarValue::{LargeUtf8, TimestampMicrosecond, Utf8, Utf8View};
    let sql = match (of, value) {
        (Kind::Instant(digits), TimestampMicrosecond(Some(micros), Some(_))) => {
            instant(*micros, digits)?
        }
        (Kind::Uuid, Utf8(Some(text)) | LargeUtf8(Some(text)) | Utf8View(Some(text))) => {
            uuid(text)?
        }
        (Kind::Utf16, Utf8(Some(text)) | LargeUtf8(Some(text)) | Utf8View(Some(text))) => {
            utf16(text)?
        }
        (Kind::CodePage, Utf8(Some(text)) | LargeUtf8(Some(text)) | Utf8View(Some(text))) => {
            ascii(text)?
        }
        (Kind::Ticks, TimestampMicrosecond(Some(micros), None)) => ticks(*micros)?,
        (Kind::Utf16 | Kind::CodePage | Kind::Ticks, _) => return None,
        (Kind::Decimal, _) if dialect == Dialect::Clickhouse => decimal_of_clickhouse(value)?,
        (Kind::Instant(_) | Kind::Uuid | Kind::ZonedText, _) => return None,
        _ => return literal(value, dialect),
    };
    Some((sql, of))
}

/// The comparison of moments with so many digits behind the second that is true for the same ones as this comparison
/// with a moment that may lie between two of them.
pub fn rounded(op: Operator, micros: i64, digits: u8) -> Option<(Operator, i64)> {
    let step = step(digits)?;
    let before = micros.div_euclid(step).checked_mul(step)?;
    let op = match op {
        op if before == micros => op,
        Operator::Lt | Operator::LtEq => Operator::LtEq,
        Operator::Gt | Operator::GtEq => Operator::Gt,
        _ => return None,
    };
    Some((op, before))
}

/// Microseconds between two moments with so many digits behind the second.
fn step(digits: u8) -> Option<i64> {
    SECOND.checked_div(10_i64.checked_pow(digits.into())?)
}

/// What a comparison of what Trino has as a text with a zone is sent as. The host reads a moment that is up to a day
/// earlier than the engine's, and another one where the two know other rules of the zone: a day around is sent too, and
/// the host compares again.
pub fn widened(op: Operator, micros: i64) -> Vec<(Operator, String)> {
    let sides: &[Operator] = match op {
        Operator::Lt | Operator::LtEq => &[Operator::LtEq],
        Operator::Gt | Operator::GtEq => &[Operator::GtEq],
        Operator::Eq => &[Operator::GtEq, Operator::LtEq],
        _ => &[],
    };
    let side = |op: &Operator| {
        let micros = match op {
            Operator::LtEq => micros.checked_add(DAY)?,
            _ => micros.checked_sub(DAY)?,
        };
        Some((*op, format!("TIMESTAMP '{} UTC'", moment_text(micros)?)))
    };
    sides.iter().filter_map(side).collect()
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

fn unsigned(number: u64, dialect: Dialect) -> Option<(String, Kind)> {
    match i64::try_from(number) {
        Ok(number) => Some(integer(number)),
        // Trino reads no such number.
        Err(_) if dialect == Dialect::Trino => None,
        Err(_) => Some((number.to_string(), Kind::Unsigned)),
    }
}

/// Exact numbers of ClickHouse: integers of up to 64 bits. It reads others as floats.
fn of_clickhouse(number: i128) -> Option<(String, Kind)> {
    match i64::try_from(number) {
        Ok(number) => Some(integer(number)),
        Err(_) => unsigned(u64::try_from(number).ok()?, Dialect::Clickhouse),
    }
}

/// An exact number beside a decimal of ClickHouse: one of 128 bits holds both sides.
fn decimal_of_clickhouse(value: &ScalarValue) -> Option<String> {
    let whole = match value.data_type().is_integer() {
        true => value.cast_to(&DataType::Decimal128(38, 0)).ok()?,
        false => value.clone(),
    };
    let ScalarValue::Decimal128(Some(number), _, scale) = whole else {
        return None;
    };
    let text = decimal_text(number, scale)?;
    (0..=DECIMAL64_DIGITS)
        .contains(&scale)
        .then(|| format!("toDecimal128('{text}', {scale})"))
}

/// A decimal without digits behind the point.
fn whole(number: i128, scale: i8) -> Option<i128> {
    let factor = 10_i128.checked_pow(u32::try_from(scale).ok()?)?;
    (number % factor == 0).then_some(number / factor)
}

fn decimal(number: i128, scale: i8, dialect: Dialect) -> Option<String> {
    let text = decimal_text(number, scale)?;
    let digits = number.unsigned_abs().to_string().len();
    let is_read = match dialect {
        Dialect::Sqlite => digits <= FLOAT_DIGITS,
        Dialect::Clickhouse => false,
        // Without a point it is an integer there.
        Dialect::Trino => scale > 0 || i64::try_from(number).is_ok(),
        _ => true,
    };
    if !is_read {
        return None;
    }
    Some(match number < 0 {
        true => format!("({text})"),
        false => text,
    })
}

/// Not zero, which has a sign here, and not NaN. No column of SQL Server is compared with one.
fn float(number: f64, dialect: Dialect) -> Option<String> {
    if !number.is_normal() || dialect == Dialect::Mssql {
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
    let is_plain = date.len() == "2024-02-29".len() && is_year_of(dialect, &date);
    is_plain.then(|| match dialect {
        Dialect::Sqlite => format!("'{date}'"),
        Dialect::Clickhouse => format!("toDate('{date}')"),
        Dialect::Mssql => format!("CAST('{date}' AS date)"),
        _ => format!("DATE '{date}'"),
    })
}

/// Whether a dialect has the year that a date begins with: SQL Server fails on the year 0.
fn is_year_of(dialect: Dialect, date: &str) -> bool {
    dialect != Dialect::Mssql || !date.starts_with("0000")
}

fn moment(micros: i64, has_zone: bool, dialect: Dialect) -> Option<(String, Kind)> {
    let text = moment_text(micros).filter(|text| is_year_of(dialect, text))?;
    match (has_zone, dialect) {
        (false, Dialect::Mssql) => Some((
            format!("CAST('{}' AS datetime2(6))", text.replace(' ', "T")),
            Kind::Timestamp,
        )),
        (true, Dialect::Mssql) => Some((
            format!(
                "CAST('{}+00:00' AS datetimeoffset(6))",
                text.replace(' ', "T")
            ),
            Kind::TimestampUtc,
        )),
        (false, Dialect::Postgresql | Dialect::Datafusion | Dialect::Mysql | Dialect::Trino) => {
            Some((format!("TIMESTAMP '{text}'"), Kind::Timestamp))
        }
        (true, Dialect::Postgresql) => Some((
            format!("CAST('{text}+00' AS TIMESTAMP WITH TIME ZONE)"),
            Kind::TimestampUtc,
        )),
        _ => None,
    }
}

/// `2024-02-29 12:00:00.000000`, with a year of four digits.
fn moment_text(micros: i64) -> Option<String> {
    let at = timestamp_us_to_datetime(micros)?;
    let text = format!("{} {}", at.date(), at.format("%H:%M:%S%.6f"));
    (text.len() == "2024-02-29 12:00:00.000000".len()).then_some(text)
}

/// A moment of ClickHouse, of a type with so many digits behind the second. A server without the types with a fraction
/// has no function for them either, but then it has no such columns.
fn instant(micros: i64, digits: u8) -> Option<String> {
    let days = i32::try_from(micros.div_euclid(DAY)).ok()?;
    let is_exact = micros % step(digits)? == 0;
    if !is_exact || !CLICKHOUSE_DAYS.contains(&days) {
        return None;
    }
    let text = moment_text(micros)?;
    let (seconds, fraction) = text.split_once('.')?;
    Some(match fraction.get(..digits.into())? {
        "" => format!("toDateTime('{seconds}', 'UTC')"),
        fraction => format!("toDateTime64('{seconds}.{fraction}', {digits}, 'UTC')"),
    })
}

/// A text in UTF-16; `None` for one with U+FFFD, which also stands for half of a pair.
fn utf16(text: &str) -> Option<String> {
    let literal = quoted(text, Dialect::Mssql)?;
    let is_short = 2 * text.encode_utf16().count() <= MAX_MSSQL_BYTES;
    let is_exact = is_short && !text.contains(char::REPLACEMENT_CHARACTER);
    is_exact.then(|| format!("N{literal}"))
}

/// A text that has the same bytes in every code page.
fn ascii(text: &str) -> Option<String> {
    let is_exact = text.is_ascii() && text.len() <= MAX_MSSQL_BYTES;
    is_exact.then(|| quoted(text, Dialect::Mssql))?
}

/// A moment of the type `datetime`, which has one for every hundredth of a second from 1753 to 9999. The `T` makes its
/// form the same in every language.
fn ticks(micros: i64) -> Option<String> {
    const HUNDREDTH: i64 = 10_000;
    let text = moment_text(micros)?.replace(' ', "T");
    let millis = text.get(.."2024-02-29T12:00:00.000".len())?;
    let is_exact = micros % HUNDREDTH == 0 && text.as_str() >= "1753";
    is_exact.then(|| format!("CAST('{millis}' AS datetime)"))
}

/// A UUID as PostgreSQL writes it. No column has another form of it, so that the text of another form equals none.
fn uuid(text: &str) -> Option<String> {
    let is_canonical = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        });
    is_canonical.then(|| format!("CAST('{text}' AS uuid)"))
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

    #[test]
    fn moments_of_clickhouse_are_constants_of_the_type_of_the_column() {
        let at = |micros| ScalarValue::TimestampMicrosecond(Some(micros), Some("UTC".into()));
        let beside = |digits, micros| {
            literal_beside(Kind::Instant(digits), &at(micros), Dialect::Clickhouse)
                .map(|(text, _)| text)
        };
        let half = 1_709_208_000_500_000;
        assert_eq!(
            beside(0, half - 500_000).unwrap(),
            "toDateTime('2024-02-29 12:00:00', 'UTC')"
        );
        assert_eq!(
            beside(3, half).unwrap(),
            "toDateTime64('2024-02-29 12:00:00.500', 3, 'UTC')"
        );
        // Between two moments of the column, before the first and behind the last.
        for (digits, micros) in [(0, half), (3, half + 1), (6, -1), (6, 50_000 * DAY)] {
            assert_eq!(beside(digits, micros), None, "{digits} {micros}");
        }
        let local = ScalarValue::TimestampMicrosecond(Some(0), None);
        let local = literal_beside(Kind::Instant(6), &local, Dialect::Clickhouse);
        assert_eq!(local, None);
    }

    #[test]
    fn comparison_with_a_moment_between_two_has_the_one_before() {
        use Operator::{Eq, Gt, GtEq, Lt, LtEq};
        for (op, micros, found) in [
            (Lt, 1_500_000, Some((LtEq, 1_000_000))),
            (LtEq, 1_999_999, Some((LtEq, 1_000_000))),
            (Gt, 1_000_001, Some((Gt, 1_000_000))),
            (GtEq, -1, Some((Gt, -1_000_000))),
            (GtEq, 1_000_000, Some((GtEq, 1_000_000))),
            (Eq, 1_000_000, Some((Eq, 1_000_000))),
            (Eq, 1_000_001, None),
        ] {
            assert_eq!(rounded(op, micros, 0), found, "{op} {micros}");
        }
        assert_eq!(rounded(Lt, 1_999_999, 6), Some((Lt, 1_999_999)));
    }

    #[test]
    fn moment_beside_a_text_with_a_zone_has_a_day_around_it() {
        let text = |op| {
            let both = widened(op, 1_709_208_000_000_000).into_iter();
            let both = both.map(|(op, text)| format!("{op} {text}"));
            both.collect::<Vec<_>>().join(" AND ")
        };
        assert_eq!(
            text(Operator::Lt),
            "<= TIMESTAMP '2024-03-01 12:00:00.000000 UTC'"
        );
        assert_eq!(
            text(Operator::Eq),
            ">= TIMESTAMP '2024-02-28 12:00:00.000000 UTC' AND <= TIMESTAMP '2024-03-01 12:00:00.000000 UTC'"
        );
        assert_eq!(text(Operator::NotEq), "");
    }

    #[test]
    fn constants_beside_decimals_of_clickhouse_have_128_bits() {
        let beside = |value: &ScalarValue| {
            literal_beside(Kind::Decimal, value, Dialect::Clickhouse).map(|(text, _)| text)
        };
        let decimal = |number, scale| ScalarValue::Decimal128(Some(number), 38, scale);
        assert_eq!(
            beside(&decimal(-150, 2)).unwrap(),
            "toDecimal128('-1.50', 2)"
        );
        assert_eq!(
            beside(&ScalarValue::Int64(Some(i64::MIN))).unwrap(),
            "toDecimal128('-9223372036854775808', 0)"
        );
        assert_eq!(beside(&decimal(1, 19)), None);
        assert_eq!(beside(&ScalarValue::Float64(Some(1.5))), None);
    }

    #[test]
    fn texts_of_sql_server_are_constants_of_the_type_of_the_column() {
        let beside = |of, text: &str| {
            literal_beside(of, &ScalarValue::from(text), Dialect::Mssql).map(|(text, _)| text)
        };
        assert_eq!(beside(Kind::Utf16, "O'Hära").unwrap(), "N'O''Hära'");
        assert_eq!(beside(Kind::CodePage, "O'Hara").unwrap(), "'O''Hara'");
        // Of another code page, half of a pair, and the end of a text.
        assert_eq!(beside(Kind::CodePage, "ä"), None);
        assert_eq!(beside(Kind::Utf16, "a\u{fffd}"), None);
        assert_eq!(beside(Kind::Utf16, "a\0"), None);
        // Alone it has the collation of the database.
        let alone = literal(&ScalarValue::from("a"), Dialect::Mssql);
        assert_eq!(alone, Some(("N'a'".into(), Kind::Opaque)));
        assert_eq!(text(&ScalarValue::Float64(Some(1.5)), Dialect::Mssql), None);
    }

    #[test]
    fn moments_of_sql_server_have_the_type_of_the_column() {
        let at = |micros| ScalarValue::TimestampMicrosecond(Some(micros), None);
        let beside =
            |of, micros| literal_beside(of, &at(micros), Dialect::Mssql).map(|(text, _)| text);
        let half = 1_709_208_000_500_000;
        assert_eq!(
            beside(Kind::Timestamp, half + 1).unwrap(),
            "CAST('2024-02-29T12:00:00.500001' AS datetime2(6))"
        );
        assert_eq!(
            beside(Kind::Ticks, half).unwrap(),
            "CAST('2024-02-29T12:00:00.500' AS datetime)"
        );
        // Between two moments of the column, before its first one, and in a year that the server does not have.
        assert_eq!(beside(Kind::Ticks, half + 1_000), None);
        assert_eq!(beside(Kind::Ticks, -79_258 * DAY), None);
        assert!(beside(Kind::Ticks, -79_257 * DAY).is_some());
        assert_eq!(beside(Kind::Timestamp, -719_200 * DAY), None);
        assert_eq!(
            text(&ScalarValue::Date32(Some(-719_200)), Dialect::Mssql),
            None
        );
        let utc = ScalarValue::TimestampMicrosecond(Some(half), Some("UTC".into()));
        assert_eq!(
            text(&utc, Dialect::Mssql).unwrap(),
            "CAST('2024-02-29T12:00:00.500000+00:00' AS datetimeoffset(6))"
        );
    }

    #[test]
    fn large_numbers_are_integers_where_they_can_be() {
        let large = ScalarValue::UInt64(Some(u64::MAX));
        assert_eq!(
            literal(&large, Dialect::Mysql).unwrap(),
            ("18446744073709551615".into(), Kind::Unsigned)
        );
        assert_eq!(text(&large, Dialect::Trino), None);
        let of = |number, scale| ScalarValue::Decimal128(Some(number), 38, scale);
        let clickhouse = |value| text(&value, Dialect::Clickhouse);
        assert_eq!(clickhouse(of(-50, 1)).unwrap(), "(-5)");
        assert_eq!(
            clickhouse(of(u64::MAX.into(), 0)).unwrap(),
            "18446744073709551615"
        );
        assert_eq!(clickhouse(of(55, 1)), None);
        assert_eq!(clickhouse(of(i128::from(u64::MAX) + 1, 0)), None);
        let trino = |value| text(&value, Dialect::Trino);
        assert_eq!(trino(of(u64::MAX.into(), 0)), None);
        assert_eq!(trino(of(55, 1)).unwrap(), "5.5");
    }

    #[test]
    fn uuid_that_postgresql_writes_otherwise_is_not_sent() {
        let sent =
            |text: &str| literal_beside(Kind::Uuid, &ScalarValue::from(text), Dialect::Postgresql);
        let id = "0a1b2c3d-0000-4000-8000-00000000000f";
        assert_eq!(
            sent(id),
            Some((format!("CAST('{id}' AS uuid)"), Kind::Uuid))
        );
        for other in [
            "0A1B2C3D-0000-4000-8000-00000000000F",
            "0a1b2c3d000040008000-00000000000f",
            "{0a1b2c3d-0000-4000-8000-00000000000f}",
            "",
        ] {
            assert_eq!(sent(other), None, "{other}");
        }
    }
}
