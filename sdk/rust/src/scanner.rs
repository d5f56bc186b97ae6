//! The trait of a scanner, and its export macro: the level of connector for sources that know no SQL.

pub(crate) mod export;
mod filter;
mod json;
mod request;
pub(crate) mod session;
#[cfg(test)]
mod tests;
mod text;

use crate::batch::BatchLimits;
use crate::catalog::{Table, TableColumn, TableRef};
use crate::config::Config;
use crate::connector::ServerInfo;
use crate::error::Result;
use crate::values::{Batch, Column};

pub use crate::bindings::scanner::exports::mindhost::plugin::scanner::{
    Filter, FilterOp, Pushdown,
};
pub use json::{JsonRow, JsonRows, Page};
pub use request::ScanRequest;
pub use text::{
    decimal_of, format_date, format_time, format_timestamp, minor_of, parse_date, parse_time,
    parse_timestamp, value_of_text,
};

/// A source of rows: files, a REST API, anything that has tables and no SQL. The host's query engine gives it full SQL.
///
/// One instance of the component holds one source. The scans of one statement share it: several may be open at once,
/// their calls never overlap, and each is closed or dropped before the source goes. What a scan needs belongs into
/// [`Scanner::Scan`].
///
/// # Types
///
/// Each column has one type, and every value of it that type or NULL: SQL is planned with what [`Scanner::columns`]
/// says. A decimal column says its digits in its native type, `decimal(12,2)`; without, ten digits stand behind the
/// point. A column of type `Any` is a text in SQL. There are no dynamic columns here.
///
/// A panic ends the instance and costs the host a source; return errors.
pub trait Scanner: Sized + 'static {
    /// The manifest: `include_str!("../manifest.json")`. The host reads it from the packed component, and refuses one
    /// that says otherwise.
    const MANIFEST: &'static str;

    /// What runs between [`Scanner::scan`] and [`Scanner::close`].
    type Scan: 'static;

    /// Gets ready, and proves that the source answers where that costs little.
    ///
    /// Called once for each instance, before anything else. The host keeps the source in a pool, so it lives for many
    /// statements of many callers.
    fn open(config: &Config) -> Result<Self>;

    /// Asks the source whether it answers, and what it is.
    ///
    /// Called when a person makes, changes or tests a datasource.
    fn check(&mut self) -> Result<ServerInfo>;

    /// Every table that the configuration reaches. A source without schemas uses one fixed name for all.
    ///
    /// Called at the start of a catalog run, and when a datasource is made.
    fn tables(&mut self) -> Result<Vec<TableRef>>;

    /// The columns of a table with their types, as a scan of all of them gives them.
    ///
    /// Called once a statement for each table that it reads, while it is planned: keep it cheap, and remember what is
    /// expensive. `NotFound` when the table is gone.
    fn columns(&mut self, table: &TableRef) -> Result<Vec<Column>>;

    /// Columns, keys and comments of some tables, for people; one that is gone is left out of the answer.
    ///
    /// Called during a catalog run with up to 50 tables at a time. Not overriding it means that the catalog
    /// shows what [`Scanner::columns`] says, as [`describe`] puts it.
    fn describe_tables(&mut self, tables: &[TableRef]) -> Result<Vec<Table>> {
        let mut described = Vec::with_capacity(tables.len());
        for table in tables {
            match self.columns(table) {
                Ok(columns) => described.push(describe(table.clone(), &columns)),
                Err(error) if error.kind() == crate::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(described)
    }

    /// How far [`Scanner::scan`] would apply each of these filters.
    ///
    /// Called while a statement is planned, perhaps several times. `Exact` is believed: rows that such a filter should
    /// have left out come out as results. `Inexact` may give more rows, never fewer. Not overriding it means that no
    /// scan is ever given a filter or a limit; the host does it all.
    fn filter_support(&mut self, table: &TableRef, filters: &[Filter]) -> Result<Vec<Pushdown>> {
        let _ = table;
        Ok(vec![Pushdown::No; filters.len()])
    }

    /// Starts to read a table. It may wait until [`Scanner::next`] with the work itself.
    ///
    /// Called once for each time that a statement reads the table; twice for one that joins it with itself.
    fn scan(&mut self, request: &ScanRequest) -> Result<Self::Scan>;

    /// The columns of the scan: those of the projection, in its order, with the types of [`Scanner::columns`].
    ///
    /// Called once, before the first [`Scanner::next`].
    fn schema(&mut self, scan: &mut Self::Scan) -> Result<Vec<Column>>;

    /// The next rows; `None` at the end.
    ///
    /// Called until it answers `None` or the host has enough. Keep to the limits ([`crate::BatchBuilder`] does), and hold
    /// no more than about one batch or page in memory. An empty batch means nothing yet. After an error the host closes
    /// the scan.
    fn next(&mut self, scan: &mut Self::Scan, limits: BatchLimits) -> Result<Option<Batch>>;

    /// Ends the scan, finished or not. True when the source can be used again.
    ///
    /// Called exactly once for each scan. Not overriding it drops the scan and says yes.
    fn close(&mut self, scan: Self::Scan) -> Result<bool> {
        drop(scan);
        Ok(true)
    }
}

/// A table as the catalog shows it, from its columns alone. The native type of a column without one is the name of its
/// type.
pub fn describe(table: TableRef, columns: &[Column]) -> Table {
    let mut described = Table::new(table, "TABLE");
    described.columns = (1..)
        .zip(columns)
        .map(|(ordinal, column)| {
            let native = match column.native_type.as_str() {
                "" => column.data_type.name(),
                native => native,
            };
            let mut shown = TableColumn::new(&column.name, ordinal, native);
            shown.nullable = column.nullable;
            shown
        })
        .collect();
    described
}

/// Makes a type that implements [`Scanner`] the scanner of this component. Once in a crate.
///
/// For targets other than WebAssembly it only checks that the type implements the trait.
#[macro_export]
macro_rules! export_scanner {
    ($scanner:ty) => {
        const _: () = {
            const fn implements_scanner<T: $crate::Scanner>() {}
            implements_scanner::<$scanner>();

            #[cfg(target_family = "wasm")]
            type Exported = $crate::exports::ExportedScanner<$scanner>;
            #[cfg(target_family = "wasm")]
    $crate::bindings::scanner::export!(Exported with_types_in $crate::bindings::scanner);
        };
    };
}
