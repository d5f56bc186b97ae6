//! What goes wrong before an answer begins, and the test of a provider.

use std::cell::RefCell;

use mindhost_sdk::http::{Request as HttpRequest, Response};
use mindhost_sdk::testing::transcript;
use mindhost_sdk::{Config, ErrorKind, Result};

use super::{config, play, read, recorded};
use crate::provider;

#[test]
fn each_refusal_has_its_kind_and_says_what_to_do() {
    for (text, kind, words) in [
        (recorded!("unauthorized"), ErrorKind::Auth, "api_key"),
        (recorded!("forbidden"), ErrorKind::Permission, "workspace"),
        (
            recorded!("unknown_model"),
            ErrorKind::NotFound,
            "no model 'claude-nothing'",
        ),
        (recorded!("too_long"), ErrorKind::TooLarge, "200000 maximum"),
        (recorded!("too_large"), ErrorKind::TooLarge, "ask for less"),
        (recorded!("no_credit"), ErrorKind::Permission, "add credit"),
        (
            recorded!("rate_limited"),
            ErrorKind::RateLimited,
            "50,000 input tokens",
        ),
        (
            recorded!("overloaded"),
            ErrorKind::Upstream,
            "overloaded; ask again",
        ),
        (recorded!("failed"), ErrorKind::Upstream, "status 500"),
        (
            "HTTP/1.1 404 Not Found\n\n<html>",
            ErrorKind::NotFound,
            "base_url",
        ),
        (
            "HTTP/1.1 307 Temporary Redirect\n\n",
            ErrorKind::InvalidConfig,
            "base_url",
        ),
        (
            "HTTP/1.1 200 OK\ncontent-type: text/html\n\n<html>",
            ErrorKind::InvalidConfig,
            "web page",
        ),
        (
            "HTTP/1.1 200 OK\ncontent-type: application/json\n\n{\"content\": []}",
            ErrorKind::Upstream,
            "without an answer",
        ),
        (
            "HTTP/1.1 200 OK\ncontent-type: application/json\n\n{\"choices\": []}",
            ErrorKind::Upstream,
            "not a message; check `base_url`",
        ),
        (
            "HTTP/1.1 200 OK\ncontent-type: application/json\n\n{\"code\": 7, \"message\": \"no quota\"}",
            ErrorKind::Upstream,
            "/v1/messages): no quota",
        ),
        (
            "HTTP/1.1 200 OK\ncontent-type: application/json\n\n[{\"error\": {\"message\": \"no route\"}}]",
            ErrorKind::Upstream,
            "/v1/messages): no route",
        ),
    ] {
        let error = play(text).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(words), "{words}: {error}");
    }
}

#[test]
fn the_vendors_wait_is_kept() {
    let error = read(transcript(recorded!("rate_limited"), 64)).unwrap_err();
    let seconds = std::time::Duration::from_secs(17);
    let told = mindhost_sdk::Error::new(ErrorKind::RateLimited, error.message())
        .code("rate_limit_error")
        .retry_after(seconds);
    assert_eq!(error, told);
}

/// Answers by the path, and remembers the paths.
fn vendor<'a>(
    seen: &'a RefCell<Vec<String>>,
    answer: impl Fn(&str) -> (u16, &'static str) + 'a,
) -> impl Fn(&HttpRequest) -> Result<Response> + 'a {
    move |request| {
        let path = request.url.replace("http://127.0.0.1:9", "");
        let (status, body) = answer(&path);
        seen.borrow_mut().push(path);
        Ok(Response::scripted(status, vec![Ok(body.into())]))
    }
}

#[test]
fn a_model_is_asked_for_by_its_name() {
    let seen = RefCell::default();
    let found = vendor(&seen, |_| {
        (200, r#"{"type":"model","id":"claude-nothing-20990101"}"#)
    });
    assert!(
        provider::check(&config(), &found)
            .unwrap()
            .contains("claude-nothing")
    );
    assert_eq!(*seen.borrow(), ["/v1/models/claude-nothing"]);

    let missing = vendor(&seen, |path| match path.contains("limit") {
        true => (200, r#"{"data":[{"id":"claude-some"}],"has_more":false}"#),
        false => (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model"}}"#,
        ),
    });
    let error = provider::check(&config(), &missing).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("it lists claude-some"), "{error}");

    let refused = vendor(&seen, |_| (401, ""));
    assert_eq!(
        provider::check(&config(), &refused).unwrap_err().kind(),
        ErrorKind::Auth
    );
}

#[test]
fn the_list_of_models_has_pages_and_an_end() {
    let seen = RefCell::default();
    let endless = vendor(&seen, |path| match path.contains("after_id") {
        true => (200, r#"{"data":[{"id":"a"}],"has_more":true}"#),
        false => (200, r#"{"data":[{"id":"c"},{"id":"b"}],"has_more":true}"#),
    });
    assert_eq!(
        provider::models(&config(), &endless).unwrap(),
        ["a", "b", "c"]
    );
    assert_eq!(seen.borrow()[1], "/v1/models?limit=1000&after_id=b");
    assert_eq!(seen.borrow().len(), 5);

    let none = Config::from_json(r#"{"base_url": "http://127.0.0.1:9"}"#);
    let page = vendor(&seen, |_| (200, r#"{"data":[{"id":"a"}]}"#));
    assert!(
        provider::check(&none, &page)
            .unwrap()
            .contains("No default model")
    );
    let strange = vendor(&seen, |_| (200, "hello"));
    assert_eq!(
        provider::models(&none, &strange).unwrap_err().kind(),
        ErrorKind::Upstream
    );
}
