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

/// Within a line of code: where the line starts that ends it. Some renderers also end it at backticks within a line.
pub(super) fn code(rest: &str, ticks: usize, is_end: bool) -> End {
    let mark = "`".repeat(ticks);
    let is_doubtful = |line: &str| line.contains(is_odd) || line.contains(&mark);
    let mut at = 0;
    while let Some(line) = rest[at..].find(['\n', '\r']) {
        if is_doubtful(&rest[at..at + line]) {
            return End::Doubtful;
        }
        at += line + 1;
        match end(&rest[at..], ticks, is_end) {
            End::None => {}
            End::Certain(_) => return End::Certain(at),
            other => return other,
        }
    }
    match is_end || is_doubtful(&rest[at..]) {
        true => End::Doubtful,
        false => End::Unknown,
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
