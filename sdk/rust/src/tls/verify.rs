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
            // A public authority gives anybody a certificate for a name of their own: without the name, the chain to
            // one proves nothing.
            check_name: mode == SslMode::VerifyFull
                || (mode == SslMode::VerifyCa && given.root.is_none()),
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

#[cfg(test)]
mod tests {
    use rustls::CertificateError;
    use rustls::crypto::ring;

    use super::*;

    /// What a verifier says of a certificate for `localhost` that it trusts, shown by a server of this name.
    fn verdict(mode: SslMode, is_root_given: bool, server: &str) -> Result<(), rustls::Error> {
        let issued = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let pem = issued.cert.pem();
        let given = Certificates {
            root: is_root_given.then_some(pem.as_str()),
            ..Certificates::default()
        };
        let algorithms = ring::default_provider().signature_verification_algorithms;
        let mut verifier = Verifier::new(mode, &given, algorithms).unwrap();
        // As if a public authority had signed it.
        verifier.listed = vec![issued.cert.der().clone()];
        let name = ServerName::try_from(server.to_owned()).unwrap();
        verifier
            .verify_server_cert(issued.cert.der(), &[], &name, &[], UnixTime::now())
            .map(|_| ())
    }

    #[test]
    fn the_public_authorities_count_with_the_name_only() {
        for (mode, is_root_given, minds_the_name) in [
            (SslMode::Require, false, false),
            (SslMode::VerifyCa, false, true),
            (SslMode::VerifyFull, false, true),
            (SslMode::Require, true, false),
            (SslMode::VerifyCa, true, false),
            (SslMode::VerifyFull, true, true),
        ] {
            assert_eq!(
                verdict(mode, is_root_given, "localhost"),
                Ok(()),
                "{mode:?}"
            );
            let other = verdict(mode, is_root_given, "db.example.com");
            let is_refused = matches!(
                other,
                Err(rustls::Error::InvalidCertificate(
                    CertificateError::NotValidForName
                        | CertificateError::NotValidForNameContext { .. }
                ))
            );
            assert_eq!(is_refused, minds_the_name, "{mode:?}: {other:?}");
        }
    }
}
