//! TPC-H in Trino's catalog `tpch` against the answers of DuckDB, and where the data differ, of Trino itself.
//!
//! The catalog names columns without the prefixes of the specification, so views with the usual names stand between.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::compare::{self, Quotients};
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
/// compared with what Trino says without the host, and are equal cell by cell.
const OF_TEXTS: [&str; 5] = ["2", "10", "13", "15", "20"];

/// Trino gives an average of decimals with the digits of its column, and a quotient with those of the longer operand.
/// The prices of TPC-H have two. It rounds.
pub const QUOTIENTS: Quotients = Quotients {
    least_scale: 2,
    units: 0.5,
};

const HEADERS: [&str; 3] = [
    "X-Trino-User: app",
    "X-Trino-Catalog: memory",
    "X-Trino-Schema: spec",
];

/// DuckDB's data and answers, which take a few seconds to make.
pub fn made() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(make)
}

fn make() -> PathBuf {
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

/// An answer of DuckDB: its rows, and their types.
pub fn answer(of: &Value) -> (Vec<Value>, Vec<String>) {
    let texts = |value: &Value| value.as_str().unwrap().to_owned();
    let types = of["types"].as_array().unwrap().iter().map(texts).collect();
    (of["rows"].as_array().unwrap().clone(), types)
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
        assert_eq!(result["total"], found.len(), "Q{query}");
        let compared = match OF_TEXTS.contains(&query.as_str()) {
            true => {
                let expected = trino.rows_with(sql.trim_end().trim_end_matches(';'), &HEADERS);
                let differs = found
                    .iter()
                    .zip(&expected)
                    .find(|(found, own)| found != own);
                match (found.len() == expected.len(), differs) {
                    (true, None) => Ok(()),
                    (_, differs) => Err(format!("{} rows: {differs:?}", found.len())),
                }
            }
            false => {
                let (expected, types) = self::answer(answer);
                compare::rows_with(found, &expected, &types, QUOTIENTS)
            }
        };
        if let Err(why) = compared {
            wrong.push(format!("Q{query}: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
