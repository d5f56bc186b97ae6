//! Converts schemas, rows and values of a guest.

use std::{collections::HashSet, sync::Arc};

use super::{each, name};
use crate::{bindings::types, host_errors::violation};
use mindhost_base::{
    config::PluginSettings,
    error::{Blame, Code, Error, Result},
};
use mindhost_plugin_api::{Column, DataType, Value};

/// Microseconds of a day; a time of day is less.
pub const DAY: u64 = 86_400_000_000;

/// The checked columns of a cursor, which all its batches must fit.
#[derive(Clone)]
pub struct Schema {
    /// At least one, and at most `plugins.max_columns`.
    pub columns: Arc<[Column]>,
    /// Columns with a type that the engine does not enforce: they may hold any value.
    dynamic: Arc<[bool]>,
}

impl Schema {
    /// Checks the schema of a cursor.
    pub fn new(columns: Vec<types::Column>, settings: &PluginSettings) -> Result<Self> {
        if columns.is_empty() || columns.len() > settings.max_columns as usize {
            return Err(violation(format_args!(
                "a result of {} columns",
                columns.len()
            )));
        }
        let is_dynamic = |column: &types::Column| {
            let mark = |(name, value): &(String, String)| name == "dynamic" && value == "true";
            column.extra.iter().any(mark)
        };
        let dynamic = columns.iter().map(is_dynamic).collect();
        let columns = each(columns, |column| {
            Ok(Column {
                name: name(column.name)?,
                data_type: data_type(column.data_type),
                native_type: name(column.native_type)?,
                nullable: column.nullable,
            })
        })?;
        Ok(Self {
            columns: columns.into(),
            dynamic,
        })
    }

    /// As [`Schema::new`], for a table that the host plans SQL with: each column has one type and a name of its own.
    pub fn of_table(columns: Vec<types::Column>, settings: &PluginSettings) -> Result<Self> {
        let schema = Self::new(columns, settings)?;
        if schema.dynamic.contains(&true) {
            return Err(violation(
                "a dynamic column, which only SQL connectors may have",
            ));
        }
        let mut names = HashSet::with_capacity(schema.columns.len());
        match schema
            .columns
            .iter()
            .all(|column| names.insert(column.name.as_str()))
        {
            true => Ok(schema),
            false => Err(violation("a table with two columns of one name")),
        }
    }

    fn accepts(&self, index: usize, value: &Value) -> bool {
        let declared = self.columns.get(index).map(|column| column.data_type);
        let natural = match value {
            Value::Null | Value::Other(_) => return true,
            Value::Boolean(_) => DataType::Boolean,
            Value::Int64(_) => DataType::Int64,
            Value::Uint64(_) => DataType::Uint64,
            Value::Float64(_) => DataType::Float64,
            Value::Decimal(_) => DataType::Decimal,
            Value::Text(_) => DataType::Text,
            Value::Bytes(_) => DataType::Bytes,
            Value::Date(_) => DataType::Date,
            Value::Time(_) => DataType::Time,
            Value::Timestamp(_) => DataType::Timestamp,
            Value::TimestampUtc(_) => DataType::TimestampUtc,
            Value::Json(_) => DataType::Json,
        };
        declared == Some(natural)
            || declared == Some(DataType::Any)
            || self.dynamic.get(index).copied().unwrap_or_default()
    }
}

fn data_type(guest: types::DataType) -> DataType {
    match guest {
        types::DataType::Boolean => DataType::Boolean,
        types::DataType::Int64 => DataType::Int64,
        types::DataType::Uint64 => DataType::Uint64,
        types::DataType::Float64 => DataType::Float64,
        types::DataType::Decimal => DataType::Decimal,
        types::DataType::Text => DataType::Text,
        types::DataType::Bytes => DataType::Bytes,
        types::DataType::Date => DataType::Date,
        types::DataType::Time => DataType::Time,
        types::DataType::Timestamp => DataType::Timestamp,
        types::DataType::TimestampUtc => DataType::TimestampUtc,
        types::DataType::Json => DataType::Json,
        types::DataType::Any => DataType::Any,
    }
}

