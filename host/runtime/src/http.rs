//! Outgoing HTTP for guests: only to granted origins, with credentials that the host adds.

pub mod access_token;
mod client;
mod credentials;
mod idle_timeout;
mod origin;
mod repeatable;
#[cfg(test)]
mod tests;

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Map, Value};
use tokio::sync::OwnedSemaphorePermit;
use wasmtime_wasi_http::{Error as HttpError, RequestOptions, WasiBody};

pub use self::client::Failure;
use self::{
    access_token::{AccessTokens, TokenStore},
    client::{Client, Destination, Resolver, Rules},
    credentials::Credential,
    idle_timeout::IdleTimeoutBody,
    origin::Origin,
};
use super::{connection_data::text, host_errors::not_allowed};
use crate::policy::EgressRules;
use mindhost_base::{config::PluginSettings, error::Result};
use mindhost_plugin_api::{
    PluginKind,
    manifest::{CredentialRule, Manifest},
    redact::Redactor,
};

/// Access tokens that are tried for one request.
const MAX_TOKENS: u32 = 3;

/// The result of a request, with WASI's error.
pub type HttpResult<T> = std::result::Result<T, HttpError>;
/// A response, and what ends when its connection does.
pub type Exchange = (
    Response<WasiBody>,
    Box<dyn Future<Output = HttpResult<()>> + Send>,
);

/// The granted origins of one target, with the client that pools their connections.
pub struct HttpGrant {
    granted: Vec<GrantedOrigin>,
    forbidden: Arc<[HeaderName]>,
    rules: Arc<Rules>,
    client: Client,
    idle_timeout: Duration,
    /// Is told of each access token.
    redactor: Redactor,
}

/// Where a guest may send requests, and the credentials that the host adds to them.
struct GrantedOrigin {
    origin: Origin,
    /// The port of the plugin's default URL.
    own_port: Option<u16>,
    credentials: Vec<Credential>,
    /// Whether the host itself sends a secret there, for access tokens.
    is_token_endpoint: bool,
}

impl HttpGrant {
    /// Derives the origins from the URL properties of the manifest.
    pub fn derive(
        manifest: &Manifest,
        data: &Map<String, Value>,
        egress: EgressRules,
        reserved: Vec<SocketAddr>,
        settings: &PluginSettings,
        redactor: &Redactor,
        scope: (&str, &TokenStore),
    ) -> Result<Self> {
        let (workspace, tokens) = scope;
        let mut granted = Vec::new();
        for rule in &manifest.http {
            let configured = text(data, &rule.url);
            let url = match configured.is_empty() {
                // A connector may reach only what its datasource names.
                true if manifest.kind == PluginKind::Connector => continue,
                true => rule.default.clone().unwrap_or_default(),
                false => configured,
            };
            if !url.is_empty() {
                let origin = Origin::configured(&rule.url, &url)?;
                let gives_tokens = |one: &CredentialRule| one.token_url.as_ref() == Some(&rule.url);
                granted.push(GrantedOrigin {
                    is_token_endpoint: manifest.credentials.iter().any(gives_tokens),
                    origin,
                    own_port: rule.default.as_deref().and_then(Origin::port_of),
                    credentials: credentials::credentials(
                        manifest, &rule.url, data, workspace, tokens,
                    )?,
                });
            }
        }
        let rules = Arc::new(Rules {
            workspace: workspace.to_owned(),
            egress,
            reserved,
            destinations: granted.iter().map(GrantedOrigin::destination).collect(),
        });
        for GrantedOrigin { origin, .. } in &granted {
            if let Some(ip) = origin.literal() {
                rules.check(ip, origin).map_err(not_allowed)?;
            }
        }
        let resolver = Resolver(Arc::clone(&rules));
        Ok(Self {
            granted,
            forbidden: credentials::forbidden_headers(manifest),
            client: client::client(resolver, settings)?,
            idle_timeout: settings.http_idle_timeout,
            redactor: redactor.clone(),
            rules,
        })
    }

