//! Packets over a socket, with and without TLS, from the server's side.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use rustls::ServerConnection;

/// The types of packets.
pub const SQL_BATCH: u8 = 0x01;
/// A call of a procedure.
pub const RPC: u8 = 0x03;
/// Everything that a server sends.
pub const RESPONSE: u8 = 0x04;
/// The wish to end what runs.
pub const ATTENTION: u8 = 0x06;
/// A transaction that is begun or ended without SQL.
pub const TRANSACTION_MANAGER: u8 = 0x0E;
/// A login.
pub const LOGIN7: u8 = 0x10;
/// The first message.
pub const PRELOGIN: u8 = 0x12;
const HEADER: usize = 8;

/// One connection.
pub struct Channel {
    socket: TcpStream,
    tls: Option<Box<ServerConnection>>,
    /// Bytes of the client, decrypted, that are not yet looked at.
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// What a packet may hold.
    pub packet_size: usize,
    packet: u8,
    /// The client wants what runs to end.
    pub attention: bool,
    /// The client is gone.
    pub closed: bool,
}

impl Channel {
    /// Packets over a socket.
    pub fn new(socket: TcpStream) -> Self {
        let _ = socket.set_nodelay(true);
        Self {
            socket,
            tls: None,
            inbox: Vec::new(),
            outbox: Vec::new(),
            packet_size: 4096,
            packet: 0,
            attention: false,
            closed: false,
        }
    }

    /// Speaks TLS from here on, without packets around the handshake.
    ///
    /// # Errors
    /// When the client does not.
    pub fn start_tls(&mut self, mut tls: ServerConnection) -> io::Result<()> {
        while tls.is_handshaking() {
            tls.complete_io(&mut self.socket)?;
        }
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// Speaks TLS from here on; the handshake travels in packets.
    ///
    /// # Errors
    /// When the client does not.
    pub fn start_wrapped_tls(&mut self, mut tls: ServerConnection) -> io::Result<()> {
        while tls.is_handshaking() {
            let (kind, payload) = self.message()?;
            if kind != PRELOGIN {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let mut bytes = payload.as_slice();
            while !bytes.is_empty() {
                tls.read_tls(&mut bytes)?;
                tls.process_new_packets().map_err(io::Error::other)?;
            }
            let mut output = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut output)?;
            }
            if !output.is_empty() {
                self.send_packet(PRELOGIN, true, &output)?;
            }
        }
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// Ends the encryption: only the login was encrypted.
    pub fn end_tls(&mut self) {
        self.tls = None;
    }

    /// Reads what there is; waits for something if it may.
    fn fill(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 16 << 10];
        let Some(tls) = &mut self.tls else {
            let read = self.socket.read(&mut buffer)?;
            self.inbox.extend_from_slice(&buffer[..read]);
            return Ok(read);
        };
        // What came with the end of the handshake is decrypted already.
        let waiting = tls.process_new_packets().map_err(io::Error::other)?;
        let read = match waiting.plaintext_bytes_to_read() {
            0 => tls.read_tls(&mut self.socket)?,
            bytes => bytes,
        };
        let state = tls.process_new_packets().map_err(io::Error::other)?;
        let mut plain = vec![0; state.plaintext_bytes_to_read()];
        tls.reader().read_exact(&mut plain)?;
        self.inbox.extend(plain);
        Ok(read)
    }

    fn packet(&mut self) -> Option<(u8, bool, Vec<u8>)> {
        let header = self.inbox.get(..HEADER)?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]])).max(HEADER);
        let (kind, status) = (header[0], header[1]);
        let payload = self.inbox.get(HEADER..length)?.to_vec();
        self.inbox.drain(..length);
        Some((kind, status & 1 != 0, payload))
    }

    /// The next message of the client: its type and its payload.
    ///
    /// # Errors
    /// When the client is gone.
    pub fn message(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut whole = Vec::new();
        loop {
            match self.packet() {
                Some((kind, last, payload)) => {
                    whole.extend(payload);
                    if last {
                        return Ok((kind, whole));
                    }
                }
                None if self.fill()? == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                None => {}
            }
        }
    }

    /// Looks without waiting whether the client wants what runs to end, or is gone.
    pub fn poll(&mut self) -> bool {
        let _ = self.socket.set_nonblocking(true);
        loop {
            match self.fill() {
                Ok(0) => {
                    self.closed = true;
                    break;
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.closed = true;
                    break;
                }
            }
        }
        let _ = self.socket.set_nonblocking(false);
        if self.inbox.first() == Some(&ATTENTION) && self.packet().is_some() {
            self.attention = true;
        }
        self.attention || self.closed
    }

    /// Adds tokens to the answer; what fills packets is sent.
    ///
    /// # Errors
    /// When the client is gone.
    pub fn write(&mut self, tokens: &[u8]) -> io::Result<()> {
        self.outbox.extend_from_slice(tokens);
        let room = self.packet_size - HEADER;
        while self.outbox.len() > room {
            let piece: Vec<u8> = self.outbox.drain(..room).collect();
            self.send_packet(RESPONSE, false, &piece)?;
        }
        Ok(())
    }

    /// Ends the answer.
    ///
    /// # Errors
    /// When the client is gone.
    pub fn finish(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.outbox);
        self.send_packet(RESPONSE, true, &rest)
    }

    fn send_packet(&mut self, kind: u8, last: bool, payload: &[u8]) -> io::Result<()> {
        let length = u16::try_from(payload.len() + HEADER).map_err(io::Error::other)?;
        let [high, low] = length.to_be_bytes();
        self.packet = self.packet.wrapping_add(1);
        let mut packet = vec![kind, u8::from(last), high, low, 0, 51, self.packet, 0];
        packet.extend_from_slice(payload);
        let Some(tls) = &mut self.tls else {
            return self.socket.write_all(&packet);
        };
        tls.writer().write_all(&packet)?;
        while tls.wants_write() {
            tls.write_tls(&mut self.socket)?;
        }
        Ok(())
    }
}
