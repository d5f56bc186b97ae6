//! The tokens of one turn of the model, counted however the turn ends.

use super::record::Usage;
use mindhost_base::error::{Error, Kind};
use mindhost_core::usage::Tally;
use mindhost_plugin_api::{ModelMessage, Part};

/// What a turn uses. Adds itself to the tally when it is dropped: a vendor wants to be paid for what it wrote for a
/// client that left, too.
pub struct Spent<'a> {
    tally: Option<&'a Tally>,
    messages: &'a [ModelMessage],
    /// What the vendor has counted so far.
    counted: Usage,
    /// Bytes that it wrote so far.
    written: usize,
    /// The turn is over, or never began: nothing is left to count.
    is_counted: bool,
}

impl<'a> Spent<'a> {
    /// Of a turn that is about to begin with these messages.
    pub fn new(tally: Option<&'a Tally>, messages: &'a [ModelMessage]) -> Self {
        Self {
            tally,
            messages,
            counted: Usage::default(),
            written: 0,
            is_counted: false,
        }
    }

    /// What the vendor has counted and written so far.
    pub fn so_far(&mut self, counted: Usage, written: usize) {
        self.counted = counted;
        self.written = written;
    }

    /// The turn did not begin. A vendor that refuses it takes no money; one that was not waited for to the end may.
    pub fn refused(&mut self, error: &Error) {
        self.is_counted = !matches!(error.kind(), Kind::Timeout | Kind::Cancelled);
    }

    /// The turn ended by itself, with this text: what it used.
    pub fn whole(mut self, text: &str) -> Usage {
        let usage = match self.counted == Usage::default() {
            true => estimate(self.messages, text.len()),
            false => self.counted,
        };
        self.count(usage);
        usage
    }

    fn count(&mut self, usage: Usage) {
        self.is_counted = true;
        if let Some(tally) = self.tally {
            tally.tokens(usage.input_tokens, usage.output_tokens);
        }
    }
}

impl Drop for Spent<'_> {
    fn drop(&mut self) {
        if self.is_counted || self.tally.is_none() {
            return;
        }
        // Vendors count what they read at the beginning and what they wrote at the end, which did not come.
        let estimated = estimate(self.messages, self.written);
        let input_tokens = match self.counted.input_tokens {
            0 => estimated.input_tokens,
            counted => counted,
        };
        self.count(Usage {
            input_tokens,
            output_tokens: self.counted.output_tokens.max(estimated.output_tokens),
        });
    }
}

/// For vendors that count nothing: about four bytes a token, so that the token bound holds for them too.
fn estimate(messages: &[ModelMessage], written: usize) -> Usage {
    let bytes = |part: &Part| match part {
        Part::Text(text) => text.len(),
        Part::ToolCall(tool_call) => tool_call.arguments.len(),
        Part::ToolResult { content, .. } => content.len(),
        Part::Opaque { data, .. } => data.len(),
    };
    let read: usize = messages
        .iter()
        .flat_map(|message| &message.parts)
        .map(bytes)
        .sum();
    Usage {
        input_tokens: (read / 4) as u64,
        output_tokens: written.div_ceil(4) as u64,
    }
}
