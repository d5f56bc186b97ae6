//! From ClickHouse's exceptions to the kinds of the contract.

use std::time::Duration;

use mindhost_sdk::{Error, ErrorKind, control};

/// When to ask a server again that runs too many statements.
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// What precedes each message of ClickHouse.
const MARK: &str = "DB::Exception: ";

/// An exception of the server: `Code: 62. DB::Exception: Syntax error …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    code: u32,
    message: String,
}

impl Exception {
    /// Finds an exception in a text; `None` if there is none. Servers write it as `Code: N. DB::Exception: …
    /// (version …)`, and before version 20 as `Code: N, e.displayText() = DB::Exception: …, e.what() = …`.
    pub(crate) fn find(text: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(text);
        let rest = text.get(text.find("Code: ")? + "Code: ".len()..)?;
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let code = rest.get(..end)?.parse().ok()?;
        let message = rest.get(rest.find(MARK)? + MARK.len()..)?;
        let end = [", e.what()", " (version ", "\r\n", "__exception__"]
            .into_iter()
            .filter_map(|mark| message.find(mark))
            .min()
            .unwrap_or(message.len());
        let message = message.get(..end)?.trim().to_owned();
        Some(Self { code, message })
    }

    /// The error for the host. `before` is how many characters the connector put before the caller's statement.
    pub(crate) fn into_error(self, before: u32) -> Error {
        let kind = self.kind();
        let position = self.position().and_then(|at| at.checked_sub(before));
        let wait = (self.code == 202).then_some(RETRY_AFTER);
        let error = Error::new(kind, self.message).code(self.code.to_string());
        let error = match position.filter(|at| *at > 0) {
            Some(position) => error.position(position),
            None => error,
        };
        let error = error.connection_usable(kind != ErrorKind::Auth);
        match wait {
            Some(wait) => error.retry_after(wait),
            None => error,
        }
    }

    /// `Syntax error: failed at position 8 ('FORM')`.
    fn position(&self) -> Option<u32> {
        const AT: &str = "failed at position ";
        let rest = self.message.get(self.message.find(AT)? + AT.len()..)?;
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        rest.get(..end)?.parse().ok()
    }

    /// ClickHouse has some 800 codes, most of which say that the statement is wrong. The others are listed.
    fn kind(&self) -> ErrorKind {
        match self.code {
            // UNKNOWN_USER, WRONG_PASSWORD, REQUIRED_PASSWORD, AUTHENTICATION_FAILED
            192..=194 | 516 => ErrorKind::Auth,
            // DATABASE_ACCESS_DENIED, ACCESS_DENIED
            291 | 497 => ErrorKind::Permission,
            // TIMEOUT_EXCEEDED, TOO_SLOW
            159 | 160 => ErrorKind::Timeout,
            // ABORTED, QUERY_WAS_CANCELLED, QUERY_WAS_CANCELLED_BY_CLIENT
            236 | 394 | 734 if control::is_cancelled() => ErrorKind::Cancelled,
            236 | 394 | 734 => ErrorKind::Upstream,
            // TOO_MANY_ROWS_OR_BYTES, TOO_MANY_ROWS, TOO_MANY_BYTES
            158 | 307 | 396 => ErrorKind::TooLarge,
            // What storage, network, memory and the server itself do wrong.
            23 | 40 | 49 | 74..=76 | 86 | 173 | 198 | 202 | 209 | 210 | 225 => ErrorKind::Upstream,
            241..=246 | 252 | 271 | 279 | 305 | 319 | 425 | 439 | 499 | 519 => ErrorKind::Upstream,
            999..=1002 => ErrorKind::Upstream,
            _ => ErrorKind::InvalidStatement,
        }
    }
}

/// The server said what ClickHouse's formats do not allow.
pub(crate) fn malformed(what: &str) -> Error {
    Error::new(ErrorKind::Upstream, format!("the server sent {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, kind: ErrorKind, message: &str) -> Error {
        let error = Exception::find(text.as_bytes()).unwrap().into_error(0);
        assert_eq!((error.kind(), error.message()), (kind, message));
        error
    }

    #[test]
    fn exceptions_of_old_and_new_servers_are_understood() {
        let error = check(
            "Code: 62, e.displayText() = DB::Exception: Syntax error: failed at position 14: 1. Expected x, \
             e.what() = DB::Exception\n",
            ErrorKind::InvalidStatement,
            "Syntax error: failed at position 14: 1. Expected x",
        );
        assert_eq!(
            (error.engine_code(), error.statement_position()),
            ("62", Some(14))
        );
        check(
            "Code: 516. DB::Exception: default: Authentication failed. (AUTHENTICATION_FAILED) \
             (version 25.8.2.29 (official build))\n",
            ErrorKind::Auth,
            "default: Authentication failed. (AUTHENTICATION_FAILED)",
        );
        check(
            "\r\n__exception__\r\nabcdefgh\r\nCode: 159. DB::Exception: Timeout exceeded\r\n\
             47 abcdefgh\r\n__exception__\r\n",
            ErrorKind::Timeout,
            "Timeout exceeded",
        );
    }

    #[test]
    fn a_text_that_is_no_number_is_a_fault_of_the_statement() {
        check(
            "Code: 32. DB::Exception: Attempt to read after eof: while converting '' to Int64 (version 26.9.1)",
            ErrorKind::InvalidStatement,
            "Attempt to read after eof: while converting '' to Int64",
        );
    }

    #[test]
    fn other_texts_are_no_exceptions() {
        for text in [
            "",
            "Code: ",
            "Code: x DB::Exception: y",
            "<html>502 Bad Gateway</html>",
        ] {
            assert_eq!(Exception::find(text.as_bytes()), None, "{text}");
        }
    }
}
