//! The stream over `wasi:sockets`, waiting with `wasi:io/poll` on the socket and on the host's word at once.

use std::io;
use std::time::{Duration, Instant};

use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::{
    ErrorCode, IpAddress, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress,
    Network,
};
use wasip2::sockets::tcp::TcpSocket;
use wasip2::sockets::tcp_create_socket::create_tcp_socket;

use super::{WaitError, wait_limit};

/// More addresses of one name are not tried.
const MAX_ADDRESSES: usize = 16;

// The order of the fields is the order of dropping: a pollable before its stream, the streams before the socket.
#[derive(Debug)]
pub(super) struct Stream {
    readable: Pollable,
    writable: Pollable,
    input: InputStream,
    output: OutputStream,
    _socket: TcpSocket,
    deadline: Option<Instant>,
    outlasts_call: bool,
}

impl Stream {
    pub(super) fn connect(host: &str, port: u16, timeout: Duration) -> io::Result<Self> {
        let until = Instant::now() + timeout;
        wait_limit(Some(until))?;
        let network = instance_network();
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in look_up(&network, host, until)? {
            match connect_to(&network, address, port, until) {
                Ok(stream) => return Ok(stream),
                // Neither a cancellation nor the end of the time is a matter of the address.
                Err(error) if error.get_ref().is_some_and(|inner| inner.is::<WaitError>()) => {
                    return Err(error);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    pub(super) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    pub(super) fn outlast_call(&mut self) {
        self.outlasts_call = true;
    }

    fn wait(&self, ready: &Pollable) -> io::Result<()> {
        if self.outlasts_call {
            ready.block();
            return Ok(());
        }
        wait(ready, self.deadline)
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Reading first saves the question whether there is something to read.
            match self.input.read(buffer.len() as u64) {
                Ok(bytes) if bytes.is_empty() && !buffer.is_empty() => self.wait(&self.readable)?,
                Ok(bytes) => {
                    let bytes = bytes.get(..buffer.len()).unwrap_or(&bytes);
                    buffer[..bytes.len()].copy_from_slice(bytes);
                    return Ok(bytes.len());
                }
                Err(StreamError::Closed) => return Ok(0),
                Err(StreamError::LastOperationFailed(_)) => {
                    return Err(io::ErrorKind::ConnectionReset.into());
                }
            }
        }
    }

    pub(super) fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self.output.check_write().map_err(write_error)? {
                0 => self.wait(&self.writable)?,
                permitted => {
                    let length = buffer
                        .len()
                        .min(usize::try_from(permitted).unwrap_or(usize::MAX));
                    self.output.write(&buffer[..length]).map_err(write_error)?;
                    return Ok(length);
                }
            }
        }
    }
}

fn write_error(_: StreamError) -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

/// Waits until `ready` is, the host wants the call to end, or the time is up.
fn wait(ready: &Pollable, deadline: Option<Instant>) -> io::Result<()> {
    let limit = wait_limit(deadline)?;
    let cancelled = crate::control::cancelled();
    let clock = subscribe_duration(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
    let woken = poll(&[ready, &cancelled, &clock]);
    if woken.contains(&0) {
        Ok(())
    } else if woken.contains(&1) {
        Err(WaitError::Cancelled.into())
    } else {
        Err(WaitError::TimedOut.into())
    }
}

fn look_up(network: &Network, host: &str, until: Instant) -> io::Result<Vec<IpAddress>> {
    let answers = resolve_addresses(network, host).map_err(code_error)?;
    let ready = answers.subscribe();
    let mut addresses = Vec::new();
    while addresses.len() < MAX_ADDRESSES {
        match answers.resolve_next_address() {
            Ok(Some(address)) => addresses.push(address),
            Ok(None) => break,
            Err(ErrorCode::WouldBlock) => wait(&ready, Some(until))?,
            Err(code) => return Err(code_error(code)),
        }
    }
    Ok(addresses)
}

fn connect_to(
    network: &Network,
    address: IpAddress,
    port: u16,
    until: Instant,
) -> io::Result<Stream> {
    let (family, address) = match address {
        IpAddress::Ipv4(address) => (
            IpAddressFamily::Ipv4,
            IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address }),
        ),
        IpAddress::Ipv6(address) => (
            IpAddressFamily::Ipv6,
            IpSocketAddress::Ipv6(Ipv6SocketAddress {
                port,
                flow_info: 0,
                address,
                scope_id: 0,
            }),
        ),
    };
    let socket = create_tcp_socket(family).map_err(code_error)?;
    socket.start_connect(network, address).map_err(code_error)?;
    let ready = socket.subscribe();
    let (input, output) = loop {
        match socket.finish_connect() {
            Ok(streams) => break streams,
            Err(ErrorCode::WouldBlock) => wait(&ready, Some(until))?,
            Err(code) => return Err(code_error(code)),
        }
    };
    drop(ready);
    Ok(Stream {
        readable: input.subscribe(),
        writable: output.subscribe(),
        input,
        output,
        _socket: socket,
        deadline: None,
        outlasts_call: false,
    })
}

fn code_error(code: ErrorCode) -> io::Error {
    match code {
        ErrorCode::AccessDenied => io::ErrorKind::PermissionDenied,
        ErrorCode::Timeout => io::ErrorKind::TimedOut,
        ErrorCode::ConnectionRefused => io::ErrorKind::ConnectionRefused,
        ErrorCode::NameUnresolvable
        | ErrorCode::TemporaryResolverFailure
        | ErrorCode::PermanentResolverFailure
        | ErrorCode::InvalidArgument => io::ErrorKind::NotFound,
        _ => io::ErrorKind::HostUnreachable,
    }
    .into()
}
