//! TLS as libpq's `sslmode` and `sslrootcert` mean it, over rustls.

use std::sync::Arc;

use mindhost_sdk::net::TcpStream;
use mindhost_sdk::{Error, ErrorKind, Result, net};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore,
    SignatureScheme, StreamOwned,
};

use crate::config::{ConnectionData, SslMode};

/// A finished handshake.
pub(crate) type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// The certificates that one configuration trusts, and the client's own. Made before any connection, so that a
/// mistake in them is an error of the configuration.
pub(crate) struct TlsSettings {
    quick: Arc<ClientConfig>,
    all: Arc<ClientConfig>,
}

/// The ciphers that a handshake offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suites {
    /// ChaCha20-Poly1305 alone. In a sandbox there are no AES instructions, and AES-GCM in plain code is several times
    /// slower; servers choose it nevertheless when it is offered.
    Quick,
    /// All that are known, for servers that have no ChaCha20.
    All,
}

/// A handshake that failed.
pub(crate) struct HandshakeFailure {
    /// What to say.
    pub(crate) error: Error,
    /// The server and this side may have had no cipher in common.
    pub(crate) try_all_suites: bool,
}

impl From<Error> for HandshakeFailure {
    fn from(error: Error) -> Self {
        Self {
            error,
            try_all_suites: false,
        }
    }
}

impl TlsSettings {
    /// # Errors
    /// `InvalidConfig` when a certificate or key is not PEM, or the two do not belong together.
    pub(crate) fn new(data: &ConnectionData) -> Result<Self> {
        let all = ring::default_provider();
        let mut quick = all.clone();
        quick
            .cipher_suites
            .retain(|suite| format!("{:?}", suite.suite()).contains("CHACHA20"));
        Ok(Self {
            quick: Arc::new(client(data, quick)?),
            all: Arc::new(client(data, all)?),
        })
    }

    /// What to offer first: where there are AES instructions, everything.
    pub(crate) fn first_suites() -> Suites {
        match cfg!(target_family = "wasm") {
            true => Suites::Quick,
            false => Suites::All,
        }
    }

    /// Speaks TLS on a socket whose server has agreed to.
    ///
    /// # Errors
    /// `Tls`, or what the transport says.
    pub(crate) fn handshake(
        &self,
        host: &str,
        mut socket: TcpStream,
        suites: Suites,
    ) -> Result<TlsStream, HandshakeFailure> {
        let name = ServerName::try_from(host.to_owned()).unwrap_or_else(|_| unnamed());
        let client = match suites {
            Suites::Quick => &self.quick,
            Suites::All => &self.all,
        };
        let mut connection =
            ClientConnection::new(Arc::clone(client), name).map_err(|error| failed(&error))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket).map_err(|error| {
                match error.get_ref().and_then(|inner| inner.downcast_ref()) {
                    Some(error) => HandshakeFailure {
                        error: failed(error),
                        try_all_suites: suites == Suites::Quick && is_about_suites(error),
                    },
                    None if net::error_kind(&error) == ErrorKind::ConnectionLost => Error::new(
                        ErrorKind::Tls,
                        "the server closed the connection during the TLS handshake",
                    )
                    .into(),
                    None => crate::error::transport(&error).into(),
                }
            })?;
        }
        Ok(StreamOwned::new(connection, socket))
    }
}

fn is_about_suites(error: &rustls::Error) -> bool {
    use rustls::AlertDescription::{HandshakeFailure, InsufficientSecurity};
    matches!(
        error,
        rustls::Error::AlertReceived(HandshakeFailure | InsufficientSecurity)
    )
}

fn client(data: &ConnectionData, provider: CryptoProvider) -> Result<ClientConfig> {
    let provider = Arc::new(provider);
    let verifier = Arc::new(Verifier::new(
        data,
        provider.signature_verification_algorithms,
    )?);
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| Error::internal("TLS has no protocol version in common with itself"))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let (Some(certificate), Some(key)) = (&data.sslcert, &data.sslkey) else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = certificates("sslcert", certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| {
        Error::invalid_config("`sslkey` in connection_data is not an unencrypted PEM key")
    })?;
    builder.with_client_auth_cert(chain, key).map_err(|_| {
        Error::invalid_config("`sslcert` and `sslkey` in connection_data do not belong together")
    })
}

/// For hosts that are no valid DNS name: without server name indication, and matching no certificate.
fn unnamed() -> ServerName<'static> {
    ServerName::IpAddress(std::net::Ipv4Addr::UNSPECIFIED.into())
}

