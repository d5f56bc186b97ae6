//! Client connections: accepted up to a limit, and closed when idle.
//!
//! Opening a connection needs no key, so an idle one must not be held for long. A connection without a first request is
//! closed after a timeout, and so is one that is idle between requests. At the limit, idle connections are closed to
//! make room. A connection with a request in progress, such as a stream or an export, ends with it, or when its client
//! stops reading.

mod heads;
mod rest;
mod wire;

use std::{
    collections::VecDeque,
    convert::Infallible,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::Body,
    extract::{ConnectInfo, Request},
    http::Version,
    response::Response,
};
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep},
};
use tokio_util::task::TaskTracker;
use tower::Service;

use self::{rest::Rest, wire::Wire};
use mindhost_base::config::Config;

/// Pause after a failed accept, which would fail again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long to wait for a connection that was asked to close before another one is asked.
const ROOM_PAUSE: Duration = Duration::from_millis(20);

/// Size of a connection's send buffer, here and in the kernel: enough to keep a fast client busy, and the cost of a
/// slow one. It also limits the head of a request.
const UNSENT: u32 = 64 << 10;

/// The limits on connections.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    pub connections: usize,
    /// Timeout of the head of the first request.
    pub first_request: Duration,
    /// Idle timeout between requests.
    pub idle: Duration,
    /// Timeout of a client that reads nothing of its answer.
    pub unread: Duration,
}

impl Bounds {
    /// The limits of the settings. Connections get half of the process's `open_files`: a stream has another connection
    /// to its model, and the store and the plugins need some too.
    pub fn of(config: &Config, open_files: u64) -> Self {
        let server = &config.server;
        let half = usize::try_from(open_files / 2).unwrap_or(usize::MAX);
        Self {
            connections: server.max_connections.min(half).max(1),
            first_request: server.first_request_timeout,
            idle: server.idle_timeout,
            // An export has its own timeout for clients that do not read.
            unread: server.idle_timeout + config.sql.export_idle_timeout,
        }
    }
}

/// Serves until `ending` completes, then until the requests in progress have ended.
pub(super) async fn serve<S>(
    listener: TcpListener,
    service: S,
    bounds: Bounds,
    ending: impl Future<Output = ()>,
) where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let room = Arc::new(Semaphore::new(bounds.connections));
    let bounds = Arc::new(bounds);
    let tasks = TaskTracker::new();
    let mut open = Open::default();
    let mut ending = pin!(ending);
    loop {
        let accepted = async {
            let place = place(&room, &mut open).await;
            (place, accept(&listener, &mut open).await)
        };
        let (place, (stream, peer)) = tokio::select! {
            accepted = accepted => accepted,
            () = &mut ending => break,
        };
        let uses = open.add();
        let connection = Connection {
            uses,
            bounds: bounds.clone(),
            _place: place,
        };
        tasks.spawn(connection.run(stream, peer, service.clone()));
    }
    // New connections are refused from here on; requests in progress are answered.
    drop(listener);
    open.end();
    tasks.close();
    tasks.wait().await;
}

/// Acquires a permit for a connection, if necessary by closing an idle one.
async fn place(room: &Arc<Semaphore>, open: &mut Open) -> Option<OwnedSemaphorePermit> {
    let mut place = pin!(room.clone().acquire_owned());
    let mut pause = Duration::ZERO;
    loop {
        tokio::select! {
            biased;
            // It fails only if the semaphore is closed, which never happens.
            place = &mut place => return place.ok(),
            () = sleep(pause) => {}
        }
        // All are in use: check from time to time whether one is idle.
        pause = match open.make_room() {
            true => ROOM_PAUSE,
            false => ACCEPT_PAUSE,
        };
    }
}

async fn accept(listener: &TcpListener, open: &mut Open) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection; closing an idle one");
                open.make_room();
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// The open connections, the oldest first, and some that have closed.
#[derive(Default)]
struct Open(VecDeque<Arc<Uses>>);

impl Open {
    fn add(&mut self) -> Arc<Uses> {
        // Closed connections have no other reference. They are removed when the list is full, and its capacity grows so
        // that this is rare.
        if self.0.len() == self.0.capacity() {
            self.0.retain(|uses| Arc::strong_count(uses) > 1);
            self.0.reserve(self.0.len() + 64);
        }
        let uses = Arc::new(Uses::default());
        self.0.push_back(uses.clone());
        uses
    }

    /// Asks the connection that has been idle longest to close. Returns whether there was one.
    fn make_room(&mut self) -> bool {
        for _ in 0..self.0.len() {
            let Some(uses) = self.0.pop_front() else {
                break;
            };
            if Arc::strong_count(&uses) == 1 {
                continue;
            }
            let rests = uses.rests();
            if rests {
                uses.end.notify_one();
            }
            self.0.push_back(uses);
            if rests {
                return true;
            }
        }
        false
    }

    fn end(self) {
        for uses in self.0 {
            uses.end.notify_one();
        }
    }
}

/// The state of a connection. Only its own task writes it.
#[derive(Default)]
struct Uses {
    /// Number of requests received.
    begun: AtomicU32,
    /// Number of requests whose answers were sent in full.
    ended: AtomicU32,
    /// The number, from 1, of a request whose head gives its length twice; 0 for none.
    two_lengths: AtomicU32,
    /// The number, from 1, of the first request whose end is unclear; 0 for none.
    unclear_from: AtomicU32,
    /// An answer announced the end of the connection while the client may still send.
    leaves_unread: AtomicBool,
    /// The end of the answer is the close of the connection: HTTP/1.0 has no chunks.
    ends_by_close: AtomicBool,
    /// Notified to close the connection as soon as it is idle.
    end: Notify,
}

