//! An attacker behind a proxy sends a request that the proxy and the server could read differently, so that a part of it
//! becomes the beginning of somebody else's request. It is refused, and the connection ends, before anything of the rest is
//! taken for a request.

use mindhost_tests::{Host, Wire, json};

/// What the attacker hides; its answer would be a 200.
const HIDDEN: &str = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

/// Sends a request with another one behind it. The first is refused, the other never answered.
async fn check_refused(host: &Host, request: &str) {
    let mut wire = Wire::to(host).await;
    wire.send(format!("{request}{HIDDEN}")).await;
    let answer = wire.answer().await;
    let what = format!("{request:?}: {} {}", answer.head, answer.body);
    assert_eq!(answer.status, 400, "{what}");
    assert!(answer.closes(), "{what}");
    assert!(wire.is_closed().await, "{what}");
}

/// Sends requests at once, and gives the statuses of their answers.
async fn statuses(host: &Host, requests: &str, count: usize) -> Vec<u16> {
    let mut wire = Wire::to(host).await;
    wire.send(requests).await;
    let mut found = Vec::new();
    for _ in 0..count {
        found.push(wire.answer().await.status);
    }
    found
}

fn post(key: &str, headers: &str, body: &str) -> String {
    format!(
        "POST /api/v1/conversations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\n{headers}\r\n{body}"
    )
}

#[tokio::test]
async fn two_lengths_are_refused() {
    let host = Host::start().await;
    let chunked = "Transfer-Encoding: chunked\r\n";
    let length = "Content-Length: 7\r\n";
    for headers in [
        format!("{length}{chunked}"),
        format!("{chunked}{length}"),
        format!("{chunked}X-Between: x\r\nCONTENT-LENGTH:7\r\n"),
        format!("Content-Length: 0\r\n{chunked}"),
    ] {
        let request = post(host.key(), &headers, "2\r\n{}\r\n0\r\n\r\n");
        check_refused(&host, &request).await;
        let mut wire = Wire::to(&host).await;
        wire.send(&request)
            .await
            .answer()
            .await
            .expect_error(400, "invalid_parameter");
    }
}

#[tokio::test]
async fn two_lengths_are_refused_behind_other_requests_too() {
    let host = Host::start().await;
    let chunked = post(
        host.key(),
        "Transfer-Encoding: chunked\r\n",
        "2;a=b\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
    );
    let sized = post(host.key(), "Content-Length: 2\r\n", "{}");
    let both = "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n";
    let both = post(host.key(), both, "2\r\n{}\r\n0\r\n\r\n");
    let requests = format!("{HIDDEN}{chunked}{sized}{chunked}{both}{HIDDEN}");
    let found = statuses(&host, &requests, 5).await;
    assert_eq!(found, [200, 200, 200, 200, 400]);
}

/// The length comes in two packets, with so many spaces before it that it is not kept in between. Who cannot tell how long
/// the body is would look for heads in it, and not see the two lengths of a request behind it.
#[tokio::test]
async fn a_length_in_pieces_hides_no_request() {
    let host = Host::start().await;
    let hidden = "POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n";
    let both = "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n";
    let both = post(host.key(), both, "2\r\n{}\r\n0\r\n\r\n");
    let begin = |header: &str| {
        let spaces = " ".repeat(5_000);
        format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{header}:{spaces}")
    };
    let rest = format!("{}\r\n\r\n{hidden}{both}", hidden.len());
    let mut wire = Wire::to(&host).await;
    wire.send_apart(&begin("Content-Length"), &rest).await;
    let answer = wire.answer().await;
    answer.expect_error(400, "invalid_parameter");
    assert!(answer.closes(), "{}", answer.head);
    assert!(wire.is_closed().await, "{}", answer.head);
    // A long line that says no length does no harm.
    let mut wire = Wire::to(&host).await;
    wire.send_apart(&begin("X-Long"), &format!("x\r\n\r\n{HIDDEN}"))
        .await;
    for _ in 0..2 {
        assert_eq!(wire.answer().await.status, 200);
    }
}

