//! The rows of a plan of Trino, as `EXPLAIN (TYPE DISTRIBUTED, FORMAT JSON)` gives it: one text with the fragments of
//! the plan, each a tree of steps.
//!
//! Trino estimates the rows of each step from the statistics of its connectors, and says `NaN` where it has none. So
//! the sum over all steps is never more than Trino itself expects.

use serde_json::Value;

/// Steps that hand on row by row. Below a LIMIT they end as soon as it has its rows, which their estimates do not know.
const STREAMING: [&str; 9] = [
    "Filter",
    "FilterProject",
    "LocalExchange",
    "Project",
    "ScanFilter",
    "ScanFilterProject",
    "ScanProject",
    "TableScan",
    "Unnest",
];

/// The rows that all steps give together. `None` if Trino knows those of no step, and of what is no plan.
pub(super) fn rows_of_steps(rows: &Value) -> Option<f64> {
    let plan: Value = serde_json::from_str(rows[0][0].as_str()?).ok()?;
    let fragments = plan.as_object()?.values();
    sum(fragments.map(|root| rows_below(root, false)))
}

/// The rows of a step and of those below it. `may_stop`: whether a LIMIT above may end it before its last row.
fn rows_below(step: &Value, may_stop: bool) -> Option<f64> {
    let name = step["name"].as_str().unwrap_or_default();
    let is_limit = name.starts_with("Limit") || name == "DistinctLimit";
    let is_join = name.ends_with("Join");
    let may_stop = may_stop && (is_limit || is_join || STREAMING.contains(&name));
    let estimates = step["estimates"].as_array().into_iter().flatten();
    let own = estimates.map(|one| one["outputRowCount"].as_f64());
    let own = match may_stop && !is_limit {
        true => None,
        false => sum(own),
    };
    let children = step["children"].as_array().into_iter().flatten();
    let below = children.enumerate().map(|(place, child)| {
        // A join reads all of its second side before it hands on the first row.
        let stops = (is_limit || may_stop) && !(is_join && place > 0);
        rows_below(child, stops)
    });
    sum([own, sum(below)].into_iter())
}

fn sum(all: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    all.flatten().reduce(|all, one| all + one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn step(name: &str, rows: impl Into<Value>, children: &[Value]) -> Value {
        let estimate = json!({"outputRowCount": rows.into(), "cpuCost": 135_000.0});
        json!({"id": "1", "name": name, "estimates": [estimate], "children": children})
    }

    fn rows(fragments: &[Value]) -> Option<f64> {
        let plan: serde_json::Map<_, _> = fragments
            .iter()
            .enumerate()
            .map(|(id, root)| (id.to_string(), root.clone()))
            .collect();
        rows_of_steps(&json!([[Value::from(plan).to_string()]]))
    }

    #[test]
    fn rows_of_all_steps_of_all_fragments_are_added() {
        let source = json!({"name": "RemoteSource", "estimates": [], "children": []});
        let gather = step("Output", 1.0, &[step("Aggregate", 1.0, &[source])]);
        let [a, b] = [25.0, 30.0].map(|rows| step("TableScan", rows, &[]));
        let work = step("Aggregate", 750.0, &[step("CrossJoin", 750.0, &[a, b])]);
        assert_eq!(
            rows(&[gather, work]),
            Some(1.0 + 1.0 + 750.0 + 750.0 + 25.0 + 30.0)
        );
    }

    #[test]
    fn step_without_an_estimate_counts_nothing() {
        let scan = step("TableScan", 40.0, &[]);
        let unknown = step("Output", "NaN", &[step("InnerJoin", "NaN", &[scan])]);
        assert_eq!(rows(&[unknown]), Some(40.0));
        assert_eq!(rows(&[step("TableScan", "NaN", &[])]), None);
        for other in [
            json!([["no plan"]]),
            json!([["[]"]]),
            json!([]),
            Value::Null,
        ] {
            assert_eq!(rows_of_steps(&other), None, "{other}");
        }
    }

    #[test]
    fn limit_ends_what_streams_below_it_and_nothing_else() {
        let scan = || step("TableScan", 1e9, &[]);
        let limited = step("Output", 10.0, &[step("LimitPartial", 10.0, &[scan()])]);
        assert_eq!(rows(&[limited]), Some(20.0));
        // All rows are read before the first group is known, and all of the second side before a join has a row.
        let grouped = step("Limit", 10.0, &[step("Aggregate", 5.0, &[scan()])]);
        assert_eq!(rows(&[grouped]), Some(10.0 + 5.0 + 1e9));
        let second = step("LocalExchange", 70.0, &[step("TableScan", 70.0, &[])]);
        let joined = step("Limit", 10.0, &[step("InnerJoin", 1e9, &[scan(), second])]);
        assert_eq!(rows(&[joined]), Some(10.0 + 70.0 + 70.0));
        assert_eq!(
            rows(&[step("TopNPartial", 10.0, &[scan()])]),
            Some(10.0 + 1e9)
        );
    }
}