    /// Rewrites a request to a granted origin: with the checked form of the URL and the credentials of the origin.
    fn admit<B>(&self, request: Request<B>) -> Result<Request<B>, Failure> {
        let invalid = HttpError::HttpRequestUriInvalid;
        let origin = Origin::of(request.uri()).ok_or(invalid)?;
        let mut granted = self.granted.iter().filter(|one| one.origin == origin);
        let Some(first) = granted.next() else {
            // With the guest's form of the URL, so that a secret in it is recognized.
            let host = request.uri().host().unwrap_or_default();
            return Err(Failure::Refused(format!(
                "the plugin tried to reach {host}:{}, which its configuration does not name",
                origin.port
            )));
        };
        if request.method() == Method::CONNECT {
            return Err(HttpError::HttpRequestMethodInvalid.into());
        }
        if let Some(ip) = origin.literal() {
            self.rules.check(ip, &origin)?;
        }
        let (mut parts, body) = request.into_parts();
        let uri = origin.respell(parts.uri);
        parts.uri = uri.ok_or(HttpError::HttpRequestUriInvalid)?;
        let mut request = Request::from_parts(parts, body);
        for credential in std::iter::once(first)
            .chain(granted)
            .flat_map(|one| &one.credentials)
        {
            let added = credential.add_to(&mut request);
            added.ok_or(HttpError::HttpRequestUriInvalid)?;
        }
        Ok(request)
    }

    /// The access tokens of an admitted request's origin, if it has some.
    fn tokens<B>(&self, request: &Request<B>) -> Option<&AccessTokens> {
        let origin = Origin::of(request.uri());
        let granted = self.granted.iter();
        let mut credentials = granted
            .filter(|one| Some(&one.origin) == origin.as_ref())
            .flat_map(|one| &one.credentials);
        credentials.find_map(|one| match one {
            Credential::Token(tokens) => Some(&**tokens),
            _ => None,
        })
    }

    /// Adds an access token to a request; gives the header that has it.
    async fn authorize<B>(
        &self,
        request: &mut Request<B>,
        tokens: &AccessTokens,
    ) -> Result<HeaderValue, Failure> {
        let endpoint = Origin::of(tokens.endpoint()).ok_or(HttpError::HttpRequestUriInvalid)?;
        if let Some(ip) = endpoint.literal() {
            self.rules.check(ip, &endpoint)?;
        }
        let header = tokens.header(&self.client).await?;
        let sent = header.to_str().unwrap_or_default();
        self.redactor.add(sent.trim_start_matches("Bearer "));
        let headers = request.headers_mut();
        headers.insert(http::header::AUTHORIZATION, header.clone());
        Ok(header)
    }

    /// The headers that a guest may not set.
    pub fn forbidden_headers(&self) -> Arc<[HeaderName]> {
        Arc::clone(&self.forbidden)
    }

    /// Sends an admitted request with the credentials of its origin. The response body holds `slot`.
    pub async fn send(
        &self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        slot: OwnedSemaphorePermit,
    ) -> Result<Exchange, Failure> {
        let request = self.admit(request)?;
        let first_byte = options
            .and_then(|options| options.first_byte_timeout)
            .unwrap_or(self.idle_timeout);
        let idle_timeout = options
            .and_then(|options| options.between_bytes_timeout)
            .unwrap_or(self.idle_timeout);
        let response = tokio::time::timeout(first_byte, self.answered(request))
            .await
            .map_err(|_| HttpError::ConnectionReadTimeout)??;
        let response =
            response.map(|body| IdleTimeoutBody::new(body, idle_timeout, slot).boxed_unsync());
        Ok((response, Box::new(std::future::ready(Ok(())))))
    }
}

impl HttpGrant {
    /// The response to an admitted request. One whose access token is not accepted any more is sent again with a new
    /// one, as often as [`MAX_TOKENS`] says: statements at the same time share tokens, and may use each other's up.
    async fn answered(
        &self,
        mut request: Request<WasiBody>,
    ) -> Result<Response<Incoming>, Failure> {
        let Some(tokens) = self.tokens(&request) else {
            return self.request(request).await;
        };
        let again;
        (request, again) = repeatable::split(request).await?;
        let mut header = self.authorize(&mut request, tokens).await?;
        let mut response = self.request(request).await?;
        for _ in 1..MAX_TOKENS {
            if response.status() != StatusCode::UNAUTHORIZED {
                break;
            }
            tokens.drop(&header).await;
            let Some(mut request) = again.as_ref().map(repeatable::Repeatable::request) else {
                break;
            };
            let refused = header;
            header = self.authorize(&mut request, tokens).await?;
            if header == refused {
                break;
            }
            response = self.request(request).await?;
        }
        if response.status() == StatusCode::UNAUTHORIZED {
            tokens.drop(&header).await;
        }
        Ok(response)
    }

    async fn request(&self, request: Request<WasiBody>) -> Result<Response<Incoming>, Failure> {
        let response = self.client.request(request).await;
        response.map_err(|error| client::failure(&error))
    }
}

impl GrantedOrigin {
    fn destination(&self) -> Destination {
        Destination {
            origin: self.origin.clone(),
            own_port: self.own_port,
            confidential: self.is_token_endpoint || !self.credentials.is_empty(),
        }
    }
}
