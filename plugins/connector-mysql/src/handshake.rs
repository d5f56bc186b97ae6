//! From a host name to a session that is ready: TCP, the server's greeting, TLS as `sslmode` says, authentication.

use std::io::Read;
use std::time::Instant;

use mindhost_sdk::net::{TcpStream, transport_error};
use mindhost_sdk::tls::{self, Encryption, HandshakeFailure, Suites};
use mindhost_sdk::{Error, ErrorKind, Result};

use crate::auth::Authentication;
use crate::config::ConnectionData;
use crate::error::{ServerError, malformed};
use crate::packet::{Reader, put_text};
use crate::wire::{Transport, Wire, put_packet};

/// What both sides must know.
const LONG_PASSWORD: u64 = 1;
const LONG_FLAG: u64 = 1 << 2;
const CONNECT_WITH_DB: u64 = 1 << 3;
const PROTOCOL_41: u64 = 1 << 9;
const SSL: u64 = 1 << 11;
const TRANSACTIONS: u64 = 1 << 13;
const SECURE_CONNECTION: u64 = 1 << 15;
const PLUGIN_AUTH: u64 = 1 << 19;
const CONNECT_ATTRS: u64 = 1 << 20;
const PLUGIN_AUTH_LENENC: u64 = 1 << 21;
const DEPRECATE_EOF: u64 = 1 << 24;
/// MariaDB's: what a column's type is beside MySQL's number for it.
pub(crate) const EXTENDED_METADATA: u64 = 1 << 35;

/// What this side would like.
const WANTED: u64 = LONG_FLAG
    | PROTOCOL_41
    | TRANSACTIONS
    | SECURE_CONNECTION
    | PLUGIN_AUTH
    | CONNECT_ATTRS
    | PLUGIN_AUTH_LENENC
    | DEPRECATE_EOF
    | EXTENDED_METADATA;

/// utf8mb4_general_ci, which all servers know; SET NAMES then takes the server's own collation.
const COLLATION: u8 = 45;
/// What is sent is never as large.
const MAX_PACKET: u32 = 1 << 30;
/// Packets of a handshake are small.
const MAX_HANDSHAKE: usize = 64 << 10;
/// Steps of an authentication.
const MAX_STEPS: u32 = 16;

/// A session after its authentication.
pub(crate) struct Established {
    pub(crate) wire: Wire,
    /// What names the session to the server.
    pub(crate) id: u32,
    pub(crate) version: String,
    pub(crate) is_mariadb: bool,
    pub(crate) has_extended_metadata: bool,
}

/// The server's first packet.
struct Greeting {
    version: String,
    id: u32,
    capabilities: u64,
    nonce: Vec<u8>,
    method: Vec<u8>,
}

/// Connects as the configuration says.
///
/// # Errors
/// `Unreachable`, `Timeout`, `Denied`, `Tls`, `Auth`, `NotFound`, or what else the server answers.
pub(crate) fn connect(data: &ConnectionData) -> Result<Established> {
    let tls = data.tls()?;
    let deadline = Instant::now() + data.connect_timeout();
    let (first, second) = data.sslmode.attempts();
    match (start(data, &tls, first, deadline), second) {
        (Err(error), Some(second)) if is_about_encryption(&error, first) => {
            // When neither way works the first refusal is reported.
            start(data, &tls, second, deadline).map_err(|_| error)
        }
        (done, _) => done,
    }
}

/// Whether the other way of `allow` and `prefer` may help. A server that wants TLS from a user says that its password
/// is wrong.
fn is_about_encryption(error: &Error, tried: Encryption) -> bool {
    match tried {
        Encryption::Plain => error.kind() == ErrorKind::Auth,
        _ => error.kind() == ErrorKind::Tls,
    }
}

