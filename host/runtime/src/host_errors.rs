//! Errors of the host about a plugin, its configuration or a limit. Those that a guest reports are in `errors`.

use std::time::Duration;

use mindhost_base::error::{Blame, Code, Error};

/// The error of a server at a limit.
pub fn overloaded(message: impl Into<String>) -> Error {
    Error::new(Code::Overloaded, message)
        .blamed(Blame::Host)
        .with_retry_after(Duration::from_secs(1))
}

/// The error of a cancelled call.
pub fn cancelled() -> Error {
    Error::new(Code::Cancelled, "the call was cancelled")
}

/// The error of a call on a replaced version that exceeds `plugins.drain_timeout`.
pub fn replaced() -> Error {
    Error::new(
        Code::Overloaded,
        "the plugin was replaced by another version, and this call took longer than plugins.drain_timeout allows; ask again",
    )
    .blamed(Blame::Host)
}

/// The error of a call that waited for a file system until its deadline.
pub fn files_hang() -> Error {
    Error::new(
        Code::Timeout,
        "its files could not be opened within the time limit; check the file system",
    )
}

/// Blames the guest for a timeout after it has returned empty batches.
pub fn blame_guest(error: Error) -> Error {
    match error.code() == Code::Timeout && error.blame() == Some(Blame::Host) {
        true => error.blamed(Blame::Plugin),
        false => error,
    }
}

/// The error of a plugin that broke the contract.
pub fn violation(what: impl std::fmt::Display) -> Error {
    Error::new(
        Code::PluginError,
        format!("the plugin broke its contract: {what}"),
    )
    .blamed(Blame::Plugin)
}

/// The error for a destination that the rules forbid.
pub fn not_allowed(why: impl std::fmt::Display) -> Error {
    misconfigured(format!("not allowed by the server's egress rules: {why}"))
}

/// The error for an unusable configuration. It is an invalid request only for a caller who tests the connection.
pub fn misconfigured(message: impl Into<String>) -> Error {
    Error::new(Code::UpstreamUnreachable, message).blamed(Blame::Host)
}
