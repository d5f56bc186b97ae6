//! Connections of clients: accepted up to a limit, closed when nothing comes of them.
//!
//! No key is needed to open one, so none may be held for nothing: one that sends no request is closed after a while, one
//! that rests between requests too, and where there are as many as there may be, those that rest make room. One that has
//! a request under way, a stream or an export, ends by itself alone, or when its client takes nothing of it any more.

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
    response::Response,
};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
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

/// How long the listener rests when the system gives it no connection: it would fail again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long it waits for one that was asked to make room before it asks another.
const ROOM_PAUSE: Duration = Duration::from_millis(20);

/// Bytes of the connection that may wait for its client in our own buffers, and as many in the system's: enough to keep a
/// fast client busy, and what a slow one costs. A request's head has room in as many.
const UNSENT: u32 = 64 << 10;

/// How many connections there may be, and how long each may do nothing.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    pub connections: usize,
    /// Until the head of the first request is whole.
    pub first_request: Duration,
    /// Between requests.
    pub idle: Duration,
    /// While a client takes nothing of what is sent to it.
    pub unread: Duration,
}

impl Bounds {
    /// Those that the settings name. Connections get half of the `open_files` that the process may have: a stream has
    /// another one to its model, and the store and the plugins need theirs.
    pub fn of(config: &Config, open_files: u64) -> Self {
        let server = &config.server;
        let half = usize::try_from(open_files / 2).unwrap_or(usize::MAX);
        Self {
            connections: server.max_connections.min(half).max(1),
            first_request: server.first_request_timeout,
            idle: server.idle_timeout,
            // An export decides by itself how long its client need not read.
            unread: server.idle_timeout + config.sql.export_idle_timeout,
        }
    }
}

/// Serves until `ending` is done, then until the running requests have ended.
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
    // From here on nobody can connect, and those who ask something get their answer.
    drop(listener);
    open.end();
    tasks.close();
    tasks.wait().await;
}

/// Room for one more, made by closing one that rests where there is none.
async fn place(room: &Arc<Semaphore>, open: &mut Open) -> Option<OwnedSemaphorePermit> {
    let mut place = pin!(room.clone().acquire_owned());
    let mut pause = Duration::ZERO;
    loop {
        tokio::select! {
            biased;
            // It fails only when the semaphore is closed, which nobody does.
            place = &mut place => return place.ok(),
            () = sleep(pause) => {}
        }
        // Where all are in use, a look from time to time tells when one of them rests.
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
                tracing::warn!(%error, "could not take a connection; one that rests is closed");
                open.make_room();
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// The connections that are open, the oldest first, and some that were.
#[derive(Default)]
struct Open(VecDeque<Arc<Uses>>);

impl Open {
    fn add(&mut self) -> Arc<Uses> {
        // Those that ended are held by nobody else. Looked for when the list is full, and then made so long that this
        // is seldom.
        if self.0.len() == self.0.capacity() {
            self.0.retain(|uses| Arc::strong_count(uses) > 1);
            self.0.reserve(self.0.len() + 64);
        }
        let uses = Arc::new(Uses::default());
        self.0.push_back(uses.clone());
        uses
    }

    /// Asks the one that has waited longest among those that rest to end, and says whether there was one.
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

/// What one connection is used for. Written by its own task alone.
#[derive(Default)]
struct Uses {
    /// Requests that came.
    begun: AtomicU32,
    /// Those of them whose answers were given to the end.
    ended: AtomicU32,
    /// The request, by its number from 1, whose head says twice how long its body is; 0 for none.
    two_lengths: AtomicU32,
    /// The request, by its number from 1, from which on it is not clear where one ends; 0 for none.
    unclear_from: AtomicU32,
    /// An answer said that the connection ends while the client may still send.
    leaves_unread: AtomicBool,
    /// That it shall end as soon as nothing is under way.
    end: Notify,
}

/// In the extensions of a request whose end another reader could see elsewhere. Its headers do not show it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ambiguous {
    /// It has both a `Content-Length` and a `Transfer-Encoding`.
    TwoLengths,
    /// Its length, or that of one before it, could not be followed.
    Unclear,
}

impl Uses {
    /// Counts a request, and gives its number.
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

    /// What is ambiguous of a request, by its number.
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

    fn rests(&self) -> bool {
        self.begun.load(Relaxed) == self.ended.load(Relaxed)
    }
}

struct Connection {
    uses: Arc<Uses>,
    bounds: Arc<Bounds>,
    /// Given back when it ends.
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
                    // One look sees that it rests, the next that it rested all the time.
                    if begun != seen || !self.uses.rests() {
                        seen = begun;
                        continue;
                    }
                }
            }
            // What has asked for nothing gets nothing, even if half a request has come.
            if self.uses.begun() == 0 {
                return;
            }
            // The answer that is under way, or on its way to the client, is given to its end.
            connection.as_mut().graceful_shutdown();
        }
    }

    fn prepare(&self, stream: &TcpStream) {
        // Without Nagle's delay: an event that is written is an event that is sent.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "could not set TCP_NODELAY");
        }
        // The system watches over what is sent, so that no request pays for it.
        #[cfg(target_os = "linux")]
        if let Err(error) = SockRef::from(stream).set_tcp_user_timeout(Some(self.bounds.unread)) {
            tracing::debug!(%error, "could not set TCP_USER_TIMEOUT");
        }
        // What was not sent yet waits with us, where it is counted. What is on its way has no such limit, so far away clients
        // are served as fast as near ones.
        #[cfg(target_os = "linux")]
        if let Err(error) = SockRef::from(stream).set_tcp_notsent_lowat(UNSENT) {
            tracing::debug!(%error, "could not set TCP_NOTSENT_LOWAT");
        }
    }
}

/// A request until its answer was given to the end, or nobody waits for it any more.
struct Use(Arc<Uses>);

impl Drop for Use {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Relaxed);
    }
}

/// The body of an answer, for as long as it is sent.
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
