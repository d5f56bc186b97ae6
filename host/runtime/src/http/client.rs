//! The HTTP client of one target, which resolves names and checks every address.

use std::{
    future::Future,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        self,
        connect::{HttpConnector, dns::Name},
    },
    rt::{TokioExecutor, TokioTimer},
};
use wasmtime_wasi_http::{Error as HttpError, WasiBody};

use super::origin::Origin;
use crate::{
    host_names::{addresses, plain_name},
    policy::{EgressRules, Reach},
};
use mindhost_base::{
    config::PluginSettings,
    error::{Error, Result},
};

/// A client that reaches only what its resolver allows.
pub type Client = legacy::Client<HttpsConnector<HttpConnector<Resolver>>, WasiBody>;

/// Creates a client with a connection pool.
pub fn client(resolver: Resolver, settings: &PluginSettings) -> Result<Client> {
    let tls = tls(&resolver.0.egress)?;
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(settings.connect_timeout));
    let https = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(legacy::Client::builder(TokioExecutor::new())
        .pool_idle_timeout(settings.idle_timeout)
        .pool_max_idle_per_host(32)
        .pool_timer(TokioTimer::new())
        .build(https))
}

fn tls(egress: &EgressRules) -> Result<rustls::ClientConfig> {
    let mut roots =
        rustls::RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for certificate in &*egress.root_certificates {
        roots.add(certificate.clone()).map_err(Error::internal)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::internal)?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// What decides whether a request may go to an address that a granted name resolved to.
pub struct Rules {
    /// The workspace whose requests they are.
    pub workspace: String,
    /// The operator's rules.
    pub egress: EgressRules,
    /// Addresses of the host.
    pub reserved: Vec<SocketAddr>,
    /// The granted origins.
    pub destinations: Vec<Destination>,
}

/// A granted origin.
pub struct Destination {
    /// In canonical form, so that it can be compared.
    pub origin: Origin,
    /// The default port of the plugin.
    pub own_port: Option<u16>,
    /// Whether requests to it carry a credential.
    pub confidential: bool,
}

impl Rules {
    /// Checks one address of an origin. Credentials need TLS or a private network.
    pub fn check(&self, ip: IpAddr, origin: &Origin) -> Result<(), AddressRefusal> {
        let address = SocketAddr::new(ip, origin.port);
        if let Some(why) = self.egress.refusal(address, &self.reserved) {
            return Err(AddressRefusal(why));
        }
        let granted = || self.destinations.iter().filter(|one| one.origin == *origin);
        let own_port = granted().find_map(|one| one.own_port);
        if let Some(why) = self.egress.port_refusal(address, own_port) {
            return Err(AddressRefusal(why));
        }
        let confidential = granted().any(|one| one.confidential);
        if confidential && !origin.tls && Reach::of(ip) == Reach::Public {
            return Err(AddressRefusal(format!(
                "the credential of this provider would go to {} unencrypted; use an https URL",
                origin.host
            )));
        }
        Ok(())
    }

    /// Checks one address of a name. The port is unknown here, so the address must be allowed for every origin with
    /// that name. A name of no origin does not resolve.
    fn check_name(&self, ip: IpAddr, name: &str) -> Result<(), AddressRefusal> {
        let mut is_granted = false;
        for Destination { origin, .. } in &self.destinations {
            if origin.host == name {
                is_granted = true;
                self.check(ip, origin)?;
            }
        }
        match is_granted {
            true => Ok(()),
            false => Err(AddressRefusal(format!(
                "a request went to {name}, which the configuration does not name"
            ))),
        }
    }
}

/// Why a request was not sent. hyper's errors carry it to the caller.
#[derive(Debug)]
pub struct AddressRefusal(pub String);

impl std::fmt::Display for AddressRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AddressRefusal {}

/// Resolves names for the client and checks every address, each time a connection is opened.
#[derive(Clone)]
pub struct Resolver(pub Arc<Rules>);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl tower::Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let rules = Arc::clone(&self.0);
        Box::pin(async move {
            let name = plain_name(name.as_str());
            let mut allowed = Vec::new();
            let mut refusal = None;
            for ip in addresses(&name, 0, &rules.workspace).await? {
                match rules.check_name(ip, &name) {
                    Ok(()) => allowed.push(SocketAddr::new(ip, 0)),
                    Err(why) => refusal = Some(why),
                }
            }
            match refusal {
                Some(why) if allowed.is_empty() => Err(why.into()),
                _ => Ok(allowed.into_iter()),
            }
        })
    }
}

/// How a request failed.
pub enum Failure {
    /// The request is not allowed.
    Refused(String),
    /// There is no access token for the request.
    NoToken(String),
    /// The host may open no more connections.
    NotOpened(std::io::Error),
    /// Another failure, as an error of WASI.
    Http(HttpError),
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        Self::Http(error)
    }
}

impl From<AddressRefusal> for Failure {
    fn from(AddressRefusal(why): AddressRefusal) -> Self {
        Self::Refused(why)
    }
}

