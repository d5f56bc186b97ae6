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

/// The error of a writer to standard output. A closed pipe is a type of its own, for work that is useless then.
pub(crate) fn told(error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => NobodyReads.into(),
        _ => anyhow::Error::new(error).context("standard output cannot be written"),
    }
}
