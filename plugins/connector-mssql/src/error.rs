//! From the server's error numbers and the transport's errors to the kinds of the contract.

use std::time::Duration;

use mindhost_sdk::{Error, ErrorKind, Result};

use crate::wire::Wire;

/// When to ask a server again that is busy or about to move.
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// From this severity on the server closes the connection.
const FATAL: u8 = 20;

/// An error, or a message, that the server sent.
#[derive(Debug)]
pub(crate) struct ServerError {
    pub(crate) number: u32,
    class: u8,
    message: String,
    line: u32,
}

impl ServerError {
    /// Reads the rest of the token ERROR or INFO.
    ///
    /// # Errors
    /// `Upstream` when its parts are longer than the whole.
    pub(crate) fn read(wire: &mut Wire) -> Result<Self> {
        let length = usize::from(wire.u16()?);
        let bytes = wire.take(length)?;
        Self::parse(bytes).ok_or_else(|| malformed("an error message"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let number = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
        let class = *bytes.get(5)?;
        let units = usize::from(u16::from_le_bytes(bytes.get(6..8)?.try_into().ok()?));
        let text = bytes.get(8..8 + units * 2)?;
        let mut message = String::new();
        crate::decode::utf16(text, &mut message);
        let mut at = 8 + units * 2;
        // The names of the server and of the procedure.
        for _ in 0..2 {
            at += 1 + usize::from(*bytes.get(at)?) * 2;
        }
        let line = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
        Some(Self {
            number,
            class,
            message,
            line,
        })
    }

    /// The error for the host, with a position in `statement` where the server tells a line after the first.
    pub(crate) fn into_error(self, statement: Option<&str>) -> Error {
        let kind = self.kind();
        let usable =
            self.class < FATAL && !matches!(kind, ErrorKind::Auth | ErrorKind::ConnectionLost);
        let position = statement.and_then(|text| line_start(text, self.line));
        let error = Error::new(kind, self.message)
            .code(self.number.to_string())
            .connection_usable(usable);
        let error = match self.number {
            1205 | 3960 | 3961 | 10928 | 10929 | 40197 | 40501 | 40613 | 49918..=49920 => {
                error.retry_after(RETRY_AFTER)
            }
            _ => error,
        };
        match position {
            Some(position) => error.position(position),
            None => error,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self.number {
            18401..=18499 | 4064 => ErrorKind::Auth,
            4060 | 911 | 40532 => ErrorKind::NotFound,
            229 | 230 | 262 | 297 | 300 | 371 | 916 | 15247 | 15562 => ErrorKind::Permission,
            // A lock was waited for as long as `SET LOCK_TIMEOUT` says.
            1222 => ErrorKind::Timeout,
            // Deadlock; a snapshot that came too late; out of memory, locks or workers.
            1205 | 3960 | 3961 | 701 | 1204 | 8645 | 8651 | 10928 | 10929 => ErrorKind::Upstream,
            40197 | 40501 | 40613 | 49918..=49920 => ErrorKind::Upstream,
            _ if self.class >= FATAL => ErrorKind::ConnectionLost,
            _ if self.class <= 16 => ErrorKind::InvalidStatement,
            _ => ErrorKind::Upstream,
        }
    }
}

/// The position of a line's first character, for lines after the first: of that nothing is known but that it exists.
fn line_start(statement: &str, line: u32) -> Option<u32> {
    let before = usize::try_from(line.checked_sub(1)?).ok()?;
    if before == 0 || before >= statement.split('\n').count() {
        return None;
    }
    let lines = statement.split_inclusive('\n').take(before);
    let characters: usize = lines.map(|line| line.chars().count()).sum();
    u32::try_from(characters + 1).ok()
}

/// The server broke the protocol. The connection cannot be used again.
pub(crate) fn malformed(what: &str) -> Error {
    Error::new(
        ErrorKind::Upstream,
        format!("the server sent {what} that the protocol TDS does not allow"),
    )
    .connection_usable(false)
}

/// The server said what cannot be, in tokens that the protocol allows.
pub(crate) fn untrue(what: &str) -> Error {
    Error::new(ErrorKind::Upstream, format!("the server {what}")).connection_usable(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_error(number: u32, class: u8) -> ServerError {
        ServerError {
            number,
            class,
            message: "no".into(),
            line: 1,
        }
    }

    #[test]
    fn numbers_say_what_to_do_next() {
        for (number, class, kind, usable) in [
            (18456, 14, ErrorKind::Auth, false),
            (4060, 11, ErrorKind::NotFound, true),
            (229, 14, ErrorKind::Permission, true),
            (102, 15, ErrorKind::InvalidStatement, true),
            (208, 16, ErrorKind::InvalidStatement, true),
            (8134, 16, ErrorKind::InvalidStatement, true),
            (1205, 13, ErrorKind::Upstream, true),
            (1222, 16, ErrorKind::Timeout, true),
            (9001, 21, ErrorKind::ConnectionLost, false),
            (596, 21, ErrorKind::ConnectionLost, false),
            (1105, 17, ErrorKind::Upstream, true),
        ] {
            let error = server_error(number, class).into_error(None);
            let told = (error.kind(), error.is_connection_usable());
            assert_eq!(told, (kind, usable), "{number}");
            assert_eq!(error.engine_code(), number.to_string());
        }
    }

    #[test]
    fn a_line_after_the_first_is_a_position() {
        for (line, position) in [(1, None), (2, Some(7)), (3, Some(11)), (4, None), (0, None)] {
            assert_eq!(line_start("SELEÇ\nabc\nx", line), position, "{line}");
        }
    }

    #[test]
    fn a_message_whose_parts_are_longer_than_the_whole_is_refused() {
        let bytes = [1, 0, 0, 0, 1, 16, 200, 0, b'a', 0];
        assert!(ServerError::parse(&bytes).is_none());
    }
}
