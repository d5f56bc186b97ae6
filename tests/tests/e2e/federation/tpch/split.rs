//! The tables in several datasources.

use mindhost_tests::tpch::Split;

use super::{check, host, mind, moved};

async fn check_split(split: Split) {
    let host = host().await;
    let _sources = split.load(&host).await;
    let mind = mind(&host, split.names()).await;
    let ran = check(&mind, |number, sql| split.adapted(number, sql)).await;
    moved::check(split, &ran);
}

#[tokio::test]
async fn every_query_over_postgresql_and_parquet_gives_the_answer_of_duckdb() {
    check_split(Split::PostgresParquet).await;
}

#[tokio::test]
async fn every_query_over_mariadb_and_postgresql_gives_the_answer_of_duckdb() {
    check_split(Split::MariadbPostgres).await;
}

#[tokio::test]
async fn every_query_over_three_datasources_gives_the_answer_of_duckdb() {
    check_split(Split::PostgresSqliteCsv).await;
}
