//! Bodies whose bytes are counted, and the waits for them.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::super::stopwatch::{Traffic, Waiting};

/// Which way a body goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the guest.
    Out,
    /// To the guest.
    In,
}

/// A body of which each byte is counted as it passes.
pub struct Counted<B> {
    body: B,
    way: Way,
    traffic: Arc<Traffic>,
    /// While the other end has said nothing more.
    waiting: Option<Waiting>,
}

impl<B> Counted<B> {
    /// Counts a body.
    pub fn new(body: B, way: Way, traffic: &Arc<Traffic>) -> Self {
        Self {
            body,
            way,
            traffic: Arc::clone(traffic),
            waiting: None,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Counted<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Pending if self.way == Way::In && self.waiting.is_none() => {
                self.waiting = Some(self.traffic.wait());
            }
            Poll::Pending => {}
            Poll::Ready(frame) => {
                self.waiting = None;
                if let Some(Ok(frame)) = frame
                    && let Some(data) = frame.data_ref()
                {
                    match self.way {
                        Way::Out => self.traffic.sent(data.len()),
                        Way::In => self.traffic.received(data.len()),
                    }
                }
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
