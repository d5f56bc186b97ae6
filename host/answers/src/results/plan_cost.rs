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
        let time = self.time_limit(accepted, call);
        let explain = |error| time.explain(policies::withheld(error, guarded));
        let connection = self.connect(source, &time.call).await;
        let mut connection = connection.map_err(explain)?;
        let checked = limit.check(&mut *connection, guarded.text(), &time.call);
        checked.await.map_err(|error| {
            serving_versions::note(&source.engine, connection.digest());
            explain(error)
        })
    }
}

/// The cost in the first cell, which is a plan as JSON: of PostgreSQL, MySQL or MariaDB.
fn cost_of_plan(rows: &Value) -> Option<f64> {
    match &rows[0][0] {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(plan) => cost(&plan),
            Err(_) => cost_in_text(text),
        },
        plan => cost(plan),
    }
}

/// The cost in a plan that is nested too deeply for the parser, counted as [`cost`] does. The first step of PostgreSQL
/// is the whole plan. MariaDB writes the cost of a block before what is within the block; of a block without a cost,
/// the first cost behind its name is added. A text that the statement has in its conditions can only add to the cost.
fn cost_in_text(plan: &str) -> Option<f64> {
    let whole = costs_in_text(plan, "\"Total Cost\":").next();
    let steps = costs_in_text(plan, "\"estimated_total_cost\":");
    let blocks = plan.split("\"query_block\":").skip(1);
    let blocks = blocks.filter_map(|block| costs_in_text(block, "\"cost\":").next());
    let blocks = costs_in_text(plan, "\"query_cost\":").chain(blocks);
    let all = blocks.reduce(|all, one| all + one);
    all.into_iter().chain(whole).chain(steps).reduce(f64::max)
}

