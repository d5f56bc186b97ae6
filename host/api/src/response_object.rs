//! The response object: what our own clients read, and what OpenAI's clients need to parse it.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};
use utoipa::ToSchema;
use uuid::Uuid;

use super::ask::body::{ServiceTier, metadata_object};
use mindhost_answers::answering::{
    items::{MessageItem, QueryResult},
    record::{EarlyEnd, ResponseRecord, ResponseStatus},
};

/// A response as it is sent.
#[derive(Serialize, ToSchema)]
#[schema(as = Response)]
pub struct ResponseObject<'a> {
    id: Uuid,
    #[schema(example = "response")]
    object: &'static str,
    /// In seconds since 1970.
    created_at: i64,
    /// In seconds since 1970; null while it is in progress.
    #[schema(required = true)]
    completed_at: Option<i64>,
    #[schema(value_type = ResponseStatus)]
    status: &'static str,
    /// Why it failed.
    #[schema(required = true)]
    error: Option<ResponseError<'a>>,
    /// Why the text ends in the middle.
    #[schema(required = true)]
    incomplete_details: Option<IncompleteDetails>,
    /// Null where the answer ended by itself; `cannot_answer` where the data do not have what was asked for; else the
    /// reason in `incomplete_details`.
    #[schema(required = true, example = "cannot_answer")]
    ending: Option<&'static str>,
    /// Name of the Mind.
    #[schema(example = "sales")]
    model: &'a str,
    /// What was answered: one message, or one result of the tool `sql_query`; nothing until then.
    #[schema(value_type = Vec<OutputItem>)]
    output: &'a [Arc<RawValue>],
    /// Null with `store: false`.
    #[schema(required = true)]
    conversation: Option<ConversationOf>,
    #[schema(required = true)]
    previous_response_id: Option<Uuid>,
    #[schema(required = true)]
    instructions: Option<&'a str>,
    #[schema(schema_with = metadata_object)]
    metadata: &'a Map<String, Value>,
    usage: Usage,
    background: bool,
    store: bool,
    #[schema(required = true)]
    max_output_tokens: Option<u32>,
    /// What the request set of this and of what follows up to `prompt_cache_key`, else the default.
    #[schema(example = 1.0)]
    temperature: f64,
    #[schema(example = 1.0)]
    top_p: f64,
    #[schema(example = 0.0)]
    presence_penalty: f64,
    #[schema(example = 0.0)]
    frequency_penalty: f64,
    top_logprobs: u32,
    #[schema(required = true)]
    max_tool_calls: Option<u32>,
    #[schema(value_type = ServiceTier, example = "default")]
    service_tier: &'a str,
    #[schema(required = true)]
    safety_identifier: Option<&'a str>,
    #[schema(required = true)]
    prompt_cache_key: Option<&'a str>,
    /// This and what follows are here for OpenAI's clients.
    parallel_tool_calls: bool,
    tool_choice: &'static str,
    #[schema(value_type = Vec<Object>)]
    tools: [u8; 0],
    text: Text,
    #[schema(example = "disabled")]
    truncation: &'static str,
    reasoning: Reasoning,
    #[schema(required = true)]
    user: Option<&'static str>,
}

/// Why a response failed.
#[derive(Serialize, ToSchema)]
struct ResponseError<'a> {
    code: &'a str,
    message: &'a str,
    /// The `X-Request-ID` of the request that asked, under which the server's log has it. Null where it was not kept.
    #[schema(required = true)]
    request_id: Option<&'a str>,
}

impl<'a> ResponseError<'a> {
    fn of(record: &'a ResponseRecord) -> Option<Self> {
        let error = record.error.as_ref()?;
        let field = |name| error.get(name).and_then(Value::as_str).unwrap_or_default();
        Some(Self {
            code: field("code"),
            message: field("message"),
            request_id: record.settings.request_id.as_deref(),
        })
    }
}

