//! Requests that can be sent a second time.

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};
use http::{Request, request::Parts};
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use hyper::body::Frame;
use wasmtime_wasi_http::{Error as HttpError, WasiBody};

/// Longest body that is kept, in bytes. A longer one passes through as the guest writes it.
const MAX_KEPT: usize = 256 << 10;

/// A request that is kept.
pub struct Repeatable {
    parts: Parts,
    body: Bytes,
}

impl Repeatable {
    /// The request once more.
    pub fn request(&self) -> Request<WasiBody> {
        Request::from_parts(self.parts.clone(), whole(self.body.clone()))
    }
}

/// Reads the body of a request and keeps it; `None` beside the request if that is too long, or has trailers.
pub async fn split(
    request: Request<WasiBody>,
) -> Result<(Request<WasiBody>, Option<Repeatable>), HttpError> {
    let (parts, mut body) = request.into_parts();
    let mut kept = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = match frame?.into_data() {
            Ok(data) => {
                kept.extend_from_slice(&data);
                if kept.len() <= MAX_KEPT {
                    continue;
                }
                Frame::data(Bytes::new())
            }
            Err(trailers) => trailers,
        };
        let begin = stream::iter([Ok(Frame::data(kept.freeze())), Ok(frame)]);
        let all = StreamBody::new(begin.chain(BodyStream::new(body)));
        return Ok((Request::from_parts(parts, all.boxed_unsync()), None));
    }
    let again = Repeatable {
        parts,
        body: kept.freeze(),
    };
    Ok((again.request(), Some(again)))
}

fn whole(body: Bytes) -> WasiBody {
    Full::new(body).map_err(HttpError::from).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn text(request: Request<WasiBody>) -> Bytes {
        request.into_body().collect().await.unwrap().to_bytes()
    }

    #[tokio::test]
    async fn short_bodies_are_kept_and_long_ones_pass() {
        for (length, is_kept) in [
            (0, true),
            (5, true),
            (MAX_KEPT, true),
            (MAX_KEPT + 1, false),
        ] {
            let body = Bytes::from(vec![b'x'; length]);
            let pieces = stream::iter(
                body.chunks(1000)
                    .map(Bytes::copy_from_slice)
                    .collect::<Vec<_>>(),
            );
            let pieces = pieces.map(|piece| Ok::<_, HttpError>(Frame::data(piece)));
            let body_of_guest = StreamBody::new(pieces).boxed_unsync();
            let request = Request::post("http://a.test/x")
                .body(body_of_guest)
                .unwrap();
            let (request, again) = split(request).await.unwrap();
            assert_eq!(again.is_some(), is_kept, "{length}");
            assert_eq!(text(request).await, body, "{length}");
            if let Some(again) = again {
                assert_eq!(again.request().uri(), "http://a.test/x");
                assert_eq!(text(again.request()).await, body, "{length}");
            }
        }
    }
}
