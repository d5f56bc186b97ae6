//! TLS as libpq's `sslmode` and `sslrootcert` mean it, over any stream of bytes.
//!
//! The stream may be a [`TcpStream`](crate::net::TcpStream) whose server has just agreed to TLS, or a wrapper that puts
//! the bytes of the handshake into the packets of an older protocol: after each flight it is flushed, and after the
//! handshake [`TlsStream::get_mut`] reaches it to be switched. The errors name the properties of `connection_data` as
//! libpq calls them (`sslmode`, `sslrootcert`, `sslcert`, `sslkey`), or as [`Names`] says.
//!
//! Most database protocols begin in clear and then switch to TLS. So do mail and LDAP, with `STARTTLS`:
//!
//! ```no_run
//! use std::{io::{Read, Write}, time::Duration};
//!
//! use mindhost_sdk::{Error, ErrorKind, Result, net::TcpStream, tls};
//!
//! /// The request of PostgreSQL for TLS: its length, and a number that stands for it.
//! const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
//!
//! fn dial(host: &str, port: u16, settings: &tls::Settings) -> Result<tls::TlsStream<TcpStream>> {
//!     let dialled = tls::with_suites(|suites| {
//!         let mut socket = TcpStream::connect(host, port, Duration::from_secs(10))?;
//!         let mut answer = [0];
//!         let asked = socket.write_all(&SSL_REQUEST).and_then(|()| socket.read_exact(&mut answer));
//!         asked.map_err(|error| Error::new(ErrorKind::ConnectionLost, error.to_string()))?;
//!         if answer != *b"S" {
//!             return Err(Error::new(ErrorKind::Tls, "the server does not speak TLS").into());
//!         }
//!         // Nothing was read beyond the answer, or a third party could put its own bytes in front of the handshake.
//!         settings.handshake(host, socket, suites)
//!     });
//!     dialled.map_err(|failure| failure.error)
//! }
//! ```
//!
//! A protocol of text lines is asked in lines, such as SMTP: greeting, `EHLO`, `STARTTLS`, and then the handshake on the
//! same socket. What the server said in clear is forgotten; after the handshake the client says `EHLO` again. Read byte
//! by byte here, and make a `BufReader` only over the `TlsStream`: one over the socket may have read beyond the line.
//!
//! ```
//! use std::io::{Read, Write};
//!
//! use mindhost_sdk::{Error, ErrorKind, Result, net};
//!
//! /// The longest reply in clear text: the server has not proved its identity yet.
//! const LONGEST: usize = 8 << 10;
//!
//! /// The lines of a reply: `250-SIZE` and more follow, `250 STARTTLS` is the last one.
//! fn reply(socket: &mut impl Read) -> Result<Vec<String>> {
//!     let (mut lines, mut line, mut bytes) = (Vec::new(), Vec::new(), 0);
//!     loop {
//!         let mut byte = [0];
//!         socket.read_exact(&mut byte).map_err(|error| net::transport_error(&error))?;
//!         bytes += 1;
//!         match byte[0] {
//!             b'\n' => {
//!                 let text = String::from_utf8_lossy(&line).trim_end().to_owned();
//!                 let is_last = text.as_bytes().get(3) != Some(&b'-');
//!                 lines.push(text);
//!                 line.clear();
//!                 if is_last {
//!                     return Ok(lines);
//!                 }
//!             }
//!             _ if bytes > LONGEST => {
//!                 return Err(Error::new(ErrorKind::TooLarge, "the server talks without an end"));
//!             }
//!             other => line.push(other),
//!         }
//!     }
//! }
//!
//! /// From the greeting to the moment at which the handshake begins.
//! fn starttls(socket: &mut (impl Read + Write)) -> Result<()> {
//!     let mut lines = reply(socket)?;
//!     for (command, code) in [("EHLO mindhost", "250"), ("STARTTLS", "220")] {
//!         if command == "STARTTLS" && !lines.iter().any(|line| line.get(4..) == Some("STARTTLS")) {
//!             return Err(Error::new(ErrorKind::Tls, "the server does not speak TLS"));
//!         }
//!         let sent = write!(socket, "{command}\r\n").and_then(|()| socket.flush());
//!         sent.map_err(|error| net::transport_error(&error))?;
//!         lines = reply(socket)?;
//!         let last = lines.last().map(String::as_str).unwrap_or_default();
//!         if !last.starts_with(code) {
//!             return Err(Error::new(ErrorKind::Tls, format!("the server answered {command} with: {last}")));
//!         }
//!     }
//!     Ok(())
//! }
//!
//! # struct Script(std::io::Cursor<&'static [u8]>, Vec<u8>);
//! # impl Read for Script {
//! #     fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> { self.0.read(buffer) }
//! # }
//! # impl Write for Script {
//! #     fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> { self.1.write(bytes) }
//! #     fn flush(&mut self) -> std::io::Result<()> { Ok(()) }
//! # }
//! # let script = |said: &'static str| Script(std::io::Cursor::new(said.as_bytes()), Vec::new());
//! # let mut server = script("220 mail\r\n250-mail\r\n250-SIZE\r\n250 STARTTLS\r\n220 go\r\nX");
//! # starttls(&mut server)?;
//! # assert_eq!(server.1, b"EHLO mindhost\r\nSTARTTLS\r\n");
//! # // The handshake gets every byte behind the last line.
//! # let mut rest = String::new();
//! # server.read_to_string(&mut rest).unwrap();
//! # assert_eq!(rest, "X");
//! # let mut without = script("220 mail\r\n250 SIZE\r\n");
//! # assert_eq!(starttls(&mut without).unwrap_err().kind(), ErrorKind::Tls);
//! # let mut refuses = script("220 mail\r\n250 STARTTLS\r\n454 no\r\n");
//! # assert_eq!(starttls(&mut refuses).unwrap_err().kind(), ErrorKind::Tls);
//! # let mut ends = script("220 mail\r\n250-SI");
//! # assert_eq!(starttls(&mut ends).unwrap_err().kind(), ErrorKind::ConnectionLost);
//! # Ok::<(), Error>(())
//! ```
//!
//! Then [`Settings::handshake`] takes the socket, as above. The ports of mail are refused unless one of them is the
//! `default_port` of the manifest.

