//! Packets over the transport: framing with bounds, one output buffer, one input buffer that is reused.

use std::collections::VecDeque;
use std::io::Read;
use std::ops::Range;
use std::time::Instant;

use mindhost_sdk::net::{TcpStream, transport_error};
use mindhost_sdk::tls::MaybeTls;
use mindhost_sdk::{Error, ErrorKind, Result, control};

use crate::error::{ServerError, malformed};
use crate::packet::Reader;

/// Room for the bytes that one read fetches, and for most packets.
const INPUT_SIZE: usize = 256 << 10;
/// A header: the length and the number of the packet in its answer.
const HEADER: usize = 4;
/// What is longer comes in parts, each but the last of this length.
const MAX_PART: usize = 0xff_ffff;
/// The longest packet, other than a row, that a server has reason to send: an error that quotes much.
const MAX_CONTROL_PACKET: usize = 1 << 20;
/// MySQL allows 4096 columns in a table, and so many in an answer.
const MAX_COLUMNS: u64 = 4096;
/// There are more results after this one.
const MORE_RESULTS: u16 = 8;

/// Requests.
const COM_QUERY: u8 = 3;
const COM_PING: u8 = 14;

pub(crate) type Transport = MaybeTls<TcpStream>;

/// Where in the answer to a request the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// There is none.
    Idle,
    Begin,
    Columns(u64),
    ColumnsEnd,
    Rows,
}

