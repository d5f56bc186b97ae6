//! Whether a `query_result` holds the rows that the engine's own client gives.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mindhost_tests::ClickHouse;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};
use tokio_postgres::{Client, SimpleQueryMessage};

/// Rows as text, one form for both sides. Sorted unless the statement orders them.
fn check_rows(statement: &str, mut ours: Vec<Vec<String>>, mut theirs: Vec<Vec<String>>) {
    if !statement.to_uppercase().contains("ORDER BY") {
        ours.sort();
        theirs.sort();
    }
    assert_eq!(ours, theirs, "{statement}");
}

fn check_names<T: AsRef<str>>(statement: &str, result: &Value, theirs: &[T]) {
    let theirs: Vec<&str> = theirs.iter().map(AsRef::as_ref).collect();
    assert_eq!(result["column_names"], json!(theirs), "{statement}");
}

/// Against SQLite itself.
pub fn with_sqlite(direct: &rusqlite::Connection, statement: &str, result: &Value) {
    let kinds = kinds(result);
    let mut prepared = direct.prepare(statement).unwrap();
    check_names(statement, result, &prepared.column_names());
    let mut rows = prepared.query([]).unwrap();
    let mut theirs = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let cells = kinds.iter().enumerate();
        theirs.push(
            cells
                .map(|(column, kind)| sqlite_text(row.get_ref_unwrap(column), kind))
                .collect(),
        );
    }
    check_rows(statement, texts(result), theirs);
}

fn sqlite_text(value: ValueRef<'_>, kind: &str) -> String {
    match value {
        ValueRef::Null => "<null>".into(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => float(number),
        ValueRef::Text(text) => {
            let text = String::from_utf8(text.to_vec()).unwrap();
            match kind {
                "json" => canonical(&serde_json::from_str(&text).unwrap()),
                "timestamp" => text.replace(' ', "T"),
                _ => text,
            }
        }
        ValueRef::Blob(bytes) => STANDARD.encode(bytes),
    }
}

/// Against PostgreSQL's own text output.
pub async fn with_postgres(direct: &Client, statement: &str, result: &Value) {
    let types: Vec<(String, String)> = result["column_types"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| {
            (
                column["type"].as_str().unwrap().into(),
                column["native_type"].as_str().unwrap().into(),
            )
        })
        .collect();
    let mut theirs = Vec::new();
    for message in direct
        .simple_query(statement)
        .await
        .unwrap_or_else(|error| panic!("{statement}: {error:?}"))
    {
        if let SimpleQueryMessage::RowDescription(columns) = &message {
            let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
            check_names(statement, result, &names);
        }
        if let SimpleQueryMessage::Row(row) = message {
            let mut cells = Vec::new();
            for (column, (kind, native)) in types.iter().enumerate() {
                cells.push(match row.get(column) {
                    None => "<null>".into(),
                    Some(text) => postgres_text(direct, text, kind, native).await,
                });
            }
            theirs.push(cells);
        }
    }
    check_rows(statement, texts(result), theirs);
}

/// The text that a cell must have in our answer.
async fn postgres_text(direct: &Client, text: &str, kind: &str, native: &str) -> String {
    match kind {
        "boolean" => if text == "t" { "1" } else { "0" }.into(),
        "float64" => text.parse().map_or_else(|_| text.into(), float),
        "bytes" => {
            let hex = text.strip_prefix("\\x").unwrap();
            let bytes = (0..hex.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
            STANDARD.encode(bytes.collect::<Vec<_>>())
        }
        "time" => micros(text),
        "timestamp" => micros(&text.replace(' ', "T")),
        "timestamp-utc" => micros(&text.replace(' ', "T").replace("+00", "")) + "Z",
        "json" if native.ends_with("[]") => {
            // Exact numbers keep every digit as texts.
            let exact = if native.starts_with("numeric") {
                "::text[]"
            } else {
                ""
            };
            let query = format!("SELECT to_json($1::text::{native}{exact})::text");
            let row = direct.query_one(&query, &[&text]).await.unwrap();
            canonical(&serde_json::from_str(row.get(0)).unwrap())
        }
        "json" => canonical(&serde_json::from_str(text).unwrap()),
        _ => text.to_owned(),
    }
}

/// Against ClickHouse's own JSON, with the settings that the connector sends.
pub async fn with_clickhouse(direct: &ClickHouse, statement: &str, result: &Value) {
    let settings = [
        ("default_format", "JSONCompact"),
        ("database", "shop"),
        ("session_timezone", "UTC"),
        ("date_time_output_format", "iso"),
        ("join_use_nulls", "1"),
        ("union_default_mode", "DISTINCT"),
        ("empty_result_for_aggregation_by_empty_set", "0"),
        ("output_format_decimal_trailing_zeros", "1"),
        ("output_format_json_quote_64bit_integers", "1"),
        ("output_format_json_quote_decimals", "1"),
        ("output_format_json_quote_denormals", "1"),
    ];
    let text = direct
        .ask(statement.trim_end().trim_end_matches(';'), &settings)
        .await;
    let answer: Value = serde_json::from_str(&text).unwrap();
    let plain = |rows: &Value| -> Vec<Vec<String>> {
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| {
            row.as_array()
                .unwrap()
                .iter()
                .map(clickhouse_text)
                .collect()
        })
        .collect()
    };
    let names = answer["meta"].as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|one| one["name"].as_str().unwrap()).collect();
    check_names(statement, result, &names);
    check_rows(statement, plain(&result["data"]), plain(&answer["data"]));
}

