//! For tests of model providers: answers of vendors, and what was made of them.

use crate::error::Result;
use crate::http::Response;
use crate::model::{Event, StopReason};

/// A response as `curl -i` prints it, whose body comes in pieces of so many bytes.
///
/// # Panics
/// When the text does not begin with `HTTP/1.1` and a status.
#[allow(clippy::expect_used, reason = "it is for tests, which end here")]
pub fn transcript(text: &str, piece: usize) -> Response {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let status = status.and_then(|status| status.parse().ok());
    let pieces = body.as_bytes().chunks(piece.max(1));
    let pieces = pieces.map(|piece| Ok(piece.to_vec())).collect();
    let response = Response::scripted(status.expect("a status"), pieces);
    lines.fold(response, |response, line| match line.split_once(": ") {
        Some((name, value)) => response.with_header(name, value),
        None => response,
    })
}

/// Copies of a transcript's body, each with one byte changed: what broken proxies and hostile servers make of it.
pub fn damaged(text: &str) -> impl Iterator<Item = Response> {
    const BYTES: [u8; 6] = [b'"', b'}', b'\n', b'0', 0, 0xFF];
    let body = text.split_once("\n\n").map_or("", |(_, body)| body);
    let body = body.as_bytes().to_vec();
    (0..body.len()).map(move |at| {
        let mut body = body.clone();
        body[at] = BYTES[at % BYTES.len()];
        Response::scripted(200, vec![Ok(body)])
    })
}

/// All events of an answer; an error ends them.
///
/// # Errors
/// That of `next`.
///
/// # Panics
/// When `next` gives an empty list, which it must not.
pub fn all_events(mut next: impl FnMut() -> Result<Option<Vec<Event>>>) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    while let Some(more) = next()? {
        assert!(!more.is_empty(), "an empty list of events");
        events.extend(more);
    }
    Ok(events)
}

/// The whole text.
pub fn text(events: &[Event]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        Event::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Id, name and arguments of each tool call.
pub fn calls(events: &[Event]) -> Vec<(&str, &str, &str)> {
    let calls = events.iter().filter_map(|event| match event {
        Event::ToolCall(call) => Some((&*call.id, &*call.name, &*call.arguments)),
        _ => None,
    });
    calls.collect()
}

/// The token counts that count: the last ones.
pub fn usage(events: &[Event]) -> Vec<(&str, u64)> {
    let counts = events.iter().rev().find_map(|event| match event {
        Event::Usage(counts) => Some(counts),
        _ => None,
    });
    let counts = counts.into_iter().flatten();
    counts
        .map(|(name, count)| (name.as_str(), *count))
        .collect()
}

/// The stop event; none if another one is the last.
pub fn stop(events: &[Event]) -> Option<(StopReason, &str)> {
    match events.last() {
        Some(Event::Stop((reason, word))) => Some((*reason, word)),
        _ => None,
    }
}
