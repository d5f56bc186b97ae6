//! What a vendor sends: pieces of a streamed completion, or a whole one.

use mindhost_sdk::vendor::token_count;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A piece of a stream, or, with `message` in place of `delta`, a whole completion.
#[derive(Debug, Default, Deserialize)]
pub struct Chunk {
    /// One for each answer; only the first is read.
    #[serde(default)]
    pub choices: Option<Vec<Choice>>,
    /// Token counts; in a stream with its last piece.
    #[serde(default, deserialize_with = "in_their_shape")]
    pub usage: Option<Usage>,
    /// An error in the middle of a stream.
    #[serde(default)]
    pub error: Option<Value>,
    /// `error` where the chunk itself is one, as older versions of vLLM write it.
    #[serde(default)]
    pub object: Option<String>,
    /// The message of such an error.
    #[serde(default)]
    pub message: Option<Value>,
}

/// One answer.
#[derive(Debug, Default, Deserialize)]
pub struct Choice {
    /// Which of several answers.
    #[serde(default)]
    pub index: Option<u32>,
    /// The piece of a stream.
    #[serde(default)]
    pub delta: Option<Delta>,
    /// The whole. Some vendors send what they have so far beside each piece, or the whole once more after the last.
    #[serde(default)]
    pub message: Option<Delta>,
    /// Set at the end.
    #[serde(default)]
    pub finish_reason: Option<String>,
}

/// What is added to the answer.
#[derive(Debug, Default, Deserialize)]
pub struct Delta {
    /// Text.
    #[serde(default)]
    pub content: Option<Content>,
    /// Text of a refusal.
    #[serde(default)]
    pub refusal: Option<String>,
    /// Pieces of tool calls.
    #[serde(default)]
    pub tool_calls: Option<Vec<CallDelta>>,
}

/// Text, which some servers send in parts.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// The usual form.
    Text(String),
    /// A list of parts; those of text count.
    Parts(Vec<ContentPart>),
}

/// A part of a text.
#[derive(Debug, Deserialize)]
pub struct ContentPart {
    /// The text, where it is one.
    #[serde(default)]
    pub text: Option<String>,
}

impl Content {
    /// The text.
    pub fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|p| p.text).collect(),
        }
    }
}

/// A piece of a tool call.
#[derive(Debug, Default, Deserialize)]
pub struct CallDelta {
    /// Which call it belongs to; a whole completion and some servers leave it out.
    #[serde(default)]
    pub index: Option<usize>,
    /// Comes with the first piece.
    #[serde(default)]
    pub id: Option<String>,
    /// Name and arguments.
    #[serde(default)]
    pub function: Option<FunctionDelta>,
    /// What the vendor wants back with the call, as it wrote it: Gemini's signatures of thoughts.
    #[serde(default)]
    pub extra_content: Option<Box<RawValue>>,
}

/// A piece of a function's name and arguments.
#[derive(Debug, Default, Deserialize)]
pub struct FunctionDelta {
    /// Comes with the first piece.
    #[serde(default)]
    pub name: Option<String>,
    /// JSON text, added to what came before; some servers send an object.
    #[serde(default)]
    pub arguments: Option<Value>,
}

/// Token counts.
#[derive(Debug, Default, Deserialize)]
pub struct Usage {
    #[serde(default, deserialize_with = "token_count")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "in_their_shape")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default, deserialize_with = "in_their_shape")]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Debug, Default, Deserialize)]
struct PromptDetails {
    #[serde(default, deserialize_with = "token_count")]
    cached_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct CompletionDetails {
    #[serde(default, deserialize_with = "token_count")]
    reasoning_tokens: Option<u64>,
}

/// Reads token counts. What has another shape is `None`: the answer is worth more than its counts.
fn in_their_shape<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let counts = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(counts.get()).ok())
}

impl Usage {
    /// The counts by the names of the contract.
    pub fn counts(&self) -> Vec<(String, u64)> {
        let cached = self
            .prompt_tokens_details
            .as_ref()
            .and_then(|d| d.cached_tokens);
        let reasoning = self
            .completion_tokens_details
            .as_ref()
            .and_then(|d| d.reasoning_tokens);
        let named = [
            ("input", self.prompt_tokens),
            ("output", self.completion_tokens),
            ("cached-input", cached),
            ("reasoning", reasoning),
        ];
        named
            .into_iter()
            .filter_map(|(name, count)| Some((name.to_owned(), count?)))
            .collect()
    }
}
