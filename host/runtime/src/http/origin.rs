//! The origin of a request, in canonical form.

use std::net::IpAddr;

use http::{
    Uri,
    uri::{PathAndQuery, Scheme},
};

use crate::{
    host_errors::misconfigured,
    host_names::{literal, plain_name},
};
use mindhost_base::error::Result;

/// Scheme, host and port, which must all match. The host is in lower case without the trailing dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub tls: bool,
    pub host: String,
    pub port: u16,
}

impl Origin {
    /// The origin of a configured URL.
    pub fn configured(property: &str, url: &str) -> Result<Self> {
        let wrong = |why: &str| {
            misconfigured(format!(
                "`{property}` {why}; write it like https://api.example.com/v1"
            ))
        };
        let uri: Uri = url.parse().map_err(|_| wrong("is not a URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong("must begin with https:// or http://"));
        }
        if uri
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'))
        {
            return Err(wrong("may not contain a user name or password"));
        }
        Self::of(&uri).ok_or_else(|| wrong("has no host"))
    }

    /// The origin of a request.
    pub fn of(uri: &Uri) -> Option<Self> {
        let scheme = uri.scheme()?;
        let tls = *scheme == Scheme::HTTPS;
        if !tls && *scheme != Scheme::HTTP {
            return None;
        }
        let host = plain_name(uri.host()?);
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
        (!host.is_empty()).then_some(Self { tls, host, port })
    }

    /// The port of a URL, if it is valid.
    pub fn port_of(url: &str) -> Option<u16> {
        Self::of(&url.parse().ok()?).map(|origin| origin.port)
    }

    /// The address, if the host is a literal.
    pub fn literal(&self) -> Option<IpAddr> {
        literal(&self.host)
    }

    /// The URI in canonical form, so that the client uses exactly the checked host. A guest may write it in another
    /// case, with a trailing dot, or with a user name.
    pub fn respell(&self, uri: Uri) -> Option<Uri> {
        let usual = if self.tls { 443 } else { 80 };
        let authority = match self.port == usual {
            true => self.host.clone(),
            false => format!("{}:{}", self.host, self.port),
        };
        let mut parts = uri.into_parts();
        parts.authority = Some(authority.parse().ok()?);
        parts
            .path_and_query
            .get_or_insert(PathAndQuery::from_static("/"));
        Uri::from_parts(parts).ok()
    }
}
