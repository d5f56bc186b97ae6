//! Every type, compared with what the server's own client prints; and the table of the README, made of them.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests")]

mod support;

use mindhost_sdk::{Batch, Connector, DataType, ErrorKind, Statement, Value, testing};
use support::{LIMITS, Server, connect, query};

/// The declaration of a column, a value for it, what it becomes, and the name of its type in an answer.
const TYPES: [(&str, &str, DataType, &str); 48] = [
    ("boolean", "true", DataType::Boolean, "tinyint(1)"),
    ("tinyint(1)", "0", DataType::Boolean, "tinyint(1)"),
    ("tinyint", "-128", DataType::Int64, "tinyint"),
    (
        "tinyint unsigned",
        "255",
        DataType::Int64,
        "tinyint unsigned",
    ),
    ("smallint", "-32768", DataType::Int64, "smallint"),
    (
        "mediumint unsigned",
        "16777215",
        DataType::Int64,
        "mediumint unsigned",
    ),
    ("int", "-2147483648", DataType::Int64, "int"),
    ("int(8) zerofill", "42", DataType::Int64, "int unsigned"),
    ("bigint", "-9223372036854775808", DataType::Int64, "bigint"),
    (
        "bigint unsigned",
        "18446744073709551615",
        DataType::Uint64,
        "bigint unsigned",
    ),
    ("bit(1)", "b'1'", DataType::Boolean, "bit(1)"),
    ("bit(12)", "b'101010101010'", DataType::Uint64, "bit(12)"),
    ("bit(64)", "~0", DataType::Uint64, "bit(64)"),
    (
        "decimal(12,2)",
        "-1234567890.50",
        DataType::Decimal,
        "decimal(12,2)",
    ),
    (
        "decimal(65,30) unsigned",
        "12345678901234567890.000000000000000000000000000001",
        DataType::Decimal,
        "decimal(65,30) unsigned",
    ),
    (
        "decimal(20,0)",
        "12345678901234567890",
        DataType::Decimal,
        "decimal(20,0)",
    ),
    (
        "decimal(10,2) zerofill",
        "2.25",
        DataType::Decimal,
        "decimal(10,2) unsigned",
    ),
    ("float", "0.1", DataType::Float64, "float"),
    ("double", "1e308", DataType::Float64, "double"),
    ("double", "0.1", DataType::Float64, "double"),
    ("year", "2024", DataType::Int64, "year"),
    ("date", "'2024-02-29'", DataType::Date, "date"),
    ("date", "'0000-00-00'", DataType::Date, "date"),
    ("date", "'2024-00-10'", DataType::Date, "date"),
    (
        "datetime",
        "'9999-12-31 23:59:59'",
        DataType::Timestamp,
        "datetime",
    ),
    (
        "datetime(6)",
        "'1000-01-01 00:00:00.000001'",
        DataType::Timestamp,
        "datetime",
    ),
    (
        "datetime",
        "'0000-00-00 00:00:00'",
        DataType::Timestamp,
        "datetime",
    ),
    (
        "timestamp(3)",
        "'2024-02-29 12:00:00.123'",
        DataType::TimestampUtc,
        "timestamp",
    ),
    ("time(2)", "'23:59:59.99'", DataType::Time, "time"),
    ("time", "'838:59:59'", DataType::Time, "time"),
    ("time", "'-00:00:01'", DataType::Time, "time"),
    ("char(4)", "'ab'", DataType::Text, "char(4)"),
    ("varchar(20)", "'Grüße 🐘'", DataType::Text, "varchar(20)"),
    (
        "varchar(20) CHARACTER SET latin1",
        "'Grüße'",
        DataType::Text,
        "varchar(20)",
    ),
    ("tinytext", "''", DataType::Text, "text"),
    ("longtext", "'long'", DataType::Text, "text"),
    (
        "enum('sad','it''s ok')",
        "'it''s ok'",
        DataType::Text,
        "enum",
    ),
    ("set('a','b','c')", "'a,c'", DataType::Text, "set"),
    ("json", "'{\"a\": [1, 2.50]}'", DataType::Json, "json"),
    ("binary(3)", "X'00FF10'", DataType::Bytes, "binary(3)"),
    ("varbinary(8)", "X'2700'", DataType::Bytes, "varbinary(8)"),
    ("blob", "X'0102'", DataType::Bytes, "blob"),
    (
        "uuid",
        "'123e4567-e89b-12d3-a456-426655440000'",
        DataType::Text,
        "uuid",
    ),
    ("inet6", "'2001:db8::1'", DataType::Text, "inet6"),
    (
        "geometry",
        "ST_GeomFromText('LINESTRING(0 0,1.5 -2)')",
        DataType::Text,
        "geometry",
    ),
    (
        "point",
        "ST_GeomFromText('POINT(1 2)')",
        DataType::Text,
        "point",
    ),
    (
        "polygon",
        "ST_GeomFromText('POLYGON((0 0,4 0,4 4,0 0),(1 1,2 1,2 2,1 1))')",
        DataType::Text,
        "polygon",
    ),
    (
        "geometrycollection",
        "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1))')",
        DataType::Text,
        "geometrycollection",
    ),
];

