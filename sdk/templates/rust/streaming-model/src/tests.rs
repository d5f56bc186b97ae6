//! Unit tests without a server: `cargo test`. `answer.txt` is an answer as the vendor streams it.

use std::time::Duration;

use mindhost_sdk::ErrorKind;
use mindhost_sdk::model::{Message, Part, Role, StopReason, Tool, ToolCall, ToolResult};
use mindhost_sdk::testing::{all_events, calls, stop, text, transcript, usage};
use serde_json::{Value, json};

use super::*;

const ANSWER: &str = include_str!("../answer.txt");

/// What a body means, in pieces of so many bytes.
fn read(body: &str, piece: usize) -> Result<Vec<Event>> {
    let head = "HTTP/1.1 200 OK\ncontent-type: text/event-stream";
    let mut answer = Answer::<Chat>::of(transcript(&format!("{head}\n\n{body}"), piece))?;
    all_events(|| answer.read())
}

#[test]
fn an_answer_gives_its_text_its_calls_of_tools_and_the_tokens_that_it_used() {
    for piece in [1, 7, 100_000] {
        let events = read(ANSWER, piece).unwrap();
        assert_eq!(text(&events), "Two cafés, “open”.");
        assert_eq!(
            calls(&events),
            [
                ("call_1", "run_sql", r#"{"sql": "SELECT 1"}"#),
                ("call_2", "tables", "{}"),
            ]
        );
        assert_eq!(usage(&events), [("input", 12), ("output", 9)]);
        assert_eq!(stop(&events), Some((StopReason::ToolCalls, "tool_calls")));
    }
}

#[test]
fn a_conversation_is_sent_as_the_vendor_wants_it() {
    let call = ToolCall {
        id: "call_1".into(),
        name: "run_sql".into(),
        arguments: "{}".into(),
    };
    let result = ToolResult {
        call_id: "call_1".into(),
        content: "[[1]]".into(),
        is_error: false,
    };
    let message = |role, part| Message {
        role,
        parts: vec![part],
    };
    let mut request = Request::new(vec![
        Message::text(Role::System, "Be short."),
        message(Role::Assistant, Part::ToolCall(call)),
        message(Role::Tool, Part::ToolResult(result)),
    ]);
    request.tools = vec![Tool {
        name: "run_sql".into(),
        description: "Runs SQL.".into(),
        parameters: r#"{"type": "object"}"#.into(),
    }];
    request.tool_choice = "run_sql".into();
    request.temperature = Some(0.5);
    let body = chat::body(&request, "parrot-1").unwrap();
    let function = json!({"name": "run_sql", "arguments": "{}"});
    assert_eq!(
        serde_json::from_slice::<Value>(&body).unwrap(),
        json!({
            "model": "parrot-1",
            "messages": [
                {"role": "system", "content": "Be short."},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
                },
                {"role": "tool", "tool_call_id": "call_1", "content": "[[1]]"},
            ],
            "tools": [{"type": "function", "function": {
                "name": "run_sql", "description": "Runs SQL.", "parameters": {"type": "object"},
            }}],
            "tool_choice": {"type": "function", "function": {"name": "run_sql"}},
            "temperature": 0.5,
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[test]
fn an_answer_without_its_end_is_an_error() {
    let end = r#"data: {"choices": [{"index": 0, "delta": {}"#;
    let (half, _) = ANSWER.split_once(end).unwrap();
    assert_eq!(read(half, 7).unwrap_err().kind(), ErrorKind::Upstream);
}

#[test]
fn a_refusal_has_its_kind_the_vendors_words_and_the_time_to_come_back_at() {
    let refused = "HTTP/1.1 429 Too Many Requests\nretry-after: 7\n\n{\"error\": {\"message\": \"slow down\"}}";
    let error = accepted(transcript(refused, 7)).map(|_| ()).unwrap_err();
    let expected = Error::new(ErrorKind::RateLimited, "the vendor asks to wait: slow down");
    assert_eq!(
        error,
        expected.code("429").retry_after(Duration::from_secs(7))
    );
}
