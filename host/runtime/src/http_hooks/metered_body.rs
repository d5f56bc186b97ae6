//! Bodies that count their bytes and the waits for them.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::{
    super::call_time::{NetworkWait, Traffic},
    exchange_log::{Direction, ExchangeLog},
};

/// A body that counts each byte that passes, for the call and for the exchange, which ends after its bodies.
pub struct MeteredBody<B> {
    body: B,
    direction: Direction,
    traffic: Arc<Traffic>,
    /// Set if somebody reads the log of exchanges.
    logged: Option<Arc<ExchangeLog>>,
    /// Set while no frame is available.
    waiting: Option<NetworkWait>,
}

impl<B> MeteredBody<B> {
    /// Wraps a body.
    pub fn new(
        body: B,
        direction: Direction,
        traffic: &Arc<Traffic>,
        logged: Option<&Arc<ExchangeLog>>,
    ) -> Self {
        Self {
            body,
            direction,
            traffic: Arc::clone(traffic),
            logged: logged.cloned(),
            waiting: None,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for MeteredBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Pending if self.direction == Direction::In && self.waiting.is_none() => {
                self.waiting = Some(self.traffic.wait());
            }
            Poll::Pending => {}
            Poll::Ready(frame) => {
                self.waiting = None;
                if let Some(Ok(frame)) = frame
                    && let Some(data) = frame.data_ref()
                {
                    match self.direction {
                        Direction::Out => self.traffic.sent(data.len()),
                        Direction::In => self.traffic.received(data.len()),
                    }
                    if let Some(logged) = &self.logged {
                        logged.passed(self.direction, data.len());
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
