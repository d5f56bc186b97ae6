//! What the vendor sends: the events of a stream, or a whole message.

use mindhost_sdk::vendor::token_count;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The largest count that the host believes, as in [`token_count`].
const MOST_TOKENS: u64 = 1 << 40;

/// What an event, or a body, is.
#[derive(Debug, Deserialize)]
pub struct Kind {
    /// `message_start`, `content_block_delta`, `error`, …
    #[serde(rename = "type", default)]
    pub kind: String,
}

/// `message_start`
#[derive(Debug, Deserialize)]
pub struct MessageStart {
    /// The message without content.
    pub message: Message,
}

/// A message: the head of a streamed one, or a whole one.
#[derive(Debug, Deserialize)]
pub struct Message {
    /// Empty in a stream; some gateways write null.
    #[serde(default)]
    pub content: Option<Vec<Block>>,
    /// Null in a stream.
    #[serde(default)]
    pub stop_reason: Option<String>,
    /// Tokens so far.
    #[serde(default, deserialize_with = "in_their_shape")]
    pub usage: Option<Usage>,
}

/// `content_block_start`
#[derive(Debug, Deserialize)]
pub struct BlockStart {
    /// Its place in the message.
    pub index: u64,
    /// The block, with little in it.
    pub content_block: Block,
}

/// A part of a message.
#[derive(Debug, Default, Deserialize)]
pub struct Block {
    /// `text`, `tool_use`, `thinking`, `redacted_thinking`, …
    #[serde(rename = "type", default)]
    pub kind: String,
    /// Of a text.
    #[serde(default)]
    pub text: Option<String>,
    /// Of a tool call.
    #[serde(default)]
    pub id: Option<String>,
    /// Of a tool call.
    #[serde(default)]
    pub name: Option<String>,
    /// The arguments of a tool call; an empty object in a stream. As text, because a tree of it takes much more memory.
    #[serde(default)]
    pub input: Option<Box<RawValue>>,
    /// Of a thought.
    #[serde(default)]
    pub thinking: Option<String>,
    /// Proves that a thought was not changed.
    #[serde(default)]
    pub signature: Option<String>,
    /// Of a thought that is not shown.
    #[serde(default)]
    pub data: Option<String>,
}

/// `content_block_delta`
#[derive(Debug, Deserialize)]
pub struct BlockDelta {
    /// Which block grows.
    pub index: u64,
    /// By what.
    pub delta: Delta,
}

/// What is added to a block. Only the field that belongs to its kind is set.
#[derive(Debug, Default, Deserialize)]
pub struct Delta {
    /// `text_delta`
    #[serde(default)]
    pub text: Option<String>,
    /// `input_json_delta`
    #[serde(default)]
    pub partial_json: Option<String>,
    /// `thinking_delta`
    #[serde(default)]
    pub thinking: Option<String>,
    /// `signature_delta`
    #[serde(default)]
    pub signature: Option<String>,
}

/// `content_block_stop`
#[derive(Debug, Deserialize)]
pub struct BlockStop {
    /// Which block ends.
    pub index: u64,
}

/// `message_delta`
#[derive(Debug, Deserialize)]
pub struct MessageDelta {
    /// Why the message ends.
    #[serde(default)]
    pub delta: StopDelta,
    /// All tokens so far.
    #[serde(default, deserialize_with = "in_their_shape")]
    pub usage: Option<Usage>,
}

/// Why a message ends.
#[derive(Debug, Default, Deserialize)]
pub struct StopDelta {
    /// `end_turn`, `tool_use`, …
    #[serde(default)]
    pub stop_reason: Option<String>,
}

/// `error`
#[derive(Debug, Deserialize)]
pub struct ErrorEvent {
    /// `{"type": "overloaded_error", "message": "Overloaded"}`
    #[serde(default)]
    pub error: Value,
}

/// Token counts. Each event may leave some out; those that came before count then.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Usage {
    #[serde(default, deserialize_with = "token_count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "in_their_shape")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "token_count")]
    thinking_tokens: Option<u64>,
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
    /// Takes newer counts over its own.
    pub fn update(&mut self, newer: Self) {
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.cache_creation_input_tokens = newer
            .cache_creation_input_tokens
            .or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = newer
            .cache_read_input_tokens
            .or(self.cache_read_input_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
        self.output_tokens_details = newer
            .output_tokens_details
            .or(self.output_tokens_details.take());
    }

    /// The counts by the names of the contract. The vendor's input is what was neither read from the cache nor written to
    /// it; the contract's is all of it. A sum that cannot be is not given.
    pub fn counts(&self) -> Vec<(String, u64)> {
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        let read = self.cache_read_input_tokens.unwrap_or(0);
        let input = |fresh: u64| fresh.saturating_add(written).saturating_add(read);
        let input = self.input_tokens.map(input);
        let details = self.output_tokens_details.as_ref();
        let named = [
            ("input", input.filter(|count| *count <= MOST_TOKENS)),
            ("output", self.output_tokens),
            ("cached-input", self.cache_read_input_tokens),
            (
                "reasoning",
                details.and_then(|details| details.thinking_tokens),
            ),
        ];
        named
            .into_iter()
            .filter_map(|(name, count)| Some((name.to_owned(), count?)))
            .collect()
    }
}
