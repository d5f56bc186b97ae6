//! A connector for tests: its tables lie in its configuration, and its engine knows no `LIMIT`.
//!
//! It understands as much SQL as the tests of in-memory paging need: which table a statement names, and whether it
//! counts. A statement with `LIMIT` or `OFFSET` is an error, so a page that comes out right was cut by the host.

#![allow(clippy::panic, reason = "a version that fails does so by panicking")]

use std::collections::BTreeMap;

use mindhost_sdk::{
    Batch, BatchLimits, Column, Config, Connector, DataType, Error, ErrorKind, Result, ServerInfo,
    Statement, Table, TableColumn, TableRef, Value,
};
use serde::Deserialize;

const SCHEMA: &str = "main";

/// A test that wants a version to misbehave changes these bytes in the component: how many of a hundred statements trap,
/// how many milliseconds each takes, how many of a hundred connections are refused, and whether values are wrong.
static BEHAVIOUR: [u8; 40] = *b"trap=000 slow=000 refuse=000 wrong=000  ";

/// The three digits behind a word of [`BEHAVIOUR`].
fn behaviour(word: &str) -> u64 {
    let text = std::hint::black_box(&BEHAVIOUR);
    let text = std::str::from_utf8(text).unwrap_or_default();
    let part = text
        .split_whitespace()
        .find_map(|part| part.strip_prefix(word));
    part.and_then(|digits| digits.strip_prefix('=')?.parse().ok())
        .unwrap_or(0)
}

/// True for so many of a hundred calls.
fn strikes(percent: u64) -> bool {
    #[cfg(target_family = "wasm")]
    let drawn = wasip2::random::random::get_random_u64() % 100;
    #[cfg(not(target_family = "wasm"))]
    let drawn = 100;
    drawn < percent
}

#[derive(Deserialize)]
struct Settings {
    #[serde(default)]
    rows: i64,
    #[serde(default)]
    tables: BTreeMap<String, Given>,
}

#[derive(Clone, Deserialize)]
struct Given {
    columns: Vec<String>,
    rows: Vec<Vec<serde_json::Value>>,
}

/// The "connection".
pub struct Memory(Settings);

/// The rows of one statement, and how far they were read.
pub struct Rows {
    columns: Vec<Column>,
    source: Source,
    at: i64,
}

enum Source {
    Numbers(i64),
    Given(Vec<Vec<serde_json::Value>>),
    Count(i64),
}

impl Memory {
    fn columns(&self, table: &str) -> Option<Vec<String>> {
        match self.0.tables.get(table) {
            Some(given) => Some(given.columns.clone()),
            None if table == "numbers" => Some(vec!["n".into(), "name".into()]),
            None => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        let given = self.0.tables.keys().map(String::as_str);
        std::iter::once("numbers").chain(given).collect()
    }
}

impl Connector for Memory {
    const MANIFEST: &'static str = include_str!("../manifest.json");
    type Cursor = Rows;

    fn open(config: &Config) -> Result<Self> {
        if strikes(behaviour("refuse")) {
            return Err(Error::new(
                ErrorKind::Upstream,
                "this version opens nothing",
            ));
        }
        Ok(Self(config.parse()?))
    }

    fn check(&mut self) -> Result<ServerInfo> {
        Ok(ServerInfo::new("Memory", "1"))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        let names = self.names().into_iter();
        Ok(names.map(|name| TableRef::new(SCHEMA, name)).collect())
    }

    fn describe_tables(&mut self, tables: &[TableRef]) -> Result<Vec<Table>> {
        let known = tables.iter().filter_map(|table| {
            let columns = self.columns(&table.name)?;
            let mut described = Table::new(table.clone(), "TABLE");
            described.columns = (1..)
                .zip(columns)
                .map(|(ordinal, name)| {
                    let native = if name == "n" { "integer" } else { "text" };
                    TableColumn::new(name, ordinal, native)
                })
                .collect();
            Some(described)
        });
        Ok(known.collect())
    }

    fn query(&mut self, statement: &Statement) -> Result<Rows> {
        let text = statement.text.to_ascii_lowercase();
        if strikes(behaviour("trap")) {
            std::process::abort();
        }
        let slow = behaviour("slow");
        if slow > 0 {
            std::thread::sleep(std::time::Duration::from_millis(slow));
        }
        for word in ["limit", "offset", "fetch"] {
            if text
                .split(|c: char| !c.is_ascii_alphanumeric())
                .any(|one| one == word)
            {
                return Err(Error::invalid_statement(format!(
                    "this engine knows no {word}"
                )));
            }
        }
        let table = self
            .names()
            .into_iter()
            .find(|name| text.contains(*name))
            .ok_or_else(|| Error::invalid_statement("no table of this engine is named"))?
            .to_owned();
        let (source, length) = match self.0.tables.get(&table) {
            Some(given) => (Source::Given(given.rows.clone()), given.rows.len() as i64),
            None => (Source::Numbers(self.0.rows), self.0.rows),
        };
        if text.contains("count(") {
            return Ok(Rows {
                columns: vec![Column::new("count", DataType::Int64)],
                source: Source::Count(length),
                at: 0,
            });
        }
        let columns = self.columns(&table).unwrap_or_default();
        let data_type = |name: &str| match (name, &source) {
            ("n", Source::Numbers(_)) => DataType::Int64,
            (_, Source::Numbers(_)) => DataType::Text,
            _ => DataType::Any,
        };
        Ok(Rows {
            columns: columns
                .iter()
                .map(|name| Column::new(name, data_type(name)))
                .collect(),
            source,
            at: 0,
        })
    }

    fn schema(&mut self, rows: &mut Rows) -> Result<Vec<Column>> {
        Ok(rows.columns.clone())
    }

    fn next(&mut self, rows: &mut Rows, limits: BatchLimits) -> Result<Option<Batch>> {
        let mut batch = Vec::new();
        while batch.len() < limits.max_rows as usize {
            let Some(row) = rows.source.row(rows.at) else {
                break;
            };
            batch.push(row);
            rows.at += 1;
        }
        Ok((!batch.is_empty()).then_some(Batch::Rows(batch)))
    }

    fn close(&mut self, _: Rows) -> Result<bool> {
        Ok(true)
    }
}

impl Source {
    fn row(&self, at: i64) -> Option<Vec<Value>> {
        match self {
            Source::Numbers(rows) => {
                let number = at + i64::from(behaviour("wrong") > 0);
                (at < *rows)
                    .then(|| vec![Value::Int64(number), Value::Text(format!("number {at}"))])
            }
            Source::Given(rows) => {
                let row = rows.get(usize::try_from(at).ok()?)?;
                Some(row.iter().map(value).collect())
            }
            Source::Count(count) => (at == 0).then(|| vec![Value::Int64(*count)]),
        }
    }
}

fn value(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Boolean(*value),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Value::Int64(integer),
            (None, Some(float)) => Value::Float64(float),
            (None, None) => Value::Null,
        },
        serde_json::Value::String(text) => Value::Text(text.clone()),
        nested => Value::Json(nested.to_string()),
    }
}

mindhost_sdk::export_connector!(Memory);
