//! From the server's errors to the kinds of the contract.

use std::time::{Duration, Instant};

use mindhost_sdk::{Error, ErrorKind, Result, control};

use crate::packet::Reader;

/// When to ask a server again that has too many clients.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// An error that the server sent.
#[derive(Debug)]
pub(crate) struct ServerError {
    pub(crate) number: u16,
    state: String,
    message: String,
}

impl ServerError {
    /// Reads an ERR packet, without the 0xff at its front.
    ///
    /// # Errors
    /// `Upstream` when there is no number.
    pub(crate) fn parse(body: &[u8]) -> Result<Self> {
        let mut reader = Reader(body);
        let number = reader.u16().ok_or_else(|| malformed("an error"))?;
        // Before the handshake there is no SQLSTATE.
        let state = match reader.0.split_first() {
            Some((b'#', rest)) if rest.len() >= 5 => {
                reader.0 = &rest[5..];
                &rest[..5]
            }
            _ => b"HY000",
        };
        Ok(Self {
            number,
            state: String::from_utf8_lossy(state).into_owned(),
            message: String::from_utf8_lossy(reader.0).into_owned(),
        })
    }

    /// The error for the host. `statement` says when the statement began and how long it may take, so that a
    /// cancellation can be told from a timeout.
    pub(crate) fn into_error(self, statement: Option<(Instant, Duration)>) -> Error {
        let kind = self.kind(statement);
        let usable = !matches!(kind, ErrorKind::ConnectionLost | ErrorKind::Auth);
        let is_full = matches!(self.number, 1040 | 1203 | 1226);
        let code = format!("{} ({})", self.number, self.state);
        let error = Error::new(kind, self.message)
            .code(code)
            .connection_usable(usable);
        match is_full {
            true => error.retry_after(RETRY_AFTER),
            false => error,
        }
    }

    /// The error for the host when the server refused a request of the connector's own, named by its purpose. The
    /// caller's statement is not at fault, so the kind is never one that says so.
    pub(crate) fn into_refusal(self, purpose: &str) -> Error {
        let refused = format!("the server refused the connector's request to {purpose}");
        let error = self.into_error(None);
        match error.kind() {
            ErrorKind::Auth
            | ErrorKind::Cancelled
            | ErrorKind::ConnectionLost
            | ErrorKind::Timeout => error,
            ErrorKind::Upstream => error.context(refused),
            _ => {
                let message = format!("{refused}: {}", error.message());
                Error::new(ErrorKind::Upstream, message).code(error.engine_code())
            }
        }
    }

    /// The error for the host when the server ended the session before it read the request that was sent. So the number
    /// does not matter: the request has not run.
    pub(crate) fn into_lost(self) -> Error {
        let code = format!("{} ({})", self.number, self.state);
        Error::new(ErrorKind::ConnectionLost, self.message)
            .code(code)
            .connection_usable(false)
    }

    fn kind(&self, statement: Option<(Instant, Duration)>) -> ErrorKind {
        match self.number {
            // KILL QUERY, which a timeout of the server's may be too.
            1317 => why_stopped(statement),
            // max_statement_time of MariaDB, max_execution_time of MySQL, a lock.
            1969 | 3024 | 1205 => ErrorKind::Timeout,
            // 1095 is a KILL of another account's session.
            1044 | 1095 | 1142 | 1143 | 1227 | 1370 | 1410 => ErrorKind::Permission,
            1049 => ErrorKind::NotFound,
            // 3118 and 3955 are a locked account: by an administrator, and after too many wrong passwords.
            1045 | 1129 | 1130 | 1251 | 1275 | 1698 | 1820 | 1862 | 3118 | 3159 | 3955 | 4151 => {
                ErrorKind::Auth
            }
            // Shut down, killed, idle for too long, and packets that got lost.
            1053 | 1152 | 1158..=1161 | 1184 | 1927 | 4031 => ErrorKind::ConnectionLost,
            1153 | 1301 => ErrorKind::TooLarge,
            // No room for another session; no disk, no memory, a full temporary table, a broken table.
            1040
            | 1203
            | 1226
            | 1021
            | 1026
            | 1030
            | 1034..=1038
            | 1041
            | 1114
            | 1135
            | 1194
            | 1195 => ErrorKind::Upstream,
            // A server may send a state that is not ASCII.
            _ => match self.state.get(..2) {
                Some("28") => ErrorKind::Auth,
                Some("08") => ErrorKind::ConnectionLost,
                _ => ErrorKind::InvalidStatement,
            },
        }
    }
}

/// Whether a KILL found no session with its id.
pub(crate) fn is_unknown_session(error: &Error) -> bool {
    error.engine_code().starts_with("1094 ")
}

