//! Each type of the contract: a value that went in comes back as it is.

use mindhost_plugin_api::{DataType, Value};
use serde_json::{Value as Json, json};

use crate::{
    bench::{Answer, Bench, ROWS, dialect, read},
    case::{Case, Expect, Stop, Verdict, ensure, failed, skipped_until},
    config::Expected,
};

pub(super) const CASES: &[Case] = &[Case {
    name: "values",
    proves: "A value of each type comes with its type and as it is, NULL, limits and rare ones included.",
    run: |bench| Box::pin(values(bench)),
}];

/// What MySQL and MariaDB both have.
const MYSQL: &[(&str, &str, &str)] = &[
    ("9223372036854775807", "int64", "9223372036854775807"),
    (
        "CAST('-9223372036854775808' AS SIGNED)",
        "int64",
        "-9223372036854775808",
    ),
    (
        "CAST('18446744073709551615' AS UNSIGNED)",
        "uint64",
        "18446744073709551615",
    ),
    ("1e-1", "float64", "0.1"),
    (
        "CAST('123456789012345678901234567890.12345' AS DECIMAL(35, 5))",
        "decimal",
        "\"123456789012345678901234567890.12345\"",
    ),
    ("CAST('-0.10' AS DECIMAL(4, 2))", "decimal", "\"-0.10\""),
    ("'it''s ☃'", "text", "\"it's ☃\""),
    ("''", "text", "\"\""),
    ("X'00ff'", "bytes", "\"00ff\""),
    ("CAST('2024-02-29' AS DATE)", "date", "\"2024-02-29\""),
    ("CAST('0001-01-01' AS DATE)", "date", "\"0001-01-01\""),
    (
        "CAST('23:59:59.999999' AS TIME(6))",
        "time",
        "\"23:59:59.999999\"",
    ),
    // Longer than a day, so it is no time of the contract.
    ("CAST('838:59:59' AS TIME)", "time", "\"838:59:59\""),
    (
        "CAST('2024-02-29 12:34:56.789' AS DATETIME(6))",
        "timestamp",
        "\"2024-02-29T12:34:56.789000\"",
    ),
    (
        "JSON_OBJECT('a', JSON_ARRAY(1, NULL))",
        "json",
        "{\"a\": [1, null]}",
    ),
    ("CAST(NULL AS SIGNED)", "int64", "null"),
];

const MSSQL: &[(&str, &str, &str)] = &[
    ("CAST(1 AS bit)", "boolean", "true"),
    ("CAST(255 AS tinyint)", "int64", "255"),
    (
        "CAST('9223372036854775807' AS bigint)",
        "int64",
        "9223372036854775807",
    ),
    (
        "CAST('-9223372036854775808' AS bigint)",
        "int64",
        "-9223372036854775808",
    ),
    ("CAST(0.1 AS float)", "float64", "0.1"),
    (
        "CAST('-1234567890123456789012345678.0123456789' AS decimal(38, 10))",
        "decimal",
        "\"-1234567890123456789012345678.0123456789\"",
    ),
    ("CAST('-0.10' AS decimal(4, 2))", "decimal", "\"-0.10\""),
    (
        "CAST('922337203685477.5807' AS money)",
        "decimal",
        "\"922337203685477.5807\"",
    ),
    ("N'it''s ☃'", "text", "\"it's ☃\""),
    ("CAST(0x00FF AS varbinary(10))", "bytes", "\"00ff\""),
    ("CAST('2024-02-29' AS date)", "date", "\"2024-02-29\""),
    ("CAST('0001-01-01' AS date)", "date", "\"0001-01-01\""),
    (
        "CAST('23:59:59.999999' AS time(6))",
        "time",
        "\"23:59:59.999999\"",
    ),
    (
        "CAST('2024-02-29 12:34:56.789' AS datetime2(3))",
        "timestamp",
        "\"2024-02-29T12:34:56.789000\"",
    ),
    (
        "CAST('2024-02-29 12:34:56 +02:00' AS datetimeoffset(0))",
        "timestamp-utc",
        "\"2024-02-29T10:34:56.000000Z\"",
    ),
    ("CAST(NULL AS bigint)", "int64", "null"),
];