/// One packet of an answer.
pub(crate) enum Packet<'a> {
    /// The whole answer to a statement without a result.
    Done,
    /// The number of columns.
    Columns(usize),
    Column(&'a [u8]),
    /// From servers that say so.
    ColumnsEnd,
    Row(&'a [u8]),
    /// The end of the rows.
    End,
    /// The end of the answer.
    Error(ServerError),
}

/// The connection as a sequence of packets.
pub(crate) struct Wire {
    transport: Transport,
    input: Vec<u8>,
    start: usize,
    end: usize,
    /// The parts of a packet that comes in several.
    parts: Vec<u8>,
    is_in_parts: bool,
    output: Vec<u8>,
    /// Rows end with an OK, and columns with nothing.
    without_eof: bool,
    sequence: u8,
    phase: Phase,
    /// The purposes of the requests that have not been answered to the end. The answer to the first is being read.
    purposes: VecDeque<&'static str>,
    max_row: usize,
    /// The call was told to end, and only the end of what runs in the server is waited for.
    is_ending: bool,
}

/// A packet's bytes: in the input buffer, or put together from parts.
enum PacketBytes {
    Input(Range<usize>),
    Parts,
}

impl Wire {
    pub(crate) fn new(transport: Transport, without_eof: bool) -> Self {
        Self {
            transport,
            input: vec![0; INPUT_SIZE],
            start: 0,
            end: 0,
            parts: Vec::new(),
            is_in_parts: false,
            output: Vec::new(),
            without_eof,
            sequence: 0,
            phase: Phase::Idle,
            purposes: VecDeque::new(),
            max_row: MAX_CONTROL_PACKET,
            is_ending: false,
        }
    }

    /// The longest row that is accepted from here on, in bytes.
    pub(crate) fn set_max_row(&mut self, bytes: usize) {
        self.max_row = bytes.max(MAX_CONTROL_PACKET);
    }

    /// When waiting for the server ends even though the call has time left.
    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.transport.get_mut().set_deadline(deadline);
    }

    /// Requests that have not been answered to the end.
    pub(crate) fn unanswered(&self) -> usize {
        self.purposes.len()
    }

    /// The purpose of the request whose answer is being read; empty if there is none.
    pub(crate) fn purpose(&self) -> &'static str {
        self.purposes.front().copied().unwrap_or_default()
    }

    /// Puts a statement into the output. Its purpose completes the sentence "the server refused the request to".
    pub(crate) fn query(&mut self, sql: &str, purpose: &'static str) {
        self.request(COM_QUERY, sql.as_bytes(), purpose);
    }

    /// Puts a request that does nothing into the output.
    pub(crate) fn ping(&mut self) {
        self.request(COM_PING, &[], "answer a ping");
    }

    /// Whether there is a request in the output that was not sent yet.
    pub(crate) fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    fn request(&mut self, command: u8, body: &[u8], purpose: &'static str) {
        put_packet(&[&[command], body], 0, &mut self.output);
        self.purposes.push_back(purpose);
        if self.phase == Phase::Idle {
            self.begin_answer();
        }
    }

    fn begin_answer(&mut self) {
        self.phase = Phase::Begin;
        self.sequence = 1;
    }

    /// Sends what was put into the output.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let sent = self.transport.send(&self.output);
        self.output.clear();
        // One huge statement must not keep its memory for the life of the connection.
        self.output.shrink_to(INPUT_SIZE);
        sent.map_err(|error| transport_error(&error))
    }

    /// The next packet of an answer.
    ///
    /// # Errors
    /// What the transport says; `Upstream` for what the protocol does not allow; `TooLarge` for a row above the limit.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Packet<'_>> {
        let limit = match self.phase {
            Phase::Rows => self.max_row,
            _ => MAX_CONTROL_PACKET,
        };
        let place = match self.locate(limit) {
            Ok(place) => place,
            Err(error) => {
                self.see_the_end();
                return Err(error);
            }
        };
        // Not `self.body`: the borrow would last until the end.
        let body = match place {
            PacketBytes::Input(range) => &self.input[range],
            PacketBytes::Parts => &self.parts[..],
        };
        let (packet, phase) = read(self.phase, body, self.without_eof)?;
        self.phase = phase;
        if phase == Phase::Idle {
            self.purposes.pop_front();
            if !self.purposes.is_empty() {
                self.phase = Phase::Begin;
                self.sequence = 1;
            }
        }
        Ok(packet)
    }

    /// Whether the next packet is here already, so that asking for it cannot wait.
    pub(crate) fn has_next(&self) -> bool {
        let bytes = &self.input[self.start..self.end];
        bytes
            .first_chunk()
            .is_some_and(|header| bytes.len() >= HEADER + length(header))
    }

    /// Makes the next packet whole.
    #[inline]
    fn locate(&mut self, limit: usize) -> Result<PacketBytes> {
        if !self.is_in_parts {
            let range = self.part(limit)?;
            if range.len() < MAX_PART {
                return Ok(PacketBytes::Input(range));
            }
            self.parts.clear();
            self.parts.extend_from_slice(&self.input[range]);
            self.is_in_parts = true;
        }
        loop {
            let range = self.part(limit - self.parts.len().min(limit))?;
            let is_last = range.len() < MAX_PART;
            self.parts.extend_from_slice(&self.input[range]);
            if is_last {
                self.is_in_parts = false;
                return Ok(PacketBytes::Parts);
            }
        }
    }

    #[inline]
    fn part(&mut self, limit: usize) -> Result<Range<usize>> {
        loop {
            let bytes = &self.input[self.start..self.end];
            let needed = match bytes.first_chunk() {
                Some(header) => {
                    let length = length(header);
                    if length > limit {
                        return Err(self.too_long());
                    }
                    if bytes.len() >= HEADER + length {
                        if header[3] != self.sequence {
                            let body = bytes.get(HEADER..HEADER + length).unwrap_or_default();
                            return Err(self.out_of_order(header[3], body));
                        }
                        self.sequence = self.sequence.wrapping_add(1);
                        let from = self.start + HEADER;
                        self.start = from + length;
                        return Ok(from..self.start);
                    }
                    HEADER + length
                }
                None => HEADER,
            };
            self.fetch(needed)?;
        }
    }

    /// What a packet means that has another number than the next one.
    ///
    /// A server that ends an idle session (4031 after `wait_timeout`, 1053, 1927) says so in an error with the number
    /// 0, and reads nothing more. The error then stands where the answer to the next request is to begin.
    #[cold]
    fn out_of_order(&self, number: u8, body: &[u8]) -> Error {
        if self.phase != Phase::Begin || number != 0 {
            return malformed("a packet out of order");
        }
        match body.split_first() {
            Some((0xff, rest)) => {
                ServerError::parse(rest).map_or_else(|error| error, ServerError::into_lost)
            }
            _ => malformed("a packet out of order"),
        }
    }

    #[cold]
    fn too_long(&self) -> Error {
        if self.phase != Phase::Rows {
            return malformed("a packet of a length");
        }
        let message = format!("a row is larger than the limit of {} bytes", self.max_row);
        Error::new(ErrorKind::TooLarge, message).connection_usable(false)
    }

    /// Makes room for `needed` bytes in all, and reads more into it.
    #[cold]
    fn fetch(&mut self, needed: usize) -> Result<()> {
        self.input.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if needed > self.input.len() {
            self.input.resize(needed, 0);
        } else if needed <= INPUT_SIZE && self.end <= INPUT_SIZE && self.input.len() > INPUT_SIZE {
            // One huge row must not keep its memory for the life of the connection.
            self.input.truncate(INPUT_SIZE);
            self.input.shrink_to_fit();
            if !self.is_in_parts {
                self.parts = Vec::new();
            }
        }
        let read = self
            .transport
            .read(&mut self.input[self.end..])
            .map_err(|error| transport_error(&error))?;
        if read == 0 {
            let message = "the server closed the connection";
            return Err(Error::new(ErrorKind::ConnectionLost, message).connection_usable(false));
        }
        self.end += read;
        Ok(())
    }

    /// Where the host wants the call to end while the server works: waits until the server says that it has stopped. In
    /// that time the host cancels the statement and keeps its connection slot.
    fn see_the_end(&mut self) {
        if self.is_ending || self.phase == Phase::Idle || control::check().is_ok() {
            return;
        }
        self.is_ending = true;
        self.transport.get_mut().outlast_call();
        // After an error the connection is gone, and with it the statement.
        while self.phase != Phase::Idle && self.next().is_ok() {}
    }
}

