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

use crate::{
    config,
    error::{Code, Error, Result},
    locks,
};

/// When someone may try again whose key has too many requests under way; nobody knows when one will end.
const LATER: Duration = Duration::from_secs(1);

type Running = Arc<Mutex<HashMap<Arc<str>, u32>>>;

/// The limits, and what each key has used of them.
#[derive(Debug)]
pub struct Limits {
    rate: Option<DefaultKeyedRateLimiter<Arc<str>>>,
    concurrent: Option<NonZeroU32>,
    running: Running,
}

/// A request under way; over when dropped.
#[derive(Debug)]
pub struct Place {
    key: Arc<str>,
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
            running: Running::default(),
        }
    }

    /// Requests of all keys that are under way.
    pub fn under_way(&self) -> u64 {
        let running = locks::lock(&self.running);
        running.values().map(|count| u64::from(*count)).sum()
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
                "this key sends requests faster than it may (limits.requests_per_second)",
                wait,
            ));
        }
        let mut running = locks::lock(&self.running);
        let count = running.entry(key.clone()).or_default();
        if let Some(limit) = self.concurrent
            && *count >= limit.get()
        {
            let message = format!(
                "this key has {limit} requests under way, as many as it may (limits.concurrent_requests)"
            );
            return Err(refused(&message, LATER));
        }
        *count += 1;
        Ok(Place {
            key: key.clone(),
            running: self.running.clone(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut running = locks::lock(&self.running);
        if let Some(count) = running.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
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
            failed_logins: 0,
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
