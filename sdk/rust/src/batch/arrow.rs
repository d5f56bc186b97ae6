//! Batches as one uncompressed Arrow IPC stream.

use std::rc::Rc;
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, StringBuilder,
    Time64MicrosecondBuilder, TimestampMicrosecondBuilder, UInt64Builder,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch,
    RecordBatchOptions, StringArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    UInt64Array,
};
use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, DataType as ArrowType, Field, Schema, SchemaRef, TimeUnit};

use super::{Row, RowsBuilder};
use crate::error::{Error, Result};
use crate::values::{Batch, Column, DataType, Value};

/// What a column costs in a batch besides its cells: its part of the two headers, and padding.
const COLUMN_OVERHEAD: usize = 256;

/// The offsets of Arrow's Utf8 and Binary are 32 bits wide.
const MAX_COLUMN_BYTES: usize = i32::MAX as usize;

/// Collects a batch as Arrow, each column in the one physical form that the contract gives its type.
///
/// Columns are named by their place, so they may be filled in any order. An append answers false, and appends nothing,
/// when the column has another type; [`ArrowBatchBuilder::finish`] then fails unless something else filled the
/// place. [`super::BatchBuilder`] makes such a batch rows instead.
pub struct ArrowBatchBuilder {
    columns: Rc<[Column]>,
    schema: SchemaRef,
    cells: Vec<Cells>,
    rows: usize,
    bytes: usize,
    /// A row of an earlier batch was cut off; the arrays are finished already.
    split: Option<Vec<ArrayRef>>,
}

enum Cells {
    Boolean(BooleanBuilder),
    Int64(Int64Builder),
    UInt64(UInt64Builder),
    Float64(Float64Builder),
    Decimal(StringBuilder),
    Text(StringBuilder),
    Json(StringBuilder),
    Bytes(BinaryBuilder),
    Date(Date32Builder),
    Time(Time64MicrosecondBuilder),
    Timestamp(TimestampMicrosecondBuilder),
    TimestampUtc(TimestampMicrosecondBuilder),
    /// Type `any` has no Arrow form: nothing can be appended.
    None,
}

/// Runs one expression on whichever builder a column has.
macro_rules! for_each_form {
    ($cells:expr, $builder:ident => $do:expr, none => $none:expr) => {
        match $cells {
            Cells::Boolean($builder) => $do,
            Cells::Int64($builder) => $do,
            Cells::UInt64($builder) => $do,
            Cells::Float64($builder) => $do,
            Cells::Decimal($builder) | Cells::Text($builder) | Cells::Json($builder) => $do,
            Cells::Bytes($builder) => $do,
            Cells::Date($builder) => $do,
            Cells::Time($builder) => $do,
            Cells::Timestamp($builder) | Cells::TimestampUtc($builder) => $do,
            Cells::None => $none,
        }
    };
}

macro_rules! append_fixed {
    ($($(#[$doc:meta])* $name:ident($value:ident: $type:ty) => $variant:ident($convert:expr), $size:literal;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self, column: usize, $value: $type) -> bool {
            let Some(Cells::$variant(builder)) = self.cells.get_mut(column) else { return false };
            builder.append_value($convert);
            self.bytes += $size;
            true
        }
    )*};
}

macro_rules! append_sized {
    ($($(#[$doc:meta])* $name:ident($type:ty) => $variant:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self, column: usize, value: &$type) -> bool {
            let Some(Cells::$variant(builder)) = self.cells.get_mut(column) else { return false };
            if builder.values_slice().len() + value.len() > MAX_COLUMN_BYTES {
                return false;
            }
            builder.append_value(value);
            self.bytes += 4 + value.len();
            true
        }
    )*};
}

impl ArrowBatchBuilder {
    /// A builder for batches of these columns, none of which may be of type `any`.
    pub fn new(columns: impl Into<Rc<[Column]>>) -> Self {
        let columns = columns.into();
        let fields: Vec<Field> = columns
            .iter()
            .map(|column| Field::new(&column.name, arrow_type(column.data_type), true))
            .collect();
        let cells = columns
            .iter()
            .map(|column| Cells::new(column.data_type))
            .collect();
        let bytes = columns.len() * COLUMN_OVERHEAD;
        Self {
            columns,
            schema: Arc::new(Schema::new(fields)),
            cells,
            rows: 0,
            bytes,
            split: None,
        }
    }

    /// The columns of the batch.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Whole rows so far.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no whole row yet.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// About how many bytes the batch takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts a row. That each column has a value for it is seen at the end.
    #[inline]
    pub fn end_row(&mut self) {
        self.rows += 1;
    }

    /// Appends NULL to a column.
    #[inline]
    pub fn append_null(&mut self, column: usize) -> bool {
        let Some(cells) = self.cells.get_mut(column) else {
            return false;
        };
        for_each_form!(cells, builder => builder.append_null(), none => return false);
        self.bytes += 4;
        true
    }