fn why_stopped(statement: Option<(Instant, Duration)>) -> ErrorKind {
    let out_of_time = statement.is_some_and(|(began, timeout)| began.elapsed() >= timeout);
    if out_of_time && !control::is_cancelled() {
        ErrorKind::Timeout
    } else {
        ErrorKind::Cancelled
    }
}

/// The server broke the protocol. The connection cannot be used again.
pub(crate) fn malformed(what: &str) -> Error {
    Error::new(
        ErrorKind::Upstream,
        format!("the server sent {what} that MySQL's protocol does not allow"),
    )
    .connection_usable(false)
}

/// The server said what cannot be, in packets that the protocol allows.
pub(crate) fn untrue(what: &str) -> Error {
    Error::new(ErrorKind::Upstream, format!("the server {what}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn server_error(number: u16, state: &str) -> ServerError {
        let body = [&number.to_le_bytes()[..], b"#", state.as_bytes(), b"text"].concat();
        ServerError::parse(&body).unwrap()
    }

    fn kind(number: u16, state: &str) -> ErrorKind {
        let error = server_error(number, state).into_error(None);
        assert!(error.message().starts_with("text"));
        error.kind()
    }

    #[test]
    fn numbers_have_kinds() {
        for (number, state, expected) in [
            (1064, "42000", ErrorKind::InvalidStatement),
            (1365, "22012", ErrorKind::InvalidStatement),
            (1105, "HY000", ErrorKind::InvalidStatement),
            (1045, "28000", ErrorKind::Auth),
            (3955, "HY000", ErrorKind::Auth),
            (1142, "42000", ErrorKind::Permission),
            (1095, "HY000", ErrorKind::Permission),
            (1317, "70100", ErrorKind::Cancelled),
            (1969, "70100", ErrorKind::Timeout),
            (3024, "HY000", ErrorKind::Timeout),
            (1040, "08004", ErrorKind::Upstream),
            (1114, "HY000", ErrorKind::Upstream),
            (4031, "HY000", ErrorKind::ConnectionLost),
        ] {
            assert_eq!(kind(number, state), expected, "{number}");
        }
    }

    #[test]
    fn a_refused_request_of_the_connector_does_not_blame_the_statement() {
        for (number, state) in [
            (1064, "42000"),
            (1193, "HY000"),
            (1227, "42000"),
            (1049, "42000"),
            (1226, "42000"),
        ] {
            let error = server_error(number, state).into_refusal("begin a snapshot");
            assert_eq!(error.kind(), ErrorKind::Upstream, "{number}");
            assert_eq!(error.engine_code(), format!("{number} ({state})"));
            let message = "the server refused the connector's request to begin a snapshot: text";
            assert_eq!(error.message(), message, "{number}");
        }
        // The host tries again later, or on another connection.
        let full = server_error(1226, "42000").into_refusal("begin a snapshot");
        assert_eq!(full.wait(), Some(RETRY_AFTER));
        let lost = server_error(1927, "70100").into_refusal("begin a snapshot");
        assert_eq!(lost.kind(), ErrorKind::ConnectionLost);
    }

    #[test]
    fn only_an_unknown_id_says_that_the_session_has_ended() {
        for (number, expected) in [(1094, true), (1095, false), (1064, false), (1105, false)] {
            let error = server_error(number, "HY000").into_error(None);
            assert_eq!(is_unknown_session(&error), expected, "{number}");
        }
    }

    #[test]
    fn an_error_without_a_number_is_none() {
        for body in [&b""[..], b"a"] {
            assert!(ServerError::parse(body).is_err());
        }
        assert!(ServerError::parse(b"aa#").is_ok());
    }

    #[test]
    fn state_that_is_not_ascii_is_read() {
        let body = b"\x28\x04#\xff\xff\xff\xff\xfftext";
        let error = ServerError::parse(body).unwrap().into_error(None);
        assert_eq!(error.kind(), ErrorKind::InvalidStatement);
        assert_eq!(error.message(), "text");
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_refused(
            number in any::<u16>(),
            is_marked in any::<bool>(),
            rest in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let mark = if is_marked { &b"#"[..] } else { b"" };
            let body = [&number.to_le_bytes()[..], mark, &rest].concat();
            for body in [&body[..], &rest] {
                if let Ok(error) = ServerError::parse(body) {
                    let began = Some((Instant::now(), Duration::ZERO));
                    prop_assert!(!error.into_error(began).engine_code().is_empty());
                }
                let _ = ServerError::parse(body).map(|error| error.into_refusal("answer a ping"));
                let _ = ServerError::parse(body).map(ServerError::into_lost);
            }
        }
    }
}
