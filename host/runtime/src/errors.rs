//! Converts errors of a guest to those of the host.

use std::time::Duration;

use super::{
    bindings::types::{self, ErrorKind},
    grants::Grants,
    host_errors::{not_allowed, violation},
    refusals::Refusal,
};
use mindhost_base::error::{Blame, Code, Error};

/// The phase of an error: before the connection, a kind has another meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// While connecting: text of the other end is hidden until the handshake succeeds.
    Opening,
    /// On an open connection.
    Using,
    /// While a model answers: the request of the caller is never at fault.
    Asking,
}

/// Largest `Retry-After` of a vendor.
const MAX_RETRY: Duration = Duration::from_secs(3_600);

/// Converts an error of a guest. Truncates its text and removes secrets. `refused` is the refusal of the instance
/// during the call.
pub fn convert(
    error: types::Error,
    phase: Phase,
    grants: &Grants,
    refused: Option<Refusal>,
    max_message: u32,
) -> Error {
    if let Some(why) = refused.filter(|why| explains(why, error.kind)) {
        return match why {
            Refusal::NotAllowed(why) => not_allowed(why).with_reported(name(error.kind)),
            Refusal::NoToken(why) => {
                Error::new(Code::UpstreamError, format!("no access token: {why}"))
                    .blamed(Blame::Upstream)
                    .with_reported(name(ErrorKind::Auth))
            }
            Refusal::OutOfFiles => Error::out_of_files().with_reported(name(error.kind)),
        };
    }
    let (code, blame) = match is_about_length(&error, phase) {
        true => (Code::ContextLengthExceeded, Blame::Upstream),
        false => code(error.kind, phase),
    };
    let is_stranger = phase == Phase::Opening
        && matches!(
            error.kind,
            ErrorKind::Unreachable | ErrorKind::Timeout | ErrorKind::ConnectionLost
        );
    let message = match error.kind {
        // Before the handshake succeeds, text of the other end is hidden. Otherwise a datasource could scan for
        // services.
        ErrorKind::Timeout if is_stranger => String::from("the connection timed out"),
        _ if is_stranger => String::from(unreachable(&error.message)),
        _ => text(&error.message, grants, max_message),
    };
    if message.is_empty() {
        return violation("an error without a message").with_source(format!("{:?}", error.kind));
    }
    let shown = phase != Phase::Opening || is_plain_code(&error.code);
    let engine_code = if shown { error.code.as_str() } else { "" };
    let retry = error.retry_after_ms.map(Duration::from_millis);
    Error::new(code, message)
        .blamed(blame)
        .with_reported(name(error.kind))
        .with_position(error.position.filter(|position| *position > 0))
        .with_retry_after(retry.map(|delay| delay.min(MAX_RETRY)))
        .with_engine_code(line(engine_code, grants, 64))
}

/// Whether an error of this kind came of the refusal. What a guest makes of a file that does not open depends on its
/// engine.
fn explains(refusal: &Refusal, kind: ErrorKind) -> bool {
    use ErrorKind as Kind;
    let is_of_files = matches!(
        kind,
        Kind::ConnectionLost | Kind::NotFound | Kind::Upstream | Kind::Internal
    );
    matches!(kind, Kind::Denied | Kind::Unreachable)
        || (is_of_files && *refusal == Refusal::OutOfFiles)
}

/// The code with which a model says that the dialogue is longer than it takes. `too-large` alone may also mean its answer.
const CONTEXT_LENGTH: &str = "context_length_exceeded";

fn is_about_length(error: &types::Error, phase: Phase) -> bool {
    phase == Phase::Asking && error.kind == ErrorKind::TooLarge && error.code == CONTEXT_LENGTH
}

/// Whether a code is an SQLSTATE, an HTTP status or a small number, so that it cannot carry text of the other end.
fn is_plain_code(code: &str) -> bool {
    let state = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase();
    let sqlstate = code.len() == 5
        && code.starts_with(|c: char| c.is_ascii_digit())
        && code.chars().all(state);
    sqlstate || (code.len() <= 5 && code.chars().all(|c| c.is_ascii_digit()))
}

