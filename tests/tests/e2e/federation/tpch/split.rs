//! The tables in several datasources.

use super::{
    adapted::unchanged,
    check, host, load, mind,
    moved::{self, Split},
};

const CRM: [&str; 3] = ["customer", "orders", "lineitem"];
const STOCK: [&str; 2] = ["part", "partsupp"];
const WORLD: [&str; 3] = ["supplier", "nation", "region"];
/// What is not in `CRM`.
const SHOP: [&str; 5] = ["part", "partsupp", "supplier", "nation", "region"];

#[tokio::test]
async fn every_query_over_postgresql_and_parquet_gives_the_answer_of_duckdb() {
    let host = host().await;
    load::in_postgres(&host, "crm", &CRM).await;
    load::in_parquet(&host, "shop", &SHOP).await;
    let ran = check(&mind(&host, &["crm", "shop"]).await, unchanged).await;
    moved::check(Split::PostgresParquet, &ran);
}

#[tokio::test]
async fn every_query_over_mariadb_and_postgresql_gives_the_answer_of_duckdb() {
    let host = host().await;
    load::in_mariadb(&host, "crm", &CRM).await;
    load::in_postgres(&host, "shop", &SHOP).await;
    let ran = check(
        &mind(&host, &["crm", "shop"]).await,
        super::adapted::for_mariadb,
    )
    .await;
    moved::check(Split::MariadbPostgres, &ran);
}

#[tokio::test]
async fn every_query_over_three_datasources_gives_the_answer_of_duckdb() {
    let host = host().await;
    load::in_postgres(&host, "crm", &CRM).await;
    load::in_sqlite(&host, "stock", &STOCK).await;
    load::in_csv(&host, "world", &WORLD).await;
    let ran = check(&mind(&host, &["crm", "stock", "world"]).await, unchanged).await;
    moved::check(Split::PostgresSqliteCsv, &ran);
}
