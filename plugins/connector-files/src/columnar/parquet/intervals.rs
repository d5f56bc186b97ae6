//! Intervals: months, days and milliseconds in four bytes each.
//!
//! The reader of the `parquet` crate gives no months beside days. So it is told that intervals are plain bytes, which
//! become intervals here.

use std::sync::Arc;

use arrow_array::builder::IntervalMonthDayNanoBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::IntervalMonthDayNano;
use arrow_schema::{ArrowError, DataType as Arrow, Field, FieldRef, Fields};
use parquet::basic::{ConvertedType, Type as Physical};
use parquet::errors::Result as Read;
use parquet::schema::types::{ColumnDescriptor, Type, TypePtr};

const BYTES: i32 = 12;

/// Whether a leaf of a schema has intervals.
pub fn is_interval(leaf: &ColumnDescriptor) -> bool {
    leaf.converted_type() == ConvertedType::INTERVAL && leaf.type_length() == BYTES
}

/// A type of a schema with plain bytes in place of intervals.
///
/// # Errors
/// When the type cannot be built, which is a fault of the file.
pub fn as_bytes(of_file: &TypePtr) -> Read<TypePtr> {
    let info = of_file.get_basic_info();
    let id = info.has_id().then(|| info.id());
    if let Type::PrimitiveType { type_length, .. } = of_file.as_ref() {
        if info.converted_type() != ConvertedType::INTERVAL || *type_length != BYTES {
            return Ok(Arc::clone(of_file));
        }
        let bytes = Type::primitive_type_builder(info.name(), Physical::FIXED_LEN_BYTE_ARRAY)
            .with_repetition(info.repetition())
            .with_length(BYTES)
            .with_id(id)
            .build()?;
        return Ok(Arc::new(bytes));
    }
    let fields: Read<Vec<TypePtr>> = of_file.get_fields().iter().map(as_bytes).collect();
    let group = Type::group_type_builder(info.name())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_fields(fields?)
        .with_id(id);
    let group = match info.has_repetition() {
        true => group.with_repetition(info.repetition()),
        // The root of a schema has none.
        false => group,
    };
    Ok(Arc::new(group.build()?))
}

/// An array as the reader gives it, with intervals where `wanted` has them.
///
/// # Errors
/// When the array is not of such a type.
pub fn typed(array: &ArrayRef, wanted: &Arrow) -> Result<ArrayRef, ArrowError> {
    if !has_intervals(wanted) {
        return Ok(Arc::clone(array));
    }
    Ok(match (array.data_type(), wanted) {
        (Arrow::FixedSizeBinary(BYTES), Arrow::Interval(_)) => intervals(array),
        (Arrow::Struct(found), Arrow::Struct(wanted)) => {
            let objects = array.as_struct();
            let columns = objects.columns().iter().zip(wanted);
            let columns = columns.map(|(column, field)| typed(column, field.data_type()));
            let columns = columns.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
            let fields = found.iter().zip(&columns);
            let fields: Fields = fields.map(|(field, column)| of(field, column)).collect();
            let nulls = objects.nulls().cloned();
            Arc::new(StructArray::try_new(fields, columns, nulls)?)
        }
        (Arrow::List(found), Arrow::List(wanted)) => {
            let lists = array.as_list::<i32>();
            let values = typed(lists.values(), wanted.data_type())?;
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            Arc::new(ListArray::try_new(
                of(found, &values),
                offsets,
                values,
                nulls,
            )?)
        }
        (Arrow::Map(found, is_sorted), Arrow::Map(wanted, _)) => {
            let maps = array.as_map();
            let entries: ArrayRef = Arc::new(maps.entries().clone());
            let entries = typed(&entries, wanted.data_type())?;
            let (offsets, nulls) = (maps.offsets().clone(), maps.nulls().cloned());
            let field = of(found, &entries);
            let entries = entries.as_struct().clone();
            Arc::new(MapArray::try_new(
                field, offsets, entries, nulls, *is_sorted,
            )?)
        }
        (found, wanted) => {
            let message = format!("a column of {wanted} has values of {found}");
            return Err(ArrowError::SchemaError(message));
        }
    })
}

fn has_intervals(data_type: &Arrow) -> bool {
    match data_type {
        Arrow::Interval(_) => true,
        Arrow::Struct(fields) => fields.iter().any(|field| has_intervals(field.data_type())),
        Arrow::List(item) | Arrow::Map(item, _) => has_intervals(item.data_type()),
        _ => false,
    }
}

/// A field with the type of its new values.
fn of(field: &FieldRef, values: &ArrayRef) -> FieldRef {
    let field = Field::clone(field);
    Arc::new(field.with_data_type(values.data_type().clone()))
}

fn intervals(array: &ArrayRef) -> ArrayRef {
    let mut intervals = IntervalMonthDayNanoBuilder::with_capacity(array.len());
    for bytes in array.as_fixed_size_binary() {
        intervals.append_option(bytes.and_then(interval));
    }
    Arc::new(intervals.finish())
}

/// Milliseconds have no sign in Parquet. Some writers give one to months and days, which never need the last bit.
fn interval(bytes: &[u8]) -> Option<IntervalMonthDayNano> {
    let (months, rest) = bytes.split_first_chunk::<4>()?;
    let (days, rest) = rest.split_first_chunk::<4>()?;
    let millis = rest.first_chunk::<4>()?;
    Some(IntervalMonthDayNano::new(
        i32::from_le_bytes(*months),
        i32::from_le_bytes(*days),
        i64::from(u32::from_le_bytes(*millis)) * 1_000_000,
    ))
}
