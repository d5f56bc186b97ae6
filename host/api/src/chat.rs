//! `/chat/completions`: asking a Mind in the shape of OpenAI's older API, over the same pipeline.

use crate::{
    error::ApiResult,
    routes::{ASKED, ASKING, KeyHandler, Routes, STORING, Tag, USER},
};
use std::{num::NonZeroU32, sync::Arc};

use axum::{
    Extension,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response, sse::Event as SseEvent},
};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa_axum::routes;
use uuid::Uuid;

use super::{
    admission::CreatedName,
    ask::{self, settings::GivenSettings},
    error,
    events::{self, SentEvent},
    extract::JsonBytes,
    once::{self, KeyedRequest},
};
use mindhost_answers::{
    answering::{
        Answering, Ask,
        events::{Event, EventReader},
        record::{EarlyEnd, ResponseRecord},
    },
    idempotency::Idempotency,
};
use mindhost_base::error::{Error, Result};
use mindhost_core::auth::Caller;

/// `/chat/completions`
pub fn routes() -> Routes {
    let create = USER
        .audited_after()
        .once(KeyHandler::Answer)
        .fails(ASKING)
        .fails(ASKED)
        .fails(STORING);
    Routes::of(Tag::Responses).route(routes!(self::create), create)
}

/// The fields that matter here. Others of OpenAI's API are accepted and have no effect.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewChat)]
pub struct CreateChat {
    /// Name of the Mind to ask.
    #[schema(value_type = String, min_length = 1, example = "sales")]
    model: Option<String>,
    /// The whole chat, one message of the role user among them.
    #[serde(deserialize_with = "ask::shape::objects")]
    #[schema(min_items = 1)]
    messages: Vec<ask::body::ChatMessage>,
    /// Whether to answer with a stream.
    stream: Option<bool>,
    #[serde(default, deserialize_with = "ask::shape::optional_object")]
    stream_options: Option<StreamOptions>,
    /// As `max_completion_tokens`.
    #[schema(value_type = Option<u32>, minimum = 1)]
    max_tokens: Option<NonZeroU32>,
    /// Tokens that the model may write.
    #[schema(value_type = Option<u32>, minimum = 1)]
    max_completion_tokens: Option<NonZeroU32>,
    /// How freely the model chooses its words.
    #[schema(minimum = 0.0, maximum = 2.0)]
    temperature: Option<f64>,
    /// It has no effect, and neither have those that follow up to `prompt_cache_key`.
    #[schema(minimum = 0.0, maximum = 1.0)]
    top_p: Option<f64>,
    #[schema(minimum = -2.0, maximum = 2.0)]
    presence_penalty: Option<f64>,
    #[schema(minimum = -2.0, maximum = 2.0)]
    frequency_penalty: Option<f64>,
    #[schema(minimum = 0, maximum = 20)]
    top_logprobs: Option<u32>,
    #[serde(default, deserialize_with = "ask::shape::optional_word")]
    service_tier: Option<ask::body::ServiceTier>,
    #[schema(max_length = 64)]
    safety_identifier: Option<String>,
    #[schema(max_length = 64)]
    prompt_cache_key: Option<String>,
    #[schema(schema_with = ask::body::metadata)]
    metadata: Option<Map<String, Value>>,
    /// Whether anything of the answer is kept; nothing is unless this says so.
    store: Option<bool>,
    /// A Mind gives one answer.
    #[schema(minimum = 1, maximum = 1)]
    n: Option<u32>,
    /// None: a Mind has its own.
    #[schema(value_type = Option<Vec<Object>>, max_items = 0)]
    tools: Option<Vec<Value>>,
    /// Text: a Mind answers in words.
    #[serde(default, deserialize_with = "ask::shape::optional_object")]
    response_format: Option<ask::body::AnswerFormat>,
}

/// What a stream has besides the text.
#[derive(Debug, Deserialize, ToSchema)]
struct StreamOptions {
    /// Whether a last chunk tells what was used.
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
        ask::in_words(self.response_format.as_ref(), "response_format.type")?;
        let settings = GivenSettings {
            temperature: self.temperature,
            top_p: self.top_p,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            top_logprobs: self.top_logprobs,
            service_tier: self.service_tier,
            safety_identifier: self.safety_identifier,
            prompt_cache_key: self.prompt_cache_key,
            ..GivenSettings::default()
        }
        .checked()?;
        let limit = self.max_completion_tokens.or(self.max_tokens);
        Ok(Ask {
            model: ask::model(self.model)?,
            input: ask::chat(self.messages)?,
            metadata: ask::metadata(self.metadata)?,
            max_output_tokens: limit.map(NonZeroU32::get),
            settings,
            store: self.store.unwrap_or(may_come_again),
            ..Ask::default()
        })
    }
}