#[tokio::test]
async fn lengths_that_are_no_single_number_are_refused() {
    let host = Host::start().await;
    for length in [
        "2, 2",
        "2,3",
        "+2",
        "-2",
        "0x2",
        "2 2",
        "",
        "2.0",
        "99999999999999999999",
    ] {
        let headers = format!("Content-Length: {length}\r\n");
        check_refused(&host, &post(host.key(), &headers, "{}")).await;
    }
    let differ = "Content-Length: 2\r\nContent-Length: 3\r\n";
    check_refused(&host, &post(host.key(), differ, "{}")).await;
    // Equal ones say one thing.
    let equal = "Content-Length: 2\r\nContent-Length: 2\r\n";
    let request = post(host.key(), equal, "{}");
    let found = statuses(&host, &format!("{request}{HIDDEN}"), 2).await;
    assert_eq!(found, [200, 200]);
}

#[tokio::test]
async fn other_transfer_encodings_are_refused() {
    let host = Host::start().await;
    for encoding in [
        "gzip",
        "identity",
        "xchunked",
        "chunked, identity",
        "chunked\x0b",
        "\"chunked\"",
    ] {
        let headers = format!("Transfer-Encoding: {encoding}\r\n");
        check_refused(&host, &post(host.key(), &headers, "2\r\n{}\r\n0\r\n\r\n")).await;
    }
    let old = post(
        host.key(),
        "Transfer-Encoding: chunked\r\n",
        "2\r\n{}\r\n0\r\n\r\n",
    );
    check_refused(&host, &old.replace("HTTP/1.1", "HTTP/1.0")).await;
}

#[tokio::test]
async fn malformed_lines_are_refused() {
    let host = Host::start().await;
    for line in [
        "X-Folded: one\r\n two\r\n",
        "X-Folded: one\r\n\ttwo\r\n",
        " X-First: x\r\n",
        "X-Bare: one\rtwo\r\n",
        "X-Nul: one\0two\r\n",
        "Content-Length : 2\r\n",
        "Transfer-Encoding : chunked\r\n",
        "No colon\r\n",
        ": no name\r\n",
        "X(Y): x\r\n",
    ] {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{line}\r\n");
        check_refused(&host, &request).await;
    }
    for request in [
        "GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n",
        "GET /healthz HTTP/1.1 x\r\nHost: x\r\n\r\n",
        "GET  /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /heal thz HTTP/1.1\r\nHost: x\r\n\r\n",
        "G\0T /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    ] {
        check_refused(&host, request).await;
    }
}

/// Whatever is wrong with a chunk, nothing behind it is a request.
#[tokio::test]
async fn malformed_chunks_end_the_connection() {
    let host = Host::start().await;
    for chunks in [
        "2\r\n{}0\r\n\r\n",
        "2\n{}\r\n0\r\n\r\n",
        "2;a\nb\r\n{}\r\n0\r\n\r\n",
        "-2\r\n{}\r\n0\r\n\r\n",
        "0x2\r\n{}\r\n0\r\n\r\n",
        "g\r\n{}\r\n0\r\n\r\n",
        "FFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n",
        "\r\n{}\r\n0\r\n\r\n",
    ] {
        let request = post(host.key(), "Transfer-Encoding: chunked\r\n", chunks);
        let mut wire = Wire::to(&host).await;
        wire.send(format!("{request}{HIDDEN}")).await;
        let answer = wire.answer().await;
        let what = format!("{chunks:?}: {} {}", answer.head, answer.body);
        assert_eq!(answer.status, 400, "{what}");
        assert!(answer.closes(), "{what}");
        assert!(wire.is_closed().await, "{what}");
    }
}

#[tokio::test]
async fn a_request_has_one_host() {
    let host = Host::start().await;
    for headers in [
        "",
        "Host: x\r\nHost: x\r\n",
        "Host: x\r\nHost: y\r\n",
        "Host: x, y\r\n",
        "Host: user@x\r\n",
        "Host: x/y\r\n",
        "Host: x:8080:80\r\n",
    ] {
        let request = format!("GET /healthz HTTP/1.1\r\n{headers}\r\n");
        check_refused(&host, &request).await;
        let mut wire = Wire::to(&host).await;
        wire.send(&request)
            .await
            .answer()
            .await
            .expect_error(400, "invalid_parameter");
    }
    // The version before had none.
    let old = "GET /healthz HTTP/1.0\r\n\r\n";
    assert_eq!(statuses(&host, old, 1).await, [200]);
    let two = "GET /healthz HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n";
    assert_eq!(statuses(&host, two, 1).await, [400]);
}