fn failed(error: &rustls::Error) -> Error {
    let why = match error {
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the server's certificate expired"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the server's certificate is not for this host name; compare `host` with its subject alternative \
                 names, or use sslmode verify-ca"
            }
            CertificateError::UnknownIssuer => {
                "no trusted authority issued the server's certificate; put that authority's certificate into \
                 `sslrootcert`"
            }
            _ => "the server's certificate is not valid",
        },
        rustls::Error::AlertReceived(_) => {
            "the server refused the handshake; it may ask for a client certificate"
        }
        _ => "the TLS handshake failed",
    };
    Error::new(ErrorKind::Tls, why)
}

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

/// Checks as much of the server's certificate as the configuration asks for.
#[derive(Debug)]
struct Verifier {
    /// None when any certificate will do.
    roots: Option<RootCertStore>,
    /// What `sslrootcert` lists. OpenSSL trusts such a certificate also as the server's own; webpki does not.
    listed: Vec<CertificateDer<'static>>,
    check_name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn new(data: &ConnectionData, algorithms: WebPkiSupportedAlgorithms) -> Result<Self> {
        let verify = matches!(data.sslmode, SslMode::VerifyCa | SslMode::VerifyFull);
        let mut listed = Vec::new();
        let roots = match &data.sslrootcert {
            Some(pem) => {
                listed = certificates("sslrootcert", pem)?;
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(listed.iter().cloned());
                Some(roots)
            }
            None if verify => Some(RootCertStore {
                roots: webpki_roots::TLS_SERVER_ROOTS.into(),
            }),
            None => None,
        };
        Ok(Self {
            roots,
            listed,
            check_name: data.sslmode == SslMode::VerifyFull,
            algorithms,
        })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(roots) = &self.roots else {
            return Ok(ServerCertVerified::assertion());
        };
        let certificate = ParsedCertificate::try_from(end_entity)?;
        if !self.listed.iter().any(|listed| listed == end_entity) {
            let algorithms = self.algorithms.all;
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                roots,
                intermediates,
                now,
                algorithms,
            )?;
        }
        if self.check_name {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    // The signature is checked in every mode: channel binding is worth nothing when the peer need not own the key
    // of the certificate that it shows.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The channel binding `tls-server-end-point` (RFC 5929): the server's certificate, hashed as its signature was. None
/// for hashes other than SHA-256 and SHA-384 and their stand-ins; authentication then goes on without binding.
pub(crate) fn server_end_point(stream: &TlsStream) -> Option<Vec<u8>> {
    let certificate = stream.conn.peer_certificates()?.first()?;
    let suite = match signature_hash(certificate)? {
        SignatureHash::Sha256 => ring::cipher_suite::TLS13_AES_128_GCM_SHA256,
        SignatureHash::Sha384 => ring::cipher_suite::TLS13_AES_256_GCM_SHA384,
    };
    Some(
        suite
            .tls13()?
            .common
            .hash_provider
            .hash(certificate)
            .as_ref()
            .to_vec(),
    )
}

#[derive(Debug, PartialEq)]
enum SignatureHash {
    Sha256,
    Sha384,
}

/// `Certificate ::= SEQUENCE { tbsCertificate SEQUENCE, signatureAlgorithm SEQUENCE { OID, … }, … }`
fn signature_hash(der: &[u8]) -> Option<SignatureHash> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA_SHA2: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    let (certificate, _) = element(der, 0x30)?;
    let (_, rest) = element(certificate, 0x30)?;
    let (algorithm, _) = element(rest, 0x30)?;
    let (oid, _) = element(algorithm, 0x06)?;
    let (family, last) = oid.split_at_checked(oid.len().checked_sub(1)?)?;
    match (family, last) {
        // MD5 and SHA-1 stand for SHA-256 here.
        (RSA, [4 | 5 | 11]) | (ECDSA_SHA2, [2]) => Some(SignatureHash::Sha256),
        (RSA, [12]) | (ECDSA_SHA2, [3]) => Some(SignatureHash::Sha384),
        _ => None,
    }
}

/// The content of the DER element at the front, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = der.split_first_chunk()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (
                bytes
                    .iter()
                    .fold(0, |length, byte| length << 8 | usize::from(*byte)),
                rest,
            )
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_certificate_is_that_of_its_signature() {
        let certificate = |last: u8| {
            let oid = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, last];
            [&[0x30, 0x0f, 0x30, 0x00, 0x30, 0x0b, 0x06, 0x09][..], &oid].concat()
        };
        assert_eq!(
            signature_hash(&certificate(11)),
            Some(SignatureHash::Sha256)
        );
        assert_eq!(signature_hash(&certificate(5)), Some(SignatureHash::Sha256));
        assert_eq!(
            signature_hash(&certificate(12)),
            Some(SignatureHash::Sha384)
        );
        assert_eq!(signature_hash(&certificate(13)), None);
        for cut in 0..certificate(11).len() {
            assert_eq!(signature_hash(&certificate(11)[..cut]), None);
        }
    }
}