fn start(
    data: &ConnectionData,
    tls: &tls::Settings,
    encryption: Encryption,
    deadline: Instant,
) -> Result<Established> {
    let dialled = tls::with_suites(|suites| dial(data, tls, encryption, deadline, suites));
    let (mut transport, greeting, sequence) = dialled.map_err(|failure| failure.error)?;
    log_in(data, &mut transport, &greeting, sequence)?;
    transport.get_mut().set_deadline(None);
    let capabilities = common(&greeting);
    // MariaDB up to 10 says so behind the version of the MySQL that it once replaced.
    let version = greeting
        .version
        .strip_prefix("5.5.5-")
        .unwrap_or(&greeting.version);
    Ok(Established {
        wire: Wire::new(transport, capabilities & DEPRECATE_EOF != 0),
        id: greeting.id,
        version: version.to_owned(),
        is_mariadb: version.contains("MariaDB"),
        has_extended_metadata: capabilities & EXTENDED_METADATA != 0,
    })
}

/// TCP, the greeting, and TLS where it is wanted and to be had; with the number of the next packet.
fn dial(
    data: &ConnectionData,
    tls: &tls::Settings,
    encryption: Encryption,
    deadline: Instant,
    suites: Suites,
) -> Result<(Transport, Greeting, u8), HandshakeFailure> {
    let left = deadline.saturating_duration_since(Instant::now());
    let mut socket = TcpStream::connect(&data.host, data.port()?, left)?;
    socket.set_deadline(Some(deadline));
    let greeting = greet(&mut socket)?;
    let offers_tls = greeting.capabilities & SSL != 0;
    match encryption {
        Encryption::Plain => return Ok((Transport::Plain(socket), greeting, 1)),
        Encryption::TlsIfOffered if !offers_tls => {
            return Ok((Transport::Plain(socket), greeting, 1));
        }
        Encryption::Tls if !offers_tls => {
            let message = "the server does not offer TLS, which this sslmode requires";
            return Err(Error::new(ErrorKind::Tls, message).into());
        }
        Encryption::Tls | Encryption::TlsIfOffered => {}
    }
    let mut transport = Transport::Plain(socket);
    let capabilities = asked(data, &greeting) | SSL;
    send(&mut transport, &[&opening(capabilities)], 1)?;
    let Transport::Plain(socket) = transport else {
        return Err(Error::internal("a transport became another").into());
    };
    let stream = tls.handshake(&data.host, socket, suites)?;
    Ok((Transport::Tls(Box::new(stream)), greeting, 2))
}

/// Reads the greeting, and not a byte more: what follows belongs to the TLS handshake.
fn greet(socket: &mut TcpStream) -> Result<Greeting> {
    let (body, _) = receive(socket).map_err(before_greeting)?;
    match body.split_first() {
        Some((10, rest)) => greeting(rest).ok_or_else(not_mysql),
        // Too many connections, or a host that may not connect.
        Some((0xff, rest)) => Err(ServerError::parse(rest)
            .map_err(|_| not_mysql())?
            .into_error(None)),
        _ => Err(not_mysql()),
    }
}

fn greeting(body: &[u8]) -> Option<Greeting> {
    let mut reader = Reader(body);
    let version = reader.until_zero()?;
    let id = reader.u32()?;
    let mut nonce = reader.bytes(8)?.to_vec();
    reader.u8()?;
    let low = reader.u16()?;
    reader.bytes(3)?;
    let high = reader.u16()?;
    let mut capabilities = u64::from(low) | u64::from(high) << 16;
    let length = usize::from(reader.u8()?);
    reader.bytes(6)?;
    let extended = reader.u32()?;
    // A server that is MySQL itself leaves these four bytes zero.
    if capabilities & LONG_PASSWORD == 0 {
        capabilities |= u64::from(extended) << 32;
    }
    nonce.extend_from_slice(reader.bytes(length.saturating_sub(8).max(13))?);
    let method = reader.until_zero().unwrap_or(reader.0).to_vec();
    let needed = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH;
    (capabilities & needed == needed).then(|| Greeting {
        version: String::from_utf8_lossy(version).chars().take(64).collect(),
        id,
        capabilities,
        nonce,
        method,
    })
}

fn common(greeting: &Greeting) -> u64 {
    // Saying LONG_PASSWORD tells MariaDB that this side knows nothing of its own capabilities.
    (WANTED | LONG_PASSWORD) & greeting.capabilities
}

fn asked(data: &ConnectionData, greeting: &Greeting) -> u64 {
    match data.database {
        Some(_) => common(greeting) | CONNECT_WITH_DB,
        None => common(greeting),
    }
}