    append_fixed! {
        /// Appends a truth value.
        append_bool(value: bool) => Boolean(value), 1;
        /// Appends a signed integer.
        append_i64(value: i64) => Int64(value), 8;
        /// Appends an unsigned integer.
        append_u64(value: u64) => UInt64(value), 8;
        /// Appends a float.
        append_f64(value: f64) => Float64(value), 8;
        /// Appends days since 1970-01-01.
        append_date(value: i32) => Date(value), 4;
        /// Appends microseconds since midnight, below 86,400,000,000.
        append_time(value: u64) => Time(value.cast_signed()), 8;
        /// Appends microseconds since 1970-01-01T00:00:00, no zone.
        append_timestamp(value: i64) => Timestamp(value), 8;
        /// Appends microseconds since 1970-01-01T00:00:00Z.
        append_timestamp_utc(value: i64) => TimestampUtc(value), 8;
    }

    append_sized! {
        /// Appends an exact number as decimal text.
        append_decimal(str) => Decimal;
        /// Appends a text.
        append_text(str) => Text;
        /// Appends a JSON document as text.
        append_json(str) => Json;
        /// Appends bytes.
        append_bytes([u8]) => Bytes;
    }

    /// Appends a value of any variant.
    pub fn append(&mut self, column: usize, value: &Value) -> bool {
        match value {
            Value::Null => self.append_null(column),
            Value::Boolean(value) => self.append_bool(column, *value),
            Value::Int64(value) => self.append_i64(column, *value),
            Value::Uint64(value) => self.append_u64(column, *value),
            Value::Float64(value) => self.append_f64(column, *value),
            Value::Decimal(value) => self.append_decimal(column, value),
            Value::Text(value) => self.append_text(column, value),
            Value::Bytes(value) => self.append_bytes(column, value),
            Value::Date(value) => self.append_date(column, *value),
            Value::Time(value) => self.append_time(column, *value),
            Value::Timestamp(value) => self.append_timestamp(column, *value),
            Value::TimestampUtc(value) => self.append_timestamp_utc(column, *value),
            Value::Json(value) => self.append_json(column, value),
            Value::Other(_) => false,
        }
    }

    /// Ends the batch and begins the next one; `None` when it has no rows.
    ///
    /// # Errors
    /// `Internal` when a column has more or fewer values than there are rows: a fault of the plugin.
    pub fn finish(&mut self) -> Result<Option<Batch>> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = self.columns.len() * COLUMN_OVERHEAD;
        let arrays = match self.split.take() {
            Some(arrays) => arrays,
            None => self.finish_arrays(rows)?,
        };
        if rows == 0 {
            return Ok(None);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options);
        let stream = batch.and_then(|batch| write_stream(&batch));
        stream
            .map(|bytes| Some(Batch::Arrow(bytes)))
            .map_err(|error| Error::internal(error.to_string()))
    }

    /// Takes the last row away; [`ArrowBatchBuilder::finish`] must follow.
    pub(super) fn split_last_row(&mut self) -> Result<Option<Row>> {
        let Some(last) = self.rows.checked_sub(1) else {
            return Ok(None);
        };
        let arrays = self.finish_arrays(self.rows)?;
        let row = arrays
            .iter()
            .zip(self.columns.iter())
            .map(|(array, column)| value_at(array, column, last))
            .collect();
        self.split = Some(arrays.iter().map(|array| array.slice(0, last)).collect());
        self.rows = last;
        Ok(Some(row))
    }

    /// Moves what was appended so far, an unfinished row included, to a builder of plain rows.
    pub(super) fn move_into(&mut self, rows: &mut RowsBuilder) {
        let arrays: Vec<ArrayRef> = self.cells.iter_mut().map(Cells::finish).collect();
        let whole = std::mem::take(&mut self.rows);
        self.bytes = self.columns.len() * COLUMN_OVERHEAD;
        for index in 0..=whole {
            for (array, column) in arrays
                .iter()
                .zip(self.columns.iter())
                .filter(|(array, _)| array.len() > index)
            {
                rows.append(value_at(array, column, index));
            }
            if index < whole {
                rows.end_row();
            }
        }
    }

    fn finish_arrays(&mut self, rows: usize) -> Result<Vec<ArrayRef>> {
        let arrays: Vec<ArrayRef> = self.cells.iter_mut().map(Cells::finish).collect();
        match arrays
            .iter()
            .zip(self.columns.iter())
            .find(|(array, _)| array.len() != rows)
        {
            Some((array, column)) => {
                let message = format!(
                    "column `{}` was given {} values for {rows} rows",
                    column.name,
                    array.len()
                );
                Err(Error::internal(message))
            }
            None => Ok(arrays),
        }
    }
}

