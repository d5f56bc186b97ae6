//! How often, and how many at a time: limits of each key, so that one client cannot take the server from the others.
//!
//! Only keys that exist are counted, so the memory is bounded by their number.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{Arc, Mutex},
    time::Duration,
};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};

use mindhost_base::{
    config,
    error::{Code, Error, Result},
    locks,
};

/// When someone may try again whose key has too many requests under way; nobody knows when one will end.
const LATER: Duration = Duration::from_secs(1);

type Running = Arc<Mutex<HashMap<Arc<str>, Used>>>;

/// What a key uses now.
#[derive(Debug, Default)]
struct Used {
    /// Requests in flight.
    requests: u32,
    /// Bytes of whole answers that its clients have yet to take.
    unread: u64,
}

/// The limits, and what each key has used of them.
#[derive(Debug)]
pub struct Limits {
    rate: Option<DefaultKeyedRateLimiter<Arc<str>>>,
    concurrent: Option<NonZeroU32>,
    max_unread: u64,
    running: Running,
}

/// A request under way; over when dropped.
#[derive(Debug)]
pub struct Place {
    key: Arc<str>,
    unread: u64,
    max_unread: u64,
    running: Running,
}

impl Limits {
    /// As configured; zero means no limit.
    pub fn new(settings: &config::Limits) -> Self {
        let rate = NonZeroU32::new(settings.requests_per_second).map(|rate| {
            let burst = NonZeroU32::new(settings.burst).unwrap_or(rate);
            RateLimiter::keyed(Quota::per_second(rate).allow_burst(burst))
        });
        Self {
            rate,
            concurrent: NonZeroU32::new(settings.concurrent_requests),
            max_unread: settings.unread_bytes_per_key,
            running: Running::default(),
        }
    }

    /// Requests of all keys that are under way.
    pub fn under_way(&self) -> u64 {
        let running = locks::lock(&self.running);
        running.values().map(|used| u64::from(used.requests)).sum()
    }

    /// Begins a request of a key.
    ///
    /// # Errors
    /// `rate_limit_exceeded`, with the time after which it is worth another try.
    pub fn enter(&self, key: &Arc<str>) -> Result<Place> {
        if let Some(rate) = &self.rate
            && let Err(early) = rate.check_key(key)
        {
            let wait = early.wait_time_from(DefaultClock::default().now());
            return Err(refused(
                "this key exceeds its request rate (limits.requests_per_second, limits.burst)",
                wait,
            ));
        }
        let mut running = locks::lock(&self.running);
        let used = running.entry(key.clone()).or_default();
        if let Some(limit) = self.concurrent
            && used.requests >= limit.get()
        {
            let message = format!(
                "limit of {limit} concurrent requests per key reached (limits.concurrent_requests)"
            );
            return Err(refused(&message, LATER));
        }
        if self.max_unread > 0 && used.unread >= self.max_unread {
            let message = format!(
                "the clients of this key have yet to read {} bytes of answers, and {} may wait for them \
                 (limits.unread_bytes_per_key)",
                used.unread, self.max_unread
            );
            return Err(refused(&message, LATER));
        }
        used.requests += 1;
        Ok(Place {
            key: key.clone(),
            unread: 0,
            max_unread: self.max_unread,
            running: self.running.clone(),
        })
    }
}

impl Place {
    /// Takes room for an answer that is whole in memory until its client has taken it. An answer alone always has some.
    /// For answers of reading; others are past refusing, see [`Self::hold_anyway`].
    ///
    /// # Errors
    /// `rate_limit_exceeded` when the key's clients have yet to take as much as they may.
    pub fn hold(&mut self, bytes: u64) -> Result<()> {
        let mut running = locks::lock(&self.running);
        let Some(used) = running.get_mut(&self.key) else {
            return Ok(());
        };
        if self.max_unread > 0 && used.unread > 0 && used.unread + bytes > self.max_unread {
            let message = format!(
                "{} unread response bytes for this key; limit {} (limits.unread_bytes_per_key)",
                used.unread, self.max_unread
            );
            return Err(refused(&message, LATER));
        }
        used.unread += bytes;
        self.unread += bytes;
        Ok(())
    }

    /// Counts an answer that goes out however much waits: what it tells of was done. The key's next request is refused
    /// then.
    pub fn hold_anyway(&mut self, bytes: u64) {
        if let Some(used) = locks::lock(&self.running).get_mut(&self.key) {
            used.unread += bytes;
            self.unread += bytes;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut running = locks::lock(&self.running);
        if let Some(used) = running.get_mut(&self.key) {
            used.requests -= 1;
            used.unread -= self.unread;
            if used.requests == 0 {
                running.remove(&self.key);
            }
        }
    }
}

fn refused(message: &str, wait: Duration) -> Error {
    Error::new(
        Code::RateLimited,
        format!("{message}; try again after the time in the header Retry-After"),
    )
    .with_retry_after(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(requests_per_second: u32, burst: u32, concurrent_requests: u32) -> Limits {
        Limits::new(&config::Limits {
            requests_per_second,
            burst,
            concurrent_requests,
            ..config::Config::defaults().unwrap().limits
        })
    }

    #[test]
    fn each_key_has_its_own_rate() {
        let limits = limits(1, 3, 0);
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        let allowed = (0..5).filter(|_| limits.enter(&one).is_ok()).count();
        assert_eq!(allowed, 3);
        let refused = limits.enter(&one).unwrap_err();
        assert_eq!(refused.code(), Code::RateLimited);
        assert!(refused.retry_after().is_some_and(|wait| wait <= LATER));
        assert!(limits.enter(&other).is_ok());
    }

    #[test]
    fn what_clients_do_not_read_counts_until_the_request_is_over() {
        let limits = Limits {
            max_unread: 100,
            ..limits(0, 0, 0)
        };
        let key: Arc<str> = "key".into();
        let [mut first, mut second] = [(); 2].map(|()| limits.enter(&key).unwrap());
        first.hold(150).unwrap();
        let refused = second.hold(1).unwrap_err();
        assert!(refused.message().contains("limits.unread_bytes_per_key"));
        let refused = limits.enter(&key).unwrap_err();
        assert!(refused.message().contains("limits.unread_bytes_per_key"));
        assert_eq!(limits.under_way(), 2);
        drop(first);
        second.hold(60).unwrap();
        assert!(limits.enter(&key).unwrap().hold(41).is_err());
        limits.enter(&key).unwrap().hold(40).unwrap();
    }

    #[test]
    fn a_request_counts_until_it_is_over() {
        let limits = limits(0, 0, 2);
        let key: Arc<str> = "key".into();
        let first = limits.enter(&key).unwrap();
        let second = limits.enter(&key).unwrap();
        let refused = limits.enter(&key).unwrap_err();
        assert_eq!(refused.retry_after(), Some(LATER));
        drop(first);
        drop(limits.enter(&key).unwrap());
        drop(second);
        assert!(locks::lock(&limits.running).is_empty(), "nothing is kept");
    }
}
