//! The sample of a result that a model gets: few rows, short cells.

use serde_json::{Value, json};

use super::Page;
use mindhost_base::error::{Error, Result};
use mindhost_sql::{
    json::{self, Rows},
    schema::column_types,
};

/// A longer text in a cell is cut here.
const CELL_CHARACTERS: usize = 500;

/// `{columns, rows, row_count, truncated}`; without `values` the rows are withheld, with a note for the model. The
/// exact number of rows is withheld too, because a statement can encode a value in it.
///
/// # Errors
/// Never for checked batches.
pub fn for_model(page: &Page, values: bool) -> Result<Value> {
    let columns: Vec<Value> = column_types(&page.columns)
        .into_iter()
        .map(|column| json!({"name": column.name, "type": column.data_type}))
        .collect();
    if !values {
        return Ok(
            json!({"columns": columns, "row_count": roughly(page.total), "rows_withheld": true}),
        );
    }
    let rows = Rows::new(page.columns.clone(), page.batches.clone());
    let rows = serde_json::to_string(&rows).map_err(Error::internal)?;
    let mut rows = json::values(&rows).map_err(Error::internal)?;
    shorten(&mut rows);
    Ok(
        json!({"columns": columns, "rows": rows, "row_count": page.total, "truncated": page.rows() < page.total}),
    )
}

/// Leaves out the last rows until the rest has at most so many bytes. `bytes` are those of a JSON text as it is sent.
pub fn limit(content: &mut Value, max_bytes: usize, bytes: impl Fn(&str) -> usize) {
    let Some(rows) = content["rows"].as_array() else {
        return;
    };
    let mut sum = 0;
    let fits = |row: &&Value| {
        sum += bytes(&row.to_string()) + 1;
        sum <= max_bytes
    };
    let kept = rows.iter().take_while(fits).count();
    if kept < rows.len() {
        if let Some(rows) = content["rows"].as_array_mut() {
            rows.truncate(kept);
        }
        content["truncated"] = json!(true);
    }
}

/// 0, 1 or `many`.
fn roughly(count: u64) -> Value {
    match count {
        0 | 1 => json!(count),
        _ => json!("many"),
    }
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
