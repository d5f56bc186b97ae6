//! Connections, whatever is asked over them: nobody needs a key to open one.

use std::{pin::pin, time::Duration};

use mindhost_tests::{Host, eventually, json};
use reqwest::Method;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// Long enough for a loaded machine.
const SOON: Duration = Duration::from_secs(60);

/// Beyond every test.
const NEVER: &str = "1h";

async fn connect(host: &Host, sent: &str) -> TcpStream {
    let address = host.url();
    let address = address.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(sent.as_bytes()).await.unwrap();
    connection
}

/// All that still comes, until the server closes the connection.
async fn rest_of(connection: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let ended = timeout(SOON, connection.read_to_end(&mut read)).await;
    // Closed while something was sent: the system says so in this way.
    let _ = ended.expect("the server closes the connection");
    String::from_utf8_lossy(&read).into_owned()
}

async fn is_healthy(host: &Host) {
    let health = host.request(Method::GET, "/healthz").without_key();
    health.await.expect_status(200);
}

#[tokio::test]
async fn what_sends_no_request_is_closed() {
    let host = Host::builder()
        .env("MINDHOST_SERVER__FIRST_REQUEST_TIMEOUT", "1s")
        .env("MINDHOST_SERVER__IDLE_TIMEOUT", NEVER)
        .start()
        .await;
    let mut silent = connect(&host, "").await;
    let mut half = connect(&host, "GET /api/v1/models HTTP/1.1\r\nHost: x\r\n").await;
    assert_eq!(rest_of(&mut silent).await, "");
    assert_eq!(rest_of(&mut half).await, "");
}

#[tokio::test]
async fn what_rests_after_a_request_is_closed_and_what_goes_on_is_not() {
    let host = Host::builder()
        .env("MINDHOST_SERVER__IDLE_TIMEOUT", "15s")
        .start()
        .await;
    let request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut resting = connect(&host, request).await;
    let mut half = connect(&host, &format!("{request}GET /healthz HTT")).await;
    let mut busy = connect(&host, "").await;
    let closed =
        tokio::spawn(async move { [rest_of(&mut resting).await, rest_of(&mut half).await] });
    let mut buffer = [0; 4096];
    let ask = async || {
        busy.write_all(request.as_bytes()).await.unwrap();
        assert!(busy.read(&mut buffer).await.unwrap() > 0);
        closed.is_finished()
    };
    eventually(ask, |is_finished| *is_finished).await;
    for answers in closed.await.unwrap() {
        assert_eq!(answers.matches("HTTP/1.1 200").count(), 1, "{answers}");
    }
    busy.write_all(request.as_bytes()).await.unwrap();
    assert!(busy.read(&mut buffer).await.unwrap() > 0);
}

#[tokio::test]
async fn what_rests_makes_room_and_what_is_under_way_does_not() {
    let host = Host::builder()
        .env("MINDHOST_SERVER__MAX_CONNECTIONS", "2")
        .env("MINDHOST_SERVER__FIRST_REQUEST_TIMEOUT", NEVER)
        .env("MINDHOST_SERVER__IDLE_TIMEOUT", NEVER)
        .start()
        .await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(connect(&host, "").await);
    }
    is_healthy(&host).await;
    for connection in &mut silent[..10] {
        assert_eq!(rest_of(connection).await, "");
    }

    let head = format!(
        "POST /api/v1/minds HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{",
        host.key()
    );
    let mut first = connect(&host, &head).await;
    let mut second = connect(&host, &head).await;
    let mut health = pin!(is_healthy(&host));
    let early = timeout(Duration::from_secs(1), &mut health).await;
    assert!(early.is_err(), "both connections are in use");
    first.write_all(b"}").await.unwrap();
    health.await;
    let answer = rest_of(&mut first).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    second.write_all(b"}").await.unwrap();
    let mut answer = [0; 12];
    second.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 400");
}

/// A handler has done its work before its answer is encoded, so none is refused then.
#[tokio::test]
async fn accept_encoding_that_refuses_everything_is_disregarded() {
    let host = Host::start().await;
    let refusals = ["br, *;q=0", "identity;q=0", "*;q=0"];
    for (number, refusal) in refusals.into_iter().enumerate() {
        let body = json!({"name": format!("m{number}"), "datasources": []});
        let made = host.post("/minds", body).header("accept-encoding", refusal);
        let made = made.await.expect_status(200);
        assert_eq!(made.json()["name"], format!("m{number}"), "{refusal}");
        let missing = host
            .get("/minds/none")
            .header("accept-encoding", refusal)
            .await;
        missing.expect_error(404, "mind_not_found");
    }
}

#[tokio::test]
async fn while_there_is_room_nobody_makes_any() {
    let host = Host::start().await;
    let mut open = Vec::new();
    for _ in 0..20 {
        open.push(connect(&host, "").await);
        is_healthy(&host).await;
    }
    let mut answer = [0; 12];
    for connection in &mut open {
        let request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
        connection.write_all(request).await.unwrap();
        connection.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
    }
}

#[tokio::test]
async fn who_takes_nothing_of_an_answer_holds_no_connection() {
    let host = Host::builder()
        .env("MINDHOST_SERVER__MAX_CONNECTIONS", "1")
        .env("MINDHOST_SERVER__IDLE_TIMEOUT", "1s")
        .env("MINDHOST_SQL__EXPORT_IDLE_TIMEOUT", "1s")
        .start()
        .await;
    let request = "GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut unread = connect(&host, &request.repeat(100)).await;
    unread.readable().await.unwrap();
    is_healthy(&host).await;
    assert!(rest_of(&mut unread).await.matches("HTTP/1.1 200").count() < 100);
}

#[tokio::test]
async fn a_server_that_ends_waits_for_no_one_who_asks_nothing() {
    let host = Host::builder()
        .env("MINDHOST_SERVER__FIRST_REQUEST_TIMEOUT", NEVER)
        .env("MINDHOST_SERVER__SHUTDOWN_GRACE", NEVER)
        .start()
        .await;
    let request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut open = Vec::new();
    for sent in ["", "GET /healthz HTTP", request] {
        open.push(connect(&host, sent).await);
    }
    open[2].readable().await.unwrap();
    assert!(host.shut_down().await, "{}", host.log());
}

#[tokio::test]
async fn the_listener_for_metrics_has_connections_of_its_own() {
    let host = Host::builder()
        .env("MINDHOST_METRICS__LISTEN", "127.0.0.1:0")
        .env("MINDHOST_SERVER__MAX_CONNECTIONS", "1")
        .start()
        .await;
    let head = "POST /api/v1/minds HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n";
    let _held = connect(&host, head).await;
    let url = host.metrics_url();
    for path in ["/healthz", "/readyz", "/metrics"] {
        let reply = reqwest::get(format!("{url}{path}")).await.unwrap();
        assert_eq!(reply.status(), 200, "{path}");
    }
}