/// A message, or the result of a statement.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes what is kept as JSON text")]
enum OutputItem {
    Message(MessageItem<'static>),
    QueryResult(QueryResult<'static>),
}

/// Why a text ends in the middle.
#[derive(Serialize, ToSchema)]
struct IncompleteDetails {
    /// `max_output_tokens`, `content_filter`, `unknown_reason`, `tool_limit`, `repair_limit`, `token_budget`, `timeout`
    /// or `size_limit`.
    #[schema(example = "max_output_tokens")]
    reason: &'static str,
}

/// The conversation of a response.
#[derive(Serialize, ToSchema)]
#[schema(as = ConversationOfResponse)]
struct ConversationOf {
    id: Uuid,
}

/// Tokens that the model counted; 0 where it counts none.
#[derive(Serialize, ToSchema)]
#[schema(as = ResponseUsage)]
struct Usage {
    input_tokens: u64,
    input_tokens_details: InputDetails,
    output_tokens: u64,
    output_tokens_details: OutputDetails,
    total_tokens: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = InputTokensDetails)]
struct InputDetails {
    cached_tokens: u64,
    /// Always 0: vendors do not say it alike.
    cache_write_tokens: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = OutputTokensDetails)]
struct OutputDetails {
    reasoning_tokens: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ResponseText)]
struct Text {
    format: Format,
}

#[derive(Serialize, ToSchema)]
#[schema(as = TextFormat)]
struct Format {
    #[schema(example = "text")]
    r#type: &'static str,
}

#[derive(Default, Serialize, ToSchema)]
struct Reasoning {
    #[schema(required = true)]
    effort: Option<&'static str>,
    #[schema(required = true)]
    summary: Option<&'static str>,
}

impl<'a> ResponseObject<'a> {
    /// From what is kept.
    pub fn new(record: &'a ResponseRecord) -> Self {
        let (usage, settings) = (record.usage, &record.settings);
        Self {
            id: record.id,
            object: "response",
            created_at: record.created_at.as_second(),
            completed_at: record.completed_at.map(|time| time.as_second()),
            status: record.status.as_str(),
            error: ResponseError::of(record),
            incomplete_details: record
                .ending
                .filter(|ending| ending.is_cut())
                .map(|ending| IncompleteDetails {
                    reason: ending.as_str(),
                }),
            ending: record.ending.map(EarlyEnd::as_str),
            model: &record.mind_name,
            output: &record.output,
            conversation: record.conversation_id.map(|id| ConversationOf { id }),
            previous_response_id: record.previous_response_id,
            instructions: record.instructions.as_deref(),
            metadata: &record.metadata,
            usage: Usage {
                input_tokens: usage.input_tokens,
                input_tokens_details: InputDetails {
                    cached_tokens: usage.cached_tokens,
                    cache_write_tokens: 0,
                },
                output_tokens: usage.output_tokens,
                output_tokens_details: OutputDetails {
                    reasoning_tokens: usage.reasoning_tokens,
                },
                total_tokens: usage.input_tokens + usage.output_tokens,
            },
            background: record.background,
            store: record.is_stored,
            max_output_tokens: record.limits.max_output_tokens,
            temperature: settings.temperature.unwrap_or(1.0),
            top_p: settings.top_p.unwrap_or(1.0),
            presence_penalty: settings.presence_penalty.unwrap_or(0.0),
            frequency_penalty: settings.frequency_penalty.unwrap_or(0.0),
            top_logprobs: settings.top_logprobs.unwrap_or(0),
            max_tool_calls: settings.max_tool_calls,
            service_tier: settings.service_tier.as_deref().unwrap_or("default"),
            safety_identifier: settings.safety_identifier.as_deref(),
            prompt_cache_key: settings.prompt_cache_key.as_deref(),
            parallel_tool_calls: true,
            tool_choice: "auto",
            tools: [],
            text: Text {
                format: Format { r#type: "text" },
            },
            truncation: settings.truncation.as_str(),
            reasoning: Reasoning::default(),
            user: None,
        }
    }
}
