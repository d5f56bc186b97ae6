//! An answer's events as server-sent events, in the order and shape of OpenAI's Responses API.

use std::{convert::Infallible, time::Duration};

use axum::response::{
    IntoResponse, Response,
    sse::{Event as SseEvent, KeepAlive, Sse},
};
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{error, response_object::ResponseObject};
use mindhost_answers::answering::events::{Event, EventReader};

/// A server-sent event.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what a stream is made of")]
pub struct SentEvent {
    /// Its kind, the same as `type` in the data; chunks of a chat have none.
    #[schema(example = "response.output_text.delta")]
    event: Option<String>,
    /// JSON; `[DONE]` at the end of a chat.
    #[schema(
        example = "{\"type\": \"response.output_text.delta\", \"sequence_number\": 5, \"delta\": \"Three\"}"
    )]
    data: String,
}

/// Which events a client wants.
#[derive(Clone, Copy, Debug)]
pub struct EventFilter {
    /// Only the four kinds that carry the answer: created, in progress, text delta, completed. Such a stream that
    /// ends without the last of them failed; the stored response says why.
    pub minimal: bool,
    /// Those behind this number, and the last in any case.
    pub after: u64,
    /// Time between two comment lines on a quiet stream.
    pub keep_alive: Duration,
}

/// The stream of one answer. Dropped by the client, it drops the reader.
pub fn stream(reader: EventReader, wanted: EventFilter) -> Response {
    let writer = Writer {
        message_id: reader.log().message_id,
        steps: reader.log().shows_steps,
        wanted,
        sequence: 0,
    };
    let events = stream::unfold((reader, writer), |(mut reader, mut writer)| async move {
        let event = reader.next().await?;
        Some((writer.write(&event), (reader, writer)))
    });
    response(events, wanted.keep_alive)
}

/// Events, some at a time, as the body of an answer that no proxy holds back or closes.
pub fn response(
    events: impl Stream<Item = Vec<SseEvent>> + Send + 'static,
    keep_alive: Duration,
) -> Response {
    let events = events.flat_map(|some| stream::iter(some.into_iter().map(Ok::<_, Infallible>)));
    let keep_alive = KeepAlive::new().interval(keep_alive).text("keep-alive");
    let headers = [("x-accel-buffering", "no"), ("cache-control", "no-store")];
    (headers, Sse::new(events).keep_alive(keep_alive)).into_response()
}

/// Numbers and writes the events of one stream.
struct Writer {
    message_id: Uuid,
    steps: bool,
    wanted: EventFilter,
    sequence: u64,
}

/// A delta: OpenAI's fields at the top, and the three that clients of ours read under `response`.
#[derive(Serialize)]
struct Delta<'a> {
    r#type: &'static str,
    sequence_number: u64,
    item_id: Uuid,
    output_index: u8,
    content_index: u8,
    delta: &'a str,
    logprobs: [u8; 0],
    response: DeltaOfResponse<'a>,
}

#[derive(Serialize)]
struct DeltaOfResponse<'a> {
    item_id: Uuid,
    r#type: &'static str,
    delta: &'a str,
}

#[derive(Serialize)]
struct ResponseEvent<'a> {
    r#type: &'static str,
    sequence_number: u64,
    response: ResponseObject<'a>,
}

impl Writer {
    fn write(&mut self, event: &Event) -> Vec<SseEvent> {
        match event {
            Event::Created(record) => self.whole("response.created", ResponseObject::new(record)),
            Event::InProgress(record) => {
                self.whole("response.in_progress", ResponseObject::new(record))
            }
            Event::Delta(text) => self.delta(text),
            Event::Completed(record) => {
                self.last("response.completed", ResponseObject::new(record))
            }
            _ if self.wanted.minimal => Vec::new(),
            Event::Failed(cause, record) => {
                let mut events = self.extra("error", error::stream_fields(cause));
                events.extend(self.last("response.failed", ResponseObject::new(record)));
                events
            }
            Event::Step(step) if self.steps => {
                self.extra("response.mindhost.step", json!({"step": &**step}))
            }
            Event::Step(_) => Vec::new(),
            other => self.frame(other),
        }
    }

