//! Decodes batches of a source to DataFusion's types. Decimals change from text to numbers, and text to views.

use std::{collections::HashMap, sync::Arc};

use datafusion::arrow::{
    array::{
        ArrayRef, AsArray, BinaryViewBuilder, BooleanBuilder, Date32Builder, Decimal128Array,
        Float64Builder, Int64Builder, RecordBatch, RecordBatchOptions, StringViewBuilder,
        Time64MicrosecondBuilder, TimestampMicrosecondBuilder, UInt64Builder,
    },
    compute::cast,
    datatypes::{
        DECIMAL128_MAX_PRECISION, DataType as Physical, Field, Schema, SchemaRef, TimeUnit,
    },
    temporal_conversions::{date32_to_datetime, time64us_to_time, timestamp_us_to_datetime},
};

use mindhost_base::error::{Blame, Code, Error, Result};
use mindhost_plugin_api::{Batch, Column, DataType, Value};

/// Precision and scale of a decimal whose type does not say.
const DEFAULT_DECIMAL: (u8, i8) = (DECIMAL128_MAX_PRECISION, 10);
/// Metadata key of a field: the data type of its column.
pub const TYPE: &str = "mindhost.type";
/// Metadata key of a field: the native type of its column.
pub const NATIVE: &str = "mindhost.native";
/// Metadata key of a field: the type that it has here. A cast keeps the metadata, and has another type.
pub const PHYSICAL: &str = "mindhost.physical";

