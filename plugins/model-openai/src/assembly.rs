//! From the pieces of a completion to the events of the contract.

use mindhost_sdk::model::{Event, Opaque, StopReason, ToolCall};
use mindhost_sdk::vendor::{Protocol, ToolCalls, VendorMessage};
use mindhost_sdk::{Error, ErrorKind, Result};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::chunk::{CallDelta, Chunk, Delta};
use crate::vendor_error;

/// The kind of the opaque parts that belong to a tool call: `{"id": …, "extra_content": …}`.
pub const CALL_EXTRA: &str = "openai.tool-call-extra";
/// Bytes of one of them, and of all; a signature of a thought has some thousands.
const LARGEST_EXTRA: usize = 1024 * 1024;
const LARGEST_EXTRAS: usize = 8 * 1024 * 1024;
/// Bytes of an answer that is no completion; in a larger one, no words of the vendor are looked for.
const LARGEST_ERROR: usize = 64 * 1024;

/// What the vendor wants back with a call.
#[derive(Serialize)]
struct CallExtra<'a> {
    id: Option<&'a str>,
    extra_content: &'a RawValue,
}

/// What was read of a completion so far.
#[derive(Debug, Default)]
pub struct Assembly {
    /// By the vendor's index, where it gives one.
    calls: ToolCalls<Option<usize>>,
    /// What the vendor wants back with the call at a place.
    extras: Vec<(usize, Box<RawValue>)>,
    finish_reason: Option<String>,
    refused: bool,
    /// A delta held text or a call, so that a message repeats it.
    in_pieces: bool,
    /// Tokens were counted after the end.
    counted: bool,
    done: bool,
}

impl Protocol for Assembly {
    const ANSWER: &'static str = "a chat completion";
    const BASE_URL: &'static str = "it usually ends in /v1";

    fn event(&mut self, data: &str, events: &mut Vec<Event>) -> Result<()> {
        if data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        match serde_json::from_str(data) {
            Ok(chunk) => self.chunk(chunk, events),
            Err(_) => Err(not_a_chunk(
                data,
                "the vendor sent an event that is not a piece of a chat completion",
            )),
        }
    }

    fn whole(&mut self, body: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let is_completion = match serde_json::from_slice::<Chunk>(body) {
            Ok(mut chunk) => {
                // Beside a whole message, a delta repeats a piece of it.
                for choice in chunk.choices.iter_mut().flatten() {
                    if choice.message.is_some() {
                        choice.delta = None;
                    }
                }
                let has_choices = chunk.choices.is_some();
                self.chunk(chunk, events)?;
                has_choices
            }
            Err(_) => false,
        };
        match is_completion {
            true => Ok(()),
            false => Err(not_a_chunk(
                &String::from_utf8_lossy(body),
                "the vendor's answer is not a chat completion",
            )),
        }
    }

    fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// The token counts are the last thing that is worth waiting for.
    fn is_complete(&self) -> bool {
        self.done || (self.finish_reason.is_some() && self.counted)
    }

    fn close(&mut self, events: &mut Vec<Event>) {
        let called = !self.calls.is_empty();
        let calls = self.calls.take();
        // What belongs to a call comes before the stop event, in the order of the calls.
        for (at, extra) in self.extras.drain(..) {
            let written = serde_json::to_string(&CallExtra {
                id: calls.get(at).map(|call: &ToolCall| call.id.as_str()),
                extra_content: &extra,
            });
            let kind = CALL_EXTRA.to_owned();
            events.extend(written.map(|data| Event::Opaque(Opaque { kind, data })));
        }
        events.extend(calls.into_iter().map(Event::ToolCall));
        let word = self.finish_reason.take().unwrap_or_default();
        let reason = match word.as_str() {
            "length" | "max_tokens" | "model_length" => StopReason::Length,
            "content_filter" => StopReason::Refused,
            _ if called => StopReason::ToolCalls,
            _ if self.refused => StopReason::Refused,
            "stop" | "eos" | "eos_token" | "stop_sequence" | "end_turn" | "" => StopReason::End,
            // The host tells the caller that such an answer may be cut.
            _ => StopReason::Other,
        };
        events.push(Event::Stop((reason, word)));
    }
}

