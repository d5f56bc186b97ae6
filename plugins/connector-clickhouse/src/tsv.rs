//! The format `TabSeparatedWithNamesAndTypes`: lines of cells, the first two with the names and types of the columns.

use std::ops::Range;

use mindhost_sdk::http::Body;
use mindhost_sdk::{Error, ErrorKind, Result};

use crate::error::{Exception, malformed};

/// How much of what follows the beginning of an exception is read to decide whether it is one.
const MAX_EXCEPTION: usize = 64 << 10;
/// Consumed bytes are dropped once they are so many.
const COMPACT: usize = 256 << 10;

/// Cuts lines out of a body.
pub(crate) struct Lines {
    body: Body,
    tag: Option<String>,
    buffer: Vec<u8>,
    /// Where the next line begins.
    at: usize,
    /// How far the buffer was searched for an end of a line.
    searched: usize,
    ended: bool,
    /// The longest line.
    limit: usize,
}

impl Lines {
    /// Lines of at most `limit` bytes.
    pub(crate) fn new(body: Body, tag: Option<String>, limit: usize) -> Self {
        Self {
            body,
            tag,
            buffer: Vec::new(),
            at: 0,
            searched: 0,
            ended: false,
            limit,
        }
    }

    /// The next line, as a range of [`Lines::bytes`]; `None` at the end.
    ///
    /// # Errors
    /// The server's exception in place of a line, `TooLarge` for a line above the limit, `Upstream` for one without an
    /// end, and those of the body.
    pub(crate) fn next(&mut self) -> Result<Option<Range<usize>>> {
        if self.at > COMPACT {
            self.buffer.drain(..self.at);
            self.searched -= self.at;
            self.at = 0;
        }
        loop {
            let rest = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(found) = memchr::memchr(b'\n', rest) {
                let line = self.at..self.searched + found;
                self.check(line.clone())?;
                self.at = line.end + 1;
                self.searched = self.at;
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.ended {
                return self.end();
            }
            if self.buffer.len() - self.at > self.limit {
                let message = format!(
                    "the server sent a row of more than {} bytes; select fewer or shorter columns",
                    self.limit
                );
                return Err(Error::new(ErrorKind::TooLarge, message).connection_usable(true));
            }
            self.fill()?;
        }
    }

    /// What the ranges point into.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// The end of the body must be the end of a line.
    fn end(&self) -> Result<Option<Range<usize>>> {
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        match Exception::find(rest) {
            _ if rest.is_empty() => Ok(None),
            Some(exception) => Err(exception.into_error(0)),
            None => Err(malformed("a row without an end")),
        }
    }

    /// A server that fails after the first rows writes its exception behind them. New servers mark it with a tag and a
    /// carriage return, which no cell holds unescaped. Old ones just write it: a line that begins as exceptions do is
    /// one if what follows ends as they do, too. A row that imitates all of this is reported as an error, not as a row.
    fn check(&mut self, line: Range<usize>) -> Result<()> {
        let text = self.buffer.get(line.clone()).unwrap_or_default();
        if text.first() == Some(&b'\r') || text.starts_with(b"__exception__\r") {
            return self.exception(line.start, |_| true);
        }
        if self.tag.is_none() && text.starts_with(b"Code: ") && Exception::find(text).is_some() {
            return self.exception(line.start, |rest| {
                let rest = rest.trim_ascii_end();
                rest.ends_with(b"DB::Exception") || rest.ends_with(b")")
            });
        }
        Ok(())
    }

    fn exception(&mut self, from: usize, is_one: fn(&[u8]) -> bool) -> Result<()> {
        while !self.ended && self.buffer.len() - from < MAX_EXCEPTION {
            self.fill()?;
        }
        let rest = self.buffer.get(from..).unwrap_or_default();
        match Exception::find(rest) {
            Some(exception) if self.ended && is_one(rest) => Err(exception.into_error(0)),
            _ => Ok(()),
        }
    }

    /// Reads on. A body that breaks off behind an exception has ended.
    fn fill(&mut self) -> Result<()> {
        match self.body.read() {
            Ok(Some(piece)) => self.buffer.extend_from_slice(&piece),
            Ok(None) => self.ended = true,
            Err(error) if error.kind() == ErrorKind::ConnectionLost => {
                let rest = self.buffer.get(self.at..).unwrap_or_default();
                match Exception::find(rest) {
                    Some(exception) => return Err(exception.into_error(0)),
                    None => return Err(error),
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// The cells of a line.
pub(crate) fn cells(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b'\t')
}

/// A cell or quoted text without its escapes.
pub(crate) fn unescaped(cell: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if memchr::memchr(b'\\', cell).is_none() {
        return cell.into();
    }
    let mut plain = Vec::with_capacity(cell.len());
    let mut at = 0;
    while let Some(&byte) = cell.get(at) {
        if byte != b'\\' {
            plain.push(byte);
            at += 1;
            continue;
        }
        let escaped = cell.get(at + 1).copied().unwrap_or(b'\\');
        at += 2;
        plain.push(match escaped {
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'0' => 0,
            b'a' => 0x07,
            b'v' => 0x0b,
            b'e' => 0x1b,
            b'x' => {
                let digits = cell
                    .get(at..at + 2)
                    .and_then(|digits| std::str::from_utf8(digits).ok());
                at += 2;
                digits
                    .and_then(|digits| u8::from_str_radix(digits, 16).ok())
                    .unwrap_or(b'?')
            }
            other => other,
        });
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use mindhost_sdk::Error;
    use mindhost_sdk::http::Response;

    use super::*;

    fn read(pieces: &[&str], tag: Option<&str>, broken: bool) -> Result<Vec<String>> {
        let mut script: Vec<_> = pieces
            .iter()
            .map(|piece| Ok(piece.as_bytes().to_vec()))
            .collect();
        if broken {
            script.push(Err(Error::new(ErrorKind::ConnectionLost, "cut")));
        }
        let mut lines = Lines::new(
            Response::scripted(200, script).body,
            tag.map(str::to_owned),
            1000,
        );
        let mut all = Vec::new();
        while let Some(line) = lines.next()? {
            all.push(String::from_utf8_lossy(&lines.bytes()[line]).into_owned());
        }
        Ok(all)
    }

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        assert_eq!(
            read(&["a\tb\nc", "\td\n\n", "e\n"], None, false).unwrap(),
            ["a\tb", "c\td", "", "e"]
        );
        assert_eq!(
            read(&["a\nb"], None, false).unwrap_err().kind(),
            ErrorKind::Upstream
        );
        assert_eq!(
            read(&["a\n"], None, true).unwrap_err().kind(),
            ErrorKind::ConnectionLost
        );
    }

    #[test]
    fn a_line_above_the_limit_is_too_large() {
        let error = read(&[&"x".repeat(1001), "\n"], None, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.is_connection_usable());
    }

    #[test]
    fn an_exception_behind_rows_is_an_error() {
        let old = "Code: 395, e.displayText() = DB::Exception: no, e.what() = DB::Exception\n";
        assert_eq!(
            read(&["1\n2\n", old], None, false)
                .unwrap_err()
                .engine_code(),
            "395"
        );
        let lines =
            "Code: 395. DB::Exception: several\nlines. (X) (version 23.8.2.7 (official build))\n";
        assert_eq!(
            read(&["1\n", lines], None, false)
                .unwrap_err()
                .engine_code(),
            "395"
        );
        let new = "\r\n__exception__\r\ntagtagta\r\nCode: 395. DB::Exception: no\r\n28 tagtagta\r\n__exception__\r\n";
        for broken in [false, true] {
            let error = read(&["1\n", new], Some("tagtagta"), broken).unwrap_err();
            assert_eq!(error.engine_code(), "395");
        }
    }

    #[test]
    fn rows_that_tell_of_exceptions_are_rows() {
        let row = "Code: 60. DB::Exception: no table. (X) (version 1 (official build))";
        let text = format!("{row}\nnext\n");
        assert_eq!(read(&[&text], None, false).unwrap(), [row, "next"]);
        assert_eq!(
            read(&[&text], Some("tagtagta"), false).unwrap(),
            [row, "next"]
        );
        let last = format!("{row}\n");
        assert_eq!(read(&[&last], Some("tagtagta"), false).unwrap(), [row]);
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(unescaped(br"a\tb\\\'\0\x41\").as_ref(), b"a\tb\\'\0A\\");
        assert_eq!(unescaped(b"plain").as_ref(), b"plain");
    }
}