/// Makes a table with one column of each type and one row, and a second row of NULLs.
fn prepare() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let (mut columns, mut values, mut nulls) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (declaration, value, ..)) in TYPES.iter().enumerate() {
            columns.push(format!("c{index} {declaration} NULL"));
            values.push(*value);
            nulls.push("NULL");
        }
        Server::shared().sql(&format!(
            "SET sql_mode = ''; CREATE TABLE shop.types (n int PRIMARY KEY AUTO_INCREMENT, {});
            INSERT INTO shop.types VALUES (1, {}), (2, {})",
            columns.join(", "),
            values.join(", "),
            nulls.join(", "),
        ));
    });
}

/// What the client is to print for a column: what it can print, as text.
fn printable(index: usize) -> String {
    let (declaration, ..) = TYPES[index];
    match declaration {
        _ if declaration.starts_with("bit") => format!("c{index} + 0"),
        "binary(3)" | "varbinary(8)" | "blob" => format!("HEX(c{index})"),
        "geometry" | "point" | "polygon" | "geometrycollection" => format!("ST_AsText(c{index})"),
        _ => format!("c{index}"),
    }
}

/// The value's text by the server's own arithmetic, so that nothing of the connector's is used to check it.
fn shown(value: &Value) -> String {
    let sql = |sql: String| Server::shared().sql(&format!("SET sql_mode = ''; SELECT {sql}"));
    match value {
        Value::Null => "NULL".into(),
        Value::Boolean(value) => u8::from(*value).to_string(),
        Value::Int64(value) => value.to_string(),
        Value::Uint64(value) => value.to_string(),
        Value::Float64(value) => sql(format!("{value:e}")),
        Value::Decimal(text) | Value::Text(text) | Value::Other(text) | Value::Json(text) => {
            text.clone()
        }
        Value::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02X}")).collect(),
        Value::Date(days) => sql(format!("DATE '1970-01-01' + INTERVAL {days} DAY")),
        Value::Time(micros) => sql(format!("SEC_TO_TIME({micros} / 1000000)")),
        Value::Timestamp(micros) | Value::TimestampUtc(micros) => sql(format!(
            "TIMESTAMP '1970-01-01 00:00:00.000000' + INTERVAL {micros} MICROSECOND"
        )),
    }
}

