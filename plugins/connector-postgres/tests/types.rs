//! Every type, compared with what psql prints.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests")]

mod support;

use std::time::Duration;

use mindhost_sdk::{Batch, Connector, DataType, Statement, Value, testing};
use support::{LIMITS, Server, connect, query};

const TYPES: &str = "
    CREATE SCHEMA types;
    CREATE TYPE types.mood AS ENUM ('sad', 'it''s ok', 'happy, \"very\"');
    CREATE TYPE types.pair AS (a int, b text);
    CREATE DOMAIN types.cents AS numeric(10,2) CHECK (VALUE >= 0);
    CREATE DOMAIN types.small AS int;
    CREATE DOMAIN types.smaller AS types.small;
    CREATE TYPE types.span AS RANGE (subtype = float8);
    CREATE EXTENSION IF NOT EXISTS citext;
    CREATE EXTENSION IF NOT EXISTS hstore;";

fn prepare() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        Server::shared().psql(TYPES);
    });
}

/// The value's text by psql's own arithmetic, so that nothing of the connector's is used to check it.
fn shown(value: &Value) -> String {
    let psql = |sql: String| Server::shared().psql(&sql);
    match value {
        Value::Null => String::new(),
        Value::Boolean(value) => (if *value { "t" } else { "f" }).into(),
        Value::Int64(value) => value.to_string(),
        Value::Float64(value) => psql(format!("SELECT '{value}'::float8")),
        Value::Decimal(text) | Value::Text(text) | Value::Other(text) => text.clone(),
        Value::Json(text) => text.clone(),
        Value::Bytes(bytes) => format!(
            "\\x{}",
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        ),
        Value::Date(days) => psql(format!("SELECT date '1970-01-01' + {days}")),
        Value::Time(micros) => psql(format!(
            "SELECT time '00:00' + {micros} * interval '1 microsecond'"
        )),
        Value::Timestamp(micros) => psql(format!(
            "SELECT timestamp '1970-01-01' + {micros} * interval '1 microsecond'"
        )),
        Value::TimestampUtc(micros) => psql(format!(
            "SELECT timestamptz '1970-01-01 00:00Z' + {micros} * interval '1 microsecond'"
        )),
        Value::Uint64(_) => panic!("PostgreSQL has no unsigned integers"),
    }
}

