//! Texts of values: nested ones as JSON, and those without a type of their own.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType,
    IntervalMonthDayNanoType, IntervalYearMonthType, Time64MicrosecondType,
    TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType as Arrow, IntervalUnit};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use mindhost_sdk::{Column, DataType, double_of_single};

use super::convert::{Converted, normal};
use super::decimal_text;
use super::kind::Mark;

/// The largest integer up to which a double has each one.
const EXACT: u128 = 1 << 53;

/// Values in each other, at most.
const MAX_DEPTH: usize = 64;
/// Bytes of all documents of one array, at most: what 32-bit offsets reach is more than the sandbox has.
const MAX_BYTES: usize = 96 << 20;

/// Nested values as JSON documents. A text is a document already, which is checked.
pub fn documents(array: &ArrayRef) -> Converted {
    let is_text = matches!(
        array.data_type(),
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View
    );
    let mut texts = StringBuilder::new();
    let mut text = String::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            texts.append_null();
            continue;
        }
        text.clear();
        match is_text {
            true => write_document(array, row, &mut text)?,
            false => write(array, row, 0, &mut text)?,
        }
        bounded(texts.values_slice().len() + text.len())?;
        texts.append_value(&text);
    }
    Ok(Arc::new(texts.finish()))
}

/// Texts of another width, and types that are shown as text: intervals, and decimals of more than 38 digits.
pub fn plain_texts(array: &ArrayRef) -> Converted {
    let mut texts = StringBuilder::with_capacity(array.len(), 0);
    let mut text = String::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            texts.append_null();
            continue;
        }
        text.clear();
        write_text(array, row, &mut text)?;
        bounded(texts.values_slice().len() + text.len())?;
        texts.append_value(&text);
    }
    Ok(Arc::new(texts.finish()))
}

/// Sixteen bytes as `123e4567-e89b-12d3-a456-426614174000`.
pub fn uuids(array: &ArrayRef) -> Converted {
    let values = array.as_fixed_size_binary();
    let mut texts = StringBuilder::with_capacity(values.len(), values.len() * 36);
    let mut text = String::new();
    for row in 0..values.len() {
        if values.is_null(row) {
            texts.append_null();
            continue;
        }
        text.clear();
        for (index, byte) in values.value(row).iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            put(&mut text, format_args!("{byte:02x}"));
        }
        texts.append_value(&text);
    }
    Ok(Arc::new(texts.finish()))
}

fn bounded(bytes: usize) -> Result<(), String> {
    match bytes <= MAX_BYTES {
        true => Ok(()),
        false => Err(format!(
            "has values of more than {} MiB in few rows",
            MAX_BYTES >> 20
        )),
    }
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = text.write_fmt(what);
}

fn put_decimal(text: &mut String, value: impl Into<i128>, scale: i8) {
    text.push_str(&decimal_text::text_of(value.into(), scale));
}

fn put_quoted(text: &mut String, value: &str) {
    text.push_str(&serde_json::Value::from(value).to_string());
}

fn write_document(array: &ArrayRef, row: usize, text: &mut String) -> Result<(), String> {
    write_text(array, row, text)?;
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(()),
        Err(_) => Err("has a value that is no JSON document".to_owned()),
    }
}

/// One value as JSON.
fn write(array: &ArrayRef, row: usize, depth: usize, text: &mut String) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("is nested more than {MAX_DEPTH} times"));
    }
    bounded(text.len())?;
    if array.is_null(row) || *array.data_type() == Arrow::Null {
        text.push_str("null");
        return Ok(());
    }
    match array.data_type() {
        Arrow::List(_) => write_items(&array.as_list::<i32>().value(row), depth, text),
        Arrow::LargeList(_) => write_items(&array.as_list::<i64>().value(row), depth, text),
        Arrow::FixedSizeList(..) => {
            write_items(&array.as_fixed_size_list().value(row), depth, text)
        }
        Arrow::Struct(_) => write_fields(array.as_struct(), row, depth, text),
        Arrow::Map(..) => write_entries(&array.as_map().value(row), depth, text),
        Arrow::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = key(dictionary.keys(), row).filter(|key| *key < dictionary.values().len());
            let key = key.ok_or("has a key outside of its dictionary")?;
            write(dictionary.values(), key, depth + 1, text)
        }
        _ => write_plain(array, row, text),
    }
}

/// One key of a dictionary. All of them at once would be made again for each value.
fn key(keys: &dyn Array, row: usize) -> Option<usize> {
    macro_rules! read {
        ($type:ty) => {
            Some(keys.as_primitive_opt::<$type>()?.value(row).as_usize())
        };
    }
    match keys.data_type() {
        Arrow::Int8 => read!(Int8Type),
        Arrow::Int16 => read!(Int16Type),
        Arrow::Int32 => read!(Int32Type),
        Arrow::Int64 => read!(Int64Type),
        Arrow::UInt8 => read!(UInt8Type),
        Arrow::UInt16 => read!(UInt16Type),
        Arrow::UInt32 => read!(UInt32Type),
        Arrow::UInt64 => read!(UInt64Type),
        _ => None,
    }
}

