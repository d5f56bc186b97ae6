//! The response object: what our own clients read, and what OpenAI's clients need to parse it.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};
use uuid::Uuid;

use crate::answering::record::ResponseRecord;

/// A response as it is sent.
#[derive(Serialize)]
pub struct ResponseObject<'a> {
    id: Uuid,
    object: &'static str,
    created_at: i64,
    completed_at: Option<i64>,
    status: &'static str,
    error: Option<&'a Value>,
    incomplete_details: Option<Value>,
    model: &'a str,
    output: &'a [Arc<RawValue>],
    conversation: Option<Value>,
    previous_response_id: Option<Uuid>,
    instructions: Option<&'a str>,
    metadata: &'a Map<String, Value>,
    usage: Value,
    background: bool,
    store: bool,
    max_output_tokens: Option<u32>,
    parallel_tool_calls: bool,
    temperature: Option<f32>,
    top_p: Option<f32>,
    tool_choice: &'static str,
    tools: [u8; 0],
    text: Value,
    truncation: &'static str,
    reasoning: Value,
    user: Option<&'static str>,
}

impl<'a> ResponseObject<'a> {
    /// From what is kept.
    pub fn new(record: &'a ResponseRecord) -> Self {
        let usage = record.usage;
        Self {
            id: record.id,
            object: "response",
            created_at: record.created_at.as_second(),
            completed_at: record.completed_at.map(|time| time.as_second()),
            status: record.status.as_str(),
            error: record.error.as_ref(),
            incomplete_details: record
                .is_cut
                .then(|| json!({"reason": "max_output_tokens"})),
            model: &record.mind_name,
            output: &record.output,
            conversation: record.conversation_id.map(|id| json!({"id": id})),
            previous_response_id: record.previous_response_id,
            instructions: record.instructions.as_deref(),
            metadata: &record.metadata,
            usage: json!({
                "input_tokens": usage.input_tokens,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": usage.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.input_tokens + usage.output_tokens,
            }),
            background: record.background,
            store: record.is_stored,
            max_output_tokens: record.limits.max_output_tokens,
            parallel_tool_calls: true,
            temperature: None,
            top_p: None,
            tool_choice: "auto",
            tools: [],
            text: json!({"format": {"type": "text"}}),
            truncation: "disabled",
            reasoning: json!({"effort": null, "summary": null}),
            user: None,
        }
    }
}
