//! Turns as bytes on the wire.

use std::{io, sync::Arc};

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header::CONTENT_TYPE},
    response::Response,
};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    Shared,
    turn::{Step, Turn},
};

type Sender = mpsc::Sender<io::Result<Bytes>>;

/// A JSON reply.
pub(super) fn json(status: u16, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An error in the vendor's shape.
pub(super) fn refusal(status: u16, message: &str, code: &str) -> Response {
    let error =
        json!({"message": message, "type": "invalid_request_error", "param": null, "code": code});
    json(status, &json!({ "error": error }))
}

/// The answer to a request without `stream`.
pub(super) fn whole(turn: Turn) -> Response {
    if let Some(body) = &turn.body {
        return with_headers(json(turn.status, body), &turn);
    }
    let mut text = String::new();
    let mut calls = Vec::new();
    for step in &turn.steps {
        match step {
            Step::Text(piece) => text.push_str(piece),
            Step::Call { name, arguments } => calls.push(json!({
                "id": call_id(calls.len()), "type": "function",
                "function": {"name": name, "arguments": arguments},
            })),
            Step::Raw(_) | Step::Wait(_) | Step::Hang | Step::Cut => {}
        }
    }
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": turn.reason()});
    let body = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted-1",
        "choices": [choice], "usage": usage(),
    });
    with_headers(json(200, &body), &turn)
}

/// The answer to a request with `stream`: server-sent events.
pub(super) fn stream(turn: Turn, with_usage: bool, shared: Arc<Shared>) -> Response {
    if turn.body.is_some() {
        return whole(turn);
    }
    // One event in the channel: the script is never far ahead of its reader.
    let (sender, receiver) = mpsc::channel(1);
    let body = futures_util::stream::unfold(receiver, async |mut receiver| {
        receiver.recv().await.map(|bytes| (bytes, receiver))
    });
    let mut response = Response::new(Body::from_stream(body));
    *response.status_mut() = StatusCode::from_u16(turn.status).expect("a status");
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    let response = with_headers(response, &turn);
    tokio::spawn(async move {
        if speak(&turn, with_usage, &sender).await.is_none() {
            shared.abandoned.send_modify(|count| *count += 1);
        }
    });
    response
}

/// Plays the steps; none when the reader has gone away.
async fn speak(turn: &Turn, with_usage: bool, sender: &Sender) -> Option<()> {
    if !turn.is_bare {
        let head = json!({"role": "assistant", "content": ""});
        send(sender, &choice(head, None)).await?;
    }
    let mut calls = 0;
    for step in &turn.steps {
        match step {
            Step::Text(text) => send(sender, &choice(json!({ "content": text }), None)).await?,
            Step::Call { name, arguments } => {
                call(sender, calls, name, arguments).await?;
                calls += 1;
            }
            Step::Raw(bytes) => sender.send(Ok(Bytes::from(bytes.clone()))).await.ok()?,
            Step::Wait(gate) => tokio::select! {
                () = gate.pass() => {}
                () = sender.closed() => return None,
            },
            Step::Hang => {
                sender.closed().await;
                return None;
            }
            Step::Cut => {
                let _ = sender
                    .send(Err(io::Error::other("the script cuts the stream")))
                    .await;
                return Some(());
            }
        }
    }
    if turn.is_bare {
        return Some(());
    }
    send(sender, &choice(json!({}), Some(turn.reason()))).await?;
    if with_usage {
        let mut chunk = chunk();
        chunk["usage"] = usage();
        send(sender, &chunk).await?;
    }
    sender
        .send(Ok(Bytes::from_static(b"data: [DONE]\n\n")))
        .await
        .ok()
}

/// The name first, then the arguments in two pieces, as vendors do it.
async fn call(sender: &Sender, index: usize, name: &str, arguments: &str) -> Option<()> {
    let piece = |call: Value| choice(json!({ "tool_calls": [call] }), None);
    let function = json!({"name": name, "arguments": ""});
    send(
        sender,
        &piece(
            json!({"index": index, "id": call_id(index), "type": "function", "function": function}),
        ),
    )
    .await?;
    let middle = arguments
        .char_indices()
        .nth(arguments.chars().count() / 2)
        .map_or(0, |(at, _)| at);
    let (first, second) = arguments.split_at(middle);
    for part in [first, second] {
        send(
            sender,
            &piece(json!({"index": index, "function": {"arguments": part}})),
        )
        .await?;
    }
    Some(())
}

async fn send(sender: &Sender, chunk: &Value) -> Option<()> {
    sender
        .send(Ok(Bytes::from(format!("data: {chunk}\n\n"))))
        .await
        .ok()
}

fn choice(delta: Value, finish: Option<String>) -> Value {
    let mut chunk = chunk();
    chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    chunk
}

fn chunk() -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted-1", "choices": []})
}

fn usage() -> Value {
    json!({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18})
}

fn call_id(index: usize) -> String {
    format!("call_{index}")
}

fn with_headers(mut response: Response, turn: &Turn) -> Response {
    for (name, value) in &turn.headers {
        let name: axum::http::HeaderName = name.parse().expect("a header name");
        response
            .headers_mut()
            .insert(name, value.parse().expect("a header value"));
    }
    response
}
