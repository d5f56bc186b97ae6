//! Limits the concurrent exports of a key.

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

type Counts = Arc<Mutex<HashMap<Arc<str>, u32>>>;

/// The number of running exports of each key.
#[derive(Clone)]
pub struct ExportSlots {
    per_key: Option<NonZeroU32>,
    counts: Counts,
}

/// The slot of a running export, free again when dropped.
pub struct ExportSlot {
    key: Arc<str>,
    counts: Counts,
}

impl ExportSlots {
    /// 0 means no limit.
    pub fn new(per_key: u32) -> Self {
        Self {
            per_key: NonZeroU32::new(per_key),
            counts: Counts::default(),
        }
    }

    /// Takes a slot.
    ///
    /// # Errors
    /// `rate_limit_exceeded`
    pub fn take(&self, key: &Arc<str>) -> Result<ExportSlot> {
        let mut counts = lock(&self.counts);
        let count = counts.entry(key.clone()).or_default();
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
        Ok(ExportSlot {
            key: key.clone(),
            counts: self.counts.clone(),
        })
    }
}

impl Drop for ExportSlot {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_is_free_after_drop() {
        let slots = ExportSlots::new(1);
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        let first = slots.take(&one).unwrap();
        let refused = slots.take(&one).err().unwrap();
        assert!(refused.message().contains("limits.exports_per_key"));
        assert!(slots.take(&other).is_ok());
        drop(first);
        assert!(slots.take(&one).is_ok());
        assert!(lock(&slots.counts).is_empty(), "nothing is kept");
    }
}
