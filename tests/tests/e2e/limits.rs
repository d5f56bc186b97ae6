//! How much one key may ask of the server.

use mindhost_tests::{Gate, Host, ScriptedModel, Turn, json};

#[tokio::test]
async fn a_key_that_asks_too_fast_is_told_when_to_come_back() {
    let host = Host::builder()
        .env("MINDHOST_LIMITS__REQUESTS_PER_SECOND", "1")
        .env("MINDHOST_LIMITS__BURST", "3");
    let host = host.start().await;
    let other = host
        .post("/keys", json!({"name": "other", "role": "user"}))
        .await;
    let other = other.expect_status(201).json();
    let mut refused = None;
    for _ in 0..20 {
        let reply = host.get("/engines").await;
        if reply.status == 429 {
            refused = Some(reply);
            break;
        }
    }
    let refused = refused.expect("twenty requests in a moment are too many");
    refused.expect_error(429, "rate_limit_exceeded");
    let seconds: u64 = refused.header("retry-after").parse().unwrap();
    assert_eq!(seconds, 1);
    let other = other["key"].as_str().unwrap();
    host.get("/engines").key(other).await.expect_status(200);
}

#[tokio::test]
async fn a_stream_counts_as_a_request_until_its_end() {
    let gate = Gate::default();
    let model = ScriptedModel::start([Turn::empty().and_wait(&gate).and_text("late")]).await;
    let host = Host::builder().env("MINDHOST_LIMITS__CONCURRENT_REQUESTS", "1");
    let host = host.start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop").provider("scripted");
    let mind = mind.create().await;
    let stream = mind.stream("How many?").await;
    let refused = host.get("/engines").await;
    refused.expect_error(429, "rate_limit_exceeded");
    assert_eq!(refused.header("retry-after"), "1");
    gate.open();
    drop(stream);
    let free = tokio::time::timeout(std::time::Duration::from_secs(30), async {
        while host.get("/engines").await.status == 429 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    assert!(free.await.is_ok(), "its place is never given back");
}
