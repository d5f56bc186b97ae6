//! The body of an answer, counted as it is sent, in small pieces, so that the unread rest of a slow client stays here.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use mindhost_base::error::Result;
use mindhost_core::{auth::limits::Permit, usage::Tally};

/// Longest piece that is handed on at a time. What is below the connection takes as much of them as its buffers have
/// room for, so a long answer counts for as long as its client reads it.
const PIECE: usize = 64 << 10;

/// A body that counts its bytes. The request is in progress until the last byte is taken or the body is dropped.
pub(super) struct CountedBody {
    body: Body,
    /// The rest of the last frame.
    left: Bytes,
    under_way: Option<UnderWay>,
    /// Its end was reported. The compression layer polls again, which not every body allows.
    ended: bool,
}

/// Permits released at the end: before the client can see the end, so that its next request finds them free.
struct UnderWay {
    tally: Option<Arc<Tally>>,
    _place: Permit,
}

impl CountedBody {
    /// # Errors
    /// If the clients of its key have too many unread bytes already, and it `may_be_refused`.
    pub fn new(
        body: Body,
        tally: Option<Arc<Tally>>,
        mut place: Permit,
        may_be_refused: bool,
    ) -> Result<Self> {
        if let Some(bytes) = body.size_hint().exact()
            && bytes > PIECE as u64
        {
            match may_be_refused {
                true => place.reserve(bytes)?,
                false => place.reserve_anyway(bytes),
            }
        }
        Ok(Self {
            body,
            left: Bytes::new(),
            under_way: Some(UnderWay {
                tally,
                _place: place,
            }),
            ended: false,
        })
    }

    /// The next piece of the frame.
    fn piece(&mut self) -> Frame<Bytes> {
        let length = self.left.len().min(PIECE);
        Frame::data(self.left.split_to(length))
    }
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let mut polled = match self.left.is_empty() {
            true => Pin::new(&mut self.body).poll_frame(context),
            false => Poll::Ready(Some(Ok(self.piece()))),
        };
        if let Poll::Ready(Some(Ok(frame))) = &mut polled
            && let Some(data) = frame.data_mut()
        {
            if data.len() > PIECE {
                self.left = std::mem::take(data);
                let piece = self.piece();
                *frame = piece;
            }
            if let Some(tally) = self.under_way.as_ref().and_then(|one| one.tally.as_ref())
                && let Some(data) = frame.data_ref()
            {
                tally.bytes(data.len() as u64);
            }
        }
        self.ended = matches!(polled, Poll::Ready(None));
        if self.is_end_stream() {
            self.under_way = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.ended || (self.left.is_empty() && self.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let (of_body, left) = (self.body.size_hint(), self.left.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower() + left);
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper + left);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use mindhost_base::config::Config;
    use mindhost_core::auth::limits::Limits;

    #[tokio::test]
    async fn a_long_body_goes_out_in_pieces_and_is_under_way_until_the_last() {
        let limits = Limits::new(&Config::defaults().unwrap().limits);
        let place = limits.acquire(&"key".into()).unwrap();
        let mut body =
            CountedBody::new(Body::from(vec![7_u8; 3 * PIECE + 1]), None, place, true).unwrap();
        assert_eq!(body.size_hint().exact(), Some(3 * PIECE as u64 + 1));
        let mut sizes = Vec::new();
        while let Some(frame) = body.frame().await {
            sizes.push(frame.unwrap().into_data().unwrap().len());
            let expected = u64::from(!body.is_end_stream());
            assert_eq!(limits.in_flight(), expected, "after {sizes:?}");
        }
        assert_eq!(sizes, [PIECE, PIECE, PIECE, 1]);
    }

    #[tokio::test]
    async fn what_was_done_is_answered_however_much_waits() {
        let limits = Limits::new(&mindhost_base::config::Limits {
            unread_bytes_per_key: 4 * PIECE as u64,
            ..Config::defaults().unwrap().limits
        });
        let key: Arc<str> = "key".into();
        let answer = |place: Permit, may_be_refused: bool| {
            CountedBody::new(
                Body::from(vec![7_u8; 3 * PIECE]),
                None,
                place,
                may_be_refused,
            )
        };
        let places = [(); 3].map(|()| limits.acquire(&key).unwrap());
        let [first, page, act] = places;
        let first = answer(first, true).unwrap();
        assert!(answer(page, true).is_err(), "a page is refused");
        let act = answer(act, false).unwrap();
        assert!(limits.acquire(&key).is_err(), "nothing new is begun");
        drop((first, act));
        assert!(limits.acquire(&key).is_ok());
    }
}
