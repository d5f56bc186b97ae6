//! One HTTP exchange as a log line: method, URL without secrets, status, times and bytes. For authors of plugins, and
//! for servers that log at the level `debug`.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use http::{Request, uri::Scheme};

use crate::guest_log::GuestLog;

/// Which body of an exchange some bytes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the guest.
    Out,
    /// To the guest.
    In,
}

/// Longest URL in a line, in bytes.
const MAX_URL: usize = 600;
/// What the names of parameters with secrets contain.
const SECRET_NAMES: [&str; 10] = [
    "key", "token", "secret", "sig", "pass", "auth", "cred", "code", "session", "jwt",
];

/// The line of one exchange, which is logged when its last holder drops it.
pub struct ExchangeLog {
    log: Arc<GuestLog>,
    request: String,
    started: Instant,
    /// The status and the time until the head of the response was there, or why there is none.
    head: OnceLock<(String, Duration)>,
    sent: AtomicU64,
    received: AtomicU64,
}

impl ExchangeLog {
    /// Begins one if anybody listens. The request is that of the guest: the host has not added credentials yet.
    pub fn begin<B>(log: &Arc<GuestLog>, request: &Request<B>) -> Option<Arc<Self>> {
        log.logs_exchanges().then(|| {
            Arc::new(Self {
                request: format!("{} {}", request.method(), url(log, request)),
                log: Arc::clone(log),
                started: Instant::now(),
                head: OnceLock::new(),
                sent: AtomicU64::new(0),
                received: AtomicU64::new(0),
            })
        })
    }

    /// The head of the response arrived, or the exchange failed.
    pub fn answered(&self, how: impl std::fmt::Display) {
        let _ = self.head.set((how.to_string(), self.started.elapsed()));
    }

    /// Bytes of a body passed.
    pub fn passed(&self, direction: Direction, bytes: usize) {
        let counter = match direction {
            Direction::Out => &self.sent,
            Direction::In => &self.received,
        };
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Drop for ExchangeLog {
    fn drop(&mut self) {
        let all = self.started.elapsed();
        let (how, head) = match self.head.get() {
            Some((how, head)) => (how.as_str(), *head),
            None => ("given up", all),
        };
        let line = format!(
            "{}  {how}  {head:.1?} to the head, {all:.1?} in all  {} bytes sent, {} received",
            self.request,
            self.sent.load(Ordering::Relaxed),
            self.received.load(Ordering::Relaxed),
        );
        self.log.exchange(&line);
    }
}

/// The URL without user name, without values of parameters that may be secrets, and without secrets of the
/// configuration.
fn url<B>(log: &GuestLog, request: &Request<B>) -> String {
    let uri = request.uri();
    let scheme = uri.scheme().unwrap_or(&Scheme::HTTP);
    let host = uri.host().unwrap_or_default();
    let port = uri.port_u16().map(|port| format!(":{port}"));
    let port = port.unwrap_or_default();
    let pairs = uri.query().into_iter().flat_map(|query| query.split('&'));
    let pairs: Vec<String> = pairs.map(shown_pair).collect();
    let query = match pairs.is_empty() {
        true => String::new(),
        false => format!("?{}", pairs.join("&")),
    };
    let text = format!("{scheme}://{host}{port}{}{query}", uri.path());
    log.clean(&text, MAX_URL)
}

fn shown_pair(pair: &str) -> String {
    let Some((name, value)) = pair.split_once('=') else {
        // It may be a value alone.
        return "…".to_owned();
    };
    let lower = name.to_ascii_lowercase();
    let is_secret = SECRET_NAMES.iter().any(|word| lower.contains(word));
    // Names are also written with escapes, which hide a word.
    match is_secret || name.contains('%') || value.len() > 64 {
        true => format!("{name}=…"),
        false => format!("{name}={value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_with_secrets_lose_their_values() {
        for (pair, shown) in [
            ("page=2", "page=2"),
            ("access_token=abc", "access_token=…"),
            ("X-Amz-Signature=abc", "X-Amz-Signature=…"),
            ("%6bey=abc", "%6bey=…"),
            ("abc", "…"),
        ] {
            assert_eq!(shown_pair(pair), shown);
        }
        assert_eq!(
            shown_pair(&format!("cursor={}", "x".repeat(65))),
            "cursor=…"
        );
    }
}
