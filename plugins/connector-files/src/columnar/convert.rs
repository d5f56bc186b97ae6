//! Arrays in the physical types of the contract.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, new_null_array};
use arrow_schema::{DataType as Arrow, TimeUnit};
use mindhost_sdk::{Column, DataType, double_of_single};

use super::kind::{self, Mark, digits};
use super::{decimal_text, json};

const DAY_MICROS: i64 = 86_400_000_000;
const DAY_MILLIS: i64 = 86_400_000;

/// What is wrong with a value.
pub type Converted = Result<ArrayRef, String>;

/// The physical type of a column in a batch for the host.
pub fn physical(data_type: DataType) -> Arrow {
    match data_type {
        DataType::Boolean => Arrow::Boolean,
        DataType::Int64 => Arrow::Int64,
        DataType::Uint64 => Arrow::UInt64,
        DataType::Float64 => Arrow::Float64,
        DataType::Bytes => Arrow::Binary,
        DataType::Date => Arrow::Date32,
        DataType::Time => Arrow::Time64(TimeUnit::Microsecond),
        DataType::Timestamp => Arrow::Timestamp(TimeUnit::Microsecond, None),
        DataType::TimestampUtc => Arrow::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        DataType::Decimal | DataType::Text | DataType::Json | DataType::Any => Arrow::Utf8,
    }
}

/// An array of a file in the type of its column; decimals stay numbers, of the column's digits.
pub fn normal(array: &ArrayRef, column: &Column, mark: Mark) -> Converted {
    let found = array.data_type();
    if let Arrow::Dictionary(..) = found {
        return normal(&without_dictionary(array)?, column, mark);
    }
    if *found == Arrow::Null {
        let wanted = match column.data_type {
            DataType::Decimal => Arrow::Decimal128(digits(column).0, digits(column).1),
            data_type => physical(data_type),
        };
        return Ok(new_null_array(&wanted, array.len()));
    }
    match column.data_type {
        DataType::Boolean if *found == Arrow::Boolean => Ok(Arc::clone(array)),
        DataType::Int64 => match (found, kind::duration(column)) {
            (Arrow::Duration(from), Some(to)) => duration(array, *from, to),
            (_, None) => int64(array),
            _ => Err(unfit(array)),
        },
        DataType::Uint64 if *found == Arrow::UInt64 => Ok(Arc::clone(array)),
        DataType::Float64 => float64(array),
        DataType::Decimal => decimal(array, column),
        DataType::Text => text(array, mark),
        DataType::Json => json::documents(array),
        DataType::Bytes => bytes(array),
        DataType::Date => date(array),
        DataType::Time => time(array),
        DataType::Timestamp => timestamp(array, None),
        DataType::TimestampUtc => timestamp(array, Some("UTC".into())),
        _ => Err(unfit(array)),
    }
}

/// As [`normal`], for comparisons. A time may be outside of its day: a condition can leave it out.
pub fn comparable(array: &ArrayRef, column: &Column, mark: Mark) -> Converted {
    match (column.data_type, array.data_type()) {
        (DataType::Time, Arrow::Time32(_) | Arrow::Time64(_)) => Ok(Arc::new(micros(array)?)),
        _ => normal(array, column, mark),
    }
}

/// An array of [`normal`] as the host takes it: decimals are texts there.
pub fn wire(array: ArrayRef) -> Converted {
    let Some(decimals) = array.as_primitive_opt::<Decimal128Type>() else {
        return Ok(array);
    };
    let scale = match decimals.data_type() {
        Arrow::Decimal128(_, scale) => *scale,
        _ => 0,
    };
    Ok(Arc::new(decimal_text::texts(decimals, scale)?))
}

/// The error of an array that another column has in the sample.
fn unfit(array: &ArrayRef) -> String {
    format!(
        "has the type {} here, and another in other files",
        array.data_type()
    )
}

fn without_dictionary(array: &ArrayRef) -> Converted {
    let dictionary = array.as_any_dictionary_opt().ok_or_else(|| unfit(array))?;
    arrow_select::take::take(dictionary.values(), dictionary.keys(), None)
        .map_err(|error| error.to_string())
}

fn widened<From, To>(array: &ArrayRef) -> Converted
where
    From: ArrowPrimitiveType,
    To: ArrowPrimitiveType,
    To::Native: std::convert::From<From::Native>,
{
    let array = array
        .as_primitive_opt::<From>()
        .ok_or_else(|| unfit(array))?;
    Ok(Arc::new(array.unary::<_, To>(To::Native::from)))
}

