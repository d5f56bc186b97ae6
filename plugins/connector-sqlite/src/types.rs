//! From declared types to the types of the contract, and from stored values to cells.

use std::fmt::Write;

use mindhost_sdk::{BatchBuilder, Column, DataType, Error, Result, Value};
use rusqlite::Statement;
use rusqlite::types::ValueRef;

use crate::temporal;

/// The columns of a statement's answer. SQLite enforces no types, so each may hold what it does not declare.
pub fn columns(statement: &Statement<'_>) -> Vec<Column> {
    let column = |column: rusqlite::Column<'_>| {
        let native_type = column.decl_type().unwrap_or_default();
        let data_type = if column.decl_type().is_some() {
            data_type(native_type)
        } else {
            DataType::Any
        };
        Column::new(cut(column.name()), data_type)
            .native_type(native_type)
            .dynamic()
    };
    statement.columns().into_iter().map(column).collect()
}

/// An expression without an alias is named by its own text, which may be longer than a name may be.
fn cut(name: &str) -> &str {
    const LONGEST: usize = 4_096;
    name.get(..name.floor_char_boundary(LONGEST))
        .unwrap_or_default()
}

/// What a declared type promises: its own name first, then SQLite's rules of affinity.
pub fn data_type(declared: &str) -> DataType {
    let name = base_name(declared);
    match name.as_str() {
        "BOOLEAN" | "BOOL" => DataType::Boolean,
        "DATE" => DataType::Date,
        "DATETIME" | "TIMESTAMP" | "TIMESTAMP WITHOUT TIME ZONE" => DataType::Timestamp,
        "TIMESTAMPTZ" | "TIMESTAMP WITH TIME ZONE" => DataType::TimestampUtc,
        "TIME" | "TIME WITHOUT TIME ZONE" => DataType::Time,
        "JSON" | "JSONB" => DataType::Json,
        "DECIMAL" | "NUMERIC" | "NUMBER" | "DEC" | "MONEY" => DataType::Decimal,
        "UUID" | "STRING" => DataType::Text,
        "BINARY" | "VARBINARY" | "BYTEA" => DataType::Bytes,
        _ => by_affinity(&name),
    }
}

/// <https://www.sqlite.org/datatype3.html>, section 3.1; NUMERIC promises nothing, so it is `any` here.
fn by_affinity(name: &str) -> DataType {
    let contains = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if contains(&["INT"]) {
        DataType::Int64
    } else if contains(&["CHAR", "CLOB", "TEXT"]) {
        DataType::Text
    } else if contains(&["BLOB"]) {
        DataType::Bytes
    } else if contains(&["REAL", "FLOA", "DOUB"]) {
        DataType::Float64
    } else {
        DataType::Any
    }
}

