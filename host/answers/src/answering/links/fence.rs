//! The fences of code, where all renderers agree on them.

use super::{MAX_ADDRESS, is_odd};

/// Whether a line starts code.
pub(super) enum Fence {
    /// It does not, or not for all renderers.
    None,
    /// More of the text may tell.
    Unknown,
    Line {
        length: usize,
        ticks: usize,
    },
}

/// Whether a line ends code.
pub(super) enum End {
    /// It does not.
    None,
    /// More of the text may tell.
    Unknown,
    /// It does for some renderers.
    Doubtful,
    /// It does for all. With the bytes to the end of the line, or to its start for the end of many lines.
    Certain(usize),
}

/// At the start of a line.
pub(super) fn start(rest: &str, is_end: bool) -> Fence {
    if !rest.starts_with("```") {
        return match "```".starts_with(rest) && !is_end {
            true => Fence::Unknown,
            false => Fence::None,
        };
    }
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    // With a space in it, some renderers take it for text.
    let is_word = |c: char| c.is_ascii_alphanumeric() || "+-_#.".contains(c);
    let behind = rest[ticks..].trim_start_matches(is_word);
    match end_of_line(behind, is_end) {
        _ if rest.len() - behind.len() > MAX_ADDRESS => Fence::None,
        None => Fence::Unknown,
        Some(0) => Fence::None,
        Some(end) => Fence::Line {
            length: rest.len() - behind.len() + end,
            ticks,
        },
    }
}

/// At the start of a line within code. Renderers differ in what may stand before and behind the backticks, and whether
/// there may be more of them than before the code.
pub(super) fn end(rest: &str, ticks: usize, is_end: bool) -> End {
    let is_space = |c: char| c.is_whitespace() && !matches!(c, '\n' | '\r');
    let line = rest.trim_start_matches(is_space);
    let behind = line.trim_start_matches('`');
    let found = line.len() - behind.len();
    if behind.is_empty() && !is_end {
        return match rest.len() > MAX_ADDRESS {
            true => End::Doubtful,
            false => End::Unknown,
        };
    }
    if found < ticks {
        return End::None;
    }
    if found > ticks || line.len() < rest.len() {
        return End::Doubtful;
    }
    let behind = behind.trim_start_matches(' ');
    match end_of_line(behind, is_end) {
        _ if rest.len() - behind.len() > MAX_ADDRESS => End::Doubtful,
        None => End::Unknown,
        Some(0) if !behind.is_empty() => End::Doubtful,
        Some(end) => End::Certain(rest.len() - behind.len() + end),
    }
}

/// How far code has been searched for its end. Each piece of the text continues the search, so that its time is linear.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Search {
    /// Whether the code surely begins with what would be a link as text.
    pub is_link: bool,
    /// Bytes without an end, an odd character or backticks enough to end the code.
    pub seen: usize,
    /// Whether a line starts behind them, which may end the code.
    is_line_start: bool,
}

impl Search {
    /// Within a line of code: where the line starts that ends it. Some renderers also end it at backticks within a
    /// line. The text is that of the last call, maybe with more behind it.
    pub(super) fn code(&mut self, rest: &str, ticks: usize, is_end: bool) -> End {
        let mark = "`".repeat(ticks);
        loop {
            if self.is_line_start {
                match end(&rest[self.seen..], ticks, is_end) {
                    End::None => self.is_line_start = false,
                    End::Certain(_) => return End::Certain(self.seen),
                    other => return other,
                }
            }
            let behind = &rest[self.seen..];
            let length = behind.find(['\n', '\r']);
            let line = &behind[..length.unwrap_or(behind.len())];
            if line.contains(is_odd) || line.contains(&mark) {
                return End::Doubtful;
            }
            match length {
                Some(length) => {
                    self.seen += length + 1;
                    self.is_line_start = true;
                }
                None if is_end => return End::Doubtful,
                None => {
                    // More backticks may follow these.
                    self.seen += line.trim_end_matches('`').len();
                    return End::Unknown;
                }
            }
        }
    }
}

/// The bytes of the end of a line, which is the end of the text or LF, maybe with CR before it; 0 if the line goes on,
/// `None` if more of the text may tell.
fn end_of_line(text: &str, is_end: bool) -> Option<usize> {
    match text {
        "" => is_end.then_some(0),
        "\r" => is_end.then_some(1),
        _ if text.starts_with('\n') => Some(1),
        _ if text.starts_with("\r\n") => Some(2),
        _ => Some(0),
    }
}
