//! Somebody with a key sends statements that no engine plans in reasonable time or memory, to hold what others need.

use std::{
    pin::pin,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use mindhost_tests::{Host, Mind, Postgres, PostgresDatabase, eventually, json};

const ORDERS: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT);
    INSERT INTO orders VALUES (1, 'paid'), (2, 'open');";

/// Something cheap takes no longer than this.
const SOON: Duration = Duration::from_secs(40);

async fn on_sqlite() -> Mind {
    let host = Host::start().await;
    host.sqlite("shop", ORDERS).await.load().await;
    let mind = host.mind("clerk").datasource("shop").direct_queries();
    mind.create().await
}

async fn on_files() -> Mind {
    let host = Host::start().await;
    let folder = host.files_dir().join("shop");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("orders.csv"), "id,status\n1,paid\n2,open\n").unwrap();
    let shop = host.datasource("shop", "csv", json!({"path": "shop"}));
    shop.await.load().await;
    let mind = host.mind("clerk").datasource("shop").direct_queries();
    mind.create().await
}

async fn on_postgres() -> (Mind, PostgresDatabase) {
    let database = Postgres::shared()
        .database(&format!("{ORDERS}{LARGE}"))
        .await;
    let host = Host::start().await;
    host.postgres("shop", &database).await.load().await;
    let settings = json!({"max_connections": 2, "statement_timeout": "1s"});
    host.patch("/datasources/shop", settings)
        .await
        .expect_status(200);
    let mind = host.mind("clerk").datasource("shop").direct_queries();
    (mind.create().await, database)
}

/// So many names, each made of the one before.
fn chained(length: usize, next: &str) -> String {
    let names = (1..length).map(|nth| {
        let before = format!("c{}", nth - 1);
        format!(", c{nth} AS ({})", next.replace("before", &before))
    });
    format!(
        "WITH c0 AS (SELECT id, status FROM orders){} SELECT id FROM c{}",
        names.collect::<String>(),
        length - 1
    )
}

async fn is_refused(mind: &Mind, statement: &str) {
    let start = Instant::now();
    let error = mind
        .sql(statement)
        .await
        .expect_error(400, "sql_not_supported");
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let message = error["message"].to_string();
    let says = [
        "at most 100 names",
        "levels of an expression",
        "more than 500 tables",
        "parts of expressions",
        "chains more than",
    ];
    assert!(says.iter().any(|says| message.contains(says)), "{message}");
}

/// What each engine was brought to its knees by, refused by name.
async fn statements_are_refused(mind: &Mind) {
    is_refused(mind, &chained(1_200, "SELECT id, status FROM before")).await;
    is_refused(mind, &chained(700, "SELECT id, status FROM before")).await;
    is_refused(
        mind,
        &chained(20, "SELECT x.id, x.status FROM before x, before y"),
    )
    .await;
    is_refused(
        mind,
        &chained(30, "SELECT id, status || status AS status FROM before"),
    )
    .await;
    // As long as a statement may be: each column could be of each table.
    let (columns, tables) = (vec!["id"; 40_000], vec!["orders"; 15_000]);
    let many = format!("SELECT {} FROM {}", columns.join(","), tables.join(","));
    is_refused(mind, &many).await;
    let rows = mind.rows("SELECT count(*) FROM orders").await;
    assert_eq!(rows, [[json!(2)]]);
}

#[tokio::test]
async fn chains_and_doublings_are_refused_before_sqlite_sees_them() {
    let mind = on_sqlite().await;
    for _ in 0..5 {
        statements_are_refused(&mind).await;
    }
}

/// A text that doubles while the statement runs, which no guard sees.
#[tokio::test]
async fn text_that_outgrows_the_memory_of_sqlite_is_refused_and_the_plugin_serves_on() {
    let mind = on_sqlite().await;
    let doubling = "WITH RECURSIVE c (s) AS (SELECT status FROM orders UNION ALL \
                    SELECT s || s FROM c WHERE length(s) < 900000000) SELECT max(length(s)) FROM c";
    for _ in 0..3 {
        let refused = mind.sql(doubling).await;
        refused.expect_error(400, "result_too_large");
    }
    assert_eq!(
        mind.query("SELECT count(*) FROM orders").await["data"],
        json!([[2]])
    );
    let log = mind.host().log();
    assert!(!log.contains("trap"), "{log}");
}

#[tokio::test]
async fn chains_and_doublings_are_refused_before_postgresql_sees_them() {
    let (mind, _database) = on_postgres().await;
    statements_are_refused(&mind).await;
}

#[tokio::test]
async fn chains_and_doublings_are_refused_before_files_are_opened() {
    let mind = on_files().await;
    statements_are_refused(&mind).await;
    let many = vec!["status"; 600].join(" || ");
    let many = format!("SELECT {many} FROM orders");
    join_all((0..8).map(|_| is_refused(&mind, &many))).await;
    // The planner moves a limit out of the way of what is computed above it.
    let more = " || lower('q')".repeat(45);
    let limited = format!("SELECT id, upper(status){more} AS status FROM before LIMIT 1000");
    is_refused(&mind, &chained(40, &limited)).await;
}

#[tokio::test]
async fn long_chains_of_conditions_over_files_are_planned_soon() {
    let mind = on_files().await;
    for op in [" AND ", " OR "] {
        let terms: Vec<String> = (0..150).map(|nth| format!("id <> {nth}")).collect();
        let start = Instant::now();
        let statement = format!("SELECT count(*) FROM orders WHERE {}", terms.join(op));
        mind.sql(&statement).await.expect_status(200);
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    }
}

/// A number of 60,000 digits.
const LARGE: &str =
    "CREATE TABLE large (n numeric); INSERT INTO large VALUES (repeat('9', 60000)::numeric);";

/// PostgreSQL looks between rows whether it was told to stop, and not within an expression: this one takes seconds. Its
/// mark comes first, because `pg_stat_activity` shows the beginning of a statement.
fn deaf() -> String {
    let pieces = vec!["length(CAST(n * n AS text))"; 40];
    format!(
        "SELECT 1 AS deaf, {} AS digits FROM large",
        pieces.join(" + ")
    )
}

#[tokio::test]
async fn stopped_statement_keeps_its_connection_until_the_server_has_ended_it() {
    let (mind, database) = on_postgres().await;
    let client = database.client().await;
    let statement = deaf();
    let active = async || {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%AS deaf%' \
                   AND pid <> pg_backend_pid() AND datname = current_database()";
        client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0)
    };
    let mut most = 0;
    for _ in 0..3 {
        let mut asked = pin!(join_all((0..2).map(|_| mind.sql(&statement))));
        let replies = loop {
            tokio::select! {
                biased;
                replies = &mut asked => break replies,
                seen = active() => most = seen.max(most),
            }
        };
        for reply in replies {
            assert!([503, 504].contains(&reply.status), "{}", reply.text());
        }
    }
    assert!(
        (1..=2).contains(&most),
        "{most} backends at max_connections 2"
    );
    eventually(active, |active| *active == 0).await;
    let status = async || mind.sql("SELECT count(*) FROM orders").await.status;
    eventually(status, |status| *status == 200).await;
}
