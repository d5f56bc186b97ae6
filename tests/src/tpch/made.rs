//! The data and DuckDB's answers, as `tests/tpch/make.py` makes them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use crate::build::target_dir;
use serde_json::Value;

/// Made once for each scale, which takes a few seconds.
pub static MADE: LazyLock<Made> = LazyLock::new(made);

/// The data and the answers.
pub struct Made {
    /// `<table>.csv` and `<table>.parquet` of each table.
    pub folder: PathBuf,
    /// All 22, in order.
    pub queries: Vec<Query>,
}

/// A query with DuckDB's answer.
pub struct Query {
    /// From 1 to 22.
    pub number: u32,
    /// The text, for DuckDB.
    pub sql: String,
    /// DuckDB's types of the columns.
    pub types: Vec<String>,
    /// Dates and decimals are texts.
    pub rows: Vec<Value>,
    /// Rows that the best plans move, with the tables in two and in three datasources.
    pub moved: Value,
}

/// The scale factor: 1 is about 1 GB.
pub fn scale() -> String {
    std::env::var("TPCH_SCALE").unwrap_or_else(|_| String::from("0.01"))
}

fn made() -> Made {
    let python = target_dir().join("duckdb/bin/python");
    assert!(
        python.exists(),
        "DuckDB is not installed; `just setup` installs it"
    );
    let folder = target_dir().join("tpch").join(scale());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tpch/make.py");
    let status = Command::new(python)
        .arg(script)
        .arg(scale())
        .arg(&folder)
        .status();
    assert!(status.unwrap().success());
    let answers = fs::read(folder.join("answers.json")).unwrap();
    let answers: Value = serde_json::from_slice(&answers).unwrap();
    let queries: Vec<Query> = (1..=22)
        .map(|number| query(number, &answers[number.to_string()]))
        .collect();
    Made { folder, queries }
}

fn query(number: u32, answer: &Value) -> Query {
    Query {
        number,
        sql: answer["sql"].as_str().unwrap().to_owned(),
        types: serde_json::from_value(answer["types"].clone()).unwrap(),
        rows: answer["rows"].as_array().unwrap().clone(),
        moved: answer["moved"].clone(),
    }
}
