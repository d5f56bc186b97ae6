//! Rows of a result, and how much memory they take.

use std::collections::HashSet;

use arrow_array::{Array, RecordBatch, cast::AsArray, types::Int64Type};

use super::Value;

/// Some rows of a result, in one of two forms. Columns are as in the schema of the cursor.
#[derive(Clone, Debug)]
pub enum Batch {
    /// One value a column; a value's own kind decides, not the column's.
    Rows(Vec<Vec<Value>>),
    /// One physical type a column, as [`super::DataType`] says.
    Arrow(RecordBatch),
}

impl Batch {
    /// How many rows.
    pub fn rows(&self) -> usize {
        match self {
            Batch::Rows(rows) => rows.len(),
            Batch::Arrow(batch) => batch.num_rows(),
        }
    }

    /// About how many bytes of memory the rows take.
    pub fn bytes(&self) -> usize {
        match self {
            Batch::Rows(rows) => rows
                .iter()
                .flatten()
                .map(|value| size_of::<Value>() + value.heap_bytes())
                .sum(),
            Batch::Arrow(batch) => buffer_bytes(batch),
        }
    }

    /// The whole number in a cell, if there is one.
    pub fn integer(&self, row: usize, column: usize) -> Option<i64> {
        match self {
            Batch::Rows(rows) => match rows.get(row)?.get(column)? {
                Value::Int64(number) => Some(*number),
                Value::Uint64(number) => i64::try_from(*number).ok(),
                _ => None,
            },
            Batch::Arrow(batch) => {
                let cells = batch
                    .columns()
                    .get(column)?
                    .as_primitive_opt::<Int64Type>()?;
                (row < cells.len() && cells.is_valid(row)).then(|| cells.value(row))
            }
        }
    }
}

/// Bytes of the buffers of a batch, each counted once: the columns of a batch that came from a plugin are slices of one
/// buffer.
fn buffer_bytes(batch: &RecordBatch) -> usize {
    let mut counted = HashSet::new();
    let mut bytes = 0;
    for column in batch.columns() {
        let data = column.to_data();
        let nulls = data.nulls().map(|nulls| nulls.buffer());
        for buffer in data.buffers().iter().chain(nulls) {
            if counted.insert(buffer.data_ptr()) {
                bytes += buffer.capacity();
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow_array::{ArrayRef, Int64Array};
    use arrow_buffer::{Buffer, ScalarBuffer};

    #[test]
    fn buffer_that_columns_share_is_counted_once() {
        let shared = Buffer::from_vec((0..8_000_i64).collect::<Vec<_>>());
        let column = |nth: usize| -> (String, ArrayRef) {
            let values = ScalarBuffer::new(shared.clone(), nth * 1_000, 1_000);
            (nth.to_string(), Arc::new(Int64Array::new(values, None)))
        };
        let batch = RecordBatch::try_from_iter((0..8).map(column)).unwrap();
        assert_eq!(Batch::Arrow(batch).bytes(), 8_000 * 8);
    }
}
