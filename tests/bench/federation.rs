//! TPC-H with its tables in several datasources, against DuckDB, which reads all of them as Parquet, and the time in
//! which the engines' own clients read what the statements moved.

use std::{io::Write as _, process::Stdio, time::Duration};

use mindhost_tests::{
    Host, Mind, PostgresDatabase,
    tpch::{MADE, Source, Split, scale},
};
use serde_json::{Value, json};

use super::{
    data,
    pairs::{Bar, PAIRS, quartiles, report, seconds, shown},
};

/// What is sent to each datasource by all queries together, in the order of the datasources.
type Sent = Vec<Vec<String>>;

/// Runs all of it, at the scale that `TPCH_SCALE` says: 0.01 without it, and `TPCH_SCALE=0.1 just bench federation` has
/// ten times the data.
pub async fn run() {
    println!("TPC-H at scale factor {}", scale());
    for split in [
        Split::PostgresParquet,
        Split::MariadbPostgres,
        Split::PostgresSqliteCsv,
    ] {
        compare(split).await;
    }
}

async fn compare(split: Split) {
    let host = Host::builder()
        .env("MINDHOST_LOG__LEVEL", "warn")
        .start()
        .await;
    let sources = split.load(&host).await;
    let new = host.mind("tpch").direct_queries();
    let names = split.names().iter();
    let mind = names
        .fold(new, |mind, name| mind.datasource(name))
        .create()
        .await;
    let queries: Vec<&str> = MADE
        .queries
        .iter()
        .map(|query| query.sql.as_str())
        .collect();
    let mut sent: Sent = vec![Vec::new(); sources.len()];
    let (mut pairs, mut transfers) = (Vec::new(), Vec::new());
    let mut slowest = Duration::ZERO;
    for pair in 0..=PAIRS {
        let mut ours = 0.0;
        for query in &MADE.queries {
            let sql = split.adapted(query.number, &query.sql);
            let mut item = Value::Null;
            let took = seconds(async { item = run_query(&mind, &sql, pair == 0).await }).await;
            ours += took;
            slowest = slowest.max(Duration::from_secs_f64(took));
            if pair == 0 {
                note_sent(&item, split, &mut sent);
            }
        }
        let duckdb = data::duckdb_over(&MADE.folder, &queries);
        let transfer = seconds(transfer(&sources, &sent)).await;
        // The first pair warms everything up, and says what is sent.
        if pair > 0 {
            pairs.push((ours, duckdb + transfer));
            transfers.push(transfer);
        } else {
            slowest = Duration::ZERO;
        }
    }
    report(
        &Bar {
            name: &format!("22 queries, {split:?}, ours/DuckDB"),
            aim: 1.0,
            bar: 2.0,
        },
        &pairs,
    );
    let [low, median, high] = quartiles(transfers);
    println!(
        "{:<46} {} ({} to {}); the slowest query took {slowest:.1?}",
        "  of it the transfer of what is moved",
        shown(median),
        shown(low),
        shown(high)
    );
}

async fn run_query(mind: &Mind, sql: &str, explain: bool) -> Value {
    let tool =
        json!({"type": "sql_query", "query": sql, "explain": explain, "max_inline_rows": 10_000});
    let body = json!({"model": mind.name, "tools": [tool], "store": false});
    let reply = mind.host().post("/responses", body).await;
    reply.expect_status(200).json()["output"][0].clone()
}

/// Adds the statements that went to each datasource.
fn note_sent(item: &Value, split: Split, sent: &mut Sent) {
    for source in item["explain"]["sources"].as_array().unwrap() {
        let names = &mut split.names().iter();
        let place = names
            .position(|name| source["datasource"] == *name)
            .unwrap();
        sent[place].push(source["executed_query"].as_str().unwrap().to_owned());
    }
}

/// Reads what the statements move with the own clients of the servers. Files are what DuckDB reads too.
async fn transfer(sources: &[Source], sent: &Sent) {
    for (source, statements) in sources.iter().zip(sent) {
        match source {
            Source::Postgres(database) => read_through_psql(database, statements).await,
            Source::MariaDb(database) => database.read_through(&statements.join(";\n")).await,
            Source::Files => {}
        }
    }
}

async fn read_through_psql(database: &PostgresDatabase, statements: &[String]) {
    let mut script = tempfile::NamedTempFile::new().unwrap();
    for sql in statements {
        writeln!(script, "COPY ({sql}) TO STDOUT;").unwrap();
    }
    let status = data::psql(database)
        .args(["-v", "ON_ERROR_STOP=1"])
        .arg("-f")
        .arg(script.path())
        .stdout(Stdio::null())
        .status();
    assert!(status.await.unwrap().success());
}
