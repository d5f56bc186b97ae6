//! What engines say of a statement before it runs: what is wrong with it, and what it would cost.

use mindhost_tests::{ClickHouse, Host, MariaDb, Postgres, ScriptedModel, Turn, Value, json};

use super::repair::{result_of, results};

const NUMBERS: &str = "\
CREATE TABLE default.number (n UInt64) ENGINE = MergeTree ORDER BY n SETTINGS index_granularity = 100
;;
INSERT INTO default.number SELECT number FROM numbers(5000)
;;
CREATE TABLE default.small (n UInt64) ENGINE = Memory
;;
INSERT INTO default.small SELECT number FROM numbers(5000)
";

fn run_sql(sql: &str) -> Turn {
    Turn::call("run_sql", json!({"sql": sql}))
}

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

#[tokio::test]
async fn part_of_a_statement_over_several_datasources_that_costs_too_much_is_refused() {
    let numbers = "CREATE TABLE number (n int);
        INSERT INTO number SELECT generate_series(1, 1000); ANALYZE number;
        CREATE VIEW pair AS SELECT a.n FROM number a, number b";
    let database = Postgres::shared().database(numbers).await;
    let model = ScriptedModel::start([
        run_sql("SELECT count(*) FROM big.pair JOIN small.one ON pair.n = one.n"),
        run_sql("SELECT count(*) FROM big.number JOIN small.one ON number.n = one.n"),
        Turn::text("Done."),
    ])
    .await;
    let host = host("1000").await;
    host.postgres("big", &database).await.load().await;
    let one = "CREATE TABLE one (n INTEGER); INSERT INTO one VALUES (7)";
    host.sqlite("small", one).await.load().await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("both").datasource("big").datasource("small");
    let mind = mind.provider("scripted").create().await;
    mind.answer("How many?").await;
    let results = results(&model);
    let error = &results[0]["error"];
    assert_eq!(error["code"], "sql_cost_too_high", "{results:?}");
    assert_eq!(error["phase"], "dry_run", "{results:?}");
    assert_eq!(results[1]["rows"], json!([[1]]), "{results:?}");
}

const PEOPLE: &str = "CREATE TABLE person (id int PRIMARY KEY, name varchar(20));
    INSERT INTO person VALUES (1, 'Ann'), (2, 'Bob');";

/// The error of a statement, with its code and phase checked.
async fn refused(host: &Host, sql: &str, phase: &str) -> Value {
    let error = result_of(host, sql).await["error"].take();
    let told = (&error["code"], &error["phase"]);
    assert_eq!(
        told,
        (&json!("sql_invalid"), &json!(phase)),
        "{sql}: {error}"
    );
    error
}

#[tokio::test]
async fn wrong_statement_goes_back_from_the_dry_run_of_postgresql() {
    let database = Postgres::shared().database(PEOPLE).await;
    let host = Host::start().await;
    host.postgres("shop", &database).await.load().await;
    let error = refused(&host, "SELECT nmae FROM person", "dry_run").await;
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("column \"nmae\" does not exist"),
        "{error}"
    );
    assert_eq!(error["position"], 8, "{error}");
    assert_eq!(error["replace"][0]["use"][0], "name");
    // Its position is known to the engine only.
    let error = refused(&host, "SELECT id + name FROM person", "dry_run").await;
    let excerpt = error["excerpt"].as_str().unwrap();
    let (text, caret) = excerpt.split_once('\n').unwrap();
    assert_eq!(text.find('+'), caret.find('^'), "{error}");
    // This one cannot be known before the rows are read.
    refused(&host, "SELECT 1 / (id - 1) FROM person", "execution").await;
    let message = refused(
        &host,
        "SELECT id / 0 FROM person WHERE 1 / 0 = 1",
        "dry_run",
    )
    .await;
    assert!(
        message["message"].to_string().contains("division by zero"),
        "{message}"
    );

    let host = self::host("0").await;
    host.postgres("shop", &database).await.load().await;
    refused(&host, "SELECT nmae FROM person", "execution").await;
}

#[tokio::test]
async fn wrong_statement_goes_back_from_the_dry_run_of_mariadb() {
    let database = MariaDb::shared().database(PEOPLE).await;
    let host = Host::start().await;
    let datasource = host.datasource("shop", "mysql", database.connection_data());
    datasource.await.load().await;
    let error = refused(&host, "SELECT nmae FROM person", "dry_run").await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("Unknown column 'nmae'"), "{error}");
    assert_eq!(error["replace"][0]["use"][0], "name");
}
