//! HTTP for guests: one request, one response whose body is read piece by piece.
//!
//! It drives `wasi:http` directly and has no reactor, so that a [`Body`] can be kept in a resource and read on
//! across calls of the host. Every wait ends at the host's word ([`crate::control`]) and at the request's own timeouts.
//! The host decides which destinations a plugin reaches and adds credentials by the manifest's rules; follow no
//! redirect by hand to another authority.
//!
//! A native build has no host: [`send`] is `Unsupported` there, or answers from `testing::Fixtures`. Logic is also
//! tested with [`Response::scripted`].
//!
//! ```
//! use mindhost_sdk::http::{Request, Response};
//!
//! let request = Request::post("https://api.example.org/v1/ask", b"{}".to_vec()).header("content-type", "application/json");
//! assert_eq!(request.headers.len(), 1);
//!
//! let mut response = Response::scripted(200, vec![Ok(b"data: 1\n".to_vec()), Ok(b"\n".to_vec())]);
//! assert_eq!(response.body.read_to_end(1024).unwrap(), b"data: 1\n\n");
//! ```

pub mod sse;
mod url;
#[cfg(target_family = "wasm")]
mod wasi;

use std::fmt;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};

pub use url::{Url, escaped};

/// A request.
#[derive(Clone)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: &'static str,
    /// An absolute `http` or `https` URL.
    pub url: String,
    /// Names and values; `host` and `content-length` are added.
    pub headers: Vec<(String, String)>,
    /// May be empty.
    pub body: Vec<u8>,
    /// How long connecting may take, TLS included.
    pub connect_timeout: Duration,
    /// How long the response's head may take from when the request is sent.
    pub first_byte_timeout: Duration,
    /// How long the body may be silent.
    pub between_bytes_timeout: Duration,
}

impl Request {
    /// A request without a body.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url.into(), Vec::new())
    }

    /// A request with a body.
    pub fn post(url: impl Into<String>, body: Vec<u8>) -> Self {
        Self::new("POST", url.into(), body)
    }

    fn new(method: &'static str, url: String, body: Vec<u8>) -> Self {
        Self {
            method,
            url,
            headers: Vec::new(),
            body,
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(60),
            between_bytes_timeout: Duration::from_secs(60),
        }
    }

    /// Adds a parameter to the query of the URL, with what may not stand there escaped.
    #[must_use]
    pub fn query(mut self, name: &str, value: &str) -> Self {
        let joint = if self.url.contains('?') { '&' } else { '?' };
        self.url.push(joint);
        url::escape(name, &mut self.url);
        self.url.push('=');
        url::escape(value, &mut self.url);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

impl fmt::Debug for Request {
    /// Headers and body may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.url)
    }
}

/// The head of a response, and its body to read.
pub struct Response {
    /// 200, 404, …
    pub status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// What follows the head.
    pub body: Body,
}

impl Response {
    /// The value of the first header of this name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// For tests: a response whose body gives these pieces, one a read.
    pub fn scripted(status: u16, pieces: Vec<Result<Vec<u8>>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body(Box::new(Script(pieces.into_iter()))),
        }
    }

    /// For tests: adds a header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// The body of a response. Dropping it ends the exchange.
pub struct Body(Box<dyn Source>);

/// Where the bytes of a body come from.
trait Source {
    /// Waits for bytes; never gives an empty piece.
    fn next(&mut self) -> Result<Option<Vec<u8>>>;
}

impl Body {
    /// A body that is over.
    pub(crate) fn empty() -> Self {
        Self(Box::new(Script(Vec::new().into_iter())))
    }

    /// Waits for the next bytes and gives those that are there; `None` at the end.
    ///
    /// # Errors
    /// `Cancelled` and `Timeout` by the host's word, `Timeout` when the body is silent for too long, `ConnectionLost`
    /// when it breaks off. The body cannot be read on after an error.
    pub fn read(&mut self) -> Result<Option<Vec<u8>>> {
        self.0.next()
    }

    /// Reads the whole rest.
    ///
    /// # Errors
    /// Those of [`Body::read`], and `TooLarge` for more than `limit` bytes.
    pub fn read_to_end(&mut self, limit: usize) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(piece) = self.read()? {
            if all.len() + piece.len() > limit {
                let message = format!("the response is larger than {limit} bytes");
                return Err(Error::new(ErrorKind::TooLarge, message));
            }
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }
}

/// Sends a request and waits for the head of its response.
///
/// # Errors
/// `InvalidConfig` for an URL that is none, `Denied` where the configuration does not lead, `Unreachable`, `Tls`,
/// `Timeout`, `Cancelled`, `ConnectionLost`, `Upstream` for an answer that is not HTTP. A status is never an error here.
pub fn send(request: &Request) -> Result<Response> {
    let url = Url::parse(&request.url)?;
    #[cfg(target_family = "wasm")]
    return wasi::send(request, &url);
    #[cfg(not(target_family = "wasm"))]
    crate::testing::send(request).unwrap_or_else(|| {
        Err(Error::unsupported(format!(
            "there is no host to reach {} through: a native build cannot send, but from `testing::Fixtures`",
            url.authority
        )))
    })
}

struct Script(std::vec::IntoIter<Result<Vec<u8>>>);

impl Source for Script {
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        crate::control::check()?;
        self.0.next().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_a_limit_and_ends_in_the_error_of_its_source() {
        let mut response = Response::scripted(200, vec![Ok(vec![0; 10]), Ok(vec![0; 10])]);
        let error = response.body.read_to_end(15).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        let lost = Error::new(ErrorKind::ConnectionLost, "cut");
        let mut response = Response::scripted(200, vec![Ok(vec![1]), Err(lost)]);
        assert_eq!(response.body.read().unwrap(), Some(vec![1]));
        assert_eq!(
            response.body.read().unwrap_err().kind(),
            ErrorKind::ConnectionLost
        );
    }

    #[test]
    fn a_native_build_says_that_it_cannot_send() {
        let error = send(&Request::get("https://example.org/"))
            .err()
            .map(|e| e.kind());
        assert_eq!(error, Some(ErrorKind::Unsupported));
    }

    #[test]
    fn debug_output_shows_no_header() {
        let request = Request::get("https://example.org/").header("authorization", "Bearer s3cret");
        assert_eq!(format!("{request:?}"), "GET https://example.org/");
    }
}