/// The server's arithmetic writes more zeros, or none.
fn trimmed(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

#[test]
fn every_type_is_what_the_client_prints() {
    prepare();
    let mut mysql = connect();
    for (index, (declaration, _, data_type, native)) in TYPES.iter().enumerate() {
        let sql = format!("SELECT c{index} FROM shop.types ORDER BY n");
        let (columns, rows) = query(&mut mysql, &sql).unwrap();
        assert_eq!(columns[0].data_type, *data_type, "{declaration}");
        assert_eq!(columns[0].native_type, *native, "{declaration}");
        let client = format!("SELECT {} FROM shop.types WHERE n = 1", printable(index));
        let printed = Server::shared().sql(&client);
        let (shown, printed) = match &rows[0][0] {
            // The width of `zerofill`, and digits of a double, are matters of display.
            Value::Int64(_) | Value::Decimal(_) if declaration.ends_with("zerofill") => (
                shown(&rows[0][0]),
                printed.trim_start_matches('0').to_owned(),
            ),
            value @ (Value::Decimal(_) | Value::Text(_)) => (shown(value), printed),
            value => (
                trimmed(&shown(value)).to_owned(),
                trimmed(&printed).to_owned(),
            ),
        };
        assert!(
            shown == printed || shown == "0" && printed.is_empty(),
            "{declaration}: {shown} {printed}"
        );
        assert_eq!(rows[1][0], Value::Null, "{declaration}");
    }
}

/// The table of the README is the one that these types make.
#[test]
fn the_readme_lists_these_types() {
    let mut table = String::from("| declared as | becomes | `native_type` |\n|---|---|---|\n");
    for (declaration, _, data_type, native) in TYPES {
        let becomes = format!("{data_type:?}").to_lowercase();
        let becomes = becomes
            .rsplit("::")
            .next()
            .unwrap()
            .replace("timestamputc", "timestamp-utc");
        let line = format!("| `{declaration}` | {becomes} | `{native}` |\n");
        // Some types have a second value here.
        if !table.contains(&line) {
            table.push_str(&line);
        }
    }
    let readme = include_str!("../README.md");
    assert!(
        readme.contains(&table),
        "the README needs this table:\n{table}"
    );
}

#[test]
fn a_value_that_a_type_cannot_hold_makes_its_batch_rows() {
    prepare();
    Server::shared().sql(
        "SET sql_mode = ''; CREATE TABLE shop.odd (flag tinyint(1), day date, took time);
        INSERT INTO shop.odd VALUES (5, '0000-00-00', '25:00:00'), (1, '2024-01-01', '01:00:00')",
    );
    let mut mysql = connect();
    let mut cursor = mysql
        .query(&Statement::new("SELECT * FROM shop.odd"))
        .unwrap();
    let columns = mysql.schema(&mut cursor).unwrap();
    let batch = mysql.next(&mut cursor, LIMITS).unwrap().unwrap();
    assert!(matches!(batch, Batch::Rows(_)));
    let rows = testing::rows(&batch, &columns).unwrap();
    let other = |text: &str| Value::Other(text.into());
    assert_eq!(
        rows[0],
        [Value::Int64(5), other("0000-00-00"), other("25:00:00")]
    );
    assert_eq!(
        rows[1],
        [
            Value::Boolean(true),
            Value::Date(19_723),
            Value::Time(3_600_000_000)
        ]
    );
    mysql.close(cursor).unwrap();
}

/// MariaDB sends computed bits as digits or as bytes, and does not say which.
#[test]
fn computed_bits_are_the_numbers_that_the_client_prints() {
    Server::shared().sql(
        "CREATE TABLE shop.bits (
            n int PRIMARY KEY, g int, b1 bit(1), b8 bit(8), b12 bit(12), b16 bit(16), b64 bit(64)
        );
        INSERT INTO shop.bits VALUES (1, 1, 0, 5, 5, 12, ~0), (2, 1, 1, 0, 0, 12592, 7),
            (3, 2, 1, 53, 4095, 1, 12345678), (4, 2, NULL, NULL, NULL, NULL, NULL)",
    );
    let mut mysql = connect();
    let mut refused = Vec::new();
    for column in ["b1", "b8", "b12", "b16", "b64"] {
        for (expression, behind) in [
            ("?", "ORDER BY n"),
            ("max(?)", ""),
            ("min(?)", "GROUP BY g ORDER BY g"),
            ("coalesce(?, ?)", "ORDER BY n"),
            ("if(n > 1, ?, ?)", "ORDER BY n"),
            ("nullif(?, 3)", "ORDER BY n"),
            ("CASE n WHEN 1 THEN ? END", "ORDER BY n"),
            ("(SELECT max(?) FROM shop.bits)", "ORDER BY n"),
            ("max(?) OVER ()", "ORDER BY n"),
            ("first_value(?) OVER (ORDER BY n)", "ORDER BY n"),
        ] {
            let expression = expression.replace('?', column);
            let from = format!("FROM shop.bits {behind}");
            let cast = format!("SELECT CAST({expression} AS UNSIGNED) {from}");
            let printed = Server::shared().sql(&cast);
            let all = |rows: &[Vec<Value>]| {
                let shown: Vec<String> = rows.iter().map(|row| shown(&row[0])).collect();
                shown.join("\n")
            };
            let (_, rows) = query(&mut mysql, &cast).unwrap();
            assert_eq!(all(&rows), printed, "{cast}");
            let sql = format!("SELECT {expression} {from}");
            match query(&mut mysql, &sql) {
                Ok((_, rows)) => assert_eq!(all(&rows), printed, "{sql}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::InvalidStatement, "{error}");
                    assert!(error.message().contains("CAST(… AS UNSIGNED)"), "{error}");
                    refused.push((column, expression));
                }
            }
        }
    }
    let is_ambiguous = |column: &str| matches!(column, "b8" | "b16" | "b64");
    assert!(
        refused
            .iter()
            .all(|(column, of)| is_ambiguous(column) && of != column)
    );
    assert!(refused.iter().any(|(_, of)| of == "coalesce(b8, b8)"));
}

#[test]
fn large_answers_hold_the_same_values_as_small_ones() {
    prepare();
    let mut mysql = connect();
    let (_, small) = query(&mut mysql, "SELECT * FROM shop.types WHERE n = 1").unwrap();
    let sql = "SELECT t.* FROM shop.types t JOIN shop.seq_1_to_1000 s WHERE t.n = 1";
    let (_, large) = query(&mut mysql, sql).unwrap();
    assert_eq!(large.len(), 1000);
    assert!(large.iter().all(|row| *row == small[0]));
}

#[test]
fn expressions_have_types_too() {
    let mut mysql = connect();
    for (expression, value) in [
        ("NULL", Value::Null),
        ("1 = 1", Value::Int64(1)),
        ("1 + 1", Value::Int64(2)),
        ("CAST(-1 AS UNSIGNED)", Value::Uint64(u64::MAX)),
        ("1 / 3", Value::Decimal("0.3333".into())),
        ("SQRT(4)", Value::Float64(2.0)),
        ("'it''s \\'\\n'", Value::Text("it's '\n".into())),
        ("X'00ff'", Value::Bytes(vec![0, 255])),
        ("DATE '2024-01-01'", Value::Date(19_723)),
        (
            "TIMESTAMP '2024-01-01 00:00:01'",
            Value::Timestamp(1_704_067_201_000_000),
        ),
        ("MAKETIME(1, 0, 0)", Value::Time(3_600_000_000)),
        ("_latin1 X'E9'", Value::Text("é".into())),
    ] {
        let (_, rows) = query(&mut mysql, &format!("SELECT {expression}")).unwrap();
        assert_eq!(rows, [[value]], "{expression}");
    }
}
