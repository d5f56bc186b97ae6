//! Outgoing HTTP for guests: granted origins only, credentials added here.

use std::{
    future::Future,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use base64::Engine as _;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, Uri, header, uri::Scheme};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        Client,
        connect::{HttpConnector, dns::Name},
    },
    rt::{TokioExecutor, TokioTimer},
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error as HttpError, ForbiddenHeaderFilter, RequestOptions, WasiBody,
    WasiHttpHooks,
};

use super::grants::{Grants, addresses, literal, text};
use crate::{
    error::{Code, Error, Result},
    plugins::{
        manifest::{CredentialScheme, Manifest},
        policy::{EgressRules, Reach},
        settings::PluginSettings,
    },
};

type HttpResult<T> = std::result::Result<T, HttpError>;
type Exchange = (
    Response<WasiBody>,
    Box<dyn Future<Output = HttpResult<()>> + Send>,
);

/// The origins of one target, with the client that keeps their connections.
pub struct HttpGrant {
    origins: Arc<[Origin]>,
    credentials: Vec<Credential>,
    forbidden: Arc<[HeaderName]>,
    rules: Arc<Rules>,
    client: Client<HttpsConnector<HttpConnector<Resolver>>, WasiBody>,
    silence: Duration,
}

/// Scheme, host and port, all of which must match.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    tls: bool,
    host: String,
    port: u16,
}

impl Origin {
    fn of(uri: &Uri) -> Option<Self> {
        let tls = *uri.scheme()? == Scheme::HTTPS;
        let host = uri.host()?.trim_end_matches('.').to_ascii_lowercase();
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
        Some(Self { tls, host, port })
    }
}

struct Rules {
    egress: EgressRules,
    reserved: Vec<SocketAddr>,
}

impl Rules {
    fn check(&self, ip: IpAddr, port: u16) -> Result<(), Refused> {
        match self
            .egress
            .refusal(SocketAddr::new(ip, port), &self.reserved)
        {
            Some(why) => Err(Refused(why)),
            None => Ok(()),
        }
    }
}

/// Why a request was not sent; travels through hyper's errors back to the sender.
#[derive(Debug)]
struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

enum Credential {
    Header(HeaderName, HeaderValue),
    Query(String),
}

impl HttpGrant {
    /// The origins that the manifest's URL properties name.
    pub fn derive(
        manifest: &Manifest,
        data: &Map<String, Value>,
        egress: EgressRules,
        reserved: Vec<SocketAddr>,
        settings: &PluginSettings,
    ) -> Result<Self> {
        let mut origins = Vec::new();
        for rule in &manifest.http {
            let configured = text(data, &rule.url);
            let url = match configured.is_empty() {
                true => rule.default.clone().unwrap_or_default(),
                false => configured,
            };
            if !url.is_empty() {
                origins.push(origin(&rule.url, &url)?);
            }
        }
        let origins: Arc<[Origin]> = origins.into();
        let rules = Arc::new(Rules { egress, reserved });
        for origin in origins.iter() {
            if let Some(ip) = literal(&origin.host) {
                rules
                    .check(ip, origin.port)
                    .map_err(super::grants::not_allowed)?;
            }
        }
        let resolver = Resolver {
            origins: Arc::clone(&origins),
            rules: Arc::clone(&rules),
        };
        Ok(Self {
            credentials: credentials(manifest, data)?,
            forbidden: forbidden_headers(manifest),
            client: client(resolver, settings)?,
            silence: Duration::from_millis(settings.http_idle_timeout_ms),
            origins,
            rules,
        })
    }

