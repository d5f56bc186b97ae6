//! Where the heads of requests lie in what a client sends, and which of them say twice how long their body is.
//!
//! The library takes such a request by its chunks and does not tell of the other length. A proxy in front may have gone by
//! that one, and then takes for the body of one request what is another one here.

use memchr::memchr;

/// What is kept of a line that came in pieces. No line that is looked at is longer.
const LINE: usize = 4096;

/// Follows the framing of HTTP/1.1. It refuses nothing itself: what is malformed the library refuses, and the connection
/// ends there.
#[derive(Default)]
pub(super) struct Heads {
    stage: Stage,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    head: Head,
    /// Heads that came to their end.
    count: u32,
    with_two_lengths: Option<u32>,
}

/// What is known of the head that comes.
#[derive(Clone, Copy, Default)]
struct Head {
    has_begun: bool,
    length: Option<u64>,
    is_chunked: bool,
}

#[derive(Clone, Copy, Default)]
enum Stage {
    #[default]
    Head,
    /// So many bytes of a body are to come.
    Body(u64),
    ChunkSize,
    /// So many bytes of a chunk, with the line end behind it.
    Chunk(u64),
    Trailers,
    /// Whatever comes is no HTTP.
    Lost,
}

impl Heads {
    /// The number, from 1, of the head that has both a `Content-Length` and a `Transfer-Encoding`. The library closes the
    /// connection after it, so there is one.
    pub fn with_two_lengths(&self) -> Option<u32> {
        self.with_two_lengths
    }

    /// Whether a head came, whole or in part, that was not taken for a request.
    pub fn is_refused(&self, taken: u32) -> bool {
        self.count > taken || self.head.has_begun || !self.line.is_empty()
    }

    /// Follows what came.
    pub fn follow(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match self.stage {
                Stage::Lost => return,
                Stage::Body(left) => self.skip(bytes, left, Stage::Body, Stage::Head),
                Stage::Chunk(left) => self.skip(bytes, left, Stage::Chunk, Stage::ChunkSize),
                Stage::Head | Stage::ChunkSize | Stage::Trailers => self.line(bytes),
            };
        }
    }

    fn skip<'a>(
        &mut self,
        bytes: &'a [u8],
        left: u64,
        more: fn(u64) -> Stage,
        then: Stage,
    ) -> &'a [u8] {
        let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        self.stage = match left - here as u64 {
            0 => then,
            left => more(left),
        };
        &bytes[here..]
    }

    fn line<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(end) = memchr(b'\n', bytes) else {
            let room = LINE.saturating_sub(self.line.len()).min(bytes.len());
            self.line.extend_from_slice(&bytes[..room]);
            return &[];
        };
        let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
        if self.line.is_empty() {
            self.take(line);
        } else {
            let mut whole = std::mem::take(&mut self.line);
            whole.extend_from_slice(line);
            self.take(&whole);
        }
        rest
    }

    fn take(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.stage = match (self.stage, line.is_empty()) {
            (Stage::Head, false) => {
                self.head.read(line);
                Stage::Head
            }
            // Empty lines before a request count for nothing.
            (Stage::Head, true) if !self.head.has_begun => Stage::Head,
            (Stage::Head, true) => self.end_of_head(),
            (Stage::ChunkSize, _) => match chunk_size(line) {
                Some(0) => Stage::Trailers,
                Some(size) => Stage::Chunk(size.saturating_add(2)),
                None => Stage::Lost,
            },
            (Stage::Trailers, true) => Stage::Head,
            (stage, _) => stage,
        };
    }

    fn end_of_head(&mut self) -> Stage {
        self.count = self.count.saturating_add(1);
        let head = std::mem::take(&mut self.head);
        if head.is_chunked && head.length.is_some() {
            self.with_two_lengths = self.with_two_lengths.or(Some(self.count));
        }
        match head {
            Head {
                is_chunked: true, ..
            } => Stage::ChunkSize,
            Head {
                length: Some(length @ 1..),
                ..
            } => Stage::Body(length),
            _ => Stage::Head,
        }
    }
}

impl Head {
    /// Reads a line: the first is the request's own.
    fn read(&mut self, line: &[u8]) {
        if !self.has_begun {
            self.has_begun = true;
            return;
        }
        let Some(colon) = memchr(b':', line) else {
            return;
        };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.is_chunked = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            // One that is no number is refused by the library.
            let length = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok());
            self.length = length.or(Some(0));
        }
    }
}

/// The size of a chunk; what stands behind it is an extension.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line
        .split(|byte| matches!(byte, b';' | b' ' | b'\t'))
        .next()?;
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNKED: &str = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    const CHUNKS: &str = "7;a=b\r\ncontent\r\n0\r\nTrailer: x\r\n\r\n";
    const BOTH: &str =
        "POST / HTTP/1.1\r\ntransfer-ENCODING: chunked\r\nX: y\r\nContent-Length:\t5\r\n\r\n";

    /// What is found, however the bytes are cut into packets.
    fn check(sent: &str, count: u32, with_two_lengths: Option<u32>) {
        for size in [1, 2, 3, 7, 50, sent.len()] {
            let mut heads = Heads::default();
            for piece in sent.as_bytes().chunks(size) {
                heads.follow(piece);
            }
            let found = (heads.count, heads.with_two_lengths());
            assert_eq!(found, (count, with_two_lengths), "{size}: {sent:?}");
        }
    }

    #[test]
    fn heads_are_found_behind_bodies_of_both_kinds() {
        let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let body = "POST / HTTP/1.1\r\nContent-Length: 19\r\n\r\nContent-Length: 5\r\n";
        let chunks = "11;a=b\r\nContent-Length: 5\r\n0\r\nTrailer: x\r\n\r\n";
        check(get, 1, None);
        check(&format!("\r\n{get}{body}{get}"), 3, None);
        check(&format!("{CHUNKED}{chunks}{get}{body}"), 3, None);
        check(&get.replace('\r', ""), 1, None);
    }

    #[test]
    fn the_head_with_two_lengths_is_told_by_its_number() {
        let other =
            "POST / HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding: gzip, chunked\r\n\r\n";
        check(BOTH, 1, Some(1));
        check(other, 1, Some(1));
        check(&format!("{CHUNKED}{CHUNKS}{BOTH}"), 2, Some(2));
    }

    #[test]
    fn what_is_no_http_is_followed_no_further() {
        check(&format!("{CHUNKED}no size\r\n{BOTH}"), 1, None);
    }

    #[test]
    fn a_head_that_is_not_taken_is_refused() {
        let mut heads = Heads::default();
        assert!(!heads.is_refused(0));
        heads.follow(b"GET /");
        assert!(heads.is_refused(0));
        heads.follow(b" HTTP/1.1\r\n\r\n");
        assert!(heads.is_refused(0) && !heads.is_refused(1));
    }
}