impl Cells {
    fn new(data_type: DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Boolean(BooleanBuilder::new()),
            DataType::Int64 => Self::Int64(Int64Builder::new()),
            DataType::Uint64 => Self::UInt64(UInt64Builder::new()),
            DataType::Float64 => Self::Float64(Float64Builder::new()),
            DataType::Decimal => Self::Decimal(StringBuilder::new()),
            DataType::Text => Self::Text(StringBuilder::new()),
            DataType::Json => Self::Json(StringBuilder::new()),
            DataType::Bytes => Self::Bytes(BinaryBuilder::new()),
            DataType::Date => Self::Date(Date32Builder::new()),
            DataType::Time => Self::Time(Time64MicrosecondBuilder::new()),
            DataType::Timestamp => Self::Timestamp(TimestampMicrosecondBuilder::new()),
            DataType::TimestampUtc => {
                Self::TimestampUtc(TimestampMicrosecondBuilder::new().with_timezone("UTC"))
            }
            DataType::Any => Self::None,
        }
    }

    fn finish(&mut self) -> ArrayRef {
        for_each_form!(self, builder => Arc::new(builder.finish()), none => Arc::new(arrow_array::NullArray::new(0)))
    }
}

fn arrow_type(data_type: DataType) -> ArrowType {
    match data_type {
        DataType::Boolean => ArrowType::Boolean,
        DataType::Int64 => ArrowType::Int64,
        DataType::Uint64 => ArrowType::UInt64,
        DataType::Float64 => ArrowType::Float64,
        DataType::Decimal | DataType::Text | DataType::Json => ArrowType::Utf8,
        DataType::Bytes => ArrowType::Binary,
        DataType::Date => ArrowType::Date32,
        DataType::Time => ArrowType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp => ArrowType::Timestamp(TimeUnit::Microsecond, None),
        DataType::TimestampUtc => ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        DataType::Any => ArrowType::Null,
    }
}

fn write_stream(batch: &RecordBatch) -> std::result::Result<Vec<u8>, ArrowError> {
    // Eight bytes is the widest cell; the host copies the stream to where it wants it anyway.
    let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5)?;
    let buffer =
        Vec::with_capacity(batch.get_array_memory_size() + batch.num_columns() * COLUMN_OVERHEAD);
    let mut writer = StreamWriter::try_new_with_options(buffer, &batch.schema(), options)?;
    writer.write(batch)?;
    writer.finish()?;
    writer.into_inner()
}

/// Reads a cell back. Only a batch that becomes rows, or one that is a row too large, needs this.
fn value_at(array: &ArrayRef, column: &Column, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    read(array.as_ref(), column.data_type, row).unwrap_or(Value::Null)
}

/// The cells of a batch that a builder of these columns wrote.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn rows_of(
    stream: &[u8],
    columns: &[Column],
) -> std::result::Result<Vec<Row>, ArrowError> {
    let mut rows = Vec::new();
    for batch in arrow_ipc::reader::StreamReader::try_new(stream, None)? {
        let batch = batch?;
        let cells = || batch.columns().iter().zip(columns);
        rows.extend((0..batch.num_rows()).map(|row| {
            cells()
                .map(|(array, column)| value_at(array, column, row))
                .collect::<Row>()
        }));
    }
    Ok(rows)
}

/// None cannot happen: the array was made by the column's own builder.
fn read(array: &dyn Array, data_type: DataType, row: usize) -> Option<Value> {
    fn of<A: 'static>(array: &dyn Array) -> Option<&A> {
        array.as_any().downcast_ref()
    }
    let text = || Some(of::<StringArray>(array)?.value(row).to_owned());
    Some(match data_type {
        DataType::Boolean => Value::Boolean(of::<BooleanArray>(array)?.value(row)),
        DataType::Int64 => Value::Int64(of::<Int64Array>(array)?.value(row)),
        DataType::Uint64 => Value::Uint64(of::<UInt64Array>(array)?.value(row)),
        DataType::Float64 => Value::Float64(of::<Float64Array>(array)?.value(row)),
        DataType::Decimal => Value::Decimal(text()?),
        DataType::Text => Value::Text(text()?),
        DataType::Json => Value::Json(text()?),
        DataType::Bytes => Value::Bytes(of::<BinaryArray>(array)?.value(row).to_vec()),
        DataType::Date => Value::Date(of::<Date32Array>(array)?.value(row)),
        DataType::Time => Value::Time(
            of::<Time64MicrosecondArray>(array)?
                .value(row)
                .cast_unsigned(),
        ),
        DataType::Timestamp => Value::Timestamp(of::<TimestampMicrosecondArray>(array)?.value(row)),
        DataType::TimestampUtc => {
            Value::TimestampUtc(of::<TimestampMicrosecondArray>(array)?.value(row))
        }
        DataType::Any => return None,
    })
}
