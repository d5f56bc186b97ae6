//! TPC-H in Trino's catalog `tpch` against the answers of DuckDB, and where the data differ, of Trino itself.
//!
//! The catalog names columns without the prefixes of the specification, so views with the usual names stand between.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::host::Host;
use crate::programs::{built, target};
use crate::trino::Trino;

/// Tables, with the prefix of their columns.
const TABLES: [(&str, &str); 8] = [
    ("customer", "c"),
    ("lineitem", "l"),
    ("nation", "n"),
    ("orders", "o"),
    ("part", "p"),
    ("partsupp", "ps"),
    ("region", "r"),
    ("supplier", "s"),
];

/// Queries whose answers have, or count by, addresses and comments: Trino makes up other ones than DuckDB. They are
/// compared with what Trino says without the host.
const OF_TEXTS: [&str; 5] = ["2", "10", "13", "15", "20"];

const HEADERS: [&str; 3] = [
    "X-Trino-User: app",
    "X-Trino-Catalog: memory",
    "X-Trino-Schema: spec",
];

/// Makes DuckDB's data and answers, which takes a few seconds.
pub fn made() -> PathBuf {
    let folder = target().join("tpch/0.01");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/tpch/make.py");
    let made = Command::new(built("duckdb/bin/python"))
        .arg(script)
        .arg("0.01")
        .arg(&folder)
        .status();
    assert!(made.unwrap().success());
    folder
}

/// Views of `tpch.tiny` with the names of the specification, in the schema `memory.spec`.
fn views(trino: &Trino) {
    trino.rows("CREATE SCHEMA IF NOT EXISTS memory.spec");
    for (table, prefix) in TABLES {
        let columns = trino.rows(&format!(
            "SELECT column_name FROM tpch.information_schema.columns \
             WHERE table_schema = 'tiny' AND table_name = '{table}' ORDER BY ordinal_position"
        ));
        let columns: Vec<_> = columns
            .iter()
            .map(|row| row[0].as_str().unwrap())
            .map(|name| format!("{name} AS {prefix}_{name}"))
            .collect();
        trino.rows(&format!(
            "CREATE OR REPLACE VIEW memory.spec.{table} AS SELECT {} FROM tpch.tiny.{table}",
            columns.join(", ")
        ));
    }
}

/// What DuckDB writes otherwise: Trino casts no text to a date so, and groups by no alias.
pub fn adapted(sql: &str) -> String {
    sql.replace("CAST('", "DATE('")
        .replace("' AS date)", "')")
        .replace("GROUP BY\n        supplier_no", "GROUP BY l_suppkey")
}

/// A cell as a number, if it is one.
fn number(cell: &Value) -> Option<f64> {
    cell.as_f64().or_else(|| cell.as_str()?.parse().ok())
}

/// Equal but for the last digits of divisions, which each engine cuts elsewhere, and blanks at the end.
pub fn are_equal(a: &Value, b: &Value) -> bool {
    match (number(a), number(b)) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-2 * a.abs().clamp(1.0, 1e4),
        _ => match (a.as_str(), b.as_str()) {
            (Some(a), Some(b)) => a.trim_end() == b.trim_end(),
            _ => a == b,
        },
    }
}

#[test]
fn every_query_gives_the_answer_of_duckdb() {
    let answers = fs::read(made().join("answers.json")).unwrap();
    let answers: Value = serde_json::from_slice(&answers).unwrap();
    let trino = Trino::shared();
    views(trino);
    let host = Host::over(trino, "memory", &["spec"]);
    let mut wrong = Vec::new();
    for (query, answer) in answers.as_object().unwrap() {
        let sql = adapted(answer["sql"].as_str().unwrap());
        let result = host.query("m", &sql);
        let found = result["data"].as_array().unwrap();
        let expected = match OF_TEXTS.contains(&query.as_str()) {
            true => &trino.rows_with(sql.trim_end().trim_end_matches(';'), &HEADERS),
            false => answer["rows"].as_array().unwrap(),
        };
        let differs = found.iter().zip(expected).find(|(a, b)| {
            let cells = a.as_array().unwrap().iter().zip(b.as_array().unwrap());
            cells.clone().any(|(a, b)| !are_equal(a, b))
        });
        if result["total"] != json!(expected.len()) || differs.is_some() {
            wrong.push(format!(
                "Q{query}: {} for {} rows: {differs:?}",
                found.len(),
                expected.len()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
