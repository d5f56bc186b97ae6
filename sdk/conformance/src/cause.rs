//! Why a call failed, as the cases tell failures apart.

use std::fmt;

use mindhost_base::{Error, error::Code};

/// The kinds of error of the contract that a case names.
pub(crate) mod kind {
    pub const AUTH: &str = "auth";
    pub const CANCELLED: &str = "cancelled";
    pub const CONNECTION_LOST: &str = "connection-lost";
    pub const DENIED: &str = "denied";
    pub const INVALID_CONFIG: &str = "invalid-config";
    pub const INVALID_STATEMENT: &str = "invalid-statement";
    pub const NOT_FOUND: &str = "not-found";
    pub const PERMISSION: &str = "permission";
    pub const TIMEOUT: &str = "timeout";
    pub const TLS: &str = "tls";
    pub const TOO_LARGE: &str = "too-large";
    pub const UNREACHABLE: &str = "unreachable";
    pub const UNSUPPORTED: &str = "unsupported";
    pub const UPSTREAM: &str = "upstream";
}

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The plugin returned an error of this kind, by its name in the contract.
    Reported(&'static str),
    /// The plugin trapped, or returned what the contract does not allow. It costs the instance.
    Broken,
    /// The host's own time limit ran out before the plugin returned.
    TimedOut,
    /// The host cancelled the call.
    Cancelled,
    /// The plugin handed out a cell, batch or answer above the limit.
    TooLarge,
    /// The connection is gone: an earlier error said that it cannot be used again.
    Gone,
    /// The host refused by itself, before the plugin was asked.
    Host,
}

impl Cause {
    /// The cause of a failure.
    pub fn of(error: &Error) -> Self {
        match (error.reported(), error.code()) {
            (Some(kind), _) => Self::Reported(kind),
            // What the host says of what a plugin gave: rows that do not fit their columns, an answer without an end.
            (None, Code::PluginError | Code::UpstreamError) => Self::Broken,
            (None, Code::Timeout) => Self::TimedOut,
            (None, Code::Cancelled) => Self::Cancelled,
            (None, Code::ResultTooLarge) => Self::TooLarge,
            // The host's word for a connection that an earlier call used up.
            (None, Code::Internal) => Self::Gone,
            _ => Self::Host,
        }
    }

    /// Whether the call ended because the host cancelled it.
    pub fn is_cancellation(self) -> bool {
        matches!(self, Self::Cancelled | Self::Reported(kind::CANCELLED))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reported(kind) => kind,
            Self::Broken => "a broken contract",
            Self::TimedOut => "the host's time limit",
            Self::Cancelled => "the host's cancellation",
            Self::TooLarge => "a value above the host's limit",
            Self::Gone => "a connection that is gone",
            Self::Host => "a refusal of the host",
        })
    }
}

/// A failure for a person: the cause, the message, and the engine's own code where there is one.
pub(crate) fn told(error: &Error) -> String {
    let code = error.engine_code().map(|code| format!(" ({code})"));
    let code = code.unwrap_or_default();
    format!("{}: {}{code}", Cause::of(error), error.message())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plugin_reports_counts_before_the_code_of_the_host() {
        let lost = Error::new(Code::Timeout, "late").with_reported(kind::CONNECTION_LOST);
        assert_eq!(Cause::of(&lost), Cause::Reported("connection-lost"));
        let late = Error::new(Code::Timeout, "late").with_engine_code("57014");
        assert_eq!(told(&late), "the host's time limit: late (57014)");
        assert!(Cause::of(&Error::new(Code::Cancelled, "")).is_cancellation());
    }
}
