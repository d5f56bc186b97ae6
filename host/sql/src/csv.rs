//! Rows as CSV (RFC 4180 with `\n`), batch by batch.
//!
//! Values have the text forms of JSON, but numbers are never quoted. NULL is an empty field, the empty string is `""`.
//! Text and column names that a spreadsheet would run as a formula can be escaped.
//!
//! No CSV library, because they work byte by byte and do not distinguish NULL from the empty string. Here a vectorized
//! scan decides whether a field can be copied unchanged.

use std::sync::Arc;

use super::{
    cells::{Cell, Cells},
    text,
};
use mindhost_base::config::Formulas;
use mindhost_plugin_api::{Batch, Column};

/// Appends the rows of one result to a buffer, batch by batch. Buffers no rows itself.
#[derive(Debug)]
pub struct CsvEncoder {
    columns: Arc<[Column]>,
    formulas: Formulas,
}

impl CsvEncoder {
    /// An encoder for a result with these columns.
    pub fn new(columns: Arc<[Column]>, formulas: Formulas) -> Self {
        Self { columns, formulas }
    }

    /// Appends the header line. Call it once, even if no batch follows.
    pub fn header(&self, out: &mut Vec<u8>) {
        let names = self.columns.iter().map(|column| Cell::Text(&column.name));
        line(names, self.formulas, out);
    }

    /// Appends the lines of a batch.
    pub fn batch(&mut self, batch: &Batch, out: &mut Vec<u8>) {
        match batch {
            Batch::Rows(rows) => {
                for row in rows {
                    line(row.iter().map(Cell::from), self.formulas, out);
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
                    line(
                        columns.iter().map(|column| column.get(row)),
                        self.formulas,
                        out,
                    );
                }
            }
        }
    }
}

#[inline]
fn line<'a>(cells: impl Iterator<Item = Cell<'a>>, formulas: Formulas, out: &mut Vec<u8>) {
    for (nth, cell) in cells.enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        field(cell, formulas, out);
    }
    out.push(b'\n');
}

#[inline]
fn field(cell: Cell<'_>, formulas: Formulas, out: &mut Vec<u8>) {
    match cell {
        Cell::Null => {}
        Cell::Boolean(true) => out.extend_from_slice(b"true"),
        Cell::Boolean(false) => out.extend_from_slice(b"false"),
        Cell::Int64(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        Cell::Uint64(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        Cell::Float64(value) => match text::special(value) {
            Some(name) => out.extend_from_slice(name.as_bytes()),
            None => out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes()),
        },
        Cell::Decimal(value) => quoted(value.as_bytes(), out),
        Cell::Text(value) | Cell::Json(value) => match formulas {
            Formulas::Escape if is_formula(value) => {
                quoted(format!("'{value}").as_bytes(), out);
            }
            _ => quoted(value.as_bytes(), out),
        },
        Cell::Bytes([]) => out.extend_from_slice(b"\"\""),
        Cell::Bytes(value) => text::push_base64(value, out),
        Cell::Date(days) => out.extend_from_slice(text::date(days).as_bytes()),
        Cell::Time(micros) => out.extend_from_slice(text::time(micros).as_bytes()),
        Cell::Timestamp(micros) => out.extend_from_slice(text::timestamp(micros, false).as_bytes()),
        Cell::TimestampUtc(micros) => {
            out.extend_from_slice(text::timestamp(micros, true).as_bytes())
        }
    }
}

/// Whether a spreadsheet may run text as a formula. A signed number is not one.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'])
        && text.parse::<f64>().is_err()
}

/// Appends text, quoted if necessary.
#[inline]
fn quoted(text: &[u8], out: &mut Vec<u8>) {
    // Without an early exit, so that the compiler vectorizes the loop.
    let special = text.iter().fold(text.is_empty(), |found, byte| {
        found | matches!(byte, b'"' | b',' | b'\n' | b'\r')
    });
    if !special {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'"', rest) {
        let (before, after) = rest.split_at(at + 1);
        out.extend_from_slice(before);
        out.push(b'"');
        rest = after;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
