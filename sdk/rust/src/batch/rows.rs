//! Batches as plain rows.

use std::rc::Rc;

use super::Row;
use crate::error::{Error, Result};
use crate::values::{Batch, Column, Value};

/// Collects a batch of plain rows: the form for columns of type `any`, and for values that their column's type cannot
/// hold. Values are appended from left to right. [`super::BatchBuilder`] chooses between this form and Arrow.
pub struct RowsBuilder {
    columns: Rc<[Column]>,
    rows: Vec<Row>,
    row: Row,
    bytes: usize,
    fault: Option<String>,
}

impl RowsBuilder {
    /// A builder for batches of these columns.
    pub fn new(columns: impl Into<Rc<[Column]>>) -> Self {
        Self {
            columns: columns.into(),
            rows: Vec::new(),
            row: Vec::new(),
            bytes: 0,
            fault: None,
        }
    }

    /// The columns of the batch.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Whole rows so far.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no whole row yet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// About how many bytes the batch takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends the value of the next column.
    pub fn append(&mut self, value: Value) {
        match self.columns.get(self.row.len()) {
            Some(column) if column.accepts(&value) => {}
            Some(column) => {
                let (name, declared, given) =
                    (&column.name, column.data_type.name(), value.type_name());
                self.fault.get_or_insert_with(|| {
                    format!(
                        "column `{name}` is {declared} and not dynamic, but was given a value of type {given}"
                    )
                });
            }
            None => {
                self.fault.get_or_insert_with(|| {
                    format!("a row has more than {} values", self.columns.len())
                });
            }
        }
        self.bytes += value.size();
        self.row.push(value);
    }

    /// Ends a row. It must have as many values as there are columns.
    pub fn end_row(&mut self) {
        if self.row.len() != self.columns.len() {
            let (given, wanted) = (self.row.len(), self.columns.len());
            self.fault
                .get_or_insert_with(|| format!("a row has {given} values for {wanted} columns"));
        }
        let next = Vec::with_capacity(self.columns.len());
        self.rows.push(std::mem::replace(&mut self.row, next));
    }

    /// Ends the batch and begins the next one; `None` when it has no rows.
    ///
    /// # Errors
    /// `Internal` when what was appended are not whole rows of these columns: a fault of the plugin.
    pub fn finish(&mut self) -> Result<Option<Batch>> {
        self.bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        let unfinished = std::mem::take(&mut self.row);
        if let Some(fault) = self.fault.take() {
            return Err(Error::internal(fault));
        }
        if !unfinished.is_empty() {
            return Err(Error::internal("the last row of the batch was not ended"));
        }
        Ok((!rows.is_empty()).then_some(Batch::Rows(rows)))
    }

    pub(super) fn shared_columns(&self) -> Rc<[Column]> {
        self.columns.clone()
    }

    /// Takes the whole rows away.
    pub(super) fn take_rows(&mut self) -> Vec<Row> {
        self.bytes = 0;
        std::mem::take(&mut self.rows)
    }

    pub(super) fn split_last_row(&mut self) -> Option<Row> {
        self.rows.pop()
    }
}
