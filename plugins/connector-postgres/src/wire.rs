//! Messages over the transport: framing with bounds, one output buffer, one input buffer that is reused.

use std::io::Read;
use std::time::Instant;

use bytes::{BufMut, BytesMut};
use mindhost_sdk::net::{TcpStream, transport_error as transport};
use mindhost_sdk::tls::MaybeTls;
use mindhost_sdk::{Error, ErrorKind, Result, control};
use postgres_protocol::message::backend::{self, Message};

use crate::error::{ServerError, chatty, malformed};
use crate::fields::CutFields;

/// Room for the bytes that one read fetches, and for most messages.
const INPUT_SIZE: usize = 256 << 10;
/// A header: the tag and the length, which counts itself.
const HEADER: usize = 5;
/// The longest message, other than a row, that a PostgreSQL server has reason to send.
pub(crate) const MAX_CONTROL_MESSAGE: usize = 1 << 20;
/// The longest error or notice: a statement that it quotes may be as long as a text can be in PostgreSQL.
const MAX_ERROR: usize = 1 << 30;
/// Messages, and their bytes, that may come after a request or a row before the next row. A server that sends more never
/// answers. Notices are dropped as they come, so only their number counts.
const MAX_CHATTER: usize = 1_000_000;
const MAX_CHATTER_BYTES: usize = 64 << 20;

/// The bytes below the messages.
pub(crate) type Transport = MaybeTls<TcpStream>;

/// One message of the server, still in the input buffer.
pub(crate) struct Frame<'a> {
    pub(crate) tag: u8,
    pub(crate) body: &'a [u8],
}

impl Frame<'_> {
    /// Decodes any message but a row.
    pub(crate) fn message(&self) -> Result<Message> {
        let mut bytes = BytesMut::with_capacity(HEADER + self.body.len());
        bytes.put_u8(self.tag);
        // The length was checked when the frame was cut out.
        bytes.put_u32(u32::try_from(self.body.len() + 4).unwrap_or(u32::MAX));
        bytes.extend_from_slice(self.body);
        match Message::parse(&mut bytes) {
            Ok(Some(message)) => Ok(message),
            _ => Err(malformed("a message")),
        }
    }

    /// Decodes an ErrorResponse.
    pub(crate) fn server_error(&self) -> Result<ServerError> {
        match self.message()? {
            Message::ErrorResponse(body) => ServerError::parse(&body),
            _ => Err(malformed("a message")),
        }
    }
}

/// The connection as a sequence of messages.
pub(crate) struct Wire {
    transport: Transport,
    input: Vec<u8>,
    start: usize,
    end: usize,
    /// Messages that were read ahead of their turn, served before the transport's.
    replay: Vec<u8>,
    replayed: usize,
    /// Messages to send with the next flush.
    pub(crate) output: BytesMut,
    max_row: usize,
    /// What came since the last request or row.
    chatter: Chatter,
    /// Requests whose end the server has not told yet.
    unanswered: u32,
    /// The call was told to end, and only the end of what runs in the server is waited for.
    is_ending: bool,
}

/// Messages, and their bytes, that are no rows.
#[derive(Default)]
struct Chatter {
    messages: usize,
    bytes: usize,
}

impl Chatter {
    /// Counts a message; a row begins anew.
    #[inline]
    fn count(&mut self, tag: u8, length: usize) -> Result<()> {
        if tag == backend::DATA_ROW_TAG {
            *self = Self::default();
            return Ok(());
        }
        if self.messages >= MAX_CHATTER {
            return Err(chatty(MAX_CHATTER, "messages"));
        }
        if self.bytes >= MAX_CHATTER_BYTES {
            return Err(chatty(MAX_CHATTER_BYTES, "bytes of messages"));
        }
        self.messages += 1;
        if tag != backend::NOTICE_RESPONSE_TAG {
            self.bytes += length;
        }
        Ok(())
    }
}

impl Wire {
    pub(crate) fn new(transport: Transport) -> Self {
        Self {
            transport,
            input: vec![0; INPUT_SIZE],
            start: 0,
            end: 0,
            replay: Vec::new(),
            replayed: 0,
            output: BytesMut::with_capacity(1024),
            max_row: MAX_CONTROL_MESSAGE,
            chatter: Chatter::default(),
            unanswered: 0,
            is_ending: false,
        }
    }

    /// The longest row that is accepted from here on, in bytes.
    pub(crate) fn set_max_row(&mut self, bytes: usize) {
        self.max_row = bytes.max(MAX_CONTROL_MESSAGE);
    }

