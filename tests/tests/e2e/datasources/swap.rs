//! The plugin of each engine is replaced while statements run. That of Trino is in the tests of its connector.

use mindhost_tests::{
    ClickHouse, Host, MariaDb, Postgres, json, plugin_is_replaced_under_load as replaced,
};
use tds_double::{DATABASE, Double, PASSWORD, USER};

/// Two rows, in SQL that each engine reads.
const ITEMS: &str = "CREATE TABLE item (id INTEGER NOT NULL); INSERT INTO item VALUES (1); INSERT INTO item VALUES (2);";

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
