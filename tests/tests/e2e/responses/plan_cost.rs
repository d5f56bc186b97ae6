//! What engines estimate of a statement before it runs.

use mindhost_tests::{Host, MariaDb, Value};

use super::repair::result_of;

async fn host(max_cost: &str) -> Host {
    let host = Host::builder().env("MINDHOST_ANSWERING__MAX_PLAN_COST", max_cost);
    host.start().await
}

#[tokio::test]
async fn mariadb_before_version_11_estimates_nothing_so_the_statement_runs() {
    let numbers = "CREATE TABLE number (n int); INSERT INTO number SELECT seq FROM seq_1_to_100";
    let database = MariaDb::shared().database(numbers).await;
    let version = database.run("SELECT version()").await;
    let has_costs = !version.starts_with("10.");
    let host = host("1").await;
    let datasource = host.datasource("shop", "mysql", database.connection_data());
    datasource.await.load().await;
    let result = result_of(&host, "SELECT count(*) FROM number a, number b").await;
    match has_costs {
        true => assert_eq!(result["error"]["code"], "sql_cost_too_high", "{result}"),
        false => assert_eq!(result["rows"], Value::from(vec![vec![10_000]]), "{result}"),
    }
}
