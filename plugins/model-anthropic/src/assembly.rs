//! From the vendor's events to those of the contract.

use mindhost_sdk::model::{Event, Opaque, StopReason};
use mindhost_sdk::vendor::{Protocol, ToolCalls, VendorMessage};
use mindhost_sdk::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::event::{
    Block, BlockDelta, BlockStart, BlockStop, Delta, ErrorEvent, Kind, Message, MessageDelta,
    MessageStart, Usage,
};
use crate::vendor_error;

/// The kind of the opaque parts that hold a thought: the block as the vendor wrote it.
pub const THOUGHT: &str = "anthropic.thinking";
/// Bytes of the thoughts of one answer.
const LARGEST_THOUGHTS: usize = 4 * 1024 * 1024;
/// The longest body that is read for the reason why it is no message, in bytes.
const LARGEST_ERROR: usize = 64 * 1024;
/// Blocks that one answer may have open.
const MOST_BLOCKS: usize = 1024;

/// What was read of a message so far.
#[derive(Debug, Default)]
pub struct Assembly {
    /// By the index of their block, with the arguments that came in pieces.
    calls: ToolCalls<u64>,
    /// The same calls, in the same order, with the arguments of their start: those count where no pieces follow.
    inputs: ToolCalls<u64>,
    /// Thoughts that are not ended.
    thoughts: Vec<(u64, Block)>,
    /// Bytes of all thoughts.
    thought_bytes: usize,
    /// Blocks that began.
    blocks: usize,
    usage: Usage,
    stop_reason: Option<String>,
    done: bool,
}

impl Protocol for Assembly {
    const ANSWER: &'static str = "a message";
    const BASE_URL: &'static str = "https://api.anthropic.com, without /v1/messages";

