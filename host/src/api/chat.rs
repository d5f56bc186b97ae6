//! `/chat/completions`: asking a Mind in the shape of OpenAI's older API, over the same pipeline.

use std::{num::NonZeroU32, sync::Arc};

use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response, sse::Event as SseEvent},
};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    ask, error, events,
    extract::JsonBytes,
    once::{self, Asked},
};
use crate::{
    answering::{
        Answering, Ask,
        events::{Event, EventReader},
        record::ResponseRecord,
    },
    auth::Caller,
    error::{Error, Result},
    idempotency::Idempotency,
};

/// The fields that matter here. Others of OpenAI's API are accepted and have no effect.
#[derive(Debug, Deserialize)]
pub struct CreateChat {
    model: Option<String>,
    #[serde(default)]
    messages: Value,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<NonZeroU32>,
    max_completion_tokens: Option<NonZeroU32>,
    metadata: Option<Map<String, Value>>,
    /// Whether anything of the answer is kept.
    store: Option<bool>,
    n: Option<u32>,
    tools: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

impl CreateChat {
    /// Nothing is kept unless the client wants it, or may send the request again: OpenAI's default, and the client
    /// sends the whole conversation each time.
    fn into_ask(self, may_come_again: bool) -> Result<Ask> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(Error::invalid(
                "n",
                "a Mind gives one answer; leave `n` out",
            ));
        }
        if self.tools.is_some_and(|tools| !tools.is_empty()) {
            return Err(Error::invalid(
                "tools",
                "a Mind has its own tools; SQL of your own goes to POST /responses with the tool sql_query",
            ));
        }
        let limit = self.max_completion_tokens.or(self.max_tokens);
        Ok(Ask {
            model: ask::model(self.model)?,
            input: ask::chat(&self.messages)?,
            metadata: ask::metadata(self.metadata)?,
            max_output_tokens: limit.map(NonZeroU32::get),
            store: self.store.unwrap_or(may_come_again),
            ..Ask::default()
        })
    }
}

/// `POST /chat/completions`
pub async fn create(
    State(answering): State<Answering>,
    State(idempotency): State<Arc<Idempotency>>,
    caller: Caller,
    headers: HeaderMap,
    JsonBytes(body, bytes): JsonBytes<CreateChat>,
) -> Result<Response> {
    let is_stream = body.stream.unwrap_or(false);
    let options = body.stream_options.as_ref();
    let usage = options
        .and_then(|options| options.include_usage)
        .unwrap_or(false);
    let ask = body.into_ask(once::is_named(&headers))?;
    let asked = Asked {
        route: "/chat/completions",
        headers: &headers,
        body: &bytes,
    };
    let reader = once::answer(&answering, &idempotency, &caller, asked, ask).await?;
    if is_stream {
        return Ok(chunks(reader, usage, &answering));
    }
    whole(reader).await
}

async fn whole(mut reader: EventReader) -> Result<Response> {
    let mut text = String::new();
    while let Some(event) = reader.next().await {
        match event {
            Event::TextDone(whole) => text = whole.to_string(),
            Event::Failed(error, _) => return Err((*error).clone()),
            Event::Completed(record) => {
                return Ok(axum::Json(completion(&record, &text)).into_response());
            }
            _ => {}
        }
    }
    Err(Error::internal("an answer ended without a last event"))
}

fn completion(record: &ResponseRecord, text: &str) -> Value {
    json!({
        "id": record.id,
        "object": "chat.completion",
        "created": record.created_at.as_second(),
        "model": record.mind_name,
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": text, "refusal": null, "annotations": []},
            "logprobs": null,
            "finish_reason": finish_reason(record),
        }],
        "usage": usage_of(record),
        "service_tier": null,
        "system_fingerprint": null,
    })
}

fn finish_reason(record: &ResponseRecord) -> &'static str {
    match record.is_cut {
        true => "length",
        false => "stop",
    }
}

fn usage_of(record: &ResponseRecord) -> Value {
    let usage = record.usage;
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    })
}

/// The stream of one answer. Dropped by the client, it drops the reader.
fn chunks(reader: EventReader, usage: bool, answering: &Answering) -> Response {
    let writer = Writer {
        usage,
        id: Uuid::nil(),
        created: 0,
        model: String::new(),
    };
    let events = stream::unfold((reader, writer), |(mut reader, mut writer)| async move {
        let event = reader.next().await?;
        Some((writer.write(&event), (reader, writer)))
    });
    events::response(events, answering.keep_alive())
}

/// Writes the chunks of one stream.
struct Writer {
    /// Whether the client wants a chunk with the usage.
    usage: bool,
    id: Uuid,
    created: i64,
    model: String,
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: Uuid,
    object: &'static str,
    created: i64,
    model: &'a str,
    system_fingerprint: Option<&'static str>,
    choices: &'a [Choice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u8,
    delta: Delta<'a>,
    logprobs: Option<u8>,
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

impl Writer {
    fn write(&mut self, event: &Event) -> Vec<SseEvent> {
        match event {
            Event::Created(record) => {
                self.id = record.id;
                self.created = record.created_at.as_second();
                self.model = record.mind_name.clone();
                // Clients read `choices[0].delta.content` of every chunk, the first one's too.
                self.delta("", Some("assistant"))
            }
            Event::Delta(text) => self.delta(text, None),
            Event::Completed(record) => self.last(record),
            Event::Failed(cause, _) => {
                let fields = error::stream_fields(cause);
                written(&json!({"error": fields["error"]}))
            }
            _ => Vec::new(),
        }
    }

    fn delta(&self, text: &str, role: Option<&'static str>) -> Vec<SseEvent> {
        let delta = Delta {
            role,
            content: Some(text),
        };
        self.chunk(delta, None)
    }

    fn last(&self, record: &ResponseRecord) -> Vec<SseEvent> {
        let mut events = self.chunk(Delta::default(), Some(finish_reason(record)));
        if self.usage {
            events.extend(self.event(&[], Some(usage_of(record))));
        }
        events.push(SseEvent::default().data("[DONE]"));
        events
    }

    fn chunk(&self, delta: Delta<'_>, finish_reason: Option<&'static str>) -> Vec<SseEvent> {
        let choice = Choice {
            index: 0,
            delta,
            logprobs: None,
            finish_reason,
        };
        // Who asked for the usage is told with each chunk that it is yet to come.
        self.event(&[choice], self.usage.then_some(Value::Null))
    }

    fn event(&self, choices: &[Choice<'_>], usage: Option<Value>) -> Vec<SseEvent> {
        written(&Chunk {
            id: self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.model,
            system_fingerprint: None,
            choices,
            usage,
        })
    }
}

fn written(data: &impl Serialize) -> Vec<SseEvent> {
    match SseEvent::default().json_data(data) {
        Ok(event) => vec![event],
        Err(cause) => {
            tracing::error!(%cause, "a chunk could not be written");
            Vec::new()
        }
    }
}
