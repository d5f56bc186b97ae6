//! Messages over the transport: packets out, and a bounded buffer over the packets that come in.

use std::io::Read;
use std::time::{Duration, Instant};

use mindhost_sdk::net::{TcpStream, transport_error};
use mindhost_sdk::tls::MaybeTls;
use mindhost_sdk::{Error, ErrorKind, Result, control};

use crate::error::malformed;
use crate::framed::Framed;

/// The types of the packets that this side sends.
pub(crate) const SQL_BATCH: u8 = 0x01;
pub(crate) const ATTENTION: u8 = 0x06;
pub(crate) const LOGIN7: u8 = 0x10;
pub(crate) const PRELOGIN: u8 = 0x12;
/// The type of everything that a server sends.
const RESPONSE: u8 = 0x04;
/// The last packet of a message.
const END_OF_MESSAGE: u8 = 0x01;
const HEADER: usize = 8;
/// The size of a packet until the server has agreed to another.
const FIRST_PACKET: usize = 4096;
/// The smallest and largest packets of the protocol.
pub(crate) const PACKET_SIZES: std::ops::RangeInclusive<usize> = 512..=32_767;
/// Room for the bytes that one read fetches.
const INPUT_SIZE: usize = 64 << 10;
/// The token DONE as a whole: the token, status, command, row count. A message ends with one.
const DONE: usize = 13;
const DONE_TOKEN: u8 = 0xFD;
const DONE_ATTENTION: u16 = 0x20;

/// The bytes below the packets.
pub(crate) type Transport = MaybeTls<Framed>;

/// The connection as a sequence of messages, of which at most one is read at a time.
pub(crate) struct Wire {
    transport: Transport,
    /// Bytes of the transport that are not yet looked at.
    raw: Vec<u8>,
    start: usize,
    end: usize,
    /// Payload of the current message, and how far it was read.
    body: Vec<u8>,
    at: usize,
    /// The packet that is being read. Waiting for its payload may fail, and reading then goes on where it stopped.
    incoming: Option<Incoming>,
    /// The packet that was read last ends the message.
    is_last: bool,
    /// The last bytes of the message so far.
    tail: [u8; DONE],
    packet_size: usize,
    packet: u8,
    /// A request was sent, and its answer not read to the end.
    awaits: bool,
    /// The call was told to end, and only the end of what runs in the server is waited for.
    is_ending: bool,
}

/// A packet whose header was read.
#[derive(Clone, Copy)]
struct Incoming {
    status: u8,
    /// Bytes of its payload that are still to come.
    missing: usize,
}

impl Wire {
    pub(crate) fn new(transport: Transport) -> Self {
        Self {
            transport,
            raw: vec![0; INPUT_SIZE],
            start: 0,
            end: 0,
            body: Vec::with_capacity(INPUT_SIZE),
            at: 0,
            incoming: None,
            is_last: false,
            tail: [0; DONE],
            packet_size: FIRST_PACKET,
            packet: 0,
            awaits: false,
            is_ending: false,
        }
    }

    /// Puts another transport below, as TLS on top of the socket. Nothing may have been read ahead.
    ///
    /// # Errors
    /// `Upstream` when the server has sent more than it was asked for.
    pub(crate) fn replace(self, make: impl FnOnce(Transport) -> Result<Transport>) -> Result<Self> {
        if self.start != self.end {
            return Err(malformed("bytes between two messages"));
        }
        let packet_size = self.packet_size;
        let mut wire = Self::new(make(self.transport)?);
        wire.packet_size = packet_size;
        Ok(wire)
    }

    fn socket(&mut self) -> &mut TcpStream {
        &mut self.transport.get_mut().socket
    }

