//! The one error of a plugin.

use std::fmt;

use crate::bindings::connector::mindhost::plugin::types as wire;
use crate::values::Extra;

pub use wire::ErrorKind;

/// The longest message, in characters. Engines repeat whole statements in theirs.
const MAX_MESSAGE: usize = 4096;

/// What a plugin's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, of which kind, and whether the connection can be used again.
///
/// ```
/// use mindhost_sdk::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::InvalidStatement, "no such table: orders").code("42P01").position(15);
/// assert_eq!(error.to_string(), "no such table: orders (42P01)");
/// assert!(error.is_connection_usable());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    kind: ErrorKind,
    code: String,
    message: String,
    position: Option<u32>,
    retry_after_ms: Option<u64>,
    connection_usable: bool,
    extra: Extra,
}

impl Error {
    /// An error of a kind, with a message for a person: what is wrong, in the engine's own words where there are
    /// some, and what to do about it. Never put a secret into it.
    ///
    /// The connection counts as usable afterwards, except for the kinds that say it is not: `Auth`, `Unreachable`,
    /// `Tls`, `ConnectionLost`, `Cancelled` and `Internal`. [`Error::connection_usable`] decides otherwise.
    ///
    /// A message of more than 4,096 characters is cut there, and ends with `…`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let connection_usable = !matches!(
            kind,
            ErrorKind::Auth
                | ErrorKind::Unreachable
                | ErrorKind::Tls
                | ErrorKind::ConnectionLost
                | ErrorKind::Cancelled
                | ErrorKind::Internal
        );
        Self {
            kind,
            code: String::new(),
            message: cut(message.into()),
            position: None,
            retry_after_ms: None,
            connection_usable,
            extra: Vec::new(),
        }
    }

    /// The configuration cannot work; say which setting and what it should be.
    pub fn invalid_config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidConfig, message)
    }

    /// The engine rejects the statement or request as written.
    pub fn invalid_statement(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidStatement, message)
    }

    /// The named thing does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// The plugin does not do this.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// A fault of the plugin itself.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// The host asked for the call to end.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "the host cancelled the call")
    }

    /// A time limit ran out; say which.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Timeout, message)
    }

    /// A value has more than the [`max_cell_bytes`](crate::Statement::max_cell_bytes) of its statement.
    pub fn cell_too_large(column: &str, bytes: u64, limit: u64) -> Self {
        Self::new(
            ErrorKind::TooLarge,
            format!(
                "a value of column `{column}` has {bytes} bytes, more than the limit of {limit}; select a part of it"
            ),
        )
    }

    /// The engine's own code: an SQLSTATE, an HTTP status, an SQLite result code.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = code.into();
        self
    }

    /// Where in the statement, in characters from 1.
    #[must_use]
    pub fn position(mut self, position: u32) -> Self {
        self.position = Some(position);
        self
    }

    /// When the vendor wants to be asked again.
    #[must_use]
    pub fn retry_after(mut self, wait: std::time::Duration) -> Self {
        self.retry_after_ms = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Whether the connection that gives this error can be used again. A wrong "yes" poisons the host's pool.
    #[must_use]
    pub fn connection_usable(mut self, usable: bool) -> Self {
        self.connection_usable = usable;
        self
    }

    /// The error of a statement that the engine may have begun: `ConnectionLost` becomes `Unreachable`, every other error
    /// stays. The host repeats a call that is `ConnectionLost`, but a statement must not run again after an
    /// administrator killed its connection.
    #[must_use]
    pub fn of_begun_statement(mut self) -> Self {
        if self.kind == ErrorKind::ConnectionLost {
            self.kind = ErrorKind::Unreachable;
            self.message = format!(
                "the connection ended while the statement ran: {}",
                self.message
            );
            self.connection_usable = false;
        }
        self
    }

    /// A named addition; readers ignore names that they do not know.
    #[must_use]
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra.push((name.into(), value.into()));
        self
    }

    /// Puts what was being done before the message: `reading the header: file is not a database`.
    #[must_use]
    pub fn context(mut self, doing: impl fmt::Display) -> Self {
        self.message = format!("{doing}: {}", self.message);
        self
    }

    /// Of which kind it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The message for a person.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The engine's own code, empty when there is none.
    pub fn engine_code(&self) -> &str {
        &self.code
    }

    /// When the vendor wants to be asked again, if it said so.
    pub fn wait(&self) -> Option<std::time::Duration> {
        self.retry_after_ms.map(std::time::Duration::from_millis)
    }

    /// Where in the statement, in characters from 1.
    pub fn statement_position(&self) -> Option<u32> {
        self.position
    }

    /// Whether the connection can be used again.
    pub fn is_connection_usable(&self) -> bool {
        self.connection_usable
    }
}

fn cut(mut message: String) -> String {
    if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE) {
        message.truncate(end);
        message.push('…');
    }
    message
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.code.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", self.code)
    }
}

impl std::error::Error for Error {}

impl From<Error> for wire::Error {
    fn from(error: Error) -> Self {
        Self {
            kind: error.kind,
            code: error.code,
            message: error.message,
            position: error.position,
            retry_after_ms: error.retry_after_ms,
            connection_usable: error.connection_usable,
            extra: error.extra,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_characters() {
        for (length, kept) in [
            (MAX_MESSAGE, MAX_MESSAGE),
            (MAX_MESSAGE + 1, MAX_MESSAGE + 1),
        ] {
            let error = Error::not_found("é".repeat(length));
            assert_eq!(error.message().chars().count(), kept);
            assert_eq!(error.message().ends_with('…'), length > MAX_MESSAGE);
        }
    }

    #[test]
    fn a_connection_that_is_lost_within_a_statement_is_not_repeated() {
        let killed = "Connection was killed";
        let lost = Error::new(ErrorKind::ConnectionLost, killed).code("1927 (70100)");
        let error = lost.of_begun_statement();
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert_eq!(error.engine_code(), "1927 (70100)");
        assert!(error.message().ends_with(killed));
        assert!(!error.is_connection_usable());
        let refused = Error::invalid_statement("no such table");
        assert_eq!(refused.clone().of_begun_statement(), refused);
    }
}
