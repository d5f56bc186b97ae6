//! A response as it is kept: what was asked of which Mind, how it ended, what it gave.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use uuid::Uuid;

/// Where a response stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStatus {
    /// Accepted, nothing done yet.
    Created,
    /// Being made.
    InProgress,
    /// Done.
    Completed,
    /// Ended by an error.
    Failed,
    /// Ended by the caller.
    Cancelled,
}

impl ResponseStatus {
    /// As stored and sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// From its stored form; anything unknown counts as failed.
    pub fn parse(text: &str) -> Self {
        match text {
            "created" => Self::Created,
            "in_progress" => Self::InProgress,
            "completed" => Self::Completed,
            "cancelled" => Self::Cancelled,
            _ => Self::Failed,
        }
    }
}

/// Why a text ends in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// At a limit of tokens.
    Length,
    /// By the vendor's filter.
    Filter,
}

impl Cut {
    /// As stored; 0 is no cut.
    pub fn number(cut: Option<Self>) -> i64 {
        match cut {
            None => 0,
            Some(Self::Length) => 1,
            Some(Self::Filter) => 2,
        }
    }

    /// From its stored form.
    pub fn of_number(number: i64) -> Option<Self> {
        match number {
            0 => None,
            2 => Some(Self::Filter),
            _ => Some(Self::Length),
        }
    }
}

/// Tokens that the model counted; zero where it counts none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

/// The bounds that the caller set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Tokens that the model may write.
    pub max_output_tokens: Option<u32>,
    /// Rows that a `sql_query` gives at once.
    pub max_inline_rows: Option<u64>,
}

/// What else the caller set, to be shown as it was sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// How freely the model chooses its words, from 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// From -2 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// From -2 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Up to 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_logprobs: Option<u32>,
    /// Tool calls that the model may make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// `auto`, `default`, `flex`, `scale` or `priority`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// The caller's own name of its user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety_identifier: Option<String>,
    /// What requests with the same beginning have in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_cache_key: Option<String>,
}

/// One response.
#[derive(Clone, Debug)]
pub struct ResponseRecord {
    /// Its id.
    pub id: Uuid,
    /// Workspace of the caller.
    pub workspace_id: String,
    /// Key that asked.
    pub key_id: String,
    /// Conversation that it belongs to.
    pub conversation_id: Option<Uuid>,
    /// Mind that answers.
    pub mind_id: String,
    /// The Mind's name when it was asked.
    pub mind_name: String,
    /// Where it stands.
    pub status: ResponseStatus,
    /// `{code, message}` once it failed.
    pub error: Option<Value>,
    /// Finished output items, each as it is sent.
    pub output: Vec<Arc<RawValue>>,
    /// Tokens.
    pub usage: Usage,
    /// The caller's own notes.
    pub metadata: Map<String, Value>,
    /// The caller's instructions for this response.
    pub instructions: Option<String>,
    /// The response that it continues.
    pub previous_response_id: Option<Uuid>,
    /// Whether it goes on without its caller.
    pub background: bool,
    /// Whether anything of it is kept.
    pub is_stored: bool,
    /// The bounds that the caller set.
    pub limits: Limits,
    /// What else the caller set.
    pub settings: Settings,
    /// Why the text ends in the middle, if it does.
    pub cut: Option<Cut>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
}
