//! A result as a model is shown it: few rows, short cells.

use serde_json::{Value, json};

use super::Page;
use crate::{
    error::{Error, Result},
    sql::{json::Rows, schema::column_types},
};

/// Characters of one cell that a model is shown.
const CELL_CHARACTERS: usize = 500;

/// `{columns, rows, row_count, truncated}`; without `values` the rows are withheld and the model is told so.
///
/// # Errors
/// Never for checked batches.
pub fn for_model(page: &Page, values: bool) -> Result<Value> {
    let columns: Vec<Value> = column_types(&page.columns)
        .into_iter()
        .map(|column| json!({"name": column.name, "type": column.data_type}))
        .collect();
    if !values {
        return Ok(json!({"columns": columns, "row_count": page.total, "rows_withheld": true}));
    }
    let rows = Rows::new(page.columns.clone(), page.batches.clone());
    let mut rows = serde_json::to_value(&rows).map_err(Error::internal)?;
    shorten(&mut rows);
    Ok(
        json!({"columns": columns, "rows": rows, "row_count": page.total, "truncated": page.rows() < page.total}),
    )
}

/// Cuts long texts, at any depth, and marks the cut.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(CELL_CHARACTERS) {
                text.truncate(end);
                text.push('…');
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}
