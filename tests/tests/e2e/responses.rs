//! `/responses`: SQL and words, checked field by field.

mod background;
mod bounds;
mod charts;
mod conversation;
mod endings;
mod feedback;
mod history;
mod in_memory;
mod input;
mod meaning;
mod numbers;
mod once;
mod outages;
mod output_limit;
mod plan_cost;
mod repair;
mod retrieval;
mod rights;
pub mod running;
mod settings;
mod stopping;
mod store_false;
mod stored;
mod stream;
mod unfinished;
mod words;

use mindhost_tests::{Host, Mind, ScriptedModel, Turn};
use serde_json::{Value, json};

/// Two tables, small enough to know by heart.
pub const SHOP: &str = "
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), total DECIMAL(10,2));
    INSERT INTO customers VALUES (1, 'Ann', 'DE'), (2, 'Bob', 'FR'), (3, 'Zoë', 'DE');
    INSERT INTO orders VALUES (1, 1, 12.5), (2, 1, 7.25), (3, 2, 100);";

/// A host with the shop and a Mind that allows direct queries.
pub async fn shop() -> (Host, Mind) {
    let host = Host::start().await;
    host.sqlite("shop", SHOP).await.load().await;
    let mind = host
        .mind("sales")
        .datasource("shop")
        .direct_queries()
        .create()
        .await;
    (host, mind)
}

/// A Mind `told` over the shop, whose model plays these turns.
async fn told(host: &Host, turns: impl IntoIterator<Item = Turn>) -> ScriptedModel {
    let model = ScriptedModel::start(turns).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("told").datasource("shop").provider("scripted");
    mind.create().await;
    model
}

#[tokio::test]
async fn a_query_gives_a_response_with_a_query_result() {
    let (host, mind) = shop().await;
    let response = mind
        .sql("SELECT id, name FROM customers ORDER BY id")
        .await
        .expect_status(200)
        .json();
    assert_eq!(response["object"], "response");
    assert_eq!(response["status"], "completed");
    assert_eq!(response["model"], "sales");
    assert_eq!(response["error"], Value::Null);
    assert!(response["created_at"].is_i64());
    assert!(response["usage"]["total_tokens"].is_u64());
    let item = &response["output"][0];
    assert_eq!(item["type"], "query_result");
    assert_eq!(item["status"], "success");
    assert_eq!(item["query"], "SELECT id, name FROM customers ORDER BY id");
    assert_eq!(item["column_names"], json!(["id", "name"]));
    assert_eq!(item["data"], json!([[1, "Ann"], [2, "Bob"], [3, "Zoë"]]));
    assert_eq!(
        (&item["total"], &item["has_more"]),
        (&json!(3), &json!(false))
    );
    let id = response["id"].as_str().unwrap();
    let again = host
        .get(&format!("/responses/resp_{id}"))
        .await
        .expect_status(200)
        .json();
    assert_eq!(again["output"], response["output"]);
}

#[tokio::test]
async fn max_inline_rows_cuts_the_rows_and_never_the_total() {
    let (host, _mind) = shop().await;
    let ask = |rows: Value| {
        let tool =
            json!({"type": "sql_query", "query": "SELECT id FROM orders", "max_inline_rows": rows});
        host.post("/responses", json!({"model": "sales", "tools": [tool]}))
    };
    let item = ask(json!(2)).await.expect_status(200).json()["output"][0].clone();
    assert_eq!(
        (
            item["data"].as_array().unwrap().len(),
            &item["total"],
            &item["has_more"]
        ),
        (2, &json!(3), &json!(true))
    );
    for (rows, code) in [
        (json!(0), "invalid_parameter"),
        (json!(10_001), "invalid_parameter"),
        (json!(-1), "invalid_parameter"),
        (json!("5"), "invalid_body"),
        (json!(2.5), "invalid_body"),
    ] {
        let error = ask(rows).await.expect_error(400, code);
        assert_eq!(error["param"], "tools[0].max_inline_rows");
    }
    ask(json!(10_000)).await.expect_status(200);
}

#[tokio::test]
async fn a_field_that_the_sql_tool_does_not_have_is_refused() {
    let (host, _mind) = shop().await;
    // It is a field of the body, or a misspelt one: either would not do what was asked.
    for field in ["store", "explian"] {
        let tool = json!({"type": "sql_query", "query": "SELECT id FROM orders", field: true});
        let reply = host.post("/responses", json!({"model": "sales", "tools": [tool]}));
        let error = reply.await.expect_error(400, "invalid_body");
        assert!(
            error["message"].as_str().unwrap().contains(field),
            "{error}"
        );
    }
}

#[tokio::test]
async fn sql_is_refused_where_the_mind_does_not_allow_it() {
    let (host, _mind) = shop().await;
    let closed = host.mind("closed").datasource("shop").create().await;
    let error = closed
        .sql("SELECT 1")
        .await
        .expect_error(403, "direct_queries_not_allowed");
    assert_eq!(error["param"], "tools");
}

#[tokio::test]
async fn what_the_engine_rejects_is_said_with_its_own_words() {
    let (_host, mind) = shop().await;
    let error = mind
        .sql("SELECT nothing_like_it FROM customers")
        .await
        .expect_error(400, "sql_invalid");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("nothing_like_it"),
        "{error}"
    );
    mind.sql("SELECT FROM WHERE")
        .await
        .expect_error(400, "sql_syntax");
    mind.sql("DELETE FROM orders")
        .await
        .expect_error(400, "sql_not_read_only");
}

#[tokio::test]
async fn a_mind_with_two_datasources_routes_a_statement_and_joins_them() {
    let (host, _mind) = shop().await;
    host.sqlite(
        "stock",
        "CREATE TABLE parts (id INTEGER); INSERT INTO parts VALUES (7);",
    )
    .await
    .load()
    .await;
    let both = host
        .mind("both")
        .datasource("shop")
        .datasource("stock")
        .direct_queries()
        .create()
        .await;
    assert_eq!(both.rows("SELECT id FROM parts").await, [[json!(7)]]);
    assert_eq!(
        both.rows("SELECT count(*) FROM shop.customers").await,
        [[json!(3)]]
    );
    assert_eq!(
        both.rows("SELECT count(*) FROM parts, customers").await,
        [[json!(3)]]
    );
}

#[tokio::test]
async fn a_deleted_response_is_gone() {
    let (host, mind) = shop().await;
    let response = mind.sql("SELECT 1").await.expect_status(200).json();
    let path = format!("/responses/{}", response["id"].as_str().unwrap());
    let deleted = host.delete(&path).await.expect_status(200).json();
    assert_eq!(deleted["deleted"], true);
    host.get(&path)
        .await
        .expect_error(404, "response_not_found");
    host.get("/responses/nonsense")
        .await
        .expect_error(404, "response_not_found");
}
