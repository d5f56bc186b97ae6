//! The byte stream of a connection, whose framing is followed.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

use super::{Uses, heads::Heads};

/// How long bytes are still read after the last answer. The kernel resets a connection that is closed with unread
/// bytes, and a client that is still sending would never see the answer.
const LINGER: Duration = Duration::from_secs(2);
const DISCARDED_AT_ONCE: usize = 16 << 10;

/// A connection that follows its framing, and that closes so that the client can read the last answer.
pub(super) struct Wire {
    stream: TcpStream,
    heads: Heads,
    uses: Arc<Uses>,
    lingering: Option<Pin<Box<Sleep>>>,
    /// Whether a close that comes before the shutdown resets the connection.
    resets: bool,
}

impl Wire {
    pub fn new(stream: TcpStream, uses: Arc<Uses>) -> Self {
        Self {
            stream,
            heads: Heads::default(),
            uses,
            lingering: None,
            resets: false,
        }
    }

    /// From the start of an answer whose end only the close of the connection shows, any other close is a reset: a
    /// client would take a cut answer for a whole one.
    fn reset_if_cut(&mut self) {
        if !self.resets && self.uses.ends_by_close() {
            self.resets = self.set_reset(true);
        }
    }

    fn set_reset(&self, is_reset: bool) -> bool {
        let linger = is_reset.then_some(Duration::ZERO);
        let set = SockRef::from(&self.stream).set_linger(linger);
        if let Err(error) = &set {
            tracing::debug!(%error, "could not set SO_LINGER");
        }
        set.is_ok()
    }

    /// Reads and drops bytes until the client closes or the time is over.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let clock = self
            .lingering
            .get_or_insert_with(|| Box::pin(sleep(LINGER)));
        let mut space = [0; DISCARDED_AT_ONCE];
        while clock.as_mut().poll(context).is_pending() {
            let mut read = ReadBuf::new(&mut space);
            match ready!(Pin::new(&mut self.stream).poll_read(context, &mut read)) {
                Ok(()) if !read.filled().is_empty() => {}
                _ => break,
            }
        }
        Poll::Ready(())
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.heads.follow(&buffer.filled()[before..]);
        if let Some(number) = self.heads.with_two_lengths() {
            self.uses.has_two_lengths(number);
        }
        if let Some(number) = self.heads.unclear_from() {
            self.uses.is_unclear_from(number);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.reset_if_cut();
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.reset_if_cut();
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The library shuts down only after a complete answer.
        if self.resets {
            self.resets = false;
            self.set_reset(false);
        }
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        }
        if self.uses.leaves_unread() || self.heads.is_refused(self.uses.begun()) {
            ready!(self.poll_linger(context));
        }
        Poll::Ready(Ok(()))
    }
}
