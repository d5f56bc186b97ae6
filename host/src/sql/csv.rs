//! Rows as CSV (RFC 4180 with `\n`), batch by batch.

use std::sync::Arc;

use crate::plugins::{Batch, Column};

/// Appends the rows of one result to a buffer, batch by batch; holds no rows itself.
#[derive(Debug)]
pub struct CsvEncoder {
    columns: Arc<[Column]>,
}

impl CsvEncoder {
    /// An encoder for a result with these columns.
    pub fn new(columns: Arc<[Column]>) -> Self {
        Self { columns }
    }

    /// Appends the header line. Once, before the first batch, also when there is none.
    pub fn header(&self, out: &mut Vec<u8>) {
        let _ = (&self.columns, out);
    }

    /// Appends the lines of a batch.
    pub fn batch(&mut self, batch: &Batch, out: &mut Vec<u8>) {
        let _ = (batch, out);
    }
}
