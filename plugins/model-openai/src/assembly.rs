//! From the pieces of a completion to the events of the contract.

use mindhost_sdk::model::{Event, Opaque, StopReason, ToolCall};
use mindhost_sdk::vendor::{Protocol, ToolCalls};
use mindhost_sdk::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::chunk::{CallDelta, Chunk, Delta};
use crate::vendor_error;

/// The kind of the opaque parts that belong to a tool call: `{"id": …, "extra_content": …}`.
pub const CALL_EXTRA: &str = "openai.tool-call-extra";
/// Bytes of one of them; a signature of a thought has some thousands.
const LARGEST_EXTRA: usize = 1024 * 1024;

/// What was read of a completion so far.
#[derive(Debug, Default)]
pub struct Assembly {
    /// By the vendor's index, where it gives one.
    calls: ToolCalls<Option<usize>>,
    /// What the vendor wants back with the call at a place.
    extras: Vec<(usize, Value)>,
    finish_reason: Option<String>,
    refused: bool,
    /// Tokens were counted at or after the end.
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
        match serde_json::from_slice(body) {
            Ok(chunk) => self.chunk(chunk, events),
            Err(_) => {
                let text = String::from_utf8_lossy(body);
                Err(not_a_chunk(
                    &text,
                    "the vendor's answer is not a chat completion",
                ))
            }
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
        for (at, extra_content) in self.extras.drain(..) {
            let id = calls.get(at).map(|call: &ToolCall| call.id.as_str());
            let data = json!({"id": id, "extra_content": extra_content}).to_string();
            let kind = CALL_EXTRA.to_owned();
            events.push(Event::Opaque(Opaque { kind, data }));
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
        let first = choices.into_iter().find(|c| c.index.unwrap_or(0) == 0);
        if let Some(choice) = first {
            if let Some(delta) = choice.delta {
                self.delta(delta, events)?;
            }
            let reason = choice.finish_reason.filter(|word| !word.is_empty());
            self.finish_reason = reason.or(self.finish_reason.take());
        }
        let counts = chunk.usage.map(|usage| usage.counts()).unwrap_or_default();
        if !counts.is_empty() {
            // Some vendors count with every piece; the last count is right.
            self.counted = self.finish_reason.is_some();
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
        match delta.extra_content.filter(|extra| !extra.is_null()) {
            Some(extra) => self.extra(at, extra),
            None => Ok(()),
        }
    }

    /// The call that a piece belongs to: that of its index; without one, of its id; without both, the last.
    ///
    /// Some servers give every call the index 0 or none, so a new name with a new id (or with neither index nor id)
    /// begins another call.
    fn known(&self, index: Option<usize>, id: Option<&str>, name: &str) -> Option<usize> {
        let at = match (index, id) {
            (Some(index), _) => self.calls.position(|own, _| *own == Some(index)),
            (None, Some(id)) => self.calls.position(|_, call| call.id == id),
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

    fn extra(&mut self, at: usize, extra: Value) -> Result<()> {
        if extra.to_string().len() > LARGEST_EXTRA {
            return Err(Error::new(
                ErrorKind::TooLarge,
                "the vendor sent an addition to a tool call that is larger than can be meant",
            ));
        }
        self.extras.retain(|(own, _)| *own != at);
        self.extras.push((at, extra));
        Ok(())
    }
}

/// The error in data that is no chunk: a vendor may send one as a list.
fn not_a_chunk(data: &str, otherwise: &str) -> Error {
    let parsed: Option<Value> = serde_json::from_str(data).ok();
    let listed = parsed.as_ref().and_then(|list| list.get(0)?.get("error"));
    match listed {
        Some(error) => vendor_error::in_stream(error),
        None => Error::new(ErrorKind::Upstream, otherwise),
    }
}
