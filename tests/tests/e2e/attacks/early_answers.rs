//! Answers that come before the body of their request. The attack may be an accident: a client that is refused
//! must not send its next request, which is innocent, on a connection that the server is closing.

use std::time::{Duration, Instant};

use mindhost_tests::{Answer, Host, Wire, build, json};
use tokio::process::Command;

use crate::clients::check;

const SMALL: &str = "{\"name\": \"x\"}";

/// A host that refuses in every way there is, and a key that may do little.
async fn host() -> (Host, String) {
    let host = Host::builder().env("MINDHOST_SERVER__BODY_LIMIT", "1000");
    let host = host.start().await;
    let user = user(&host).await;
    (host, user)
}

async fn user(host: &Host) -> String {
    let made = host.post("/keys", json!({"name": "user", "role": "user"}));
    let made = made.await.expect_status(201).json();
    made["key"].as_str().unwrap().to_owned()
}

fn head(what: &str, key: &str, length: usize, headers: &str) -> String {
    format!(
        "{what} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n{headers}\r\n"
    )
}

/// The next request on a connection, which has nothing to do with the one before.
async fn is_usable(wire: &mut Wire, what: &str) {
    let request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    assert!(wire.try_send(request).await, "{what}");
    assert_eq!(wire.answer().await.status, 200, "{what}");
}

/// The answer to a request whose body comes after its head. The server waits a second for it: where this machine took
/// longer, the connection may end, and it is tried again.
async fn answer_to_late_body(host: &Host, head: &str, body: &str) -> (Wire, Answer) {
    loop {
        let mut wire = Wire::to(host).await;
        let began = Instant::now();
        let answer = wire.send_apart(head, body).await.answer().await;
        if !answer.closes() || began.elapsed() < Duration::from_millis(700) {
            return (wire, answer);
        }
    }
}

#[tokio::test]
async fn after_every_early_answer_the_connection_can_be_used_again() {
    let (host, user) = host().await;
    let (admin, wrong) = (host.key(), "mh_wrong");
    let gzip = "Content-Encoding: gzip\r\n";
    let bad_name = "Idempotency-Key: \u{fc}\r\n";
    let cases = [
        (401, "POST /api/v1/minds", wrong, SMALL.len(), ""),
        (401, "POST /mcp", wrong, SMALL.len(), ""),
        (403, "POST /api/v1/minds", &user, SMALL.len(), ""),
        (404, "POST /api/v1/nowhere", admin, SMALL.len(), ""),
        (404, "PUT /api/v1/minds/missing", admin, SMALL.len(), ""),
        (405, "POST /api/v1/models", admin, SMALL.len(), ""),
        (405, "POST /healthz", admin, SMALL.len(), ""),
        (413, "POST /api/v1/minds", admin, 1001, ""),
        (413, "POST /mcp", admin, 1001, ""),
        (415, "POST /api/v1/minds", admin, SMALL.len(), gzip),
        (400, "POST /api/v1/minds", admin, SMALL.len(), bad_name),
        (200, "GET /healthz", admin, SMALL.len(), ""),
        (200, "GET /api/v1/models", &user, SMALL.len(), ""),
        (404, "DELETE /api/v1/minds/missing", admin, SMALL.len(), ""),
    ];
    for (status, what, key, length, headers) in cases {
        let body = format!("{SMALL:<length$}");
        let head = head(what, key, length, headers);
        let (mut wire, answer) = answer_to_late_body(&host, &head, &body).await;
        let what = format!("{status} {what}: {} {}", answer.head, answer.body);
        assert_eq!(answer.status, status, "{what}");
        assert!(!answer.closes(), "{what}");
        is_usable(&mut wire, &what).await;
    }
}

#[tokio::test]
async fn after_429_the_connection_can_be_used_again() {
    let host = Host::builder()
        .env("MINDHOST_LIMITS__REQUESTS_PER_SECOND", "1")
        .env("MINDHOST_LIMITS__BURST", "1");
    let host = host.start().await;
    let head = head("POST /api/v1/conversations", host.key(), 2, "");
    let asks = (0..20).map(|_| answer_to_late_body(&host, &head, "{}"));
    let mut refused = 0;
    for (mut wire, answer) in futures_util::future::join_all(asks).await {
        refused += u32::from(answer.status == 429);
        let what = format!("{} {}", answer.head, answer.body);
        assert!([200, 429].contains(&answer.status), "{what}");
        is_usable(&mut wire, &what).await;
    }
    assert!(refused >= 1, "{refused}");
}

