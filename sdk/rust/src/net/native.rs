//! The stream over the operating system's sockets, for native tests and benchmarks.

use std::io::{self, Read, Write};
use std::net::ToSocketAddrs;
use std::time::{Duration, Instant};

use super::{WaitError, wait_limit};

/// Natively nothing wakes a blocked read, so a wait looks for a cancellation this often.
const SLICE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Stream {
    socket: std::net::TcpStream,
    deadline: Option<Instant>,
}

impl Stream {
    pub(super) fn connect(host: &str, port: u16, timeout: Duration) -> io::Result<Self> {
        let until = Instant::now() + timeout;
        wait_limit(Some(until))?;
        let addresses = (host, port)
            .to_socket_addrs()
            .map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in addresses {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(WaitError::TimedOut.into());
            }
            match std::net::TcpStream::connect_timeout(&address, left) {
                Ok(socket) => {
                    socket.set_nodelay(true)?;
                    socket.set_read_timeout(Some(SLICE))?;
                    socket.set_write_timeout(Some(SLICE))?;
                    return Ok(Self {
                        socket,
                        deadline: None,
                    });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    pub(super) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Natively there is no host that would stop what the engine does, so nothing is waited for.
    pub(super) fn outlast_call(&mut self) {}

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        patiently(self.deadline, || self.socket.read(buffer))
    }

    pub(super) fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        patiently(self.deadline, || self.socket.write(buffer))
    }
}

/// Repeats an operation that gives up after [`SLICE`] until it is done or the wait has to end.
fn patiently(
    deadline: Option<Instant>,
    mut operation: impl FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                if crate::control::is_cancelled() {
                    return Err(WaitError::Cancelled.into());
                }
                wait_limit(deadline)?;
            }
            done => return done,
        }
    }
}
