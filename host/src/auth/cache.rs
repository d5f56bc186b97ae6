//! Remembers keys for a few seconds, so that a request does not cost a query.

use std::{
    collections::HashMap,
    sync::RwLock,
    time::{Duration, Instant},
};

use super::{Caller, Hash};
use crate::locks;

/// More keys than this at once are looked up each time.
const LIMIT: usize = 10_000;

/// A key as the store knows it.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub caller: Caller,
    pub expires_at: Option<i64>,
    pub last_used_at: i64,
}

#[derive(Debug)]
pub(super) struct Cache {
    remembered: Duration,
    entries: RwLock<HashMap<Hash, (Instant, Found)>>,
}

impl Cache {
    pub fn new(remembered: Duration) -> Self {
        Self {
            remembered,
            entries: RwLock::default(),
        }
    }

    pub fn get(&self, hash: &Hash) -> Option<Found> {
        let entries = locks::read(&self.entries);
        let (since, found) = entries.get(hash)?;
        (since.elapsed() < self.remembered).then(|| found.clone())
    }

    pub fn put(&self, hash: Hash, found: Found) {
        let mut entries = locks::write(&self.entries);
        if entries.len() >= LIMIT {
            entries.retain(|_, (since, _)| since.elapsed() < self.remembered);
        }
        if entries.len() < LIMIT {
            entries.insert(hash, (Instant::now(), found));
        }
    }

    /// Whether the last use is older than `every` microseconds; if so it is now.
    pub fn mark_used(&self, hash: &Hash, now: i64, every: i64) -> bool {
        let due = |found: &Found| now - found.last_used_at >= every;
        let entries = locks::read(&self.entries);
        if !entries.get(hash).is_some_and(|(_, found)| due(found)) {
            return false;
        }
        drop(entries);
        let mut entries = locks::write(&self.entries);
        match entries.get_mut(hash) {
            Some((_, found)) if due(found) => {
                found.last_used_at = now;
                true
            }
            _ => false,
        }
    }

    /// Forgets all; the next request of each key asks the store.
    pub fn clear(&self) {
        locks::write(&self.entries).clear();
    }
}
