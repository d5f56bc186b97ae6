//! HTTP for a connector outside of the sandbox: an ordinary client of Rust in the place of the host's.

use std::{pin::Pin, sync::LazyLock};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use mindhost_sdk::{
    Error, ErrorKind, Result,
    http::{Request, Response},
    testing::{StandIn, stand_in},
};
use tokio::runtime::Handle;

/// One for all, as the host has one: what it takes to make a client is not measured.
static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| {
    // Somebody else may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
});

/// A header with credentials, which the host adds to the requests of a plugin.
pub type Credentials = Option<(&'static str, String)>;

/// From here to the drop of what it gives, the SDK sends the requests of this thread, which must be one that may wait.
pub fn begin(handle: Handle, credentials: Credentials) -> StandIn {
    stand_in(move |request| send(&handle, credentials.as_ref(), request))
}

fn send(
    handle: &Handle,
    credentials: Option<&(&str, String)>,
    request: &Request,
) -> Result<Response> {
    let method = request.method.parse().unwrap();
    let mut sent = CLIENT.request(method, &request.url);
    for (name, value) in &request.headers {
        sent = sent.header(name, value);
    }
    if let Some((name, value)) = credentials {
        sent = sent.header(*name, value);
    }
    let sent = sent.body(request.body.clone()).send();
    let answer = handle.block_on(sent).map_err(unreachable)?;
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let pieces = Pieces {
        handle: handle.clone(),
        body: Box::pin(answer.bytes_stream()),
    };
    let response = Response::arriving(status, pieces);
    Ok(headers.iter().fold(response, |response, (name, value)| {
        response.with_header(name.as_str(), value.to_str().unwrap_or_default())
    }))
}

/// The body as it arrives.
struct Pieces {
    handle: Handle,
    body: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>>>>,
}

impl Iterator for Pieces {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        let piece = self.handle.block_on(self.body.next())?;
        Some(piece.map(Vec::from).map_err(unreachable))
    }
}

fn unreachable(error: reqwest::Error) -> Error {
    Error::new(ErrorKind::Unreachable, error.to_string())
}
