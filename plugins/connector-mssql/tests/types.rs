//! Types: the table of the README, value by value.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is a failed test"
)]

mod support;

use mindhost_sdk::Value;
use support::{connect, query, shop, value};

const README: &str = include_str!("../README.md");

/// A literal for each type that the README lists, and the value that must come.
fn samples() -> Vec<(&'static str, &'static str, Value)> {
    let text = |text: &str| Value::Text(text.into());
    let decimal = |text: &str| Value::Decimal(text.into());
    vec![
        ("bit", "1", Value::Boolean(true)),
        ("tinyint", "255", Value::Int64(255)),
        ("smallint", "-32768", Value::Int64(-32_768)),
        ("int", "-2147483648", Value::Int64(-2_147_483_648)),
        ("bigint", "9223372036854775807", Value::Int64(i64::MAX)),
        ("real", "0.1", Value::Float64(0.1)),
        ("float", "1.7976931348623157e308", Value::Float64(f64::MAX)),
        (
            "decimal(38,10)",
            "'-1234567890123456789012345678.0123456789'",
            decimal("-1234567890123456789012345678.0123456789"),
        ),
        ("numeric(5,2)", "'2.5'", decimal("2.50")),
        (
            "money",
            "'-922337203685477.5808'",
            decimal("-922337203685477.5808"),
        ),
        ("smallmoney", "'214748.3647'", decimal("214748.3647")),
        ("char(3)", "'aé€'", text("aé€")),
        ("varchar(20)", "'café'", text("café")),
        ("varchar(max)", "'café'", text("café")),
        ("nchar(2)", "N'☃🦀'", text("☃🦀")),
        ("nvarchar(20)", "N'☃ 🦀'", text("☃ 🦀")),
        ("nvarchar(max)", "N'☃ 🦀'", text("☃ 🦀")),
        ("text", "'café'", text("café")),
        ("ntext", "N'☃'", text("☃")),
        ("xml", "N'<a>☃</a>'", text("<a>☃</a>")),
        ("json", "N'{\"a\": 1}'", text("{\"a\": 1}")),
        (
            "uniqueidentifier",
            "'6f9619ff-8b86-d011-b42d-00c04fc964ff'",
            text("6F9619FF-8B86-D011-B42D-00C04FC964FF"),
        ),
        ("binary(2)", "X'00FF'", Value::Bytes(vec![0, 255])),
        ("varbinary(10)", "X'00FF'", Value::Bytes(vec![0, 255])),
        ("varbinary(max)", "X'00FF01'", Value::Bytes(vec![0, 255, 1])),
        ("image", "X'00FF'", Value::Bytes(vec![0, 255])),
        (
            "rowversion",
            "X'00000000000007D1'",
            Value::Bytes(vec![0, 0, 0, 0, 0, 0, 7, 0xD1]),
        ),
        ("date", "'2024-02-29'", Value::Date(19_782)),
        ("time(6)", "'23:59:59.999999'", Value::Time(86_399_999_999)),
        (
            "datetime2(6)",
            "'2024-02-29 12:34:56.789012'",
            Value::Timestamp(1_709_210_096_789_012),
        ),
        (
            "datetime",
            "'2024-02-29 12:34:56.790'",
            Value::Timestamp(1_709_210_096_790_000),
        ),
        (
            "smalldatetime",
            "'2024-02-29 12:34:00'",
            Value::Timestamp(1_709_210_040_000_000),
        ),
        (
            "datetimeoffset(6)",
            "'2024-02-29 12:34:56 +02:00'",
            Value::TimestampUtc(1_709_202_896_000_000),
        ),
        ("sql_variant", "9", Value::Int64(9)),
        ("sql_variant", "N'☃'", text("☃")),
        ("hierarchyid", "X'5AC0'", Value::Bytes(vec![0x5A, 0xC0])),
        ("geometry", "X'00'", Value::Bytes(vec![0])),
        ("geography", "X'00'", Value::Bytes(vec![0])),
    ]
}

