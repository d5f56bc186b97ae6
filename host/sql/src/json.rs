//! Rows as JSON arrays, written straight from the batches.
//!
//! Integers up to 2^53 and floats are numbers, because every reader keeps them exactly. Larger integers and decimals
//! are strings, as are dates, times and bytes (base64). A JSON column is embedded as a document with its numbers
//! unchanged; text in it that is not JSON is a string.

use std::sync::Arc;

use serde::{Serialize, Serializer, ser::SerializeSeq};
use serde_json::{Value, value::RawValue};

use super::{
    cells::{Cell, Cells},
    text,
};
use mindhost_plugin_api::{Batch, Column};

/// The largest integer below which doubles represent every integer exactly.
const EXACT: u64 = 1 << 53;

/// The rows of a page, which serialize as an array of arrays. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Rows {
    /// One for each cell of a row; decides how Arrow cells are written.
    pub columns: Arc<[Column]>,
    /// In the order of the result; each has all columns.
    pub batches: Arc<[Batch]>,
}

impl Rows {
    /// Rows of one result.
    pub fn new(columns: Arc<[Column]>, batches: impl Into<Arc<[Batch]>>) -> Self {
        Self {
            columns,
            batches: batches.into(),
        }
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.batches.iter().map(Batch::rows).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.len()))?;
        for batch in self.batches.iter() {
            match batch {
                Batch::Rows(values) => {
                    for row in values {
                        rows.serialize_element(&Row(row.iter().map(Cell::from)))?;
                    }
                }
                Batch::Arrow(batch) => {
                    let columns: Vec<Cells<'_>> = self
                        .columns
                        .iter()
                        .zip(batch.columns())
                        .map(|(column, array)| Cells::of(column, array))
                        .collect();
                    for row in 0..batch.num_rows() {
                        rows.serialize_element(&Row(columns.iter().map(|column| column.get(row))))?;
                    }
                }
            }
        }
        rows.end()
    }
}

/// One row as an array, whatever form its cells come in.
struct Row<I>(I);

impl<'a, I: Iterator<Item = Cell<'a>> + ExactSizeIterator + Clone> Serialize for Row<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = self.0.clone();
        let mut row = serializer.serialize_seq(Some(cells.len()))?;
        for cell in cells {
            row.serialize_element(&cell)?;
        }
        row.end()
    }
}

impl Serialize for Cell<'_> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Cell::Null => serializer.serialize_unit(),
            Cell::Boolean(value) => serializer.serialize_bool(value),
            Cell::Int64(value) if value.unsigned_abs() <= EXACT => serializer.serialize_i64(value),
            Cell::Int64(value) => serializer.serialize_str(itoa::Buffer::new().format(value)),
            Cell::Uint64(value) if value <= EXACT => serializer.serialize_u64(value),
            Cell::Uint64(value) => serializer.serialize_str(itoa::Buffer::new().format(value)),
            Cell::Float64(value) => match text::special(value) {
                Some(name) => serializer.serialize_str(name),
                None => serializer.serialize_f64(value),
            },
            Cell::Decimal(value) | Cell::Text(value) => serializer.serialize_str(value),
            Cell::Bytes(value) => serializer.serialize_str(&text::base64(value)),
            Cell::Date(days) => serializer.serialize_str(text::date(days).as_str()),
            Cell::Time(micros) => serializer.serialize_str(text::time(micros).as_str()),
            Cell::Timestamp(micros) => {
                serializer.serialize_str(text::timestamp(micros, false).as_str())
            }
            Cell::TimestampUtc(micros) => {
                serializer.serialize_str(text::timestamp(micros, true).as_str())
            }
            Cell::Json(value) => document(value, serializer),
        }
    }
}

/// Embeds a document. Line breaks become spaces, because a stream of events may end at a line.
fn document<S: Serializer>(value: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let Ok(raw) = serde_json::from_str::<&RawValue>(value) else {
        return serializer.serialize_str(value);
    };
    if memchr::memchr2(b'\n', b'\r', raw.get().as_bytes()).is_none() {
        return raw.serialize(serializer);
    }
    match RawValue::from_string(raw.get().replace(['\n', '\r'], " ")) {
        Ok(raw) => raw.serialize(serializer),
        Err(_) => serializer.serialize_str(value),
    }
}

/// Nesting depth of a document that becomes a value in memory. Parsers stop at 128 levels, with those around the
/// document.
const MAX_DEPTH: usize = 100;

/// Parses the rows as values, for models and their tools. A document with too many levels, or with a number that no
/// value holds, becomes a string.
///
/// # Errors
/// When the text is not an array of rows.
pub fn values(rows: &str) -> serde_json::Result<Value> {
    let rows: Vec<Vec<&RawValue>> = serde_json::from_str(rows)?;
    let cell = |raw: &RawValue| {
        let text = || Value::String(raw.get().to_owned());
        match depth(raw.get()) > MAX_DEPTH {
            true => text(),
            // JSON that is no value has a number like `1e400`.
            false => serde_json::from_str(raw.get()).unwrap_or_else(|_| text()),
        }
    };
    let rows = rows.into_iter();
    Ok(rows
        .map(|row| row.into_iter().map(cell).collect::<Value>())
        .collect())
}

/// The nesting depth of a document.
fn depth(document: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let (mut in_text, mut is_escaped) = (false, false);
    for byte in document.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_nested_too_deeply_becomes_text() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let flat = r#"{"a":"[[\"[["}"#;
        let rows = format!(
            "[[1,{flat},{}],[null,{},{}]]",
            nested(100),
            nested(101),
            nested(9_000)
        );
        let values = values(&rows).unwrap();
        assert_eq!(values[0][1], serde_json::json!({"a": "[[\"[["}));
        assert!(values[0][2].is_array());
        assert_eq!(values[1][1], nested(101));
        assert_eq!(values[1][2], nested(9_000));
    }

    #[test]
    fn document_with_a_number_that_no_value_holds_becomes_text() {
        let values = values(r#"[[1, {"a": 1e400}, {"a": 1e40}]]"#).unwrap();
        assert_eq!(
            values,
            serde_json::json!([[1, r#"{"a": 1e400}"#, {"a": 1e40}]])
        );
    }
}
