//! A short-lived cache of keys, so that a request does not cost a query.

use std::{
    collections::{HashMap, HashSet},
    sync::RwLock,
    time::{Duration, Instant},
};

use super::{Caller, Hash};
use mindhost_base::locks;

/// Keys beyond this number are not cached.
const LIMIT: usize = 10_000;

/// A key as the store knows it.
#[derive(Clone, Debug)]
pub(super) struct CachedKey {
    pub caller: Caller,
    pub last_used_at: i64,
}

/// The hashes of keys that were accepted, even if they were revoked since.
#[derive(Debug, Default)]
pub(super) struct AcceptedHashes(RwLock<HashSet<Hash>>);

impl AcceptedHashes {
    pub fn contains(&self, hash: &Hash) -> bool {
        locks::read(&self.0).contains(hash)
    }

    /// Beyond [`LIMIT`] none is added.
    pub fn insert(&self, hash: Hash) {
        let is_known = {
            let accepted = locks::read(&self.0);
            accepted.contains(&hash) || accepted.len() >= LIMIT
        };
        if !is_known {
            locks::write(&self.0).insert(hash);
        }
    }

    pub fn remove(&self, hash: &Hash) {
        if self.contains(hash) {
            locks::write(&self.0).remove(hash);
        }
    }
}

#[derive(Debug)]
pub(super) struct Cache {
    ttl: Duration,
    entries: RwLock<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// Counts the calls of [`Cache::clear`].
    generation: u64,
    keys: HashMap<Hash, (Instant, CachedKey)>,
}

impl Cache {
    pub fn new(ttl: Duration) -> Self {
        Self {
            ttl,
            entries: RwLock::default(),
        }
    }

    pub fn get(&self, hash: &Hash) -> Option<CachedKey> {
        let entries = locks::read(&self.entries);
        let (since, found) = entries.keys.get(hash)?;
        (since.elapsed() < self.ttl).then(|| found.clone())
    }

    /// Read it before the query, for [`Self::put`].
    pub fn generation(&self) -> u64 {
        let entries = locks::read(&self.entries);
        entries.generation
    }

    /// Caches the result of a query, unless the cache was cleared since `asked`: the key may have been revoked in
    /// between.
    pub fn put(&self, asked: u64, hash: Hash, found: CachedKey) {
        let mut entries = locks::write(&self.entries);
        if entries.generation != asked {
            return;
        }
        let keys = &mut entries.keys;
        if keys.len() >= LIMIT {
            keys.retain(|_, (since, _)| since.elapsed() < self.ttl);
        }
        if keys.len() < LIMIT {
            keys.insert(hash, (Instant::now(), found));
        }
    }

    /// Whether the last use is older than `every` microseconds; if so it is now.
    pub fn mark_used(&self, hash: &Hash, now: i64, every: i64) -> bool {
        let due = |found: &CachedKey| now - found.last_used_at >= every;
        let entries = locks::read(&self.entries);
        let known = entries.keys.get(hash);
        if !known.is_some_and(|(_, found)| due(found)) {
            return false;
        }
        drop(entries);
        let mut entries = locks::write(&self.entries);
        match entries.keys.get_mut(hash) {
            Some((_, found)) if due(found) => {
                found.last_used_at = now;
                true
            }
            _ => false,
        }
    }

    /// Clears the cache; the next request of each key queries the store.
    pub fn clear(&self) {
        let mut entries = locks::write(&self.entries);
        entries.generation += 1;
        entries.keys.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Role;

    #[test]
    fn result_of_a_query_before_clear_is_not_cached() {
        let cache = Cache::new(Duration::from_secs(60));
        let found = CachedKey {
            caller: Caller {
                workspace: "w".into(),
                key_id: "k".into(),
                role: Role::User,
                minds: None,
                expires_at: None,
                compat: None,
                hash: None,
                tally: None,
                request_id: None,
                attributes: Default::default(),
                policies: Default::default(),
            },
            last_used_at: 0,
        };
        let asked = cache.generation();
        cache.clear();
        cache.put(asked, [1; 32], found.clone());
        assert!(cache.get(&[1; 32]).is_none());
        cache.put(cache.generation(), [1; 32], found);
        assert!(cache.get(&[1; 32]).is_some());
    }
}
