//! The limit of one turn's output, for vendors that ignore `max_output_tokens`.

use mindhost_plugin_api::ToolCall;

/// The most bytes that a token has on average. Vendors count tokens of their own, of about four bytes; an answer that
/// keeps its vendor's limit is not cut.
const BYTES_PER_TOKEN: usize = 8;

/// What a turn may still write. Without a limit it writes anything.
#[derive(Debug, Default)]
pub struct OutputLimit {
    tokens: Option<u32>,
    /// Bytes of the text and the tool calls so far.
    written: usize,
    /// The vendor's own count so far.
    counted: u64,
    cut: Option<Cut>,
}

/// What the limit cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The text breaks off.
    Text,
    /// A tool call, which is not run.
    ToolCall,
}

impl OutputLimit {
    /// For a turn of at most so many tokens.
    pub fn new(tokens: Option<u32>) -> Self {
        Self {
            tokens,
            ..Self::default()
        }
    }

    /// The tokens that the turn may write, if it wanted more.
    pub fn exceeded(&self) -> Option<u64> {
        self.cut.and(self.tokens).map(u64::from)
    }

    /// Whether it cut a tool call.
    pub fn cut_tool_call(&self) -> bool {
        self.cut == Some(Cut::ToolCall)
    }

    /// Notes the vendor's own count of the output so far.
    pub fn count(&mut self, tokens: u64) {
        self.counted = tokens;
    }

    /// Takes what is within the limit from the start of a piece of text.
    pub fn shorten(&mut self, piece: &mut String) {
        let fits = piece.floor_char_boundary(self.room());
        if fits < piece.len() {
            piece.truncate(fits);
            self.cut.get_or_insert(Cut::Text);
        }
        self.written = self.written.saturating_add(piece.len());
    }

    /// Whether a tool call is within the limit.
    pub fn allows(&mut self, tool_call: &ToolCall) -> bool {
        let length = tool_call.name.len() + tool_call.arguments.len();
        if length > self.room() {
            self.cut.get_or_insert(Cut::ToolCall);
            return false;
        }
        self.written = self.written.saturating_add(length);
        true
    }

    /// Bytes that may still come.
    fn room(&self) -> usize {
        let Some(tokens) = self.tokens else {
            return usize::MAX;
        };
        if self.cut.is_some() || self.counted > u64::from(tokens) {
            return 0;
        }
        let bytes = (tokens as usize).saturating_mul(BYTES_PER_TOKEN);
        bytes.saturating_sub(self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(limit: &mut OutputLimit, piece: &str) -> String {
        let mut piece = piece.to_owned();
        limit.shorten(&mut piece);
        piece
    }

    fn call(length: usize) -> ToolCall {
        ToolCall {
            id: "1".to_owned(),
            name: "run_sql".to_owned(),
            arguments: "x".repeat(length),
        }
    }

    #[test]
    fn text_is_cut_at_a_letter_within_the_limit() {
        let mut limit = OutputLimit::new(Some(1));
        assert_eq!(shortened(&mut limit, "abcdefg"), "abcdefg");
        assert_eq!(limit.exceeded(), None);
        assert_eq!(shortened(&mut limit, "é"), "");
        assert_eq!(shortened(&mut limit, "h"), "", "no gap in the text");
        assert_eq!(limit.exceeded(), Some(1));
        assert!(!limit.cut_tool_call());
        assert!(!limit.allows(&call(0)));
    }

    #[test]
    fn vendor_that_counts_more_than_the_limit_may_write_no_more() {
        let mut limit = OutputLimit::new(Some(16));
        limit.count(16);
        assert_eq!(shortened(&mut limit, "There "), "There ");
        limit.count(17);
        assert_eq!(limit.exceeded(), None, "it may have ended");
        assert_eq!(shortened(&mut limit, "are"), "");
        assert_eq!(limit.exceeded(), Some(16));
    }

    #[test]
    fn tool_call_is_whole_or_not_at_all() {
        let mut limit = OutputLimit::new(Some(16));
        assert!(limit.allows(&call(50)));
        assert!(!limit.allows(&call(100)));
        assert!(limit.cut_tool_call());
    }

    #[test]
    fn without_a_limit_nothing_is_cut() {
        let mut limit = OutputLimit::default();
        limit.count(u64::MAX);
        assert!(limit.allows(&call(1 << 20)));
        assert_eq!(shortened(&mut limit, "any"), "any");
        assert_eq!(limit.exceeded(), None);
    }
}
