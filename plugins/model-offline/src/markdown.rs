//! Values and tables in Markdown. Every digit that came stays as it came.

use serde_json::Value;

use crate::catalog::plain_text;

/// Longer texts are cut in a table; the full value is in the stored result.
const LONGEST_CELL: usize = 80;

/// A value as it stands in a sentence; NULL is "(none)".
pub fn value(value: &Value) -> String {
    match value {
        Value::Null => "(none)".to_owned(),
        // The shortest digits that give the same number back, without a fraction that is zero.
        Value::Number(n) if n.is_f64() => {
            n.as_f64().map_or_else(|| n.to_string(), |f| f.to_string())
        }
        other => plain_text(other),
    }
}

/// A text with a capital at its start.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars.clone()).collect()
}

fn cell(v: &Value) -> String {
    let text = value(v).replace('|', "\\|").replace(['\n', '\r'], " ");
    if text.chars().count() <= LONGEST_CELL {
        return text;
    }
    text.chars().take(LONGEST_CELL).chain(['…']).collect()
}

/// A compact table; columns of numbers are aligned to the right.
pub fn table(names: &[String], rows: &[Vec<Value>]) -> String {
    let numeric = |column: usize| {
        let is_number = |v: &Value| {
            v.is_number()
                || v.as_str()
                    .is_some_and(|t| !t.is_empty() && t.parse::<f64>().is_ok())
        };
        let known = rows
            .iter()
            .filter_map(|r| r.get(column))
            .filter(|v| !v.is_null());
        known.clone().count() > 0 && known.clone().all(is_number)
    };
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let marks = (0..names.len()).map(|c| if numeric(c) { "---:" } else { "---" }.to_owned());
    let mut text = line(names.iter().map(|n| n.replace('|', "\\|")).collect());
    text += &line(marks.collect());
    for row in rows {
        text += &line(row.iter().map(cell).collect());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn digits_stay_and_bars_cannot_break_the_table() {
        let rows = vec![
            vec![json!("a|b\nc"), json!("12345678901234567890.10")],
            vec![json!(null), json!(2)],
        ];
        let text = table(&["name".into(), "total".into()], &rows);
        assert_eq!(
            text,
            "| name | total |\n| --- | ---: |\n| a\\|b c | 12345678901234567890.10 |\n| (none) | 2 |\n"
        );
    }
}
