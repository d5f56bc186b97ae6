//! Requests that read like the sentence they are, and replies that say everything when they disappoint.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    sync::LazyLock,
    time::Duration,
};

use reqwest::{Method, header::HeaderMap};
use serde_json::Value;

/// No request of a test takes longer; a test that waits for ever says nothing.
const PATIENCE: Duration = Duration::from_secs(240);

/// Connections are not kept: a pool belongs to the runtime of one test, and a restarted host to none.
pub(crate) static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| {
    // Another part of the process may have chosen the same provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .pool_max_idle_per_host(0)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client")
});

/// A request that is sent when awaited.
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct Request {
    inner: reqwest::RequestBuilder,
    what: String,
}

impl Request {
    pub(crate) fn new(method: Method, url: String, key: &str) -> Self {
        let what = format!("{method} {url}");
        let inner = CLIENT.request(method, url).timeout(PATIENCE);
        Self { inner, what }.header("authorization", &format!("Bearer {key}"))
    }

    /// Sets a header, in place of one of the same name.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let mut headers = HeaderMap::new();
        let name: reqwest::header::HeaderName = name.parse().expect("a header name");
        headers.insert(name, value.parse().expect("a header value"));
        self.inner = self.inner.headers(headers);
        self
    }

    /// Uses another key.
    pub fn key(self, key: &str) -> Self {
        self.header("authorization", &format!("Bearer {key}"))
    }

    /// Sends no key.
    pub fn without_key(self) -> Self {
        let (client, request) = self.inner.build_split();
        let mut request = request.expect("a request");
        request.headers_mut().remove("authorization");
        Self {
            inner: reqwest::RequestBuilder::from_parts(client, request),
            what: self.what,
        }
    }

    /// A JSON body.
    pub fn json(mut self, body: &Value) -> Self {
        self.inner = self.inner.json(body);
        self
    }

    /// Any body, with the content type of JSON unless another was set before.
    pub fn body(mut self, body: impl Into<reqwest::Body>) -> Self {
        self.inner = self
            .inner
            .header("content-type", "application/json")
            .body(body);
        self
    }

    /// Any body, with the content type that was set before.
    pub fn raw(mut self, body: Vec<u8>) -> Self {
        self.inner = self.inner.body(body);
        self
    }

    /// May take longer than the requests of tests do.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.inner = self.inner.timeout(patience);
        self
    }

    /// Adds a parameter to the query, encoded.
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.inner = self.inner.query(&[(name, value)]);
        self
    }

    /// Sends it and gives the reply with its body unread; for streams and for callers that go away.
    pub async fn open(self) -> reqwest::Response {
        let what = self.what;
        self.inner
            .send()
            .await
            .unwrap_or_else(|error| panic!("{what}: {error:?}"))
    }

    /// Sends it; an error when there is no whole answer (a refused connection, a cut body).
    pub async fn attempt(self) -> reqwest::Result<Reply> {
        let response = self.inner.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await?.to_vec();
        Ok(Reply {
            what: self.what,
            status,
            headers,
            body,
        })
    }
}

impl IntoFuture for Request {
    type Output = Reply;
    type IntoFuture = Pin<Box<dyn Future<Output = Reply> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let what = self.what.clone();
            self.attempt()
                .await
                .unwrap_or_else(|error| panic!("{what}: {error:?}"))
        })
    }
}

/// A whole reply.
#[derive(Clone, Debug)]
pub struct Reply {
    what: String,
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, decoded from its transfer encoding only.
    pub body: Vec<u8>,
}

impl Reply {
    /// Fails with the whole reply unless it has this status.
    #[track_caller]
    pub fn expect_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}: {}", self.what, self.text());
        self
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{}: {error} in {:?}", self.what, self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header as text; empty when there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// Fails unless this is the one error body, with this status and code. Gives the object in `error`.
    #[track_caller]
    pub fn expect_error(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}: {}", self.what, self.text());
        let body = self.json();
        let error = &body["error"];
        assert_eq!(error["code"], code, "{}: {body}", self.what);
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{body}"
        );
        assert!(error["type"].is_string(), "{body}");
        assert!(error.get("param").is_some(), "{body}");
        assert_eq!(body["detail"], error["message"], "{body}");
        assert!(
            !self.header("x-request-id").is_empty(),
            "{}: no x-request-id",
            self.what
        );
        error.clone()
    }
}
