//! The idle timeout of a response body.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, Sleep},
};
use wasmtime_wasi_http::Error as HttpError;

/// A body that fails when no frame arrives for too long.
pub struct IdleTimeoutBody<B> {
    body: B,
    limit: Duration,
    timer: Pin<Box<Sleep>>,
    /// Counts the exchange until the guest drops the body.
    _slot: OwnedSemaphorePermit,
}

impl<B> IdleTimeoutBody<B> {
    /// Fails the body if no frame arrives for `limit`.
    pub fn new(body: B, limit: Duration, slot: OwnedSemaphorePermit) -> Self {
        Self {
            body,
            limit,
            timer: Box::pin(tokio::time::sleep(limit)),
            _slot: slot,
        }
    }
}

impl<B> Body for IdleTimeoutBody<B>
where
    B: Body<Data = Bytes, Error = hyper::Error> + Unpin,
{
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                let next = Instant::now() + self.limit;
                self.timer.as_mut().reset(next);
                Poll::Ready(frame.map(|frame| frame.map_err(HttpError::from)))
            }
            Poll::Pending => self
                .timer
                .as_mut()
                .poll(cx)
                .map(|()| Some(Err(HttpError::ConnectionReadTimeout))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