/// Marks a request, in its extensions, whose end another reader could see elsewhere. Its headers do not show it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ambiguous {
    /// It has both a `Content-Length` and a `Transfer-Encoding`.
    TwoLengths,
    /// Its length, or that of one before it, could not be followed.
    Unclear,
}

impl Uses {
    /// Counts a request and returns its number.
    fn begin(&self) -> u32 {
        self.begun.fetch_add(1, Relaxed).wrapping_add(1)
    }

    fn begun(&self) -> u32 {
        self.begun.load(Relaxed)
    }

    fn has_two_lengths(&self, number: u32) {
        self.two_lengths.store(number, Relaxed);
    }

    fn is_unclear_from(&self, number: u32) {
        self.unclear_from.store(number, Relaxed);
    }

    /// What is ambiguous about the request of this number.
    fn ambiguous(&self, number: u32) -> Option<Ambiguous> {
        if self.two_lengths.load(Relaxed) == number {
            return Some(Ambiguous::TwoLengths);
        }
        let from = self.unclear_from.load(Relaxed);
        (from != 0 && number >= from).then_some(Ambiguous::Unclear)
    }

    fn leaves_unread(&self) -> bool {
        self.leaves_unread.load(Relaxed)
    }

    fn ends_by_close(&self) -> bool {
        self.ends_by_close.load(Relaxed)
    }

    fn rests(&self) -> bool {
        self.begun.load(Relaxed) == self.ended.load(Relaxed)
    }
}

struct Connection {
    uses: Arc<Uses>,
    bounds: Arc<Bounds>,
    /// Released when it ends.
    _place: Option<OwnedSemaphorePermit>,
}

impl Connection {
    async fn run<S>(self, stream: TcpStream, peer: SocketAddr, service: S)
    where
        S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send,
    {
        self.prepare(&stream);
        let uses = self.uses.clone();
        let wire = TokioIo::new(Wire::new(stream, uses.clone()));
        let answer = service_fn(move |request: hyper::Request<Incoming>| {
            let number = uses.begin();
            let use_of = Use(uses.clone());
            let has_chunks = request.version() > Version::HTTP_10;
            let (mut request, rest) = Rest::of(request.map(Body::new));
            request.extensions_mut().insert(ConnectInfo(peer));
            let ambiguous = uses.ambiguous(number);
            if let Some(ambiguous) = ambiguous {
                request.extensions_mut().insert(ambiguous);
            }
            // A router is always ready.
            let answered = service.clone().call(request);
            async move {
                let mut response = answered.await?;
                let is_unread = rest.settle(&mut response).await;
                if ambiguous.is_some() {
                    rest::close(response.headers_mut());
                }
                if is_unread || ambiguous.is_some() {
                    use_of.0.leaves_unread.store(true, Relaxed);
                }
                if !has_chunks && response.body().size_hint().exact().is_none() {
                    use_of.0.ends_by_close.store(true, Relaxed);
                }
                Ok::<_, Infallible>(response.map(|body| Answer { body, _use: use_of }))
            }
        });
        let mut connection = pin!(
            http1::Builder::new()
                .max_buf_size(UNSENT as usize)
                .serve_connection(wire, answer)
        );
        let mut quiet = pin!(sleep(self.bounds.first_request));
        let mut seen = 0;
        loop {
            tokio::select! {
                biased;
                result = connection.as_mut() => {
                    if let Err(error) = result {
                        tracing::debug!(%error, %peer, "a connection broke");
                    }
                    return;
                }
                () = self.uses.end.notified() => {}
                () = quiet.as_mut() => {
                    quiet.as_mut().reset(Instant::now() + self.bounds.idle);
                    let begun = self.uses.begun();
                    // It is idle if two checks in a row see no request.
                    if begun != seen || !self.uses.rests() {
                        seen = begun;
                        continue;
                    }
                }
            }
            // A connection without a complete request gets no answer.
            if self.uses.begun() == 0 {
                return;
            }
            // An answer in progress is sent in full.
            connection.as_mut().graceful_shutdown();
        }
    }

    fn prepare(&self, stream: &TcpStream) {
        // Without Nagle's delay, so that an event is sent when it is written.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "could not set TCP_NODELAY");
        }
        // The kernel enforces the send timeout, at no cost to requests.
        #[cfg(target_os = "linux")]
        if let Err(error) = SockRef::from(stream).set_tcp_user_timeout(Some(self.bounds.unread)) {
            tracing::debug!(%error, "could not set TCP_USER_TIMEOUT");
        }
        // Unsent bytes wait in our buffer, where they are counted. Bytes in flight have no such limit, so distant
        // clients are served as fast as near ones.
        #[cfg(target_os = "linux")]
        if let Err(error) = SockRef::from(stream).set_tcp_notsent_lowat(UNSENT) {
            tracing::debug!(%error, "could not set TCP_NOTSENT_LOWAT");
        }
    }
}

/// Counts a request as answered when it is dropped: after its answer was sent in full, or its client left.
struct Use(Arc<Uses>);

impl Drop for Use {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Relaxed);
    }
}

/// The body of an answer while it is sent.
struct Answer {
    body: Body,
    _use: Use,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
