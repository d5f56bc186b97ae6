//! A body as lines.

use mindhost_sdk::http::Body;
use mindhost_sdk::{Error, ErrorKind, Result};

/// A longer line is an error: no answer may fill the memory.
const LONGEST: usize = 32 << 20;

/// The lines of a body that arrives in pieces.
pub struct Lines {
    body: Body,
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where no line end was found.
    searched: usize,
}

impl Lines {
    pub fn of(body: Body) -> Self {
        Self {
            body,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
        }
    }

    /// The next line without its end; none when the body has ended.
    pub fn next(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let unseen = &self.buffer[self.searched..];
            if let Some(length) = unseen.iter().position(|byte| *byte == b'\n') {
                let end = self.searched + length;
                let line = self.buffer[self.start..end].to_vec();
                (self.start, self.searched) = (end + 1, end + 1);
                return Ok(Some(line));
            }
            self.buffer.drain(..self.start);
            (self.start, self.searched) = (0, self.buffer.len());
            if self.buffer.len() > LONGEST {
                return Err(Error::new(
                    ErrorKind::TooLarge,
                    "a row is larger than 32 MiB",
                ));
            }
            match self.body.read()? {
                Some(piece) => self.buffer.extend_from_slice(&piece),
                None if self.buffer.is_empty() => return Ok(None),
                None => {
                    self.searched = 0;
                    return Ok(Some(std::mem::take(&mut self.buffer)));
                }
            }
        }
    }
}
