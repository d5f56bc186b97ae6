//! Rate limit, concurrency limit and limit of unread bytes for each key, so that one client cannot starve the others.
//!
//! Only valid keys are counted, so their number bounds the memory.

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

/// When to retry after too many concurrent requests. When one of them ends cannot be known.
const RETRY_AFTER: Duration = Duration::from_secs(1);

type UsageByKey = Arc<Mutex<HashMap<Arc<str>, KeyUsage>>>;

/// The current use of a key.
#[derive(Debug, Default)]
struct KeyUsage {
    /// Requests in flight.
    requests: u32,
    /// Bytes of buffered responses that its clients have not read yet.
    unread: u64,
}

/// The limits, and the use of each key.
#[derive(Debug)]
pub struct Limits {
    rate: Option<DefaultKeyedRateLimiter<Arc<str>>>,
    concurrent: Option<NonZeroU32>,
    max_unread: u64,
    running: UsageByKey,
}

/// The permit of a request in flight, returned when dropped.
#[derive(Debug)]
pub struct Permit {
    key: Arc<str>,
    unread: u64,
    max_unread: u64,
    running: UsageByKey,
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
            running: UsageByKey::default(),
        }
    }

    /// Requests in flight, of all keys.
    pub fn in_flight(&self) -> u64 {
        let running = locks::lock(&self.running);
        running.values().map(|used| u64::from(used.requests)).sum()
    }

    /// Takes a permit for a request of a key.
    ///
    /// # Errors
    /// `rate_limit_exceeded`, with the time after which to retry.
    pub fn acquire(&self, key: &Arc<str>) -> Result<Permit> {
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
            return Err(refused(&message, RETRY_AFTER));
        }
        if self.max_unread > 0 && used.unread >= self.max_unread {
            let message = format!(
                "the clients of this key have yet to read {} bytes of answers, and {} may wait for them \
                 (limits.unread_bytes_per_key)",
                used.unread, self.max_unread
            );
            return Err(refused(&message, RETRY_AFTER));
        }
        used.requests += 1;
        Ok(Permit {
            key: key.clone(),
            unread: 0,
            max_unread: self.max_unread,
            running: self.running.clone(),
        })
    }
}

impl Permit {
    /// Reserves memory for a response that is buffered until its client has read it. The only response of a key always
    /// has room. For requests that only read; see [`Self::reserve_anyway`] for the others.
    ///
    /// # Errors
    /// `rate_limit_exceeded` when the unread bytes of the key exceed its limit.
    pub fn reserve(&mut self, bytes: u64) -> Result<()> {
        let mut running = locks::lock(&self.running);
        let Some(used) = running.get_mut(&self.key) else {
            return Ok(());
        };
        if self.max_unread > 0 && used.unread > 0 && used.unread + bytes > self.max_unread {
            let message = format!(
                "{} unread response bytes for this key; limit {} (limits.unread_bytes_per_key)",
                used.unread, self.max_unread
            );
            return Err(refused(&message, RETRY_AFTER));
        }
        used.unread += bytes;
        self.unread += bytes;
        Ok(())
    }

    /// Counts a response that is sent even beyond the limit, because its action is done. The key's next request is
    /// refused then.
    pub fn reserve_anyway(&mut self, bytes: u64) {
        if let Some(used) = locks::lock(&self.running).get_mut(&self.key) {
            used.unread += bytes;
            self.unread += bytes;
        }
    }
}

impl Drop for Permit {
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
        let allowed = (0..5).filter(|_| limits.acquire(&one).is_ok()).count();
        assert_eq!(allowed, 3);
        let refused = limits.acquire(&one).unwrap_err();
        assert_eq!(refused.code(), Code::RateLimited);
        assert!(
            refused
                .retry_after()
                .is_some_and(|wait| wait <= RETRY_AFTER)
        );
        assert!(limits.acquire(&other).is_ok());
    }

    #[test]
    fn unread_bytes_count_until_the_permit_is_dropped() {
        let limits = Limits {
            max_unread: 100,
            ..limits(0, 0, 0)
        };
        let key: Arc<str> = "key".into();
        let [mut first, mut second] = [(); 2].map(|()| limits.acquire(&key).unwrap());
        first.reserve(150).unwrap();
        let refused = second.reserve(1).unwrap_err();
        assert!(refused.message().contains("limits.unread_bytes_per_key"));
        let refused = limits.acquire(&key).unwrap_err();
        assert!(refused.message().contains("limits.unread_bytes_per_key"));
        assert_eq!(limits.in_flight(), 2);
        drop(first);
        second.reserve(60).unwrap();
        assert!(limits.acquire(&key).unwrap().reserve(41).is_err());
        limits.acquire(&key).unwrap().reserve(40).unwrap();
    }

    #[test]
    fn request_counts_until_the_permit_is_dropped() {
        let limits = limits(0, 0, 2);
        let key: Arc<str> = "key".into();
        let first = limits.acquire(&key).unwrap();
        let second = limits.acquire(&key).unwrap();
        let refused = limits.acquire(&key).unwrap_err();
        assert_eq!(refused.retry_after(), Some(RETRY_AFTER));
        drop(first);
        drop(limits.acquire(&key).unwrap());
        drop(second);
        assert!(locks::lock(&limits.running).is_empty(), "nothing is kept");
    }
}