    async fn send(
        &self,
        mut request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Exchange, Failure> {
        let origin = Origin::of(request.uri()).ok_or(HttpError::HttpRequestUriInvalid)?;
        if !self.origins.contains(&origin) {
            return Err(Failure::Refused(format!(
                "the plugin tried to reach {}:{}, which its configuration does not name",
                origin.host, origin.port
            )));
        }
        if let Some(ip) = literal(&origin.host) {
            self.rules.check(ip, origin.port)?;
        }
        if !self.credentials.is_empty() {
            self.check_confidential(&origin).await?;
            self.add_credentials(&mut request)?;
        }
        let first_byte = options
            .and_then(|options| options.first_byte_timeout)
            .unwrap_or(self.silence);
        let silence = options
            .and_then(|options| options.between_bytes_timeout)
            .unwrap_or(self.silence);
        let response = tokio::time::timeout(first_byte, self.client.request(request))
            .await
            .map_err(|_| HttpError::ConnectionReadTimeout)?
            .map_err(|error| failure(&error))?;
        let response = response.map(|body| Silence::watch(body, silence).boxed_unsync());
        Ok((response, Box::new(std::future::ready(Ok(())))))
    }

    /// A credential goes out only where nobody in between can read it: over TLS, or on a network of one's own.
    async fn check_confidential(&self, origin: &Origin) -> Result<(), Failure> {
        if origin.tls {
            return Ok(());
        }
        let found = addresses(&origin.host, origin.port)
            .await
            .map_err(|_| HttpError::DestinationNotFound)?;
        match found.iter().all(|ip| Reach::of(*ip) != Reach::Public) {
            true => Ok(()),
            false => Err(Failure::Refused(format!(
                "the credential of this provider would go to {} unencrypted; use an https URL",
                origin.host
            ))),
        }
    }

    fn add_credentials(&self, request: &mut Request<WasiBody>) -> Result<(), Failure> {
        for credential in &self.credentials {
            match credential {
                Credential::Header(name, value) => {
                    request.headers_mut().insert(name.clone(), value.clone());
                }
                Credential::Query(pair) => {
                    let uri =
                        with_query(request.uri(), pair).ok_or(HttpError::HttpRequestUriInvalid)?;
                    *request.uri_mut() = uri;
                }
            }
        }
        Ok(())
    }
}

fn origin(property: &str, url: &str) -> Result<Origin> {
    let wrong = |why: &str| {
        Error::new(
            Code::InvalidConnectionData,
            format!("`{property}` {why}; write it like https://api.example.com/v1"),
        )
        .param(format!("connection_data.{property}"))
    };
    let uri: Uri = url.parse().map_err(|_| wrong("is not a URL"))?;
    let scheme = uri.scheme_str().unwrap_or_default();
    if !matches!(scheme, "http" | "https") {
        return Err(wrong("must begin with https:// or http://"));
    }
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        return Err(wrong("may not contain a user name or password"));
    }
    Origin::of(&uri).ok_or_else(|| wrong("has no host"))
}

fn credentials(manifest: &Manifest, data: &Map<String, Value>) -> Result<Vec<Credential>> {
    let mut credentials = Vec::new();
    for rule in &manifest.credentials {
        let secret = text(data, &rule.property);
        if secret.is_empty() || rule.scheme == CredentialScheme::GuestHeld {
            continue;
        }
        let name = rule.name.as_deref().unwrap_or_default();
        let value = |text: String| {
            let mut value = HeaderValue::try_from(text).map_err(|_| {
                Error::new(
                    Code::InvalidConnectionData,
                    format!("`{}` has characters that cannot be sent", rule.property),
                )
                .param(format!("connection_data.{}", rule.property))
            })?;
            value.set_sensitive(true);
            Ok::<_, Error>(value)
        };
        credentials.push(match rule.scheme {
            CredentialScheme::Bearer => {
                Credential::Header(header::AUTHORIZATION, value(format!("Bearer {secret}"))?)
            }
            CredentialScheme::Basic => {
                let pair = format!("{}:{secret}", text(data, name));
                let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
                Credential::Header(header::AUTHORIZATION, value(format!("Basic {encoded}"))?)
            }
            CredentialScheme::Header => {
                let name = HeaderName::try_from(name).map_err(Error::internal)?;
                Credential::Header(name, value(secret)?)
            }
            CredentialScheme::Query | CredentialScheme::GuestHeld => {
                let encode = |text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
                Credential::Query(format!("{}={}", encode(name), encode(&secret)))
            }
        });
    }
    Ok(credentials)
}

