//! From a host name to a session that is ready: TCP, PRELOGIN, TLS as `sslmode` says, LOGIN7.

use std::time::Instant;

use mindhost_sdk::net::{TcpStream, transport_error};
use mindhost_sdk::tls::{self, Certificates, HandshakeFailure, MaybeTls, SslMode, Suites};
use mindhost_sdk::{Error, ErrorKind, Result};

use crate::config::ConnectionData;
use crate::error::{ServerError, malformed};
use crate::framed::Framed;
use crate::login::{self, TDS_7_4, TDS_8_0};
use crate::prelogin::{self, Encryption};
use crate::session::{Token, failed_without_error, token};
use crate::wire::{LOGIN7, PRELOGIN, Transport, Wire};

/// The name of TDS 8 in a TLS handshake.
const TDS_8: &[u8] = b"tds/8.0";
/// An answer to PRELOGIN is some dozen bytes.
const MAX_PRELOGIN: usize = 4096;
/// Tokens in the answer to a login; a server sends about ten.
const MAX_TOKENS: usize = 1000;

/// A session after its login.
pub(crate) struct Established {
    pub(crate) wire: Wire,
    /// The server's name for itself: `Microsoft SQL Server`.
    pub(crate) product: String,
    /// Major and minor version, and build.
    pub(crate) version: String,
}

/// Connects as the configuration says.
///
/// # Errors
/// `Unreachable`, `Timeout`, `Denied`, `Tls`, `Auth`, `NotFound`, or what else the server answers.
pub(crate) fn connect(data: &ConnectionData) -> Result<Established> {
    let settings = settings(data)?;
    let deadline = Instant::now() + data.connect_timeout();
    let dialled = tls::with_suites(|suites| match data.strict {
        true => dial_strict(data, &settings, suites, deadline),
        false => dial(data, &settings, suites, deadline),
    });
    let (mut wire, encryption) = dialled.map_err(|failure| failure.error)?;
    if !data.may_show_password(encryption != Encryption::None) {
        return Err(refuse_to_show(encryption));
    }
    wire.set_deadline(Some(deadline));
    let version = if data.strict { TDS_8_0 } else { TDS_7_4 };
    wire.send(LOGIN7, &login::request(data, version)?)?;
    if encryption == Encryption::Login {
        // What follows the login is not encrypted.
        wire = wire.replace(|transport| match transport {
            MaybeTls::Tls(stream) => Ok(MaybeTls::Plain(stream.into_inner())),
            plain => Ok(plain),
        })?;
        wire.expect_answer();
    }
    let mut established = log_in(wire)?;
    established.wire.set_deadline(None);
    Ok(established)
}

fn settings(data: &ConnectionData) -> Result<tls::Settings> {
    let certificates = Certificates {
        root: data.sslrootcert.as_deref(),
        ..Certificates::default()
    };
    match data.strict {
        true => tls::Settings::with_protocol(data.sslmode(), &certificates, Some(TDS_8)),
        // A handshake inside of packets ends with the server's last flight, which TLS 1.3 does not have.
        false => tls::Settings::up_to_tls_1_2(data.sslmode(), &certificates),
    }
}

fn refuse_to_show(encryption: Encryption) -> Error {
    let how = match encryption {
        Encryption::None => "without TLS",
        Encryption::Login | Encryption::All => "to a server whose certificate is not checked",
    };
    let message = format!(
        "a login would show the password {how}; set `sslmode` to verify-full (and `sslrootcert` to the certificate of \
         the authority, or of the server itself), or `allow_plain_password` to true"
    );
    Error::new(ErrorKind::Auth, message)
}

fn socket(data: &ConnectionData, deadline: Instant) -> Result<TcpStream> {
    let left = deadline.saturating_duration_since(Instant::now());
    let mut socket = TcpStream::connect(&data.host, data.port()?, left)?;
    socket.set_deadline(Some(deadline));
    Ok(socket)
}

/// TDS 8: TLS from the first byte. PRELOGIN follows in it, and says nothing of encryption.
fn dial_strict(
    data: &ConnectionData,
    settings: &tls::Settings,
    suites: Suites,
    deadline: Instant,
) -> Result<(Wire, Encryption), HandshakeFailure> {
    let framed = Framed::new(socket(data, deadline)?, false);
    let stream = settings.handshake(&data.host, framed, suites)?;
    let mut wire = Wire::new(MaybeTls::Tls(Box::new(stream)));
    ask(&mut wire, Encryption::None)?;
    Ok((wire, Encryption::All))
}

