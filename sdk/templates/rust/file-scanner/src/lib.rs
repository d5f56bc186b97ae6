//! A file of JSON lines as a table: the rows come from here, the SQL from the host.

use std::fs::File;
use std::io::{BufRead, BufReader};

use mindhost_sdk::scanner::{JsonRows, Page, ScanRequest};
use mindhost_sdk::{
    Batch, BatchLimits, Column, Config, DataType, Error, ErrorKind, Result, Scanner, ServerInfo,
    TableRef, export_scanner,
};
use serde::Deserialize;

/// Rows that are read at a time.
const PAGE: usize = 1_000;

/// What the datasource is configured with; `manifest.json` has its schema. The host opens this file and nothing else.
#[derive(Deserialize)]
struct Planets {
    path: String,
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("name", DataType::Text).nullable(false),
        Column::new("diameter_km", DataType::Int64).nullable(false),
        Column::new("gravity", DataType::Float64),
        Column::new("discovered", DataType::Date),
    ]
}

impl Planets {
    fn open(&self) -> Result<BufReader<File>> {
        let file = File::open(&self.path)
            .map_err(|error| Error::not_found(format!("{}: {error}", self.path)))?;
        Ok(BufReader::new(file))
    }
}

impl Scanner for Planets {
    const MANIFEST: &'static str = include_str!("../manifest.json");
    type Scan = JsonRows;

    fn open(config: &Config) -> Result<Self> {
        config.parse()
    }

    fn check(&mut self) -> Result<ServerInfo> {
        Planets::open(self)?;
        Ok(ServerInfo::new("JSON lines", env!("CARGO_PKG_VERSION")))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        Ok(vec![TableRef::new("main", "planets")])
    }

    fn columns(&mut self, table: &TableRef) -> Result<Vec<Column>> {
        match table.name.as_str() {
            "planets" => Ok(columns()),
            other => Err(Error::not_found(format!("there is no table {other}"))),
        }
    }

    // A source that can filter says so in `filter_support`, and then `request.filters` has what to leave out.

    fn scan(&mut self, request: &ScanRequest) -> Result<JsonRows> {
        let mut lines = Planets::open(self)?.lines();
        JsonRows::new(request, &columns(), move || {
            let page: Page = lines.by_ref().take(PAGE).map(row).collect::<Result<_>>()?;
            Ok((!page.is_empty()).then_some(page))
        })
    }

    fn schema(&mut self, rows: &mut JsonRows) -> Result<Vec<Column>> {
        Ok(rows.columns().to_vec())
    }

    fn next(&mut self, rows: &mut JsonRows, limits: BatchLimits) -> Result<Option<Batch>> {
        rows.next(limits)
    }
}

fn row<T: serde::de::DeserializeOwned>(line: std::io::Result<String>) -> Result<T> {
    let wrong = |error: &dyn std::fmt::Display| {
        Error::new(
            ErrorKind::Upstream,
            format!("a line cannot be read: {error}"),
        )
    };
    let line = line.map_err(|error| wrong(&error))?;
    serde_json::from_str(&line).map_err(|error| wrong(&error))
}

export_scanner!(Planets);
