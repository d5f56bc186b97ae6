//! Outgoing HTTP for guests: granted origins only, credentials added here.

mod client;
mod credentials;
mod silence;
#[cfg(test)]
mod tests;

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderName, Request, Response, Uri, uri::Scheme};
use http_body_util::BodyExt as _;
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error as HttpError, ForbiddenHeaderFilter, RequestOptions, WasiBody,
    WasiHttpHooks,
};

use self::{
    client::{Client, Failure, Resolver, Rules},
    credentials::Credential,
    silence::Silence,
};
use super::grants::{Grants, literal, not_allowed, text};
use crate::{
    config::PluginSettings,
    error::{Code, Error, Result},
    plugins::{manifest::Manifest, policy::EgressRules},
};

/// Exchanges that one instance may have under way at once; each may hold a connection.
const MAX_EXCHANGES: usize = 8;

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
    client: Client,
    silence: Duration,
}

/// Scheme, host and port, all of which must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
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
        let credentials = credentials::credentials(manifest, data)?;
        let rules = Arc::new(Rules {
            egress,
            reserved,
            confidential: !credentials.is_empty(),
        });
        for origin in origins.iter() {
            if let Some(ip) = literal(&origin.host) {
                rules.check(ip, origin).map_err(not_allowed)?;
            }
        }
        let resolver = Resolver {
            origins: Arc::clone(&origins),
            rules: Arc::clone(&rules),
        };
        Ok(Self {
            forbidden: credentials::forbidden_headers(manifest),
            client: client::client(resolver, settings)?,
            credentials,
            silence: settings.http_idle_timeout,
            origins,
            rules,
        })
    }

    async fn send(
        &self,
        mut request: Request<WasiBody>,
        options: Option<RequestOptions>,
        slot: OwnedSemaphorePermit,
    ) -> Result<Exchange, Failure> {
        let origin = Origin::of(request.uri()).ok_or(HttpError::HttpRequestUriInvalid)?;
        if !self.origins.contains(&origin) {
            return Err(Failure::Refused(format!(
                "the plugin tried to reach {}:{}, which its configuration does not name",
                origin.host, origin.port
            )));
        }
        if let Some(ip) = literal(&origin.host) {
            self.rules.check(ip, &origin)?;
        }
        for credential in &self.credentials {
            let added = credential.add_to(&mut request);
            added.ok_or(HttpError::HttpRequestUriInvalid)?;
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
            .map_err(|error| client::failure(&error))?;
        let response = response.map(|body| Silence::watch(body, silence, slot).boxed_unsync());
        Ok((response, Box::new(std::future::ready(Ok(())))))
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

/// The hooks of one store.
pub struct Sender {
    grants: Arc<Grants>,
    /// Exchanges that may be under way at once.
    slots: Arc<Semaphore>,
}

impl Sender {
    /// A sender that serves what `grants` names.
    pub fn new(grants: Arc<Grants>) -> Self {
        Self {
            grants,
            slots: Arc::new(Semaphore::new(MAX_EXCHANGES)),
        }
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
        let slots = Arc::clone(&self.slots);
        Box::new(async move {
            let Some(http) = grants.http() else {
                grants.deny(
                    "the plugin sent an HTTP request, which its manifest does not name".to_owned(),
                );
                return Err(HttpError::HttpRequestDenied);
            };
            // The wait ends with the call: the future goes with the instance.
            let slot = slots.acquire_owned().await;
            let slot = slot.map_err(|_| HttpError::ConnectionLimitReached)?;
            match http.send(request, options, slot).await {
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
