//! A directory of files as a datasource: CSV, JSON lines, Parquet and Arrow. The host gives the tables SQL.
//!
//! `directory` finds the files, `layout` makes tables of them, `describe` says which columns a table has. A scan goes
//! over the files of a table one after another: `text` reads those that are lines, `columnar` those that are columns.

mod columnar;
mod describe;
mod directory;
mod format;
mod input;
mod layout;
mod partitions;
mod scan;
mod settings;
mod text;

use mindhost_sdk::scanner::{Filter, Pushdown, ScanRequest};
use mindhost_sdk::{
    Batch, BatchLimits, Column, Config, Result, Scanner, ServerInfo, Table, TableRef,
    export_scanner,
};

use crate::describe::Catalog;
use crate::scan::Scan;

/// One directory of files.
pub struct Files {
    catalog: Catalog,
}

impl Scanner for Files {
    const MANIFEST: &'static str = include_str!("../manifest.json");
    type Scan = Scan;

    fn open(config: &Config) -> Result<Self> {
        Ok(Self {
            catalog: Catalog::new(config.parse()?)?,
        })
    }

    fn check(&mut self) -> Result<ServerInfo> {
        self.catalog.check()?;
        Ok(ServerInfo::new("files", env!("CARGO_PKG_VERSION")))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        self.catalog.look()?;
        Ok(self.catalog.tables())
    }

    fn columns(&mut self, table: &TableRef) -> Result<Vec<Column>> {
        self.catalog.look()?;
        Ok(self.catalog.table(table)?.columns.clone())
    }

    fn describe_tables(&mut self, tables: &[TableRef]) -> Result<Vec<Table>> {
        self.catalog.look()?;
        self.catalog.describe(tables)
    }

    fn filter_support(&mut self, table: &TableRef, filters: &[Filter]) -> Result<Vec<Pushdown>> {
        let table = self.catalog.table(table)?;
        Ok(filters
            .iter()
            .map(|filter| scan::support(&table, filter))
            .collect())
    }

    fn scan(&mut self, request: &ScanRequest) -> Result<Scan> {
        let table = self.catalog.table(&request.table)?;
        Scan::start(self.catalog.root(), table, request)
    }

    fn schema(&mut self, scan: &mut Scan) -> Result<Vec<Column>> {
        Ok(scan.columns().to_vec())
    }

    fn next(&mut self, scan: &mut Scan, limits: BatchLimits) -> Result<Option<Batch>> {
        scan.next(limits)
    }
}

export_scanner!(Files);

#[cfg(test)]
mod tests;
