//! The cells of a batch in either form, for the encoders.

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Float64Array, Int64Array, StringArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, UInt64Array, cast::AsArray,
};

use mindhost_plugin_api::{Column, DataType, Value};

/// One value, borrowed from its batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Null,
    Boolean(bool),
    Int64(i64),
    Uint64(u64),
    Float64(f64),
    Decimal(&'a str),
    Text(&'a str),
    Bytes(&'a [u8]),
    Date(i32),
    Time(u64),
    Timestamp(i64),
    TimestampUtc(i64),
    Json(&'a str),
}

impl<'a> From<&'a Value> for Cell<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Cell::Null,
            Value::Boolean(value) => Cell::Boolean(*value),
            Value::Int64(value) => Cell::Int64(*value),
            Value::Uint64(value) => Cell::Uint64(*value),
            Value::Float64(value) => Cell::Float64(*value),
            Value::Decimal(value) => Cell::Decimal(value),
            Value::Text(value) | Value::Other(value) => Cell::Text(value),
            Value::Bytes(value) => Cell::Bytes(value),
            Value::Date(value) => Cell::Date(*value),
            Value::Time(value) => Cell::Time(*value),
            Value::Timestamp(value) => Cell::Timestamp(*value),
            Value::TimestampUtc(value) => Cell::TimestampUtc(*value),
            Value::Json(value) => Cell::Json(value),
        }
    }
}

/// A column of an Arrow batch, downcast once per batch and not for each value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cells<'a> {
    Boolean(&'a BooleanArray),
    Int64(&'a Int64Array),
    Uint64(&'a UInt64Array),
    Float64(&'a Float64Array),
    Decimal(&'a StringArray),
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
    Date(&'a Date32Array),
    Time(&'a Time64MicrosecondArray),
    Timestamp(&'a TimestampMicrosecondArray),
    TimestampUtc(&'a TimestampMicrosecondArray),
    Json(&'a StringArray),
    /// Another physical type. Never occurs, because batches are checked when they enter.
    Unknown,
}

impl<'a> Cells<'a> {
    /// The cells of one column.
    pub fn of(column: &Column, array: &'a ArrayRef) -> Self {
        let cells = match column.data_type {
            DataType::Boolean => array.as_boolean_opt().map(Cells::Boolean),
            DataType::Int64 => array.as_primitive_opt().map(Cells::Int64),
            DataType::Uint64 => array.as_primitive_opt().map(Cells::Uint64),
            DataType::Float64 => array.as_primitive_opt().map(Cells::Float64),
            DataType::Decimal => array.as_string_opt().map(Cells::Decimal),
            DataType::Text => array.as_string_opt().map(Cells::Text),
            DataType::Bytes => array.as_binary_opt().map(Cells::Bytes),
            DataType::Date => array.as_primitive_opt().map(Cells::Date),
            DataType::Time => array.as_primitive_opt().map(Cells::Time),
            DataType::Timestamp => array.as_primitive_opt().map(Cells::Timestamp),
            DataType::TimestampUtc => array.as_primitive_opt().map(Cells::TimestampUtc),
            DataType::Json => array.as_string_opt().map(Cells::Json),
            DataType::Any => None,
        };
        cells.unwrap_or(Cells::Unknown)
    }

    /// The value of a row, which must be in the batch.
    #[inline]
    pub fn get(&self, row: usize) -> Cell<'a> {
        #[inline]
        fn valid<A: Array>(array: &A, row: usize) -> bool {
            array.nulls().is_none_or(|nulls| nulls.is_valid(row))
        }
        match *self {
            Cells::Boolean(array) if valid(array, row) => Cell::Boolean(array.value(row)),
            Cells::Int64(array) if valid(array, row) => Cell::Int64(array.value(row)),
            Cells::Uint64(array) if valid(array, row) => Cell::Uint64(array.value(row)),
            Cells::Float64(array) if valid(array, row) => Cell::Float64(array.value(row)),
            Cells::Decimal(array) if valid(array, row) => Cell::Decimal(array.value(row)),
            Cells::Text(array) if valid(array, row) => Cell::Text(array.value(row)),
            Cells::Bytes(array) if valid(array, row) => Cell::Bytes(array.value(row)),
            Cells::Date(array) if valid(array, row) => Cell::Date(array.value(row)),
            Cells::Time(array) if valid(array, row) => Cell::Time(array.value(row).unsigned_abs()),
            Cells::Timestamp(array) if valid(array, row) => Cell::Timestamp(array.value(row)),
            Cells::TimestampUtc(array) if valid(array, row) => Cell::TimestampUtc(array.value(row)),
            Cells::Json(array) if valid(array, row) => Cell::Json(array.value(row)),
            _ => Cell::Null,
        }
    }
}