    fn event(&mut self, data: &str, events: &mut Vec<Event>) -> Result<()> {
        let kind: Kind = read(data)?;
        match kind.kind.as_str() {
            "message_start" => self.count(read::<MessageStart>(data)?.message.usage, events),
            "content_block_start" => {
                let start: BlockStart = read(data)?;
                return self.begin(start.index, start.content_block, events);
            }
            "content_block_delta" => {
                let grown: BlockDelta = read(data)?;
                return self.grow(grown.index, grown.delta, events);
            }
            "content_block_stop" => self.end_thought(read::<BlockStop>(data)?.index, events),
            "message_delta" => {
                let end: MessageDelta = read(data)?;
                self.stop_reason = end.delta.stop_reason.or(self.stop_reason.take());
                self.count(end.usage, events);
            }
            "message_stop" => self.done = true,
            "error" => {
                let event: ErrorEvent = read(data)?;
                return Err(vendor_error::in_stream(&event.error));
            }
            // `ping`, and what the vendor adds in the future.
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let no_message = |_| not_a_message(body);
        let kind: Kind = serde_json::from_slice(body).map_err(no_message)?;
        if kind.kind == "error" {
            let event: ErrorEvent = serde_json::from_slice(body).map_err(no_message)?;
            return Err(vendor_error::in_stream(&event.error));
        }
        let message: Message = serde_json::from_slice(body).map_err(no_message)?;
        if message.content.is_none() && message.stop_reason.is_none() {
            return Err(not_a_message(body));
        }
        for (index, block) in (0..).zip(message.content.into_iter().flatten()) {
            self.begin(index, block, events)?;
            self.end_thought(index, events);
        }
        self.count(message.usage, events);
        self.stop_reason = message.stop_reason;
        Ok(())
    }

    fn is_finished(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn is_complete(&self) -> bool {
        self.done && self.is_finished()
    }

    fn close(&mut self, events: &mut Vec<Event>) {
        let called = !self.calls.is_empty();
        let inputs = self.inputs.take().into_iter();
        for (mut call, input) in self.calls.take().into_iter().zip(inputs) {
            if call.arguments.is_empty() {
                call.arguments = input.arguments;
            }
            // A call without arguments has none.
            if call.arguments.is_empty() {
                call.arguments.push_str("{}");
            }
            events.push(Event::ToolCall(call));
        }
        let word = self.stop_reason.take().unwrap_or_default();
        let reason = match word.as_str() {
            "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
            "refusal" => StopReason::Refused,
            _ if called => StopReason::ToolCalls,
            "end_turn" | "stop_sequence" => StopReason::End,
            // `pause_turn` among them: only tools that run at the vendor pause, and the host offers none.
            _ => StopReason::Other,
        };
        events.push(Event::Stop((reason, word)));
    }
}

impl Assembly {
    fn begin(&mut self, index: u64, block: Block, events: &mut Vec<Event>) -> Result<()> {
        self.blocks += 1;
        if self.blocks > MOST_BLOCKS {
            return Err(too_large("more parts in one answer than can be meant"));
        }
        match block.kind.as_str() {
            "text" => {
                let text = block.text.filter(|text| !text.is_empty());
                events.extend(text.map(Event::Text));
                Ok(())
            }
            "tool_use" => self.begin_call(index, block),
            "thinking" | "redacted_thinking" => self.begin_thought(index, block),
            // Results of tools that run at the vendor, and what it adds in the future.
            _ => Ok(()),
        }
    }

    fn begin_call(&mut self, index: u64, block: Block) -> Result<()> {
        let at = self.calls.begin(index)?;
        self.inputs.begin(index)?;
        self.calls.identify(at, block.id.unwrap_or_default());
        self.calls.add(at, &block.name.unwrap_or_default(), "")?;
        // A stream begins with an empty object and sends the arguments later.
        let whole = block.input.as_ref().map(|input| input.get());
        let whole = whole.filter(|input| {
            let inner = input.strip_prefix('{');
            inner.is_some_and(|inner| inner.trim_start() != "}")
        });
        self.inputs.add(at, "", whole.unwrap_or_default())
    }

    fn begin_thought(&mut self, index: u64, block: Block) -> Result<()> {
        let parts = [&block.thinking, &block.signature, &block.data];
        self.measure(parts.into_iter().flatten().map(String::len).sum())?;
        let thought = Block {
            thinking: block.thinking,
            signature: block.signature,
            data: block.data,
            ..Block::default()
        };
        self.thoughts.push((index, thought));
        Ok(())
    }

    fn grow(&mut self, index: u64, delta: Delta, events: &mut Vec<Event>) -> Result<()> {
        let text = delta.text.filter(|text| !text.is_empty());
        events.extend(text.map(Event::Text));
        if let Some(piece) = delta.partial_json
            && let Some(at) = self.calls.position(|own, _| *own == index)
        {
            self.calls.add(at, "", &piece)?;
        }
        let (thinking, signature) = (delta.thinking, delta.signature);
        self.measure(
            [&thinking, &signature]
                .into_iter()
                .flatten()
                .map(String::len)
                .sum(),
        )?;
        if let Some((_, thought)) = self.thoughts.iter_mut().find(|(own, _)| *own == index) {
            append(&mut thought.thinking, thinking);
            append(&mut thought.signature, signature);
        }
        Ok(())
    }

    /// A block is over: if it is a thought, it is handed on whole.
    fn end_thought(&mut self, index: u64, events: &mut Vec<Event>) {
        if let Some(at) = self.thoughts.iter().position(|(own, _)| *own == index) {
            let (_, thought) = self.thoughts.swap_remove(at);
            events.extend(opaque(&thought));
        }
    }

    fn measure(&mut self, more: usize) -> Result<()> {
        self.thought_bytes += more;
        match self.thought_bytes <= LARGEST_THOUGHTS {
            true => Ok(()),
            false => Err(too_large("thoughts larger than can be meant")),
        }
    }

    fn count(&mut self, usage: Option<Usage>, events: &mut Vec<Event>) {
        self.usage.update(usage.unwrap_or_default());
        let counts = self.usage.counts();
        if !counts.is_empty() {
            events.push(Event::Usage(counts));
        }
    }
}

/// The thought as it goes back to the vendor. One without a signature is worth nothing there.
fn opaque(thought: &Block) -> Option<Event> {
    let data = match (&thought.signature, &thought.data) {
        (Some(signature), _) => {
            let text = thought.thinking.as_deref().unwrap_or_default();
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        (None, Some(data)) => json!({"type": "redacted_thinking", "data": data}),
        (None, None) => return None,
    };
    Some(Event::Opaque(Opaque {
        kind: THOUGHT.to_owned(),
        data: data.to_string(),
    }))
}

fn append(text: &mut Option<String>, piece: Option<String>) {
    if let Some(piece) = piece {
        text.get_or_insert_default().push_str(&piece);
    }
}

fn read<T: DeserializeOwned>(data: &str) -> Result<T> {
    let read = serde_json::from_str(data);
    read.map_err(|_| match serde_json::from_str::<Value>(data) {
        Ok(_) => no_piece("an event without the fields of its type"),
        Err(_) => no_piece("an event that is not JSON"),
    })
}

/// The error in a body that is no message: a gateway may say in a shape of its own what is wrong.
fn not_a_message(body: &[u8]) -> Error {
    let body = Some(body).filter(|body| body.len() <= LARGEST_ERROR);
    let parsed: Option<Value> = body.and_then(|body| serde_json::from_slice(body).ok());
    let said = VendorMessage::read(&parsed.unwrap_or_default());
    let what = format!(
        "the vendor's answer is not a message; check `base_url` ({})",
        Assembly::BASE_URL
    );
    Error::new(ErrorKind::Upstream, said.after(&what)).code(said.code)
}

fn no_piece(what: &str) -> Error {
    Error::new(ErrorKind::Upstream, format!("the vendor sent {what}"))
}

fn too_large(what: &str) -> Error {
    Error::new(ErrorKind::TooLarge, format!("the vendor sent {what}"))
}
