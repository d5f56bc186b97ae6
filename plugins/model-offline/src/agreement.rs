//! Whether two results say the same, whatever the order of their rows and columns.

use serde_json::Value;

use crate::tools::{RowCount, Rows};

/// Whether two results have the same rows in the columns of the narrower one. Rows that the datasource's settings keep
/// from models are only counted.
pub fn same_rows(one: &Rows, other: &Rows) -> bool {
    if one.rows_withheld || other.rows_withheld {
        return one.row_count == other.row_count;
    }
    let (narrow, wide) = match one.columns.len() <= other.columns.len() {
        true => (one, other),
        false => (other, one),
    };
    let is_whole = |rows: &Rows| match rows.row_count {
        RowCount::Exactly(all) => all == rows.rows.len() as u64,
        RowCount::Roughly(_) => false,
    };
    if !is_whole(one) || !is_whole(other) {
        return one.row_count == other.row_count;
    }
    let columns = columns(wide);
    one.rows.len() == other.rows.len()
        && self::columns(narrow)
            .iter()
            .all(|column| columns.contains(column))
}

/// The values of each column, sorted.
fn columns(rows: &Rows) -> Vec<Vec<String>> {
    let column = |at: usize| {
        let mut values: Vec<String> = rows
            .rows
            .iter()
            .filter_map(|row| row.get(at))
            .map(text)
            .collect();
        values.sort_unstable();
        values
    };
    (0..rows.columns.len()).map(column).collect()
}

/// A value as text; numbers with six digits behind the point, as sums may be rounded to.
fn text(value: &Value) -> String {
    let number = match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    number.map_or_else(|| value.to_string(), |number: f64| format!("{number:.5}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Rows {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn results_agree_in_any_order_and_with_further_columns_but_not_with_other_values() {
        let one = rows(r#"{"columns": [{"name": "a"}], "rows": [["x"], ["y"]], "row_count": 2}"#);
        let wide = r#"{"columns": [{"name": "n"}, {"name": "b"}], "rows": [[1, "y"], [2, "x"]], "row_count": 2}"#;
        assert!(same_rows(&one, &rows(wide)) && same_rows(&rows(wide), &one));
        assert!(!same_rows(&one, &rows(&wide.replace("\"x\"", "\"z\""))));
        let more = r#"{"columns": [{"name": "a"}], "rows": [["x"], ["y"], ["y"]], "row_count": 3}"#;
        assert!(!same_rows(&one, &rows(more)));
    }

    #[test]
    fn withheld_rows_are_counted() {
        let withheld = |n: u64| {
            rows(&format!(
                r#"{{"columns": [], "row_count": {n}, "rows_withheld": true}}"#
            ))
        };
        assert!(same_rows(&withheld(2), &withheld(2)) && !same_rows(&withheld(2), &withheld(3)));
    }
}
