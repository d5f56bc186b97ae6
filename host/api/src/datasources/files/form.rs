//! A form (`multipart/form-data`) with one file, read as it arrives.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, BodyDataStream},
    http::{HeaderMap, header},
};
use bytes::Bytes;
use futures_util::Stream;
use multer::Multipart;

use mindhost_base::error::{Code, Error, Result};

/// Bytes before the file of a form, and behind it, at most: its other fields, and the headers of its parts.
const MAX_AROUND: u64 = 64 << 10;

/// A form while its parts arrive.
pub(super) struct Form {
    parts: Multipart<'static>,
    room: Arc<AtomicU64>,
}

impl Form {
    /// A form before its first part.
    pub(super) fn new(body: Body, boundary: String) -> Self {
        let room = Arc::new(AtomicU64::new(MAX_AROUND));
        let pieces = Pieces {
            body: body.into_data_stream(),
            room: Arc::clone(&room),
            pauses: false,
        };
        Self {
            parts: Multipart::new(pieces, boundary),
            room,
        }
    }

    /// The first part that is a file. Its length is for the reader of its pieces to bound.
    ///
    /// # Errors
    /// `invalid_body` if there is none, or the form breaks off; `body_too_large` if too much stands before it.
    pub(super) async fn file(&mut self) -> Result<multer::Field<'static>> {
        while let Some(part) = self.parts.next_field().await.map_err(broken_form)? {
            if part.file_name().is_some() {
                self.room.store(u64::MAX, Ordering::Relaxed);
                return Ok(part);
            }
        }
        Err(one_file())
    }

    /// Reads what stands behind the file, which may not be another part.
    ///
    /// # Errors
    /// As for [`Form::file`].
    pub(super) async fn end(mut self) -> Result<()> {
        self.room.store(MAX_AROUND, Ordering::Relaxed);
        match self.parts.next_field().await.map_err(broken_form)? {
            None => Ok(()),
            Some(_) => Err(one_file()),
        }
    }
}

/// The pieces of a body, one at a time. The parser takes all that are there before it gives any on, so without the
/// pause a client that sends faster than the disk writes would fill the memory.
struct Pieces {
    body: BodyDataStream,
    /// Bytes that may still come, but for the last piece.
    room: Arc<AtomicU64>,
    pauses: bool,
}

impl Stream for Pieces {
    type Item = std::result::Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.pauses) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let piece = match ready!(Pin::new(&mut self.body).poll_next(cx)) {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(broken(error)))),
            Some(Ok(piece)) => piece,
        };
        let room = self.room.load(Ordering::Relaxed);
        if room == 0 {
            return Poll::Ready(Some(Err(too_much())));
        }
        if room < u64::MAX {
            let room = room.saturating_sub(piece.len() as u64);
            self.room.store(room, Ordering::Relaxed);
        }
        self.pauses = true;
        Poll::Ready(Some(Ok(piece)))
    }
}

/// The boundary of a form; none if the body is the file itself.
pub(super) fn boundary(headers: &HeaderMap) -> Result<Option<String>> {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if !kind
        .trim_start()
        .to_ascii_lowercase()
        .starts_with("multipart/")
    {
        return Ok(None);
    }
    multer::parse_boundary(kind).map(Some).map_err(|error| {
        Error::new(
            Code::InvalidBody,
            "the form has no boundary; send `multipart/form-data` as a browser does",
        )
        .with_source(error)
    })
}

/// What the pieces say if they failed, else what is wrong with the form.
pub(super) fn broken_form(error: multer::Error) -> Error {
    match error {
        multer::Error::StreamReadFailed(error) => match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(error) => broken(error),
        },
        error => broken(error),
    }
}

pub(super) fn broken(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    let message = "the file broke off before its end; nothing was stored, so send it again";
    Error::new(Code::InvalidBody, message).with_source(error.into())
}

fn one_file() -> Error {
    Error::new(
        Code::InvalidBody,
        "the form must have one file, as its last part; nothing was stored",
    )
}

fn too_much() -> Error {
    let message = format!(
        "the form has more than {} KiB beside its file; send the file alone",
        MAX_AROUND >> 10
    );
    Error::new(Code::BodyTooLarge, message)
}
