//! Refuses ambiguous request heads.
//!
//! A proxy in front may read such a head differently. Then the two disagree about the host or the end of the request,
//! and bytes of one client can become the start of another one's request.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Version, header, uri::Authority},
};

use super::serving::Ambiguous;
use mindhost_base::error::{Error, Result};

/// Refuses an ambiguous head. In a target with an authority, that is the host, whatever the header contains (RFC 9112,
/// 3.2.2).
///
/// # Errors
/// `invalid_parameter`
pub(super) fn check(request: &mut Request) -> Result<()> {
    let message = request
        .extensions()
        .get::<Ambiguous>()
        .map(|ambiguous| match ambiguous {
            Ambiguous::TwoLengths => {
                "the request has the header `Content-Length` and the header `Transfer-Encoding`; send one of them"
            }
            Ambiguous::Unclear => {
                "the length of this request, or of one before it on the connection, is not clear; send `Content-Length` with \
                 digits alone, or chunks, in short lines, and on a new connection"
            }
        });
    if let Some(message) = message {
        return Err(Error::invalid("Content-Length", message));
    }
    check_host(request.headers(), request.version())?;
    let authority = request.uri().authority().map(Authority::as_str);
    if let Some(Ok(authority)) = authority.map(HeaderValue::from_str) {
        request.headers_mut().insert(header::HOST, authority);
    }
    Ok(())
}

fn check_host(headers: &HeaderMap, version: Version) -> Result<()> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let message = match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => "send exactly one `Host` header",
        (None, _) if version == Version::HTTP_11 => {
            "the request has no header `Host`; send the server's name in it"
        }
        (Some(host), None) if !is_host(host.as_bytes()) => {
            "`Host` must be `name[:port]` or `address[:port]`"
        }
        _ => return Ok(()),
    };
    Err(Error::invalid("Host", message))
}

/// Whether it is a name or an address, with or without a port. It may be empty, for targets without an authority.
fn is_host(host: &[u8]) -> bool {
    if host.is_empty() {
        return true;
    }
    let authority = Authority::try_from(host);
    authority.is_ok_and(|authority| {
        let text = authority.as_str();
        let behind = text.strip_prefix(authority.host()).unwrap_or(text);
        let port = behind.strip_prefix(':').unwrap_or(behind);
        !text.contains(['@', ',']) && port.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_an_optional_port() {
        for host in [
            "",
            "mindhost.example.com",
            "127.0.0.1:8080",
            "[::1]:8080",
            "x:",
            "a_b",
        ] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        for host in [
            "a b",
            "user@host",
            "host/path",
            "a,b",
            "host:8a",
            "a\tb",
            "?",
        ] {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
    }
}
