//! A body as lines.

use super::Body;
use crate::error::{Error, ErrorKind, Result};

/// A longer line is an error: no answer may fill the memory.
const LONGEST: usize = 32 << 20;

/// The lines of a body that arrives in pieces; [`Body::lines`] makes it. Nothing comes after an error.
///
/// ```
/// use mindhost_sdk::http::Response;
///
/// let body = Response::scripted(200, vec![Ok(b"one\r\ntw".to_vec()), Ok(b"o".to_vec())]).body;
/// let lines: Result<Vec<Vec<u8>>, _> = body.lines().collect();
/// assert_eq!(lines.unwrap(), [b"one", b"two"]);
/// ```
pub struct Lines {
    /// None after its end, and after an error.
    body: Option<Body>,
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where no line end was found.
    searched: usize,
}

impl Lines {
    pub(super) fn of(body: Body) -> Self {
        Self {
            body: Some(body),
            buffer: Vec::new(),
            start: 0,
            searched: 0,
        }
    }

    /// The next line that is whole.
    fn found(&mut self) -> Option<Vec<u8>> {
        let unseen = self.buffer.get(self.searched..)?;
        let end = self.searched + unseen.iter().position(|byte| *byte == b'\n')?;
        let line = self.buffer.get(self.start..end).map(ended);
        (self.start, self.searched) = (end + 1, end + 1);
        line
    }

    /// Waits for more of the body; false at its end.
    fn fill(&mut self) -> Result<bool> {
        self.buffer.drain(..self.start);
        (self.start, self.searched) = (0, self.buffer.len());
        if self.buffer.len() > LONGEST {
            let message = format!("a line of the response is longer than {LONGEST} bytes");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        let piece = self.body.as_mut().map_or(Ok(None), Body::read)?;
        self.buffer
            .extend_from_slice(piece.as_deref().unwrap_or_default());
        Ok(piece.is_some())
    }
}

impl Iterator for Lines {
    type Item = Result<Vec<u8>>;

    /// Waits for a line. The last one needs no end.
    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        loop {
            if let Some(line) = self.found() {
                return Some(Ok(line));
            }
            self.body.as_ref()?;
            match self.fill() {
                Ok(true) => {}
                Ok(false) => {
                    self.body = None;
                    let rest = std::mem::take(&mut self.buffer);
                    return (!rest.is_empty()).then(|| Ok(ended(&rest)));
                }
                Err(error) => {
                    self.body = None;
                    self.buffer.clear();
                    return Some(Err(error));
                }
            }
        }
    }
}

/// A line without the `\r` of its end.
fn ended(line: &[u8]) -> Vec<u8> {
    line.strip_suffix(b"\r").unwrap_or(line).to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::Response;
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let pieces = pieces.iter().map(|piece| Ok(piece.to_vec())).collect();
        let lines = Response::scripted(200, pieces).body.lines();
        lines
            .map(|line| String::from_utf8(line.unwrap()).unwrap())
            .collect()
    }

    #[test]
    fn lines_come_whole_however_the_body_is_cut() {
        let body = b"one\n\nthree\r\nlast";
        let whole = lines(&[body]);
        assert_eq!(whole, ["one", "", "three", "last"]);
        for at in 1..body.len() {
            assert_eq!(lines(&[&body[..at], &body[at..]]), whole, "{at}");
        }
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        assert_eq!(lines(&bytes), whole);
        assert_eq!(lines(&[]), [""; 0]);
        assert_eq!(lines(&[b"a\n"]), ["a"]);
    }

    #[test]
    fn an_error_of_the_body_ends_the_lines() {
        let lost = Error::new(ErrorKind::ConnectionLost, "cut");
        let pieces = vec![Ok(b"one\ntw".to_vec()), Err(lost)];
        let mut lines = Response::scripted(200, pieces).body.lines();
        assert_eq!(lines.next().unwrap().unwrap(), b"one");
        let error = lines.next().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionLost);
        assert!(lines.next().is_none());
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let pieces = (0..5)
            .map(|_| Ok(vec![b'x'; LONGEST / 4]))
            .chain([Ok(vec![b'x'])]);
        let mut lines = Response::scripted(200, pieces.collect()).body.lines();
        let error = lines.next().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(lines.next().is_none());
    }
}