/// `decimal (10, 2)` is `DECIMAL`: upper case, without what stands in brackets, single spaces.
fn base_name(declared: &str) -> String {
    let mut outside = declared.to_ascii_uppercase();
    if let (Some(open), Some(close)) = (outside.find('('), outside.rfind(')'))
        && open < close
    {
        outside.replace_range(open..=close, " ");
    }
    outside.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Puts stored values into a batch, as their columns declare them where they fit.
pub struct Cells {
    types: Vec<DataType>,
    max_cell_bytes: u64,
    scratch: String,
}

impl Cells {
    pub fn new(columns: &[Column], max_cell_bytes: u64) -> Self {
        let types = columns.iter().map(|column| column.data_type).collect();
        Self {
            types,
            max_cell_bytes,
            scratch: String::new(),
        }
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Appends the next value of a row. One that its column's type cannot hold keeps the type that it has.
    #[inline]
    pub fn append(
        &mut self,
        batch: &mut BatchBuilder,
        column: usize,
        value: ValueRef<'_>,
    ) -> Result<()> {
        let data_type = self.types[column];
        match value {
            ValueRef::Null => batch.append_null(),
            ValueRef::Integer(number) => self.append_integer(batch, data_type, number),
            ValueRef::Real(number) => self.append_real(batch, data_type, number),
            ValueRef::Text(bytes) => {
                self.check_size(bytes, batch, column)?;
                match std::str::from_utf8(bytes) {
                    Ok(text) => append_text(batch, data_type, text),
                    // SQLite stores what it is given; text that is none is handed on as the bytes that it is.
                    Err(_) => batch.append_bytes(bytes),
                }
            }
            ValueRef::Blob(bytes) => {
                self.check_size(bytes, batch, column)?;
                batch.append_bytes(bytes);
            }
        }
        Ok(())
    }

    fn append_integer(&mut self, batch: &mut BatchBuilder, data_type: DataType, number: i64) {
        // Beyond this a float has no place for every integer.
        const EXACT: i64 = 1 << 53;
        match data_type {
            DataType::Boolean if number == 0 || number == 1 => batch.append_bool(number == 1),
            DataType::Float64 if (-EXACT..=EXACT).contains(&number) => {
                batch.append_f64(number as f64)
            }
            DataType::Decimal => batch.append_decimal(self.format(number)),
            _ => batch.append_i64(number),
        }
    }

    fn append_real(&mut self, batch: &mut BatchBuilder, data_type: DataType, number: f64) {
        match data_type {
            // The shortest text that reads back as the same number: the digits that were stored.
            DataType::Decimal if number.is_finite() => batch.append_decimal(self.format(number)),
            _ => batch.append_f64(number),
        }
    }

    fn format(&mut self, number: impl std::fmt::Display) -> &str {
        self.scratch.clear();
        // Writing to a string cannot fail.
        let _ = write!(self.scratch, "{number}");
        &self.scratch
    }

    #[inline]
    fn check_size(&self, bytes: &[u8], batch: &BatchBuilder, column: usize) -> Result<()> {
        if bytes.len() as u64 <= self.max_cell_bytes {
            return Ok(());
        }
        let name = batch
            .columns()
            .get(column)
            .map_or("", |column| &column.name);
        let size = bytes.len() as u64;
        Err(Error::cell_too_large(name, size, self.max_cell_bytes))
    }
}

#[inline]
fn append_text(batch: &mut BatchBuilder, data_type: DataType, text: &str) {
    match data_type {
        DataType::Text => batch.append_text(text),
        DataType::Any => batch.append(Value::Text(text.to_owned())),
        _ => append_typed_text(batch, data_type, text),
    }
}

fn append_typed_text(batch: &mut BatchBuilder, data_type: DataType, text: &str) {
    let appended = match data_type {
        DataType::Date => temporal::date(text).map(|days| batch.append_date(days)),
        DataType::Time => temporal::time(text).map(|micros| batch.append_time(micros)),
        DataType::Timestamp => {
            temporal::timestamp(text).map(|micros| batch.append_timestamp(micros))
        }
        DataType::TimestampUtc => {
            temporal::timestamp_utc(text).map(|micros| batch.append_timestamp_utc(micros))
        }
        DataType::Decimal => is_decimal(text).then(|| batch.append_decimal(text)),
        DataType::Json => is_json(text).then(|| batch.append_json(text)),
        _ => None,
    };
    if appended.is_none() {
        batch.append_text(text);
    }
}

/// `-12.50`: digits with an optional sign and fraction, no exponent.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    [whole, fraction]
        .iter()
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_types_by_name_and_affinity() {
        let check = |declared: &str, expected: &str| {
            assert_eq!(data_type(declared).name(), expected, "{declared}")
        };
        check("INTEGER", "int64");
        check("UNSIGNED BIG INT", "int64");
        check("double precision", "float64");
        check("decimal (10, 2)", "decimal");
        check("VARCHAR(255)", "text");
        check("NATIVE CHARACTER(70)", "text");
        check("boolean", "boolean");
        check("timestamp", "timestamp");
        check("Timestamp With Time Zone", "timestamp-utc");
        check("BLOB", "bytes");
        check("json", "json");
        check("uuid", "text");
        check("GEOMETRY", "any");
        check("", "any");
    }

    #[test]
    fn decimals_have_digits_and_no_exponent() {
        assert!(["0", "-1", "12.50", "00.1"].into_iter().all(is_decimal));
        assert!(
            ["", "-", ".5", "5.", "1e5", "1,5", "+1", "NaN"]
                .into_iter()
                .all(|text| !is_decimal(text))
        );
    }
}