mod binding;
mod stream;
#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod tests;
mod verify;

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection};
use serde::Deserialize;

pub use stream::{MaybeTls, TlsStream};
use verify::Verifier;

use crate::{Error, ErrorKind, Result, net};

/// How much TLS, as libpq means it: `disable`, `allow`, `prefer` (the default), `require`, `verify-ca`, `verify-full`.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum SslMode {
    /// Never TLS.
    Disable,
    /// TLS only if the server refuses without.
    Allow,
    /// TLS if the server offers it, whoever the server is.
    #[default]
    Prefer,
    /// TLS, whoever the server is.
    Require,
    /// TLS with a server whose certificate a trusted authority has issued.
    VerifyCa,
    /// As `verify-ca`, and the certificate is for this host name.
    VerifyFull,
}

/// How one attempt speaks to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Without TLS.
    Plain,
    /// With TLS, or without when the server says that it has none.
    TlsIfOffered,
    /// With TLS.
    Tls,
}

impl SslMode {
    /// The first attempt, and the second one if the server refuses the first for the way it is spoken to.
    pub fn attempts(self) -> (Encryption, Option<Encryption>) {
        match self {
            SslMode::Disable => (Encryption::Plain, None),
            SslMode::Allow => (Encryption::Plain, Some(Encryption::Tls)),
            SslMode::Prefer => (Encryption::TlsIfOffered, Some(Encryption::Plain)),
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => (Encryption::Tls, None),
        }
    }

    /// Whether the mode itself asks who the server is. With `sslrootcert` every mode that speaks TLS does.
    pub fn verifies(self) -> bool {
        matches!(self, SslMode::VerifyCa | SslMode::VerifyFull)
    }
}

/// The certificates of a configuration, as PEM text.
#[derive(Clone, Copy, Default)]
pub struct Certificates<'a> {
    /// `sslrootcert`: the authorities, or the server's own certificate. Without it `verify-ca` and `verify-full` trust
    /// the public authorities.
    pub root: Option<&'a str>,
    /// `sslcert`: what this client shows, with its chain. Needs `key`.
    pub client: Option<&'a str>,
    /// `sslkey`: the private key of `client`, not encrypted.
    pub key: Option<&'a str>,
    /// What these are called in the schema of the plugin.
    pub names: Names,
}