/// TDS 7: PRELOGIN says how much is encrypted, and carries the handshake.
fn dial(
    data: &ConnectionData,
    settings: &tls::Settings,
    suites: Suites,
    deadline: Instant,
) -> Result<(Wire, Encryption), HandshakeFailure> {
    let wanted = match data.sslmode() {
        SslMode::Disable => Encryption::None,
        SslMode::Allow => Encryption::Login,
        _ => Encryption::All,
    };
    let (wire, agreed) = ask_anew(data, deadline, wanted)?;
    let (wire, agreed) = match (agreed, data.sslmode()) {
        // A server without TLS may end the connection that asked for it.
        (Encryption::None, SslMode::Prefer) => ask_anew(data, deadline, Encryption::None)?,
        (agreed, _) => (wire, agreed),
    };
    check(agreed, data.sslmode())?;
    if agreed == Encryption::None {
        return Ok((wire, agreed));
    }
    let mut failure = None;
    let wire = wire.replace(|transport| {
        let done = wrapped_handshake(data, settings, suites, transport);
        done.map_err(|failed| {
            let error = failed.error.clone();
            failure = Some(failed);
            error
        })
    });
    match (wire, failure) {
        (Ok(wire), _) => Ok((wire, agreed)),
        (Err(_), Some(failure)) => Err(failure),
        (Err(error), None) => Err(error.into()),
    }
}

fn wrapped_handshake(
    data: &ConnectionData,
    settings: &tls::Settings,
    suites: Suites,
    transport: Transport,
) -> Result<Transport, HandshakeFailure> {
    let MaybeTls::Plain(framed) = transport else {
        return Ok(transport);
    };
    let framed = Framed::new(framed.socket, true);
    let mut stream = settings.handshake(&data.host, framed, suites)?;
    let unwrapped = stream.get_mut().unwrap_from_here();
    unwrapped.map_err(|error| transport_error(&error))?;
    Ok(MaybeTls::Tls(Box::new(stream)))
}

fn check(agreed: Encryption, mode: SslMode) -> Result<()> {
    let tls = |message| Err(Error::new(ErrorKind::Tls, message));
    match (agreed, mode) {
        (Encryption::Login | Encryption::All, SslMode::Disable) => {
            tls("the server requires TLS, which sslmode `disable` excludes; use verify-full")
        }
        (Encryption::None, SslMode::Disable | SslMode::Allow | SslMode::Prefer) => Ok(()),
        (Encryption::None, _) => tls("the server does not offer TLS, which this sslmode requires"),
        (Encryption::Login, SslMode::Allow) | (Encryption::All, _) => Ok(()),
        // A server may not want less than it was asked for.
        (Encryption::Login, _) => Err(malformed("an answer to PRELOGIN")),
    }
}

fn ask_anew(
    data: &ConnectionData,
    deadline: Instant,
    wanted: Encryption,
) -> Result<(Wire, Encryption)> {
    let framed = Framed::new(socket(data, deadline)?, false);
    let mut wire = Wire::new(MaybeTls::Plain(framed));
    let agreed = ask(&mut wire, wanted)?;
    Ok((wire, agreed))
}

/// Sends PRELOGIN and reads the answer: what the server has agreed to.
fn ask(wire: &mut Wire, wanted: Encryption) -> Result<Encryption> {
    wire.send(PRELOGIN, &prelogin::request(wanted))
        .map_err(before_handshake)?;
    let payload = wire.whole(MAX_PRELOGIN).map_err(before_handshake)?;
    let answer = prelogin::answer(&payload).map_err(before_handshake)?;
    if answer.needs_federation {
        let message = "the server takes only logins of Microsoft Entra, which this connector does not have; allow SQL \
                       logins in the server";
        return Err(Error::new(ErrorKind::Auth, message));
    }
    Ok(answer.encryption.unwrap_or(Encryption::None))
}

/// Reads the answer to the login.
fn log_in(mut wire: Wire) -> Result<Established> {
    let mut accepted = None;
    let mut refusal: Option<ServerError> = None;
    let mut routed = false;
    for _ in 0..MAX_TOKENS {
        if wire.is_at_end()? {
            break;
        }
        match token(&mut wire)? {
            Token::LoginAccepted { product, version } => accepted = Some((product, version)),
            Token::Error(error) => {
                refusal.get_or_insert(error);
            }
            Token::Failed if refusal.is_none() => return Err(failed_without_error()),
            Token::Routed => routed = true,
            Token::PacketSize(size) => wire.set_packet_size(size),
            Token::Federation => {
                let message = "the server asks for a token of Microsoft Entra or of Windows, which this connector \
                               does not have; use a SQL login";
                return Err(Error::new(ErrorKind::Auth, message));
            }
            Token::Columns(_) | Token::Row { .. } => return Err(malformed("rows after a login")),
            Token::Transaction(_) | Token::Failed | Token::Other => {}
        }
    }
    if let Some(refusal) = refusal.filter(|_| accepted.is_none()) {
        return Err(refusal.into_error(None).connection_usable(false));
    }
    if routed {
        let message = "the server sends connections that only read to another server; put that one into `host`, or set \
                       `application_intent` to read-write";
        return Err(Error::invalid_config(message).connection_usable(false));
    }
    let (product, version) = accepted.ok_or_else(|| malformed("no answer to the login"))?;
    if !wire.is_at_end()? {
        return Err(malformed("an endless answer to the login"));
    }
    Ok(Established {
        wire,
        product,
        version,
    })
}

/// What may be told of a server that has not yet shown that it speaks TDS.
fn before_handshake(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Cancelled | ErrorKind::Timeout | ErrorKind::Denied | ErrorKind::Tls => error,
        _ => Error::new(
            ErrorKind::Unreachable,
            "this is not a SQL Server: what answers on `host` and `port` does not speak its protocol",
        ),
    }
}