/// Converts columns to fields. All are nullable, whatever the source says.
pub fn schema(columns: &[Column]) -> SchemaRef {
    let fields = columns.iter().map(|column| {
        let mut about = HashMap::new();
        if column.data_type == DataType::Json {
            about.insert(TYPE.to_owned(), String::from("json"));
        }
        let physical = physical(column);
        if !column.native_type.is_empty() {
            about.insert(NATIVE.to_owned(), column.native_type.clone());
            about.insert(PHYSICAL.to_owned(), physical.to_string());
        }
        Field::new(&column.name, physical, true).with_metadata(about)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn physical(column: &Column) -> Physical {
    match column.data_type {
        DataType::Boolean => Physical::Boolean,
        DataType::Int64 => Physical::Int64,
        DataType::Uint64 => Physical::UInt64,
        DataType::Float64 => Physical::Float64,
        DataType::Decimal => {
            let (digits, scale) = decimal(&column.native_type);
            Physical::Decimal128(digits, scale)
        }
        // Views, so that a row that a join repeats is not copied; see `pieces`.
        DataType::Text | DataType::Json | DataType::Any => Physical::Utf8View,
        DataType::Bytes => Physical::BinaryView,
        DataType::Date => Physical::Date32,
        DataType::Time => Physical::Time64(TimeUnit::Microsecond),
        DataType::Timestamp => Physical::Timestamp(TimeUnit::Microsecond, None),
        DataType::TimestampUtc => Physical::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

/// Precision and scale of a type such as `decimal(12,2)` or `Nullable(Decimal(12, 2))`.
fn decimal(native: &str) -> (u8, i8) {
    let inner = native
        .rsplit_once('(')
        .and_then(|(_, rest)| rest.split_once(')'));
    let Some((inner, _)) = inner else {
        return DEFAULT_DECIMAL;
    };
    let (digits, scale) = inner.split_once(',').unwrap_or((inner, "0"));
    match (digits.trim().parse::<u8>(), scale.trim().parse::<u8>()) {
        (Ok(digits @ 1..=DECIMAL128_MAX_PRECISION), Ok(scale)) if scale <= digits => {
            (digits, i8::try_from(scale).unwrap_or_default())
        }
        _ => DEFAULT_DECIMAL,
    }
}

/// Decodes a batch to `schema`, which has no columns if only the number of rows counts.
pub fn batch(batch: Batch, columns: &[Column], schema: &SchemaRef) -> Result<RecordBatch> {
    let rows = batch.rows();
    let arrays: Vec<ArrayRef> = if schema.fields().is_empty() {
        Vec::new()
    } else {
        match batch {
            Batch::Arrow(batch) => columns
                .iter()
                .zip(batch.columns())
                .map(|(column, values)| match column.data_type {
                    DataType::Decimal => decimals(column, values.as_string::<i32>().iter()),
                    DataType::Text | DataType::Json | DataType::Any | DataType::Bytes => {
                        cast(values, &physical(column)).map_err(Error::internal)
                    }
                    _ => Ok(Arc::clone(values)),
                })
                .collect::<Result<_>>()?,
            Batch::Rows(rows) => columns
                .iter()
                .enumerate()
                .map(|(index, column)| of_rows(column, &rows, index))
                .collect::<Result<_>>()?,
        }
    };
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
        .map_err(|error| violation("a batch that does not fit its columns").with_source(error))
}

fn violation(what: impl std::fmt::Display) -> Error {
    Error::new(
        Code::PluginError,
        format!("the plugin broke its contract: {what}"),
    )
    .blamed(Blame::Plugin)
}

fn decimals<'a>(column: &Column, texts: impl Iterator<Item = Option<&'a str>>) -> Result<ArrayRef> {
    let (digits, scale) = decimal(&column.native_type);
    let value = |text: Option<&str>| match text {
        None => Ok(None),
        Some(text) => parse_decimal(text, digits, scale).map(Some).ok_or_else(|| {
            violation(format_args!(
                "a value of `{}` does not fit decimal({digits},{scale})",
                column.name
            ))
        }),
    };
    let values: Vec<Option<i128>> = texts.map(value).collect::<Result<_>>()?;
    let array = Decimal128Array::from(values)
        .with_precision_and_scale(digits, scale)
        .map_err(Error::internal)?;
    Ok(Arc::new(array))
}

/// Parses a decimal as a multiple of its last place; `None` if digits would be lost.
pub fn parse_decimal(text: &str, digits: u8, scale: i8) -> Option<i128> {
    let (negative, text) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut value: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        let digit = char::from(digit).to_digit(10)?;
        value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
    }
    let mut shift = i32::from(scale) + exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    while shift > 0 && value != 0 {
        value = value.checked_mul(10)?;
        shift -= 1;
    }
    while shift < 0 && value != 0 {
        if value % 10 != 0 {
            return None;
        }
        value /= 10;
        shift += 1;
    }
    let fits = value < 10_i128.checked_pow(u32::from(digits))?;
    fits.then_some(if negative { -value } else { value })
}

/// Formats a multiple of the last place.
pub fn decimal_text(value: i128, scale: i8) -> Option<String> {
    let scale = usize::try_from(scale).ok()?;
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if value < 0 { "-" } else { "" };
    Some(match fraction {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    })
}

/// Decodes one column of plain rows.
pub fn of_rows(column: &Column, rows: &[Vec<Value>], index: usize) -> Result<ArrayRef> {
    let cells = || {
        rows.iter()
            .map(|row| row.get(index).unwrap_or(&Value::Null))
    };
    macro_rules! build {
        ($builder:expr, $($variant:pat => $value:expr),+) => {{
            let mut builder = $builder;
            for cell in cells() {
                match cell {
                    Value::Null => builder.append_null(),
                    $($variant => builder.append_value($value),)+
                    _ => return Err(unfit(column)),
                }
            }
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    Ok(match column.data_type {
        DataType::Boolean => build!(BooleanBuilder::new(), Value::Boolean(value) => *value),
        DataType::Int64 => build!(Int64Builder::new(), Value::Int64(value) => *value),
        DataType::Uint64 => build!(UInt64Builder::new(), Value::Uint64(value) => *value),
        DataType::Float64 => build!(Float64Builder::new(), Value::Float64(value) => *value),
        DataType::Text => build!(StringViewBuilder::new(), Value::Text(text) => text),
        DataType::Json => build!(StringViewBuilder::new(), Value::Json(text) => text),
        DataType::Bytes => build!(BinaryViewBuilder::new(), Value::Bytes(bytes) => bytes),
        DataType::Date => build!(Date32Builder::new(), Value::Date(days) => *days),
        DataType::Time => build!(
            Time64MicrosecondBuilder::new(),
            Value::Time(micros) => i64::try_from(*micros).unwrap_or_default()
        ),
        DataType::Timestamp => {
            build!(TimestampMicrosecondBuilder::new(), Value::Timestamp(micros) => *micros)
        }
        DataType::TimestampUtc => build!(
            TimestampMicrosecondBuilder::new().with_timezone("UTC"),
            Value::TimestampUtc(micros) => *micros
        ),
        DataType::Any => {
            let mut texts = StringViewBuilder::new();
            cells().for_each(|cell| texts.append_option(text_of(cell)));
            Arc::new(texts.finish())
        }
        DataType::Decimal => {
            let texts: Vec<Option<&str>> = cells()
                .map(|cell| match cell {
                    Value::Null => Ok(None),
                    Value::Decimal(text) => Ok(Some(text.as_str())),
                    _ => Err(unfit(column)),
                })
                .collect::<Result<_>>()?;
            decimals(column, texts.into_iter())?
        }
    })
}

fn unfit(column: &Column) -> Error {
    violation(format_args!(
        "a value of `{}` that its column cannot hold",
        column.name
    ))
}

/// The text of a value in a column of any type.
pub fn text_of(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Boolean(value) => value.to_string(),
        Value::Int64(value) => value.to_string(),
        Value::Uint64(value) => value.to_string(),
        Value::Float64(value) => value.to_string(),
        Value::Decimal(text) | Value::Text(text) | Value::Json(text) | Value::Other(text) => {
            text.clone()
        }
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Date(days) => {
            date32_to_datetime(*days).map_or_else(|| days.to_string(), |at| at.date().to_string())
        }
        Value::Time(micros) => i64::try_from(*micros)
            .ok()
            .and_then(time64us_to_time)
            .map_or_else(|| micros.to_string(), |at| at.to_string()),
        Value::Timestamp(micros) => moment(*micros),
        Value::TimestampUtc(micros) => moment(*micros) + "Z",
    })
}

/// Formats a timestamp (`2024-02-29T12:00:00`); a number if it is outside of the calendar.
fn moment(micros: i64) -> String {
    timestamp_us_to_datetime(micros).map_or_else(|| micros.to_string(), |at| format!("{at:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_type_has_precision_and_scale() {
        assert_eq!(decimal("decimal(12,2)"), (12, 2));
        assert_eq!(decimal("NUMERIC(5)"), (5, 0));
        assert_eq!(decimal("Nullable(Decimal(38, 20))"), (38, 20));
        for other in [
            "",
            "decimal",
            "decimal(0,0)",
            "decimal(39,2)",
            "decimal(2,3)",
            "decimal(x)",
        ] {
            assert_eq!(decimal(other), DEFAULT_DECIMAL, "{other}");
        }
    }

    #[test]
    fn time_in_column_of_any_type_becomes_text() {
        for (value, text) in [
            (Value::Date(19_782), "2024-02-29"),
            (Value::Time(43_200_000_000), "12:00:00"),
            (
                Value::Timestamp(1_709_208_000_500_000),
                "2024-02-29T12:00:00.500",
            ),
            (Value::TimestampUtc(0), "1970-01-01T00:00:00Z"),
        ] {
            assert_eq!(text_of(&value).as_deref(), Some(text));
        }
    }

    #[test]
    fn decimal_that_would_lose_digits_is_refused() {
        let parse = |text| parse_decimal(text, 5, 2);
        assert_eq!(parse("-12.50"), Some(-1250));
        assert_eq!(parse("12.500"), Some(1250));
        assert_eq!(parse("1e2"), Some(10_000));
        assert_eq!(parse("125E-1"), Some(1250));
        for lost in ["12.505", "1000", "NaN", "Infinity", "1e400000000", "1e-9"] {
            assert_eq!(parse(lost), None, "{lost}");
        }
        assert_eq!(parse("0e999999999"), Some(0));
        assert_eq!(decimal_text(-5, 2).as_deref(), Some("-0.05"));
        assert_eq!(decimal_text(1250, 0).as_deref(), Some("1250"));
    }
}