impl Assembly {
    /// Takes one piece, or a whole completion.
    fn chunk(&mut self, chunk: Chunk, events: &mut Vec<Event>) -> Result<()> {
        if let Some(error) = chunk.error.filter(|e| !e.is_null()) {
            return Err(vendor_error::in_stream(&error));
        }
        if chunk.object.as_deref() == Some("error") {
            return Err(vendor_error::in_stream(&chunk.message.unwrap_or_default()));
        }
        // Azure sends pieces without choices: what its filter said of the prompt.
        let choices = chunk.choices.unwrap_or_default();
        let is_bare = choices.is_empty();
        let first = choices.into_iter().find(|c| c.index.unwrap_or(0) == 0);
        if let Some(choice) = first {
            if let Some(delta) = choice.delta {
                let before = events.len();
                let calls = delta.tool_calls.as_ref().map_or(0, Vec::len);
                self.delta(delta, events)?;
                self.in_pieces |= calls > 0 || events.len() > before;
            }
            if let Some(message) = choice.message.filter(|_| !self.in_pieces) {
                self.delta(message, events)?;
            }
            let reason = choice.finish_reason.filter(|word| !word.is_empty());
            self.finish_reason = reason.or(self.finish_reason.take());
        }
        let counts = chunk.usage.map(|usage| usage.counts()).unwrap_or_default();
        if !counts.is_empty() {
            // Some vendors count with every piece, and some give a reason to end with every piece. Only counts without
            // a choice come after the end; the last count is right.
            self.counted |= is_bare && self.finish_reason.is_some();
            events.push(Event::Usage(counts));
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta, events: &mut Vec<Event>) -> Result<()> {
        let text = delta.content.map(|c| c.into_text()).unwrap_or_default();
        if !text.is_empty() {
            events.push(Event::Text(text));
        }
        if let Some(refusal) = delta.refusal.filter(|r| !r.is_empty()) {
            self.refused = true;
            events.push(Event::Text(refusal));
        }
        delta
            .tool_calls
            .unwrap_or_default()
            .into_iter()
            .try_for_each(|call| self.call(call))
    }

    fn call(&mut self, delta: CallDelta) -> Result<()> {
        let id = delta.id.filter(|id| !id.is_empty());
        let function = delta.function.unwrap_or_default();
        let mut name = function.name.unwrap_or_default();
        let known = self.known(delta.index, id.as_deref(), &name);
        let at = match known {
            Some(at) => at,
            None => self.calls.begin(delta.index)?,
        };
        let call = self.calls.get(at);
        // Some servers repeat the name with every piece, and some make up another id for each.
        if call.is_some_and(|call| call.name == name) {
            name.clear();
        }
        if let Some(id) = id
            && call.is_some_and(|call| call.id.is_empty())
        {
            self.calls.identify(at, id);
        }
        let arguments = match function.arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
        };
        self.calls.add(at, &name, &arguments)?;
        match delta.extra_content {
            Some(extra) => self.extra(at, extra),
            None => Ok(()),
        }
    }

    /// The call that a piece belongs to: that of its index; without one, of its id; without both, the last.
    ///
    /// Some servers give every call the index 0 or none, so a new name with a new id (or with neither index nor id)
    /// begins another call. Some make up another id for each piece, so a new id without a name goes on with the last.
    fn known(&self, index: Option<usize>, id: Option<&str>, name: &str) -> Option<usize> {
        let at = match (index, id) {
            (Some(index), _) => self.calls.position(|own, _| *own == Some(index)),
            (None, Some(id)) => {
                let own = self.calls.position(|_, call| call.id == id);
                own.or_else(|| self.calls.position(|_, _| name.is_empty()))
            }
            (None, None) => self.calls.position(|_, _| true),
        }?;
        let call = self.calls.get(at)?;
        let another = match id {
            Some(id) => !call.id.is_empty() && call.id != id,
            None => index.is_none(),
        };
        let is_new = another && !name.is_empty() && !call.name.is_empty();
        (!is_new).then_some(at)
    }

    fn extra(&mut self, at: usize, extra: Box<RawValue>) -> Result<()> {
        self.extras.retain(|(own, _)| *own != at);
        let bytes = extra.get().len();
        let others = self.extras.iter().map(|(_, other)| other.get().len());
        if bytes > LARGEST_EXTRA || others.sum::<usize>() + bytes > LARGEST_EXTRAS {
            return Err(Error::new(
                ErrorKind::TooLarge,
                "the vendor sent additions to tool calls that are larger than can be meant",
            ));
        }
        self.extras.push((at, extra));
        Ok(())
    }
}

/// The error in data that is no chunk: a vendor may send one as a list, or say in a shape of its own what is wrong.
fn not_a_chunk(data: &str, otherwise: &str) -> Error {
    let data = Some(data).filter(|data| data.len() <= LARGEST_ERROR);
    let parsed: Option<Value> = data.and_then(|data| serde_json::from_str(data).ok());
    let parsed = parsed.unwrap_or_default();
    match parsed.get(0).and_then(|first| first.get("error")) {
        Some(error) => vendor_error::in_stream(error),
        None => {
            let said = VendorMessage::read(&parsed);
            Error::new(ErrorKind::Upstream, said.after(otherwise)).code(said.code)
        }
    }
}
