//! From the pieces of a completion to the events of the contract.

use mindhost_sdk::model::{Event, StopReason, ToolCall};
use mindhost_sdk::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::chunk::{CallDelta, Chunk, Delta};
use crate::vendor_error;

/// More calls than this in one answer, or larger arguments, are a fault of the vendor.
const MOST_CALLS: usize = 128;
const LARGEST_CALL: usize = 1024 * 1024;

/// What was read of a completion so far.
#[derive(Debug, Default)]
pub struct Assembly {
    calls: Vec<PartialCall>,
    finish_reason: Option<String>,
    refused: bool,
    counted: bool,
    closed: bool,
}

#[derive(Debug)]
struct PartialCall {
    index: Option<usize>,
    call: ToolCall,
}

impl Assembly {
    /// Takes the data of one event; adds what it leads to. Text is passed on at once, a call when it is whole.
    ///
    /// # Errors
    /// `Upstream` for data that is not a piece of a completion, and for an error that the vendor sends in the middle.
    pub fn data(&mut self, data: &str, events: &mut Vec<Event>) -> Result<()> {
        if data.trim() == "[DONE]" {
            self.close(events);
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|_| {
            Error::new(
                ErrorKind::Upstream,
                "the vendor sent an event that is not a piece of a chat completion",
            )
        })?;
        self.chunk(chunk, events)
    }

    /// Takes one piece, or a whole completion.
    ///
    /// # Errors
    /// As [`Assembly::data`].
    pub fn chunk(&mut self, chunk: Chunk, events: &mut Vec<Event>) -> Result<()> {
        if let Some(error) = chunk.error.filter(|e| !e.is_null()) {
            return Err(vendor_error::in_stream(&error));
        }
        let first = chunk
            .choices
            .unwrap_or_default()
            .into_iter()
            .find(|c| c.index.unwrap_or(0) == 0);
        if let Some(choice) = first {
            if let Some(delta) = choice.delta {
                self.delta(delta, events)?;
            }
            if choice.finish_reason.is_some() {
                self.finish_reason = choice.finish_reason;
            }
        }
        if let Some(usage) = chunk.usage {
            let counts = usage.counts();
            self.counted |= !counts.is_empty();
            if !counts.is_empty() {
                events.push(Event::Usage(counts));
            }
        }
        // The counts are the last thing that is worth waiting for.
        if self.finish_reason.is_some() && self.counted {
            self.close(events);
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

    /// A piece belongs to the call of its index; without one, to the call of its id, else to the last.
    fn call(&mut self, delta: CallDelta) -> Result<()> {
        let id = delta.id.filter(|id| !id.is_empty());
        let known = match (delta.index, &id) {
            (Some(index), _) => self.calls.iter().position(|c| c.index == Some(index)),
            (None, Some(id)) => self.calls.iter().position(|c| c.call.id == *id),
            (None, None) => self.calls.len().checked_sub(1),
        };
        let at = match known {
            Some(at) => at,
            None if self.calls.len() >= MOST_CALLS => {
                return Err(too_large("more tool calls in one answer than can be meant"));
            }
            None => {
                let call = ToolCall {
                    id: String::new(),
                    name: String::new(),
                    arguments: String::new(),
                };
                self.calls.push(PartialCall {
                    index: delta.index,
                    call,
                });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at].call;
        if let Some(id) = id {
            call.id = id;
        }
        let Some(function) = delta.function else {
            return Ok(());
        };
        call.name.push_str(&function.name.unwrap_or_default());
        match function.arguments {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => call.arguments.push_str(&text),
            Some(other) => call.arguments.push_str(&other.to_string()),
        }
        if call.arguments.len() + call.name.len() > LARGEST_CALL {
            return Err(too_large("a tool call larger than can be meant"));
        }
        Ok(())
    }

    /// Whether the answer is whole: the vendor gave a reason for its end.
    pub fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// Whether the stop event was given.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Gives the calls and the stop event, once.
    pub fn close(&mut self, events: &mut Vec<Event>) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        let calls = std::mem::take(&mut self.calls);
        let called = !calls.is_empty();
        for (at, partial) in calls.into_iter().enumerate() {
            let mut call = partial.call;
            if call.id.is_empty() {
                call.id = format!("call_{at}");
            }
            events.push(Event::ToolCall(call));
        }
        let word = self.finish_reason.take().unwrap_or_default();
        let reason = match word.as_str() {
            "length" | "max_tokens" => StopReason::Length,
            "content_filter" => StopReason::Refused,
            _ if called => StopReason::ToolCalls,
            _ if self.refused => StopReason::Refused,
            "stop" | "eos" | "end_turn" | "" => StopReason::End,
            _ => StopReason::Other,
        };
        events.push(Event::Stop((reason, word)));
    }
}

fn too_large(what: &str) -> Error {
    Error::new(ErrorKind::TooLarge, format!("the vendor sent {what}"))
}
