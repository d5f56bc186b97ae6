//! A TCP stream that a plugin can wait on without outliving its call.
//!
//! Every wait ends with the first of three: the socket is ready, the host asks the call to end early
//! ([`crate::control`]), or the time of the call (or the stream's own deadline) has run out. Reading is not
//! buffered: ask for 64 KiB or more at a time.

use std::io;
use std::time::{Duration, Instant};

use crate::{Error, ErrorKind};

#[cfg(not(target_family = "wasm"))]
#[path = "net/native.rs"]
mod imp;
#[cfg(target_family = "wasm")]
#[path = "net/wasi.rs"]
mod imp;

/// Why a wait ended although the socket was not ready. Found inside the [`io::Error`] of a read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitError {
    /// The host asked for it.
    Cancelled,
    /// The time of the call or of the stream ran out.
    TimedOut,
}

impl std::fmt::Display for WaitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            WaitError::Cancelled => "stopped because the host asked for it",
            WaitError::TimedOut => "timed out",
        })
    }
}

impl std::error::Error for WaitError {}

impl From<WaitError> for io::Error {
    fn from(stopped: WaitError) -> Self {
        // Never `Interrupted`: the standard library and TLS libraries repeat a call that was interrupted.
        match stopped {
            WaitError::Cancelled => io::Error::other(stopped),
            WaitError::TimedOut => io::Error::new(io::ErrorKind::TimedOut, stopped),
        }
    }
}

/// What an [`io::Error`] of a [`TcpStream`] means to the host: `cancelled`, `timeout`, `denied`, `tls` or
/// `connection-lost`. In none of these cases can the connection be used again.
pub fn error_kind(error: &io::Error) -> ErrorKind {
    let stopped = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<WaitError>());
    match (stopped, error.kind()) {
        (Some(WaitError::Cancelled), _) => ErrorKind::Cancelled,
        (Some(WaitError::TimedOut), _) | (_, io::ErrorKind::TimedOut) => ErrorKind::Timeout,
        (_, io::ErrorKind::PermissionDenied) => ErrorKind::Denied,
        _ => ErrorKind::ConnectionLost,
    }
}

/// What a failed read or write of an established connection means, in words for the caller. The connection cannot be
/// used again.
pub fn transport_error(error: &io::Error) -> Error {
    let kind = error_kind(error);
    let (kind, message) = match kind {
        ErrorKind::Cancelled => (kind, "cancelled while waiting for the server"),
        ErrorKind::Timeout => (kind, "the server did not answer in time"),
        ErrorKind::Denied => (kind, "the connection is not allowed"),
        _ if is_about_tls(error) => (ErrorKind::Tls, "the TLS connection broke"),
        _ => (
            ErrorKind::ConnectionLost,
            "the connection to the server was lost",
        ),
    };
    Error::new(kind, message).connection_usable(false)
}

#[cfg(feature = "tls")]
fn is_about_tls(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|inner| inner.is::<rustls::Error>())
}

#[cfg(not(feature = "tls"))]
fn is_about_tls(_: &io::Error) -> bool {
    false
}

/// Whether `host` says by itself that the server is on this machine, whatever a name service makes of it.
pub fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    match host.parse::<std::net::IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// A connected TCP socket without Nagle's delay.
#[derive(Debug)]
pub struct TcpStream(imp::Stream);

impl TcpStream {
    /// Looks up `host` (a name or an address), tries each address in turn, and gives up after `timeout` or at the
    /// end of the call, whichever is sooner. The timeout covers the look-up and all addresses together.
    ///
    /// # Errors
    /// `denied` when the sandbox refuses the destination, `timeout`, `cancelled`, else `unreachable`. The message
    /// names neither the host nor an address.
    pub fn connect(host: &str, port: u16, timeout: Duration) -> Result<Self, Error> {
        imp::Stream::connect(host, port, timeout)
            .map(Self)
            .map_err(|error| connect_error(&error))
    }

    /// When reads and writes stop waiting even though the call has time left; none means the end of the call.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.0.set_deadline(deadline);
    }

    /// From now on reads and writes wait although the host wants the call to end: for an engine's last word that a
    /// statement has ended. The host waits for the call as long as `plugins.cancel_confirm_timeout` says, and then drops the
    /// instance.
    pub fn outlast_call(&mut self) {
        self.0.outlast_call();
    }
}

/// Tells the operator what happened and nothing about the network: a plugin must not serve as a port scanner.
fn connect_error(error: &io::Error) -> Error {
    let (kind, message) = match (error_kind(error), error.kind()) {
        (ErrorKind::Cancelled, _) => (ErrorKind::Cancelled, "cancelled while connecting"),
        (ErrorKind::Timeout, _) => (ErrorKind::Timeout, "the connection attempt timed out"),
        (ErrorKind::Denied, _) => (ErrorKind::Denied, "the connection is not allowed"),
        (_, io::ErrorKind::ConnectionRefused) => {
            (ErrorKind::Unreachable, "the connection was refused")
        }
        (_, io::ErrorKind::NotFound) => {
            (ErrorKind::Unreachable, "the host name cannot be resolved")
        }
        _ => (ErrorKind::Unreachable, "the host cannot be reached"),
    };
    Error::new(kind, message)
}

impl io::Read for TcpStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl io::Write for TcpStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How long a wait may still take: until the stream's own deadline or the end of the call, whichever is sooner. The
/// implementations look for a cancellation while they wait.
fn wait_limit(deadline: Option<Instant>) -> Result<Duration, WaitError> {
    let call = crate::control::remaining();
    let limit = deadline.map_or(call, |deadline| {
        call.min(deadline.saturating_duration_since(Instant::now()))
    });
    if limit.is_zero() {
        Err(WaitError::TimedOut)
    } else {
        Ok(limit)
    }
}