/// One form for a value of ours and of ClickHouse's JSON: scalars as texts, without zeros at the end of a second.
fn clickhouse_text(value: &Value) -> String {
    match value {
        Value::Null => "<null>".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), float),
        Value::String(text) => match text.as_str() {
            "nan" => "NaN".into(),
            "inf" => "Infinity".into(),
            "-inf" => "-Infinity".into(),
            text if text.contains('T') && text.ends_with('Z') && text.contains('.') => {
                format!(
                    "{}Z",
                    text.trim_end_matches('Z')
                        .trim_end_matches('0')
                        .trim_end_matches('.')
                )
            }
            text => text.into(),
        },
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(clickhouse_text).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", clickhouse_text(value)));
            let mut fields: Vec<_> = fields.collect();
            fields.sort();
            format!("{{{}}}", fields.join(","))
        }
    }
}

/// Against what MariaDB's own client printed: the names of the columns, which are missing where no row is, and the rows.
pub fn with_mariadb(printed: &str, statement: &str, result: &Value) {
    let kinds = kinds(result);
    // The names are written as they are: one may have several lines.
    let names = &result["column_names"].as_array().unwrap();
    let names: Vec<&str> = names.iter().map(|name| name.as_str().unwrap()).collect();
    let rows = match printed.strip_prefix(&format!("{}\n", names.join("\t"))) {
        Some(rows) => rows,
        None if printed.is_empty() => "",
        None => panic!("{names:?} are not the names of {printed}{statement}"),
    };
    let rows = rows.lines().map(|line| {
        let cells = line.split('\t').zip(&kinds);
        cells.map(|(cell, kind)| mariadb_text(cell, kind)).collect()
    });
    check_rows(statement, texts(result), rows.collect());
}

fn mariadb_text(cell: &str, kind: &str) -> String {
    let text = unescaped(cell);
    match kind {
        _ if cell == "NULL" => "<null>".into(),
        "float64" => text.parse().map_or(text, float),
        "bytes" => {
            let hex = text.strip_prefix("0x").unwrap();
            let bytes = (0..hex.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
            STANDARD.encode(bytes.collect::<Vec<_>>())
        }
        "time" => micros(without_zeros(&text)),
        "timestamp" => micros(without_zeros(&text.replace(' ', "T"))),
        "timestamp-utc" => micros(without_zeros(&text.replace(' ', "T"))) + "Z",
        "json" => canonical(&serde_json::from_str(&text).unwrap()),
        _ => text,
    }
}

/// A whole second, which the client writes with as many zeros as its type has digits.
fn without_zeros(text: &str) -> &str {
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole,
        _ => text,
    }
}

/// The client writes what would end a cell or a row after a backslash.
fn unescaped(cell: &str) -> String {
    let (mut text, mut rest) = (String::new(), cell.chars());
    while let Some(character) = rest.next() {
        text.push(match (character, rest.clone().next()) {
            ('\\', Some(escaped)) => {
                rest.next();
                match escaped {
                    'n' => '\n',
                    't' => '\t',
                    '0' => '\0',
                    other => other,
                }
            }
            _ => character,
        });
    }
    text
}

/// Fractions of a second with six digits, as our answers have them.
fn micros(text: &str) -> String {
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{whole}.{fraction:0<6}"),
        None => text.to_owned(),
    }
}

fn kinds(result: &Value) -> Vec<&str> {
    let columns = result["column_types"].as_array().unwrap().iter();
    columns
        .map(|column| column["type"].as_str().unwrap())
        .collect()
}

fn texts(result: &Value) -> Vec<Vec<String>> {
    let kinds = kinds(result);
    let cell = |(value, kind): (&Value, &&str)| match value {
        Value::Null => "<null>".to_owned(),
        other if *kind == "json" => canonical(other),
        Value::Bool(truth) => u8::from(*truth).to_string(),
        Value::Number(number) if number.is_f64() => float(number.as_f64().unwrap()),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let rows = result["data"].as_array().unwrap().iter();
    rows.map(|row| {
        let cells = row.as_array().unwrap().iter().zip(&kinds);
        cells.map(cell).collect()
    })
    .collect()
}

/// Numbers without their form, so that 1 and 1.0 are the same.
fn float(number: f64) -> String {
    format!("{number}")
}

/// JSON without its form: keys sorted, numbers as texts.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", canonical(value)))
                .collect();
            fields.sort();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(canonical).collect::<Vec<_>>().join(",")
        ),
        Value::String(text) => format!("{text:?}"),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), float),
        other => other.to_string(),
    }
}