/// The values that an engine of a dialect has; those of the configuration come on top.
fn known(dialect: &str) -> &'static [(&'static str, &'static str, &'static str)] {
    match dialect {
        "sqlite" => &[
            ("9223372036854775807", "int64", "9223372036854775807"),
            ("-9223372036854775808", "int64", "-9223372036854775808"),
            ("0.1", "float64", "0.1"),
            ("'it''s'", "text", "\"it's\""),
            ("x'00ff'", "bytes", "\"00ff\""),
            ("NULL", "any", "null"),
        ],
        "postgresql" => &[
            ("true", "boolean", "true"),
            ("9223372036854775807::int8", "int64", "9223372036854775807"),
            (
                "'-9223372036854775808'::int8",
                "int64",
                "-9223372036854775808",
            ),
            ("0.1::float8", "float64", "0.1"),
            ("'NaN'::float8", "float64", "\"NaN\""),
            ("'-Infinity'::float8", "float64", "\"-Infinity\""),
            (
                "123456789012345678901234567890.12345::numeric",
                "decimal",
                "\"123456789012345678901234567890.12345\"",
            ),
            ("'-0.10'::numeric(4,2)", "decimal", "\"-0.10\""),
            ("'NaN'::numeric", "decimal", "\"NaN\""),
            ("'it''s'::text", "text", "\"it's\""),
            ("'\\x00ff'::bytea", "bytes", "\"00ff\""),
            ("'2024-02-29'::date", "date", "\"2024-02-29\""),
            ("'0001-01-01'::date", "date", "\"0001-01-01\""),
            ("'23:59:59.999999'::time", "time", "\"23:59:59.999999\""),
            (
                "'2024-02-29 12:34:56.789'::timestamp",
                "timestamp",
                "\"2024-02-29T12:34:56.789000\"",
            ),
            (
                "'2024-02-29 12:34:56+02'::timestamptz",
                "timestamp-utc",
                "\"2024-02-29T10:34:56.000000Z\"",
            ),
            ("'{\"a\": [1, null]}'::jsonb", "json", "{\"a\": [1, null]}"),
            ("ARRAY[1, NULL, 3]", "json", "[1, null, 3]"),
            ("'infinity'::date", "date", "\"infinity\""),
            ("NULL::int8", "int64", "null"),
        ],
        "mysql" => MYSQL,
        "mssql" => MSSQL,
        "clickhouse" => &[
            (
                "toInt64('9223372036854775807')",
                "int64",
                "9223372036854775807",
            ),
            (
                "toUInt64('18446744073709551615')",
                "uint64",
                "18446744073709551615",
            ),
            ("toFloat64(0.1)", "float64", "0.1"),
            ("toFloat64(nan)", "float64", "\"NaN\""),
            ("toFloat64(-inf)", "float64", "\"-Infinity\""),
            (
                "toDecimal128('123456789012345678901234567890.12345', 5)",
                "decimal",
                "\"123456789012345678901234567890.12345\"",
            ),
            ("toDecimal32('-0.1', 2)", "decimal", "\"-0.10\""),
            ("'it\\'s'", "text", "\"it's\""),
            ("toDate('2024-02-29')", "date", "\"2024-02-29\""),
            (
                "toDateTime('2024-02-29 12:34:56', 'UTC')",
                "timestamp-utc",
                "\"2024-02-29T12:34:56.000000Z\"",
            ),
            ("[1, NULL, 3]", "json", "[1, null, 3]"),
            ("CAST(NULL AS Nullable(Int64))", "int64", "null"),
        ],
        "trino" => &[
            ("true", "boolean", "true"),
            (
                "BIGINT '9223372036854775807'",
                "int64",
                "9223372036854775807",
            ),
            ("DOUBLE '0.1'", "float64", "0.1"),
            ("nan()", "float64", "\"NaN\""),
            ("-infinity()", "float64", "\"-Infinity\""),
            (
                "DECIMAL '123456789012345678901234567890.12345'",
                "decimal",
                "\"123456789012345678901234567890.12345\"",
            ),
            ("DECIMAL '-0.10'", "decimal", "\"-0.10\""),
            ("'it''s'", "text", "\"it's\""),
            ("X'00ff'", "bytes", "\"00ff\""),
            ("DATE '2024-02-29'", "date", "\"2024-02-29\""),
            ("DATE '0001-01-01'", "date", "\"0001-01-01\""),
            ("TIME '23:59:59.999999'", "time", "\"23:59:59.999999\""),
            (
                "TIMESTAMP '2024-02-29 12:34:56.789'",
                "timestamp",
                "\"2024-02-29T12:34:56.789000\"",
            ),
            (
                "TIMESTAMP '2024-02-29 12:34:56 +02:00'",
                "timestamp-utc",
                "\"2024-02-29T10:34:56.000000Z\"",
            ),
            ("JSON '{\"a\": [1, null]}'", "json", "{\"a\": [1, null]}"),
            ("ARRAY[1, NULL, 3]", "json", "[1, null, 3]"),
            ("CAST(NULL AS bigint)", "int64", "null"),
        ],
        _ => &[],
    }
}

