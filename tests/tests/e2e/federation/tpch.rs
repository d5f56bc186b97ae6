//! The 22 queries of TPC-H with their tables in several datasources, against the answers of DuckDB.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use mindhost_tests::{Host, MariaDb, Mind, Postgres, PostgresDatabase, build::target_dir};
use serde_json::{Value, json};

const SCALE: &str = "0.01";
const CRM: [&str; 3] = ["customer", "orders", "lineitem"];
const STOCK: [&str; 2] = ["part", "partsupp"];
const WORLD: [&str; 3] = ["supplier", "nation", "region"];

/// The tables of PostgreSQL, MariaDB and SQLite.
const TABLES: &str = include_str!("../../../tpch/tables.sql");

/// The folder with the data and the answers. Making it takes a few seconds, once.
static MADE: LazyLock<PathBuf> = LazyLock::new(made);

fn made() -> PathBuf {
    let python = target_dir().join("duckdb/bin/python");
    assert!(
        python.exists(),
        "DuckDB is not installed; `just setup` installs it"
    );
    let folder = target_dir().join("tpch").join(SCALE);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tpch/make.py");
    let made = Command::new(python)
        .arg(script)
        .arg(SCALE)
        .arg(&folder)
        .status()
        .unwrap();
    assert!(made.success());
    folder
}

/// Statements that create some of the tables, of both engines.
fn created(tables: &[&str]) -> String {
    let all = TABLES.split(';').filter(|one| {
        tables
            .iter()
            .any(|table| one.trim().starts_with(&format!("CREATE TABLE {table} ")))
    });
    all.map(|one| format!("{one};")).collect()
}

async fn in_postgres(host: &Host, folder: &Path) {
    let database = Postgres::shared().database(&created(&CRM)).await;
    copy(&database, &CRM, folder).await;
    host.postgres("crm", &database).await.load().await;
}

async fn copy(database: &PostgresDatabase, tables: &[&str], folder: &Path) {
    let client = database.client().await;
    for table in tables {
        let sink = client
            .copy_in(format!("COPY {table} FROM STDIN (FORMAT csv, HEADER)").as_str())
            .await
            .unwrap();
        let text = fs::read(folder.join(format!("{table}.csv"))).unwrap();
        let mut sink = Box::pin(sink);
        futures_util::SinkExt::send(&mut sink, bytes::Bytes::from(text))
            .await
            .unwrap();
        sink.as_mut().finish().await.unwrap();
    }
    client.batch_execute("ANALYZE").await.unwrap();
}

async fn in_sqlite(host: &Host, folder: &Path) {
    host.write_sqlite("stock.db", &created(&STOCK));
    for table in STOCK {
        let import = format!(
            ".import --csv --skip 1 '{}' {table}",
            folder.join(format!("{table}.csv")).display()
        );
        let database = host.files_dir().join("stock.db");
        let done = Command::new("sqlite3")
            .arg(database)
            .arg(import)
            .status()
            .unwrap();
        assert!(done.success());
    }
    host.write_sqlite("stock.db", "ANALYZE");
    host.datasource("stock", "sqlite", json!({"path": "stock.db"}))
        .await
        .load()
        .await;
}

async fn in_files(host: &Host, folder: &Path) {
    let world = host.files_dir().join("world");
    fs::create_dir_all(&world).unwrap();
    for table in WORLD {
        let file = format!("{table}.csv");
        fs::copy(folder.join(&file), world.join(&file)).unwrap();
    }
    let data = json!({"path": "world", "types": {"supplier.s_acctbal": "decimal"}});
    host.datasource("world", "csv", data).await.load().await;
}

async fn explained(mind: &Mind, sql: &str) -> Value {
    let tool = json!({"type": "sql_query", "query": sql, "explain": true});
    let reply = mind
        .host()
        .post("/responses", json!({"model": mind.name, "tools": [tool]}))
        .await;
    assert_eq!(reply.status, 200, "{sql}\n{}", reply.text());
    reply.json()["output"][0].clone()
}

/// A cell as a number, if it is one.
fn number(cell: &Value) -> Option<f64> {
    cell.as_f64().or_else(|| cell.as_str()?.parse().ok())
}

/// Equal but for the last digits of divisions, which each engine cuts elsewhere.
fn are_equal(a: &Value, b: &Value) -> bool {
    match (number(a), number(b)) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-4 * a.abs().clamp(1.0, 1e4),
        _ => a == b,
    }
}

