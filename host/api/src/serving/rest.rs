//! The unread rest of a request's body when its answer is ready.
//!
//! A connection can be reused only after the whole body was read. An early answer, for example 401 or 429, waits for
//! the rest if that is small and arrives soon. Otherwise it has `Connection: close`, so that no client sends its next
//! request on this connection.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use futures_util::StreamExt;
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::timeout;

use mindhost_base::locks;

/// Size limit of a rest that is read: far above questions and settings, far below plugin files.
const REST: u64 = 256 << 10;
/// Timeout for the rest. A client that sends the body sends it right after the head.
const SOON: Duration = Duration::from_secs(1);

/// A handle to the body of a request, for when its answer is ready.
pub(super) struct Rest {
    left: Option<Arc<Mutex<BodyRest>>>,
    expects_continue: bool,
}

enum BodyRest {
    /// The handler still has the body, or it failed.
    Lost,
    /// It was read.
    Ended,
    /// It was dropped; whether it was polled before.
    Unread(Body, bool),
}

impl Rest {
    /// Wraps the body of a request.
    pub fn of(request: Request) -> (Request, Self) {
        let expects_continue = request.headers().contains_key(header::EXPECT);
        if request.body().is_end_stream() {
            let left = None;
            let rest = Self {
                left,
                expects_continue,
            };
            return (request, rest);
        }
        let left = Arc::new(Mutex::new(BodyRest::Lost));
        let request = request.map(|body| {
            Body::new(ReturningBody {
                body: Some(body),
                was_asked_for: false,
                is_broken: false,
                left: left.clone(),
            })
        });
        let left = Some(left);
        let rest = Self {
            left,
            expects_continue,
        };
        (request, rest)
    }

    /// Reads the rest of the body. If some remains, the answer announces the end of the connection, and the connection
    /// ends.
    pub async fn settle(self, response: &mut Response) -> bool {
        let is_unread = match self.left {
            None => false,
            Some(left) => {
                let left = std::mem::replace(&mut *locks::lock(&left), BodyRest::Lost);
                match left {
                    BodyRest::Lost => true,
                    BodyRest::Ended => false,
                    // Reading would send `100 Continue`; without it the client may or may not send the body.
                    BodyRest::Unread(_, false) if self.expects_continue => true,
                    // Its timeout is over already.
                    BodyRest::Unread(..) if response.status() == StatusCode::REQUEST_TIMEOUT => {
                        true
                    }
                    BodyRest::Unread(body, _) => !drained(body).await,
                }
            }
        };
        if is_unread {
            close(response.headers_mut());
        }
        is_unread
    }
}

/// Sets `Connection: close`.
pub(super) fn close(headers: &mut HeaderMap) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
}

/// Reads a body to its end within the limits.
async fn drained(body: Body) -> bool {
    if body.size_hint().lower() > REST {
        return false;
    }
    let read = async {
        let mut left = REST;
        let mut pieces = body.into_data_stream();
        while let Some(piece) = pieces.next().await {
            let length = piece.map(|piece| piece.len() as u64).unwrap_or(u64::MAX);
            left = match left.checked_sub(length) {
                Some(left) => left,
                None => return false,
            };
        }
        true
    };
    timeout(SOON, read).await.unwrap_or(false)
}

/// A body that goes back to its handle when it is dropped.
struct ReturningBody {
    body: Option<Body>,
    was_asked_for: bool,
    is_broken: bool,
    left: Arc<Mutex<BodyRest>>,
}

impl http_body::Body for ReturningBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.was_asked_for = true;
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(body).poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
            self.is_broken = frame.is_some();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(|body| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Some(body) => body.size_hint(),
            None => SizeHint::with_exact(0),
        }
    }
}

impl Drop for ReturningBody {
    fn drop(&mut self) {
        let left = match self.body.take() {
            Some(body) if !body.is_end_stream() => BodyRest::Unread(body, self.was_asked_for),
            None if self.is_broken => BodyRest::Lost,
            _ => BodyRest::Ended,
        };
        *locks::lock(&self.left) = left;
    }
}
