//! Tables of TPC-H in datasources of each kind.

use std::{fmt::Write as _, fs, process::Command};

use crate::{ClickHouse, Host, MariaDatabase, MariaDb, Postgres, PostgresDatabase};
use serde_json::json;

use super::made::MADE;

/// The tables of SQL databases.
const TABLES: &str = include_str!("../../tpch/tables.sql");

/// The columns of the keys, and of the other indexes that the queries need to be fast.
const INDEXES: [(&str, &[&str]); 8] = [
    ("customer", &["c_custkey"]),
    ("orders", &["o_orderkey", "o_custkey"]),
    (
        "lineitem",
        &["l_orderkey", "l_partkey, l_suppkey", "l_suppkey"],
    ),
    ("part", &["p_partkey"]),
    ("partsupp", &["ps_partkey, ps_suppkey", "ps_suppkey"]),
    ("supplier", &["s_suppkey"]),
    ("nation", &["n_nationkey"]),
    ("region", &["r_regionkey"]),
];

/// All tables.
pub const ALL: [&str; 8] = [
    "customer", "orders", "lineitem", "part", "partsupp", "supplier", "nation", "region",
];

/// Statements that create some of the tables.
fn created(tables: &[&str]) -> String {
    let all = TABLES.split(';').filter(|one| {
        tables
            .iter()
            .any(|table| one.trim().starts_with(&format!("CREATE TABLE {table} ")))
    });
    all.map(|one| format!("{one};")).collect()
}

/// Statements that create their indexes.
fn indexed(tables: &[&str]) -> String {
    let mut sql = String::new();
    for (table, indexes) in INDEXES.iter().filter(|(table, _)| tables.contains(table)) {
        for (number, columns) in indexes.iter().enumerate() {
            _ = write!(sql, "CREATE INDEX {table}_{number} ON {table} ({columns});");
        }
    }
    sql
}

/// The file of a table.
fn file(table: &str, format: &str) -> std::path::PathBuf {
    MADE.folder.join(format!("{table}.{format}"))
}

/// A datasource in PostgreSQL.
pub async fn in_postgres(host: &Host, name: &str, tables: &[&str]) -> PostgresDatabase {
    let database = Postgres::shared().database(&created(tables)).await;
    copy(&database, tables).await;
    host.postgres(name, &database).await.load().await;
    database
}

async fn copy(database: &PostgresDatabase, tables: &[&str]) {
    let client = database.client().await;
    for table in tables {
        let sink = client
            .copy_in(format!("COPY {table} FROM STDIN (FORMAT csv, HEADER)").as_str())
            .await
            .unwrap();
        let text = fs::read(file(table, "csv")).unwrap();
        let mut sink = Box::pin(sink);
        futures_util::SinkExt::send(&mut sink, bytes::Bytes::from(text))
            .await
            .unwrap();
        sink.as_mut().finish().await.unwrap();
    }
    let finish = format!("{} ANALYZE", indexed(tables));
    client.batch_execute(&finish).await.unwrap();
}

/// A datasource in MariaDB.
pub async fn in_mariadb(host: &Host, name: &str, tables: &[&str]) -> MariaDatabase {
    let database = MariaDb::shared().database(&created(tables)).await;
    let mut sql = String::new();
    for table in tables {
        let file = file(table, "csv");
        _ = write!(
            sql,
            "LOAD DATA LOCAL INFILE '{}' INTO TABLE {table} CHARACTER SET utf8mb4
             FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' IGNORE 1 LINES;",
            file.display()
        );
    }
    sql += &indexed(tables);
    sql += &format!("ANALYZE TABLE {};", tables.join(", "));
    database.run(&sql).await;
    host.datasource(name, "mariadb", database.connection_data())
        .await
        .load()
        .await;
    database
}

/// A datasource in SQLite.
pub async fn in_sqlite(host: &Host, name: &str, tables: &[&str]) {
    let database = format!("{name}.db");
    host.write_sqlite(&database, &created(tables));
    for table in tables {
        let import = format!(
            ".import --csv --skip 1 '{}' {table}",
            file(table, "csv").display()
        );
        let done = Command::new("sqlite3")
            .arg(host.files_dir().join(&database))
            .arg(import)
            .status();
        assert!(done.unwrap().success());
    }
    host.write_sqlite(&database, &format!("{} ANALYZE", indexed(tables)));
    host.datasource(name, "sqlite", json!({"path": database}))
        .await
        .load()
        .await;
}

/// A datasource of Parquet files.
pub async fn in_parquet(host: &Host, name: &str, tables: &[&str]) {
    files(host, name, tables, "parquet");
    host.datasource(name, "files", json!({"path": name}))
        .await
        .load()
        .await;
}

/// A datasource of CSV files.
pub async fn in_csv(host: &Host, name: &str, tables: &[&str]) {
    files(host, name, tables, "csv");
    let data = json!({"path": name, "types": {"supplier.s_acctbal": "decimal"}});
    host.datasource(name, "csv", data).await.load().await;
}

fn files(host: &Host, name: &str, tables: &[&str], format: &str) {
    let folder = host.files_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    for table in tables {
        let from = file(table, format);
        fs::copy(&from, folder.join(from.file_name().unwrap())).unwrap();
    }
}

/// A datasource in today's ClickHouse, which ends with what is returned.
pub async fn in_clickhouse(host: &Host, name: &str) -> ClickHouse {
    let mut sql = String::new();
    for table in ALL {
        let create = created(&[table]).replace(';', " ENGINE = MergeTree ORDER BY tuple()");
        _ = write!(
            sql,
            "{create}\n;;\nINSERT INTO {table} SELECT * FROM file('{}', Parquet)\n;;\n",
            file(table, "parquet").display()
        );
    }
    let server = ClickHouse::new(&sql);
    host.datasource(name, "clickhouse", server.connection_data())
        .await
        .load()
        .await;
    server
}
