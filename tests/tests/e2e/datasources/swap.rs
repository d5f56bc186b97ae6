//! The plugin of each engine is replaced while statements run.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use mindhost_tests::{
    ClickHouse, Host, MariaDb, Mind, Postgres, Value, Version, eventually, json, served_by,
};
use tds_double::{DATABASE, Double, PASSWORD, USER};
use tokio::task::JoinSet;

/// Two rows, in SQL that each engine reads.
const ITEMS: &str = "CREATE TABLE item (id INTEGER NOT NULL); INSERT INTO item VALUES (1); INSERT INTO item VALUES (2);";
const READERS: usize = 3;

/// Replaces the plugin of a datasource twice while readers count its rows without a break.
async fn replaced(host: &Host, engine: &str, connection_data: Value, plugin: &str) {
    host.datasource("shop", engine, connection_data)
        .await
        .load()
        .await;
    let mind = host
        .mind("clerk")
        .datasource("shop")
        .direct_queries()
        .create()
        .await;
    let (over, asked) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU32::new(0)),
    );
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        readers.spawn(read_until(
            mind.clone(),
            Arc::clone(&over),
            Arc::clone(&asked),
        ));
    }
    for number in ["0.1.7", "0.1.8"] {
        let version = Version::of_plugin(plugin, number);
        host.install(&version).await;
        let activate = format!("/plugins/{plugin}/activate?wait=200");
        let rollout = host
            .post(&activate, json!({"version": version.digest()}))
            .await;
        let rollout = rollout.expect_status(202).json();
        assert_eq!(rollout["stage"], "probation", "{rollout}");
        let reply = mind
            .sql("SELECT id FROM item WHERE id = 1")
            .await
            .expect_status(200);
        assert_eq!(served_by(&reply), version.digest());
        let before = asked.load(Ordering::Relaxed);
        eventually(
            async || asked.load(Ordering::Relaxed),
            |now| *now > before + 3,
        )
        .await;
    }
    over.store(true, Ordering::Relaxed);
    while let Some(reader) = readers.join_next().await {
        reader.unwrap();
    }
}

async fn read_until(mind: Mind, over: Arc<AtomicBool>, asked: Arc<AtomicU32>) {
    while !over.load(Ordering::Relaxed) {
        let rows = mind.rows("SELECT COUNT(*) AS n FROM item").await;
        assert_eq!(rows, [[json!(2)]]);
        asked.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_of_sqlite_is_replaced_while_statements_run() {
    let host = Host::start().await;
    host.write_sqlite("shop.db", ITEMS);
    replaced(
        &host,
        "sqlite",
        json!({"path": "shop.db"}),
        "connector-sqlite",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_of_postgresql_is_replaced_while_statements_run() {
    let database = Postgres::shared().database(ITEMS).await;
    let host = Host::start().await;
    replaced(
        &host,
        "postgres",
        database.connection_data(),
        "connector-postgres",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_of_mariadb_is_replaced_while_statements_run() {
    let database = MariaDb::shared().database(ITEMS).await;
    let host = Host::start().await;
    replaced(
        &host,
        "mysql",
        database.connection_data(),
        "connector-mysql",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_of_sql_server_is_replaced_while_statements_run() {
    let double = Double::start(&ITEMS.replace(" item", " dbo.item"));
    let host = Host::start().await;
    let data = json!({
        "host": "localhost", "port": double.port(), "user": USER, "password": PASSWORD, "database": DATABASE,
    });
    replaced(&host, "mssql", data, "connector-mssql").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_of_clickhouse_is_replaced_while_statements_run() {
    let server = ClickHouse::new(
        "CREATE TABLE default.item (id Int32) ENGINE = Memory\n;;\nINSERT INTO default.item VALUES (1), (2)",
    );
    let host = Host::start().await;
    replaced(
        &host,
        "clickhouse",
        server.connection_data(),
        "connector-clickhouse",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_of_files_is_replaced_while_statements_run() {
    let host = Host::start().await;
    let folder = host.files_dir().join("shop");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("item.csv"), "id\n1\n2\n").unwrap();
    replaced(&host, "files", json!({"path": "shop"}), "connector-files").await;
}
