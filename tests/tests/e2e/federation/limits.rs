//! What a statement over several datasources may take, and that all of its parts end with it.

use mindhost_tests::{Host, MariaDatabase, MariaDb, Mind, Postgres, PostgresDatabase, eventually};
use reqwest::Method;
use serde_json::{Value, json};

const POSTGRES: &str = "CREATE TABLE slow (id integer, note text);
    INSERT INTO slow SELECT i, repeat('x', 1000) FROM generate_series(1, 3000) i; ANALYZE;";
const MARIADB: &str = "CREATE TABLE slow (id INT); INSERT INTO slow VALUES (1), (2);";
const SQLITE: &str = "CREATE TABLE few (id INTEGER); INSERT INTO few VALUES (1), (2);";

/// A Mind over PostgreSQL and SQLite.
async fn two(host: &Host) -> (Mind, PostgresDatabase) {
    let database = Postgres::shared().database(POSTGRES).await;
    host.postgres("pg", &database).await.load().await;
    host.sqlite("own", SQLITE).await.load().await;
    let mind = host.mind("two").datasource("pg").datasource("own");
    (mind.direct_queries().create().await, database)
}

async fn refused(setting: &str, name: &str, bound: &str, query: &str) {
    let host = Host::builder().env(setting, bound).start().await;
    let (mind, _database) = two(&host).await;
    let error = mind.sql(query).await.expect_error(400, "result_too_large");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(name), "{message}");
    // What the datasources do themselves moves little.
    let few = "SELECT count(*) FROM pg.slow UNION ALL SELECT count(*) FROM own.few";
    assert_eq!(mind.query(few).await["total"], 2);
}

#[tokio::test]
async fn rows_that_move_are_limited() {
    refused(
        "MINDHOST_PLUGINS__QUERY_MOVED_ROWS",
        "plugins.query_moved_rows",
        "1000",
        "SELECT id FROM pg.slow UNION ALL SELECT id FROM own.few",
    )
    .await;
}

#[tokio::test]
async fn bytes_that_move_are_limited() {
    refused(
        "MINDHOST_PLUGINS__QUERY_MOVED_BYTES",
        "plugins.query_moved_bytes",
        "1048576",
        "SELECT p.note FROM pg.slow p CROSS JOIN own.few",
    )
    .await;
}

/// Keeps everybody else out of `slow` until it is dropped.
async fn lock(database: &PostgresDatabase) -> tokio_postgres::Client {
    let locker = database.client().await;
    let sql = "BEGIN; LOCK TABLE slow IN ACCESS EXCLUSIVE MODE";
    locker.batch_execute(sql).await.unwrap();
    locker
}

/// Statements that wait for the lock of PostgreSQL.
async fn waiting_in_postgres(watcher: &tokio_postgres::Client) -> i64 {
    let sql = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    watcher.query_one(sql, &[]).await.unwrap().get(0)
}

/// Statements that wait for the lock of MariaDB.
async fn waiting_in_mariadb(database: &MariaDatabase) -> i64 {
    let sql = "SELECT count(*) FROM information_schema.processlist
        WHERE db = DATABASE() AND state LIKE 'Waiting for table%'";
    database.run(sql).await.trim().parse().unwrap()
}

#[tokio::test]
async fn shortest_statement_timeout_of_the_datasources_counts() {
    let host = Host::start().await;
    let (mind, database) = two(&host).await;
    let query = "SELECT count(*) FROM pg.slow p JOIN own.few f ON f.id = p.id";
    assert_eq!(mind.query(query).await["data"], json!([[2]]));
    let limit = json!({"statement_timeout": "1s"});
    host.patch("/datasources/own", limit)
        .await
        .expect_status(200);
    let _locker = lock(&database).await;
    let reply = mind.sql(query).await;
    assert_eq!(reply.header("x-should-retry"), "false");
    let error = reply.expect_error(504, "timeout");
    let message = error["message"].as_str().unwrap();
    let limit = "a statement may take 1s (`statement_timeout` of the datasource 'own'): simplify it, or ask an editor";
    assert!(message.contains(limit), "{message}");
    let watcher = database.client().await;
    eventually(
        async || waiting_in_postgres(&watcher).await,
        |count| *count == 0,
    )
    .await;
}

#[tokio::test]
async fn datasources_are_read_at_the_same_time_and_all_end_with_the_client() {
    let host = Host::start().await;
    let postgres = Postgres::shared().database(POSTGRES).await;
    host.postgres("pg", &postgres).await.load().await;
    let maria = MariaDb::shared().database(MARIADB).await;
    host.datasource("maria", "mysql", maria.connection_data())
        .await
        .load()
        .await;
    let mind = host.mind("both").datasource("pg").datasource("maria");
    let mind = mind.direct_queries().create().await;
    let query = "SELECT id FROM pg.slow UNION ALL SELECT id FROM maria.slow";
    // From here on the types of the columns are known, so that nothing but the statement asks for them.
    assert_eq!(mind.query(query).await["total"], 3002);

    let locker = lock(&postgres).await;
    let table_lock = {
        let maria = maria.clone();
        tokio::spawn(async move { maria.run("LOCK TABLES slow WRITE; SELECT SLEEP(300)").await })
    };
    let sleeping = async || {
        let sql = "SELECT count(*) FROM information_schema.processlist
            WHERE db = DATABASE() AND state = 'User sleep'";
        maria.run(sql).await.trim().parse::<i64>().unwrap()
    };
    eventually(sleeping, |count| *count == 1).await;

    let tool = json!({"type": "sql_query", "query": query});
    let body = json!({"model": mind.name, "tools": [tool]});
    let client = tokio::spawn(host.post("/responses", body).attempt());
    let watcher = postgres.client().await;
    let waiting = async || {
        (
            waiting_in_postgres(&watcher).await,
            waiting_in_mariadb(&maria).await,
        )
    };
    eventually(&waiting, |counts| *counts == (1, 1)).await;
    client.abort();
    eventually(&waiting, |counts| *counts == (0, 0)).await;

    let kill = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND state = 'User sleep'";
    let id = maria.run(kill).await;
    maria.run(&format!("KILL {id}")).await;
    table_lock.abort();
    locker.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(mind.query(query).await["total"], 3002);
}

#[tokio::test]
async fn one_call_of_mcp_reads_several_datasources() {
    let host = Host::start().await;
    let (mind, _database) = two(&host).await;
    let sql = "SELECT count(*) AS n FROM pg.slow p JOIN own.few f ON f.id = p.id";
    let call = json!({"name": "run_sql", "arguments": {"mind": mind.name, "sql": sql}});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
    let reply = host
        .request(Method::POST, "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
        .json(&request);
    let result: Value = reply.await.expect_status(200).json()["result"].clone();
    let content = &result["structuredContent"];
    assert_eq!(content["rows"], json!([[2]]), "{result}");
}