fn write_items(items: &ArrayRef, depth: usize, text: &mut String) -> Result<(), String> {
    text.push('[');
    for index in 0..items.len() {
        if index > 0 {
            text.push(',');
        }
        write(items, index, depth + 1, text)?;
    }
    text.push(']');
    Ok(())
}

fn write_fields(
    array: &StructArray,
    row: usize,
    depth: usize,
    text: &mut String,
) -> Result<(), String> {
    text.push('{');
    for (index, (name, values)) in array.column_names().iter().zip(array.columns()).enumerate() {
        if index > 0 {
            text.push(',');
        }
        put_quoted(text, name);
        text.push(':');
        write(values, row, depth + 1, text)?;
    }
    text.push('}');
    Ok(())
}

/// A map with texts for keys is an object; any other is a list of pairs.
fn write_entries(entries: &StructArray, depth: usize, text: &mut String) -> Result<(), String> {
    let (Some(keys), Some(values)) = (entries.columns().first(), entries.columns().get(1)) else {
        return Err("is a map without keys or values".to_owned());
    };
    let is_object = matches!(
        keys.data_type(),
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View
    );
    text.push(if is_object { '{' } else { '[' });
    for index in 0..entries.len() {
        if index > 0 {
            text.push(',');
        }
        if !is_object {
            text.push('[');
        }
        write(keys, index, depth + 1, text)?;
        text.push(if is_object { ':' } else { ',' });
        write(values, index, depth + 1, text)?;
        if !is_object {
            text.push(']');
        }
    }
    text.push(if is_object { '}' } else { ']' });
    Ok(())
}

