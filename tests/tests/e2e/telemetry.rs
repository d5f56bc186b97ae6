//! Traces, as a collector gets them.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{Router, body::Bytes, extract::State, routing::post};
use mindhost_tests::{Host, eventually};

/// A collector that keeps what it was sent.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<u8>>>);

impl Collector {
    /// Starts it; its URL.
    async fn start(&self) -> String {
        async fn take(State(collector): State<Collector>, body: Bytes) {
            collector.0.lock().unwrap().extend_from_slice(&body);
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/v1/traces", post(take));
        let router = router.with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    /// Whether a span has this text, or these bytes, somewhere.
    fn has(&self, what: impl AsRef<[u8]>) -> bool {
        let (kept, what) = (self.0.lock().unwrap(), what.as_ref());
        kept.windows(what.len()).any(|part| part == what)
    }
}

#[tokio::test]
async fn a_request_and_its_calls_of_plugins_are_spans_of_the_callers_trace() {
    let collector = Collector::default();
    let url = collector.start().await;
    let host = Host::builder().env("MINDHOST_TELEMETRY__OTLP_ENDPOINT", url);
    let host = host.start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    let engine = host.get("/engines/sqlite").await.expect_status(200).json();
    let digest = engine["digest"].as_str().unwrap().to_owned();
    let trace: [u8; 16] = *b"\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36";
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    host.get("/datasources/shop?check_connection=true")
        .header("traceparent", parent)
        .header("x-request-id", "seen-by-the-collector")
        .await
        .expect_status(200);
    eventually(async || collector.has(trace), |has| *has).await;
    for what in [
        "mindhost",
        "service.version",
        "request",
        "seen-by-the-collector",
        "/api/v1/datasources/{name}",
        "plugin_call",
        "connector-sqlite",
        "shop",
        &digest,
    ] {
        eventually(async || collector.has(what), |has| *has).await;
    }
}

#[tokio::test]
async fn the_last_spans_are_sent_before_the_server_ends() {
    let collector = Collector::default();
    let url = collector.start().await;
    let host = Host::builder().env("MINDHOST_TELEMETRY__OTLP_ENDPOINT", url);
    let host = host.start().await;
    host.get("/minds")
        .header("x-request-id", "the-last-one")
        .await;
    assert!(host.shut_down().await);
    assert!(collector.has("the-last-one"));
}

#[tokio::test]
async fn a_collector_that_is_away_or_silent_holds_nobody_up() {
    // Nobody listens on the first port; the second takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    for port in [1, port] {
        let url = format!("http://127.0.0.1:{port}");
        let host = Host::builder().env("MINDHOST_TELEMETRY__OTLP_ENDPOINT", url);
        let host = host.start().await;
        let begun = Instant::now();
        for _ in 0..20 {
            host.get("/minds").await.expect_status(200);
        }
        // The time limit of an export is ten seconds; a request that waited for one would take longer.
        assert!(
            begun.elapsed() < Duration::from_secs(100),
            "{:?}",
            begun.elapsed()
        );
        assert!(host.shut_down().await, "{}", host.log());
    }
}
