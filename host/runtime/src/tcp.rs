//! TCP for guests: connections to granted addresses only. No guest listens.
//!
//! WASI's sockets cannot disable Nagle's algorithm. Two small messages before a read would then wait for the delayed
//! acknowledgement of the peer, 40 ms on Linux. These sockets set `TCP_NODELAY`.

mod streams;

use std::{io, net::Shutdown, sync::Arc, time::Duration};

use futures_util::FutureExt;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, DynPollable, Network, Pollable, SocketError, SocketResult,
    TcpSocket,
    bindings::sockets::{
        network::{ErrorCode, IpAddressFamily, IpSocketAddress},
        tcp::{self, ShutdownType},
        tcp_create_socket,
    },
    subscribe,
};

use self::streams::{Input, Output};
use super::{
    call_time::Traffic,
    limits::HandlePermit,
    sockets::{SocketView, Sockets, view},
    state::State,
};

/// The buffer size that guests see. The operating system chooses the real one.
const BUFFER: u64 = 64 << 10;
const HOP_LIMIT: u8 = 64;

/// A TCP socket of a guest. It connects only to what the grants name, and never listens.
pub struct Socket {
    family: IpAddressFamily,
    permit: Arc<HandlePermit>,
    stage: Stage,
    is_kept_alive: bool,
    idle: Duration,
    interval: Duration,
    probes: u32,
    /// The meter of its waits, once it may wait.
    traffic: Option<Arc<Traffic>>,
}

enum Stage {
    New,
    Connecting(AbortOnDropHandle<io::Result<TcpStream>>),
    /// The attempt has ended, and the guest has not read its outcome yet.
    Attempted(io::Result<TcpStream>),
    Connected {
        stream: Arc<TcpStream>,
        output: Output,
    },
    Failed,
}

impl Socket {
    /// An unconnected socket with the operating system's keep-alive settings.
    pub fn new(family: IpAddressFamily, permit: HandlePermit) -> Self {
        Self {
            family,
            permit: Arc::new(permit),
            stage: Stage::New,
            is_kept_alive: false,
            idle: Duration::from_secs(7200),
            interval: Duration::from_secs(75),
            probes: 9,
            traffic: None,
        }
    }

    fn stream(&self) -> SocketResult<&Arc<TcpStream>> {
        match &self.stage {
            Stage::Connected { stream, .. } => Ok(stream),
            _ => Err(ErrorCode::InvalidState.into()),
        }
    }

    /// Reads the outcome of the attempt, if it has ended.
    fn look(&mut self) {
        if let Stage::Connecting(attempt) = &mut self.stage
            && let Some(outcome) = attempt.now_or_never()
        {
            self.stage = Stage::Attempted(outcome.unwrap_or_else(|error| Err(error.into())));
        }
    }

    fn keep_alive(&self) -> io::Result<()> {
        let Stage::Connected { stream, .. } = &self.stage else {
            return Ok(());
        };
        let socket = SockRef::from(&**stream);
        socket.set_keepalive(self.is_kept_alive)?;
        let settings = TcpKeepalive::new()
            .with_time(self.idle)
            .with_interval(self.interval)
            .with_retries(self.probes);
        match self.is_kept_alive {
            true => socket.set_tcp_keepalive(&settings),
            false => Ok(()),
        }
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Socket {
    async fn ready(&mut self) {
        if let Stage::Connecting(attempt) = &mut self.stage {
            let _waiting = self.traffic.as_ref().map(|traffic| traffic.wait());
            let outcome = attempt.await;
            self.stage = Stage::Attempted(outcome.unwrap_or_else(|error| Err(error.into())));
        }
    }
}

/// WASI's socket type cannot be created outside its crate. The table holds a [`Socket`]; the guest holds its handle.
fn ours(socket: &Resource<TcpSocket>) -> Resource<Socket> {
    match socket.owned() {
        true => Resource::new_own(socket.rep()),
        false => Resource::new_borrow(socket.rep()),
    }
}

impl SocketView<'_> {
    fn socket(&mut self, socket: &Resource<TcpSocket>) -> SocketResult<&mut Socket> {
        Ok(self.inner.table.get_mut(&ours(socket))?)
    }

    /// Changes a keep-alive setting, before or after the connection opens.
    fn keep_alive(
        &mut self,
        socket: &Resource<TcpSocket>,
        change: impl FnOnce(&mut Socket),
    ) -> SocketResult<()> {
        let socket = self.socket(socket)?;
        change(socket);
        Ok(socket.keep_alive().map_err(|error| code(&error))?)
    }
}

/// Replaces WASI's TCP sockets, and limits their number.
pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    tcp_create_socket::add_to_linker::<State, Sockets>(linker, view)?;
    tcp::add_to_linker::<State, Sockets>(linker, view)
}

impl tcp_create_socket::Host for SocketView<'_> {
    fn create_tcp_socket(
        &mut self,
        family: IpAddressFamily,
    ) -> Result<Resource<TcpSocket>, SocketError> {
        if !self.grants.uses_sockets() {
            return Err(ErrorCode::AccessDenied.into());
        }
        let permit = self.handles.take_socket();
        let permit = permit.ok_or(SocketError::from(ErrorCode::NewSocketLimit))?;
        let socket = self.inner.table.push(Socket::new(family, permit))?;
        Ok(Resource::new_own(socket.rep()))
    }
}

