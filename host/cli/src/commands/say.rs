//! The output of commands. A closed pipe, as after `head`, is no failure and no panic.

use std::{
    fmt::Arguments,
    io::{self, Write},
    sync::OnceLock,
};

/// Why standard output could not be written.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Prints a line to standard output.
macro_rules! say {
    () => { $crate::commands::say::out(format_args!("\n")) };
    ($format:literal $($arguments:tt)*) => {
        $crate::commands::say::out(format_args!("{}\n", format_args!($format $($arguments)*)))
    };
}

/// The same without the end of the line.
macro_rules! say_part {
    ($($arguments:tt)*) => { $crate::commands::say::out(format_args!($($arguments)*)) };
}

/// Prints a line to standard error.
macro_rules! aside {
    () => { $crate::commands::say::beside(format_args!("\n")) };
    ($format:literal $($arguments:tt)*) => {
        $crate::commands::say::beside(format_args!("{}\n", format_args!($format $($arguments)*)))
    };
}

/// The same without the end of the line.
macro_rules! aside_part {
    ($($arguments:tt)*) => { $crate::commands::say::beside(format_args!($($arguments)*)) };
}

pub(crate) use {aside, aside_part, say, say_part};

/// Text of others as part of one line: a terminal obeys control characters, and with characters for the direction of
/// text a line can look like another.
pub(crate) fn plain(text: &str) -> String {
    let moves = |sign: char| matches!(sign, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .map(|sign| match sign.is_control() || moves(sign) {
            true => '\u{fffd}',
            false => sign,
        })
        .collect()
}

/// As [`plain`], for text that may have several lines.
pub(crate) fn plain_lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(plain).collect();
    lines.join("\n")
}

/// Standard output is a closed pipe.
#[derive(Debug, thiserror::Error)]
#[error("the reader of the output has closed it")]
pub(crate) struct NobodyReads;

/// Writes to standard output. Failures are stored, so that work in progress continues.
pub(crate) fn out(text: Arguments<'_>) {
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_fmt(text).and_then(|()| out.flush()) {
        let _ = LOST.set(error);
    }
}

/// Writes to standard error. A failure is ignored, because it cannot be reported.
pub(crate) fn beside(text: Arguments<'_>) {
    let _ = io::stderr().lock().write_fmt(text);
}

/// The write error, unless the reader closed the pipe.
pub(crate) fn lost() -> Option<&'static io::Error> {
    LOST.get()
        .filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
}

/// Why what was printed did not arrive, also if the reader closed the pipe.
pub(crate) fn unheard() -> Option<&'static io::Error> {
    LOST.get()
}

/// The error of a writer to standard output. A closed pipe is a type of its own, for work that is useless then.
pub(crate) fn told(error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => NobodyReads.into(),
        _ => anyhow::Error::new(error).context("standard output cannot be written"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_nothing_that_a_terminal_obeys() {
        let text = "a\x1b[2K\r\u{9b}b\u{202e}c\n\u{2066}d é";
        let lines = "a\u{fffd}[2K\u{fffd}\u{fffd}b\u{fffd}c\n\u{fffd}d é";
        assert_eq!(plain_lines(text), lines);
        assert_eq!(plain(text), lines.replace('\n', "\u{fffd}"));
    }
}
