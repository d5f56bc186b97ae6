//! From a host name to a session that is ready: TCP, TLS as `sslmode` says, start-up, authentication.

use std::io::Read;
use std::time::Instant;

use mindhost_sdk::net::{TcpStream, transport_error};
use mindhost_sdk::tls::{self, Encryption, HandshakeFailure, Suites};
use mindhost_sdk::{Error, ErrorKind, Result};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use crate::auth::Authentication;
use crate::config::ConnectionData;
use crate::wire::{Transport, Wire};

/// What every session is set to: the text forms that the decoders read, and what `= NULL` and NULL in arrays mean. The
/// search path follows when the role's own is known.
pub(crate) const SETTINGS: [(&str, &str); 10] = [
    ("client_encoding", "UTF8"),
    ("TimeZone", "UTC"),
    ("DateStyle", "ISO"),
    ("IntervalStyle", "postgres"),
    ("extra_float_digits", "3"),
    ("bytea_output", "hex"),
    ("transform_null_equals", "off"),
    ("array_nulls", "on"),
    ("quote_all_identifiers", "off"),
    ("default_transaction_read_only", "on"),
];

/// A session after its first ReadyForQuery.
pub(crate) struct Established {
    pub(crate) wire: Wire,
    pub(crate) cancel: CancelKey,
    pub(crate) version: String,
    /// A connection pool or a proxy stands before the server and did not hand on [`SETTINGS`]; each transaction sets
    /// them.
    pub(crate) pooled: bool,
}

/// What names a session to the server, for a cancel request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CancelKey {
    pub(crate) process: i32,
    pub(crate) secret: i32,
    pub(crate) tls: bool,
}

/// Why an attempt failed, and whether `allow` and `prefer` try the other way.
struct Failure {
    error: Error,
    try_other: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            error,
            try_other: false,
        }
    }
}

/// Connects as the configuration says.
///
/// # Errors
/// `Unreachable`, `Timeout`, `Denied`, `Tls`, `Auth`, `NotFound`, or what else the server answers.
pub(crate) fn connect(data: &ConnectionData) -> Result<Established> {
    let tls = data.tls()?;
    let deadline = Instant::now() + data.connect_timeout();
    let (first, second) = data.sslmode.attempts();
    match (attempt(data, &tls, first, deadline), second) {
        (Ok(established), _) => Ok(established),
        (Err(failure), Some(second)) if failure.try_other => {
            // When neither way works the first refusal is reported.
            attempt(data, &tls, second, deadline).map_err(|_| failure.error)
        }
        (Err(failure), _) => Err(failure.error),
    }
}

fn attempt(
    data: &ConnectionData,
    tls: &tls::Settings,
    encryption: Encryption,
    deadline: Instant,
) -> Result<Established, Failure> {
    match start(data, tls, encryption, deadline, false) {
        Err(failure) if is_pooler_refusal(&failure.error) => {
            start(data, tls, encryption, deadline, true)
        }
        done => done,
    }
}

/// A connection pool such as PgBouncer knows few settings at start-up and refuses the rest.
fn is_pooler_refusal(error: &Error) -> bool {
    error.engine_code() == "08P01" && error.message().contains("startup parameter")
}

fn start(
    data: &ConnectionData,
    tls: &tls::Settings,
    encryption: Encryption,
    deadline: Instant,
    pooled: bool,
) -> Result<Established, Failure> {
    let transport = dial(data, tls, encryption, deadline)?;
    let encrypted = transport.is_encrypted();
    let binding = transport.server_end_point();
    let mut wire = Wire::new(transport);
    wire.set_deadline(Some(deadline));
    let (cancel, version, took_settings) = start_up(&mut wire, data, binding, encrypted, pooled)?;
    wire.set_deadline(None);
    Ok(Established {
        wire,
        cancel,
        version,
        pooled: pooled || !took_settings,
    })
}

/// TCP, and TLS where it is wanted and to be had.
fn dial(
    data: &ConnectionData,
    tls: &tls::Settings,
    encryption: Encryption,
    deadline: Instant,
) -> Result<Transport, Failure> {
    let dialled = tls::with_suites(|suites| dial_offering(data, tls, encryption, deadline, suites));
    dialled.map_err(|failure| Failure {
        try_other: failure.error.kind() == ErrorKind::Tls,
        error: failure.error,
    })
}

fn dial_offering(
    data: &ConnectionData,
    tls: &tls::Settings,
    encryption: Encryption,
    deadline: Instant,
    suites: Suites,
) -> Result<Transport, HandshakeFailure> {
    let left = deadline.saturating_duration_since(Instant::now());
    let mut socket = TcpStream::connect(&data.host, data.port()?, left)?;
    socket.set_deadline(Some(deadline));
    if encryption == Encryption::Plain {
        return Ok(Transport::Plain(socket));
    }
    match ask_for_tls(&mut socket)? {
        b'S' => {
            let stream = tls.handshake(&data.host, socket, suites)?;
            Ok(Transport::Tls(Box::new(stream)))
        }
        b'N' if encryption == Encryption::TlsIfOffered => Ok(Transport::Plain(socket)),
        b'N' => {
            let message = "the server does not offer TLS, which this sslmode requires";
            Err(Error::new(ErrorKind::Tls, message).into())
        }
        _ => Err(not_postgres().into()),
    }
}

/// The server's one byte of answer. Nothing more is read: what follows belongs to the TLS handshake.
fn ask_for_tls(socket: &mut TcpStream) -> Result<u8> {
    let mut request = bytes::BytesMut::new();
    frontend::ssl_request(&mut request);
    std::io::Write::write_all(socket, &request)
        .map_err(|error| before_handshake(transport_error(&error)))?;
    let mut answer = [0];
    match socket.read(&mut answer) {
        Ok(1) => Ok(answer[0]),
        Ok(_) => Err(not_postgres()),
        Err(error) => Err(before_handshake(transport_error(&error))),
    }
}