/// Finds the cause in the chain of a client error.
pub fn failure(error: &legacy::Error) -> Failure {
    if let Some(error) = not_opened(error) {
        return Failure::NotOpened(error);
    }
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(AddressRefusal(why)) = error.downcast_ref() {
            return Failure::Refused(why.clone());
        }
        if let Some(error) = error.downcast_ref::<Error>() {
            tracing::debug!(%error, "name not resolved");
            return HttpError::DnsError {
                rcode: None,
                info_code: None,
            }
            .into();
        }
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return match tls {
                rustls::Error::InvalidCertificate(_) => HttpError::TlsCertificateError.into(),
                _ => HttpError::TlsProtocolError.into(),
            };
        }
        if let Some(io) = error.downcast_ref::<std::io::Error>()
            && let Some(error) = io_failure(io)
        {
            return error.into();
        }
        cause = error.source();
    }
    match error.is_connect() {
        true => HttpError::DestinationUnavailable.into(),
        false => HttpError::HttpResponseIncomplete.into(),
    }
}

/// The cause in the chain of an error, if the host could open no file or connection.
fn not_opened(error: &(dyn std::error::Error + 'static)) -> Option<std::io::Error> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>()
            && Error::is_out_of_files(io)
        {
            return io.raw_os_error().map(std::io::Error::from_raw_os_error);
        }
        cause = error.source();
    }
    None
}

/// Converts an I/O error, unless it only wraps another error.
fn io_failure(error: &std::io::Error) -> Option<HttpError> {
    let inner = error.get_ref();
    if let Some(tls) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return Some(match tls {
            rustls::Error::InvalidCertificate(_) => HttpError::TlsCertificateError,
            _ => HttpError::TlsProtocolError,
        });
    }
    // The connector wraps it once more, and `source` passes over what an I/O error wraps.
    if let Some(io) = inner.and_then(|inner| inner.downcast_ref::<std::io::Error>()) {
        return io_failure(io);
    }
    Some(match error.kind() {
        std::io::ErrorKind::ConnectionRefused => HttpError::ConnectionRefused,
        std::io::ErrorKind::TimedOut => HttpError::ConnectionTimeout,
        std::io::ErrorKind::ConnectionReset
        | std::io::ErrorKind::BrokenPipe
        | std::io::ErrorKind::UnexpectedEof => HttpError::ConnectionTerminated,
        std::io::ErrorKind::HostUnreachable | std::io::ErrorKind::NetworkUnreachable => {
            HttpError::DestinationUnavailable
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
        thread,
    };

    use bytes::Bytes;
    use http::Request;
    use http_body_util::{BodyExt as _, Full};
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    use rustls_pki_types::PrivateKeyDer;

    use super::*;
    use crate::policy::root_certificates;
    use mindhost_base::config::Config;

    /// A server of one request whose certificate an authority signed; its port, and the authority in PEM.
    fn server() -> (u16, String) {
        let ca_key = KeyPair::generate().unwrap();
        let mut ca = CertificateParams::default();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = ca.self_signed(&ca_key).unwrap().pem();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![String::from("127.0.0.1")]).unwrap();
        let certificate = certificate
            .signed_by(&key, &Issuer::new(ca, ca_key))
            .unwrap();
        let private = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let config = rustls::ServerConfig::builder_with_provider(Arc::new(
            rustls::crypto::ring::default_provider(),
        ));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth();
        let config = config
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let session = rustls::ServerConnection::new(Arc::new(config)).unwrap();
            let mut stream = rustls::StreamOwned::new(session, listener.accept().unwrap().0);
            // A client that does not trust this server ends the handshake.
            if stream.read(&mut [0; 4096]).is_ok() {
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                    .unwrap();
            }
        });
        (port, pem)
    }

    async fn get(port: u16, egress: EgressRules) -> Result<u16, legacy::Error> {
        let rules = Rules {
            workspace: String::from("default"),
            egress: EgressRules {
                allow_loopback: true,
                ..egress
            },
            reserved: Vec::new(),
            destinations: Vec::new(),
        };
        let settings = Config::defaults().unwrap().plugins.limits;
        let client = client(Resolver(Arc::new(rules)), &settings).unwrap();
        let body = Full::new(Bytes::new())
            .map_err(HttpError::from)
            .boxed_unsync();
        let request = Request::get(format!("https://127.0.0.1:{port}/"))
            .body(body)
            .unwrap();
        Ok(client.request(request).await?.status().as_u16())
    }

    #[tokio::test]
    async fn server_of_an_own_authority_is_accepted_if_the_operator_names_it() {
        let (port, _) = server();
        let refused = get(port, EgressRules::default()).await.unwrap_err();
        assert!(
            matches!(
                failure(&refused),
                Failure::Http(HttpError::TlsCertificateError)
            ),
            "{refused:?}"
        );
        let (port, pem) = server();
        let egress = EgressRules {
            root_certificates: root_certificates(pem.as_bytes()).unwrap(),
            ..EgressRules::default()
        };
        assert_eq!(get(port, egress).await.unwrap(), 200);
    }

    #[test]
    fn connection_that_the_host_could_not_open_is_told_from_others() {
        let cause = std::io::Error::from_raw_os_error(24);
        let lookup = Error::out_of_files().with_source(cause);
        assert!(not_opened(&lookup).is_some());
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert!(not_opened(&refused).is_none());
    }

    #[test]
    fn file_without_a_usable_certificate_is_refused() {
        for (pem, why) in [
            ("", "no certificate"),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "certificate 1",
            ),
            (
                "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
                "not a PEM file",
            ),
        ] {
            let error = root_certificates(pem.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