/// What is longer than anybody wants to read is not read; the answer says so and reaches a client that still sends.
#[tokio::test]
async fn before_a_long_body_the_answer_says_that_the_connection_ends() {
    let (host, user) = host().await;
    let length = 3 << 20;
    let body = vec![b' '; length];
    for (status, what, key) in [
        (401, "POST /api/v1/minds", "mh_wrong"),
        (403, "POST /api/v1/minds", &user),
        (404, "POST /api/v1/nowhere", host.key()),
        (413, "POST /api/v1/minds", host.key()),
        (413, "POST /mcp", host.key()),
    ] {
        let mut wire = Wire::to(&host).await;
        wire.send(head(what, key, length, "")).await;
        // It comes with none of the body there.
        let answer = wire.answer().await;
        assert_eq!(answer.status, status, "{what}: {}", answer.head);
        assert!(answer.closes(), "{what}: {}", answer.head);

        let mut wire = Wire::to(&host).await;
        wire.send(head(what, key, length, "")).await;
        assert!(wire.try_send(&body).await, "{what}: it is cut off");
        assert_eq!(wire.answer().await.status, status, "{what}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_asked_for_is_not_waited_for() {
    let (host, _) = host().await;
    for (status, key, length) in [
        (401, "mh_wrong", SMALL.len()),
        (413, host.key(), 1001),
        (413, host.key(), 1 << 30),
    ] {
        let mut wire = Wire::to(&host).await;
        let expects = "Expect: 100-continue\r\n";
        let began = Instant::now();
        wire.send(head("POST /api/v1/minds", key, length, expects))
            .await;
        let answer = wire.answer().await;
        assert_eq!(answer.status, status, "{}", answer.head);
        // The body may come now or not, so the connection is of no more use.
        assert!(answer.closes(), "{}", answer.head);
        assert!(began.elapsed() < Duration::from_secs(25));
    }
    let mut wire = Wire::to(&host).await;
    let expects = "Expect: 100-continue\r\n";
    let head = head("POST /api/v1/conversations", host.key(), 2, expects);
    wire.send(head).await;
    assert_eq!(wire.answer_without_body().await.status, 100);
    assert_eq!(wire.send("{}").await.answer().await.status, 200);
}

/// An attacker without a key who sends heads and never a body holds each connection for moments.
#[tokio::test]
async fn a_body_that_never_comes_is_not_waited_for_long() {
    let (host, _) = host().await;
    let mut wire = Wire::to(&host).await;
    let began = Instant::now();
    wire.send(head("POST /api/v1/minds", "mh_wrong", 10, ""))
        .await;
    let answer = wire.answer().await;
    assert_eq!(answer.status, 401);
    assert!(answer.closes(), "{}", answer.head);
    assert!(wire.is_closed().await);
    assert!(began.elapsed() < Duration::from_secs(25));
}

/// One who sends a body without end, a byte at a time, is not read without end.
#[tokio::test]
async fn a_body_without_end_is_not_read_without_end() {
    let (host, _) = host().await;
    let mut wire = Wire::to(&host).await;
    let head = "POST /api/v1/minds HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    wire.send(head).await;
    let began = Instant::now();
    let mut chunks = 0;
    while wire.try_send("1\r\n \r\n").await {
        chunks += 1;
        assert!(began.elapsed() < Duration::from_secs(20), "{chunks} chunks");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(wire.answer().await.closes());
}

/// The connection pools of clients that people use, at a limit that they meet all the time.
async fn pool(mut program: Command) {
    let host = Host::builder()
        .env("MINDHOST_LIMITS__REQUESTS_PER_SECOND", "1")
        .env("MINDHOST_LIMITS__BURST", "2");
    let host = host.start().await;
    program.args([&host.url(), host.key()]);
    check(program).await;
}

#[tokio::test]
async fn the_pool_of_httpx_survives_the_rate_limit() {
    // One has httpx2, the other httpx.
    for python in [build::python(), build::python_openai2()] {
        let mut python = Command::new(python);
        python.arg(build::workspace_dir().join("tests/clients/httpx/pool.py"));
        pool(python).await;
    }
}

#[tokio::test]
async fn the_pool_of_nodes_fetch_survives_the_rate_limit() {
    let script = build::workspace_dir().join("tests/clients/node/pool.mjs");
    pool(build::node_script(&script).into()).await;
}

#[tokio::test]
async fn the_pool_of_go_survives_the_rate_limit() {
    pool(Command::new(build::go_client())).await;
}
