//! Counts the tokens of one turn of the model, even if the turn is cancelled.

use super::{costs::AnswerCosts, record::Usage};
use mindhost_base::error::{Error, Kind};
use mindhost_core::usage::Tally;
use mindhost_plugin_api::{ModelMessage, Part};

/// The tokens of a turn. Added to the tally on drop, because vendors also charge for output to a client that
/// disconnected.
pub struct TokenCount<'a> {
    tally: Option<&'a Tally>,
    spent: &'a AnswerCosts,
    messages: &'a [ModelMessage],
    /// The count of the vendor so far.
    counted: Usage,
    /// Bytes of output so far.
    written: usize,
    /// Whether the turn has been added to the tally, or never started.
    is_counted: bool,
}

impl<'a> TokenCount<'a> {
    /// For a turn that starts with these messages.
    pub fn new(
        tally: Option<&'a Tally>,
        spent: &'a AnswerCosts,
        messages: &'a [ModelMessage],
    ) -> Self {
        Self {
            tally,
            spent,
            messages,
            counted: Usage::default(),
            written: 0,
            is_counted: false,
        }
    }

    /// Sets the count of the vendor and the bytes of output so far.
    pub fn update(&mut self, counted: Usage, written: usize) {
        self.counted = counted;
        self.written = written;
    }

    /// The turn did not start. A vendor that refuses a request does not charge for it; after a timeout it may.
    pub fn not_started(&mut self, error: &Error) {
        self.is_counted = !matches!(error.kind(), Kind::Timeout | Kind::Cancelled);
    }

    /// Adds a turn that ended normally with so many bytes of output.
    pub fn finish(mut self, written: usize) {
        let estimated = estimate(self.messages, written);
        let or_estimate = |counted: u64, estimated: u64| match counted {
            0 => estimated,
            counted => counted,
        };
        let usage = Usage {
            input_tokens: or_estimate(self.counted.input_tokens, estimated.input_tokens),
            output_tokens: or_estimate(self.counted.output_tokens, estimated.output_tokens),
            ..self.counted
        };
        self.count(usage);
    }

    /// Adds a turn that the host cut at this limit of output, in tokens.
    pub fn cut(mut self, tokens: u64) {
        let input_tokens = self.input_tokens();
        self.count(Usage {
            input_tokens,
            output_tokens: self.counted.output_tokens.max(tokens),
            ..self.counted
        });
    }

    /// The count of the vendor, or an estimate without one.
    fn input_tokens(&self) -> u64 {
        match self.counted.input_tokens {
            0 => estimate(self.messages, 0).input_tokens,
            counted => counted,
        }
    }

    fn count(&mut self, usage: Usage) {
        self.is_counted = true;
        self.spent.add(usage);
        if let Some(tally) = self.tally {
            tally.tokens(usage.input_tokens, usage.output_tokens);
        }
    }
}

impl Drop for TokenCount<'_> {
    fn drop(&mut self) {
        if self.is_counted {
            return;
        }
        // Vendors report the input at the start of a turn and the output at its end, which is missing here.
        let estimated = estimate(self.messages, self.written);
        let input_tokens = self.input_tokens();
        self.count(Usage {
            input_tokens,
            output_tokens: self.counted.output_tokens.max(estimated.output_tokens),
            ..self.counted
        });
    }
}

/// For vendors that report no usage, or a part of it: about four bytes per token, so that the token limit holds for
/// them too.
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
        ..Usage::default()
    }
}