/// What the target says goes, as it does for proxies: the header cannot make it another host's.
#[tokio::test]
async fn the_host_of_a_target_goes_before_the_header() {
    let host = Host::start().await;
    let own = host.url();
    let own = own.strip_prefix("http://").unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let request = |target: &str, host_header: &str, origin: &str| {
        format!(
            "POST http://{target}/mcp HTTP/1.1\r\nHost: {host_header}\r\nOrigin: http://{origin}\r\n\
             Authorization: Bearer {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {}\r\n\r\n{call}",
            host.key(),
            call.len()
        )
    };
    let allowed = request(own, "evil.example.com", own);
    assert_eq!(statuses(&host, &allowed, 1).await, [200]);
    let foreign = request("evil.example.com", own, own);
    assert_eq!(statuses(&host, &foreign, 1).await, [403]);
}

#[tokio::test]
async fn requests_that_come_at_once_are_answered_in_order() {
    let host = Host::start().await;
    let length = post(host.key(), "Content-Length: 2\r\n", "{}");
    let chunked = post(
        host.key(),
        "Transfer-Encoding: chunked\r\n",
        "2\r\n{}\r\n0\r\n\r\n",
    );
    let refused = post("mh_wrong", "Content-Length: 2\r\n", "{}");
    let missing = "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n";
    let requests = format!("{length}{refused}\r\n{HIDDEN}{chunked}{missing}{refused}{length}");
    let found = statuses(&host, &requests, 7).await;
    assert_eq!(found, [200, 401, 200, 200, 404, 401, 200]);
}

#[tokio::test]
async fn heads_that_are_too_large_are_refused_with_an_answer() {
    let host = Host::start().await;
    let many: String = (0..200).map(|n| format!("X-{n}: x\r\n")).collect();
    let long = format!("X-Long: {}\r\n", "x".repeat(1 << 20));
    for headers in [many, long] {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{headers}\r\n{HIDDEN}");
        let mut wire = Wire::to(&host).await;
        assert!(wire.try_send(request).await, "it is cut off");
        assert_eq!(wire.answer().await.status, 431);
        assert!(wire.is_closed().await);
    }
    let target = "x".repeat(70_000);
    let request = format!("GET /{target} HTTP/1.1\r\nHost: x\r\n\r\n{HIDDEN}");
    let mut wire = Wire::to(&host).await;
    wire.send(request).await;
    assert_eq!(wire.answer().await.status, 414);
    assert!(wire.is_closed().await);
}

#[tokio::test]
async fn other_methods_and_forms_of_targets_do_no_harm() {
    let host = Host::start().await;
    let key = host.key();
    let mut wire = Wire::to(&host).await;
    for (request, status) in [
        ("HEAD /healthz", 200),
        ("HEAD /api/v1/models", 200),
        ("HEAD /api/v1/nowhere", 404),
    ] {
        let request =
            format!("{request} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n");
        let answer = wire.send(request).await.answer_without_body().await;
        assert_eq!(answer.status, status, "{}", answer.head);
    }
    for (request, status) in [
        ("OPTIONS *", 404),
        ("OPTIONS /api/v1/models", 405),
        ("TRACE /api/v1/models", 405),
        ("get /api/v1/models", 405),
        ("GET /api/v1/../../etc/passwd", 404),
        ("GET /api/v1/minds/%2e%2e%2fkeys", 404),
        ("GET /api/v1/minds/a%2Fb", 404),
        ("GET /api/v1/minds/%252e", 404),
        ("GET /api/v1/minds/%ff", 400),
        ("GET /api/v1/minds/%00", 400),
        ("GET /api/v1/minds/a%0d%0aX-Injected:%20x", 404),
        ("GET /api/v1%2Fminds", 404),
    ] {
        let request =
            format!("{request} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n");
        let answer = wire.send(&request).await.answer().await;
        assert_eq!(answer.status, status, "{request}: {}", answer.head);
        assert_eq!(answer.header("x-injected"), "", "{}", answer.head);
        assert!(answer.json()["error"]["code"].is_string());
    }
    // A tunnel is none.
    let connect =
        format!("CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\nAuthorization: Bearer {key}\r\n\r\n");
    let status = Wire::to(&host)
        .await
        .send(connect)
        .await
        .answer()
        .await
        .status;
    assert!([404, 405].contains(&status), "{status}");
}
