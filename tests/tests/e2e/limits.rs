//! How much one key may ask of the server.

use mindhost_tests::{Gate, Host, Reply, ScriptedModel, Turn, Wire, eventually, json};

/// Who meets a limit reads which setting it is, and when to come back.
#[track_caller]
fn check_named(refused: &Reply, setting: &str) {
    let error = refused.expect_error(429, "rate_limit_exceeded");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(setting), "{message}");
    assert_eq!(refused.header("retry-after"), "1");
}

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
    let sent = (0..20).map(|_| tokio::spawn(host.get("/engines").attempt()));
    let replies = futures_util::future::join_all(sent).await.into_iter();
    let refused = replies
        .map(|reply| reply.unwrap().unwrap())
        .find(|reply| reply.status == 429)
        .expect("twenty requests in a moment are too many");
    check_named(&refused, "limits.requests_per_second");
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
    check_named(&host.get("/engines").await, "limits.concurrent_requests");
    gate.open();
    drop(stream);
    let status = async || host.get("/engines").await.status;
    let first = eventually(status, |status| *status != 429).await;
    assert_eq!(first, 200);
}

#[tokio::test]
async fn a_key_that_asks_fast_meets_no_limit_unless_one_is_set() {
    let host = Host::start().await;
    let mut wire = Wire::to(&host).await;
    let request = format!(
        "GET /api/v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n",
        host.key()
    );
    for _ in 0..30 {
        wire.send(request.repeat(100)).await;
        for _ in 0..100 {
            assert_eq!(wire.answer().await.status, 200);
        }
    }
}

#[tokio::test]
async fn the_limits_of_answers_name_their_settings() {
    let gate = Gate::default();
    let turns = [(); 2].map(|()| Turn::empty().and_wait(&gate).and_text("late"));
    let model = ScriptedModel::start(turns).await;
    let host = Host::builder()
        .env("MINDHOST_ANSWERING__BACKGROUND_PER_KEY", "1")
        .env("MINDHOST_ANSWERING__CONCURRENT_PER_KEY", "2");
    let host = host.start().await;
    host.scripted_provider("scripted", &model).await;
    host.mind("clerk").provider("scripted").create().await;
    let ask = |background: bool| {
        let body = json!({"model": "clerk", "input": "How many?", "background": background, "stream": !background});
        host.post("/responses", body)
    };
    ask(true).await.expect_status(200);
    check_named(&ask(true).await, "answering.background_per_key");
    let stream = ask(false).open().await;
    assert_eq!(stream.status(), 200);
    check_named(&ask(false).await, "answering.concurrent_per_key");
    gate.open();
}