/// The large tables in MariaDB, the others in PostgreSQL.
async fn in_mariadb(host: &Host, folder: &Path) {
    let database = MariaDb::shared().database(&created(&CRM)).await;
    for table in CRM {
        let text = fs::read_to_string(folder.join(format!("{table}.csv"))).unwrap();
        let rows: Vec<String> = text.lines().skip(1).map(values).collect();
        for rows in rows.chunks(2_000) {
            let insert = format!("INSERT INTO {table} VALUES {}", rows.join(", "));
            database.run(&insert).await;
        }
    }
    let keys = "ALTER TABLE customer ADD PRIMARY KEY (c_custkey); ALTER TABLE orders ADD PRIMARY KEY (o_orderkey);
        ALTER TABLE lineitem ADD INDEX (l_orderkey);";
    let analyze = "ANALYZE TABLE customer; ANALYZE TABLE orders; ANALYZE TABLE lineitem;";
    database.run(&format!("{keys}{analyze}")).await;
    host.datasource("crm", "mariadb", database.connection_data())
        .await
        .load()
        .await;
}

/// A line of CSV as the values of an INSERT. No text of TPC-H has a quote or a backslash.
fn values(line: &str) -> String {
    let mut texts = String::from("('");
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => texts.push_str("', '"),
            letter => texts.push(letter),
        }
    }
    texts + "')"
}

async fn rest_in_postgres(host: &Host, folder: &Path) {
    for (name, tables) in [("stock", &STOCK[..]), ("world", &WORLD)] {
        let database = Postgres::shared().database(&created(tables)).await;
        copy(&database, tables, folder).await;
        host.postgres(name, &database).await.load().await;
    }
}

#[tokio::test]
async fn every_query_over_three_datasources_gives_the_answer_of_duckdb() {
    let folder = &*MADE;
    let host = Host::start().await;
    in_postgres(&host, folder).await;
    in_sqlite(&host, folder).await;
    in_files(&host, folder).await;
    check(&host, folder).await;
}

#[tokio::test]
async fn every_query_over_mariadb_and_postgresql_gives_the_answer_of_duckdb() {
    let folder = &*MADE;
    let host = Host::start().await;
    in_mariadb(&host, folder).await;
    rest_in_postgres(&host, folder).await;
    check(&host, folder).await;
}

/// Query 13 names the columns of a subquery behind it, which MariaDB 10.11 does not know.
fn adapted(sql: &str) -> String {
    let words: Vec<&str> = sql.split_whitespace().collect();
    words
        .join(" ")
        .replace(
            "count(o_orderkey) FROM",
            "count(o_orderkey) AS c_count FROM",
        )
        .replace("AS c_orders (c_custkey, c_count)", "AS c_orders")
}

/// Runs all queries, prints what they moved, and compares the answers.
async fn check(host: &Host, folder: &Path) {
    let mind = host
        .mind("tpch")
        .datasource("crm")
        .datasource("stock")
        .datasource("world");
    let mind = mind.direct_queries().create().await;
    let answers: Value =
        serde_json::from_slice(&fs::read(folder.join("answers.json")).unwrap()).unwrap();
    let answers = answers.as_object().unwrap();
    assert_eq!(answers.len(), 22);
    let mut wrong = Vec::new();
    for (query, answer) in answers {
        let sql = &adapted(answer["sql"].as_str().unwrap());
        let began = std::time::Instant::now();
        let item = explained(&mind, sql).await;
        let sources = item["explain"]["sources"].as_array().unwrap();
        let moved: u64 = sources
            .iter()
            .map(|one| one["rows"].as_u64().unwrap())
            .sum();
        println!(
            "Q{query}: {moved} rows moved in {} statements, {:?}",
            sources.len(),
            began.elapsed()
        );
        let (found, expected) = (
            item["data"].as_array().unwrap(),
            answer["rows"].as_array().unwrap(),
        );
        let rows = found.iter().zip(expected);
        let same = |(a, b): (&Value, &Value)| {
            let cells = a.as_array().unwrap().iter().zip(b.as_array().unwrap());
            cells.clone().all(|(a, b)| are_equal(a, b))
        };
        if found.len() != expected.len() || !rows.clone().all(same) {
            let first = rows.clone().find(|row| !same(*row));
            wrong.push(format!(
                "Q{query}: {} rows for {}: {first:?}",
                found.len(),
                expected.len()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