/// What names the session, the server's version, and whether the settings that the server reports are those of
/// [`SETTINGS`]. A proxy may drop start-up parameters without a word, and then the server's own hold, or the role's.
fn start_up(
    wire: &mut Wire,
    data: &ConnectionData,
    binding: Option<Vec<u8>>,
    tls: bool,
    pooled: bool,
) -> Result<(CancelKey, String, bool), Failure> {
    let named = [
        ("user", data.user.as_str()),
        ("database", &data.database),
        ("application_name", "mindhost"),
    ];
    // A pool takes the encoding, and every reply before the first transaction is read by it.
    let settings = if pooled {
        &SETTINGS[..1]
    } else {
        &SETTINGS[..]
    };
    frontend::startup_message(
        named.into_iter().chain(settings.iter().copied()),
        &mut wire.output,
    )
    .map_err(|_| Error::invalid_config("connection_data holds a NUL"))?;
    wire.flush().map_err(before_handshake)?;
    let mut authentication = Authentication::new(data, tls, binding);
    let mut cancel = CancelKey {
        process: 0,
        secret: 0,
        tls,
    };
    let mut version = String::new();
    let mut took_settings = true;
    let mut is_postgres = false;
    loop {
        let frame = match wire.next_any() {
            Ok(frame) => frame,
            Err(error) if is_postgres => return Err(error.into()),
            Err(error) => return Err(before_handshake(error).into()),
        };
        // The first message of a server that knows this protocol is one of these.
        if !is_postgres && !matches!(frame.tag, b'R' | b'E' | b'v') {
            return Err(not_postgres().into());
        }
        if frame.tag == b'E' {
            let refusal = frame.server_error().map_err(|_| not_postgres())?;
            let try_other = refusal.code == "28000";
            return Err(Failure {
                error: refusal.into_error(None),
                try_other,
            });
        }
        if frame.tag == b'v' {
            continue;
        }
        let message = frame
            .message()
            .map_err(|error| if is_postgres { error } else { not_postgres() })?;
        is_postgres = true;
        match message {
            Message::ParameterStatus(body) => {
                let name = body.name().unwrap_or_default();
                let value = body.value().unwrap_or_default();
                if name == "server_version" {
                    version = value.chars().take(64).collect();
                }
                took_settings &= is_as_set(name, value);
            }
            Message::BackendKeyData(body) => {
                cancel = CancelKey {
                    process: body.process_id(),
                    secret: body.secret_key(),
                    tls,
                };
            }
            Message::NoticeResponse(_) => {}
            Message::ReadyForQuery(_) if authentication.is_done() => {
                return Ok((cancel, version, took_settings));
            }
            message if !authentication.is_done() => authentication.answer(&message, wire)?,
            _ => return Err(crate::error::malformed("a message").into()),
        }
    }
}

/// Whether a parameter that a server reports has the value that [`SETTINGS`] give it. Servers report those that decide
/// how texts, dates, times and intervals are written, and newer ones also one that has another default; others pass.
fn is_as_set(name: &str, value: &str) -> bool {
    match name {
        "TimeZone" => value.eq_ignore_ascii_case("UTC"),
        // The order of day and month follows.
        "DateStyle" => value.starts_with("ISO"),
        "IntervalStyle" => value == "postgres",
        "client_encoding" => ["UTF8", "UTF-8", "UNICODE"]
            .iter()
            .any(|name| value.eq_ignore_ascii_case(name)),
        // Since version 14.
        "default_transaction_read_only" => value == "on",
        _ => true,
    }
}

/// What may be told of a server that has not yet shown that it speaks PostgreSQL's protocol.
fn before_handshake(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Cancelled | ErrorKind::Timeout | ErrorKind::Denied | ErrorKind::Tls => error,
        _ => not_postgres(),
    }
}

fn not_postgres() -> Error {
    let message = "this is not a PostgreSQL server: what answers on `host` and `port` does not speak its protocol";
    Error::new(ErrorKind::Unreachable, message)
}

/// Asks the server to stop what the session with this key runs, over a connection of its own.
///
/// # Errors
/// As [`connect`].
pub(crate) fn cancel(data: &ConnectionData, key: CancelKey) -> Result<()> {
    let tls = data.tls()?;
    let deadline = Instant::now() + data.connect_timeout();
    let encryption = if key.tls {
        Encryption::Tls
    } else {
        Encryption::Plain
    };
    let mut transport = dial(data, &tls, encryption, deadline).map_err(|failure| failure.error)?;
    let mut request = bytes::BytesMut::new();
    frontend::cancel_request(key.process, key.secret, &mut request);
    transport
        .send(&request)
        .map_err(|error| before_handshake(transport_error(&error)))?;
    // The server answers with nothing but the end of the stream, once it has sent the signal. Whatever else comes,
    // an error included, the request is out.
    let _ = transport.read(&mut [0; 16]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reported_parameters_tell_whether_the_settings_arrived() {
        for (name, value, expected) in [
            ("client_encoding", "UTF8", true),
            ("client_encoding", "utf-8", true),
            ("client_encoding", "LATIN1", false),
            ("default_transaction_read_only", "on", true),
            ("default_transaction_read_only", "off", false),
            ("search_path", "\"$user\", public", true),
            ("TimeZone", "Etc/UTC", false),
            ("server_encoding", "LATIN1", true),
        ] {
            assert_eq!(is_as_set(name, value), expected, "{name} {value}");
        }
    }
}
