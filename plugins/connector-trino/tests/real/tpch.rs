//! TPC-H in Trino's catalog `tpch` against the answers of DuckDB, and where the data differ, of Trino itself.
//!
//! The catalog names columns without the prefixes of the specification, so views with the usual names stand between.
//! `TPCH_SCALE=0.1` makes ten times the data of the usual tests (`just test-trino-tpch`).

use std::time::Instant;

use mindhost_tests::tpch::{MADE, Query, scale};
use serde_json::Value;

use crate::compare::{self, Quotients};
use crate::expected;
use crate::host::Host;
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
const OF_TEXTS: [u32; 5] = [2, 10, 13, 15, 20];

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

/// The schema of the catalog `tpch` with the data of the scale.
fn schema() -> String {
    match scale().as_str() {
        "0.01" => String::from("tiny"),
        scale => format!("sf{scale}"),
    }
}

/// Views of the catalog `tpch` with the names of the specification, in the schema `memory.spec`.
fn views(trino: &Trino) {
    trino.rows("CREATE SCHEMA IF NOT EXISTS memory.spec");
    let schema = schema();
    for (table, prefix) in TABLES {
        // All schemas have the same columns, and not every one of them is listed.
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
            "CREATE OR REPLACE VIEW memory.spec.{table} AS SELECT {} FROM tpch.\"{schema}\".{table}",
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

fn check(trino: &Trino) {
    views(trino);
    let host = Host::over(trino, "memory", &["spec"]);
    let began = Instant::now();
    let wrong: Vec<_> = MADE
        .queries
        .iter()
        .filter_map(|query| {
            let began = Instant::now();
            let compared = compared(trino, &host, query);
            let (number, took) = (query.number, began.elapsed().as_secs_f64());
            println!("Q{number}: {compared:?}, {took:.2} s");
            compared.err().map(|why| format!("Q{number}: {why}"))
        })
        .collect();
    println!("scale {}: {:.0} s", scale(), began.elapsed().as_secs_f64());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn compared(trino: &Trino, host: &Host, query: &Query) -> Result<(), String> {
    let sql = adapted(&query.sql);
    let result = host.query("m", &sql);
    let found = rows(&result);
    assert_eq!(result["total"], found.len(), "Q{}", query.number);
    match OF_TEXTS.contains(&query.number) {
        true => {
            let own = trino.result(sql.trim_end().trim_end_matches(';'), &HEADERS);
            expected::in_order(found, &own)
        }
        false => compare::rows_with(found, &query.rows, &query.types, QUOTIENTS),
    }
}

/// The rows of a result, of which there is one page.
pub fn rows(result: &Value) -> &[Value] {
    result["data"].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn every_query_gives_the_answer_of_duckdb() {
    check(Trino::shared());
}

#[test]
fn every_query_gives_the_answer_of_duckdb_on_a_worker() {
    check(&Trino::with_worker(&[]));
}