/// The error of a guest that gave more rows than were asked for.
pub fn too_many(rows: usize, max_rows: u32) -> Error {
    violation(format_args!(
        "{rows} rows where at most {max_rows} were asked for"
    ))
}

/// Converts rows, and refuses too many, too large, or with values that do not fit their columns.
pub fn rows_batch(
    rows: Vec<Vec<types::Value>>,
    schema: &Schema,
    max_rows: u32,
    settings: &PluginSettings,
) -> Result<Vec<Vec<Value>>> {
    if rows.len() > max_rows as usize {
        return Err(too_many(rows.len(), max_rows));
    }
    let width = schema.columns.len();
    let single = rows.len() == 1;
    let mut bytes = 0usize;
    let rows = each(rows, |row| {
        if row.len() != width {
            return Err(violation(format_args!(
                "a row of {} values in a result of {width} columns",
                row.len()
            )));
        }
        let mut index = 0;
        each(row, |guest| {
            let (value, size) = value(guest, settings.max_cell_bytes as usize)?;
            if !schema.accepts(index, &value) {
                return Err(violation("a value of another type than its column's"));
            }
            index += 1;
            bytes += size;
            Ok(value)
        })
    })?;
    // A large row may come, but alone; the limit above it is wasmtime's own on what one call may copy.
    if !single && bytes > settings.max_batch_bytes as usize {
        return Err(violation(format_args!("a batch of {bytes} bytes")));
    }
    Ok(rows)
}

/// Converts a value. Returns it with its size in bytes.
fn value(guest: types::Value, max: usize) -> Result<(Value, usize)> {
    let sized = |text: &str| cell_size(text.len(), max);
    Ok(match guest {
        types::Value::Null => (Value::Null, 1),
        types::Value::Boolean(value) => (Value::Boolean(value), 1),
        types::Value::Int64(value) => (Value::Int64(value), 8),
        types::Value::Uint64(value) => (Value::Uint64(value), 8),
        types::Value::Float64(value) => (Value::Float64(value), 8),
        types::Value::Decimal(text) if !is_decimal(&text) => {
            return Err(violation("a decimal that is not a number"));
        }
        types::Value::Decimal(text) => {
            let size = sized(&text)?;
            (Value::Decimal(text), size)
        }
        types::Value::Text(text) => {
            let size = sized(&text)?;
            (Value::Text(text), size)
        }
        types::Value::Bytes(bytes) => {
            let size = cell_size(bytes.len(), max)?;
            (Value::Bytes(bytes), size)
        }
        types::Value::Date(days) => (Value::Date(days), 4),
        types::Value::Time(micros) if micros >= DAY => {
            return Err(violation("a time of day beyond the day"));
        }
        types::Value::Time(micros) => (Value::Time(micros), 8),
        types::Value::Timestamp(micros) => (Value::Timestamp(micros), 8),
        types::Value::TimestampUtc(micros) => (Value::TimestampUtc(micros), 8),
        types::Value::Json(text) if !is_json(&text) => {
            return Err(violation("a JSON value that is not JSON"));
        }
        types::Value::Json(text) => {
            let size = sized(&text)?;
            (Value::Json(text), size)
        }
        types::Value::Other(text) => {
            let size = sized(&text)?;
            (Value::Other(text), size)
        }
    })
}

/// The size if it is at most `max`, both in bytes; else `result_too_large`.
pub fn cell_size(size: usize, max: usize) -> Result<usize> {
    match size <= max {
        true => Ok(size),
        false => Err(Error::new(
            Code::ResultTooLarge,
            format!(
                "a value of {size} bytes is larger than plugins.max_cell_bytes ({max}); select less of it"
            ),
        )
        .blamed(Blame::Upstream)),
    }
}

