//! Answers of vendors, as scripts of bytes, and what the host gets to see of them.

mod errors;
mod streams;

use mindhost_sdk::http::{Request as HttpRequest, Response};
use mindhost_sdk::model::{Event, Message, Request, Role, StopReason};
use mindhost_sdk::{Config, Error, Result};

use crate::provider;

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
    let mut events = Vec::new();
    while let Some(more) = completion.next()? {
        assert!(!more.is_empty(), "an empty list of events");
        events.extend(more);
    }
    Ok(events)
}

fn text(events: &[Event]) -> String {
    let texts = events.iter().filter_map(|e| match e {
        Event::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn stop(events: &[Event]) -> Option<(StopReason, String)> {
    match events.last() {
        Some(Event::Stop(stop)) => Some(stop.clone()),
        _ => None,
    }
}