fn expected(bench: &Bench) -> Vec<Expected> {
    let known = known(dialect(bench.manifest()))
        .iter()
        .map(|(expression, name, value)| Expected {
            sql: format!("SELECT {expression} AS value"),
            r#type: (*name).to_owned(),
            value: serde_json::from_str(value).ok(),
        });
    known
        .chain(bench.config.tests.values.iter().cloned())
        .collect()
}

async fn values(bench: &Bench) -> Verdict {
    let expected = expected(bench);
    if expected.is_empty() {
        let why = match dialect(bench.manifest()) {
            "" => "the kit knows no values of a scanner's tables".to_owned(),
            dialect => format!("the kit knows no values of the dialect `{dialect}`"),
        };
        return Err(skipped_until(
            why,
            "tests.values: for each type a statement, the type, and the value that must come",
        ));
    }
    let mut connection = bench.open().await?;
    for one in &expected {
        let runs = format!("`{}` runs", one.sql);
        let sql = bench.sent(&mut *connection, &one.sql).await;
        let answer = read(&mut *connection, &sql.expect_to(&runs)?, ROWS).await;
        let answer = answer.expect_to(runs)?;
        let column = answer
            .columns
            .first()
            .map_or(DataType::Any, |column| column.data_type);
        let value = single(one, &answer)?;
        has_type(one, column, value)?;
        let wanted = one.value.clone().unwrap_or(Json::Null);
        ensure(
            same(&shown(value), &wanted),
            format!("{wanted} from `{}`", one.sql),
            format!("{} ({})", shown(value), type_name(value)),
            "keep every digit and every byte, and count dates and times as the contract says",
        )?;
    }
    Ok(format!("{} values", expected.len()))
}

/// The value of a statement. A lost row is no NULL, and neither are two.
fn single<'a>(one: &Expected, answer: &'a Answer) -> Result<&'a Value, Stop> {
    let widths: Vec<usize> = answer.rows.iter().map(Vec::len).collect();
    answer.only().ok_or_else(|| {
        failed(
            format!("one row with one value from `{}`", one.sql),
            match widths.as_slice() {
                [] => "no row".to_owned(),
                [values] => format!("a row with {values} values"),
                rows => format!("{} rows", rows.len()),
            },
            "give each row of the result once, NULL as a value of its own",
        )
    })
}

