//! Ports for programs that take a number, and do not choose one and say which.

use std::{
    net::TcpListener,
    sync::atomic::{AtomicU32, Ordering},
};

/// Below those that the system gives to programs that ask for any port.
const LOWEST: u32 = 10_000;
const COUNT: u32 = 20_000;

/// A free port on 127.0.0.1 that nobody gets who asks the system for any port, so that it stays free until it is used.
/// A process gets each only once, and processes begin at different ones.
///
/// # Panics
/// When all are taken.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(61);
    for _ in 0..COUNT {
        let number = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(LOWEST + number % COUNT).expect("a number below 30,000");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port from {LOWEST} on is free");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::free_port;

    #[test]
    fn ports_differ_and_are_given_to_nobody_else() {
        let ports: BTreeSet<_> = (0..20).map(|_| free_port()).collect();
        assert_eq!(ports.len(), 20);
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
        let lowest: u16 = range.split_whitespace().next().unwrap().parse().unwrap();
        assert!(ports.iter().all(|port| *port < lowest), "{ports:?} {range}");
    }
}
