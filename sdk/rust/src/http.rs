//! HTTP for guests: one request, one response whose body is read piece by piece.
//!
//! It drives `wasi:http` directly and has no reactor, so that a [`Body`] can be kept in a resource and read on
//! across calls of the host. Every wait ends at the host's word ([`crate::control`]) and at the request's own timeouts.
//! The host decides which destinations a plugin reaches and adds credentials by the manifest's rules; follow no
//! redirect by hand to another authority.
//!
//! A native build has no host: [`send`] is `Unsupported` there, or answers from `testing::Fixtures` or a function that
//! was given to `testing::stand_in`. Logic is also tested with [`Response::scripted`].
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

mod json_values;
mod lines;
mod pages;
mod retry;
pub mod sse;
mod url;
#[cfg(target_family = "wasm")]
mod wasi;

use std::fmt;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::error::{Error, ErrorKind, Result};

pub use json_values::JsonValues;
pub use lines::Lines;
pub use pages::{Next, Pages, pages};
pub use retry::{retry, retry_after};
pub use url::{Url, escaped};

/// Bytes of a body that [`Response::json`] reads at most.
const MAX_JSON: usize = 8 << 20;

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
    /// How often the request is sent again while the server is busy (429, 503).
    pub retries: u32,
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
            retries: 0,
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

    /// Sends the request again while the server is busy (429, 503), so many times: after its `Retry-After`, or without
    /// one after a random wait of 0.25 to 0.5 s, then of 0.5 to 1 s, and so on up to 30 s. Only for requests that may
    /// be made twice.
    ///
    /// A server that is still busy after them is the error `RateLimited`. A wait that leaves the call less than a
    /// second is not begun: then the error is `Timeout` if the wait is at most 5 s, and `RateLimited` if it is longer.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
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

    /// The response, if its status is below 400.
    ///
    /// # Errors
    /// `Auth` for 401, `Permission` for 403, `NotFound` for 404, `Timeout` for 408, `RateLimited` for 429 and `Upstream`
    /// for any other status from 400 on, with the status as their code and with what `Retry-After` says.
    pub fn success(self) -> Result<Self> {
        let kind = match self.status {
            ..=399 => return Ok(self),
            401 => ErrorKind::Auth,
            403 => ErrorKind::Permission,
            404 => ErrorKind::NotFound,
            408 => ErrorKind::Timeout,
            429 => ErrorKind::RateLimited,
            _ => ErrorKind::Upstream,
        };
        let message = format!("the server answered with status {}", self.status);
        let error = Error::new(kind, message).code(self.status.to_string());
        Err(match retry_after(&self) {
            Some(wait) => error.retry_after(wait),
            None => error,
        })
    }

    /// Reads the whole body as JSON, of at most 8 MiB.
    ///
    /// # Errors
    /// Those of [`Body::read_to_end`], and `Upstream` for a body that is not JSON or does not fit the type; the message
    /// says where, and repeats no value.
    pub fn json<T: DeserializeOwned>(&mut self) -> Result<T> {
        let body = self.body.read_to_end(MAX_JSON)?;
        let mut json = serde_json::Deserializer::from_slice(&body);
        serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let (path, error) = (error.path().to_string(), error.inner());
            let what = match error.is_data() {
                true => format!("has another form than expected at `{path}`"),
                false => format!(
                    "is not JSON (line {}, column {})",
                    error.line(),
                    error.column()
                ),
            };
            Error::new(
                ErrorKind::Upstream,
                format!("the response (status {}) {what}", self.status),
            )
        })
    }

    /// For tests: a response whose body gives these pieces, one a read.
    pub fn scripted(status: u16, pieces: Vec<Result<Vec<u8>>>) -> Self {
        Self::arriving(status, pieces.into_iter())
    }

    /// For tests: a response whose body gives these pieces, each when it is asked for, and not before.
    pub fn arriving(status: u16, pieces: impl Iterator<Item = Result<Vec<u8>>> + 'static) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body(Box::new(Script(pieces))),
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

    /// The body as lines, each when it is there, without their ends (`\n` or `\r\n`). A line of more than 32 MiB is the
    /// error `TooLarge`.
    pub fn lines(self) -> Lines {
        Lines::of(self)
    }

    /// The body as JSON values, each when it is whole: one behind the other, with or without lines between them. For
    /// vendors that send an answer as chunks of JSON. An array at the top is opened: its elements are the values, so
    /// `[[1, 2], [3, 4]]` gives two rows. A value of more than 8 MiB is the error `TooLarge`, a body that ends within a
    /// value or an open array is `ConnectionLost`, and one that is not JSON is `Upstream`, with the byte at which it is
    /// wrong. Values before an error come first.
    pub fn json_values<T: DeserializeOwned>(self) -> JsonValues<T> {
        JsonValues::of(self, true)
    }

    /// As [`Body::json_values`], but no array is opened: for lines (NDJSON) of which each is an array.
    pub fn json_lines<T: DeserializeOwned>(self) -> JsonValues<T> {
        JsonValues::of(self, false)
    }
}

/// Sends a request and waits for the head of its response. While the server is busy, it is sent again as often as
/// [`Request::retries`] says.
///
/// # Errors
/// `InvalidConfig` for an URL that is none, `Denied` where the configuration does not lead, `Unreachable`, `Tls`,
/// `Timeout`, `Cancelled`, `ConnectionLost`, `Upstream` for an answer that is not HTTP. A status is no error here, but `RateLimited` for
/// 429 and 503 when the retries or the time of the call are used up.
pub fn send(request: &Request) -> Result<Response> {
    retry::send(request)
}

fn send_once(request: &Request) -> Result<Response> {
    let url = Url::parse(&request.url)?;
    #[cfg(target_family = "wasm")]
    return wasi::send(request, &url);
    #[cfg(not(target_family = "wasm"))]
    crate::testing::send(request).unwrap_or_else(|| {
        Err(Error::unsupported(format!(
            "there is no host to reach {} through: a native build only sends within `testing::stand_in` or `testing::Fixtures`",
            url.authority
        )))
    })
}

struct Script<I>(I);

impl<I: Iterator<Item = Result<Vec<u8>>>> Source for Script<I> {
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        crate::control::check()?;
        self.0.next().transpose()
    }
}

#[cfg(test)]
mod tests;
