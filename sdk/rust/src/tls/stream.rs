//! Streams that a handshake has finished, or that need none.

use std::io::{self, Read, Write};

use rustls::{ClientConnection, StreamOwned};

/// A stream of bytes after its handshake.
///
/// Writes are sent when the stream is flushed, at the latest. A stream that ends without TLS's word of its end is an
/// error of the kind `UnexpectedEof`.
#[derive(Debug)]
pub struct TlsStream<S: Read + Write>(StreamOwned<ClientConnection, S>);

impl<S: Read + Write> TlsStream<S> {
    pub(super) fn new(connection: ClientConnection, stream: S) -> Self {
        Self(StreamOwned::new(connection, stream))
    }

    /// The stream below.
    pub fn get_ref(&self) -> &S {
        &self.0.sock
    }

    /// The stream below, for its deadline and the like. What is read from it or written to it breaks the encryption.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.0.sock
    }

    /// The stream below, for protocols that encrypt no more than their beginning. What was read ahead is lost.
    pub fn into_inner(self) -> S {
        self.0.sock
    }

    /// The channel binding `tls-server-end-point` (RFC 5929): the server's certificate, hashed as its signature was.
    /// None for hashes other than SHA-256 and SHA-384 and their stand-ins; authentication then goes on without binding.
    pub fn server_end_point(&self) -> Option<Vec<u8>> {
        super::binding::server_end_point(self.0.conn.peer_certificates()?.first()?)
    }
}

impl<S: Read + Write> Read for TlsStream<S> {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<S: Read + Write> Write for TlsStream<S> {
    #[inline]
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A stream with or without TLS, as the mode and the server want it.
#[derive(Debug)]
pub enum MaybeTls<S: Read + Write> {
    /// Without.
    Plain(S),
    /// With.
    Tls(Box<TlsStream<S>>),
}

impl<S: Read + Write> MaybeTls<S> {
    /// Whether what is sent is encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, MaybeTls::Tls(_))
    }

    /// As [`TlsStream::server_end_point`]; none without TLS.
    pub fn server_end_point(&self) -> Option<Vec<u8>> {
        match self {
            MaybeTls::Plain(_) => None,
            MaybeTls::Tls(stream) => stream.server_end_point(),
        }
    }

    /// The stream below, for its deadline and the like.
    pub fn get_mut(&mut self) -> &mut S {
        match self {
            MaybeTls::Plain(stream) => stream,
            MaybeTls::Tls(stream) => stream.get_mut(),
        }
    }

    /// Writes all of the bytes and sends them.
    ///
    /// # Errors
    /// What the stream below says.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)?;
        self.flush()
    }
}

impl<S: Read + Write> Read for MaybeTls<S> {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            MaybeTls::Plain(stream) => stream.read(buffer),
            MaybeTls::Tls(stream) => stream.read(buffer),
        }
    }
}

impl<S: Read + Write> Write for MaybeTls<S> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            MaybeTls::Plain(stream) => stream.write(buffer),
            MaybeTls::Tls(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            MaybeTls::Plain(stream) => stream.flush(),
            MaybeTls::Tls(stream) => stream.flush(),
        }
    }
}
