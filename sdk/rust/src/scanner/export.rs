//! From the exported functions of the component to the [`Scanner`] of its author.

use std::marker::PhantomData;

use super::session::{Cursor, Source};
use super::{Filter, Pushdown, Scanner};
use crate::batch::BatchLimits;
use crate::bindings::connector::mindhost::plugin::types;
use crate::bindings::scanner::exports::mindhost::plugin::scanner as wire;
use crate::catalog::{Table, TableRef};
use crate::connector::ServerInfo;
use crate::sanity;
use crate::values::{Batch, Column};

type Result<T> = std::result::Result<T, types::Error>;

/// What [`crate::export_scanner!`] exports for a scanner.
pub struct ExportedScanner<T>(PhantomData<T>);

impl<T: Scanner> wire::Guest for ExportedScanner<T> {
    type Source = Source<T>;
    type Cursor = Cursor<T>;

    fn describe() -> String {
        T::MANIFEST.to_owned()
    }
}

impl<T: Scanner> wire::GuestSource for Source<T> {
    fn open(config: types::Config) -> Result<wire::Source> {
        Ok(wire::Source::new(Self::open(&config.into())?))
    }

    fn check(&self) -> Result<ServerInfo> {
        Ok(self.with(T::check)?)
    }

    fn tables(&self) -> Result<Vec<TableRef>> {
        let tables = self.with(T::tables)?;
        sanity::tables(&tables)?;
        Ok(tables)
    }

    fn describe_tables(&self, tables: Vec<TableRef>) -> Result<Vec<Table>> {
        let described = self.with(|scanner| scanner.describe_tables(&tables))?;
        sanity::described(&described)?;
        Ok(described)
    }

    fn columns(&self, table: TableRef) -> Result<Vec<Column>> {
        let columns = self.with(|scanner| scanner.columns(&table))?;
        sanity::table_columns(&columns)?;
        Ok(columns)
    }

    fn filter_support(&self, table: TableRef, filters: Vec<Filter>) -> Result<Vec<Pushdown>> {
        Ok(self.with(|scanner| scanner.filter_support(&table, &filters))?)
    }

    fn scan(&self, request: wire::ScanRequest) -> Result<wire::Cursor> {
        Ok(wire::Cursor::new(self.scan(&request.into())?))
    }
}

impl<T: Scanner> wire::GuestCursor for Cursor<T> {
    fn schema(&self) -> Result<Vec<Column>> {
        Ok(self.with(T::schema)?)
    }

    fn next(&self, max_rows: u32, max_bytes: u32) -> Result<Option<Batch>> {
        let limits = BatchLimits {
            max_rows,
            max_bytes,
        };
        Ok(self.with(|scanner, scan| scanner.next(scan, limits))?)
    }

    fn close(&self) -> Result<bool> {
        Ok(self.close()?)
    }
}