/// The numbers behind each place of a name. Numbers below 0 and NaN are no costs.
fn costs_in_text(plan: &str, name: &'static str) -> impl Iterator<Item = f64> {
    let behind = plan.split(name).skip(1);
    let costs = behind.filter_map(|behind| {
        let behind = behind.trim_start_matches([' ', '"']);
        let number = behind.split([' ', '"', ',', '}', '\r', '\n']).next()?;
        number.parse::<f64>().ok()
    });
    costs.filter(|cost| *cost >= 0.0)
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
///
/// The cost of a block of MySQL or MariaDB does not have that of the blocks within it (UNION, derived tables,
/// subqueries), so that all blocks are added up. In the second format of MySQL each step has the cost of those below
/// it, and the greatest counts.
fn cost(plan: &Value) -> Option<f64> {
    if let Some(cost) = plan[0]["Plan"]["Total Cost"].as_f64() {
        return Some(cost);
    }
    let (mut blocks, mut steps) = (Vec::<f64>::new(), Vec::<f64>::new());
    let mut open = vec![plan];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    match name.as_str() {
                        "query_cost" => blocks.extend(number(inner)),
                        "query_block" => blocks.extend(number(&inner["cost"])),
                        "estimated_total_cost" => steps.extend(number(inner)),
                        _ => {}
                    }
                    open.push(inner);
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    let all = blocks.into_iter().reduce(|all, one| all + one);
    all.into_iter().chain(steps).reduce(f64::max)
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

    #[test]
    fn costs_of_all_blocks_of_mysql_are_added_up() {
        let block = |id: u32, cost: &str| {
            json!({"query_block": {
                "select_id": id,
                "cost_info": {"query_cost": cost},
                "table": {
                    "table_name": "orders",
                    "access_type": "ALL",
                    "cost_info": {"read_cost": "9000.00", "eval_cost": "1.00", "prefix_cost": "9001.00"},
                },
            }})
        };
        let union = json!({"query_block": {"union_result": {
            "using_temporary_table": false,
            "query_specifications": [block(1, "0.25"), block(2, "4000.00")],
        }}});
        let derived = json!({"query_block": {
            "select_id": 1,
            "cost_info": {"query_cost": "2.50"},
            "ordering_operation": {"using_filesort": true, "grouping_operation": {"nested_loop": [
                {"table": {
                    "table_name": "d",
                    "cost_info": {"prefix_cost": "2.50"},
                    "materialized_from_subquery": {"using_temporary_table": true, "query_block": {
                        "select_id": 2,
                        "cost_info": {"query_cost": "5000.00"},
                    }},
                }},
            ]}},
        }});
        let scalar = json!({"query_block": {
            "select_id": 1,
            "cost_info": {"query_cost": "1.00"},
            "table": {"table_name": "customers"},
            "select_list_subqueries": [
                {"dependent": true, "cacheable": false, "query_block": block(2, "6000.00")["query_block"]},
            ],
        }});
        assert_eq!(cost(&union), Some(4_000.25));
        assert_eq!(cost(&derived), Some(5_002.5));
        assert_eq!(cost(&scalar), Some(6_001.0));
    }

    #[test]
    fn cost_of_the_second_format_of_mysql_is_that_of_its_greatest_step() {
        let plan = json!({
            "query": "/* select#1 */ select `shop`.`orders`.`id` AS `id` from `shop`.`orders`",
            "query_plan": {
                "operation": "Limit: 5 row(s)",
                "estimated_total_cost": 7.25,
                "inputs": [
                    {"operation": "Table scan on o", "estimated_total_cost": 7.25},
                    {"heading": "Select #2 (subquery in projection; dependent)", "subquery": true,
                        "operation": "Table scan on c", "estimated_total_cost": 812.5},
                ],
            },
            "query_type": "select",
            "json_schema_version": "2.0",
        });
        assert_eq!(cost(&plan), Some(812.5));
        let old = json!({"estimated_total_cost": 3.5, "inputs": [{"estimated_total_cost": 2.0}]});
        assert_eq!(cost(&old), Some(3.5));
    }

    #[test]
    fn costs_of_all_blocks_of_mariadb_are_added_up() {
        let union = json!({"query_block": {"union_result": {
            "table_name": "<union1,2>",
            "access_type": "ALL",
            "query_specifications": [
                {"query_block": {"select_id": 1, "cost": 0.5, "nested_loop": [{"table": {"cost": 0.5}}]}},
                {"query_block": {"select_id": 2, "operation": "UNION", "cost": 300.25}},
            ],
        }}});
        let derived = json!({"query_block": {
            "select_id": 1,
            "cost": 0.5,
            "nested_loop": [{"table": {
                "table_name": "<derived2>",
                "cost": 0.5,
                "materialized": {"query_block": {"select_id": 2, "cost": 70.0}},
            }}],
            "subqueries": [{"expression_cache": {"state": "uninitialized", "query_block": {
                "select_id": 3, "cost": 30.0,
            }}}],
        }});
        assert_eq!(cost(&union), Some(300.75));
        assert_eq!(cost(&derived), Some(100.5));
    }

    #[test]
    fn cost_of_a_plan_too_deep_for_the_parser_is_found() {
        let nested = |start: &str, inner: &str| {
            let text = format!("{}{inner}{}", start.repeat(150), "}".repeat(150));
            cost_of_plan(&json!([[text]]))
        };
        let mysql = r#"{"query_cost": "2.00", "query_block": "#;
        assert_eq!(nested(mysql, r#"{"query_cost": "31.5"}"#), Some(331.5));
        let steps = r#"{"estimated_total_cost": 7.5, "inputs": "#;
        let step = r#"{"estimated_total_cost": 9.5}"#;
        assert_eq!(nested(steps, step), Some(9.5));
        let mariadb = r#"{"table": {"cost": 1.5}, "query_block": "#;
        assert_eq!(nested(mariadb, r#"{"cost": 80}"#), Some(303.5));
        let postgres = r#"{"Total Cost": 12.5, "Plans": "#;
        assert_eq!(nested(postgres, r#"{"Total Cost": 99.0}"#), Some(12.5));
        assert_eq!(cost_of_plan(&json!([["no plan"]])), None);
    }

    /// A union of 100 blocks, of which the last has 60 derived tables within each other: 160 blocks with a cost.
    #[test]
    fn costs_of_a_plan_that_is_wide_and_too_deep_for_the_parser_are_added_up() {
        let union = |cost: &str, step: &str, derived: &str| {
            let block = |inner: &str| {
                let table = format!(r#"{{"table_name": "a", {step}{inner}}}"#);
                let steps = format!(r#""nested_loop": [{{"table": {table}}}]"#);
                format!(r#"{{"query_block": {{"select_id": 2, {cost}, {steps}}}}}"#)
            };
            let flat = block("");
            let deep = (0..60).fold(flat.clone(), |deep, _| {
                block(&format!(r#", "{derived}": {deep}"#))
            });
            let arms = format!("{}{deep}", format!("{flat},").repeat(99));
            let union = format!(r#"{{"union_result": {{"query_specifications": [{arms}]}}}}"#);
            let plan = format!(r#"{{"query_block": {union}}}"#);
            assert!(serde_json::from_str::<Value>(&plan).is_err());
            cost_of_plan(&json!([[plan]]))
        };
        let mariadb = union(r#""cost": 90.5"#, r#""cost": 0.25"#, "materialized");
        let mysql = union(
            r#""cost_info": {"query_cost": "90.50"}"#,
            r#""cost_info": {"prefix_cost": "90.50"}"#,
            "materialized_from_subquery",
        );
        assert_eq!((mariadb, mysql), (Some(14_480.0), Some(14_480.0)));
    }

    #[test]
    fn text_in_a_condition_does_not_lower_the_cost() {
        let plan = r#"{"query_block": {"select_id": 1, "cost": 80.5, "attached_condition":
            "o.note = '"Total Cost": 0, "query_cost": -80, "query_cost": NaN, "query_block": "cost": -9 '"}}"#;
        assert_eq!(cost_of_plan(&json!([[plan]])), Some(80.5));
    }
}
