//! What is left of the body of a request when its answer is there.
//!
//! A connection can be used again only when all of the body was read. An answer that comes early, because there is no valid
//! key or because the key asks too fast, waits for the rest if that is small and comes soon; otherwise it says that
//! the connection ends, so that no client sends its next request on it.

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

/// As much of a body is read that no handler wanted: the questions and settings of clients are far smaller, and a plugin
/// file is far larger.
const REST: u64 = 256 << 10;
/// For so long. A client sends the body right behind the head; one that waits for something waits for the answer.
const SOON: Duration = Duration::from_secs(1);

/// The body of a request, to be looked for when the answer is there.
pub(super) struct Rest {
    left: Option<Arc<Mutex<Left>>>,
    expects_continue: bool,
}

enum Left {
    /// Somebody has the body still, or it broke.
    Lost,
    /// It was read.
    Ended,
    /// It was dropped. Whether any of it was asked for before.
    Unread(Body, bool),
}

impl Rest {
    /// Watches over the body of a request.
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
        let left = Arc::new(Mutex::new(Left::Lost));
        let request = request.map(|body| {
            Body::new(Watched {
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

    /// Reads what is left of the body. An answer that leaves some of it says that the connection ends; that is true then.
    pub async fn settle(self, response: &mut Response) -> bool {
        let is_unread = match self.left {
            None => false,
            Some(left) => {
                let left = std::mem::replace(&mut *locks::lock(&left), Left::Lost);
                match left {
                    Left::Lost => true,
                    Left::Ended => false,
                    // To read from it would ask for all of it, and without that it may come or not.
                    Left::Unread(_, false) if self.expects_continue => true,
                    // It was waited for already.
                    Left::Unread(..) if response.status() == StatusCode::REQUEST_TIMEOUT => true,
                    Left::Unread(body, _) => !drained(body).await,
                }
            }
        };
        if is_unread {
            close(response.headers_mut());
        }
        is_unread
    }
}

/// Says that the connection ends.
pub(super) fn close(headers: &mut HeaderMap) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
}

/// Reads a body to its end, if that is near.
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

/// A body that is kept when it is dropped.
struct Watched {
    body: Option<Body>,
    was_asked_for: bool,
    is_broken: bool,
    left: Arc<Mutex<Left>>,
}

impl http_body::Body for Watched {
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

impl Drop for Watched {
    fn drop(&mut self) {
        let left = match self.body.take() {
            Some(body) if !body.is_end_stream() => Left::Unread(body, self.was_asked_for),
            None if self.is_broken => Left::Lost,
            _ => Left::Ended,
        };
        *locks::lock(&self.left) = left;
    }
}
