//! What a guest says went wrong, in the host's codes.

use std::time::Duration;

use super::{
    bindings::types::{self, ErrorKind},
    grants::{Grants, not_allowed},
    instance::violation,
    state::cut,
};
use crate::error::{Blame, Code, Error};

/// During what an error came: the same kind means something else before there was a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// While connecting: most failures are faults of the configuration.
    Opening,
    /// On a connection that worked.
    Using,
    /// While a model answers: the caller's request is not at fault, whatever the vendor dislikes.
    Asking,
}

/// The longest time that a vendor may send callers away for.
const MAX_RETRY: Duration = Duration::from_secs(3_600);

/// Turns a guest's error into the host's. Its text is cut and searched for secrets.
pub fn convert(error: types::Error, phase: Phase, grants: &Grants, max_message: u32) -> Error {
    let denial = grants.take_denial();
    let reaching = matches!(error.kind, ErrorKind::Denied | ErrorKind::Unreachable);
    if let Some(why) = denial.filter(|_| reaching) {
        return not_allowed(why);
    }
    let (code, blame) = code(error.kind, phase);
    let message = match (phase, error.kind) {
        // Before a handshake succeeded nothing that came from the other end may be shown: whoever can make
        // a datasource could otherwise read what listens where.
        (Phase::Opening, ErrorKind::Unreachable) => String::from(unreachable(&error.message)),
        (Phase::Opening, ErrorKind::Timeout) => String::from("the connection timed out"),
        _ => text(&error.message, grants, max_message),
    };
    if message.is_empty() {
        return violation("an error without a message").with_source(format!("{:?}", error.kind));
    }
    let retry = error.retry_after_ms.map(Duration::from_millis);
    Error::new(code, message)
        .blamed(blame)
        .with_position(error.position.filter(|position| *position > 0))
        .with_retry_after(retry.map(|delay| delay.min(MAX_RETRY)))
        .with_engine_code(text(&error.code, grants, 64))
}

fn code(kind: ErrorKind, phase: Phase) -> (Code, Blame) {
    use ErrorKind as Kind;
    match (kind, phase) {
        (Kind::Denied, Phase::Asking) => (Code::UpstreamUnreachable, Blame::Host),
        (
            Kind::InvalidConfig
            | Kind::Auth
            | Kind::NotFound
            | Kind::Permission
            | Kind::InvalidStatement
            | Kind::TooLarge
            | Kind::Unsupported,
            Phase::Asking,
        ) => (Code::UpstreamError, Blame::Upstream),
        (Kind::Tls, Phase::Asking) => (Code::UpstreamUnreachable, Blame::Upstream),
        (Kind::InvalidConfig | Kind::Auth | Kind::Tls | Kind::NotFound, _) => {
            (Code::ConnectionFailed, Blame::Upstream)
        }
        (Kind::Denied, _) => (Code::ConnectionFailed, Blame::Host),
        (Kind::Unreachable | Kind::ConnectionLost, _) => {
            (Code::UpstreamUnreachable, Blame::Upstream)
        }
        (Kind::Permission, Phase::Opening) => (Code::ConnectionFailed, Blame::Upstream),
        (Kind::Permission, Phase::Using) => (Code::SqlPermissionDenied, Blame::Upstream),
        (Kind::InvalidStatement | Kind::Unsupported, _) => (Code::SqlInvalid, Blame::Upstream),
        (Kind::Cancelled, _) => (Code::Cancelled, Blame::Upstream),
        (Kind::Timeout, _) => (Code::Timeout, Blame::Upstream),
        (Kind::RateLimited, _) => (Code::RateLimited, Blame::Upstream),
        (Kind::TooLarge, _) => (Code::ResultTooLarge, Blame::Upstream),
        (Kind::Upstream, _) => (Code::UpstreamError, Blame::Upstream),
        (Kind::Internal, _) => (Code::PluginError, Blame::Plugin),
    }
}

/// One of a few fixed sentences, whatever the guest wrote.
fn unreachable(message: &str) -> &'static str {
    let message = message.to_ascii_lowercase();
    if message.contains("refused") {
        "the connection was refused; check host and port, and that the server is running"
    } else if message.contains("timed out") || message.contains("timeout") {
        "the connection timed out; check host and port"
    } else if message.contains("protocol") {
        "what listens there does not speak this protocol; check host and port"
    } else {
        "no connection; check host and port"
    }
}

/// A text of a guest, cut to a length and without secrets or control characters.
pub fn text(message: &str, grants: &Grants, max: u32) -> String {
    // Redacted before it is cut: half a secret would not be found.
    let bounded = cut(message, 64 << 10);
    let redacted = grants.redactor().redact(bounded);
    let kept = cut(&redacted, max as usize);
    kept.chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest(kind: ErrorKind, message: &str) -> types::Error {
        types::Error {
            kind,
            code: String::from("42601"),
            message: message.to_owned(),
            position: Some(8),
            retry_after_ms: None,
            connection_usable: true,
            extra: Vec::new(),
        }
    }

    #[test]
    fn a_rejected_statement_keeps_the_engines_words_code_and_position() {
        let error = guest(ErrorKind::InvalidStatement, "syntax error at \"FORM\"");
        let error = convert(error, Phase::Using, &Grants::none(), 4_096);
        assert_eq!(error.code(), Code::SqlInvalid);
        assert_eq!(error.message(), "syntax error at \"FORM\"");
        assert_eq!(error.engine_code(), Some("42601"));
        assert_eq!(error.position(), Some(8));
    }

    #[test]
    fn what_a_stranger_sends_before_the_handshake_is_not_shown() {
        let error = guest(ErrorKind::Unreachable, "refused by SSH-2.0-OpenSSH_9.2");
        let error = convert(error, Phase::Opening, &Grants::none(), 4_096);
        assert_eq!(error.code(), Code::UpstreamUnreachable);
        assert!(!error.message().contains("SSH"));
    }

    #[test]
    fn a_remembered_denial_explains_itself() {
        let grants = Grants::none();
        grants.deny(String::from("10.0.0.1 is on the list egress.deny"));
        let error = guest(ErrorKind::Denied, "access denied");
        let error = convert(error, Phase::Opening, &grants, 4_096);
        assert_eq!(error.code(), Code::ConnectionFailed);
        assert!(error.message().contains("egress rules: 10.0.0.1"));
    }

    #[test]
    fn long_and_hostile_messages_are_cut_and_cleaned() {
        let error = guest(
            ErrorKind::Upstream,
            &format!("\u{1b}[31m{}", "é".repeat(10_000)),
        );
        let error = convert(error, Phase::Using, &Grants::none(), 101);
        assert!(error.message().len() <= 110 && !error.message().contains('\u{1b}'));
    }
}
