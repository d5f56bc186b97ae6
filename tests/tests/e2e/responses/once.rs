//! `Idempotency-Key`: a request that comes twice is done once.

use mindhost_tests::{EventStream, Gate, Host, Reply, Request, Turn, Value, json};

use super::{shop, told};

fn named(request: Request) -> Request {
    request.header("idempotency-key", "0190-once")
}

fn ask(host: &Host, stream: bool) -> Request {
    let body = json!({"model": "told", "input": "How many?", "stream": stream});
    named(host.post("/responses", body))
}

#[tokio::test]
async fn an_answer_is_given_again_also_after_a_restart() {
    let (host, _mind) = shop().await;
    let model = told(&host, [Turn::text("Three.")]).await;
    let first = ask(&host, false).await.expect_status(200).json();
    assert_eq!(ask(&host, false).await.expect_status(200).json(), first);
    host.restart().await;
    assert_eq!(ask(&host, false).await.expect_status(200).json(), first);
    assert_eq!(model.asked().len(), 1);
    let list = host.get("/conversations").await.json();
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_stream_is_replayed() {
    let (host, _mind) = shop().await;
    let model = told(&host, [Turn::text("There are three.")]).await;
    let first = EventStream::open(ask(&host, true)).await.all().await;
    let again = EventStream::open(ask(&host, true)).await.all().await;
    assert_eq!(
        again.last(),
        Some(&mindhost_tests::Event {
            data: {
                let mut data = first.last().unwrap().data.clone();
                data["sequence_number"] = json!(again.len());
                data
            },
            name: "response.completed".into(),
        })
    );
    let text = |events: &[mindhost_tests::Event]| -> String {
        let deltas = events
            .iter()
            .filter(|event| event.name == "response.output_text.delta");
        deltas
            .map(|event| event.data["delta"].as_str().unwrap())
            .collect()
    };
    assert_eq!(text(&again), text(&first));
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test]
async fn one_under_way_is_joined_and_lives_as_long_as_one_client_waits() {
    let (host, _mind) = shop().await;
    let gate = Gate::default();
    let model = told(
        &host,
        [Turn::text("There are ").and_wait(&gate).and_text("three.")],
    )
    .await;
    let mut first = EventStream::open(ask(&host, true)).await;
    let begun = first.until("response.output_text.delta").await;
    let mut second = EventStream::open(ask(&host, true)).await;
    assert_eq!(second.until("response.output_text.delta").await, begun);
    drop(first);
    gate.open();
    second.until("response.completed").await;
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test]
async fn another_request_under_the_same_name_is_refused() {
    let (host, _mind) = shop().await;
    let _model = told(&host, [Turn::text("Three."), Turn::text("Three.")]).await;
    ask(&host, false).await.expect_status(200);
    let other = json!({"model": "told", "input": "How few?"});
    let error = named(host.post("/responses", other.clone())).await;
    error.expect_error(409, "idempotency_key_reused");
    // Another key, or another name, is another request.
    let key = json!({"name": "other", "role": "user"});
    let key = host.post("/keys", key).await.json();
    named(host.post("/responses", other))
        .key(key["key"].as_str().unwrap())
        .await
        .expect_status(200);
    for name in ["", &"x".repeat(256)] {
        let error = ask(&host, false).header("idempotency-key", name).await;
        error.expect_error(400, "invalid_parameter");
    }
}

#[tokio::test]
async fn what_failed_is_done_again() {
    let (host, _mind) = shop().await;
    let model = told(
        &host,
        [Turn::error(500, "no luck today"), Turn::text("Three.")],
    )
    .await;
    ask(&host, false).await.expect_error(502, "upstream_error");
    let second = ask(&host, false).await.expect_status(200).json();
    assert_eq!(second["output"][0]["content"][0]["text"], "Three.");
    assert_eq!(ask(&host, false).await.json(), second);
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test]
async fn a_chat_is_given_again() {
    let (host, _mind) = shop().await;
    let model = told(&host, [Turn::text("Three.")]).await;
    let chat = |stream: bool| {
        let messages = json!([{"role": "user", "content": "How many?"}]);
        named(host.post(
            "/chat/completions",
            json!({"model": "told", "messages": messages, "stream": stream}),
        ))
    };
    let first = chat(false).await.expect_status(200).json();
    assert_eq!(chat(false).await.expect_status(200).json(), first);
    chat(true).await.expect_error(409, "idempotency_key_reused");
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test]
async fn an_unstored_statement_is_run_anew() {
    let (host, _mind) = shop().await;
    let ask = |store: bool| {
        let tool = json!({"type": "sql_query", "query": "SELECT count(*) FROM orders"});
        let body = json!({"model": "sales", "tools": [tool], "store": store});
        host.post("/responses", body)
            .header("idempotency-key", if store { "kept" } else { "not kept" })
    };
    let id = async |store: bool| {
        let response = ask(store).await.expect_status(200).json();
        assert_eq!(response["output"][0]["data"], json!([[3]]));
        response["id"].clone()
    };
    // Nothing of it was kept, not even its page: each is another response.
    assert_ne!(id(false).await, id(false).await);
    // A stored one is given again.
    assert_eq!(id(true).await, id(true).await);
    // Another statement under its name is refused all the same.
    let tool = json!({"type": "sql_query", "query": "SELECT 1"});
    let other = json!({"model": "sales", "tools": [tool], "store": false});
    host.post("/responses", other)
        .header("idempotency-key", "not kept")
        .await
        .expect_error(409, "idempotency_key_reused");
}

#[tokio::test]
async fn query_whose_message_was_deleted_is_run_anew() {
    let (host, _mind) = shop().await;
    let tool = json!({"type": "sql_query", "query": "SELECT count(*) FROM orders"});
    let ask = async || {
        let body = json!({"model": "sales", "tools": [tool]});
        let reply = named(host.post("/responses", body)).await;
        reply.expect_status(200).json()
    };
    let first = ask().await;
    let conversation = first["conversation"]["id"].as_str().unwrap();
    host.delete(&format!("/conversations/{conversation}"))
        .await
        .expect_status(200);
    let second = ask().await;
    assert_ne!(second["id"], first["id"]);
    assert_eq!(second["output"][0]["data"], json!([[3]]));
    assert_eq!(ask().await["id"], second["id"]);
}

#[tokio::test]
async fn query_that_may_not_run_any_more_is_refused_again() {
    let (host, _mind) = shop().await;
    let tool = json!({"type": "sql_query", "query": "SELECT count(*) FROM orders"});
    let ask =
        async || named(host.post("/responses", json!({"model": "sales", "tools": [tool]}))).await;
    ask().await.expect_status(200);
    let parameters = json!({"parameters": {"allow_direct_queries": false}});
    host.put("/minds/sales", parameters)
        .await
        .expect_status(200);
    ask().await.expect_error(403, "direct_queries_not_allowed");
}

#[tokio::test]
async fn a_resource_is_made_once() {
    let (host, _mind) = shop().await;
    host.write_sqlite("more.db", super::SHOP);
    let cases: [(&str, Value, Value); 3] = [
        (
            "/minds",
            json!({"name": "m", "datasources": ["shop"]}),
            json!({"name": "n", "datasources": ["shop"]}),
        ),
        (
            "/datasources",
            json!({"name": "d", "engine": "sqlite", "connection_data": {"path": "more.db"}}),
            json!({"name": "e", "engine": "sqlite", "connection_data": {"path": "more.db"}}),
        ),
        ("/conversations", json!({}), json!({"metadata": {"a": "b"}})),
    ];
    for (path, body, other) in cases {
        let post = async |body: &Value| -> Reply { named(host.post(path, body.clone())).await };
        let first = post(&body).await;
        assert!((200..=201).contains(&first.status), "{}", first.text());
        let again = post(&body).await;
        assert_eq!((again.status, again.json()), (first.status, first.json()));
        assert_eq!(again.header("idempotency-replayed"), "true");
        post(&other)
            .await
            .expect_error(409, "idempotency_key_reused");
    }
    // What failed is not remembered.
    let body = json!({"name": "later", "datasources": ["late"]});
    let post = || {
        host.post("/minds", body.clone())
            .header("idempotency-key", "second")
    };
    post().await.expect_error(422, "unknown_datasource");
    host.sqlite("late", super::SHOP).await;
    post().await.expect_status(200);
    post()
        .without_key()
        .await
        .expect_error(401, "invalid_api_key");
}