/// The name of a kind in the contract.
fn name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidConfig => "invalid-config",
        ErrorKind::Auth => "auth",
        ErrorKind::Unreachable => "unreachable",
        ErrorKind::Tls => "tls",
        ErrorKind::Denied => "denied",
        ErrorKind::NotFound => "not-found",
        ErrorKind::InvalidStatement => "invalid-statement",
        ErrorKind::Permission => "permission",
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::Timeout => "timeout",
        ErrorKind::RateLimited => "rate-limited",
        ErrorKind::TooLarge => "too-large",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::ConnectionLost => "connection-lost",
        ErrorKind::Upstream => "upstream",
        ErrorKind::Internal => "internal",
    }
}

/// The code and blame of a kind. None is the fault of a request: the caller of a connection test knows that it was one.
fn code(kind: ErrorKind, phase: Phase) -> (Code, Blame) {
    use ErrorKind as Kind;
    match (kind, phase) {
        (Kind::Denied, _) => (Code::UpstreamUnreachable, Blame::Host),
        (Kind::Tls | Kind::Unreachable | Kind::ConnectionLost, _) => {
            (Code::UpstreamUnreachable, Blame::Upstream)
        }
        (Kind::InvalidConfig, _) => (Code::UpstreamError, Blame::Host),
        (Kind::Auth | Kind::NotFound | Kind::Upstream, _) => (Code::UpstreamError, Blame::Upstream),
        // The host did not cancel, or the call would have ended before: somebody cancelled it in the engine.
        (Kind::Cancelled, _) => (Code::UpstreamError, Blame::Upstream),
        (Kind::Permission, Phase::Using) => (Code::SqlPermissionDenied, Blame::Upstream),
        (Kind::InvalidStatement | Kind::Unsupported, Phase::Using) => {
            (Code::SqlInvalid, Blame::Upstream)
        }
        (Kind::TooLarge, Phase::Using) => (Code::ResultTooLarge, Blame::Upstream),
        (Kind::Permission | Kind::InvalidStatement | Kind::Unsupported | Kind::TooLarge, _) => {
            (Code::UpstreamError, Blame::Upstream)
        }
        (Kind::Timeout, _) => (Code::Timeout, Blame::Upstream),
        (Kind::RateLimited, _) => (Code::RateLimited, Blame::Upstream),
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

/// Text of a guest, truncated and without secrets or control characters.
pub fn text(message: &str, grants: &Grants, max: u32) -> String {
    // The redactor truncates, because it would not recognize half a secret.
    let kept = grants.redactor().redact_cut(message, max as usize);
    kept.chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// As [`text`], with spaces for line breaks and tabs.
pub fn line(message: &str, grants: &Grants, max: u32) -> String {
    text(message, grants, max).replace(['\n', '\t'], " ")
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

    fn converted(error: types::Error, phase: Phase) -> Error {
        convert(error, phase, &Grants::none(), None, 4_096)
    }

    #[test]
    fn rejected_statement_keeps_the_engines_message_code_and_position() {
        let error = guest(ErrorKind::InvalidStatement, "syntax error at \"FORM\"");
        let error = converted(error, Phase::Using);
        assert_eq!(error.code(), Code::SqlInvalid);
        assert_eq!(error.message(), "syntax error at \"FORM\"");
        assert_eq!(error.engine_code(), Some("42601"));
        assert_eq!(error.position(), Some(8));
    }

    #[test]
    fn a_dialogue_that_is_too_long_for_a_model_is_told_from_an_answer_that_is_too_large() {
        let mut error = guest(ErrorKind::TooLarge, "at most 8192 tokens");
        let answer = converted(error.clone(), Phase::Asking);
        assert_eq!(answer.code(), Code::UpstreamError);
        error.code = String::from(CONTEXT_LENGTH);
        assert_eq!(
            converted(error.clone(), Phase::Asking).code(),
            Code::ContextLengthExceeded
        );
        // A database has no dialogue.
        assert_eq!(converted(error, Phase::Using).code(), Code::ResultTooLarge);
    }

    #[test]
    fn text_before_the_handshake_is_hidden() {
        for kind in [ErrorKind::Unreachable, ErrorKind::ConnectionLost] {
            let mut error = guest(kind, "refused by SSH-2.0-OpenSSH_9.2");
            error.code = String::from("SSH-2.0-OpenSSH_9.2");
            let error = converted(error, Phase::Opening);
            assert_eq!(error.code(), Code::UpstreamUnreachable);
            assert!(!error.message().contains("SSH"));
            assert_eq!(error.engine_code(), None);
        }
        for (code, shown) in [
            ("28P01", true),
            ("401", true),
            ("SSH-2", false),
            ("HELLO", false),
        ] {
            let mut error = guest(ErrorKind::Auth, "no");
            error.code = code.to_owned();
            let error = converted(error, Phase::Opening);
            assert_eq!(error.engine_code().is_some(), shown, "{code}");
        }
    }

    #[test]
    fn refusal_of_this_call_is_the_message() {
        let why = String::from("10.0.0.1 is on the list egress.deny");
        let refused = Some(Refusal::NotAllowed(why));
        let error = guest(ErrorKind::Denied, "access denied");
        let error = convert(error, Phase::Opening, &Grants::none(), refused, 4_096);
        assert_eq!(error.code(), Code::UpstreamUnreachable);
        assert_eq!(error.blame(), Some(Blame::Host));
        assert!(error.message().contains("egress rules: 10.0.0.1"));
    }

    #[test]
    fn connection_that_the_host_could_not_open_is_no_fault_of_the_database() {
        for kind in [ErrorKind::Unreachable, ErrorKind::Internal] {
            let refused = Some(Refusal::OutOfFiles);
            let error = guest(kind, "no connection");
            let error = convert(error, Phase::Opening, &Grants::none(), refused, 4_096);
            assert_eq!(error.code(), Code::Overloaded);
            assert_eq!(error.blame(), Some(Blame::Host));
            assert!(error.message().contains("ulimit -n"), "{error}");
        }
        // The guest opened a connection in the end, and the engine took the statement.
        let refused = Some(Refusal::OutOfFiles);
        let error = guest(ErrorKind::InvalidStatement, "no such table");
        let error = convert(error, Phase::Using, &Grants::none(), refused, 4_096);
        assert_eq!(error.code(), Code::SqlInvalid);
    }

    #[test]
    fn engine_fault_never_blames_the_caller() {
        use mindhost_base::error::Kind;
        for phase in [Phase::Opening, Phase::Using, Phase::Asking] {
            for (kind, expected) in [
                (ErrorKind::Auth, Kind::BadGateway),
                (ErrorKind::NotFound, Kind::BadGateway),
                (ErrorKind::InvalidConfig, Kind::BadGateway),
                (ErrorKind::Tls, Kind::Unavailable),
                (ErrorKind::Denied, Kind::Unavailable),
                (ErrorKind::Unreachable, Kind::Unavailable),
                (ErrorKind::Timeout, Kind::Timeout),
                (ErrorKind::Cancelled, Kind::BadGateway),
            ] {
                let error = converted(guest(kind, "no"), phase);
                assert_eq!(error.kind(), expected, "{kind:?} while {phase:?}");
            }
        }
    }

    #[test]
    fn long_and_hostile_messages_are_truncated_and_cleaned() {
        let error = guest(
            ErrorKind::Upstream,
            &format!("\u{1b}[31m{}", "é".repeat(10_000)),
        );
        let error = convert(error, Phase::Using, &Grants::none(), None, 101);
        assert!(error.message().len() <= 110 && !error.message().contains('\u{1b}'));
    }
}