#[inline]
fn length(header: &[u8; HEADER]) -> usize {
    u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize
}

/// Appends a packet that is made of some pieces, in parts where it is long.
pub(crate) fn put_packet(pieces: &[&[u8]], mut sequence: u8, output: &mut Vec<u8>) {
    let body = pieces.concat();
    let mut rest = &body[..];
    loop {
        let (part, after) = rest.split_at(rest.len().min(MAX_PART));
        output.extend_from_slice(&(part.len() as u32).to_le_bytes()[..3]);
        output.push(sequence);
        output.extend_from_slice(part);
        sequence = sequence.wrapping_add(1);
        rest = after;
        if part.len() < MAX_PART {
            return;
        }
    }
}

/// What a packet is, by where in the answer it stands, and where the next one will stand.
#[inline]
fn read(phase: Phase, body: &[u8], without_eof: bool) -> Result<(Packet<'_>, Phase)> {
    let (&first, rest) = body
        .split_first()
        .ok_or_else(|| malformed("an empty packet"))?;
    if first == 0xff {
        return Ok((Packet::Error(ServerError::parse(rest)?), Phase::Idle));
    }
    match phase {
        Phase::Rows if first == 0xfe && is_end(body, without_eof) => {
            let more = end_flags(rest, without_eof).ok_or_else(|| malformed("an end of rows"))?;
            no_more(more)?;
            Ok((Packet::End, Phase::Idle))
        }
        Phase::Rows => Ok((Packet::Row(body), Phase::Rows)),
        Phase::Columns(left) => {
            let phase = match (left, without_eof) {
                (2.., _) => Phase::Columns(left - 1),
                (_, true) => Phase::Rows,
                (_, false) => Phase::ColumnsEnd,
            };
            Ok((Packet::Column(body), phase))
        }
        Phase::ColumnsEnd if first == 0xfe && body.len() < 9 => {
            Ok((Packet::ColumnsEnd, Phase::Rows))
        }
        Phase::ColumnsEnd | Phase::Idle => Err(malformed("a packet")),
        Phase::Begin => begin(first, body),
    }
}

fn begin(first: u8, body: &[u8]) -> Result<(Packet<'_>, Phase)> {
    match first {
        0 => {
            let flags = ok_flags(&body[1..]).ok_or_else(|| malformed("an answer"))?;
            no_more(flags)?;
            Ok((Packet::Done, Phase::Idle))
        }
        0xfb => Err(untrue_request()),
        _ => {
            let count = Reader(body)
                .number()
                .filter(|count| (1..=MAX_COLUMNS).contains(count))
                .ok_or_else(|| malformed("a number of columns"))?;
            Ok((Packet::Columns(count as usize), Phase::Columns(count)))
        }
    }
}

/// A row may begin with 0xfe too: its first cell is then so long that the packet has parts.
fn is_end(body: &[u8], without_eof: bool) -> bool {
    if without_eof {
        body.len() < MAX_PART
    } else {
        body.len() < 9
    }
}

fn end_flags(rest: &[u8], without_eof: bool) -> Option<u16> {
    if without_eof {
        return ok_flags(rest);
    }
    let mut reader = Reader(rest);
    reader.u16()?;
    reader.u16()
}

/// The status in an OK packet, behind the counts of rows and the last id.
fn ok_flags(rest: &[u8]) -> Option<u16> {
    let mut reader = Reader(rest);
    reader.number()?;
    reader.number()?;
    reader.u16()
}

fn no_more(flags: u16) -> Result<()> {
    match flags & MORE_RESULTS {
        0 => Ok(()),
        _ => Err(malformed("a second answer to one statement")),
    }
}

/// LOCAL INFILE: the server asks for a file of this side.
fn untrue_request() -> Error {
    let message = "the server asked for a file of the client, which this connector never sends";
    Error::new(ErrorKind::Upstream, message).connection_usable(false)
}