#[test]
fn every_type_is_what_psql_prints() {
    prepare();
    let mut postgres = connect();
    for (expression, data_type, native_type) in [
        ("true", DataType::Boolean, "boolean"),
        ("'-32768'::int2", DataType::Int64, "smallint"),
        ("2147483647", DataType::Int64, "integer"),
        ("'-9223372036854775808'::int8", DataType::Int64, "bigint"),
        ("4294967295::oid", DataType::Int64, "oid"),
        ("0.1::float4", DataType::Float64, "real"),
        ("3.4e38::float4", DataType::Float64, "real"),
        ("0.1::float8", DataType::Float64, "double precision"),
        ("1e308::float8", DataType::Float64, "double precision"),
        ("'-Infinity'::float8", DataType::Float64, "double precision"),
        ("'NaN'::float8", DataType::Float64, "double precision"),
        ("12.50::numeric(12,2)", DataType::Decimal, "numeric(12,2)"),
        (
            "-0.000000000000000000000000000001::numeric",
            DataType::Decimal,
            "numeric",
        ),
        (
            "123456789012345678901234567890.123456789",
            DataType::Decimal,
            "numeric",
        ),
        ("1e100::numeric", DataType::Decimal, "numeric"),
        ("'NaN'::numeric", DataType::Decimal, "numeric"),
        ("'-Infinity'::numeric", DataType::Decimal, "numeric"),
        ("'1.99'::types.cents", DataType::Decimal, "numeric(10,2)"),
        ("5::types.smaller", DataType::Int64, "integer"),
        ("'Grüße 🐘'::text", DataType::Text, "text"),
        ("''::text", DataType::Text, "text"),
        ("'ab'::varchar(20)", DataType::Text, "character varying(20)"),
        ("'ab'::char(4)", DataType::Text, "character(4)"),
        ("'x'::\"char\"", DataType::Text, "\"char\""),
        ("'pg_class'::name", DataType::Text, "name"),
        ("'Ab'::public.citext", DataType::Text, "public.citext"),
        ("'it''s ok'::types.mood", DataType::Text, "types.mood"),
        ("'<a>b</a>'::xml", DataType::Text, "xml"),
        ("'\\x00ff10'::bytea", DataType::Bytes, "bytea"),
        ("date '2024-02-29'", DataType::Date, "date"),
        ("date '0001-01-01'", DataType::Date, "date"),
        ("date 'infinity'", DataType::Date, "date"),
        ("date '0044-03-15 BC'", DataType::Date, "date"),
        (
            "time '23:59:59.999999'",
            DataType::Time,
            "time without time zone",
        ),
        ("time '24:00'", DataType::Time, "time without time zone"),
        (
            "timetz '12:34:56.5+02'",
            DataType::Text,
            "time with time zone",
        ),
        (
            "timestamp '1969-12-31 23:59:59.123456'",
            DataType::Timestamp,
            "timestamp without time zone",
        ),
        (
            "timestamp(3) '2024-02-29 12:00:00.123'",
            DataType::Timestamp,
            "timestamp(3) without time zone",
        ),
        (
            "timestamp '-infinity'",
            DataType::Timestamp,
            "timestamp without time zone",
        ),
        (
            "timestamp '294276-12-31'",
            DataType::Timestamp,
            "timestamp without time zone",
        ),
        (
            "timestamptz '2024-02-29 12:00:00+05:30'",
            DataType::TimestampUtc,
            "timestamp with time zone",
        ),
        (
            "timestamptz 'infinity'",
            DataType::TimestampUtc,
            "timestamp with time zone",
        ),
        (
            "interval '1 year -2 days 03:04:05.6'",
            DataType::Text,
            "interval",
        ),
        (
            "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid",
            DataType::Text,
            "uuid",
        ),
        ("'{\"a\": [1, null]}'::json", DataType::Json, "json"),
        ("'{\"b\":1,\"a\": 1.50}'::jsonb", DataType::Json, "jsonb"),
        ("int4range(1, 5)", DataType::Text, "int4range"),
        (
            "tstzrange('2024-01-01Z', NULL)",
            DataType::Text,
            "tstzrange",
        ),
        (
            "'{[1,3),[5,7)}'::int4multirange",
            DataType::Text,
            "int4multirange",
        ),
        ("types.span(1.5, 2.5)", DataType::Text, "types.span"),
        ("'1234.5'::money", DataType::Text, "money"),
        ("'192.168.0.1/24'::inet", DataType::Text, "inet"),
        ("'::ffff:1.2.3.4'::inet", DataType::Text, "inet"),
        ("'10.0.0.0/8'::cidr", DataType::Text, "cidr"),
        ("'08:00:2b:01:02:03'::macaddr", DataType::Text, "macaddr"),
        ("B'1010'::bit(4)", DataType::Text, "bit(4)"),
        ("B'101'::varbit", DataType::Text, "bit varying"),
        (
            "to_tsvector('english', 'a fat cat')",
            DataType::Text,
            "tsvector",
        ),
        ("point '(1.5,2)'", DataType::Text, "point"),
        ("polygon '((0,0),(1,1),(1,0))'", DataType::Text, "polygon"),
        ("ROW(1, 'x y')::types.pair", DataType::Text, "types.pair"),
        ("ROW(1, 'x')", DataType::Text, "record"),
        (
            "'a=>1, b=>NULL'::public.hstore",
            DataType::Text,
            "public.hstore",
        ),
        ("'pg_class'::regclass", DataType::Text, "regclass"),
        ("'0/16B3748'::pg_lsn", DataType::Text, "pg_lsn"),
    ] {
        let (columns, rows) = query(&mut postgres, &format!("SELECT {expression} AS v")).unwrap();
        // psql knows the operators of extensions by the search path, which the connector's session does not have.
        let expected = Server::shared().psql(&format!("SELECT {expression}"));
        assert_eq!(shown(&rows[0][0]), expected, "{expression}");
        assert_eq!(
            (columns[0].data_type, columns[0].native_type.as_str()),
            (data_type, native_type),
            "{expression}"
        );
        assert_eq!(columns[0].name, "v");
    }
}

