//! The dry run of a statement: the engine plans it with EXPLAIN, and says what is wrong with it or what it would cost.

mod limit;
mod statement_errors;
mod trino;

use serde_json::Value;

use super::{AcceptedStatement, Results, policies};
use mindhost_base::error::Result;
use mindhost_plugin_api::{Call, Dialect};
use mindhost_plugins::serving_versions;

pub(super) use limit::CostLimit;
pub use limit::RefusedInPlan;

/// Depth of a plan of MySQL or MariaDB in which its cost is looked for.
const MAX_DEPTH: usize = 6;

/// How an engine is asked for the cost of a statement.
#[derive(Clone, Copy)]
struct Explain {
    /// What stands in front of the statement.
    prefix: &'static str,
    /// The cost in the rows that come back.
    cost: fn(&Value) -> Option<f64>,
}

impl Explain {
    fn of(dialect: Dialect) -> Option<Self> {
        let (prefix, cost): (_, fn(&Value) -> Option<f64>) = match dialect {
            Dialect::Postgresql => ("EXPLAIN (FORMAT JSON) ", cost_of_plan),
            Dialect::Mysql => ("EXPLAIN FORMAT=JSON ", cost_of_plan),
            Dialect::Clickhouse => ("EXPLAIN ESTIMATE ", rows_to_read),
            Dialect::Trino => (
                "EXPLAIN (TYPE DISTRIBUTED, FORMAT JSON) ",
                trino::rows_of_steps,
            ),
            _ => return None,
        };
        Some(Self { prefix, cost })
    }
}

impl Results {
    /// Refuses a statement that the engine finds wrong when it plans it, or whose plan costs more than it may
    /// ([`AcceptedStatement::with_max_cost`]). Engines without an EXPLAIN, and plans without a cost, pass; so does a
    /// statement that the engine does not explain for a reason of its own, since it says more when it runs it. Over
    /// several datasources nothing is checked here: what goes to each of them is checked when it is sent.
    ///
    /// # Errors
    /// `sql_invalid` with the engine's message; `sql_cost_too_high`; the source of both is [`RefusedInPlan`]. When the
    /// call is cancelled or out of time, or there is no connection.
    pub async fn check_cost(&self, accepted: &AcceptedStatement, call: &Call) -> Result<()> {
        let guarded = &accepted.guarded;
        let index = guarded
            .reads()
            .one()
            .filter(|_| !guarded.tables().is_empty());
        let datasource = index.and_then(|index| accepted.access.scope.datasources.get(index));
        let source = index.and_then(|index| accepted.access.source(index));
        let (Some(datasource), Some(source)) = (datasource, source) else {
            return Ok(());
        };
        // An estimate counts the rows that a policy hides, and depends on values of rows.
        let is_told = !guarded.is_policed() && source.send_rows;
        let Some(limit) = CostLimit::new(datasource.dialect, accepted.max_cost, is_told) else {
            return Ok(());
        };
        let call = call.within(self.statement_timeout(accepted));
        let mut connection = self.connect(source, &call).await?;
        let checked = limit.check(&mut *connection, guarded.text(), &call).await;
        checked.map_err(|error| {
            serving_versions::note(&source.engine, connection.digest());
            policies::withheld(error, guarded)
        })
    }
}

/// The cost in the first cell, which is a plan as JSON: of PostgreSQL, MySQL or MariaDB.
fn cost_of_plan(rows: &Value) -> Option<f64> {
    match &rows[0][0] {
        Value::String(text) => cost(&serde_json::from_str(text).unwrap_or_default()),
        plan => cost(plan),
    }
}

/// The rows that ClickHouse reads of all tables: database, table, parts, rows and marks of each. It gives none for
/// tables that are not of the MergeTree family.
fn rows_to_read(rows: &Value) -> Option<f64> {
    let tables = rows.as_array().into_iter().flatten();
    tables
        .filter_map(|table| number(&table[3]))
        .reduce(|all, one| all + one)
}

/// The cost of a whole plan: of PostgreSQL, MySQL or MariaDB.
fn cost(plan: &Value) -> Option<f64> {
    if let Some(cost) = plan[0]["Plan"]["Total Cost"].as_f64() {
        return Some(cost);
    }
    let block = &plan["query_block"];
    let own = [&block["cost_info"]["query_cost"], &block["cost"]];
    own.into_iter()
        .find_map(number)
        .or_else(|| nested(block, MAX_DEPTH))
}

/// The cost of MySQL's plan of a UNION, or of a sorted one, which is further inside.
fn nested(plan: &Value, depth: usize) -> Option<f64> {
    if depth == 0 {
        return None;
    }
    match plan {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| match name.as_str() {
            "query_cost" => number(value),
            _ => nested(value, depth - 1),
        }),
        Value::Array(items) => items.iter().find_map(|item| nested(item, depth - 1)),
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cost_is_found_in_the_plans_of_each_engine() {
        let postgres = json!([{"Plan": {"Node Type": "Seq Scan", "Total Cost": 12.5}}]);
        let mysql = json!({"query_block": {"cost_info": {"query_cost": "3.25"}}});
        let union = json!({"query_block": {"union_result": {"query_specifications": [
            {"query_block": {"cost_info": {"query_cost": "7.00"}}}]}}});
        let mariadb = json!({"query_block": {"select_id": 1, "cost": 0.25}});
        for (plan, expected) in [
            (postgres, 12.5),
            (mysql, 3.25),
            (union, 7.0),
            (mariadb, 0.25),
        ] {
            assert_eq!(cost(&plan), Some(expected), "{plan}");
        }
        assert_eq!(cost(&json!({"query_block": {"select_id": 1}})), None);
        let clickhouse = json!([
            ["default", "a", "1", "5000", "1"],
            ["default", "b", 2, 70, 3]
        ]);
        assert_eq!(rows_to_read(&clickhouse), Some(5_070.0));
        assert_eq!(rows_to_read(&json!([])), None);
        let text = json!([[r#"[{"Plan": {"Total Cost": 12.5}}]"#]]);
        assert_eq!(cost_of_plan(&text), Some(12.5));
        assert_eq!(cost(&Value::Null), None);
    }
}