/// The rows of the README's table: the types, and what they become.
fn documented() -> Vec<(String, String)> {
    let section = README
        .split("## Types")
        .nth(1)
        .unwrap()
        .split("\n## ")
        .next()
        .unwrap();
    let mut documented = Vec::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = line.trim_matches('|').split(" | ");
        let (types, becomes) = (
            cells.next().unwrap(),
            cells.next().unwrap().trim().to_owned(),
        );
        for name in types.split('`').skip(1).step_by(2) {
            documented.push((name.to_owned(), becomes.clone()));
        }
    }
    documented
}

#[test]
fn the_readme_lists_every_type_as_what_it_becomes() {
    let double = shop();
    let mut mssql = connect(&double);
    let mut seen = Vec::new();
    for (kind, literal, _) in samples() {
        let (columns, _) = query(
            &mut mssql,
            &format!("SELECT CAST({literal} AS {kind}) AS value"),
        )
        .expect(kind);
        let base = kind.split('(').next().unwrap().to_owned();
        let becomes = columns[0].data_type.name().to_owned();
        if !seen.contains(&(base.clone(), becomes.clone())) {
            seen.push((base, becomes));
        }
    }
    let mut documented = documented();
    documented.sort();
    seen.sort();
    assert_eq!(documented, seen);
}

#[test]
fn a_value_of_each_type_comes_as_it_is_and_so_does_null() {
    let double = shop();
    let mut mssql = connect(&double);
    for (kind, literal, expected) in samples() {
        let found = value(
            &mut mssql,
            &format!("SELECT CAST({literal} AS {kind}) AS value"),
        );
        assert_eq!(found, expected, "{kind}");
        let (columns, rows) =
            query(&mut mssql, &format!("SELECT CAST(NULL AS {kind}) AS value")).expect(kind);
        assert_eq!(rows, [[Value::Null]], "{kind}");
        let native = columns[0].native_type.as_str();
        match kind {
            "json" => assert_eq!(native, "nvarchar(max)"),
            _ => assert_eq!(native, kind, "{kind}"),
        }
    }
}

#[test]
fn the_seventh_digit_of_a_second_is_kept_as_text() {
    let double = shop();
    let mut mssql = connect(&double);
    for (sql, expected) in [
        (
            "SELECT CAST('12:34:56.1234567' AS time) AS t",
            "12:34:56.1234567",
        ),
        (
            "SELECT CAST('2024-02-29 12:34:56.1234567' AS datetime2) AS t",
            "2024-02-29T12:34:56.1234567",
        ),
        (
            "SELECT CAST('2024-02-29 12:34:56.1234567 +02:00' AS datetimeoffset) AS t",
            "2024-02-29T10:34:56.1234567Z",
        ),
    ] {
        assert_eq!(
            value(&mut mssql, sql),
            Value::Other(expected.into()),
            "{sql}"
        );
    }
}

#[test]
fn texts_in_utf_8_are_read_by_their_collation() {
    let double = shop();
    let mut mssql = connect(&double);
    let sql =
        "SELECT CAST(N'☃ é' AS varchar(20)) COLLATE Latin1_General_100_CI_AS_SC_UTF8 AS value";
    assert_eq!(value(&mut mssql, sql), Value::Text("☃ é".into()));
}

#[test]
fn a_row_with_many_columns_says_which_are_null() {
    let double = shop();
    let mut mssql = connect(&double);
    let columns: Vec<String> = (0..40)
        .map(|n| {
            if n % 3 == 0 {
                format!("NULL AS c{n}")
            } else {
                format!("{n} AS c{n}")
            }
        })
        .collect();
    let (_, rows) = query(&mut mssql, &format!("SELECT {}", columns.join(", "))).unwrap();
    for (n, value) in rows[0].iter().enumerate() {
        let expected = if n % 3 == 0 {
            Value::Null
        } else {
            Value::Int64(n as i64)
        };
        assert_eq!(*value, expected);
    }
}