/// The names of properties of `connection_data`, for error messages. By default those of libpq.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// The name of the server.
    pub host: &'static str,
    /// The mode, and how to set it to the certificate alone: `sslmode verify-ca`.
    pub verify_ca: &'static str,
    /// See [`Certificates::root`].
    pub root: &'static str,
    /// See [`Certificates::client`].
    pub client: &'static str,
    /// See [`Certificates::key`].
    pub key: &'static str,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            host: "host",
            verify_ca: "sslmode verify-ca",
            root: "sslrootcert",
            client: "sslcert",
            key: "sslkey",
        }
    }
}

/// What one configuration trusts and shows. Made before any connection, so that a mistake in the certificates is an
/// error of the configuration.
pub struct Settings {
    quick: Arc<ClientConfig>,
    all: Arc<ClientConfig>,
    names: Names,
}

/// The ciphers that a handshake offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suites {
    /// ChaCha20-Poly1305 alone. In a sandbox there are no AES instructions, and AES-GCM in plain code is several times
    /// slower; servers choose it nevertheless when it is offered.
    Quick,
    /// All that are known, for servers that have no ChaCha20.
    All,
}

impl Suites {
    /// What to offer first: where there are AES instructions, everything.
    pub fn first() -> Self {
        match cfg!(target_family = "wasm") {
            true => Suites::Quick,
            false => Suites::All,
        }
    }
}

/// A handshake that failed.
#[derive(Debug)]
pub struct HandshakeFailure {
    /// What to say.
    pub error: Error,
    /// The server and this side may have had no cipher in common.
    pub try_all_suites: bool,
}

impl From<Error> for HandshakeFailure {
    fn from(error: Error) -> Self {
        Self {
            error,
            try_all_suites: false,
        }
    }
}

/// Calls `dial` with the ciphers to offer first, and once more with all of them when the server seems to have none of
/// those. Each call is to open a connection of its own.
///
/// # Errors
/// What the last call failed with.
pub fn with_suites<T>(
    mut dial: impl FnMut(Suites) -> Result<T, HandshakeFailure>,
) -> Result<T, HandshakeFailure> {
    match dial(Suites::first()) {
        Err(failure) if failure.try_all_suites => dial(Suites::All),
        done => done,
    }
}

impl Settings {
    /// # Errors
    /// `InvalidConfig` when a certificate or key is not PEM, or the two do not belong together.
    pub fn new(mode: SslMode, certificates: &Certificates<'_>) -> Result<Self> {
        Self::with_protocol(mode, certificates, None)
    }

    /// As [`Settings::new`] without TLS 1.3, for protocols that carry the handshake inside of their own packets and
    /// stop doing so when both sides have finished. Of TLS 1.3 a part of it may follow later.
    ///
    /// # Errors
    /// As [`Settings::new`].
    pub fn up_to_tls_1_2(mode: SslMode, certificates: &Certificates<'_>) -> Result<Self> {
        Self::with_versions(mode, certificates, None, &[&rustls::version::TLS12])
    }

    /// As [`Settings::new`], for protocols that name themselves in the handshake (ALPN).
    ///
    /// # Errors
    /// As [`Settings::new`].
    pub fn with_protocol(
        mode: SslMode,
        certificates: &Certificates<'_>,
        protocol: Option<&[u8]>,
    ) -> Result<Self> {
        Self::with_versions(mode, certificates, protocol, rustls::ALL_VERSIONS)
    }

