//! Every type of the README.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::host::Host;
use crate::trino::Trino;

const README: &str = include_str!("../../README.md");

/// A value of each type, with what the API must show: the type, and the value.
pub const VALUES: &[(&str, &str, &str, &str)] = &[
    ("boolean", "true", "boolean", "true"),
    ("tinyint", "TINYINT '-128'", "int64", "-128"),
    ("smallint", "SMALLINT '5'", "int64", "5"),
    ("integer", "5", "int64", "5"),
    (
        "bigint",
        "BIGINT '-9007199254740993'",
        "int64",
        r#""-9007199254740993""#,
    ),
    ("real", "REAL '0.1'", "float64", "0.1"),
    ("double", "-infinity()", "float64", r#""-Infinity""#),
    ("double", "nan()", "float64", r#""NaN""#),
    ("decimal", "DECIMAL '1.50'", "decimal", r#""1.50""#),
    (
        "decimal",
        "DECIMAL '-12345678901234567890123456789012345678'",
        "decimal",
        r#""-12345678901234567890123456789012345678""#,
    ),
    ("varchar", r"'it''s \ é'", "text", r#""it's \\ é""#),
    ("char", "CAST('ab' AS char(3))", "text", r#""ab ""#),
    ("varbinary", "X'00ff'", "bytes", r#""AP8=""#),
    ("date", "DATE '2024-02-29'", "date", r#""2024-02-29""#),
    (
        "time",
        "TIME '10:20:30.123456789012'",
        "time",
        r#""10:20:30.123456""#,
    ),
    (
        "time with time zone",
        "TIME '10:20:30 +02:00'",
        "text",
        r#""10:20:30+02:00""#,
    ),
    (
        "timestamp",
        "TIMESTAMP '2024-01-01 00:00:00.123456789012'",
        "timestamp",
        r#""2024-01-01T00:00:00.123456""#,
    ),
    (
        "timestamp with time zone",
        "TIMESTAMP '2024-07-01 00:00:00 Asia/Tokyo'",
        "timestamp-utc",
        r#""2024-06-30T15:00:00Z""#,
    ),
    ("json", r#"JSON '{"a": [1]}'"#, "json", r#"{"a":[1]}"#),
    ("array", "ARRAY[1, NULL]", "json", "[1,null]"),
    (
        "map",
        "MAP(ARRAY['a'], ARRAY[DATE '2024-02-29'])",
        "json",
        r#"{"a":"2024-02-29"}"#,
    ),
    ("row", "ROW(1, 'x')", "json", r#"[1,"x"]"#),
    (
        "row",
        "ROW(INTERVAL '1' DAY, INTERVAL '1' YEAR)",
        "json",
        r#"["1 00:00:00.000","1-0"]"#,
    ),
    (
        "uuid",
        "UUID '12151fd2-7586-11e9-8f9e-2a86e4085a59'",
        "text",
        r#""12151fd2-7586-11e9-8f9e-2a86e4085a59""#,
    ),
    (
        "ipaddress",
        "CAST('10.0.0.1' AS ipaddress)",
        "text",
        r#""10.0.0.1""#,
    ),
    (
        "interval year to month",
        "INTERVAL '1' YEAR",
        "text",
        r#""1-0""#,
    ),
    (
        "interval day to second",
        "INTERVAL '2' DAY",
        "text",
        r#""2 00:00:00.000""#,
    ),
    ("HyperLogLog", "CAST(NULL AS hyperloglog)", "bytes", "null"),
    ("unknown", "NULL", "text", "null"),
];

/// Types that only a function gives; their bytes are the server's affair.
const SKETCHES: &[(&str, &str)] = &[("qdigest", "qdigest_agg(1)"), ("tdigest", "tdigest_agg(1)")];

/// The names in the README's table, with the type.
fn documented() -> BTreeSet<(String, String)> {
    let table = README.split("## Types").nth(1).unwrap();
    let table = table.split("##").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let row = |row: &str| {
        let mut cells = row.split(" | ");
        let names = cells.next().unwrap().to_owned();
        let kind = cells.next().unwrap().trim().to_owned();
        let names: Vec<String> = names
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        names
            .into_iter()
            .map(move |name| (name, kind.clone()))
            .collect::<Vec<_>>()
    };
    rows.flat_map(row).collect()
}

#[test]
fn every_type_becomes_what_the_readme_says() {
    let host = Host::over(Trino::shared(), "memory", &["shop"]);
    let mut seen = BTreeSet::new();
    for (name, expression, kind, value) in VALUES {
        let result = host.query("m", &format!("SELECT {expression} AS c"));
        let value: Value = serde_json::from_str(value).unwrap();
        let found = (&result["column_types"][0]["type"], &result["data"][0][0]);
        assert_eq!(found, (&json!(kind), &value), "{expression}: {result}");
        seen.insert(((*name).to_owned(), (*kind).to_owned()));
    }
    for (name, expression) in SKETCHES {
        let result = host.query("m", &format!("SELECT {expression} AS c"));
        assert_eq!(result["column_types"][0]["type"], "bytes", "{result}");
        assert!(result["data"][0][0].is_string(), "{result}");
        seen.insert(((*name).to_owned(), "bytes".into()));
    }
    assert_eq!(
        seen,
        documented(),
        "the README's table and the values above"
    );
}
