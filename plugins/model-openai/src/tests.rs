//! Answers of vendors, as scripts of bytes, and what the host gets to see of them.

mod embeddings;
mod errors;
mod fields;
mod streams;
mod vendors;

use mindhost_sdk::http::{Request as HttpRequest, Response};
use mindhost_sdk::model::{Event, Message, Request, Role};
use mindhost_sdk::testing::all_events;
use mindhost_sdk::{Config, Error, Result};

use crate::provider;
use serde_json::Value;

/// The text of a file of `transcripts`.
macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/transcripts/",
            $name,
            ".http"
        ))
    };
}
use recorded;

fn config() -> Config {
    Config::from_json(r#"{"base_url": "http://127.0.0.1:9/v1", "model": "m"}"#)
}

fn question() -> Request {
    Request::new(vec![Message::text(Role::User, "Hi")])
}

/// All events of an answer with these pieces as its body.
fn events(pieces: &[&str]) -> Result<Vec<Event>> {
    let pieces = pieces.iter().map(|p| Ok(p.as_bytes().to_vec())).collect();
    read(Response::scripted(200, pieces).with_header("content-type", "text/event-stream"))
}

/// All events of a response; an error ends them.
fn read(response: Response) -> Result<Vec<Event>> {
    let slot = std::cell::RefCell::new(Some(response));
    let send = move |_: &HttpRequest| {
        slot.borrow_mut()
            .take()
            .ok_or_else(|| Error::internal("asked twice"))
    };
    let mut completion = provider::start(&config(), &question(), &send)?;
    all_events(|| completion.read())
}

/// The body that is sent for a request.
fn sent(settings: &str, request: &Request) -> Value {
    let body = std::cell::RefCell::new(Value::Null);
    let send = |request: &HttpRequest| {
        *body.borrow_mut() = serde_json::from_slice(&request.body).unwrap();
        Ok(Response::scripted(200, Vec::new()))
    };
    provider::start(&Config::from_json(settings), request, &send)
        .map(drop)
        .unwrap();
    body.into_inner()
}
