//! Whether two statements, from two independent readings of a question, give the same rows.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::markdown;
use crate::tools::Rows;

/// Whether every column of the result with fewer columns stands in the other one too, row by row, in any order. `asked`
/// is how many rows each statement could give at most: results that are cut off are compared as far as they go.
pub fn same(a: &Rows, b: &Rows, asked: (u64, u64)) -> bool {
    let cut = |rows: &Rows, most: u64| rows.truncated || rows.rows.len() as u64 >= most;
    // "the top 5": the same number of rows is asked for by name.
    let top = asked.0 == asked.1 && a.rows.len() == b.rows.len() && asked.0 < 20;
    let (a_cut, b_cut) = (cut(a, asked.0), cut(b, asked.1));
    if !top && (a_cut || b_cut) {
        // Which rows come first is not said: the columns must be the same at least, and no fewer rows than where it is
        // cut off.
        let reaches =
            (!a_cut || b.rows.len() >= a.rows.len()) && (!b_cut || a.rows.len() >= b.rows.len());
        let within = |few: &Rows, many: &Rows| names(few).iter().all(|n| names(many).contains(n));
        return (reaches || (a_cut && b_cut)) && (within(a, b) || within(b, a));
    }
    if a.rows.len() != b.rows.len() {
        return false;
    }
    let (few, many) = if a.columns.len() <= b.columns.len() {
        (a, b)
    } else {
        (b, a)
    };
    let of_many = columns(many);
    columns(few).iter().all(|c| of_many.contains(c))
}

/// Whether two statements ask for the same rows, but for the names of their columns, the order, and how many are shown.
pub fn same_statement(a: &str, b: &str) -> bool {
    let ranked = |sql: &str| {
        sql.contains("ORDER BY") && !sql.ends_with("LIMIT 100") && !sql.ends_with("LIMIT 20")
    };
    !ranked(a) && !ranked(b) && without_names(a) == without_names(b)
}

fn without_names(sql: &str) -> (Vec<&str>, &str) {
    let end = ["\nORDER BY", "\nLIMIT"]
        .iter()
        .filter_map(|mark| sql.rfind(mark))
        .min();
    let body = &sql[..end.unwrap_or(sql.len())];
    let (select, rest) = body.split_once("\nFROM ").unwrap_or((body, ""));
    let outputs = select
        .split(", ")
        .map(|o| o.rsplit_once(" AS ").map_or(o, |(expr, _)| expr))
        // The readings round averages to two decimals and to four.
        .map(|o| if matches!(o, "2)" | "4)") { "n)" } else { o });
    (outputs.collect(), rest)
}

fn names(rows: &Rows) -> Vec<String> {
    rows.columns.iter().map(|c| c.name.to_lowercase()).collect()
}

/// The values of each column with how often they occur.
fn columns(rows: &Rows) -> Vec<BTreeMap<String, usize>> {
    (0..rows.columns.len())
        .map(|at| {
            let mut seen = BTreeMap::new();
            for row in &rows.rows {
                let value = row.get(at).unwrap_or(&Value::Null);
                *seen.entry(plain(value)).or_insert(0) += 1;
            }
            seen
        })
        .collect()
}

/// Numbers as far as both readings round them.
fn plain(value: &Value) -> String {
    match value.as_f64() {
        Some(number) => format!("{number:.1}"),
        None => markdown::value(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(names: &[&str], rows: &str) -> Rows {
        let columns: Vec<Value> = names
            .iter()
            .map(|n| serde_json::json!({"name": n}))
            .collect();
        let rows: Value = serde_json::from_str(rows).unwrap();
        let text = serde_json::json!({"columns": columns, "rows": rows, "row_count": 2});
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn order_and_extra_columns_do_not_matter() {
        let a = rows(&["name"], r#"[["x"], ["y"]]"#);
        let b = rows(&["id", "title"], r#"[[2, "y"], [1, "x"]]"#);
        assert!(same(&a, &b, (100, 100)));
        let c = rows(&["name"], r#"[["x"], ["z"]]"#);
        assert!(!same(&a, &c, (100, 100)));
        assert!(!same(&a, &rows(&["name"], r#"[["x"]]"#), (100, 100)));
    }

    #[test]
    fn statements_may_differ_in_names_and_order() {
        let a =
            "SELECT COUNT(*) AS \"orders\"\nFROM \"orders\"\nORDER BY \"orders\" DESC\nLIMIT 100";
        assert!(same_statement(
            a,
            "SELECT COUNT(*) AS \"count\"\nFROM \"orders\"\nLIMIT 100"
        ));
        assert!(!same_statement(
            a,
            "SELECT COUNT(*) AS \"count\"\nFROM \"items\"\nLIMIT 100"
        ));
    }

    #[test]
    fn results_that_are_cut_off_need_the_same_columns() {
        let a = rows(&["name"], r#"[["x"], ["y"]]"#);
        let b = rows(&["Name", "id"], r#"[["y", 1], ["z", 2]]"#);
        assert!(same(&a, &b, (20, 2)));
        assert!(!same(&a, &rows(&["name"], r#"[["x"]]"#), (2, 100)));
        assert!(!same(&a, &rows(&["title"], r#"[["x"], ["y"]]"#), (20, 2)));
        assert!(same(&a, &rows(&["title"], r#"[["x"], ["y"]]"#), (2, 2)));
    }
}