#[test]
fn arrays_are_json() {
    prepare();
    let mut postgres = connect();
    for (expression, native_type, expected) in [
        ("'{}'::int[]", "integer[]", "[]"),
        ("ARRAY[1, NULL, -3]", "integer[]", "[1,null,-3]"),
        ("ARRAY[[1,2],[3,4]]", "integer[]", "[[1,2],[3,4]]"),
        ("'[2:3]={1,2}'::int[]", "integer[]", "[1,2]"),
        (
            "ARRAY[9007199254740993]",
            "bigint[]",
            r#"["9007199254740993"]"#,
        ),
        ("ARRAY[0.1, 'NaN']::float4[]", "real[]", r#"[0.1,"NaN"]"#),
        (
            "ARRAY[1.50, NULL]::numeric(5,2)[]",
            "numeric(5,2)[]",
            r#"["1.50",null]"#,
        ),
        (
            "ARRAY['a,b', 'c\"d\\e', 'NULL', NULL, '', 'Ü']",
            "text[]",
            r#"["a,b","c\"d\\e","NULL",null,"","Ü"]"#,
        ),
        ("ARRAY[true, false]", "boolean[]", "[true,false]"),
        ("ARRAY['{\"a\": 1}']::jsonb[]", "jsonb[]", r#"[{"a": 1}]"#),
        ("ARRAY['\\x00ff']::bytea[]", "bytea[]", r#"["AP8="]"#),
        ("ARRAY[date '2024-01-02']", "date[]", r#"["2024-01-02"]"#),
        (
            "ARRAY[timestamptz '2024-01-02 03:04:05Z']",
            "timestamp with time zone[]",
            r#"["2024-01-02T03:04:05Z"]"#,
        ),
        (
            "ARRAY['sad', 'happy, \"very\"']::types.mood[]",
            "types.mood[]",
            r#"["sad","happy, \"very\""]"#,
        ),
        ("ARRAY[1,2]::types.smaller[]", "types.smaller[]", "[1,2]"),
        (
            "ARRAY[ROW(1,'x')::types.pair]",
            "types.pair[]",
            r#"["(1,x)"]"#,
        ),
        (
            "ARRAY[box '((0,0),(1,1))', box '((2,2),(3,3))']",
            "box[]",
            r#"["(1,1),(0,0)","(3,3),(2,2)"]"#,
        ),
    ] {
        let (columns, rows) = query(&mut postgres, &format!("SELECT {expression}")).unwrap();
        assert_eq!(rows, [[Value::Json(expected.into())]], "{expression}");
        assert_eq!(columns[0].native_type, native_type);
    }
}

#[test]
fn null_is_null_in_every_type() {
    prepare();
    let types = [
        "bool",
        "int",
        "float8",
        "numeric",
        "text",
        "bytea",
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "json",
        "int[]",
        "types.mood",
        "types.mood[]",
        "types.pair",
        "interval",
    ];
    let list: Vec<String> = types.iter().map(|name| format!("NULL::{name}")).collect();
    let (columns, rows) = query(&mut connect(), &format!("SELECT {}", list.join(","))).unwrap();
    assert_eq!(columns.len(), types.len());
    assert!(rows[0].iter().all(|value| *value == Value::Null));
}

/// Large answers come in the binary format where that is cheaper for the server; nobody should see that.
#[test]
fn large_answers_hold_the_same_values_as_small_ones() {
    let mut postgres = connect();
    for expression in [
        "true",
        "'-32768'::int2",
        "-2147483648",
        "'-9223372036854775808'::int8",
        "4294967295::oid",
        "0.1::float4",
        "0.1::float8",
        "'NaN'::float8 = 'NaN'",
        "'-Infinity'::float8",
        "'\\x00ff10'::bytea",
        "''::bytea",
        "date '2024-02-29'",
        "date '0001-01-01'",
        "date '9999-12-31'",
        "date '10000-01-01'",
        "date 'infinity'",
        "date '-infinity'",
        "date '0044-03-15 BC'",
        "date '4713-01-01 BC'",
        "time '23:59:59.999999'",
        "time '24:00'",
        "timestamp '1969-12-31 23:59:59.123456'",
        "timestamp '9999-12-31 23:59:59.999999'",
        "timestamp '-infinity'",
        "timestamp '294276-12-31 23:59:59.5'",
        "timestamp '4713-01-01 00:00:00 BC'",
        "timestamptz '2024-02-29 12:00:00+05:30'",
        "timestamptz 'infinity'",
        "timestamptz '0044-03-15 10:00:00Z BC'",
        "NULL::timestamp",
    ] {
        let (_, small) = query(&mut postgres, &format!("SELECT {expression} AS v")).unwrap();
        // The dates make the answer one that is worth the other format.
        let sql =
            format!("SELECT {expression} AS v, date '2024-01-01' FROM generate_series(1, 3000)");
        let (_, large) = query(&mut postgres, &sql).unwrap();
        assert_eq!(large.len(), 3000);
        assert!(
            large.iter().all(|row| row[0] == small[0][0]),
            "{expression}: {:?}",
            large[0]
        );
    }
}

/// Only the batch with the infinity travels as rows.
#[test]
fn a_value_that_a_type_cannot_hold_makes_its_batch_rows() {
    let mut postgres = connect();
    let sql =
        "SELECT i, CASE WHEN i = 1500 THEN date 'infinity' ELSE date '2024-01-01' + i END AS d
        FROM generate_series(1, 3000) i";
    let mut cursor = postgres.query(&Statement::new(sql)).unwrap();
    let columns = postgres.schema(&mut cursor).unwrap();
    let (mut forms, mut rows) = (Vec::new(), Vec::new());
    let limits = mindhost_sdk::BatchLimits {
        max_rows: 1000,
        ..LIMITS
    };
    while let Some(batch) = postgres.next(&mut cursor, limits).unwrap() {
        forms.push(matches!(batch, Batch::Arrow(_)));
        rows.extend(testing::rows(&batch, &columns).unwrap());
    }
    assert!(postgres.close(cursor).unwrap());
    assert_eq!(forms, [true, false, true]);
    assert_eq!(rows.len(), 3000);
    assert_eq!(
        rows[1499],
        [Value::Int64(1500), Value::Other("infinity".into())]
    );
    assert_eq!(rows[1500], [Value::Int64(1501), Value::Date(19_723 + 1501)]);
}

/// A type of the users' own is looked up while the first rows are on their way; none may be lost.
#[test]
fn unknown_types_are_looked_up_beside_the_rows() {
    prepare();
    let sql = "SELECT i, ARRAY['sad']::types.mood[] AS moods FROM generate_series(1, 5000) i";
    let (columns, rows) = query(&mut connect(), sql).unwrap();
    assert_eq!(columns[1].data_type, DataType::Json);
    assert!(
        rows.iter()
            .enumerate()
            .all(|(index, row)| row[0] == Value::Int64(index as i64 + 1))
    );
    assert_eq!(rows.len(), 5000);
}

#[test]
fn a_snapshot_may_meet_unknown_types_more_than_once() {
    prepare();
    let mut postgres = connect();
    assert!(postgres.begin_snapshot(Duration::from_secs(60)).unwrap());
    for name in ["mood", "pair", "span"] {
        let sql = format!("SELECT NULL::types.{name} AS value");
        let (columns, rows) = query(&mut postgres, &sql).unwrap();
        assert_eq!(columns[0].native_type, format!("types.{name}"));
        assert_eq!(rows, [[Value::Null]]);
    }
    postgres.end_snapshot().unwrap();
}

/// The first portion, 40 MB, is more than waits in memory while a type is looked up.
#[test]
fn unknown_types_beside_wide_rows_are_looked_up_too() {
    prepare();
    let sql = "SELECT i, ARRAY['sad']::types.mood[] AS moods, repeat('x', 41000) AS body FROM generate_series(1, 1200) i";
    for snapshot in [false, true] {
        let mut postgres = connect();
        if snapshot {
            assert!(postgres.begin_snapshot(Duration::from_secs(60)).unwrap());
        }
        let (columns, rows) = query(&mut postgres, sql).unwrap();
        assert_eq!(columns[1].data_type, DataType::Json);
        assert_eq!(rows.len(), 1200);
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(row[0], Value::Int64(index as i64 + 1));
            assert_eq!(row[1], rows[0][1]);
        }
        postgres.end_snapshot().unwrap();
        assert_eq!(query(&mut postgres, "SELECT 1").unwrap().1.len(), 1);
    }
}

/// The rows of the table in the README: the types, and what they become.
#[test]
fn readme_lists_what_types_become() {
    prepare();
    let mut postgres = connect();
    let readme = include_str!("../README.md");
    let section = readme.split("## Types").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let mut seen = 0;
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = line.trim_matches('|').split(" | ");
        let (types, becomes) = (cells.next().unwrap(), cells.next().unwrap().trim());
        let types: Vec<&str> = types.split('`').skip(1).step_by(2).collect();
        let becomes: Vec<&str> = becomes.split(", ").collect();
        for (index, kind) in types.iter().enumerate() {
            // The path of a session has no schema of extensions.
            let schema = if *kind == "citext" { "public." } else { "" };
            let sql = format!("SELECT NULL::{schema}{kind} AS value");
            let (columns, _) = query(&mut postgres, &sql).unwrap();
            let expected = becomes[index.min(becomes.len() - 1)];
            assert_eq!(columns[0].data_type.name(), expected, "{kind}");
            seen += 1;
        }
    }
    assert!(seen >= 30, "{seen} types");
}