impl tcp::Host for SocketView<'_> {}

impl tcp::HostTcpSocket for SocketView<'_> {
    async fn start_bind(
        &mut self,
        _: Resource<TcpSocket>,
        _: Resource<Network>,
        _: IpSocketAddress,
    ) -> SocketResult<()> {
        Err(ErrorCode::AccessDenied.into())
    }

    fn finish_bind(&mut self, _: Resource<TcpSocket>) -> SocketResult<()> {
        Err(ErrorCode::NotInProgress.into())
    }

    fn start_connect(
        &mut self,
        this: Resource<TcpSocket>,
        network: Resource<Network>,
        address: IpSocketAddress,
    ) -> SocketResult<()> {
        self.inner.table.get(&network)?;
        let is_of_family = matches!(
            (self.socket(&this)?.family, address),
            (IpAddressFamily::Ipv4, IpSocketAddress::Ipv4(_))
                | (IpAddressFamily::Ipv6, IpSocketAddress::Ipv6(_))
        );
        if !is_of_family {
            return Err(ErrorCode::InvalidArgument.into());
        }
        let address = address.into();
        if !self.grants.may_connect(address, &self.refusals) {
            return Err(ErrorCode::AccessDenied.into());
        }
        let traffic = Arc::clone(&self.traffic);
        let socket = self.socket(&this)?;
        match socket.stage {
            Stage::New => {}
            Stage::Connecting(_) | Stage::Attempted(_) => {
                return Err(ErrorCode::ConcurrencyConflict.into());
            }
            Stage::Connected { .. } | Stage::Failed => return Err(ErrorCode::InvalidState.into()),
        }
        let attempt = tokio::spawn(TcpStream::connect(address));
        socket.traffic = Some(traffic);
        socket.stage = Stage::Connecting(AbortOnDropHandle::new(attempt));
        Ok(())
    }

    fn finish_connect(
        &mut self,
        this: Resource<TcpSocket>,
    ) -> SocketResult<(Resource<DynInputStream>, Resource<DynOutputStream>)> {
        let socket = self.socket(&this)?;
        let permit = Arc::clone(&socket.permit);
        socket.look();
        let stream = match std::mem::replace(&mut socket.stage, Stage::Failed) {
            Stage::Attempted(Ok(stream)) => Arc::new(stream),
            Stage::Attempted(Err(error)) => {
                self.refusals.note_out_of_files(&error);
                return Err(code(&error).into());
            }
            other => {
                let is_waiting = matches!(other, Stage::Connecting(_));
                socket.stage = other;
                return Err(match is_waiting {
                    true => ErrorCode::WouldBlock.into(),
                    false => ErrorCode::NotInProgress.into(),
                });
            }
        };
        stream.set_nodelay(true).map_err(|error| code(&error))?;
        let traffic = Arc::clone(&self.traffic);
        let output = Output::new(Arc::clone(&stream), Arc::clone(&traffic), permit);
        let input: DynInputStream = Box::new(Input::new(Arc::clone(&stream), traffic));
        let written: DynOutputStream = Box::new(output.clone());
        let socket = self.socket(&this)?;
        socket.stage = Stage::Connected { stream, output };
        socket.keep_alive().map_err(|error| code(&error))?;
        let input = self.inner.table.push_child(input, &ours(&this))?;
        let output = self.inner.table.push_child(written, &ours(&this))?;
        Ok((input, output))
    }

    async fn start_listen(&mut self, _: Resource<TcpSocket>) -> SocketResult<()> {
        Err(ErrorCode::AccessDenied.into())
    }

    fn finish_listen(&mut self, _: Resource<TcpSocket>) -> SocketResult<()> {
        Err(ErrorCode::NotInProgress.into())
    }

    fn accept(
        &mut self,
        _: Resource<TcpSocket>,
    ) -> SocketResult<(
        Resource<TcpSocket>,
        Resource<DynInputStream>,
        Resource<DynOutputStream>,
    )> {
        Err(ErrorCode::InvalidState.into())
    }

    fn local_address(&mut self, this: Resource<TcpSocket>) -> SocketResult<IpSocketAddress> {
        let address = self.socket(&this)?.stream()?.local_addr();
        Ok(address.map_err(|error| code(&error))?.into())
    }

    fn remote_address(&mut self, this: Resource<TcpSocket>) -> SocketResult<IpSocketAddress> {
        let address = self.socket(&this)?.stream()?.peer_addr();
        Ok(address.map_err(|error| code(&error))?.into())
    }

    fn is_listening(&mut self, _: Resource<TcpSocket>) -> wasmtime::Result<bool> {
        Ok(false)
    }

    fn address_family(&mut self, this: Resource<TcpSocket>) -> wasmtime::Result<IpAddressFamily> {
        Ok(self.inner.table.get(&ours(&this))?.family)
    }

    fn set_listen_backlog_size(&mut self, _: Resource<TcpSocket>, _: u64) -> SocketResult<()> {
        Err(ErrorCode::NotSupported.into())
    }

    fn keep_alive_enabled(&mut self, this: Resource<TcpSocket>) -> SocketResult<bool> {
        Ok(self.socket(&this)?.is_kept_alive)
    }

    fn set_keep_alive_enabled(
        &mut self,
        this: Resource<TcpSocket>,
        value: bool,
    ) -> SocketResult<()> {
        self.keep_alive(&this, |socket| socket.is_kept_alive = value)
    }

    fn keep_alive_idle_time(&mut self, this: Resource<TcpSocket>) -> SocketResult<u64> {
        Ok(nanoseconds(self.socket(&this)?.idle))
    }

    fn set_keep_alive_idle_time(
        &mut self,
        this: Resource<TcpSocket>,
        value: u64,
    ) -> SocketResult<()> {
        let time = whole_seconds(value)?;
        self.keep_alive(&this, |socket| socket.idle = time)
    }

    fn keep_alive_interval(&mut self, this: Resource<TcpSocket>) -> SocketResult<u64> {
        Ok(nanoseconds(self.socket(&this)?.interval))
    }

    fn set_keep_alive_interval(
        &mut self,
        this: Resource<TcpSocket>,
        value: u64,
    ) -> SocketResult<()> {
        let time = whole_seconds(value)?;
        self.keep_alive(&this, |socket| socket.interval = time)
    }

    fn keep_alive_count(&mut self, this: Resource<TcpSocket>) -> SocketResult<u32> {
        Ok(self.socket(&this)?.probes)
    }

    fn set_keep_alive_count(&mut self, this: Resource<TcpSocket>, value: u32) -> SocketResult<()> {
        if value == 0 {
            return Err(ErrorCode::InvalidArgument.into());
        }
        self.keep_alive(&this, |socket| socket.probes = value.min(127))
    }

    fn hop_limit(&mut self, _: Resource<TcpSocket>) -> SocketResult<u8> {
        Ok(HOP_LIMIT)
    }

    fn set_hop_limit(&mut self, _: Resource<TcpSocket>, _: u8) -> SocketResult<()> {
        Err(ErrorCode::NotSupported.into())
    }

    fn receive_buffer_size(&mut self, _: Resource<TcpSocket>) -> SocketResult<u64> {
        Ok(BUFFER)
    }

    /// Ignored, as WASI allows: the operating system adapts the sizes to the connection.
    fn set_receive_buffer_size(&mut self, _: Resource<TcpSocket>, value: u64) -> SocketResult<()> {
        not_zero(value)
    }

    fn send_buffer_size(&mut self, _: Resource<TcpSocket>) -> SocketResult<u64> {
        Ok(BUFFER)
    }

    fn set_send_buffer_size(&mut self, _: Resource<TcpSocket>, value: u64) -> SocketResult<()> {
        not_zero(value)
    }

    fn subscribe(&mut self, this: Resource<TcpSocket>) -> wasmtime::Result<Resource<DynPollable>> {
        subscribe(self.inner.table, ours(&this))
    }

    fn shutdown(&mut self, this: Resource<TcpSocket>, kind: ShutdownType) -> SocketResult<()> {
        let socket = self.socket(&this)?;
        let Stage::Connected { stream, output } = &socket.stage else {
            return Err(ErrorCode::InvalidState.into());
        };
        if matches!(kind, ShutdownType::Send | ShutdownType::Both) {
            output.end();
        }
        if matches!(kind, ShutdownType::Receive | ShutdownType::Both) {
            // An error means that the peer has disconnected.
            let _ = SockRef::from(&**stream).shutdown(Shutdown::Read);
        }
        Ok(())
    }

    fn drop(&mut self, this: Resource<TcpSocket>) -> wasmtime::Result<()> {
        self.inner.table.delete(ours(&this))?;
        Ok(())
    }
}

fn not_zero(value: u64) -> SocketResult<()> {
    match value {
        0 => Err(ErrorCode::InvalidArgument.into()),
        _ => Ok(()),
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Rounds to the seconds of the operating system's keep-alive, up to its maximum.
fn whole_seconds(nanoseconds: u64) -> SocketResult<Duration> {
    not_zero(nanoseconds)?;
    let seconds = nanoseconds.div_ceil(1_000_000_000);
    Ok(Duration::from_secs(seconds.min(32_767)))
}

fn code(error: &io::Error) -> ErrorCode {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => ErrorCode::ConnectionRefused,
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => ErrorCode::ConnectionReset,
        io::ErrorKind::ConnectionAborted => ErrorCode::ConnectionAborted,
        io::ErrorKind::TimedOut => ErrorCode::Timeout,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            ErrorCode::RemoteUnreachable
        }
        io::ErrorKind::PermissionDenied => ErrorCode::AccessDenied,
        io::ErrorKind::OutOfMemory => ErrorCode::OutOfMemory,
        _ => ErrorCode::Unknown,
    }
}