    /// When waiting for the server ends even though the call has time left.
    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.socket().set_deadline(deadline);
    }

    /// The size of packets that the server has agreed to.
    pub(crate) fn set_packet_size(&mut self, size: usize) {
        self.packet_size = size;
    }

    /// Sends one message, cut into packets. Its answer is what is read next.
    pub(crate) fn send(&mut self, kind: u8, payload: &[u8]) -> Result<()> {
        self.body.clear();
        (self.at, self.is_last, self.awaits) = (0, false, true);
        self.packet = 0;
        self.write(kind, payload)
    }

    fn write(&mut self, kind: u8, payload: &[u8]) -> Result<()> {
        let room = self.packet_size - HEADER;
        let packets = payload.len().div_ceil(room).max(1);
        let mut output = Vec::with_capacity(payload.len() + packets * HEADER);
        for index in 0..packets {
            let piece = &payload[index * room..payload.len().min((index + 1) * room)];
            let status = if index + 1 == packets {
                END_OF_MESSAGE
            } else {
                0
            };
            // A packet has at most 32,767 bytes.
            let length = u16::try_from(piece.len() + HEADER).unwrap_or(u16::MAX);
            let [high, low] = length.to_be_bytes();
            self.packet = self.packet.wrapping_add(1);
            output.extend([kind, status, high, low, 0, 0, self.packet, 0]);
            output.extend_from_slice(piece);
        }
        let sent = self.transport.send(&output);
        sent.map_err(|error| transport_error(&error))
    }

    /// Whether everything of the current message was read.
    pub(crate) fn is_at_end(&mut self) -> Result<bool> {
        while self.at == self.body.len() {
            if self.is_last {
                self.awaits = false;
                return Ok(true);
            }
            self.fill()?;
        }
        Ok(false)
    }

    /// Whether more of the message is here, so that reading on cannot wait at once.
    pub(crate) fn has_more(&self) -> bool {
        self.at < self.body.len() || self.start + HEADER < self.end
    }

    /// An answer is on its way to what was sent before the transport was replaced.
    pub(crate) fn expect_answer(&mut self) {
        self.awaits = true;
    }

    /// The message as a whole.
    ///
    /// # Errors
    /// `Upstream` when it is longer than `most` bytes.
    pub(crate) fn whole(&mut self, most: usize) -> Result<Vec<u8>> {
        let mut whole = Vec::new();
        while !self.is_at_end()? {
            whole.extend_from_slice(&self.body[self.at..]);
            self.at = self.body.len();
            if whole.len() > most {
                return Err(malformed("an answer"));
            }
        }
        Ok(whole)
    }

    /// The next `length` bytes of the message, which the caller has bounded.
    pub(crate) fn take(&mut self, length: usize) -> Result<&[u8]> {
        while self.body.len() - self.at < length {
            if self.is_last {
                return Err(malformed("a message that ends too early"));
            }
            self.fill()?;
        }
        let from = self.at;
        self.at += length;
        Ok(&self.body[from..self.at])
    }

    /// Passes over bytes of the message without keeping them.
    pub(crate) fn skip(&mut self, length: usize) -> Result<()> {
        let mut left = length;
        while left > 0 {
            let piece = left.min(INPUT_SIZE);
            self.take(piece)?;
            left -= piece;
        }
        Ok(())
    }

    /// So many bytes as an array.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| malformed("a message"))
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A text of so many UTF-16 units.
    pub(crate) fn text(&mut self, units: usize) -> Result<String> {
        let mut text = String::new();
        crate::decode::utf16(self.take(units * 2)?, &mut text);
        Ok(text)
    }

    /// A text whose length is one byte.
    pub(crate) fn short_text(&mut self) -> Result<String> {
        let units = usize::from(self.u8()?);
        self.text(units)
    }

    /// A text whose length is two bytes.
    pub(crate) fn long_text(&mut self) -> Result<String> {
        let units = usize::from(self.u16()?);
        self.text(units)
    }

    /// Adds the payload of the next packet to the body, or the rest of one that began to come before an error.
    fn fill(&mut self) -> Result<()> {
        if self.at > 0 {
            self.body.drain(..self.at);
            self.at = 0;
        }
        if self.body.is_empty() && self.body.capacity() > 16 * INPUT_SIZE {
            // One huge cell must not keep its memory for the life of the connection.
            self.body.shrink_to(INPUT_SIZE);
        }
        let mut packet = match self.incoming {
            Some(begun) => begun,
            None => self.header()?,
        };
        self.incoming = Some(packet);
        while packet.missing > 0 {
            if self.start == self.end {
                self.fetch()?;
            }
            packet.missing -= self.take_piece(packet.missing);
            self.incoming = Some(packet);
        }
        self.incoming = None;
        self.is_last = packet.status & END_OF_MESSAGE != 0;
        Ok(())
    }

    /// Moves as much of a packet's payload into the body as is here, at most `missing` bytes; how many it was.
    fn take_piece(&mut self, missing: usize) -> usize {
        let piece = missing.min(self.end - self.start);
        let bytes = &self.raw[self.start..self.start + piece];
        self.body.extend_from_slice(bytes);
        let keep = piece.min(DONE);
        self.tail.copy_within(keep.., 0);
        self.tail[DONE - keep..].copy_from_slice(&bytes[piece - keep..]);
        self.start += piece;
        piece
    }

    /// Reads the header of the next packet.
    fn header(&mut self) -> Result<Incoming> {
        while self.end - self.start < HEADER {
            self.fetch()?;
        }
        let header = &self.raw[self.start..self.start + HEADER];
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if header[0] != RESPONSE || length < HEADER {
            return Err(malformed("a packet"));
        }
        let status = header[1];
        self.start += HEADER;
        Ok(Incoming {
            status,
            missing: length - HEADER,
        })
    }

    /// Reads more bytes of the transport.
    fn fetch(&mut self) -> Result<()> {
        if self.start > 0 {
            self.raw.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        match self.transport.read(&mut self.raw[self.end..]) {
            Ok(0) => Err(Error::new(
                ErrorKind::ConnectionLost,
                "the server closed the connection",
            )),
            Ok(read) => {
                self.end += read;
                Ok(())
            }
            Err(error) => {
                let error = transport_error(&error);
                self.see_the_end();
                Err(error)
            }
        }
    }

    /// Where the host wants the call to end while the server works: tells the server to stop, and waits until it says
    /// that it has.
    fn see_the_end(&mut self) {
        if self.is_ending || !self.awaits || control::check().is_ok() {
            return;
        }
        self.is_ending = true;
        self.socket().outlast_call();
        // Where that fails the connection is gone, and with it the statement.
        let _ = self.attention();
    }

    /// Stops what the server does, within so much time. Nothing of its answer is left to be read.
    ///
    /// # Errors
    /// When the server did not confirm: the connection cannot be used again.
    pub(crate) fn stop(&mut self, within: Duration) -> Result<()> {
        if !self.awaits {
            return Ok(());
        }
        self.set_deadline(Some(Instant::now() + within));
        self.attention()?;
        self.set_deadline(None);
        Ok(())
    }

    /// Sends an attention, and reads until the server has confirmed it: at the end of the answer that is on its way, or
    /// in a message of its own.
    fn attention(&mut self) -> Result<()> {
        self.write(ATTENTION, &[])?;
        for _ in 0..2 {
            while !self.is_last {
                self.at = self.body.len();
                self.fill()?;
            }
            self.at = self.body.len();
            let status = u16::from_le_bytes([self.tail[1], self.tail[2]]);
            if self.tail[0] == DONE_TOKEN && status & DONE_ATTENTION != 0 {
                self.awaits = false;
                return Ok(());
            }
            self.is_last = false;
        }
        Err(malformed("two answers to one request"))
    }
}
