//! A throw-away authority, and a certificate of it for `localhost`.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};

/// The name of TDS 8 in a TLS handshake.
const TDS_8: &[u8] = b"tds/8.0";

/// What a double shows.
pub struct Certificate {
    /// The authority, as PEM.
    pub authority: String,
    packets: Arc<ServerConfig>,
    strict: Arc<ServerConfig>,
}

impl Certificate {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::<String>::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // With one name for both, some clients take the server's certificate for its own authority.
        let name = "authority of the double";
        params.distinguished_name.push(DnType::CommonName, name);
        let authority = params.self_signed(&key).expect("an authority").pem();
        let issuer = Issuer::new(params, key);
        let own_key = KeyPair::generate().expect("a key");
        let own = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let own = own.signed_by(&own_key, &issuer).expect("a certificate");
        let config = |versions| {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let key = PrivatePkcs8KeyDer::from(own_key.serialize_der());
            ServerConfig::builder_with_provider(provider)
                .with_protocol_versions(versions)
                .expect("versions of TLS")
                .with_no_client_auth()
                .with_single_cert(vec![own.der().clone()], PrivateKeyDer::Pkcs8(key))
                .expect("a certificate with its key")
        };
        let mut strict = config(rustls::ALL_VERSIONS);
        strict.alpn_protocols = vec![TDS_8.to_vec()];
        Self {
            authority,
            packets: Arc::new(config(&[&rustls::version::TLS12])),
            strict: Arc::new(strict),
        }
    }

    /// The server's side of a handshake: inside of packets, or as TDS 8 begins.
    pub(crate) fn server(&self, strict: bool) -> ServerConnection {
        let config = if strict { &self.strict } else { &self.packets };
        ServerConnection::new(Arc::clone(config)).expect("a server's side of TLS")
    }
}
