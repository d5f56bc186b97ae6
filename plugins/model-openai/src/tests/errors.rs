//! What goes wrong at a vendor, and which error it is.

use mindhost_sdk::http::{Request as HttpRequest, Response};
use mindhost_sdk::{Config, Error, ErrorKind, Result};

use super::{config, events, read};
use crate::provider;

fn refused(status: u16, body: &str) -> Error {
    read(Response::scripted(status, vec![Ok(body.into())])).unwrap_err()
}

#[test]
fn each_status_has_its_kind() {
    for (status, body, kind, words) in [
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-abcd1234.","code":"invalid_api_key"}}"#,
            ErrorKind::Auth,
            "api_key",
        ),
        (403, "", ErrorKind::Auth, "api_key"),
        (
            404,
            r#"{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}"#,
            ErrorKind::NotFound,
            "no model 'm'",
        ),
        (404, "<html>", ErrorKind::NotFound, "base_url"),
        (
            429,
            r#"{"error":{"message":"Rate limit reached","type":"tokens"}}"#,
            ErrorKind::RateLimited,
            "Rate limit reached",
        ),
        (
            400,
            r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#,
            ErrorKind::TooLarge,
            "too long",
        ),
        (
            400,
            r#"{"error":"bad tool schema"}"#,
            ErrorKind::InvalidStatement,
            "bad tool schema",
        ),
        (
            422,
            r#"{"detail":"no such field"}"#,
            ErrorKind::InvalidStatement,
            "no such field",
        ),
        (413, "", ErrorKind::TooLarge, "too large"),
        (500, r#"{"message":"oops"}"#, ErrorKind::Upstream, "oops"),
        (503, "overloaded", ErrorKind::Upstream, "503"),
        (504, "", ErrorKind::Timeout, "time"),
        (307, "", ErrorKind::InvalidConfig, "base_url"),
    ] {
        let error = refused(status, body);
        assert_eq!(error.kind(), kind, "{status} {body}");
        assert!(error.message().contains(words), "{status}: {error}");
        assert!(!error.message().contains("sk-"), "{error}");
    }
}

#[test]
fn an_error_in_the_middle_of_a_stream() {
    let error = events(&[
        "data: {\"error\":{\"message\":\"server overloaded\",\"type\":\"server_error\"}}\n\n",
    ])
    .unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Upstream, "server overloaded")
    );
    let error =
        events(&["data: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\n"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    let error = events(&["data: nonsense\n\n"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
}

#[test]
fn a_web_page_is_no_answer() {
    let page = Response::scripted(200, vec![Ok(b"<html>".to_vec())])
        .with_header("Content-Type", "text/html");
    assert_eq!(read(page).unwrap_err().kind(), ErrorKind::InvalidConfig);
    let json = Response::scripted(200, vec![Ok(b"{}".to_vec())])
        .with_header("Content-Type", "application/json");
    assert_eq!(read(json).unwrap_err().kind(), ErrorKind::Upstream);
}

#[test]
fn vendors_words_in_place_of_a_completion_are_told() {
    let answered = |body: String| {
        let response = Response::scripted(200, vec![Ok(body.into_bytes())]);
        read(response.with_header("content-type", "application/json")).unwrap_err()
    };
    let no_completion = "the vendor's answer is not a chat completion";
    for body in [
        r#"{"detail":"quota of project exhausted"}"#,
        r#"{"choices":null,"usage":{"prompt_tokens":1},"message":"quota of project exhausted"}"#,
        r#""quota of project exhausted""#,
    ] {
        let error = answered(body.to_owned());
        assert_eq!(error.kind(), ErrorKind::Upstream);
        assert_eq!(
            error.message(),
            format!("{no_completion}: quota of project exhausted")
        );
    }
    let endless = format!(r#"{{"detail":"no","more":"{}"}}"#, "x".repeat(64 * 1024));
    for body in ["{}".to_owned(), "[]".to_owned(), "{".to_owned(), endless] {
        assert_eq!(answered(body).message(), no_completion);
    }
}

#[test]
fn the_list_of_models_checks_the_provider() {
    let list = |request: &HttpRequest| -> Result<Response> {
        assert_eq!(
            (request.method, request.url.as_str()),
            ("GET", "http://127.0.0.1:9/v1/models")
        );
        Ok(Response::scripted(
            200,
            vec![Ok(
                br#"{"object":"list","data":[{"id":"n"},{"id":"m"}]}"#.to_vec()
            )],
        ))
    };
    assert_eq!(provider::models(&config(), &list).unwrap(), ["m", "n"]);
    assert!(
        provider::check(&config(), &list)
            .unwrap()
            .contains("the model is m")
    );
    let other = Config::from_json(r#"{"base_url": "http://127.0.0.1:9/v1", "model": "x"}"#);
    assert_eq!(
        provider::check(&other, &list).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    let denied = |_: &HttpRequest| -> Result<Response> { Ok(Response::scripted(401, Vec::new())) };
    assert_eq!(
        provider::check(&config(), &denied).unwrap_err().kind(),
        ErrorKind::Auth
    );
}