/// Whether text is a decimal: `-12.50`, `1e10`, or one of the three special values of some engines.
pub fn is_decimal(text: &str) -> bool {
    let number = without_sign(text.as_bytes());
    if matches!(number, b"NaN" | b"Infinity") {
        return true;
    }
    let mut rest = after_digits(number);
    if let Some([b'.', fraction @ ..]) = rest {
        rest = after_digits(fraction);
    }
    if let Some([b'e' | b'E', exponent @ ..]) = rest {
        rest = after_digits(without_sign(exponent));
    }
    rest.is_some_and(<[u8]>::is_empty)
}

fn without_sign(number: &[u8]) -> &[u8] {
    match number {
        [b'-' | b'+', rest @ ..] => rest,
        _ => number,
    }
}

/// What follows the digits at the beginning. None if there is no digit.
fn after_digits(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.get(digits..).filter(|_| digits > 0)
}

/// Whether text is one JSON document.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_base::config::Config;

    fn settings() -> PluginSettings {
        PluginSettings {
            max_cell_bytes: 8,
            max_columns: 2,
            ..Config::defaults().unwrap().plugins.limits
        }
    }

    fn rows(rows: Vec<Vec<types::Value>>) -> Result<Vec<Vec<Value>>> {
        rows_of(types::DataType::Any, Vec::new(), rows)
    }

    fn rows_of(
        data_type: types::DataType,
        extra: Vec<(String, String)>,
        rows: Vec<Vec<types::Value>>,
    ) -> Result<Vec<Vec<Value>>> {
        let column = types::Column {
            name: String::from("c"),
            data_type,
            native_type: String::new(),
            nullable: true,
            extra,
        };
        rows_batch(
            rows,
            &Schema::new(vec![column], &settings())?,
            2,
            &settings(),
        )
    }

    #[test]
    fn a_value_has_the_type_of_its_column_unless_its_engine_does_not_enforce_types() {
        let text = || vec![vec![types::Value::Text("one".into())]];
        let int = types::DataType::Int64;
        let dynamic = vec![("dynamic".to_owned(), "true".to_owned())];
        assert!(rows_of(int, Vec::new(), text()).is_err());
        assert!(rows_of(int, dynamic, text()).is_ok());
        assert!(rows_of(int, Vec::new(), vec![vec![types::Value::Other("∞".into())]]).is_ok());
        assert!(rows_of(int, Vec::new(), vec![vec![types::Value::Null]]).is_ok());
    }

    #[test]
    fn rows_of_the_right_shape_pass() {
        let good = vec![
            vec![types::Value::Text("abc".into())],
            vec![types::Value::Null],
        ];
        assert_eq!(
            rows(good).unwrap(),
            [[Value::Text("abc".into())], [Value::Null]]
        );
    }

    #[test]
    fn wrong_widths_counts_and_values_are_violations() {
        let null = || types::Value::Null;
        for bad in [
            vec![vec![null(), null()]],
            vec![vec![null()], vec![null()], vec![null()]],
            vec![vec![types::Value::Time(DAY)]],
            vec![vec![types::Value::Decimal("1; drop".into())]],
            vec![vec![types::Value::Json("{".into())]],
        ] {
            assert_eq!(rows(bad).unwrap_err().code(), Code::PluginError);
        }
        let large = vec![vec![types::Value::Bytes(vec![0; 9])]];
        assert_eq!(rows(large).unwrap_err().code(), Code::ResultTooLarge);
    }

    #[test]
    fn decimals_are_numbers() {
        for good in [
            "0",
            "+1",
            "-12.50",
            "1e10",
            "1.5E-3",
            "NaN",
            "-NaN",
            "-Infinity",
        ] {
            assert!(is_decimal(good), "{good}");
        }
        for bad in [
            "", "-", "--1", "1.", ".5", "1.5.2", "1e", "1e5.3", "1e5e6", "1e--5", "0x1", "1,5",
            "nan", "1 ",
        ] {
            assert!(!is_decimal(bad), "{bad}");
        }
    }
}
