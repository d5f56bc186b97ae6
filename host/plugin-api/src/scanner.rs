//! What the host asks of a source that yields rows and knows no SQL, in the host's own words.
//!
//! `mindhost_query` makes a connector of it. As of a connector, what comes out of here is well-formed and not
//! necessarily true.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Batch, Call, Column, Plugin, ServerInfo, TableInfo, TableRef, Target, Value};
use mindhost_base::error::Result;

/// How a cell is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterOp {
    /// Equal.
    Eq,
    /// Not equal; NULL does not pass.
    NotEq,
    /// Less.
    Lt,
    /// Less or equal.
    LtEq,
    /// Greater.
    Gt,
    /// Greater or equal.
    GtEq,
    /// Equal to one of several.
    InList,
    /// Is NULL; takes no values.
    IsNull,
    /// Is not NULL; takes no values.
    IsNotNull,
    /// Fits a pattern of `%`, `_` and `\`.
    Like,
}

/// One condition on one column. NULL passes `IsNull` alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Name of a column of the table, as [`Source::columns`] gives it.
    pub column: String,
    /// How it is compared.
    pub op: FilterOp,
    /// With what: values of the column's type, none NULL. One, several for `InList`, none for the tests of NULL.
    pub values: Vec<Value>,
}

/// How far a source applies a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushdown {
    /// Not at all.
    No,
    /// It leaves out some of the rows that do not pass.
    Inexact,
    /// It leaves out all of them. Believed.
    Exact,
}

/// What is to be read of a table.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table to read, as the scanner listed it.
    pub table: TableRef,
    /// Its columns that are wanted, in this order; at least one. What comes must be these.
    pub columns: Arc<[Column]>,
    /// All of them must hold.
    pub filters: Vec<Filter>,
    /// More rows than this are of no use; only where every filter is exact.
    pub limit: Option<u64>,
    /// Only the number of rows matters. A source may give NULL for every value then.
    pub is_count: bool,
    /// Id of this execution, for the source's log.
    pub id: String,
}

/// Tells the scans of a source apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScanId(pub u64);

/// A plugin that yields rows and serves.
#[async_trait]
pub trait Scanner: Plugin {
    /// A source from the pool of this target, opened if none is free. Waits at most until the deadline of the call for
    /// a place, then fails with `overloaded`.
    async fn open(&self, target: &Target, call: &Call) -> Result<Box<dyn Source>>;
    /// Closes what is pooled for a target whose configuration changed or that is gone.
    async fn forget(&self, target_id: &str);
}

/// One open source. Dropping it gives it back to its pool if it can be used again; with open scans they are closed
/// first, and it is thrown away.
///
/// Several scans may be open at once; their calls come one after the other.
#[async_trait]
pub trait Source: Send {
    /// SHA-256 of the component that serves it.
    fn digest(&self) -> &str;
    /// Proves that the source answers.
    async fn check(&mut self, call: &Call) -> Result<ServerInfo>;
    /// Every table in reach.
    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>>;
    /// Columns, keys, comments. A table that is gone is left out.
    async fn describe_tables(&mut self, tables: &[TableRef], call: &Call)
    -> Result<Vec<TableInfo>>;
    /// The columns of a table as a scan gives them.
    async fn columns(&mut self, table: &TableRef, call: &Call) -> Result<Arc<[Column]>>;
    /// One answer for each filter, in the same order.
    async fn filter_support(
        &mut self,
        table: &TableRef,
        filters: &[Filter],
        call: &Call,
    ) -> Result<Vec<Pushdown>>;
    /// Starts to read.
    async fn scan(&mut self, scan: &Scan, call: &Call) -> Result<ScanId>;
    /// At most `max_rows` rows; `None` at the end. Never more than asked, never an unchecked value.
    async fn next(&mut self, scan: ScanId, max_rows: u32, call: &Call) -> Result<Option<Batch>>;
    /// Ends a scan, read to its end or not.
    async fn close(&mut self, scan: ScanId, call: &Call) -> Result<()>;
}
