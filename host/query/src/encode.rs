//! Encodes results of DataFusion as the host's columns and batches, each type in one physical form.

use std::{fmt::Write as _, sync::Arc};

use datafusion::arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch, StringBuilder, StructArray},
    compute::{CastOptions, cast_with_options},
    datatypes::{DataType as Physical, Field, Schema, SchemaRef, TimeUnit},
    error::ArrowError,
    util::display::{ArrayFormatter, FormatOptions},
};

use super::{
    column_names::ColumnNames,
    decode::{NATIVE, PHYSICAL, TYPE},
};
use mindhost_base::error::{Blame, Code, Error, Result};
use mindhost_plugin_api::{Column, DataType};

/// A failed cast is an error, not NULL.
const CHECKED: CastOptions = CastOptions {
    safe: false,
    format_options: FormatOptions::new(),
};
/// Nesting depth of a value.
const MAX_DEPTH: usize = 32;

/// Encodes the batches of one result.
pub struct ResultEncoder {
    /// The columns of the result.
    pub columns: Arc<[Column]>,
    schema: SchemaRef,
}

impl ResultEncoder {
    /// An encoder for a schema, whose columns are shown by these names.
    pub fn of(schema: &Schema, names: &ColumnNames) -> Self {
        let count = schema.fields().len();
        let shown = |(place, field): (usize, &Arc<Field>)| {
            let column = column(field);
            Column {
                name: names.shown(&column.name, place, count).into_owned(),
                ..column
            }
        };
        let columns: Arc<[Column]> = schema.fields().iter().enumerate().map(shown).collect();
        let fields = columns
            .iter()
            .map(|column| Field::new(&column.name, physical(column.data_type), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Self { columns, schema }
    }

    /// Encodes a batch.
    pub fn batch(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let arrays = batch.columns().iter().zip(self.schema.fields());
        let arrays = arrays.map(|(array, field)| converted(array, field.data_type()));
        RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect::<Result<_>>()?)
            .map_err(Error::internal)
    }
}

fn column(field: &Field) -> Column {
    let is_json = field.metadata().get(TYPE).is_some_and(|of| of == "json");
    let data_type = match data_type(field.data_type()) {
        DataType::Text if is_json => DataType::Json,
        data_type => data_type,
    };
    let own = field.data_type().to_string();
    let about = field.metadata();
    let is_cast = about.get(PHYSICAL).is_some_and(|read| *read != own);
    let native = about.get(NATIVE).filter(|_| !is_cast).cloned();
    Column {
        name: field.name().clone(),
        data_type,
        native_type: native.unwrap_or(own),
        nullable: true,
    }
}

fn data_type(physical: &Physical) -> DataType {
    match physical {
        Physical::Boolean => DataType::Boolean,
        Physical::Int8 | Physical::Int16 | Physical::Int32 | Physical::Int64 => DataType::Int64,
        Physical::UInt8 | Physical::UInt16 | Physical::UInt32 | Physical::UInt64 => {
            DataType::Uint64
        }
        Physical::Float16 | Physical::Float32 | Physical::Float64 => DataType::Float64,
        Physical::Decimal32(..)
        | Physical::Decimal64(..)
        | Physical::Decimal128(..)
        | Physical::Decimal256(..) => DataType::Decimal,
        Physical::Binary
        | Physical::LargeBinary
        | Physical::BinaryView
        | Physical::FixedSizeBinary(_) => DataType::Bytes,
        Physical::Date32 => DataType::Date,
        Physical::Time32(_) | Physical::Time64(_) => DataType::Time,
        Physical::Date64 | Physical::Timestamp(_, None) => DataType::Timestamp,
        Physical::Timestamp(_, Some(_)) => DataType::TimestampUtc,
        Physical::Dictionary(_, values) => data_type(values),
        nested if nested.is_nested() => DataType::Json,
        // Text, and types that the host does not have: NULL, intervals.
        _ => DataType::Text,
    }
}

fn physical(data_type: DataType) -> Physical {
    match data_type {
        DataType::Boolean => Physical::Boolean,
        DataType::Int64 => Physical::Int64,
        DataType::Uint64 => Physical::UInt64,
        DataType::Float64 => Physical::Float64,
        DataType::Bytes => Physical::Binary,
        DataType::Date => Physical::Date32,
        DataType::Time => Physical::Time64(TimeUnit::Microsecond),
        DataType::Timestamp => Physical::Timestamp(TimeUnit::Microsecond, None),
        DataType::TimestampUtc => Physical::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        DataType::Decimal | DataType::Text | DataType::Json | DataType::Any => Physical::Utf8,
    }
}

fn converted(array: &ArrayRef, wanted: &Physical) -> Result<ArrayRef> {
    let found = array.data_type();
    if found == wanted {
        return Ok(Arc::clone(array));
    }
    if found.is_nested() {
        return json(array);
    }
    match found {
        Physical::Interval(_) | Physical::Duration(_) => shown(array),
        _ => cast_with_options(array, wanted, &CHECKED).map_err(|error| match wanted {
            Physical::Utf8 | Physical::Binary => too_large(error),
            _ => Error::new(
                Code::SqlInvalid,
                format!("a value of the result is out of the range of its type: {error}"),
            )
            .blamed(Blame::Upstream),
        }),
    }
}

/// The error of a batch whose text exceeds 32-bit offsets.
fn too_large(error: ArrowError) -> Error {
    Error::new(
        Code::ResultTooLarge,
        "the values of the result are too large; select less of them",
    )
    .with_source(error)
}

fn shown(array: &ArrayRef) -> Result<ArrayRef> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options).map_err(Error::internal)?;
    let mut texts = StringBuilder::new();
    for row in 0..array.len() {
        match array.is_null(row) {
            true => texts.append_null(),
            false => texts.append_value(formatter.value(row).to_string()),
        }
    }
    Ok(Arc::new(texts.finish()))
}

