//! Rows of a result, and how much memory they take.

use std::collections::HashSet;

use arrow_array::{
    Array, ArrayRef, RecordBatch,
    cast::AsArray,
    types::{
        Date32Type, Float64Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType,
        UInt64Type,
    },
};

use super::{Column, DataType, Value};

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

    /// The first rows, and what is left if there are more.
    pub fn split(self, rows: usize) -> (Self, Option<Self>) {
        if self.rows() <= rows {
            return (self, None);
        }
        match self {
            Batch::Rows(mut first) => {
                let rest = first.split_off(rows);
                (Batch::Rows(first), Some(Batch::Rows(rest)))
            }
            Batch::Arrow(batch) => {
                let rest = batch.slice(rows, batch.num_rows() - rows);
                (Batch::Arrow(batch.slice(0, rows)), Some(Batch::Arrow(rest)))
            }
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

    /// The rows as values, in either form. `columns` is the schema of the cursor.
    pub fn into_values(self, columns: &[Column]) -> Vec<Vec<Value>> {
        let batch = match self {
            Batch::Rows(rows) => return rows,
            Batch::Arrow(batch) => batch,
        };
        let row = |row| {
            let cells = columns.iter().zip(batch.columns());
            let values = cells.map(|(column, array)| cell(column.data_type, array, row));
            values.collect()
        };
        (0..batch.num_rows()).map(row).collect()
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

/// One cell of an Arrow column, which has the physical form of its type: batches are checked where they enter.
fn cell(data_type: DataType, array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    let text = || array.as_string::<i32>().value(row).to_owned();
    let micros = || array.as_primitive::<TimestampMicrosecondType>().value(row);
    match data_type {
        DataType::Boolean => Value::Boolean(array.as_boolean().value(row)),
        DataType::Int64 => Value::Int64(array.as_primitive::<Int64Type>().value(row)),
        DataType::Uint64 => Value::Uint64(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Float64 => Value::Float64(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal => Value::Decimal(text()),
        DataType::Text | DataType::Any => Value::Text(text()),
        DataType::Json => Value::Json(text()),
        DataType::Bytes => Value::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        DataType::Date => Value::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Time => {
            let micros = array.as_primitive::<Time64MicrosecondType>().value(row);
            Value::Time(micros.unsigned_abs())
        }
        DataType::Timestamp => Value::Timestamp(micros()),
        DataType::TimestampUtc => Value::TimestampUtc(micros()),
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
    use arrow_array::{BinaryArray, Int64Array, StringArray, TimestampMicrosecondArray};
    use arrow_buffer::{Buffer, ScalarBuffer};

    #[test]
    fn split_batch_keeps_all_rows_in_order() {
        let ids = |batch: &Batch| match batch {
            Batch::Rows(rows) => rows.iter().map(|row| format!("{:?}", row[0])).collect(),
            Batch::Arrow(batch) => {
                let ids = batch.column(0).as_any().downcast_ref::<Int64Array>();
                let ids = ids.unwrap().iter();
                ids.map(|id| format!("{:?}", Value::Int64(id.unwrap())))
                    .collect::<Vec<_>>()
            }
        };
        let ints: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let arrow = Batch::Arrow(RecordBatch::try_from_iter([("a", ints)]).unwrap());
        let rows = Batch::Rows((1..=3).map(|id| vec![Value::Int64(id)]).collect());
        for batch in [arrow, rows] {
            let all = ids(&batch);
            let (first, rest) = batch.split(2);
            let rest = rest.unwrap();
            assert_eq!([ids(&first), ids(&rest)].concat(), all);
            assert_eq!((first.rows(), rest.rows()), (2, 1));
            let (all, none) = rest.split(1);
            assert_eq!((all.rows(), none.is_none()), (1, true));
        }
    }

    #[test]
    fn arrow_cells_become_values_of_their_columns() {
        let column = |data_type| Column {
            name: "c".into(),
            data_type,
            native_type: String::new(),
            nullable: true,
        };
        let columns = [
            DataType::Decimal,
            DataType::Bytes,
            DataType::TimestampUtc,
            DataType::Json,
        ]
        .map(column);
        let arrays: [ArrayRef; 4] = [
            Arc::new(StringArray::from(vec![Some("1.50"), None])),
            Arc::new(BinaryArray::from(vec![&[0, 255][..], &[]])),
            Arc::new(TimestampMicrosecondArray::from(vec![7, -7])),
            Arc::new(StringArray::from(vec!["[1]", "{}"])),
        ];
        let named = ["a", "b", "c", "d"].into_iter().zip(arrays);
        let batch = Batch::Arrow(RecordBatch::try_from_iter(named).unwrap());
        let expected = [
            vec![
                Value::Decimal("1.50".into()),
                Value::Bytes(vec![0, 255]),
                Value::TimestampUtc(7),
                Value::Json("[1]".into()),
            ],
            vec![
                Value::Null,
                Value::Bytes(Vec::new()),
                Value::TimestampUtc(-7),
                Value::Json("{}".into()),
            ],
        ];
        assert_eq!(batch.into_values(&columns), expected);
    }

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
