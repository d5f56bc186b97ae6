//! Somebody with a key sends statements that no engine plans in reasonable time or memory, to hold what others need.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mindhost_tests::{Host, Mind, Postgres, PostgresDatabase, json};

const ORDERS: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT);
    INSERT INTO orders VALUES (1, 'paid'), (2, 'open');";

/// Something cheap takes no longer than this.
const SOON: Duration = Duration::from_secs(10);

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
    let database = Postgres::shared().database(ORDERS).await;
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
}
