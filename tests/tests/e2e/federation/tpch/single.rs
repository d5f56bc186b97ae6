//! All tables in one datasource: the statement is its engine's own, and so is the answer.

use mindhost_tests::tpch::{
    adapted::{for_clickhouse, for_mariadb, for_sqlite, unchanged},
    load,
};

use super::{check, host, mind};

#[tokio::test]
async fn every_query_over_postgresql_gives_the_answer_of_duckdb() {
    let host = host().await;
    load::in_postgres(&host, "one", &load::ALL).await;
    check(&mind(&host, &["one"]).await, unchanged).await;
}

#[tokio::test]
async fn every_query_over_mariadb_gives_the_answer_of_duckdb() {
    let host = host().await;
    load::in_mariadb(&host, "one", &load::ALL).await;
    check(&mind(&host, &["one"]).await, for_mariadb).await;
}

#[tokio::test]
async fn every_query_over_sqlite_gives_the_answer_of_duckdb() {
    let host = host().await;
    load::in_sqlite(&host, "one", &load::ALL).await;
    check(&mind(&host, &["one"]).await, for_sqlite).await;
}

#[tokio::test]
async fn every_query_over_parquet_files_gives_the_answer_of_duckdb() {
    let host = host().await;
    load::in_parquet(&host, "one", &load::ALL).await;
    check(&mind(&host, &["one"]).await, unchanged).await;
}

#[tokio::test]
async fn every_query_over_clickhouse_gives_the_answer_of_duckdb() {
    let host = host().await;
    let _server = load::in_clickhouse(&host, "one").await;
    check(&mind(&host, &["one"]).await, for_clickhouse).await;
}
