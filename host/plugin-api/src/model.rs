//! A model plugin, and what passes between it and the host.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{Call, Plugin, Target};
use mindhost_base::error::{Error, Result};

/// A model plugin that serves.
#[async_trait]
pub trait Model: Plugin {
    /// Proves that the configuration works; a short text for a person.
    async fn check(&self, target: &Target, call: &Call) -> Result<String>;
    /// The vendor's list of models.
    async fn models(&self, target: &Target, call: &Call) -> Result<Vec<String>>;
    /// Asks the vendor; the events come from the completion. After an error, no answer has begun.
    async fn start(
        &self,
        target: &Target,
        request: ModelRequest,
        call: &Call,
    ) -> Result<Box<dyn Completion>>;
    /// One vector for each text, in order; all have the same length. Only for a plugin whose manifest says that it has
    /// them ([`Manifest::has_embeddings`](crate::Manifest::has_embeddings)).
    async fn embed(
        &self,
        _target: &Target,
        _model: &str,
        _texts: &[String],
        _call: &Call,
    ) -> Result<Vec<Vec<f32>>> {
        let name = &self.manifest().name;
        Err(Error::internal(format!("{name} makes no vectors")))
    }
    /// Forgets what is kept of a target whose configuration changed or that is gone.
    async fn forget(&self, _target_id: &str) {}
}

/// A completion in progress. Dropping it ends it, down to the vendor's connection.
#[async_trait]
pub trait Completion: Send {
    /// At least one event, as soon as there is one; `None` after the stop event.
    ///
    /// # Errors
    /// Those of the vendor, of the connection and of the plugin. The source of the error is [`AnswerTooLarge`] if more
    /// came than is read of one completion.
    async fn next(&mut self, call: &Call) -> Result<Option<Vec<ModelEvent>>>;
}

/// The source of an error of [`Completion::next`]: more came than is read, in one event or in all of them.
#[derive(Clone, Copy, Debug)]
pub struct AnswerTooLarge;

impl AnswerTooLarge {
    /// Whether it is the source of this error.
    pub fn is_source_of(error: &Error) -> bool {
        std::error::Error::source(error).is_some_and(|source| source.is::<Self>())
    }
}

impl std::fmt::Display for AnswerTooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the answer of the model is too large")
    }
}

impl std::error::Error for AnswerTooLarge {}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The host, with what the tools that the model called gave.
    Tool,
}

/// A tool call, whole. `arguments` is what the model wrote, valid JSON or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The model's id of the call.
    pub id: String,
    /// The [`Tool::name`] that the model asks for; it need not exist.
    pub name: String,
    /// JSON text, unchecked.
    pub arguments: String,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Words of the speaker.
    Text(String),
    /// The model wants a tool.
    ToolCall(ToolCall),
    /// The outcome of a tool that the model called.
    ToolResult {
        /// The [`ToolCall::id`] of the call that it answers.
        call_id: String,
        /// JSON text.
        content: String,
        /// Whether the tool failed; `content` says why.
        is_error: bool,
    },
    /// The vendor's own, given back unread.
    Opaque {
        /// The plugin's own word, such as `anthropic.thinking`.
        kind: String,
        /// Its content.
        data: String,
    },
}

/// One turn of the dialogue, by one speaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelMessage {
    /// Who speaks.
    pub role: Role,
    /// In order.
    pub parts: Vec<Part>,
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// `run_sql`
    pub name: String,
    /// For the model.
    pub description: String,
    /// JSON schema, as text.
    pub parameters: String,
}

/// A dialogue to continue, and the bounds of the answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRequest {
    /// The vendor's model; empty means the provider's default.
    pub model: String,
    /// The dialogue so far.
    pub messages: Vec<ModelMessage>,
    /// What it may call.
    pub tools: Vec<Tool>,
    /// `auto`, `none`, `required` or a tool's name.
    pub tool_choice: String,
    /// Bound on the answer, in tokens.
    pub max_output_tokens: Option<u32>,
    /// From 0 (the likeliest words) to 2; `None` leaves it to the vendor.
    pub temperature: Option<f32>,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It said all.
    End,
    /// It called tools, and goes on when it has their results.
    ToolCalls,
    /// It ran into its token limit.
    Length,
    /// The vendor refused to answer.
    Refused,
    /// The vendor's own reason.
    Other,
}

/// Something a model did.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// The next piece of the answer; all pieces together are its text.
    Text(String),
    /// A tool call with all its arguments, never a part of one.
    ToolCall(ToolCall),
    /// The vendor's own, to give back unread.
    Opaque {
        /// The plugin's own word, such as `anthropic.thinking`.
        kind: String,
        /// Its content.
        data: String,
    },
    /// Tokens by name: `input`, `output`, …; the last one counts.
    Usage(Vec<(String, u64)>),
    /// The end, with the vendor's own word.
    Stop(StopReason, String),
}