fn int64(array: &ArrayRef) -> Converted {
    match array.data_type() {
        Arrow::Int64 => Ok(Arc::clone(array)),
        Arrow::Int8 => widened::<Int8Type, Int64Type>(array),
        Arrow::Int16 => widened::<Int16Type, Int64Type>(array),
        Arrow::Int32 => widened::<Int32Type, Int64Type>(array),
        Arrow::UInt8 => widened::<UInt8Type, Int64Type>(array),
        Arrow::UInt16 => widened::<UInt16Type, Int64Type>(array),
        Arrow::UInt32 => widened::<UInt32Type, Int64Type>(array),
        _ => Err(unfit(array)),
    }
}

/// Durations as numbers of the column's unit, which is the finest of its files.
fn duration(array: &ArrayRef, from: TimeUnit, to: TimeUnit) -> Converted {
    let factor = kind::per_second(to) / kind::per_second(from);
    match from {
        _ if factor == 0 => Err(unfit(array)),
        TimeUnit::Second => times::<DurationSecondType>(array, factor),
        TimeUnit::Millisecond => times::<DurationMillisecondType>(array, factor),
        TimeUnit::Microsecond => times::<DurationMicrosecondType>(array, factor),
        TimeUnit::Nanosecond => times::<DurationNanosecondType>(array, factor),
    }
}

fn times<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef, factor: i64) -> Converted {
    let array = array.as_primitive_opt::<T>().ok_or_else(|| unfit(array))?;
    let product = |value: i64| {
        let product = value.checked_mul(factor);
        product.ok_or_else(|| outside("duration"))
    };
    Ok(Arc::new(array.try_unary::<_, Int64Type, String>(product)?))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "other files of the table have floats in this column"
)]
fn float64(array: &ArrayRef) -> Converted {
    match array.data_type() {
        Arrow::Float64 => Ok(Arc::clone(array)),
        Arrow::Float32 => {
            let singles = array
                .as_primitive_opt::<Float32Type>()
                .ok_or_else(|| unfit(array))?;
            Ok(Arc::new(singles.unary::<_, Float64Type>(double_of_single)))
        }
        Arrow::Float16 => widened::<Float16Type, Float64Type>(array),
        _ => {
            let ints = int64(array)?;
            let ints = ints
                .as_primitive_opt::<Int64Type>()
                .ok_or_else(|| unfit(array))?;
            Ok(Arc::new(ints.unary::<_, Float64Type>(|value| value as f64)))
        }
    }
}

/// Decimals of the column's digits, exactly.
fn decimal(array: &ArrayRef, column: &Column) -> Converted {
    let (digits, scale) = digits(column);
    let (values, from): (PrimitiveArray<Decimal128Type>, i8) = match array.data_type() {
        Arrow::Decimal128(_, from) => (
            array
                .as_primitive_opt()
                .ok_or_else(|| unfit(array))?
                .clone(),
            *from,
        ),
        Arrow::Decimal32(_, from) => (ints128::<Decimal32Type>(array)?, *from),
        Arrow::Decimal64(_, from) => (ints128::<Decimal64Type>(array)?, *from),
        Arrow::Decimal256(_, from) => {
            let wide = array
                .as_primitive_opt::<Decimal256Type>()
                .ok_or_else(|| unfit(array))?;
            let narrow = wide
                .try_unary::<_, Decimal128Type, _>(|value| value.to_i128().ok_or_else(too_wide));
            (narrow?, *from)
        }
        _ => {
            let ints = int64(array)?;
            (ints128::<Int64Type>(&ints)?, 0)
        }
    };
    let shift = u32::try_from(i16::from(scale) - i16::from(from)).map_err(|_| unfit(array))?;
    let limit = 10i128.checked_pow(u32::from(digits)).ok_or_else(too_wide)?;
    let factor = 10i128.checked_pow(shift).ok_or_else(too_wide)?;
    let moved = |value: i128| {
        // A product of 128 bits is slow in the sandbox, and most files have the same digits.
        let moved = match factor {
            1 => Some(value),
            _ => value.checked_mul(factor),
        };
        moved
            .filter(|moved| moved.unsigned_abs() < limit.unsigned_abs())
            .ok_or_else(too_wide)
    };
    let moved = values.try_unary::<_, Decimal128Type, String>(moved)?;
    let typed = moved.with_precision_and_scale(digits, scale);
    typed
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| error.to_string())
}