/// Asks a Mind in the shape of OpenAI's older API
#[utoipa::path(post, path = "/chat/completions", operation_id = "create_chat", request_body = CreateChat,
    responses((status = 200, description = "The answer; with `stream` as chunks, `[DONE]` the last.",
        content((Completion<'static> = "application/json"), (SentEvent = "text/event-stream")))))]
pub async fn create(
    State(answering): State<Answering>,
    State(idempotency): State<Arc<Idempotency>>,
    caller: Caller,
    headers: HeaderMap,
    JsonBytes(body, bytes): JsonBytes<CreateChat>,
) -> ApiResult<Response> {
    let is_stream = body.stream.unwrap_or(false);
    let options = body.stream_options.as_ref();
    let usage = options
        .and_then(|options| options.include_usage)
        .unwrap_or(false);
    let ask = body.into_ask(once::is_named(&headers))?;
    let asked = KeyedRequest {
        route: "/chat/completions",
        headers: &headers,
        body: &bytes,
    };
    let reader = once::answer(&answering, &idempotency, &caller, asked, ask).await?;
    let made = reader
        .log()
        .record()
        .map(|record| Extension(CreatedName(record.id.to_string())));
    let answer = match is_stream {
        true => chunks(reader, usage, &answering),
        false => whole(reader).await?,
    };
    Ok((made, answer).into_response())
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

/// An answer in the shape of OpenAI's older API.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletion)]
struct Completion<'a> {
    id: Uuid,
    #[schema(example = "chat.completion")]
    object: &'static str,
    /// In seconds since 1970.
    created: i64,
    /// Name of the Mind.
    model: &'a str,
    choices: [CompletionChoice<'a>; 1],
    usage: ChatUsage,
    #[schema(required = true)]
    service_tier: Option<&'static str>,
    #[schema(required = true)]
    system_fingerprint: Option<&'static str>,
}

/// The answer.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatChoice)]
struct CompletionChoice<'a> {
    index: u8,
    message: Answer<'a>,
    #[schema(required = true)]
    logprobs: Option<u8>,
    /// `stop`; `length` when the text ends in the middle.
    #[schema(example = "stop")]
    finish_reason: &'static str,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ChatAnswer)]
struct Answer<'a> {
    #[schema(example = "assistant")]
    role: &'static str,
    content: &'a str,
    #[schema(required = true)]
    refusal: Option<&'static str>,
    #[schema(value_type = Vec<Object>)]
    annotations: [u8; 0],
}

/// Tokens that the model counted; 0 where it counts none.
#[derive(Serialize, ToSchema)]
struct ChatUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
}

fn completion<'a>(record: &'a ResponseRecord, text: &'a str) -> Completion<'a> {
    Completion {
        id: record.id,
        object: "chat.completion",
        created: record.created_at.as_second(),
        model: &record.mind_name,
        choices: [CompletionChoice {
            index: 0,
            message: Answer {
                role: "assistant",
                content: text,
                refusal: None,
                annotations: [],
            },
            logprobs: None,
            finish_reason: finish_reason(record),
        }],
        usage: usage_of(record),
        service_tier: None,
        system_fingerprint: None,
    }
}

fn finish_reason(record: &ResponseRecord) -> &'static str {
    match record.ending {
        Some(EarlyEnd::Filter) => "content_filter",
        // The limits of the host cut an answer like that of tokens.
        Some(ending) if ending.is_cut() => "length",
        _ => "stop",
    }
}

fn usage_of(record: &ResponseRecord) -> ChatUsage {
    let usage = record.usage;
    ChatUsage {
        prompt_tokens: usage.input_tokens,
        completion_tokens: usage.output_tokens,
        total_tokens: usage.input_tokens + usage.output_tokens,
    }
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
    usage: Option<Option<ChatUsage>>,
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
                events::written(SseEvent::default(), &json!({"error": fields["error"]}))
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
        // With a content, because minds-sdk joins that of every chunk.
        let nothing_more = Delta {
            content: Some(""),
            ..Delta::default()
        };
        let mut events = self.chunk(nothing_more, Some(finish_reason(record)));
        if self.usage {
            events.extend(self.event(&[], Some(Some(usage_of(record)))));
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
        self.event(&[choice], self.usage.then_some(None))
    }

    fn event(&self, choices: &[Choice<'_>], usage: Option<Option<ChatUsage>>) -> Vec<SseEvent> {
        let chunk = Chunk {
            id: self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.model,
            system_fingerprint: None,
            choices,
            usage,
        };
        events::written(SseEvent::default(), &chunk)
    }
}
