//! What engines estimate of a statement before it runs.

use mindhost_tests::{ClickHouse, Host, MariaDb, Value, json};

use super::repair::result_of;

const NUMBERS: &str = "\
CREATE TABLE default.number (n UInt64) ENGINE = MergeTree ORDER BY n SETTINGS index_granularity = 100
;;
INSERT INTO default.number SELECT number FROM numbers(5000)
;;
CREATE TABLE default.small (n UInt64) ENGINE = Memory
;;
INSERT INTO default.small SELECT number FROM numbers(5000)
";

async fn host(max_cost: &str) -> Host {
    let host = Host::builder().env("MINDHOST_ANSWERING__MAX_PLAN_COST", max_cost);
    host.start().await
}

#[tokio::test]
async fn clickhouse_estimates_the_rows_that_it_reads() {
    let server = ClickHouse::new(NUMBERS);
    let host = host("1000").await;
    let datasource = host.datasource("shop", "clickhouse", server.connection_data());
    datasource.await.load().await;
    let error = &result_of(&host, "SELECT sum(n) FROM number").await["error"];
    assert_eq!(error["code"], "sql_cost_too_high", "{error}");
    assert_eq!(error["phase"], "dry_run", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("a cost of 5000"), "{message}");
    for sound in [
        "SELECT sum(n) FROM number WHERE n < 3",
        // Of this table the server estimates nothing.
        "SELECT sum(n) FROM small WHERE n < 3",
    ] {
        let result = result_of(&host, sound).await;
        assert_eq!(result["rows"], json!([[3]]), "{sound}: {result}");
    }
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
