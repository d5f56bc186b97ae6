//! Rows on their way to the host, cut to its limits.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use mindhost_sdk::{Batch, BatchLimits, Column, Error, Result};

use super::convert::physical;

/// Bytes of a column in the headers of a batch, about.
const COLUMN_OVERHEAD: usize = 256;

/// Converted rows that wait to be sent.
pub struct Output {
    columns: Vec<Column>,
    schema: SchemaRef,
    waiting: Option<RecordBatch>,
    max_cell: usize,
}

impl Output {
    /// For batches of these columns. A larger cell than `max_cell` bytes is an error.
    pub fn new(columns: Vec<Column>, max_cell: usize) -> Self {
        let field = |column: &Column| Field::new(&column.name, physical(column.data_type), true);
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        Self {
            columns,
            schema: Arc::new(schema),
            waiting: None,
            max_cell,
        }
    }

    /// The columns of the batches.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Takes converted arrays, which are sent before the next ones are taken.
    ///
    /// # Errors
    /// `TooLarge` when a cell is too large.
    pub fn put(&mut self, arrays: Vec<ArrayRef>, rows: usize) -> Result<()> {
        for (array, column) in arrays.iter().zip(&self.columns) {
            let bytes = widest(array);
            if bytes > self.max_cell {
                let limit = self.max_cell as u64;
                return Err(Error::cell_too_large(&column.name, bytes as u64, limit));
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options);
        self.waiting = Some(batch.map_err(internal)?).filter(|batch| batch.num_rows() > 0);
        Ok(())
    }

    /// The next batch within the limits; none if no row waits.
    ///
    /// # Errors
    /// `Internal` when the rows cannot be written, which is a fault of this plugin.
    pub fn take(&mut self, limits: BatchLimits) -> Result<Option<Batch>> {
        let Some(waiting) = self.waiting.take() else {
            return Ok(None);
        };
        let rows = fitting(&waiting, limits);
        let left = waiting.num_rows() - rows;
        if left > 0 {
            self.waiting = Some(waiting.slice(rows, left));
        }
        let stream = write(&waiting.slice(0, rows)).map_err(internal)?;
        Ok(Some(Batch::Arrow(stream)))
    }
}

fn internal(error: ArrowError) -> Error {
    Error::internal(error.to_string())
}

/// How many of the rows fit, at least one.
fn fitting(batch: &RecordBatch, limits: BatchLimits) -> usize {
    let mut rows = batch.num_rows().min(limits.max_rows.max(1) as usize);
    while rows > 1 && bytes(batch, rows) > limits.max_bytes as usize {
        rows /= 2;
    }
    rows
}

/// About how many bytes the first rows take.
fn bytes(batch: &RecordBatch, rows: usize) -> usize {
    let sized = |array: &ArrayRef| {
        if let Some(texts) = array.as_string_opt::<i32>() {
            return span(texts.value_offsets(), rows) + 4 * rows;
        }
        if let Some(values) = array.as_binary_opt::<i32>() {
            return span(values.value_offsets(), rows) + 4 * rows;
        }
        8 * rows
    };
    batch
        .columns()
        .iter()
        .map(|array| sized(array) + COLUMN_OVERHEAD)
        .sum()
}

fn span(offsets: &[i32], rows: usize) -> usize {
    match (offsets.first(), offsets.get(rows)) {
        (Some(first), Some(last)) => usize::try_from(last - first).unwrap_or_default(),
        _ => 0,
    }
}

/// The length of the longest text of an array.
fn widest(array: &ArrayRef) -> usize {
    let longest = |offsets: &[i32]| {
        let lengths = offsets.windows(2).map(|pair| match pair {
            [from, to] => usize::try_from(to - from).unwrap_or_default(),
            _ => 0,
        });
        lengths.max().unwrap_or_default()
    };
    match (array.as_string_opt::<i32>(), array.as_binary_opt::<i32>()) {
        (Some(texts), _) => longest(texts.value_offsets()),
        (_, Some(values)) => longest(values.value_offsets()),
        _ => 0,
    }
}

fn write(batch: &RecordBatch) -> std::result::Result<Vec<u8>, ArrowError> {
    let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5)?;
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options)?;
    writer.write(batch)?;
    writer.finish()?;
    writer.into_inner()
}
