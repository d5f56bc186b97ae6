//! Answers of the vendor, from the transcripts beside the sources, and what the host gets to see of them.

mod checks;
mod hostile;
mod streams;

use mindhost_sdk::http::{Request as HttpRequest, Response};
use mindhost_sdk::model::{Event, Message, Request, Role, StopReason};
use mindhost_sdk::testing::transcript;
use mindhost_sdk::{Config, Error, Result};

use crate::provider;

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
    Config::from_json(r#"{"base_url": "http://127.0.0.1:9", "model": "claude-nothing"}"#)
}

/// Answers the first request, and no second one.
fn once(response: Response) -> impl Fn(&HttpRequest) -> Result<Response> {
    let slot = std::cell::RefCell::new(Some(response));
    move |_| {
        slot.borrow_mut()
            .take()
            .ok_or_else(|| Error::internal("asked twice"))
    }
}

/// All events of a response; an error ends them.
fn read(response: Response) -> Result<Vec<Event>> {
    let question = Request::new(vec![Message::text(Role::User, "Hi")]);
    let mut answer = provider::start(&config(), &question, &once(response))?;
    let mut events = Vec::new();
    while let Some(more) = answer.next()? {
        assert!(!more.is_empty(), "an empty list of events");
        events.extend(more);
    }
    Ok(events)
}

/// All events of a transcript, which are the same however it is cut.
fn play(text: &str) -> Result<Vec<Event>> {
    let whole = read(transcript(text, usize::MAX));
    for piece in [1, 7, 100] {
        assert_eq!(read(transcript(text, piece)), whole, "pieces of {piece}");
    }
    whole
}

fn text(events: &[Event]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        Event::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn calls(events: &[Event]) -> Vec<(&str, &str, &str)> {
    let calls = events.iter().filter_map(|event| match event {
        Event::ToolCall(call) => Some((&*call.id, &*call.name, &*call.arguments)),
        _ => None,
    });
    calls.collect()
}

fn usage(events: &[Event]) -> Vec<(&str, u64)> {
    let counts = events.iter().rev().find_map(|event| match event {
        Event::Usage(counts) => Some(counts),
        _ => None,
    });
    let counts = counts.into_iter().flatten();
    counts
        .map(|(name, count)| (name.as_str(), *count))
        .collect()
}

fn stop(events: &[Event]) -> Option<(StopReason, &str)> {
    match events.last() {
        Some(Event::Stop((reason, word))) => Some((*reason, word)),
        _ => None,
    }
}
