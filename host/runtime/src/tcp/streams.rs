//! The two directions of a guest's connection.

use std::{
    io,
    net::Shutdown,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::FutureExt;
use socket2::SockRef;
use tokio::{net::TcpStream, task::JoinError};
use tokio_util::task::AbortOnDropHandle;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use crate::{call_time::Traffic, limits::HandlePermit};
use mindhost_base::locks;

/// Bytes per read or write at most.
const PORTION: usize = 64 << 10;
/// How long the last write may take after the guest has closed its direction.
const LINGER: Duration = Duration::from_secs(30);

/// The stream that the guest reads.
pub struct Input {
    stream: Arc<TcpStream>,
    traffic: Arc<Traffic>,
    has_ended: bool,
}

impl Input {
    /// Reads from a connection.
    pub fn new(stream: Arc<TcpStream>, traffic: Arc<Traffic>) -> Self {
        Self {
            stream,
            traffic,
            has_ended: false,
        }
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Input {
    async fn ready(&mut self) {
        if !self.has_ended {
            // The next read returns the error.
            let _ = self.traffic.waited(self.stream.readable()).await;
        }
    }
}

#[wasmtime_wasi::async_trait]
impl InputStream for Input {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if self.has_ended {
            return Err(StreamError::Closed);
        }
        let size = size.min(PORTION);
        if size == 0 {
            return Ok(Bytes::new());
        }
        let mut buffer = BytesMut::with_capacity(size);
        match self.stream.try_read_buf(&mut (&mut buffer).limit(size)) {
            Ok(0) => {
                self.has_ended = true;
                Err(StreamError::Closed)
            }
            Ok(read) => {
                self.traffic.received(read);
                Ok(buffer.freeze())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Bytes::new()),
            Err(error) => {
                self.has_ended = true;
                Err(StreamError::LastOperationFailed(error.into()))
            }
        }
    }
}

/// The stream that the guest writes. Clones share the direction.
#[derive(Clone)]
pub struct Output(Arc<Mutex<Sender>>);

struct Sender {
    stream: Arc<TcpStream>,
    permit: Arc<HandlePermit>,
    traffic: Arc<Traffic>,
    state: WriteStage,
}

enum WriteStage {
    Idle,
    /// The rest of a write that did not fit into the socket buffer. A task sends it even if the guest does not poll: a
    /// guest that waits for the response would wait for ever.
    Busy(AbortOnDropHandle<io::Result<()>>),
    /// The rest failed, and the guest has not seen the error yet.
    Failed(io::Error),
    Ended,
}

impl Output {
    /// Writes to a connection.
    pub fn new(stream: Arc<TcpStream>, traffic: Arc<Traffic>, permit: Arc<HandlePermit>) -> Self {
        Self(Arc::new(Mutex::new(Sender {
            stream,
            permit,
            traffic,
            state: WriteStage::Idle,
        })))
    }

    /// Closes this direction after the last write. Refuses further writes.
    pub fn end(&self) {
        let mut sender = self.lock();
        let (stream, permit) = (Arc::clone(&sender.stream), Arc::clone(&sender.permit));
        // An error of shutdown means that the peer has disconnected.
        let shut_down = move || drop(SockRef::from(&*stream).shutdown(Shutdown::Write));
        match std::mem::replace(&mut sender.state, WriteStage::Ended) {
            // The guest may have dropped the socket; it counts until it is closed.
            WriteStage::Busy(rest) => drop(tokio::spawn(async move {
                let _ = tokio::time::timeout(LINGER, rest).await;
                shut_down();
                drop(permit);
            })),
            WriteStage::Idle => shut_down(),
            WriteStage::Failed(_) | WriteStage::Ended => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sender> {
        locks::lock(&self.0)
    }
}

impl Sender {
    /// Whether another write is possible. Returns the error of the last one once.
    fn settle(&mut self) -> StreamResult<bool> {
        if let WriteStage::Busy(rest) = &mut self.state
            && let Some(outcome) = rest.now_or_never()
        {
            self.state = WriteStage::after(outcome);
        }
        match &self.state {
            WriteStage::Idle => Ok(true),
            WriteStage::Busy(_) => Ok(false),
            WriteStage::Failed(_) | WriteStage::Ended => Err(self.end()),
        }
    }

    fn end(&mut self) -> StreamError {
        match std::mem::replace(&mut self.state, WriteStage::Ended) {
            WriteStage::Failed(error) => StreamError::LastOperationFailed(error.into()),
            _ => StreamError::Closed,
        }
    }
}

impl WriteStage {
    fn after(outcome: Result<io::Result<()>, JoinError>) -> Self {
        match outcome.unwrap_or_else(|error| Err(error.into())) {
            Ok(()) => Self::Idle,
            Err(error) => Self::Failed(error),
        }
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {
        let traffic = Arc::clone(&self.lock().traffic);
        let sent = std::future::poll_fn(|cx| {
            let mut sender = self.lock();
            let WriteStage::Busy(rest) = &mut sender.state else {
                return std::task::Poll::Ready(());
            };
            rest.poll_unpin(cx)
                .map(|outcome| sender.state = WriteStage::after(outcome))
        });
        traffic.waited(sent).await;
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for Output {
    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(match self.lock().settle()? {
            true => PORTION,
            false => 0,
        })
    }

    fn write(&mut self, mut bytes: Bytes) -> StreamResult<()> {
        let mut sender = self.lock();
        if bytes.len() > PORTION || !sender.settle()? {
            return Err(StreamError::trap("more was written than permitted"));
        }
        // Accepted bytes are sent, or the connection breaks.
        sender.traffic.sent(bytes.len());
        match sender.stream.try_write(&bytes) {
            Ok(written) => bytes.advance(written),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                sender.state = WriteStage::Failed(error);
                return Err(sender.end());
            }
        }
        if !bytes.is_empty() {
            let rest = send(Arc::clone(&sender.stream), bytes);
            sender.state = WriteStage::Busy(AbortOnDropHandle::new(tokio::spawn(rest)));
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.lock().settle().map(drop)
    }
}

async fn send(stream: Arc<TcpStream>, mut bytes: Bytes) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(&bytes) {
            Ok(written) => bytes.advance(written),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncReadExt, net::TcpListener};

    use super::*;
    use crate::{call_time::traffic, limits::Handles};

    fn output(stream: Arc<TcpStream>) -> Output {
        let permit = Handles::default().take_socket().unwrap();
        Output::new(stream, traffic(), Arc::new(permit))
    }

    async fn pair() -> (Arc<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
        (Arc::new(ours.unwrap()), theirs.unwrap().0)
    }

    /// Writes until the socket buffer is full.
    fn fill(output: &mut Output) -> usize {
        let mut written = 0;
        while output.check_write().unwrap() > 0 {
            output.write(Bytes::from(vec![7; PORTION])).unwrap();
            written += PORTION;
        }
        written
    }

    #[tokio::test]
    async fn rest_of_a_write_is_sent_without_a_poll() {
        let (ours, mut theirs) = pair().await;
        let mut output = output(ours);
        let written = fill(&mut output);
        let mut seen = vec![0; written];
        theirs.read_exact(&mut seen).await.unwrap();
        output.ready().await;
        assert_eq!(output.check_write().unwrap(), PORTION);
    }

    #[tokio::test]
    async fn direction_closes_after_the_last_write() {
        let (ours, mut theirs) = pair().await;
        let mut output = output(ours);
        let written = fill(&mut output);
        output.end();
        assert!(matches!(output.check_write(), Err(StreamError::Closed)));
        let mut seen = Vec::new();
        theirs.read_to_end(&mut seen).await.unwrap();
        assert_eq!(seen.len(), written);
    }

    #[tokio::test]
    async fn disconnected_peer_is_reported_once() {
        let (ours, theirs) = pair().await;
        let mut output = output(ours);
        fill(&mut output);
        drop(theirs);
        output.ready().await;
        assert!(matches!(
            output.check_write(),
            Err(StreamError::LastOperationFailed(_))
        ));
        assert!(matches!(output.check_write(), Err(StreamError::Closed)));
    }

    #[tokio::test]
    async fn read_ends_with_the_peer_and_returns_at_most_the_requested_bytes() {
        let (ours, theirs) = pair().await;
        theirs.try_write(b"abc").unwrap();
        drop(theirs);
        let mut input = Input::new(ours, traffic());
        input.ready().await;
        assert_eq!(input.read(2).unwrap(), "ab");
        assert_eq!(input.read(0).unwrap(), "");
        assert_eq!(input.read(9).unwrap(), "c");
        input.ready().await;
        assert!(matches!(input.read(1), Err(StreamError::Closed)));
    }
}
