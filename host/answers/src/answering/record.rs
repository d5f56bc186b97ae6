//! A stored response: the request, its status and its output.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use uuid::Uuid;

use super::step::Step;
use crate::jobs::{Job, Kind};

/// The status of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStatus {
    /// Accepted, not started.
    Created,
    /// Running.
    InProgress,
    /// Done.
    Completed,
    /// Failed with an error.
    Failed,
    /// Cancelled by the caller.
    Cancelled,
}

impl ResponseStatus {
    /// Its name in the store and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// From its stored name; an unknown name counts as failed.
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

/// How an answer ended, if it did not end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyEnd {
    /// The text reached the caller's or the model's limit of tokens.
    Length,
    /// The vendor filtered the text.
    Filter,
    /// The model wanted more tool calls than it may make.
    ToolLimit,
    /// Too many tool calls of the model were refused or failed.
    RepairLimit,
    /// The answer used up its tokens, or its results do not fit into a request to the model.
    TokenBudget,
    /// The answer used up its time.
    Timeout,
    /// The model declined: the data do not have what was asked for. Its text is complete.
    CannotAnswer,
    /// The model sent more bytes than one answer may have.
    SizeLimit,
    /// The vendor ended the text for a reason that its plugin does not know.
    UnknownReason,
}

impl EarlyEnd {
    const ALL: [Self; 9] = [
        Self::Length,
        Self::Filter,
        Self::ToolLimit,
        Self::RepairLimit,
        Self::TokenBudget,
        Self::Timeout,
        Self::CannotAnswer,
        Self::SizeLimit,
        Self::UnknownReason,
    ];

    /// Its name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "max_output_tokens",
            Self::Filter => "content_filter",
            Self::ToolLimit => "tool_limit",
            Self::RepairLimit => "repair_limit",
            Self::TokenBudget => "token_budget",
            Self::Timeout => "timeout",
            Self::CannotAnswer => "cannot_answer",
            Self::SizeLimit => "size_limit",
            Self::UnknownReason => "unknown_reason",
        }
    }

    /// Whether the answer is incomplete.
    pub fn is_cut(self) -> bool {
        self != Self::CannotAnswer
    }

    /// Its stored number; 0 means that the answer ended by itself.
    pub fn number(ending: Option<Self>) -> i64 {
        let at = |ending| Self::ALL.iter().position(|one| *one == ending);
        ending.and_then(at).map_or(0, |at| at as i64 + 1)
    }

    /// From its stored number; an unknown number counts as [`Self::Length`].
    pub fn of_number(number: i64) -> Option<Self> {
        let at = usize::try_from(number)
            .unwrap_or(usize::MAX)
            .checked_sub(1)?;
        Some(Self::ALL.get(at).copied().unwrap_or(Self::Length))
    }
}

/// What to do with a dialogue that is longer than a request to the model may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Truncation {
    /// Leave out the oldest messages.
    Auto,
    /// Refuse it.
    #[default]
    Disabled,
}

impl Truncation {
    /// Its name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Disabled => "disabled",
        }
    }
}

/// Token counts; zero if the model reports none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// What the model read, over all turns: each turn reads the dialogue again.
    pub input_tokens: u64,
    /// Of them, what the vendor had in its cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// What the model wrote, over all turns, with its tool calls.
    pub output_tokens: u64,
    /// Of them, what the model thought and did not say.
    #[serde(default)]
    pub reasoning_tokens: u64,
}

/// Limits that the caller set for this response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Tokens that the model may write.
    pub max_output_tokens: Option<u32>,
    /// Rows that a `sql_query` returns inline.
    pub max_inline_rows: Option<u64>,
}

impl Limits {
    /// The kind of job that has them: only a `sql_query` has one of rows.
    pub fn job_kind(&self) -> Kind {
        match self.max_inline_rows {
            Some(_) => Kind::SqlQuery,
            None => Kind::Answer,
        }
    }
}

/// Other settings of the caller, returned as they were sent, and the id of the request that sent them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Sampling temperature, from 0 to 2.
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
    /// A key for requests with the same prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_cache_key: Option<String>,
    /// What to do with a dialogue that is too long.
    pub truncation: Truncation,
    /// Id of the request that asked, under which the log has it. Kept from the start, so that also a response whose
    /// host died has it. `None` of one that no request made, or a version that did not keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Arc<str>>,
}

/// One response, as it is stored and as `GET /responses/{id}` gives it.
#[derive(Clone, Debug)]
pub struct ResponseRecord {
    /// UUID, the same that the caller got with the first event.
    pub id: Uuid,
    /// Id of the workspace of the key that asked.
    pub workspace_id: String,
    /// Id of the key that asked, which owns the response.
    pub key_id: String,
    /// `None` if the conversation was deleted, or is new and not stored.
    pub conversation_id: Option<Uuid>,
    /// Id of the Mind that answers.
    pub mind_id: String,
    /// The Mind's name when it was asked.
    pub mind_name: String,
    /// How far it is.
    pub status: ResponseStatus,
    /// `{code, message}` if it failed.
    pub error: Option<Value>,
    /// Finished output items, each as it is sent.
    pub output: Vec<Arc<RawValue>>,
    /// What the prompt had of the catalog and the tool calls of the model, once the response has ended.
    pub steps: Vec<Arc<Step>>,
    /// Tokens of the model over all turns; zero for a `sql_query`.
    pub usage: Usage,
    /// The caller's own notes: up to 16 short texts by name.
    pub metadata: Map<String, Value>,
    /// The caller's instructions for this response.
    pub instructions: Option<String>,
    /// The `previous_response_id` of the request.
    pub previous_response_id: Option<Uuid>,
    /// Whether it continues after its client disconnects.
    pub background: bool,
    /// The `store` of the request. If false, neither it nor its messages are kept.
    pub is_stored: bool,
    /// What the caller allowed at most.
    pub limits: Limits,
    /// Other settings of the caller.
    pub settings: Settings,
    /// How the answer ended, if it did not end by itself.
    pub ending: Option<EarlyEnd>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
}

impl ResponseRecord {
    /// Whether it answers a `sql_query`.
    pub fn is_of_query(&self) -> bool {
        self.limits.job_kind() == Kind::SqlQuery
    }

    /// The job that makes it, without its text.
    pub fn job(&self) -> Job {
        Job {
            id: self.id,
            kind: self.limits.job_kind(),
            workspace_id: self.workspace_id.clone(),
            key_id: self.key_id.clone(),
            mind_id: self.mind_id.clone(),
            mind_name: self.mind_name.clone(),
            text: None,
            background: self.background,
            started_at: self.created_at,
            is_here: false,
        }
    }
}
