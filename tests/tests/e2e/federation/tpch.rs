//! The 22 queries of TPC-H against the answers of DuckDB: in one datasource of each kind, and with the tables in
//! several.
//!
//! `TPCH_SCALE=0.1` makes ten times the data of the usual tests.

pub mod compare;
mod moved;
mod single;
mod split;

use std::time::{Duration, Instant};

use mindhost_tests::{
    Host, Mind,
    tpch::{MADE, Query},
};
use serde_json::{Value, json};

/// Longer than any query takes at scale 0.1 on a build without optimisation.
const LONGEST: Duration = Duration::from_secs(1_800);

async fn host() -> Host {
    Host::builder()
        .env("MINDHOST_SQL__STATEMENT_TIMEOUT", "30m")
        .start()
        .await
}

async fn mind(host: &Host, datasources: &[&str]) -> Mind {
    let new = host.mind("tpch").direct_queries();
    let all = datasources
        .iter()
        .fold(new, |mind, name| mind.datasource(name));
    all.create().await
}

/// Runs a statement; the item of its result, or what the server says in its place.
async fn run(mind: &Mind, sql: &str) -> Result<Value, String> {
    let tool =
        json!({"type": "sql_query", "query": sql, "explain": true, "max_inline_rows": 10_000});
    let body = json!({"model": mind.name, "tools": [tool]});
    let reply = mind.host().post("/responses", body).patience(LONGEST).await;
    match reply.status {
        200 => Ok(reply.json()["output"][0].clone()),
        status => Err(format!("{status} {}", reply.text())),
    }
}

/// Runs all queries and compares the answers. Gives those that ran, with their items.
async fn check(mind: &Mind, adapted: impl Fn(u32, &str) -> String) -> Vec<(&'static Query, Value)> {
    let (mut items, mut wrong) = (Vec::new(), Vec::new());
    for query in &MADE.queries {
        let began = Instant::now();
        let item = run(mind, &adapted(query.number, &query.sql)).await;
        let found = item.and_then(|item| {
            let rows = item["data"].as_array().ok_or_else(|| item.to_string())?;
            compare::rows(rows, &query.rows, &query.types)?;
            Ok(item)
        });
        let took = began.elapsed().as_secs_f64();
        match found {
            Ok(item) => {
                println!("Q{}: equal, {took:.2} s", query.number);
                items.push((query, item));
            }
            Err(error) => {
                println!("Q{}: DIFFERENT, {took:.2} s: {error}", query.number);
                wrong.push(format!("Q{}: {error}", query.number));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    items
}
