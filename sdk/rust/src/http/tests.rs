//! Retries and pages against what a server said.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::*;
use crate::control::stand_in;
use crate::testing::{Fixtures, StandIn};

type Headers<'a> = &'a [(&'a str, &'a str)];
/// The path and body of a request to `https://a.test`, then the status, headers and body of its response.
type Answer<'a> = (&'a str, &'a str, u16, Headers<'a>, Json);

/// Answers each of these requests once; one without a body is a `GET`.
fn served(name: &str, answers: &[Answer]) -> StandIn {
    let path =
        std::env::temp_dir().join(format!("mindhost-http-{name}-{}.json", std::process::id()));
    let fixtures: Vec<Json> = answers
        .iter()
        .map(|(path, asked, status, headers, body)| {
            let method = if asked.is_empty() { "GET" } else { "POST" };
            let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
            json!({
                "request": {"method": method, "url": format!("https://a.test{path}"), "body": asked},
                "response": {"status": status, "headers": headers, "body": body},
            })
        })
        .collect();
    std::fs::write(&path, json!(fixtures).to_string()).unwrap();
    let replay = Fixtures::in_file(&path).replay().unwrap();
    std::fs::remove_file(path).unwrap();
    replay
}

fn get(path: &str) -> Request {
    Request::get(format!("https://a.test{path}"))
}

#[test]
fn busy_server_is_asked_again_when_it_says() {
    let busy: &[_] = &[("retry-after-ms", "20")];
    let server = served(
        "busy",
        &[
            ("/", "", 429, busy, json!("later")),
            ("/", "", 503, busy, json!("later")),
            ("/", "", 200, &[], json!({"ok": true})),
        ],
    );
    let body: Json = send(&get("/").retries(2)).unwrap().json().unwrap();
    assert_eq!(body, json!({"ok": true}));
    assert_eq!(server.slept(), [Duration::from_millis(20); 2]);
}

#[test]
fn server_that_stays_busy_is_an_error_with_its_wait() {
    let answers = |name| {
        let busy: &[_] = &[("retry-after", "600")];
        served(name, &[("/", "", 429, busy, json!("later"))])
    };
    let _server = answers("stays-busy");
    // Nobody waits ten minutes in a call that ends in five seconds.
    stand_in::set_remaining(Some(Duration::from_secs(5)));
    let error = send(&get("/").retries(9)).err().unwrap();
    stand_in::set_remaining(None);
    assert_eq!(
        (error.kind(), error.engine_code()),
        (ErrorKind::RateLimited, "429")
    );
    assert!(error.message().contains("in 600.0 s"), "{error}");
    // Without retries a status is no error.
    assert_eq!(send(&get("/")).unwrap().status, 429);
    let refused = send(&get("/")).unwrap().success().err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::RateLimited);
}

#[test]
fn sleep_ends_at_the_end_of_the_call() {
    stand_in::set_remaining(Some(Duration::from_millis(30)));
    let began = Instant::now();
    let error = crate::control::sleep(Duration::from_secs(60)).unwrap_err();
    stand_in::set_remaining(None);
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn pages_follow_the_links_of_the_server() {
    let next: &[_] = &[("link", "<?page=2>; rel=\"next\"")];
    let _server = served(
        "links",
        &[
            ("/orders", "", 200, next, json!([1, 2])),
            ("/orders?page=2", "", 200, &[], json!([3])),
        ],
    );
    let found: Result<Vec<Vec<u8>>> = pages(get("/orders")).collect();
    assert_eq!(found.unwrap(), [vec![1, 2], vec![3]]);
}

#[test]
fn pages_follow_a_cursor_of_the_body() {
    let _server = served(
        "cursor",
        &[
            ("/graphql", "first", 200, &[], json!({"next": "second"})),
            ("/graphql", "second", 200, &[], json!({"next": null})),
        ],
    );
    let request = Request::post("https://a.test/graphql", b"first".to_vec());
    let found = pages::<Json>(request)
        .follow(|page, _| Ok(page["next"].as_str().map(|next| Next::Body(next.into()))));
    assert_eq!(found.map(Result::unwrap).count(), 2);
}

#[test]
fn pages_end_at_a_circle_a_refusal_and_another_form() {
    let to = |path: &'static str| vec![("link", path)];
    let (a, b) = (to("</b>; rel=next"), to("</a>; rel=next"));
    let _server = served(
        "ends",
        &[
            ("/a", "", 200, &a, json!(1)),
            ("/b", "", 200, &b, json!(2)),
            ("/refused", "", 403, &[], json!("no")),
            ("/html", "", 200, &[], json!("<html>s3cret")),
            ("/other", "", 200, &[], json!({"rows": [{"id": "s3cret"}]})),
        ],
    );
    let circle: Vec<Result<u8>> = pages(get("/a")).take(50).collect();
    let error = circle.last().unwrap().as_ref().unwrap_err();
    assert!(
        error.message().contains("circle") && circle.len() < 10,
        "{error}"
    );

    let error = pages::<Json>(get("/refused")).next().unwrap().unwrap_err();
    assert_eq!(
        (error.kind(), error.engine_code()),
        (ErrorKind::Permission, "403")
    );

    #[derive(Debug, serde::Deserialize)]
    struct Row {
        #[serde(rename = "id")]
        _id: u64,
    }
    #[derive(Debug, serde::Deserialize)]
    struct Page {
        #[serde(rename = "rows")]
        _rows: Vec<Row>,
    }
    let fails = |path: &str| {
        let mut found = pages::<Page>(get(path));
        let error = found.next().unwrap().unwrap_err();
        assert!(found.next().is_none());
        error.message().to_owned()
    };
    assert_eq!(
        fails("/html"),
        "the response (status 200) is not JSON (line 1, column 1)"
    );
    assert_eq!(
        fails("/other"),
        "the response (status 200) has another form than expected at `rows[0].id`"
    );
}

#[test]
fn a_body_has_a_limit_and_ends_in_the_error_of_its_source() {
    let mut response = Response::scripted(200, vec![Ok(vec![0; 10]), Ok(vec![0; 10])]);
    let error = response.body.read_to_end(15).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    let lost = Error::new(ErrorKind::ConnectionLost, "cut");
    let mut response = Response::scripted(200, vec![Ok(vec![1]), Err(lost)]);
    assert_eq!(response.body.read().unwrap(), Some(vec![1]));
    assert_eq!(
        response.body.read().unwrap_err().kind(),
        ErrorKind::ConnectionLost
    );
}

#[test]
fn a_native_build_says_that_it_cannot_send() {
    let error = send(&Request::get("https://example.org/"))
        .err()
        .map(|e| e.kind());
    assert_eq!(error, Some(ErrorKind::Unsupported));
}

#[test]
fn debug_output_shows_no_header() {
    let request = Request::get("https://example.org/").header("authorization", "Bearer s3cret");
    assert_eq!(format!("{request:?}"), "GET https://example.org/");
}
