//! What the commands print. A reader that has heard enough, such as `head`, is no reason to fail, let alone to panic.

use std::{
    fmt::Arguments,
    io::{self, Write},
    sync::OnceLock,
};

/// Why standard output could not be written.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// A line on standard output.
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

/// A line on standard error.
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

/// Nobody reads standard output any more.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads the output any more")]
pub(crate) struct NobodyReads;

/// Writes to standard output. Work that was begun goes on whoever listens.
pub(crate) fn out(text: Arguments<'_>) {
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_fmt(text).and_then(|()| out.flush()) {
        let _ = LOST.set(error);
    }
}

/// Writes to standard error; where that fails there is nobody left to tell.
pub(crate) fn beside(text: Arguments<'_>) {
    let _ = io::stderr().lock().write_fmt(text);
}

/// Why some of the output was lost; not that nobody wanted it.
pub(crate) fn lost() -> Option<&'static io::Error> {
    LOST.get()
        .filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
}

/// The failure of a writer to standard output: that nobody reads is told apart, for work that then has no use.
pub(crate) fn told(error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => NobodyReads.into(),
        _ => anyhow::Error::new(error).context("standard output cannot be written"),
    }
}