    /// The events around the text that only OpenAI's clients need.
    fn frame(&mut self, event: &Event) -> Vec<SseEvent> {
        let id = self.message_id;
        match event {
            Event::MessageAdded => {
                let item = json!({"type": "message", "id": id, "status": "in_progress", "role": "assistant", "content": []});
                let mut events = self.extra(
                    "response.output_item.added",
                    json!({"output_index": 0, "item": item}),
                );
                events.extend(self.part("response.content_part.added", ""));
                events
            }
            Event::QueryAdded(query) => {
                let item = json!({"type": "query_result", "id": id, "status": "in_progress", "query": &**query});
                self.extra(
                    "response.output_item.added",
                    json!({"output_index": 0, "item": item}),
                )
            }
            Event::TextDone(text) => {
                let place = json!({"item_id": id, "output_index": 0, "content_index": 0, "text": &**text, "logprobs": []});
                let mut events = self.extra("response.output_text.done", place);
                events.extend(self.part("response.content_part.done", text));
                events
            }
            Event::ItemDone(item) => self.extra(
                "response.output_item.done",
                json!({"output_index": 0, "item": &**item}),
            ),
            _ => Vec::new(),
        }
    }

    fn part(&mut self, kind: &'static str, text: &str) -> Vec<SseEvent> {
        let part = json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
        self.extra(kind, json!({"item_id": self.message_id, "output_index": 0, "content_index": 0, "part": part}))
    }

    fn delta(&mut self, text: &str) -> Vec<SseEvent> {
        let kind = "response.output_text.delta";
        let sequence_number = self.next();
        let data = Delta {
            r#type: kind,
            sequence_number,
            item_id: self.message_id,
            output_index: 0,
            content_index: 0,
            delta: text,
            logprobs: [],
            response: DeltaOfResponse {
                item_id: self.message_id,
                r#type: kind,
                delta: text,
            },
        };
        self.named(kind, &data)
    }

    fn whole(&mut self, kind: &'static str, response: ResponseObject<'_>) -> Vec<SseEvent> {
        let sequence_number = self.next();
        let data = ResponseEvent {
            r#type: kind,
            sequence_number,
            response,
        };
        self.named(kind, &data)
    }

    /// The last event, which is sent to a client that claims to have it, too: clients take a stream without it for a
    /// failure.
    fn last(&mut self, kind: &'static str, response: ResponseObject<'_>) -> Vec<SseEvent> {
        self.wanted.after = self.wanted.after.min(self.sequence);
        self.whole(kind, response)
    }

    fn extra(&mut self, kind: &'static str, mut fields: Value) -> Vec<SseEvent> {
        if let Value::Object(fields) = &mut fields {
            fields.insert("type".into(), kind.into());
            fields.insert("sequence_number".into(), self.next().into());
        }
        self.named(kind, &fields)
    }

    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// The event that was numbered last; nothing of one that the client has.
    fn named(&self, kind: &str, data: &impl Serialize) -> Vec<SseEvent> {
        if self.sequence <= self.wanted.after {
            return Vec::new();
        }
        written(SseEvent::default().event(kind), data)
    }
}

/// An event with its data as JSON. Some clients split lines at U+0085, U+2028 and U+2029 too, so these are escaped.
pub fn written(event: SseEvent, data: &impl Serialize) -> Vec<SseEvent> {
    match serde_json::to_string(data) {
        Ok(json) => vec![event.data(in_one_line(json))],
        Err(cause) => {
            tracing::error!(%cause, "an event could not be written");
            Vec::new()
        }
    }
}

/// JSON has these characters inside of texts only.
fn in_one_line(json: String) -> String {
    const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];
    if !json.contains(BREAKS) {
        return json;
    }
    BREAKS.iter().fold(json, |json, sign| {
        json.replace(*sign, &format!("\\u{:04x}", u32::from(*sign)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_an_event_has_no_line_break_of_any_client() {
        let text = "a\u{85}b\u{2028}c\u{2029}d\ne";
        let line = in_one_line(json!({ "delta": text }).to_string());
        assert_eq!(line, r#"{"delta":"a\u0085b\u2028c\u2029d\ne"}"#);
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["delta"], text);
    }
}