/// Headers that a guest may not set: those of the connection, and those that the host fills in itself.
fn forbidden_headers(manifest: &Manifest) -> Arc<[HeaderName]> {
    let own = manifest
        .credentials
        .iter()
        .filter_map(|rule| match rule.scheme {
            CredentialScheme::Bearer | CredentialScheme::Basic => Some(header::AUTHORIZATION),
            CredentialScheme::Header => HeaderName::try_from(rule.name.as_deref()?).ok(),
            CredentialScheme::Query | CredentialScheme::GuestHeld => None,
        });
    DEFAULT_FORBIDDEN_HEADERS.into_iter().chain(own).collect()
}

fn with_query(uri: &Uri, pair: &str) -> Option<Uri> {
    let mut parts = uri.clone().into_parts();
    let old = parts
        .path_and_query
        .as_ref()
        .map_or("/", |path| path.as_str());
    let separator = if old.contains('?') { '&' } else { '?' };
    parts.path_and_query = Some(format!("{old}{separator}{pair}").parse().ok()?);
    Uri::from_parts(parts).ok()
}

fn client(
    resolver: Resolver,
    settings: &PluginSettings,
) -> Result<Client<HttpsConnector<HttpConnector<Resolver>>, WasiBody>> {
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(Duration::from_millis(settings.connect_timeout_ms)));
    let https = HttpsConnectorBuilder::new()
        .with_tls_config(tls()?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(Client::builder(TokioExecutor::new())
        .pool_idle_timeout(Duration::from_millis(settings.idle_timeout_ms))
        .pool_max_idle_per_host(32)
        .pool_timer(TokioTimer::new())
        .build(https))
}

fn tls() -> Result<rustls::ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::internal)?
        .with_webpki_roots()
        .with_no_client_auth())
}

