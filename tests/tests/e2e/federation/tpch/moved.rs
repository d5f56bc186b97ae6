//! The rows that a statement over several datasources moves into the host, against those of the best plan, which
//! `tests/tpch/best.sql` defines and counts.

use mindhost_tests::tpch::{
    Query,
    Split::{self, MariadbPostgres, PostgresParquet, PostgresSqliteCsv},
};
use serde_json::Value;

/// Of the best plan: what a statement may move.
const MARGIN: f64 = 1.2;

/// Prints what each query moved (with `TPCH_PLANS` in the environment also how), and fails if one moved more than the
/// best plan needs.
pub fn check(split: Split, ran: &[(&Query, Value)]) {
    let wrong: Vec<String> = ran
        .iter()
        .filter_map(|(query, item)| excess(split, query, item))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn excess(split: Split, query: &Query, item: &Value) -> Option<String> {
    let sources = item["explain"]["sources"].as_array().unwrap();
    let moved: u64 = sources.iter().map(rows).sum();
    let of = match split {
        PostgresParquet | MariadbPostgres => "two",
        PostgresSqliteCsv => "three",
    };
    let best = query.moved[of].as_u64().unwrap();
    let line = format!(
        "{split:?} Q{}: {moved} rows moved, {best} by the best plan",
        query.number
    );
    println!("{line}");
    let plan = plan(item, sources);
    if std::env::var_os("TPCH_PLANS").is_some() {
        println!("{plan}");
    }
    (moved as f64 > best as f64 * MARGIN).then(|| format!("{line}; it moves too much\n{plan}"))
}

fn rows(source: &Value) -> u64 {
    source["rows"].as_u64().unwrap()
}

/// The statements and the plan of the host.
fn plan(item: &Value, sources: &[Value]) -> String {
    let mut text = String::new();
    for one in sources {
        let sql = one["executed_query"].as_str().unwrap();
        // The lists of keys are long.
        let start: String = sql.chars().take(700).collect();
        text += &format!("    {} rows of {}: {start}\n", rows(one), one["datasource"]);
    }
    text + item["explain"]["plan"].as_str().unwrap_or_default()
}
