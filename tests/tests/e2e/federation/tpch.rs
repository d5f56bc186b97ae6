//! The 22 queries of TPC-H with their tables in three datasources, against the answers of DuckDB.

use std::{fs, path::Path, path::PathBuf, process::Command};

use mindhost_tests::{Host, Mind, Postgres, build::target_dir};
use serde_json::{Value, json};

const SCALE: &str = "0.01";
const CRM: [&str; 3] = ["customer", "orders", "lineitem"];
const STOCK: [&str; 2] = ["part", "partsupp"];
const WORLD: [&str; 3] = ["supplier", "nation", "region"];

/// The tables of PostgreSQL and SQLite.
const TABLES: &str = "
    CREATE TABLE customer (c_custkey integer, c_name varchar(25), c_address varchar(40), c_nationkey integer,
        c_phone varchar(15), c_acctbal decimal(15,2), c_mktsegment varchar(10), c_comment varchar(117));
    CREATE TABLE orders (o_orderkey integer, o_custkey integer, o_orderstatus varchar(1), o_totalprice decimal(15,2),
        o_orderdate date, o_orderpriority varchar(15), o_clerk varchar(15), o_shippriority integer, o_comment varchar(79));
    CREATE TABLE lineitem (l_orderkey integer, l_partkey integer, l_suppkey integer, l_linenumber integer,
        l_quantity decimal(15,2), l_extendedprice decimal(15,2), l_discount decimal(15,2), l_tax decimal(15,2),
        l_returnflag varchar(1), l_linestatus varchar(1), l_shipdate date, l_commitdate date, l_receiptdate date,
        l_shipinstruct varchar(25), l_shipmode varchar(10), l_comment varchar(44));
    CREATE TABLE part (p_partkey integer, p_name varchar(55), p_mfgr varchar(25), p_brand varchar(10),
        p_type varchar(25), p_size integer, p_container varchar(10), p_retailprice decimal(15,2), p_comment varchar(23));
    CREATE TABLE partsupp (ps_partkey integer, ps_suppkey integer, ps_availqty integer, ps_supplycost decimal(15,2),
        ps_comment varchar(199));";

/// Makes the data and the answers, which takes a few seconds.
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
    let client = database.client().await;
    for table in CRM {
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
    host.postgres("crm", &database).await.load().await;
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

#[tokio::test]
async fn every_query_over_three_datasources_gives_the_answer_of_duckdb() {
    let folder = made();
    let host = Host::start().await;
    in_postgres(&host, &folder).await;
    in_sqlite(&host, &folder).await;
    in_files(&host, &folder).await;
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
        let sql = answer["sql"].as_str().unwrap();
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
