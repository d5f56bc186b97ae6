//! The origin check of `/mcp`.
//!
//! Programs send no `Origin`; a browser sends that of the page. This refuses pages that reach a server on the visitor's
//! own machine through a name of their own (DNS rebinding).

use crate::error::ApiError;
use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};

use mindhost_base::error::{Code, Error};

/// Refuses pages of other origins.
pub async fn check(State(allowed): State<Arc<[String]>>, request: Request, next: Next) -> Response {
    match refused(request.headers(), &allowed) {
        None => next.run(request).await,
        Some(origin) => {
            let message = format!(
                "pages of the origin `{}` may not use this server; an operator can allow it in server.cors_origins",
                origin.escape_debug()
            );
            ApiError(Error::new(Code::Forbidden, message)).into_response()
        }
    }
}

/// The refused origin.
fn refused(headers: &HeaderMap, allowed: &[String]) -> Option<String> {
    let origin = headers.get(header::ORIGIN)?;
    let origin = String::from_utf8_lossy(origin.as_bytes());
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let is_well = allowed.iter().any(|one| *one == origin) || is_own(&origin, host);
    (!is_well).then(|| origin.into_owned())
}

/// Whether it is a page of the server itself. A name proves nothing, because its owner decides where it leads. So a
/// server that is reached by name needs its own origin in the settings.
fn is_own(origin: &str, host: Option<&str>) -> bool {
    let page = origin.split_once("://").map(|(_, authority)| authority);
    let (Some(page), Some(host)) = (page, host) else {
        return false;
    };
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    let name = authority.host().trim_matches(['[', ']']);
    let leads_nowhere_else =
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok();
    leads_nowhere_else && page.eq_ignore_ascii_case(host)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_page_asks_its_own_server_or_one_that_allows_it() {
        let allowed = ["https://app.example.com".to_owned()];
        for (origin, host, is_let_in) in [
            (None, "mindhost.example.com", true),
            (
                Some("https://app.example.com"),
                "mindhost.example.com",
                true,
            ),
            (Some("http://127.0.0.1:8080"), "127.0.0.1:8080", true),
            (Some("http://localhost:8080"), "localhost:8080", true),
            (Some("http://[::1]:8080"), "[::1]:8080", true),
            (Some("http://127.0.0.1:9000"), "127.0.0.1:8080", false),
            (Some("https://evil.example.com"), "127.0.0.1:8080", false),
            // A name that its owner points at the visitor's own machine.
            (
                Some("http://evil.example.com:8080"),
                "evil.example.com:8080",
                false,
            ),
            (
                Some("https://app.example.com.evil.org"),
                "app.example.com",
                false,
            ),
            (Some("null"), "127.0.0.1:8080", false),
            (Some(""), "127.0.0.1:8080", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            }
            let found = refused(&headers, &allowed);
            assert_eq!(found.is_none(), is_let_in, "{origin:?} to {host}");
        }
    }
}