/// The column has the type; where it is `any`, the value has.
fn has_type(one: &Expected, column: DataType, value: &Value) -> Result<(), Stop> {
    let is_free = matches!(value, Value::Null | Value::Other(_));
    let fits = name(column) == one.r#type
        || column == DataType::Any && (is_free || type_name(value) == one.r#type);
    ensure(
        fits,
        format!("the type {} from `{}`", one.r#type, one.sql),
        format!(
            "a column of type {} with a value of type {}",
            name(column),
            type_name(value)
        ),
        "map the engine's type to the one of the contract that holds it exactly",
    )
}

/// The name of a type in the contract: `timestamp-utc`.
fn name(data_type: DataType) -> String {
    json!(data_type).as_str().unwrap_or_default().to_owned()
}

/// The name of a value's type in the contract; `null` and `other` are no types of columns.
fn type_name(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Other(_) => "other".to_owned(),
        _ => value.data_type().map(name).unwrap_or_default(),
    }
}

fn same(value: &Json, wanted: &Json) -> bool {
    // Numbers that are written in two ways are one: 1 and 1.0.
    value == wanted || (value.is_f64() || wanted.is_f64()) && value.as_f64() == wanted.as_f64()
}

/// A value in the form in which a configuration writes it.
fn shown(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Boolean(value) => json!(value),
        Value::Int64(value) => json!(value),
        Value::Uint64(value) => json!(value),
        Value::Float64(value) if value.is_nan() => json!("NaN"),
        Value::Float64(value) if value.is_infinite() => match *value > 0.0 {
            true => json!("Infinity"),
            false => json!("-Infinity"),
        },
        Value::Float64(value) => json!(value),
        Value::Decimal(text) | Value::Text(text) | Value::Other(text) => json!(text),
        Value::Bytes(bytes) => json!(
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        ),
        Value::Date(days) => json!(date(i64::from(*days))),
        Value::Time(micros) => json!(time(*micros)),
        Value::Timestamp(micros) => json!(timestamp(*micros)),
        Value::TimestampUtc(micros) => json!(format!("{}Z", timestamp(*micros))),
        Value::Json(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
    }
}

const DAY: i64 = 86_400_000_000;

fn timestamp(micros: i64) -> String {
    let rest = micros.rem_euclid(DAY).unsigned_abs();
    format!("{}T{}", date(micros.div_euclid(DAY)), time(rest))
}

fn time(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!(
        "{hours:02}:{minutes:02}:{seconds:02}.{:06}",
        micros % 1_000_000
    )
}

/// The day of the Gregorian calendar, counted in eras of 400 years that begin in March.
fn date(days: i64) -> String {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_microseconds_are_counted_from_1970() {
        let check = |value: Value, expected: &str| assert_eq!(shown(&value), json!(expected));
        check(Value::Date(0), "1970-01-01");
        check(Value::Date(19_782), "2024-02-29");
        check(Value::Date(-719_162), "0001-01-01");
        check(Value::Timestamp(-1), "1969-12-31T23:59:59.999999");
        check(
            Value::TimestampUtc(1_709_202_896_000_000),
            "2024-02-29T10:34:56.000000Z",
        );
        check(Value::Bytes(vec![0, 255]), "00ff");
    }

    #[test]
    fn a_lost_row_is_no_null() {
        let expected = Expected {
            sql: "SELECT CAST(NULL AS bigint)".to_owned(),
            r#type: "int64".to_owned(),
            value: Some(Json::Null),
        };
        let value = |rows: &[&[Value]]| {
            let answer = Answer {
                columns: [].into(),
                rows: rows.iter().map(|row| row.to_vec()).collect(),
                batches: Vec::new(),
            };
            single(&expected, &answer).ok().cloned()
        };
        let (null, two) = ([Value::Null], [Value::Null, Value::Null]);
        assert_eq!(value(&[&null]), Some(Value::Null));
        assert_eq!(value(&[]), None);
        assert_eq!(value(&[&null, &null]), None);
        assert_eq!(value(&[&two]), None);
    }

    #[test]
    fn a_number_is_the_same_however_it_is_written() {
        assert!(same(&json!(1), &json!(1.0)));
        assert!(!same(&json!("1"), &json!(1)));
    }

    #[test]
    fn types_have_their_names_in_the_contract() {
        assert_eq!(name(DataType::TimestampUtc), "timestamp-utc");
        assert_eq!(type_name(&Value::Uint64(1)), "uint64");
        assert_eq!(type_name(&Value::Null), "null");
    }
}