fn write_plain(array: &ArrayRef, row: usize, text: &mut String) -> Result<(), String> {
    macro_rules! number {
        ($type:ty) => {{
            put(
                text,
                format_args!("{}", array.as_primitive::<$type>().value(row)),
            );
            Ok(())
        }};
    }
    // Programs that read JSON take numbers as doubles, which lose digits of these.
    macro_rules! long {
        ($type:ty) => {{
            let value = i128::from(array.as_primitive::<$type>().value(row));
            match value.unsigned_abs() <= EXACT {
                true => put(text, format_args!("{value}")),
                false => put(text, format_args!("\"{value}\"")),
            }
            Ok(())
        }};
    }
    macro_rules! float {
        ($type:ty, $widened:expr) => {{
            let value = $widened(array.as_primitive::<$type>().value(row));
            match value.is_finite() {
                true => text.push_str(&serde_json::Value::from(value).to_string()),
                // JSON has no NaN and no infinities. The host names those of a column so.
                false if value.is_nan() => text.push_str(r#""NaN""#),
                false if value > 0.0 => text.push_str(r#""Infinity""#),
                false => text.push_str(r#""-Infinity""#),
            }
            Ok(())
        }};
    }
    match array.data_type() {
        Arrow::Boolean => {
            put(text, format_args!("{}", array.as_boolean().value(row)));
            Ok(())
        }
        Arrow::Int8 => number!(Int8Type),
        Arrow::Int16 => number!(Int16Type),
        Arrow::Int32 => number!(Int32Type),
        Arrow::Int64 => long!(Int64Type),
        Arrow::UInt8 => number!(UInt8Type),
        Arrow::UInt16 => number!(UInt16Type),
        Arrow::UInt32 => number!(UInt32Type),
        Arrow::UInt64 => long!(UInt64Type),
        Arrow::Float16 => float!(Float16Type, f64::from),
        Arrow::Float32 => float!(Float32Type, double_of_single),
        Arrow::Float64 => float!(Float64Type, f64::from),
        _ => {
            let mut value = String::new();
            write_text(array, row, &mut value)?;
            put_quoted(text, &value);
            Ok(())
        }
    }
}

/// One value as text, without quotes.
fn write_text(array: &ArrayRef, row: usize, text: &mut String) -> Result<(), String> {
    match array.data_type() {
        Arrow::Utf8 => text.push_str(array.as_string::<i32>().value(row)),
        Arrow::LargeUtf8 => text.push_str(array.as_string::<i64>().value(row)),
        Arrow::Utf8View => text.push_str(array.as_string_view().value(row)),
        Arrow::Decimal32(_, scale) => {
            put_decimal(
                text,
                array.as_primitive::<Decimal32Type>().value(row),
                *scale,
            );
        }
        Arrow::Decimal64(_, scale) => {
            put_decimal(
                text,
                array.as_primitive::<Decimal64Type>().value(row),
                *scale,
            );
        }
        Arrow::Decimal128(_, scale) => {
            put_decimal(
                text,
                array.as_primitive::<Decimal128Type>().value(row),
                *scale,
            );
        }
        Arrow::Decimal256(_, scale) => {
            let value = array
                .as_primitive::<Decimal256Type>()
                .value(row)
                .to_string();
            let digits = value.strip_prefix('-');
            let is_negative = digits.is_some();
            let digits = digits.unwrap_or(&value);
            text.push_str(&decimal_text::placed(is_negative, digits, *scale));
        }
        Arrow::Interval(unit) => write_interval(array, *unit, row, text),
        Arrow::Date32 | Arrow::Date64 => write_normal(array, DataType::Date, row, text)?,
        Arrow::Time32(_) | Arrow::Time64(_) => write_normal(array, DataType::Time, row, text)?,
        Arrow::Timestamp(_, None) => write_normal(array, DataType::Timestamp, row, text)?,
        Arrow::Timestamp(_, Some(_)) => write_normal(array, DataType::TimestampUtc, row, text)?,
        Arrow::Duration(_) => write_normal(array, DataType::Int64, row, text)?,
        Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView | Arrow::FixedSizeBinary(_) => {
            let one = normal(
                &array.slice(row, 1),
                &Column::new("", DataType::Bytes),
                Mark::None,
            )?;
            // As the host writes those of a column.
            BASE64.encode_string(one.as_binary::<i32>().value(0), text);
        }
        other => {
            return Err(format!(
                "has values of the type {other}, which are not read"
            ));
        }
    }
    Ok(())
}

fn write_interval(array: &ArrayRef, unit: IntervalUnit, row: usize, text: &mut String) {
    match unit {
        IntervalUnit::YearMonth => {
            put(
                text,
                format_args!(
                    "P{}M",
                    array.as_primitive::<IntervalYearMonthType>().value(row)
                ),
            );
        }
        IntervalUnit::DayTime => {
            let value = array.as_primitive::<IntervalDayTimeType>().value(row);
            put(
                text,
                format_args!("P{}DT{}S", value.days, f64::from(value.milliseconds) / 1e3),
            );
        }
        IntervalUnit::MonthDayNano => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            let (seconds, nanos) = (
                value.nanoseconds / 1_000_000_000,
                value.nanoseconds % 1_000_000_000,
            );
            let sign = if value.nanoseconds < 0 { "-" } else { "" };
            let (seconds, nanos) = (seconds.unsigned_abs(), nanos.unsigned_abs());
            put(
                text,
                format_args!(
                    "P{}M{}DT{sign}{seconds}.{nanos:09}S",
                    value.months, value.days
                ),
            );
        }
    }
}

/// A date, time or timestamp as ISO 8601 writes it, from its form in the contract.
fn write_normal(
    array: &ArrayRef,
    data_type: DataType,
    row: usize,
    text: &mut String,
) -> Result<(), String> {
    let one = normal(
        &array.slice(row, 1),
        &Column::new("", data_type),
        Mark::None,
    )?;
    match data_type {
        DataType::Date => write_date(i64::from(one.as_primitive::<Date32Type>().value(0)), text),
        DataType::Time => write_time(one.as_primitive::<Time64MicrosecondType>().value(0), text),
        DataType::Int64 => put(
            text,
            format_args!("{}", one.as_primitive::<Int64Type>().value(0)),
        ),
        _ => {
            const DAY: i64 = 86_400_000_000;
            let micros = one.as_primitive::<TimestampMicrosecondType>().value(0);
            write_date(micros.div_euclid(DAY), text);
            text.push('T');
            write_time(micros.rem_euclid(DAY), text);
            if data_type == DataType::TimestampUtc {
                text.push('Z');
            }
        }
    }
    Ok(())
}

/// The civil date of a day, counted from 1970-01-01, in the Gregorian calendar.
fn write_date(days: i64, text: &mut String) {
    // Days since 0000-03-01, so that the leap day is the last of a year; an era has 400 years.
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, civil) = (
        day - (153 * month + 2) / 5 + 1,
        if month < 10 { month + 3 } else { month - 9 },
    );
    let year = year + era * 400 + i64::from(civil <= 2);
    put(text, format_args!("{year:04}-{civil:02}-{day:02}"));
}

/// What is wrong with a time that is none of a day, as 24:00:00 is not.
pub fn no_time_of_day(micros: i64) -> String {
    let mut text = String::new();
    if micros < 0 {
        text.push('-');
    }
    write_time(micros.saturating_abs(), &mut text);
    format!(
        "has the value {text}, and a time of day is at most 23:59:59.999999; exclude such rows with a condition, or do \
         not select the column"
    )
}

fn write_time(micros: i64, text: &mut String) {
    let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
    put(
        text,
        format_args!(
            "{:02}:{:02}:{:02}",
            seconds / 3_600,
            seconds / 60 % 60,
            seconds % 60
        ),
    );
    if rest > 0 {
        put(text, format_args!(".{rest:06}"));
    }
}
