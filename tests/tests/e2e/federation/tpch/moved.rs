//! The rows that a statement over several datasources moves into the host, against what the best plan moves.

use serde_json::Value;

use super::made::Query;

/// Where the tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    PostgresParquet,
    MariadbPostgres,
    PostgresSqliteCsv,
}

pub fn check(split: Split, ran: &[(&Query, Value)]) {
    for (query, item) in ran {
        let sources = item["explain"]["sources"].as_array().unwrap();
        let rows = |one: &Value| one["rows"].as_u64().unwrap();
        let moved: u64 = sources.iter().map(rows).sum();
        println!(
            "{split:?} Q{}: {moved} moved, best {}",
            query.number, query.moved
        );
        for one in sources {
            println!(
                "    {} {} {}",
                one["datasource"],
                rows(one),
                one["executed_query"]
            );
        }
    }
}