    /// When waiting for the server ends even though the call has time left.
    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.transport.get_mut().set_deadline(deadline);
    }

    /// Sends what was put into `output`.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        self.chatter = Chatter::default();
        self.unanswered += requests(&self.output);
        let sent = self.transport.send(&self.output);
        self.output.clear();
        sent.map_err(|error| transport(&error))
    }

    /// The next message that is not a notice, a parameter's new value or a notification.
    pub(crate) fn next(&mut self) -> Result<Frame<'_>> {
        loop {
            let (tag, length) = self.locate()?;
            self.chatter.count(tag, length)?;
            if !matches!(
                tag,
                backend::NOTICE_RESPONSE_TAG
                    | backend::PARAMETER_STATUS_TAG
                    | backend::NOTIFICATION_RESPONSE_TAG
            ) {
                return Ok(self.cut(tag, length));
            }
            self.cut(tag, length);
        }
    }

    /// The next message, whatever it is.
    pub(crate) fn next_any(&mut self) -> Result<Frame<'_>> {
        let (tag, length) = self.locate()?;
        self.chatter.count(tag, length)?;
        Ok(self.cut(tag, length))
    }

    /// Whether the next message is here already, so that asking for it cannot wait.
    pub(crate) fn has_next(&self) -> bool {
        let bytes = self.available();
        header(bytes).is_some_and(|(_, length)| bytes.len() >= HEADER + length)
    }

    /// Moves the messages up to and including the next ReadyForQuery into memory, so that another request can be
    /// answered before they are decoded. False, with nothing lost, when they are larger than `limit`; nothing is lost
    /// either when waiting for them fails.
    pub(crate) fn read_ahead(&mut self, limit: usize) -> Result<bool> {
        let mut ahead = Vec::new();
        let outcome = loop {
            let (tag, length) = match self.locate() {
                Ok(located) => located,
                Err(error) => break Err(error),
            };
            if ahead.len() + length > limit {
                break Ok(false);
            }
            let from = self.start;
            self.start += HEADER + length;
            ahead.extend_from_slice(&self.input[from..self.start]);
            if tag == backend::READY_FOR_QUERY_TAG {
                self.unanswered = self.unanswered.saturating_sub(1);
                break Ok(true);
            }
        };
        self.put_replay(ahead);
        outcome
    }

    /// Puts the messages that were read ahead aside while another request is answered.
    pub(crate) fn take_replay(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.replay)
    }

    /// Serves these messages before those of the transport.
    pub(crate) fn put_replay(&mut self, messages: Vec<u8>) {
        self.replay = messages;
        self.replayed = 0;
    }

    #[inline]
    fn available(&self) -> &[u8] {
        if self.replayed < self.replay.len() {
            &self.replay[self.replayed..]
        } else {
            &self.input[self.start..self.end]
        }
    }

    /// Makes the next message whole in the buffer; its tag and the length of its body.
    #[inline]
    fn locate(&mut self) -> Result<(u8, usize)> {
        let bytes = self.available();
        match header(bytes) {
            Some((tag, length)) if bytes.len() >= HEADER + length => Ok((tag, length)),
            _ => self.receive(),
        }
    }

    #[inline]
    fn cut(&mut self, tag: u8, length: usize) -> Frame<'_> {
        if self.replayed < self.replay.len() {
            let from = self.replayed + HEADER;
            self.replayed = from + length;
            return Frame {
                tag,
                body: &self.replay[from..from + length],
            };
        }
        if tag == backend::READY_FOR_QUERY_TAG {
            self.unanswered = self.unanswered.saturating_sub(1);
        }
        let from = self.start + HEADER;
        self.start = from + length;
        Frame {
            tag,
            body: &self.input[from..from + length],
        }
    }

    #[cold]
    fn receive(&mut self) -> Result<(u8, usize)> {
        loop {
            let needed = match header(&self.input[self.start..self.end]) {
                Some((tag, length)) => {
                    if length > MAX_CONTROL_MESSAGE && has_fields(tag) {
                        return self.receive_cut(tag, length);
                    }
                    self.check_length(tag, length)?;
                    if self.end - self.start >= HEADER + length {
                        return Ok((tag, length));
                    }
                    HEADER + length
                }
                None => HEADER,
            };
            self.make_room(needed);
            if let Err(error) = self.fetch() {
                self.see_the_end();
                return Err(error);
            }
        }
    }

    /// Reads more bytes into the room that there is.
    fn fetch(&mut self) -> Result<()> {
        let read = self
            .transport
            .read(&mut self.input[self.end..])
            .map_err(|error| transport(&error))?;
        if read == 0 {
            return Err(Error::new(
                ErrorKind::ConnectionLost,
                "the server closed the connection",
            ));
        }
        self.end += read;
        Ok(())
    }

    /// Reads an error or notice that is too long to be kept, and puts a short one in its place.
    fn receive_cut(&mut self, tag: u8, length: usize) -> Result<(u8, usize)> {
        if length > MAX_ERROR {
            return Err(malformed("a message"));
        }
        self.start += HEADER;
        let (mut fields, mut left) = (CutFields::default(), length);
        while left > 0 {
            if self.start == self.end {
                self.make_room(HEADER);
                self.fetch()?;
            }
            let piece = left.min(self.end - self.start);
            fields.take(&self.input[self.start..self.start + piece]);
            self.start += piece;
            left -= piece;
        }
        let body = fields.finish().ok_or_else(|| malformed("a message"))?;
        let rest = self.input[self.start..self.end].to_vec();
        let size = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
        (self.start, self.end) = (0, HEADER + body.len() + rest.len());
        self.input.clear();
        self.input.push(tag);
        self.input.extend(size.to_be_bytes());
        self.input.extend_from_slice(&body);
        self.input.extend_from_slice(&rest);
        self.input.resize(self.end.max(INPUT_SIZE), 0);
        Ok((tag, body.len()))
    }

    /// Where the host wants the call to end while the server works: waits until the server says that it has stopped. In
    /// that time the host cancels the statement and keeps its connection slot.
    fn see_the_end(&mut self) {
        if self.is_ending || self.unanswered == 0 || control::check().is_ok() {
            return;
        }
        self.is_ending = true;
        self.transport.get_mut().outlast_call();
        while self.unanswered > 0 {
            match self.locate() {
                Ok((tag, length)) => {
                    self.cut(tag, length);
                }
                // The connection is gone, and with it the statement.
                Err(_) => return,
            }
        }
    }

    fn check_length(&self, tag: u8, length: usize) -> Result<()> {
        if tag == backend::DATA_ROW_TAG {
            if length > self.max_row {
                let message = format!(
                    "a row of {length} bytes is larger than the limit of {} bytes",
                    self.max_row
                );
                return Err(Error::new(ErrorKind::TooLarge, message).connection_usable(false));
            }
        } else if length > MAX_CONTROL_MESSAGE || !is_backend_tag(tag) {
            return Err(malformed("a message"));
        }
        Ok(())
    }

    /// Moves what is left to the front and makes room for `needed` bytes in all.
    fn make_room(&mut self, needed: usize) {
        self.input.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if needed > self.input.len() {
            self.input.resize(needed, 0);
        } else if needed <= INPUT_SIZE && self.end <= INPUT_SIZE && self.input.len() > INPUT_SIZE {
            // One huge row must not keep its memory for the life of the connection.
            self.input.truncate(INPUT_SIZE);
            self.input.shrink_to_fit();
        }
    }
}

