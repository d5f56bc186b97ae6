//! The socket below TLS. During a handshake of TDS 7 the records of TLS travel as the payload of PRELOGIN packets.

use std::io::{self, Read, Write};

use mindhost_sdk::net::TcpStream;

/// The type of a PRELOGIN packet.
const PRELOGIN: u8 = 0x12;
/// The bytes of a packet's header.
const HEADER: usize = 8;
/// What a packet holds before the server has agreed to more.
const FIRST_PACKET: usize = 4096;

/// A socket that wraps what is written, and unwraps what is read, as long as it is told to.
#[derive(Debug)]
pub(crate) struct Framed {
    pub(crate) socket: TcpStream,
    wraps: bool,
    /// Payload that is still to come of the packet that is being read.
    left: usize,
    /// Written, and not yet sent: a flight of the handshake goes out as one packet.
    output: Vec<u8>,
}

impl Framed {
    /// A socket as it is, or one whose bytes travel in PRELOGIN packets.
    pub(crate) fn new(socket: TcpStream, wraps: bool) -> Self {
        Self {
            socket,
            wraps,
            left: 0,
            output: Vec::new(),
        }
    }

    /// From now on bytes travel as they are: the handshake is over.
    ///
    /// # Errors
    /// When the last of it cannot be sent.
    pub(crate) fn unwrap_from_here(&mut self) -> io::Result<()> {
        self.send()?;
        self.wraps = false;
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        for piece in self.output.chunks(FIRST_PACKET - HEADER) {
            let length = u16::try_from(piece.len() + HEADER).map_err(io::Error::other)?;
            let [high, low] = length.to_be_bytes();
            let mut packet = vec![PRELOGIN, 1, high, low, 0, 0, 0, 0];
            packet.extend_from_slice(piece);
            self.socket.write_all(&packet)?;
        }
        self.output.clear();
        Ok(())
    }

    fn read_wrapped(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.send()?;
        while self.left == 0 {
            let mut header = [0; HEADER];
            self.socket.read_exact(&mut header)?;
            let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
            // Servers answer with the type of a response, or with that of the request.
            if !matches!(header[0], PRELOGIN | 0x04) || length < HEADER {
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.left = length - HEADER;
        }
        let room = self.left.min(buffer.len());
        let read = self.socket.read(&mut buffer[..room])?;
        self.left -= read;
        Ok(read)
    }
}

impl Read for Framed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.wraps {
            true => self.read_wrapped(buffer),
            false => self.socket.read(buffer),
        }
    }
}

impl Write for Framed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if !self.wraps {
            return self.socket.write(buffer);
        }
        self.output.extend_from_slice(buffer);
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.wraps {
            true => self.send(),
            false => self.socket.flush(),
        }
    }
}
