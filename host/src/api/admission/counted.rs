//! The body of an answer, counted as it goes out.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::{auth::limits::Place, usage::Tally};

/// A body that counts its bytes. Until its last byte was taken, or it is dropped, the request is under way.
pub(super) struct Counted {
    body: Body,
    under_way: Option<UnderWay>,
    /// Its end was told. What compresses it asks again, and not every body can be asked then.
    ended: bool,
}

/// What is given back at the end: before the client can know of the end, so that its next request finds it free.
struct UnderWay {
    tally: Option<Arc<Tally>>,
    _place: Place,
}

impl Counted {
    pub fn new(body: Body, tally: Option<Arc<Tally>>, place: Place) -> Self {
        Self {
            body,
            under_way: Some(UnderWay {
                tally,
                _place: place,
            }),
            ended: false,
        }
    }
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(tally) = self.under_way.as_ref().and_then(|one| one.tally.as_ref())
            && let Some(data) = frame.data_ref()
        {
            tally.bytes(data.len() as u64);
        }
        self.ended = matches!(polled, Poll::Ready(None));
        if self.ended || self.body.is_end_stream() {
            self.under_way = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
