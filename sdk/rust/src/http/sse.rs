//! Server-sent events: the `data` of each event.
//!
//! Written here because the crates for it are built on asynchronous streams, and a guest reads its body piece by piece
//! without a reactor.

use crate::error::{Error, ErrorKind, Result};

/// The longest event taken; a longer one is not a delta of a text.
const LONGEST: usize = 4 * 1024 * 1024;

/// Collects bytes into events, however they are cut. It holds at most 4 MiB.
///
/// ```
/// use mindhost_sdk::http::sse::Parser;
///
/// let mut parser = Parser::default();
/// assert!(parser.push(b"event: x\ndata: {\"a\"").unwrap().is_empty());
/// assert_eq!(parser.push(b":1}\n\n").unwrap(), [r#"{"a":1}"#]);
/// ```
#[derive(Debug, Default)]
pub struct Parser {
    /// The line that is not ended yet.
    line: Vec<u8>,
    /// The data lines of the event that is not ended yet.
    data: Option<Vec<u8>>,
    /// The last byte was a carriage return, so that a line feed after it belongs to it.
    after_return: bool,
    /// Anything came yet; before that, a byte order mark may.
    started: bool,
}

impl Parser {
    /// Takes bytes; gives the data of each event that they complete.
    ///
    /// # Errors
    /// `TooLarge` for an event without end.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>> {
        let mut events = Vec::new();
        for &byte in bytes {
            let ends_line = byte == b'\r' || byte == b'\n';
            if !(byte == b'\n' && self.after_return) {
                if ends_line {
                    self.end_line(&mut events);
                } else {
                    self.line.push(byte);
                }
            }
            self.after_return = byte == b'\r';
        }
        if self.line.len() + self.data.as_ref().map_or(0, Vec::len) > LONGEST {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("an event of the answer is larger than {LONGEST} bytes"),
            ));
        }
        Ok(events)
    }

    /// The event that the end of the body completes: some servers leave out its last empty line.
    pub fn finish(&mut self) -> Option<String> {
        let mut events = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut events);
        }
        self.end_event(&mut events);
        events.pop()
    }

    fn end_line(&mut self, events: &mut Vec<String>) {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !self.started {
            self.started = true;
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.end_event(events);
        }
        let (name, value) = match line.iter().position(|b| *b == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        // A line that starts with a colon is a comment; other fields than `data` say nothing here.
        if name == b"data" {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            }
        }
    }

    fn end_event(&mut self, events: &mut Vec<String>) {
        if let Some(data) = self.data.take().filter(|d| !d.is_empty()) {
            events.push(String::from_utf8_lossy(&data).into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(pieces: &[&[u8]]) -> Vec<String> {
        let mut parser = Parser::default();
        let mut events: Vec<String> = pieces
            .iter()
            .flat_map(|p| parser.push(p).unwrap())
            .collect();
        events.extend(parser.finish());
        events
    }

    #[test]
    fn events_as_servers_write_them() {
        assert_eq!(
            parse(&[b"data: {\"a\":1}\n\ndata: [DONE]\n\n"]),
            ["{\"a\":1}", "[DONE]"]
        );
        assert_eq!(
            parse(&[b": keepalive\r\n\r\nevent: x\r\ndata:1\r\n\r\n"]),
            ["1"]
        );
        assert_eq!(parse(&[b"data: a\ndata: b\nid: 7\n\n"]), ["a\nb"]);
        assert_eq!(parse(&[b"\xEF\xBB\xBFdata: a\rdata: b\r\r"]), ["a\nb"]);
        assert_eq!(parse(&[b"data: no last line"]), ["no last line"]);
        assert_eq!(parse(&[b"data\n\ndata:\n\n"]), Vec::<String>::new());
    }

    #[test]
    fn a_character_may_be_cut_in_two() {
        assert_eq!(
            parse(&[b"data: \xC3", b"\xA9\r", b"\n\r", b"\ndata: x\n\n"]),
            ["é", "x"]
        );
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; LONGEST / 2 + 1];
        assert!(parser.push(&piece).is_ok());
        assert_eq!(parser.push(&piece).unwrap_err().kind(), ErrorKind::TooLarge);
    }

    proptest! {
        /// However the bytes are cut, the events are the same.
        #[test]
        fn any_cut_gives_the_same_events(
            parts in prop::collection::vec(prop::sample::select(vec![
                "data: é{}", "data:", "data: 1", ": c", "event: e", "\n", "\n\n", "\r\n", "\r", "\u{FEFF}", "[DONE]", " ", "日本"
            ]), 0..40),
            cuts in prop::collection::vec(0_usize..200, 0..20),
        ) {
            let bytes = parts.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            prop_assert_eq!(parse(&pieces), parse(&[&bytes]));
        }
    }
}