/// How many of these messages have an answer that ends with a ReadyForQuery.
fn requests(mut messages: &[u8]) -> u32 {
    let mut requests = 0;
    while let Some((tag, length)) = header(messages) {
        requests += u32::from(matches!(tag, b'Q' | b'S'));
        messages = messages
            .get(HEADER.saturating_add(length)..)
            .unwrap_or_default();
    }
    requests
}

/// The tag and the length of the body. A length below its own size counts as endless, which no check lets pass.
#[inline]
fn header(bytes: &[u8]) -> Option<(u8, usize)> {
    let header: &[u8; HEADER] = bytes.get(..HEADER)?.try_into().ok()?;
    let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]);
    let body = length.checked_sub(4).unwrap_or(u32::MAX);
    Some((
        header[0],
        usize::try_from(body)
            .unwrap_or(usize::MAX)
            .min(usize::MAX - HEADER),
    ))
}

/// Whether a message is a list of fields, each of which ends with a zero.
fn has_fields(tag: u8) -> bool {
    matches!(
        tag,
        backend::ERROR_RESPONSE_TAG | backend::NOTICE_RESPONSE_TAG
    )
}

fn is_backend_tag(tag: u8) -> bool {
    b"123ACcDdEGHIKNnRSsTtvVWZ".contains(&tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_without_a_row_between_them_add_up() {
        let mut chatter = Chatter::default();
        // A function that says something for each of many rows.
        for _ in 0..2 * MAX_CHATTER {
            assert!(chatter.count(backend::NOTICE_RESPONSE_TAG, 1 << 20).is_ok());
            assert!(chatter.count(backend::DATA_ROW_TAG, 8).is_ok());
        }
        for _ in 0..MAX_CHATTER {
            assert!(chatter.count(backend::NOTICE_RESPONSE_TAG, 1 << 20).is_ok());
        }
        assert!(chatter.count(backend::NOTICE_RESPONSE_TAG, 8).is_err());
        let mut chatter = Chatter::default();
        let large = MAX_CHATTER_BYTES;
        assert!(chatter.count(backend::PARAMETER_STATUS_TAG, large).is_ok());
        assert!(chatter.count(backend::PARAMETER_STATUS_TAG, 1).is_err());
    }
}
