//! The traits of a model provider, and its export macros.

pub(crate) mod export;

use crate::bindings::model::exports::mindhost::plugin::model as wire;
use crate::config::Config;
use crate::error::Result;

pub use wire::{
    Event, Media, Message, Opaque, Part, Request, Role, StopReason, Tool, ToolCall, ToolResult,
};

/// A language model that can call tools.
///
/// The host uses an instance for one completion at a time. It adds the credentials that the manifest gives to it;
/// a plugin sees only those declared `guest-held`.
///
/// What the model writes is data: hand it on as it came (a tool call's arguments too, valid JSON or not), and let the
/// host judge it. A panic ends the instance; return errors.
pub trait Model: Sized + 'static {
    /// The manifest: `include_str!("../manifest.json")`.
    const MANIFEST: &'static str;

    /// An answer that is being written.
    type Completion: 'static;

    /// Sends the request and returns as soon as the vendor accepted it, or refused.
    ///
    /// Called once for each turn of an answer. A refusal is a typed error: `Auth`, `NotFound` (the model),
    /// `RateLimited` with [`crate::Error::retry_after`], `InvalidStatement` (the request), `TooLarge` (the context),
    /// `Upstream`.
    fn start(config: &Config, request: Request) -> Result<Self::Completion>;

    /// Waits for at least one event. The last one is [`Event::Stop`].
    ///
    /// Called until the stop event or an error; the SDK answers for what comes after. Return text as soon as it arrives:
    /// what is collected here is what a person waits for. `None` before a stop event means that the vendor's
    /// stream was cut, which the SDK reports as `ConnectionLost`.
    fn next(completion: &mut Self::Completion) -> Result<Option<Vec<Event>>>;

    /// Proves that the configuration works, without cost where the vendor allows; a short text for a person.
    ///
    /// Called when a person makes or tests a provider.
    fn check(config: &Config) -> Result<String>;

    /// The names of the models that the configuration reaches.
    ///
    /// No part of this host asks for it yet; it is for people who look for a model. Not overriding it means an empty list:
    /// the name is then typed by hand.
    fn models(config: &Config) -> Result<Vec<String>> {
        let _ = config;
        Ok(Vec::new())
    }
}

/// Vectors for texts; optional, with [`crate::export_model_with_embeddings!`] in place of [`crate::export_model!`].
///
/// The manifest then has the world `model-provider-with-embeddings`. The host asks for vectors only where a provider
/// has the setting `embedding_model`, so the schema of `connection_data` needs it.
pub trait Embeddings: Model {
    /// One vector a text, in order; all of one length, without infinities.
    ///
    /// Called with the names and descriptions of tables (up to 32 texts at a time, once for each text while it is
    /// used), and for each question (one). An answer does not wait for the tables, and waits briefly for the question.
    fn embed(config: &Config, model: &str, texts: &[String]) -> Result<Vec<Vec<f32>>>;
}

impl Message {
    /// A message of one text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            parts: vec![Part::Text(text.into())],
        }
    }
}

impl Request {
    /// For tests: a request of some messages, everything else at its default.
    pub fn new(messages: Vec<Message>) -> Self {
        Self {
            model: String::new(),
            messages,
            tools: Vec::new(),
            tool_choice: "auto".into(),
            max_output_tokens: None,
            temperature: None,
            response_schema: None,
            extra: Vec::new(),
        }
    }
}

/// Makes a type that implements [`Model`] the model provider of this component. Once in a crate.
///
/// For targets other than WebAssembly it only checks that the type implements the trait.
#[macro_export]
macro_rules! export_model {
    ($model:ty) => {
        const _: () = {
            const fn implements_model<T: $crate::Model>() {}
            implements_model::<$model>();

            #[cfg(target_family = "wasm")]
            type Exported = $crate::exports::ExportedModel<$model>;
            #[cfg(target_family = "wasm")]
    $crate::bindings::model::export!(Exported with_types_in $crate::bindings::model);
        };
    };
}

/// As [`export_model!`], for a type that implements [`Embeddings`] too.
#[macro_export]
macro_rules! export_model_with_embeddings {
    ($model:ty) => {
        $crate::export_model!($model);
        const _: () = {
            const fn implements_embeddings<T: $crate::Embeddings>() {}
            implements_embeddings::<$model>();

            #[cfg(target_family = "wasm")]
            type Exported = $crate::exports::ExportedModel<$model>;
            #[cfg(target_family = "wasm")]
            $crate::bindings::embeddings::export!(Exported with_types_in $crate::bindings::embeddings);
        };
    };
}