/// Encodes lists, structs and maps as JSON.
fn json(array: &ArrayRef) -> Result<ArrayRef> {
    let mut texts = StringBuilder::new();
    let mut text = String::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            texts.append_null();
            continue;
        }
        text.clear();
        write_json(array.as_ref(), row, 0, &mut text)?;
        texts.append_value(&text);
    }
    Ok(Arc::new(texts.finish()))
}

fn write_json(array: &dyn Array, row: usize, depth: usize, text: &mut String) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(Error::new(
            Code::ResultTooLarge,
            "a value of the result is nested too deeply",
        ));
    }
    if array.is_null(row) {
        text.push_str("null");
        return Ok(());
    }
    match array.data_type() {
        Physical::List(_) => write_items(&array.as_list::<i32>().value(row), depth, text),
        Physical::LargeList(_) => write_items(&array.as_list::<i64>().value(row), depth, text),
        Physical::FixedSizeList(..) => {
            write_items(&array.as_fixed_size_list().value(row), depth, text)
        }
        Physical::Struct(_) => write_fields(array.as_struct(), row, depth, text),
        Physical::Map(..) => {
            let entries: ArrayRef = Arc::new(array.as_map().value(row));
            write_items(&entries, depth, text)
        }
        plain => write_plain(array, row, plain, text),
    }
}

fn write_items(items: &ArrayRef, depth: usize, text: &mut String) -> Result<()> {
    text.push('[');
    for index in 0..items.len() {
        if index > 0 {
            text.push(',');
        }
        write_json(items.as_ref(), index, depth + 1, text)?;
    }
    text.push(']');
    Ok(())
}

fn write_fields(array: &StructArray, row: usize, depth: usize, text: &mut String) -> Result<()> {
    text.push('{');
    for (index, (name, values)) in array.column_names().iter().zip(array.columns()).enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&serde_json::Value::from(*name).to_string());
        text.push(':');
        write_json(values.as_ref(), row, depth + 1, text)?;
    }
    text.push('}');
    Ok(())
}

fn write_plain(array: &dyn Array, row: usize, of: &Physical, text: &mut String) -> Result<()> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options).map_err(Error::internal)?;
    let value = formatter.value(row);
    let shown = value.to_string();
    let is_number = matches!(of, Physical::Boolean) || of.is_integer() || of.is_floating();
    // JSON has no NaN and no infinities.
    match is_number && serde_json::from_str::<serde::de::IgnoredAny>(&shown).is_ok() {
        true => write!(text, "{shown}").map_err(Error::internal),
        false => {
            text.push_str(&serde_json::Value::from(shown).to_string());
            Ok(())
        }
    }
}
