//! Fields that not every server knows.

use std::cell::RefCell;

use mindhost_sdk::http::{Request as HttpRequest, Response};
use mindhost_sdk::model::Tool;
use mindhost_sdk::testing::transcript;
use mindhost_sdk::{Config, ErrorKind, Result};
use serde_json::{Value, json};

use super::{question, recorded, sent};
use crate::provider;

/// Asks with a limit of 9 tokens; `answers` come one after the other. Gives the bodies that were sent.
fn ask(settings: &str, answers: &[&str]) -> (Vec<Value>, Result<()>) {
    let bodies: RefCell<Vec<Value>> = RefCell::default();
    let send = |request: &HttpRequest| -> Result<Response> {
        let mut bodies = bodies.borrow_mut();
        bodies.push(serde_json::from_slice(&request.body).unwrap());
        Ok(transcript(answers[bodies.len() - 1], 64))
    };
    let mut request = question();
    request.max_output_tokens = Some(9);
    let asked = provider::start(&Config::from_json(settings), &request, &send).map(|_| ());
    (bodies.into_inner(), asked)
}

const LOCAL: &str = r#"{"base_url": "http://127.0.0.1:9/v1", "model": "m"}"#;

#[test]
fn each_vendor_has_its_name_for_the_limit() {
    for (settings, field) in [
        (r#"{"model": "m"}"#, "max_completion_tokens"),
        (
            r#"{"model": "m", "base_url": "https://a.openai.azure.com/openai/v1"}"#,
            "max_completion_tokens",
        ),
        (
            r#"{"model": "m", "base_url": "http://gateway.example/v1", "api": "azure"}"#,
            "max_completion_tokens",
        ),
        (
            r#"{"model": "m", "max_tokens_field": "max_tokens"}"#,
            "max_tokens",
        ),
        (LOCAL, "max_tokens"),
    ] {
        let (bodies, _) = ask(settings, &[recorded!("openai/answer")]);
        assert_eq!(bodies[0][field], 9, "{settings}");
    }
}

#[test]
fn a_refused_limit_is_sent_under_its_other_name() {
    let answers = [
        recorded!("openai/unsupported_field"),
        recorded!("openai/answer"),
    ];
    let (bodies, asked) = ask(LOCAL, &answers);
    asked.unwrap();
    assert_eq!(
        (
            &bodies[0]["max_tokens"],
            &bodies[1]["max_completion_tokens"]
        ),
        (&json!(9), &json!(9))
    );
    assert_eq!(bodies[1].get("max_tokens"), None);
}

#[test]
fn a_configured_name_is_not_changed() {
    let settings =
        r#"{"base_url": "http://127.0.0.1:9/v1", "model": "m", "max_tokens_field": "max_tokens"}"#;
    let (bodies, asked) = ask(settings, &[recorded!("openai/unsupported_field")]);
    assert_eq!(bodies.len(), 1);
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::InvalidStatement);
}

#[test]
fn refused_stream_options_are_left_out() {
    let answers = [
        recorded!("azure/unsupported_field"),
        recorded!("openai/unsupported_field"),
        recorded!("openai/answer"),
    ];
    let (bodies, asked) = ask(LOCAL, &answers);
    asked.unwrap();
    let has: Vec<bool> = bodies
        .iter()
        .map(|body| body.get("stream_options").is_some())
        .collect();
    assert_eq!(has, [true, false, false]);
}

#[test]
fn a_server_that_refuses_everything_is_asked_three_times_at_most() {
    let limit = recorded!("openai/unsupported_field");
    let answers = [
        limit,
        limit,
        recorded!("azure/unsupported_field"),
        limit,
        limit,
    ];
    let (bodies, asked) = ask(LOCAL, &answers);
    assert!(bodies.len() <= 3, "{}", bodies.len());
    assert!(asked.is_err());
}

#[test]
fn a_limit_that_is_too_large_is_no_unknown_field() {
    let body = r#"{"error":{"message":"max_tokens is too large: 9. This model supports at most 4.",
        "param":"max_tokens","code":"invalid_value"}}"#;
    let answer = format!("HTTP/1.1 400 Bad Request\n\n{body}");
    let (bodies, asked) = ask(LOCAL, &[&answer]);
    assert_eq!(bodies.len(), 1);
    assert!(asked.unwrap_err().message().contains("at most 4"));
}

#[test]
fn tools_are_plain_for_gemini_and_hidden_from_ollama_when_they_may_not_be_called() {
    let mut request = question();
    request.tools = vec![Tool {
        name: "f".into(),
        description: String::new(),
        parameters:
            r#"{"type":"object","properties":{"a":{"type":"string","additionalProperties":false}},
            "additionalProperties":false}"#
                .into(),
    }];
    let gemini =
        r#"{"model": "m", "base_url": "https://generativelanguage.googleapis.com/v1beta/openai"}"#;
    let body = sent(gemini, &request);
    assert_eq!(
        body["tools"][0]["function"]["parameters"]["properties"]["a"],
        json!({"type": "string"})
    );
    assert!(!body.to_string().contains("additionalProperties"));
    assert!(
        sent(LOCAL, &request)
            .to_string()
            .contains("additionalProperties")
    );

    request.tool_choice = "none".into();
    assert_eq!(sent(LOCAL, &request)["tool_choice"], "none");
    let ollama = r#"{"model": "m", "base_url": "http://127.0.0.1:11434/v1", "api": "ollama"}"#;
    let body = sent(ollama, &request);
    assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None));
}

#[test]
fn lists_of_models_have_their_own_names() {
    let list = |body: &'static str| {
        move |_: &HttpRequest| -> Result<Response> {
            Ok(Response::scripted(200, vec![Ok(body.into())]))
        }
    };
    let config = |model: &str| {
        Config::from_json(format!(
            r#"{{"base_url": "http://x/v1", "model": "{model}"}}"#
        ))
    };
    let gemini =
        list(r#"{"object":"list","data":[{"id":"models/gemini-2.5-flash","object":"model"}]}"#);
    assert!(provider::check(&config("gemini-2.5-flash"), &gemini).is_ok());
    assert_eq!(
        provider::models(&config("m"), &gemini).unwrap(),
        ["gemini-2.5-flash"]
    );
    let ollama = list(r#"{"object":"list","data":[{"id":"llama3:latest"},{"id":"qwen3:8b"}]}"#);
    assert!(provider::check(&config("llama3"), &ollama).is_ok());
    assert!(provider::check(&config("qwen3:8b"), &ollama).is_ok());
    assert!(provider::check(&config("qwen3"), &ollama).is_err());
    let strange = list(r#"{"error":"Unexpected endpoint or method. (GET /models)"}"#);
    let error = provider::check(&config("m"), &strange).unwrap_err();
    assert!(error.message().contains("base_url"), "{error}");
}

#[test]
fn a_deployment_is_not_looked_for_in_the_list_of_models() {
    let settings = r#"{"base_url": "https://a.openai.azure.com/openai", "api_version": "2024-10-21", "model": "ours"}"#;
    let list = |request: &HttpRequest| -> Result<Response> {
        assert_eq!(
            request.url,
            "https://a.openai.azure.com/openai/models?api-version=2024-10-21"
        );
        Ok(Response::scripted(
            200,
            vec![Ok(br#"{"data":[{"id":"gpt-4o"}]}"#.to_vec())],
        ))
    };
    assert!(
        provider::check(&Config::from_json(settings), &list)
            .unwrap()
            .contains("ours")
    );
}
