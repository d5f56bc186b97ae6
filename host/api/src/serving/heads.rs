//! Follows the framing of a client's requests, and finds heads that give the length of their body twice.
//!
//! The HTTP library reads such a request by its chunks and does not report the other length. A proxy in front may have
//! used the other one, and then sees two requests where this server sees one (request smuggling). If the length of a
//! body is unclear, no later request on the connection is accepted, because it may be a part of that body.

use memchr::memchr;

/// Size limit of a line that arrives in pieces. A longer one makes the framing unclear if its end could matter.
const LINE: usize = 4096;

/// Follows the framing of HTTP/1.1. It refuses nothing itself: the library refuses malformed requests and closes the
/// connection. If the library accepts what this does not understand, [`Self::unclear_from`] says which requests to
/// refuse.
#[derive(Default)]
pub(super) struct Heads {
    stage: Stage,
    /// The start of an incomplete line.
    line: Vec<u8>,
    head: Head,
    /// Number of complete heads.
    count: u32,
    with_two_lengths: Option<u32>,
    unclear_from: Option<u32>,
}

/// The state of the incomplete head.
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
    /// The remaining bytes of a body.
    Body(u64),
    ChunkSize,
    /// The remaining bytes of a chunk, with its line end.
    Chunk(u64),
    Trailers,
    /// Not HTTP, or the start of the next head is unclear.
    Lost,
}

impl Heads {
    /// The number, from 1, of the head that has both a `Content-Length` and a `Transfer-Encoding`. The library closes
    /// the connection after it, so there is one.
    pub fn with_two_lengths(&self) -> Option<u32> {
        self.with_two_lengths
    }

    /// The number, from 1, of the first request that may be part of another one's body, or whose length is unclear.
    pub fn unclear_from(&self) -> Option<u32> {
        self.unclear_from
    }

    /// Whether a complete or partial head arrived that is not a counted request.
    pub fn is_refused(&self, taken: u32) -> bool {
        self.count > taken || self.head.has_begun || !self.line.is_empty()
    }

    /// Follows received bytes.
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
            if room < bytes.len() && self.is_needed_whole() {
                self.stage = self.lost();
            }
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

    /// Whether the incomplete line gives a length, so that its end matters.
    fn is_needed_whole(&self) -> bool {
        match self.stage {
            Stage::Head if self.head.has_begun => {
                let name = memchr(b':', &self.line).map(|colon| &self.line[..colon]);
                name.is_none_or(|name| Field::named(name).is_some())
            }
            Stage::ChunkSize => true,
            _ => false,
        }
    }

    /// Stops following: the incomplete head and everything after it are unclear.
    fn lost(&mut self) -> Stage {
        let next = self.count.saturating_add(1);
        self.unclear_from.get_or_insert(next);
        Stage::Lost
    }

    fn take(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.stage = match (self.stage, line.is_empty()) {
            (Stage::Head, false) => match self.head.read(line) {
                true => Stage::Head,
                false => self.lost(),
            },
            // Empty lines before a request are ignored.
            (Stage::Head, true) if !self.head.has_begun => Stage::Head,
            (Stage::Head, true) => self.end_of_head(),
            (Stage::ChunkSize, _) => match chunk_size(line) {
                Some(0) => Stage::Trailers,
                Some(size) => Stage::Chunk(size.saturating_add(2)),
                None => self.lost(),
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
    /// Reads a line; the first is the request line. Returns false for an invalid length.
    fn read(&mut self, line: &[u8]) -> bool {
        if !self.has_begun {
            self.has_begun = true;
            return true;
        }
        let Some(colon) = memchr(b':', line) else {
            return true;
        };
        match Field::named(&line[..colon]) {
            Some(Field::TransferEncoding) => self.is_chunked = true,
            Some(Field::ContentLength) => {
                self.length = length(line[colon + 1..].trim_ascii());
                return self.length.is_some();
            }
            None => {}
        }
        true
    }
}

/// The headers that determine the end of a body.
#[derive(Clone, Copy)]
enum Field {
    ContentLength,
    TransferEncoding,
}

impl Field {
    fn named(name: &[u8]) -> Option<Self> {
        let name = name.trim_ascii();
        if name.eq_ignore_ascii_case(b"content-length") {
            Some(Self::ContentLength)
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            Some(Self::TransferEncoding)
        } else {
            None
        }
    }
}

/// A number that consists of digits only.
fn length(value: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(value).ok()?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// The size of a chunk, without its extensions.
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

    /// The result, for every way to cut the bytes into packets.
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

    /// The first refused request, for bytes in these packets.
    fn unclear_from(packets: &[&str]) -> Option<u32> {
        let mut heads = Heads::default();
        packets
            .iter()
            .for_each(|packet| heads.follow(packet.as_bytes()));
        heads.unclear_from()
    }

    #[test]
    fn a_long_line_that_says_a_length_makes_what_is_behind_it_unclear() {
        let spaces = " ".repeat(5_000);
        let begin = |line: &str| format!("POST / HTTP/1.1\r\n{line}");
        let length = begin(&format!("Content-Length:{spaces}"));
        assert_eq!(unclear_from(&[&length, "60\r\n\r\n"]), Some(1));
        let behind = format!("{CHUNKED}{CHUNKS}{length}");
        assert_eq!(unclear_from(&[&behind, "60\r\n\r\n"]), Some(2));
        for line in [
            format!("Transfer-Encoding:{spaces}"),
            spaces.clone(),
            "x".repeat(5_000),
        ] {
            assert_eq!(unclear_from(&[&begin(&line)]), Some(1), "{line:.20}");
        }
        let size = format!("{CHUNKED}{}", "0".repeat(5_000));
        assert_eq!(unclear_from(&[&size, "60\r\n"]), Some(2));
        // What comes at once is read to its end, ...
        let whole = format!("{length}60\r\n\r\n{}", "x".repeat(60));
        assert_eq!(unclear_from(&[&whole]), None);
        // ... and of what says no length the end does not matter.
        let other = begin(&format!("X-Long: {spaces}"));
        let target = format!("GET /{}", "x".repeat(5_000));
        let both = [&*other, "x\r\n\r\n", &*target, " HTTP/1.1\r\n\r\n"];
        assert_eq!(unclear_from(&both), None);
    }

    #[test]
    fn a_length_that_is_no_number_makes_the_request_unclear() {
        for length in ["", "+2", "2, 2", "0x2", "99999999999999999999"] {
            let head = format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
            assert_eq!(unclear_from(&[&head]), Some(1), "{length:?}");
        }
        assert_eq!(unclear_from(&[CHUNKED, "no size\r\n"]), Some(2));
        assert_eq!(unclear_from(&[CHUNKED, CHUNKS]), None);
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
