//! Vectors of texts.

use std::cell::RefCell;

use mindhost_sdk::http::{Request as HttpRequest, Response};
use mindhost_sdk::{Config, ErrorKind, Result};
use serde_json::{Value, json};

use super::config;
use crate::embeddings::embed;

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

fn answered(status: u16, body: &Value) -> Result<Vec<Vec<f32>>> {
    let send = |_: &HttpRequest| {
        let body = body.to_string().into_bytes();
        Ok(Response::scripted(status, vec![Ok(body)]))
    };
    embed(&config(), "e", &texts(2), &send)
}

fn vector(index: usize, number: f32) -> Value {
    json!({"object": "embedding", "index": index, "embedding": [number, 0.5]})
}

#[test]
fn vectors_come_in_the_order_of_their_texts() {
    let swapped = json!({"object": "list", "data": [vector(1, 1.0), vector(0, 0.0)]});
    assert_eq!(answered(200, &swapped).unwrap(), [[0.0, 0.5], [1.0, 0.5]]);
    let unnumbered = json!({"data": [{"embedding": [3.0]}, {"embedding": [4.0]}]});
    assert_eq!(answered(200, &unnumbered).unwrap(), [[3.0], [4.0]]);
}

#[test]
fn vectors_that_cannot_be_compared_are_the_vendors_fault() {
    let longer = json!({"data": [{"embedding": [3.0]}, {"embedding": [4.0, 1.0]}]});
    let infinite = json!({"data": [{"embedding": [3.0]}, {"embedding": [1e39]}]});
    for body in [longer, infinite] {
        assert_eq!(
            answered(200, &body).unwrap_err().kind(),
            ErrorKind::Upstream
        );
    }
}

#[test]
fn many_texts_go_in_several_requests() {
    let sent = RefCell::new(Vec::new());
    let send = |request: &HttpRequest| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let input = body["input"].as_array().unwrap().clone();
        sent.borrow_mut().push((request.url.clone(), input.len()));
        let number = |text: &Value| text.as_str().unwrap().parse::<f32>().unwrap();
        let vectors = input.iter().enumerate();
        let data: Vec<Value> = vectors.map(|(at, text)| vector(at, number(text))).collect();
        let body = json!({"data": data}).to_string().into_bytes();
        Ok(Response::scripted(200, vec![Ok(body)]))
    };
    let vectors = embed(&config(), "e", &texts(70), &send).unwrap();
    let numbers: Vec<String> = vectors.iter().map(|vector| vector[0].to_string()).collect();
    assert_eq!(numbers, texts(70));
    let url = "http://127.0.0.1:9/v1/embeddings".to_owned();
    let sizes = [32, 32, 6].map(|size| (url.clone(), size));
    assert_eq!(sent.into_inner(), sizes);
}

#[test]
fn deployment_of_azure_is_that_of_the_embedding_model() {
    let settings = r#"{"base_url": "https://a.openai.azure.com/openai", "api_version": "2024-10-21", "model": "m"}"#;
    let url = RefCell::new(String::new());
    let send = |request: &HttpRequest| {
        *url.borrow_mut() = request.url.clone();
        let body = json!({"data": [vector(0, 1.0)]}).to_string().into_bytes();
        Ok(Response::scripted(200, vec![Ok(body)]))
    };
    embed(&Config::from_json(settings), "e", &texts(1), &send).unwrap();
    let expected =
        "https://a.openai.azure.com/openai/deployments/e/embeddings?api-version=2024-10-21";
    assert_eq!(url.into_inner(), expected);
}

#[test]
fn lists_that_do_not_fit_and_refusals_are_errors() {
    for (status, body, kind, words) in [
        (
            200,
            json!({"data": [vector(0, 1.0)]}),
            ErrorKind::Upstream,
            "some of the texts",
        ),
        (
            200,
            json!({"data": [vector(0, 1.0), vector(0, 2.0)]}),
            ErrorKind::Upstream,
            "no text",
        ),
        (
            200,
            json!({"data": [vector(0, 1.0), vector(9, 2.0)]}),
            ErrorKind::Upstream,
            "no text",
        ),
        (
            200,
            json!({"embeddings": []}),
            ErrorKind::Upstream,
            "no list",
        ),
        (
            401,
            json!({"error": {"message": "no"}}),
            ErrorKind::Auth,
            "api_key",
        ),
        (
            404,
            json!({"error": {"message": "no such model", "code": "model_not_found"}}),
            ErrorKind::NotFound,
            "'e'",
        ),
    ] {
        let error = answered(status, &body).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(words), "{error}");
    }
}
