//! A directory of CSV files as a datasource: each `*.csv` in it is a table, and the host gives them SQL.
//!
//! The first line of a file names its columns. Their types are those that the first lines allow, or the ones that the
//! configuration gives; a later line that does not fit is an error that says which line. An empty field is NULL.

mod directory;
mod scan;
mod types;

use std::collections::BTreeMap;

use mindhost_sdk::scanner::{Filter, Pushdown, ScanRequest};
use mindhost_sdk::{
    Batch, BatchLimits, Column, Config, Result, Scanner, ServerInfo, TableRef, export_scanner,
};
use serde::Deserialize;

use crate::directory::Directory;
use crate::scan::Scan;
use crate::types::TypeName;

/// One directory of files.
pub struct Csv {
    directory: Directory,
}

/// What the datasource is configured with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    path: String,
    #[serde(default = "comma")]
    delimiter: char,
    #[serde(default)]
    types: BTreeMap<String, TypeName>,
    #[serde(default = "a_thousand")]
    types_from_rows: u32,
}

fn comma() -> char {
    ','
}

fn a_thousand() -> u32 {
    1_000
}

impl Scanner for Csv {
    const MANIFEST: &'static str = include_str!("../manifest.json");
    type Scan = Scan;

    fn open(config: &Config) -> Result<Self> {
        Ok(Self {
            directory: Directory::new(config.parse()?)?,
        })
    }

    fn check(&mut self) -> Result<ServerInfo> {
        self.directory.check()?;
        Ok(ServerInfo::new("CSV files", env!("CARGO_PKG_VERSION")))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        self.directory.tables()
    }

    fn columns(&mut self, table: &TableRef) -> Result<Vec<Column>> {
        self.directory.columns(table)
    }

    fn filter_support(&mut self, table: &TableRef, filters: &[Filter]) -> Result<Vec<Pushdown>> {
        let columns = self.directory.columns(table)?;
        let support = |filter: &Filter| {
            let column = columns.iter().find(|column| column.name == filter.column);
            column.map_or(Pushdown::No, |column| Filter::support(column.data_type))
        };
        Ok(filters.iter().map(support).collect())
    }

    fn scan(&mut self, request: &ScanRequest) -> Result<Scan> {
        let columns = self.directory.columns(&request.table)?;
        Scan::start(self.directory.open(&request.table)?, &columns, request)
    }

    fn schema(&mut self, scan: &mut Scan) -> Result<Vec<Column>> {
        Ok(scan.columns().to_vec())
    }

    fn next(&mut self, scan: &mut Scan, limits: BatchLimits) -> Result<Option<Batch>> {
        scan.next(limits)
    }
}

export_scanner!(Csv);

#[cfg(test)]
mod tests;
