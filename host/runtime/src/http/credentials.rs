//! Credentials that the host adds to requests, by the rules of the manifest.

use std::sync::Arc;

use base64::Engine as _;
use http::{HeaderName, HeaderValue, Request, Uri, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use wasmtime_wasi_http::DEFAULT_FORBIDDEN_HEADERS;

use super::{
    access_token::{self, AccessTokens, TokenStore},
    origin::Origin,
};
use crate::{connection_data::text, host_errors::misconfigured};
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::manifest::{CredentialRule, CredentialScheme, Manifest};

/// One credential, ready to be sent.
pub enum Credential {
    Header(HeaderName, HeaderValue),
    Query(String),
    /// An access token, which [`AccessTokens::header`] has.
    Token(Arc<AccessTokens>),
}

impl Credential {
    /// Adds it to a request; none if the URL would be too long.
    pub fn add_to<B>(&self, request: &mut Request<B>) -> Option<()> {
        match self {
            Credential::Header(name, value) => {
                request.headers_mut().insert(name.clone(), value.clone());
            }
            Credential::Query(pair) => *request.uri_mut() = with_query(request.uri(), pair)?,
            Credential::Token(_) => {}
        }
        Some(())
    }
}

/// The configured credentials that the host adds to requests to the URL in the property `url`.
pub fn credentials(
    manifest: &Manifest,
    url: &str,
    data: &Map<String, Value>,
    workspace: &str,
    store: &TokenStore,
) -> Result<Vec<Credential>> {
    let mut credentials = Vec::new();
    // A rule without a URL is for the only URL. The manifest checks refuse an ambiguous rule.
    let here = |rule: &&CredentialRule| rule.url.as_deref().is_none_or(|named| named == url);
    for rule in manifest.credentials.iter().filter(here) {
        let secret = text(data, &rule.property);
        if secret.is_empty() || rule.scheme == CredentialScheme::GuestHeld {
            continue;
        }
        let name = rule.name.as_deref().unwrap_or_default();
        let value = |text: String| {
            let mut value = HeaderValue::try_from(text).map_err(|_| {
                misconfigured(format!(
                    "`{}` has characters that cannot be sent",
                    rule.property
                ))
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
            CredentialScheme::Oauth2ClientCredentials => {
                Credential::Token(access_tokens(rule, secret, data, workspace, store)?)
            }
            CredentialScheme::Query | CredentialScheme::GuestHeld => {
                let encode = |text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
                Credential::Query(format!("{}={}", encode(name), encode(&secret)))
            }
        });
    }
    Ok(credentials)
}

/// The tokens of a rule of OAuth 2.
fn access_tokens(
    rule: &CredentialRule,
    secret: String,
    data: &Map<String, Value>,
    workspace: &str,
    store: &TokenStore,
) -> Result<Arc<AccessTokens>> {
    let property = |name: &Option<String>| {
        name.as_deref()
            .map_or(String::new(), |name| text(data, name))
    };
    let named = rule.token_url.as_deref().unwrap_or_default();
    let url = property(&rule.token_url);
    let origin = Origin::configured(named, &url)?;
    let uri = url.parse().ok().and_then(|uri| origin.respell(uri));
    let endpoint = uri.ok_or_else(|| misconfigured(format!("`{named}` is not a URL")))?;
    Ok(store.of(access_token::Client {
        workspace: workspace.to_owned(),
        endpoint,
        property: named.to_owned(),
        id: property(&rule.name),
        secret,
        scope: property(&rule.scope),
    }))
}

/// Headers that a guest may not set: those of the connection, and those that the host fills in itself.
pub fn forbidden_headers(manifest: &Manifest) -> Arc<[HeaderName]> {
    let own = manifest
        .credentials
        .iter()
        .filter_map(|rule| match rule.scheme {
            CredentialScheme::Bearer
            | CredentialScheme::Basic
            | CredentialScheme::Oauth2ClientCredentials => Some(header::AUTHORIZATION),
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
