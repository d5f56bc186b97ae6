//! Statements over several datasources, which the host runs in a dialect of its own.

use mindhost_tests::{Host, Postgres, ScriptedModel, Turn};
use serde_json::{Value, json};

use super::results;

/// What the model is told of statements over `shop`, a SQLite, and `archive`, a PostgreSQL.
async fn told(statements: &[&str]) -> Vec<Value> {
    const ORDERS: &str = "CREATE TABLE orders (id INTEGER, status TEXT, placed_at date);
        INSERT INTO orders VALUES (1, 'open', '2024-01-05'), (2, 'shipped', '2023-12-24');";
    let host = Host::start().await;
    host.sqlite("shop", ORDERS).await.load().await;
    let database = Postgres::shared().database(ORDERS).await;
    host.postgres("archive", &database).await.load().await;
    let calls = statements
        .iter()
        .map(|sql| Turn::call("run_sql", json!({"sql": sql})));
    let model = ScriptedModel::start(calls.chain([Turn::text("Done.")])).await;
    host.scripted_provider("plain", &model).await;
    let mind = host.mind("both").datasource("shop").datasource("archive");
    let mind = mind.provider("plain").create().await;
    mind.answer("Run it.").await;
    results(&model)
}

#[tokio::test]
async fn functions_are_advised_in_the_dialect_of_the_host() {
    const JOINED: &str = "FROM shop.orders a JOIN archive.orders b ON a.id = b.id";
    for (written, instead) in [
        (
            "strftime('%Y-%m', a.placed_at)",
            "to_char(a.placed_at, '%Y-%m')",
        ),
        ("YEAR(a.placed_at)", "date_part('year', a.placed_at)"),
        ("GROUP_CONCAT(b.status)", "string_agg(b.status, ',')"),
    ] {
        let wrong = format!("SELECT {written} {JOINED}");
        let right = format!("SELECT {instead} {JOINED}");
        let told = told(&[&wrong, &right]).await;
        let replace = &told[0]["error"]["replace"][0];
        assert_eq!(
            (&replace["written"], &replace["use"]),
            (&json!(written), &json!([instead])),
            "{told:?}"
        );
        assert!(told[1]["rows"].is_array(), "{told:?}");
    }
}

#[tokio::test]
async fn date_beside_a_year_is_advised_with_what_runs() {
    const JOINED: &str = "SELECT count(*) FROM shop.orders a JOIN archive.orders b ON a.id = b.id";
    let wrong = format!("{JOINED} WHERE b.placed_at BETWEEN 2024 AND 2025");
    let right = format!("{JOINED} WHERE EXTRACT(YEAR FROM b.placed_at) BETWEEN 2024 AND 2025");
    let told = told(&[&wrong, &right]).await;
    let advised = told[0].to_string();
    assert!(
        advised.contains("EXTRACT(YEAR FROM b.placed_at) BETWEEN 2024 AND 2025"),
        "{told:?}"
    );
    assert_eq!(told[1]["rows"], json!([[1]]), "{told:?}");
}

#[tokio::test]
async fn dialect_of_one_datasource_is_advised_for_a_statement_over_that_one() {
    let told = told(&[
        "SELECT YEAR(placed_at) FROM archive.orders",
        "SELECT YEAR(placed_at) FROM shop.orders",
        "SELECT id FORM archive.orders WHERE placed_at = INTERVAL 3 DAY",
    ])
    .await;
    let instead = |at: usize| told[at]["error"]["replace"][0]["use"][0].clone();
    assert_eq!(instead(0), "EXTRACT(YEAR FROM placed_at)");
    assert_eq!(instead(1), "CAST(strftime('%Y', placed_at) AS INTEGER)");
    assert!(told[2].to_string().contains("\"'3'\""), "{told:?}");
}
