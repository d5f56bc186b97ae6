//! How many exports may run for a key at once.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{Arc, Mutex},
    time::Duration,
};

use mindhost_base::{
    error::{Code, Error, Result},
    locks::lock,
};

type UnderWay = Arc<Mutex<HashMap<Arc<str>, u32>>>;

/// The running exports.
#[derive(Clone)]
pub struct Exports {
    per_key: Option<NonZeroU32>,
    under_way: UnderWay,
}

/// One of them; over when dropped.
pub struct Place {
    key: Arc<str>,
    under_way: UnderWay,
}

impl Exports {
    /// None yet; at most so many of each key, and 0 means no limit.
    pub fn new(per_key: u32) -> Self {
        Self {
            per_key: NonZeroU32::new(per_key),
            under_way: UnderWay::default(),
        }
    }

    /// Begins one.
    ///
    /// # Errors
    /// `rate_limit_exceeded`
    pub fn take(&self, key: &Arc<str>) -> Result<Place> {
        let mut under_way = lock(&self.under_way);
        let count = under_way.entry(key.clone()).or_default();
        if let Some(limit) = self.per_key
            && *count >= limit.get()
        {
            return Err(Error::new(
                Code::RateLimited,
                format!(
                    "limit of {limit} concurrent exports per key reached (limits.exports_per_key); finish or cancel one of them"
                ),
            )
            .with_retry_after(Duration::from_secs(1)));
        }
        *count += 1;
        Ok(Place {
            key: key.clone(),
            under_way: self.under_way.clone(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut under_way = lock(&self.under_way);
        if let Some(count) = under_way.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                under_way.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_counts_for_its_key_until_it_is_over() {
        let exports = Exports::new(1);
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        let first = exports.take(&one).unwrap();
        let refused = exports.take(&one).err().unwrap();
        assert!(refused.message().contains("limits.exports_per_key"));
        assert!(exports.take(&other).is_ok());
        drop(first);
        assert!(exports.take(&one).is_ok());
        assert!(lock(&exports.under_way).is_empty(), "nothing is kept");
    }
}