fn ints128<T: ArrowPrimitiveType>(
    array: &ArrayRef,
) -> Result<PrimitiveArray<Decimal128Type>, String>
where
    T::Native: Into<i128>,
{
    let array = array.as_primitive_opt::<T>().ok_or_else(|| unfit(array))?;
    Ok(array.unary::<_, Decimal128Type>(Into::into))
}

fn too_wide() -> String {
    "has a value with more digits than its type".to_owned()
}

fn text(array: &ArrayRef, mark: Mark) -> Converted {
    match array.data_type() {
        Arrow::Utf8 => Ok(Arc::clone(array)),
        Arrow::FixedSizeBinary(16) if mark == Mark::Uuid => json::uuids(array),
        _ => json::plain_texts(array),
    }
}

fn bytes(array: &ArrayRef) -> Converted {
    let mut values = BinaryBuilder::with_capacity(array.len(), 0);
    match array.data_type() {
        Arrow::Binary => return Ok(Arc::clone(array)),
        Arrow::LargeBinary => array
            .as_binary::<i64>()
            .iter()
            .for_each(|value| values.append_option(value)),
        Arrow::BinaryView => array
            .as_binary_view()
            .iter()
            .for_each(|value| values.append_option(value)),
        Arrow::FixedSizeBinary(_) => {
            array
                .as_fixed_size_binary()
                .iter()
                .for_each(|value| values.append_option(value));
        }
        _ => return Err(unfit(array)),
    }
    Ok(Arc::new(values.finish()))
}

fn date(array: &ArrayRef) -> Converted {
    if let Some(millis) = array.as_primitive_opt::<Date64Type>() {
        let days = millis.try_unary::<_, Date32Type, String>(|millis| {
            i32::try_from(millis.div_euclid(DAY_MILLIS)).map_err(|_| outside("date"))
        });
        return Ok(Arc::new(days?));
    }
    match array.data_type() {
        Arrow::Date32 => Ok(Arc::clone(array)),
        _ => Err(unfit(array)),
    }
}

fn time(array: &ArrayRef) -> Converted {
    let micros = micros(array)?;
    let mut values = micros.iter().flatten();
    match values.find(|value| !(0..DAY_MICROS).contains(value)) {
        None => Ok(Arc::new(micros)),
        Some(value) => Err(json::no_time_of_day(value)),
    }
}

/// Microseconds since midnight, of any day.
fn micros(array: &ArrayRef) -> Result<PrimitiveArray<Time64MicrosecondType>, String> {
    Ok(match array.data_type() {
        Arrow::Time32(TimeUnit::Second) => array
            .as_primitive::<Time32SecondType>()
            .unary(|value| i64::from(value) * 1_000_000),
        Arrow::Time32(TimeUnit::Millisecond) => array
            .as_primitive::<Time32MillisecondType>()
            .unary(|value| i64::from(value) * 1_000),
        Arrow::Time64(TimeUnit::Microsecond) => {
            array.as_primitive::<Time64MicrosecondType>().clone()
        }
        Arrow::Time64(TimeUnit::Nanosecond) => array
            .as_primitive::<Time64NanosecondType>()
            .unary(|value| value.div_euclid(1_000)),
        _ => return Err(unfit(array)),
    })
}

/// Microseconds; smaller parts are cut off towards the past, so the order stays.
fn timestamp(array: &ArrayRef, zone: Option<Arc<str>>) -> Converted {
    let scaled = |factor: i64| {
        move |value: i64| {
            value
                .checked_mul(factor)
                .ok_or_else(|| outside("timestamp"))
        }
    };
    let micros: PrimitiveArray<TimestampMicrosecondType> = match array.data_type() {
        Arrow::Timestamp(TimeUnit::Second, _) => array
            .as_primitive::<TimestampSecondType>()
            .try_unary(scaled(1_000_000))?,
        Arrow::Timestamp(TimeUnit::Millisecond, _) => array
            .as_primitive::<TimestampMillisecondType>()
            .try_unary(scaled(1_000))?,
        Arrow::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().clone()
        }
        Arrow::Timestamp(TimeUnit::Nanosecond, _) => array
            .as_primitive::<TimestampNanosecondType>()
            .unary(|value| value.div_euclid(1_000)),
        _ => return Err(unfit(array)),
    };
    Ok(Arc::new(micros.with_timezone_opt(zone)))
}

fn outside(what: &str) -> String {
    format!("has a {what} outside of its range")
}