    fn with_versions(
        mode: SslMode,
        certificates: &Certificates<'_>,
        protocol: Option<&[u8]>,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> Result<Self> {
        let all = ring::default_provider();
        let mut quick = all.clone();
        quick
            .cipher_suites
            .retain(|suite| format!("{:?}", suite.suite()).contains("CHACHA20"));
        let client = |provider| -> Result<_> {
            let mut client = client(mode, certificates, provider, versions)?;
            client.alpn_protocols = protocol.iter().map(|name| name.to_vec()).collect();
            Ok(Arc::new(client))
        };
        Ok(Self {
            quick: client(quick)?,
            all: client(all)?,
            names: certificates.names,
        })
    }

    /// Speaks TLS on a stream whose server has agreed to, and waits until both sides are ready. `host` is the name that
    /// `verify-full` compares with the certificate.
    ///
    /// # Errors
    /// `Tls`, or what the transport says.
    pub fn handshake<S: Read + Write>(
        &self,
        host: &str,
        mut stream: S,
        suites: Suites,
    ) -> Result<TlsStream<S>, HandshakeFailure> {
        let name = ServerName::try_from(host.to_owned()).unwrap_or_else(|_| unnamed());
        let client = match suites {
            Suites::Quick => &self.quick,
            Suites::All => &self.all,
        };
        let mut connection = ClientConnection::new(Arc::clone(client), name)
            .map_err(|error| failed(&error, &self.names))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream).map_err(|error| {
                match error.get_ref().and_then(|inner| inner.downcast_ref()) {
                    Some(error) => HandshakeFailure {
                        error: failed(error, &self.names),
                        try_all_suites: suites == Suites::Quick && is_about_suites(error),
                    },
                    None if net::error_kind(&error) == ErrorKind::ConnectionLost => Error::new(
                        ErrorKind::Tls,
                        "the server closed the connection during the TLS handshake",
                    )
                    .into(),
                    None => net::transport_error(&error).into(),
                }
            })?;
        }
        Ok(TlsStream::new(connection, stream))
    }
}

fn is_about_suites(error: &rustls::Error) -> bool {
    use rustls::AlertDescription::{HandshakeFailure, InsufficientSecurity};
    matches!(
        error,
        rustls::Error::AlertReceived(HandshakeFailure | InsufficientSecurity)
    )
}

fn client(
    mode: SslMode,
    given: &Certificates<'_>,
    provider: CryptoProvider,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> Result<ClientConfig> {
    let provider = Arc::new(provider);
    let verifier = Verifier::new(mode, given, provider.signature_verification_algorithms)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(|_| Error::internal("TLS has no protocol version in common with itself"))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let (Some(certificate), Some(key)) = (given.client, given.key) else {
        return Ok(builder.with_no_client_auth());
    };
    let names = given.names;
    let chain = certificates(names.client, certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| {
        Error::invalid_config(format!(
            "`{}` in connection_data is not an unencrypted PEM key",
            names.key
        ))
    })?;
    builder
        .with_client_auth_cert(chain, key)
        .map_err(|error| unusable_client(&error, &names))
}

/// Why a client cannot show its certificate.
fn unusable_client(error: &rustls::Error, names: &Names) -> Error {
    Error::invalid_config(match error {
        // What `openssl x509 -req` issues without extensions is of version 1.
        rustls::Error::InvalidCertificate(_) => format!(
            "`{}` in connection_data cannot be read as an X.509 certificate of version 3; issue the certificate again \
             with an extension, as `openssl x509 -req -extfile` does",
            names.client
        ),
        _ => format!(
            "`{}` and `{}` in connection_data do not belong together",
            names.client, names.key
        ),
    })
}

/// For hosts that are no valid DNS name: without server name indication, and matching no certificate.
fn unnamed() -> ServerName<'static> {
    ServerName::IpAddress(std::net::Ipv4Addr::UNSPECIFIED.into())
}

fn failed(error: &rustls::Error, names: &Names) -> Error {
    let Names {
        host,
        verify_ca,
        root,
        ..
    } = names;
    let why = match error {
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the server's certificate expired".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!(
                    "the server's certificate is not for this host name; compare `{host}` with its subject alternative \
                     names, or use {verify_ca}"
                )
            }
            CertificateError::UnknownIssuer => format!(
                "no trusted authority issued the server's certificate; put that authority's certificate into `{root}`"
            ),
            _ => "the server's certificate is not valid".to_owned(),
        },
        rustls::Error::AlertReceived(_) => {
            "the server refused the handshake; it may ask for a client certificate".to_owned()
        }
        _ => "the TLS handshake failed".to_owned(),
    };
    Error::new(ErrorKind::Tls, why)
}

/// The certificates in the PEM text of a property.
fn certificates(field: &str, pem: &str) -> Result<Vec<CertificateDer<'static>>> {
    let list: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .unwrap_or_default();
    if list.is_empty() {
        return Err(Error::invalid_config(format!(
            "`{field}` in connection_data holds no PEM certificate"
        )));
    }
    Ok(list)
}