/// The part of this side's answer to the greeting that is sent before TLS and again within it.
fn opening(capabilities: u64) -> [u8; 32] {
    let mut opening = [0; 32];
    opening[..4].copy_from_slice(&(capabilities as u32).to_le_bytes());
    opening[4..8].copy_from_slice(&MAX_PACKET.to_le_bytes());
    opening[8] = COLLATION;
    opening[28..].copy_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
    opening
}

fn log_in(
    data: &ConnectionData,
    transport: &mut Transport,
    greeting: &Greeting,
    sequence: u8,
) -> Result<()> {
    let encrypted = transport.is_encrypted();
    let ssl = if encrypted { SSL } else { 0 };
    let capabilities = asked(data, greeting) | ssl;
    // The server names its default method. Where that is not known here, the user's own may be.
    let by_default = Authentication::new(data, encrypted, &greeting.method, &greeting.nonce)
        .or_else(|_| {
            Authentication::new(data, encrypted, b"mysql_native_password", &greeting.nonce)
        })?;
    let mut method = by_default;
    // Nothing but a scramble is sent unasked: the user's own method may need no password in clear.
    let first = match method.name() {
        "mysql_native_password" | "caching_sha2_password" => method.first()?,
        _ => Vec::new(),
    };
    let mut body = opening(capabilities).to_vec();
    body.extend_from_slice(data.user.as_bytes());
    body.push(0);
    put_text(&first, &mut body);
    if let Some(database) = &data.database {
        body.extend_from_slice(database.as_bytes());
        body.push(0);
    }
    body.extend_from_slice(method.name().as_bytes());
    body.push(0);
    if capabilities & CONNECT_ATTRS != 0 {
        let mut attributes = Vec::new();
        put_text(b"program_name", &mut attributes);
        put_text(b"mindhost", &mut attributes);
        put_text(&attributes, &mut body);
    }
    send(transport, &[&body], sequence)?;
    for _ in 0..MAX_STEPS {
        let (said, sequence) = receive(transport)?;
        let answer = match said.split_first() {
            Some((0, _)) => return Ok(()),
            Some((0xff, rest)) => return Err(ServerError::parse(rest)?.into_error(None)),
            Some((0xfe, rest)) => {
                let mut reader = Reader(rest);
                let name = reader.until_zero().unwrap_or(rest);
                method = Authentication::new(data, encrypted, name, reader.0)?;
                Some(method.first()?)
            }
            Some((1, rest)) => method.answer(rest)?,
            _ => return Err(malformed("a step of the authentication")),
        };
        if let Some(answer) = answer {
            send(transport, &[&answer], sequence.wrapping_add(1))?;
        }
    }
    Err(malformed("an authentication without an end"))
}

fn send(transport: &mut Transport, pieces: &[&[u8]], sequence: u8) -> Result<()> {
    let mut packet = Vec::new();
    put_packet(pieces, sequence, &mut packet);
    let sent = transport.send(&packet);
    sent.map_err(|error| transport_error(&error))
}

/// One packet and its number, without reading beyond it.
fn receive(stream: &mut impl Read) -> Result<(Vec<u8>, u8)> {
    let mut header = [0; 4];
    fill(stream, &mut header)?;
    let [a, b, c, sequence] = header;
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    if length > MAX_HANDSHAKE {
        return Err(malformed("a packet of a length"));
    }
    let mut body = vec![0; length];
    fill(stream, &mut body)?;
    Ok((body, sequence))
}

fn fill(stream: &mut impl Read, buffer: &mut [u8]) -> Result<()> {
    stream
        .read_exact(buffer)
        .map_err(|error| transport_error(&error))
}

/// What may be told of a server that has not yet shown that it speaks MySQL's protocol.
fn before_greeting(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Cancelled | ErrorKind::Timeout | ErrorKind::Denied => error,
        _ => not_mysql(),
    }
}

fn not_mysql() -> Error {
    let message = "this is no MySQL or MariaDB server: what answers on `host` and `port` does not speak its protocol";
    Error::new(ErrorKind::Unreachable, message)
}
