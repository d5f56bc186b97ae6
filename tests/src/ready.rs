//! Waiting for a server that chose its port itself.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use crate::{Process, eventually::found_within};

/// A server is ready within this time, compilation of all plugins included.
const STARTUP: Duration = Duration::from_secs(180);

/// Waits until the log of a server names its address and `/readyz` there answers 200. Gives the URL.
///
/// # Panics
/// When the server ends before, or takes too long.
pub fn wait(process: &mut Process, log: impl Fn() -> String) -> String {
    let ready = found_within(STARTUP, || {
        let ready = address(&log()).filter(|address| is_ready(address));
        if ready.is_none()
            && let Some(status) = process.ended()
        {
            panic!(
                "the host ended before it was ready ({status}); its log:\n{}",
                log()
            );
        }
        ready
    });
    match ready {
        Some(address) => format!("http://{address}"),
        None => panic!(
            "the host is not ready after {STARTUP:?}; its log:\n{}",
            log()
        ),
    }
}

/// The address after the last `http://` that is followed by digits of a port.
fn address(log: &str) -> Option<String> {
    let complete = &log[..=log.rfind('\n')?];
    complete.rsplit("http://").find_map(|rest| {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && !".:".contains(c))
            .unwrap_or(rest.len());
        let address: std::net::SocketAddr = rest[..end].parse().ok()?;
        (address.port() != 0).then(|| address.to_string())
    })
}

fn is_ready(address: &str) -> bool {
    let status = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: mindhost\r\nconnection: close\r\n\r\n")?;
        let mut line = [0; 12];
        stream.read_exact(&mut line)?;
        Ok(String::from_utf8_lossy(&line).into_owned())
    };
    status().is_ok_and(|line| line == "HTTP/1.1 200")
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn the_address_is_read_from_a_whole_line() {
        let log = "starting\nlistening on http://127.0.0.1:40123 (ready)\n";
        assert_eq!(address(log).as_deref(), Some("127.0.0.1:40123"));
        assert_eq!(address("listening on http://127.0.0.1:40"), None);
        assert_eq!(address("see http://docs.example/ first\n"), None);
        assert_eq!(
            address("\u{1b}[1mhttp://127.0.0.1:81\u{1b}[0m\n").as_deref(),
            Some("127.0.0.1:81")
        );
    }
}
