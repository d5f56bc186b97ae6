//! What a statement would cost, by the engine's own estimate, before it runs.

mod trino;

use serde_json::Value;
use uuid::Uuid;

use super::{AcceptedStatement, Results};
use mindhost_base::error::{Code, Error, Kind, Result};
use mindhost_plugin_api::{Call, Connection, Dialect, Statement};
use mindhost_sql::json::{self, Rows};

/// Rows of an EXPLAIN: one plan, or each table that ClickHouse reads.
const MAX_ROWS: u32 = 100;
/// Depth of a plan of MySQL or MariaDB in which its cost is looked for.
const MAX_DEPTH: usize = 6;

impl Results {
    /// Refuses a statement whose plan costs more than `max_cost`. Engines without such an estimate, and plans without a
    /// cost, pass; so does a statement that the engine does not explain, since it says more when it runs it.
    ///
    /// # Errors
    /// `sql_cost_too_high`; when the call is cancelled or out of time.
    pub async fn check_cost(
        &self,
        accepted: &AcceptedStatement,
        max_cost: f64,
        call: &Call,
    ) -> Result<()> {
        let guarded = &accepted.guarded;
        let index = guarded.reads().one().filter(|_| max_cost > 0.0);
        let Some(index) = index.filter(|_| !guarded.tables().is_empty()) else {
            return Ok(());
        };
        let datasource = accepted.access.scope.datasources.get(index);
        let (explain, cost): (_, fn(&Value) -> Option<f64>) =
            match datasource.map(|one| one.dialect) {
                Some(Dialect::Postgresql) => ("EXPLAIN (FORMAT JSON)", cost_of_plan),
                Some(Dialect::Mysql) => ("EXPLAIN FORMAT=JSON", cost_of_plan),
                Some(Dialect::Clickhouse) => ("EXPLAIN ESTIMATE", rows_to_read),
                Some(Dialect::Trino) => (
                    "EXPLAIN (TYPE DISTRIBUTED, FORMAT JSON)",
                    trino::rows_of_steps,
                ),
                _ => return Ok(()),
            };
        let Some(source) = accepted.access.source(index) else {
            return Ok(());
        };
        let call = call.within(self.statement_timeout(accepted));
        let mut connection = self.connect(source, &call).await?;
        let text = format!("{explain} {}", guarded.text());
        let cost = match explained(&mut *connection, text, &call).await {
            Ok(rows) => cost(&rows),
            Err(error)
                if matches!(
                    error.kind(),
                    Kind::Cancelled | Kind::Timeout | Kind::Internal
                ) =>
            {
                return Err(error);
            }
            Err(_) => None,
        };
        match cost {
            Some(cost) if cost > max_cost => {
                // An estimate counts the rows that a policy hides, and depends on values of rows.
                let is_told = !guarded.is_policed() && source.send_rows;
                Err(too_high(is_told.then_some(cost), max_cost))
            }
            _ => Ok(()),
        }
    }
}

fn too_high(cost: Option<f64>, max_cost: f64) -> Error {
    let estimate = match cost {
        Some(cost) => format!("a cost of {cost:.0}"),
        None => String::from("a higher cost"),
    };
    Error::new(
        Code::SqlCostTooHigh,
        format!(
            "the engine estimates {estimate} for this statement, and at most {max_cost:.0} is allowed \
             (answering.max_plan_cost); join on keys, filter first, or read fewer tables"
        ),
    )
}

/// The rows of an EXPLAIN statement.
async fn explained(connection: &mut dyn Connection, text: String, call: &Call) -> Result<Value> {
    let statement = Statement {
        text,
        id: Uuid::now_v7().to_string(),
        timeout: call.remaining(),
    };
    let columns = connection.query(&statement, call).await?;
    let read = connection.next(MAX_ROWS, call).await;
    connection.close(call).await?;
    let batches = read?.into_iter().collect::<Vec<_>>();
    let rows = serde_json::to_string(&Rows::new(columns, batches)).map_err(Error::internal)?;
    json::values(&rows).map_err(Error::internal)
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