/// Resolves names for the client and checks every address, each time a connection is opened.
#[derive(Clone)]
struct Resolver {
    origins: Arc<[Origin]>,
    rules: Arc<Rules>,
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl tower::Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let Self { origins, rules } = self.clone();
        Box::pin(async move {
            let ports: Vec<u16> = origins
                .iter()
                .filter(|origin| origin.host == name.as_str())
                .map(|origin| origin.port)
                .collect();
            let mut allowed = Vec::new();
            let mut refusal = None;
            for ip in addresses(name.as_str(), 0).await? {
                match ports.iter().try_for_each(|port| rules.check(ip, *port)) {
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
enum Failure {
    /// The guest asked for what it may not have.
    Refused(String),
    /// Everything else, in WASI's words.
    Http(HttpError),
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        Self::Http(error)
    }
}

impl From<Refused> for Failure {
    fn from(Refused(why): Refused) -> Self {
        Self::Refused(why)
    }
}

/// Finds the cause in the chain of a client error.
fn failure(error: &hyper_util::client::legacy::Error) -> Failure {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(Refused(why)) = error.downcast_ref() {
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

/// What an I/O error says by itself; an error that only wraps another says nothing.
fn io_failure(error: &std::io::Error) -> Option<HttpError> {
    if let Some(inner) = error.get_ref()
        && let Some(tls) = inner.downcast_ref::<rustls::Error>()
    {
        return Some(match tls {
            rustls::Error::InvalidCertificate(_) => HttpError::TlsCertificateError,
            _ => HttpError::TlsProtocolError,
        });
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

/// A body that fails when it stays silent for too long.
struct Silence<B> {
    body: B,
    limit: Duration,
    timer: Pin<Box<Sleep>>,
}

impl<B> Silence<B> {
    fn watch(body: B, limit: Duration) -> Self {
        Self {
            body,
            limit,
            timer: Box::pin(tokio::time::sleep(limit)),
        }
    }
}

impl<B> Body for Silence<B>
where
    B: Body<Data = Bytes, Error = hyper::Error> + Unpin,
{
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<HttpResult<Frame<Bytes>>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                let next = Instant::now() + self.limit;
                self.timer.as_mut().reset(next);
                Poll::Ready(frame.map(|frame| frame.map_err(HttpError::from)))
            }
            Poll::Pending => self
                .timer
                .as_mut()
                .poll(cx)
                .map(|()| Some(Err(HttpError::ConnectionReadTimeout))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

/// The hooks of one store.
pub struct Sender {
    grants: Arc<Grants>,
}

impl Sender {
    /// A sender that serves what `grants` names.
    pub fn new(grants: Arc<Grants>) -> Self {
        Self { grants }
    }
}

impl WasiHttpHooks for Sender {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        match self.grants.http() {
            Some(http) => {
                let forbidden = Arc::clone(&http.forbidden);
                Arc::new(move |name| forbidden.contains(name))
            }
            None => Arc::new(|name| DEFAULT_FORBIDDEN_HEADERS.contains(name)),
        }
    }

    fn set_host_header(&mut self) -> bool {
        // The client derives it from the checked URL.
        false
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _sent: Box<dyn Future<Output = HttpResult<()>> + Send>,
    ) -> Box<dyn Future<Output = HttpResult<Exchange>> + Send> {
        let grants = Arc::clone(&self.grants);
        Box::new(async move {
            let Some(http) = grants.http() else {
                grants.deny(
                    "the plugin sent an HTTP request, which its manifest does not name".to_owned(),
                );
                return Err(HttpError::HttpRequestDenied);
            };
            match http.send(request, options).await {
                Ok(exchange) => Ok(exchange),
                Err(Failure::Http(error)) => Err(error),
                Err(Failure::Refused(why)) => {
                    grants.deny(why);
                    Err(HttpError::HttpRequestDenied)
                }
            }
        })
    }

    fn p2_error_from_hyper(
        &mut self,
        error: &hyper::Error,
    ) -> wasmtime_wasi_http::p2::bindings::http::types::ErrorCode {
        use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
        match error.is_incomplete_message() {
            true => ErrorCode::HttpResponseIncomplete,
            false => ErrorCode::HttpProtocolError,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::Full;
    use serde_json::json;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    /// A server that answers one request with `answer` and gives back what it read.
    async fn serve(answer: &'static str) -> (u16, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                stream.read_buf(&mut request).await.unwrap();
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(request).unwrap()
        });
        (port, served)
    }

    fn grant(credential: Value, url: &str, reserved: &[SocketAddr]) -> Result<HttpGrant> {
        let manifest = json!({
            "kind": "model", "name": "m", "title": "M", "version": "1.0.0", "wit": "0.1.0",
            "world": "model-provider", "http": [{"url": "base_url"}],
            "credentials": [credential], "connection_data": {"type": "object"}
        });
        let data = json!({"base_url": url, "api_key": "sk-1", "user": "ann"});
        let egress = EgressRules {
            allow_loopback: true,
            ..EgressRules::default()
        };
        HttpGrant::derive(
            &serde_json::from_value(manifest).unwrap(),
            data.as_object().unwrap(),
            egress,
            reserved.to_vec(),
            &PluginSettings::default(),
        )
    }

    fn bearer() -> Value {
        json!({"property": "api_key", "scheme": "bearer"})
    }

    async fn get(grant: &HttpGrant, url: &str) -> Result<u16, Failure> {
        let body = Full::new(Bytes::new())
            .map_err(HttpError::from)
            .boxed_unsync();
        let request = Request::get(url).body(body).unwrap();
        let (response, _) = grant.send(request, None).await?;
        Ok(response.status().as_u16())
    }

    fn refusal(result: Result<u16, Failure>) -> String {
        match result {
            Err(Failure::Refused(why)) => why,
            Err(Failure::Http(error)) => panic!("{error}"),
            Ok(status) => panic!("sent, and answered with {status}"),
        }
    }

    const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

    #[tokio::test]
    async fn the_host_adds_the_credential() {
        for (rule, line) in [
            (bearer(), "authorization: Bearer sk-1"),
            (
                json!({"property": "api_key", "scheme": "basic", "name": "user"}),
                "authorization: Basic YW5uOnNrLTE=",
            ),
            (
                json!({"property": "api_key", "scheme": "header", "name": "x-api-key"}),
                "x-api-key: sk-1",
            ),
            (
                json!({"property": "api_key", "scheme": "query", "name": "key"}),
                "GET /v1?a=b&key=sk%2D1 ",
            ),
        ] {
            let (port, served) = serve(OK).await;
            let grant = grant(rule, &format!("http://127.0.0.1:{port}/v1"), &[]).unwrap();
            let status = get(&grant, &format!("http://127.0.0.1:{port}/v1?a=b")).await;
            assert!(matches!(status, Ok(200)));
            let request = served.await.unwrap();
            assert!(request.contains(line), "{request}");
            assert!(
                request.contains(&format!("host: 127.0.0.1:{port}")),
                "{request}"
            );
        }
    }

    #[tokio::test]
    async fn only_the_granted_origin_is_reached() {
        let grant = grant(bearer(), "http://127.0.0.1:9/v1", &[]).unwrap();
        for url in [
            "http://127.0.0.1:10/v1",
            "http://localhost:9/v1",
            "https://127.0.0.1:9/v1",
            "http://127.0.0.1.example.com:9/v1",
            "http://127.0.0.1:9@example.com/",
        ] {
            assert!(
                refusal(get(&grant, url).await).contains("does not name"),
                "{url}"
            );
        }
    }

    #[tokio::test]
    async fn a_redirect_is_handed_to_the_guest_and_not_followed() {
        let (port, served) = serve(
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        )
        .await;
        let url = format!("http://127.0.0.1:{port}/");
        let grant = grant(bearer(), &url, &[]).unwrap();
        assert!(matches!(get(&grant, &url).await, Ok(302)));
        served.await.unwrap();
    }

    #[tokio::test]
    async fn a_credential_never_goes_out_in_clear_to_a_public_address() {
        let grant = grant(bearer(), "http://93.184.216.34/v1", &[]).unwrap();
        let why = refusal(get(&grant, "http://93.184.216.34/v1").await);
        assert!(why.contains("unencrypted"), "{why}");
    }

    #[tokio::test]
    async fn addresses_are_checked_behind_names_too() {
        let reserved = [
            "127.0.0.1:8080".parse().unwrap(),
            "[::1]:8080".parse().unwrap(),
        ];
        let grant = grant(bearer(), "http://localhost:8080/", &reserved).unwrap();
        let why = refusal(get(&grant, "http://localhost:8080/").await);
        assert!(why.contains("this server itself"), "{why}");
    }

    #[test]
    fn urls_that_cannot_be_are_refused_with_the_reason() {
        let why = |url: &str| {
            grant(bearer(), url, &[])
                .err()
                .unwrap()
                .message()
                .to_owned()
        };
        assert!(why("ftp://example.com").contains("must begin with"));
        assert!(why("http://a:b@example.com").contains("user name"));
        assert!(why("http://169.254.169.254/").contains("egress rules"));
        assert!(why("not a url").contains("not a URL"));
    }

    #[test]
    fn a_guest_cannot_set_what_the_host_fills_in() {
        let grant = grant(bearer(), "http://127.0.0.1:1", &[]).unwrap();
        assert!(grant.forbidden.contains(&header::AUTHORIZATION));
        assert!(grant.forbidden.contains(&header::HOST));
    }
}
