//! Charts of results: rules choose one from the shape of a result, written as a Vega-Lite specification.
//!
//! `fields` says what each column is, `rules` choose, `spec` writes. The rows are inside the specification. It has no
//! expression and no address other than `$schema`, and its fields are named by position (`column_1`), so nothing of a
//! result is ever read as anything but a value or a title.

mod fields;
mod rules;
mod spec;
#[cfg(test)]
mod tests;

use mindhost_plugin_api::Column;
use serde_json::Value;

/// The most rows that a chart holds.
pub const MAX_ROWS: u64 = 5_000;

/// A chart, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The Vega-Lite specification.
    pub spec: Option<Value>,
    /// Why this chart, or why none: a sentence.
    pub reason: String,
    /// Rows that were read for it.
    pub rows: u64,
}

impl Chart {
    /// No chart.
    pub fn none(reason: impl Into<String>) -> Self {
        Self {
            spec: None,
            reason: reason.into(),
            rows: 0,
        }
    }
}

/// A whole result. Each row has a value for each column, as the API writes it.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// Name and type of each column, in the order of the rows' cells.
    pub columns: &'a [Column],
    /// The rows, in order.
    pub rows: &'a [Vec<Value>],
    /// Whether the order of the rows is that of an ORDER BY.
    pub is_ordered: bool,
    /// For each column, whether the statement makes it a figure whose sum says nothing, such as an average. What is
    /// missing counts as not known.
    pub unsummable: &'a [bool],
}

/// The chart of a whole result.
pub fn of_table(table: Table<'_>) -> Chart {
    let rows = table.rows.len() as u64;
    match rules::choose(table) {
        Ok(choice) => Chart {
            spec: Some(spec::write(&choice)),
            reason: choice.reason,
            rows,
        },
        Err(reason) => Chart {
            rows,
            ..Chart::none(reason)
        },
    }
}
