//! From the server's errors (SQLSTATE) and the transport's to the kinds of the contract.

use std::time::{Duration, Instant};

use fallible_iterator::FallibleIterator;
use mindhost_sdk::{Error, ErrorKind, Result, control};
use postgres_protocol::message::backend::ErrorResponseBody;

/// When to ask a server again that starts up or has too many clients.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// An error that the server sent.
#[derive(Debug, Default)]
pub(crate) struct ServerError {
    pub(crate) severity: String,
    pub(crate) code: String,
    pub(crate) message: String,
    detail: String,
    hint: String,
    position: Option<u32>,
}

impl ServerError {
    /// Reads the fields of an ErrorResponse.
    ///
    /// # Errors
    /// `Upstream` when the fields are malformed or there is no SQLSTATE.
    pub(crate) fn parse(body: &ErrorResponseBody) -> Result<Self> {
        let mut error = Self::default();
        let mut fields = body.fields();
        while let Some(field) = fields.next().map_err(|_| malformed("an error message"))? {
            let text = || String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                // `V` is never translated; servers before 9.6 send only `S`.
                b'S' if error.severity.is_empty() => error.severity = text(),
                b'V' => error.severity = text(),
                b'C' => error.code = text(),
                b'M' => error.message = text(),
                b'D' => error.detail = text(),
                b'H' => error.hint = text(),
                b'P' => error.position = text().parse().ok(),
                _ => {}
            }
        }
        let is_state =
            |code: &str| code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_state(&error.code) {
            Ok(error)
        } else {
            Err(malformed("an error message"))
        }
    }

    /// Whether the server has closed the connection with this error.
    pub(crate) fn is_fatal(&self) -> bool {
        self.severity == "FATAL" || self.severity == "PANIC"
    }

    /// The error for the host. `statement` says when the statement began and how long it may take, so that a
    /// cancellation can be told from a timeout in whatever language the server speaks.
    pub(crate) fn into_error(self, statement: Option<(Instant, Duration)>) -> Error {
        let kind = self.kind(statement);
        let usable =
            !self.is_fatal() && !matches!(kind, ErrorKind::ConnectionLost | ErrorKind::Auth);
        // No room for another session, or not ready yet: both pass.
        let wait = matches!(self.code.as_str(), "53300" | "57P03").then_some(RETRY_AFTER);
        let mut message = self.message;
        for (label, text) in [("Detail", self.detail), ("Hint", self.hint)] {
            if !text.is_empty() {
                message = format!("{message} {label}: {text}");
            }
        }
        let error = Error::new(kind, message)
            .code(self.code)
            .connection_usable(usable);
        let error = match wait {
            Some(wait) => error.retry_after(wait),
            None => error,
        };
        match self.position {
            Some(position) => error.position(position),
            None => error,
        }
    }

    fn kind(&self, statement: Option<(Instant, Duration)>) -> ErrorKind {
        match self.code.as_str() {
            "57014" => self.why_stopped(statement),
            "55P03" => ErrorKind::Timeout,
            "42501" => ErrorKind::Permission,
            "3D000" => ErrorKind::NotFound,
            "57P01" | "57P02" | "57P04" | "57P05" | "25P03" | "25P04" => ErrorKind::ConnectionLost,
            "0A000" => ErrorKind::InvalidStatement,
            "54000" if self.is_about_size() => ErrorKind::TooLarge,
            // A materialized view without data, `currval` before `nextval`: the same statement fails again.
            "55000" => ErrorKind::InvalidStatement,
            code => match &code[..2] {
                "28" => ErrorKind::Auth,
                // Of a foreign server, for example: what the server says of itself has the codes above.
                "08" if self.is_fatal() => ErrorKind::ConnectionLost,
                "08" => ErrorKind::Upstream,
                "20" | "21" | "22" | "23" | "25" | "26" | "2F" | "34" | "38" | "39" | "3B"
                | "3F" | "42" | "44" | "54" | "P0" => ErrorKind::InvalidStatement,
                _ => ErrorKind::Upstream,
            },
        }
    }

    /// Whether a limit of the server on lengths was reached. `chr(0)` has the same code, and there a smaller result does
    /// not help. If the server speaks another language, the statement counts as invalid.
    fn is_about_size(&self) -> bool {
        ["length", "size", "string buffer"]
            .iter()
            .any(|word| self.message.contains(*word) || self.detail.contains(*word))
    }

    fn why_stopped(&self, statement: Option<(Instant, Duration)>) -> ErrorKind {
        let out_of_time = statement.is_some_and(|(began, timeout)| began.elapsed() >= timeout);
        if self.message.contains("timeout") || (out_of_time && !control::is_cancelled()) {
            ErrorKind::Timeout
        } else {
            ErrorKind::Cancelled
        }
    }
}

/// The server broke the protocol. The connection cannot be used again.
pub(crate) fn malformed(what: &str) -> Error {
    Error::new(
        ErrorKind::Upstream,
        format!("the server sent {what} that PostgreSQL's protocol does not allow"),
    )
    .connection_usable(false)
}

/// The server said what cannot be, in messages that the protocol allows.
pub(crate) fn untrue(what: &str) -> Error {
    Error::new(ErrorKind::Upstream, format!("the server {what}"))
}

/// The server goes on where there must be an end. What else it sends stays unread, so the connection is of no more use.
pub(crate) fn endless(what: &str) -> Error {
    untrue(&format!("sends {what} without an end")).connection_usable(false)
}

/// The server says much and answers nothing. What else it sends stays unread, so the connection is of no more use.
pub(crate) fn chatty(most: usize, what: &str) -> Error {
    untrue(&format!("sent more than {most} {what} without a result")).connection_usable(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_kinds() {
        for (code, message, expected) in [
            ("42P01", "no such relation", ErrorKind::InvalidStatement),
            ("54000", "null character", ErrorKind::InvalidStatement),
            ("54000", "length too large", ErrorKind::TooLarge),
            ("55000", "not populated", ErrorKind::InvalidStatement),
            ("55P03", "lock timeout", ErrorKind::Timeout),
            ("57P01", "terminating", ErrorKind::ConnectionLost),
            ("08001", "no foreign server", ErrorKind::Upstream),
            ("58030", "could not read file", ErrorKind::Upstream),
        ] {
            let error = ServerError {
                code: code.into(),
                message: message.into(),
                ..ServerError::default()
            };
            assert_eq!(error.into_error(None).kind(), expected, "{code} {message}");
        }
    }
}
