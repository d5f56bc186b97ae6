//! What a scan is asked for.

use super::{Filter, FilterOp};
use crate::bindings::scanner::exports::mindhost::plugin::scanner as wire;
use crate::catalog::TableRef;
use crate::error::{Error, Result};
use crate::values::{Column, Extra, Value};

/// The name in the `extra` of a request that says: only the number of rows matters.
const COUNT: &str = "count";

/// Which rows and columns of a table the host wants.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanRequest {
    /// The table.
    pub table: TableRef,
    /// The columns to give, in this order; at least one, none twice.
    pub projection: Vec<String>,
    /// All of them must hold: those that [`crate::Scanner::filter_support`] did not answer with `No`.
    pub filters: Vec<Filter>,
    /// More rows than this are of no use. Given only when every filter is exact.
    pub limit: Option<u64>,
    /// The host's id of the execution, for logs.
    pub id: String,
    /// A larger cell is the error `TooLarge`. In bytes.
    pub max_cell_bytes: u64,
    /// Named additions.
    pub extra: Extra,
}

impl ScanRequest {
    /// For tests: these columns of a whole table, with cells of up to 16 MiB.
    pub fn new(table: TableRef, projection: &[&str]) -> Self {
        Self {
            table,
            projection: projection.iter().map(|name| (*name).to_owned()).collect(),
            filters: Vec::new(),
            limit: None,
            id: String::new(),
            max_cell_bytes: 16 << 20,
            extra: Vec::new(),
        }
    }

    /// The columns of the projection among all of the table's.
    ///
    /// # Errors
    /// `NotFound` for one that the table does not have, or has no longer.
    pub fn projected(&self, columns: &[Column]) -> Result<Vec<Column>> {
        let find = |name: &String| {
            let found = columns.iter().find(|column| column.name == *name);
            found.cloned().ok_or_else(|| {
                Error::not_found(format!("`{}` has no column `{name}`", self.table.name))
            })
        };
        self.projection.iter().map(find).collect()
    }

    /// Whether only the number of rows matters (`("count", "true")` in `extra`), as for `count(*)`. The scan still gives
    /// the column of the projection, and may give NULL for every value.
    pub fn is_count(&self) -> bool {
        self.extra
            .iter()
            .any(|(name, value)| name == COUNT && value == "true")
    }

    /// The value that a column must equal, when a filter says so.
    pub fn equal_to(&self, column: &str) -> Option<&Value> {
        let filter = self
            .filters
            .iter()
            .find(|filter| filter.op == FilterOp::Eq && filter.column == column)?;
        filter.values.first()
    }
}

impl From<wire::ScanRequest> for ScanRequest {
    fn from(request: wire::ScanRequest) -> Self {
        Self {
            table: request.table,
            projection: request.projection,
            filters: request.filters,
            limit: request.limit,
            id: request.id,
            max_cell_bytes: request.max_cell_bytes,
            extra: request.extra,
        }
    }
}
