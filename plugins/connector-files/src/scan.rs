//! One table on its way to the host.

use std::rc::Rc;

use mindhost_sdk::scanner::{Filter, Pushdown, ScanRequest};
use mindhost_sdk::{Batch, BatchLimits, Column, Result};

use crate::columnar::{ColumnarScan, predicate};
use crate::describe::Table;
use crate::text::TextScan;

/// A scan, by what the files of the table are.
pub enum Scan {
    /// Lines of text.
    Text(Box<TextScan>),
    /// Columns.
    Columnar(Box<ColumnarScan>),
}

impl Scan {
    /// A scan that has read nothing yet.
    pub fn start(root: Rc<str>, table: Rc<Table>, request: &ScanRequest) -> Result<Self> {
        Ok(match table.layout.format.is_text() {
            true => Self::Text(Box::new(TextScan::start(root, table, request)?)),
            false => Self::Columnar(Box::new(ColumnarScan::start(root, table, request)?)),
        })
    }

    /// The columns of the projection.
    pub fn columns(&self) -> &[Column] {
        match self {
            Self::Text(scan) => scan.columns(),
            Self::Columnar(scan) => scan.columns(),
        }
    }

    /// The next rows; none at the end.
    pub fn next(&mut self, limits: BatchLimits) -> Result<Option<Batch>> {
        match self {
            Self::Text(scan) => scan.next(limits),
            Self::Columnar(scan) => scan.next(limits),
        }
    }
}

/// How far a scan applies a filter.
pub fn support(table: &Table, filter: &Filter) -> Pushdown {
    let column = table
        .columns
        .iter()
        .find(|column| column.name == filter.column);
    let Some(column) = column else {
        return Pushdown::No;
    };
    match table.layout.format.is_text() {
        true => Filter::support(column.data_type),
        false if predicate::Predicate::of(filter, column).is_some() => Pushdown::Exact,
        false => Pushdown::No,
    }
}
