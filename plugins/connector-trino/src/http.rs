//! Requests to the coordinator, and to nobody else.

use std::time::Duration;

use mindhost_sdk::http::{self, Request, Response, Url};
use mindhost_sdk::{Error, ErrorKind, Result, control};

use crate::config::ConnectionData;
use crate::error::malformed;

/// How long one answer of the protocol may take; the server itself answers after a second, rows or not.
const ANSWER: Duration = Duration::from_secs(60);
/// How often a request is repeated that a proxy or a busy server could not serve.
const REPEATS: u32 = 20;
/// The wait before a request is repeated, as the protocol recommends.
const PAUSE: Duration = Duration::from_millis(100);

/// Whether two URLs have scheme, host and port in common.
pub(crate) fn same_origin(one: &str, other: &str) -> bool {
    let origin = |text: &str| {
        let url = Url::parse(text).ok()?;
        let port = if url.https { ":443" } else { ":80" };
        let host = url.authority.to_ascii_lowercase();
        let host = host.strip_suffix(port).unwrap_or(&host).to_owned();
        Some((url.https, host))
    };
    origin(one).is_some() && origin(one) == origin(other)
}

/// Checks a URL that the server gave: it must lead to the coordinator's own interface for statements.
pub(crate) fn own(data: &ConnectionData, url: &str) -> Result<()> {
    let path = |text: &str| Url::parse(text).map(|url| url.path_and_query);
    let base = path(data.base())?;
    let base = base.trim_end_matches('/');
    let is_own = same_origin(data.base(), url)
        && path(url).is_ok_and(|path| {
            let rest = path.strip_prefix(base).unwrap_or_default();
            rest.starts_with("/v1/") && !may_climb(rest)
        });
    match is_own {
        true => Ok(()),
        false => Err(malformed(
            "a URL of another origin than `url` in connection_data; behind a proxy, set http-server.process-forwarded=true",
        )),
    }
}

/// Whether a path may lead to a folder above. Proxies unescape dots and slashes, two in a row do so twice (`%252e`), and
/// some read `\` as a slash.
fn may_climb(path_and_query: &str) -> bool {
    let path = path_and_query.split('?').next().unwrap_or_default();
    let path = path.to_ascii_lowercase();
    ["/..", "%25", "%2e", "%2f", "%5c", "\\"]
        .iter()
        .any(|part| path.contains(part))
}

/// What every request to the coordinator has.
pub(crate) fn headed(data: &ConnectionData, request: Request) -> Request {
    let request = request
        .header("x-trino-user", &data.user)
        .header("x-trino-source", "mindhost")
        .header("user-agent", "mindhost");
    let request = match data.role_header() {
        Some(roles) => request.header("x-trino-role", roles),
        None => request,
    };
    Request {
        first_byte_timeout: ANSWER,
        between_bytes_timeout: ANSWER,
        ..request
    }
}

/// Sends a request and gives the answer of a server that could serve it.
///
/// # Errors
/// Those of [`http::send`], and what a status other than 200 and 204 means.
pub(crate) fn answer(request: &Request) -> Result<Response> {
    answer_or(request, &[])
}

/// As [`answer`], with these statuses accepted too.
///
/// # Errors
/// Those of [`answer`].
pub(crate) fn answer_or(request: &Request, accepted: &[u16]) -> Result<Response> {
    let response = send_with_repeats(request)?;
    match response.status {
        200 | 204 => Ok(response),
        status if accepted.contains(&status) => Ok(response),
        status if is_repeated(request, status) => Err(Error::new(
            ErrorKind::Upstream,
            format!("the server was not available for {REPEATS} requests in a row"),
        )),
        status => Err(refused(status, response)),
    }
}

/// Sends a request, and sends it again while a proxy or a busy server cannot serve it. Gives the last response,
/// whatever its status.
///
/// # Errors
/// Those of [`http::send`].
pub(crate) fn send_with_repeats(request: &Request) -> Result<Response> {
    for _ in 1..REPEATS {
        let response = http::send(request)?;
        if !is_repeated(request, response.status) {
            return Ok(response);
        }
        // The body that is not read must not hold the connection during the pause.
        drop(response);
        control::sleep(PAUSE)?;
    }
    http::send(request)
}

/// Statements are not sent twice: the first may run.
fn is_repeated(request: &Request, status: u16) -> bool {
    request.method == "GET" && matches!(status, 429 | 502 | 503 | 504)
}

fn refused(status: u16, mut response: Response) -> Error {
    // Trino and its authenticators say why in plain text; a page of a proxy is not repeated.
    let is_plain = response
        .header("content-type")
        .is_none_or(|kind| kind.starts_with("text/plain"));
    let text = response.body.read_to_end(4096).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let why = match text.trim() {
        "" => String::new(),
        text if is_plain => format!(": {}", text.chars().take(500).collect::<String>()),
        _ => String::new(),
    };
    let (kind, message) = match status {
        401 => (
            ErrorKind::Auth,
            format!("the server refused the credentials{why}"),
        ),
        403 => (ErrorKind::Permission, format!("the server refused{why}")),
        404 | 410 => (
            ErrorKind::Upstream,
            format!(
                "the server does not know the statement any more, or is not Trino (HTTP status {status}){why}"
            ),
        ),
        429 => (
            ErrorKind::RateLimited,
            format!("the server has too many requests{why}"),
        ),
        _ => (
            ErrorKind::Upstream,
            format!("the server answered with HTTP status {status}{why}"),
        ),
    };
    Error::new(kind, message).code(status.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(url: &str) -> ConnectionData {
        ConnectionData {
            url: url.into(),
            user: "app".into(),
            catalog: "tpch".into(),
            schemas: Vec::new(),
            session_properties: Default::default(),
            roles: Default::default(),
            spooling: false,
            segments_url: None,
        }
    }

    #[test]
    fn a_server_cannot_lead_elsewhere() {
        let https = data("https://trino.example.org/gate/");
        for url in [
            "https://trino.example.org/gate/v1/statement/queued/1/2/3",
            "https://TRINO.example.org:443/gate/v1/statement/x?y",
            "https://trino.example.org/gate/v1/statement/x?y=a%2Fb",
        ] {
            assert!(own(&https, url).is_ok(), "{url}");
        }
        for url in [
            "http://trino.example.org/gate/v1/statement/1",
            "https://trino.example.org:8443/gate/v1/statement/1",
            "https://evil.example.org/gate/v1/statement/1",
            "https://trino.example.org/other/v1/statement/1",
            "https://trino.example.org/gate/v1/../../x",
            "https://trino.example.org/gate/v1/%2e%2e/%2E%2e/admin",
            "https://trino.example.org/gate/v1/x/.%2E/admin",
            "https://trino.example.org/gate/v1/x%2F..%2fadmin",
            "https://trino.example.org/gate/v1/x%5C..%5cadmin",
            "https://trino.example.org/gate/v1/x\\..\\admin",
            "https://trino.example.org/gate/v1/%252e%252e/%252E./admin",
            "https://trino.example.org/gate/v1/x%25252f..%255cadmin",
            "https://u:p@trino.example.org/gate/v1/statement/1",
            "/v1/statement/1",
            "",
        ] {
            assert!(own(&https, url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_refusal_says_why_and_repeats_no_page() {
        let response = |kind: &str| {
            Response::scripted(401, vec![Ok(b"Invalid credentials".to_vec())])
                .with_header("content-type", kind)
        };
        let error = refused(401, response("text/plain"));
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert!(error.message().contains("Invalid credentials"));
        let error = refused(401, response("text/html"));
        assert!(!error.message().contains("Invalid credentials"));
    }
}
