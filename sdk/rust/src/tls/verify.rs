//! The check of a server's certificate.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::{Certificates, SslMode, certificates};
use crate::Result;

/// Checks as much of the server's certificate as the configuration asks for.
#[derive(Debug)]
pub(super) struct Verifier {
    /// None when any certificate will do.
    roots: Option<RootCertStore>,
    /// What the property of the root certificate lists. OpenSSL trusts such a certificate also as the server's own; webpki does not.
    listed: Vec<CertificateDer<'static>>,
    check_name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    pub(super) fn new(
        mode: SslMode,
        given: &Certificates<'_>,
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Result<Self> {
        let mut listed = Vec::new();
        let roots = match given.root {
            Some(pem) => {
                listed = certificates(given.names.root, pem)?;
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(listed.iter().cloned());
                Some(roots)
            }
            None if mode.verifies() => Some(RootCertStore {
                roots: webpki_roots::TLS_SERVER_ROOTS.into(),
            }),
            None => None,
        };
        Ok(Self {
            roots,
            listed,
            check_name: mode == SslMode::VerifyFull,
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
