//! A read cache that any change invalidates.
//!
//! Every request needs its Mind, that Mind's datasources and their tables, which rarely change. The next read sees a
//! change through this host. A read within [`MAX_AGE`] may miss a change by another host of the same store, or one that
//! the database finishes after its caller is gone.

use std::{
    collections::HashMap,
    sync::{
        Arc, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::Store;
use mindhost_base::{error::Result, locks};

/// Lifetime of an entry.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Entries of a cache. One may be a catalog of thousands of tables.
const MAX_ENTRIES: usize = 256;

/// Counts the changes that this host makes to cacheable rows.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangeCounter(Arc<AtomicU64>);

impl ChangeCounter {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Begins a change.
    pub fn begin(&self) -> ChangeGuard {
        ChangeGuard(self.clone())
    }
}

/// A running change. Its drop invalidates all entries that were read before.
#[derive(Debug)]
pub(super) struct ChangeGuard(ChangeCounter);

impl Drop for ChangeGuard {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// A cache of values of one type, by key.
#[derive(Debug)]
pub struct ReadCache<V> {
    changes: ChangeCounter,
    entries: RwLock<HashMap<String, Entry<V>>>,
}

#[derive(Debug)]
struct Entry<V> {
    /// The change counter before the read.
    changes: u64,
    since: Instant,
    value: V,
}

impl<V: Clone> ReadCache<V> {
    /// An empty cache for a store.
    pub fn new(store: &Store) -> Self {
        Self {
            changes: store.changes.clone(),
            entries: RwLock::default(),
        }
    }

    /// The value of a key, unless something changed since it was read.
    pub fn get(&self, key: &str) -> Option<V> {
        let entries = locks::read(&self.entries);
        let entry = entries.get(key)?;
        self.is_fresh(entry).then(|| entry.value.clone())
    }

    /// Awaits `read` and caches the value.
    ///
    /// # Errors
    /// Those of `read`.
    pub async fn read(&self, key: &str, read: impl Future<Output = Result<V>>) -> Result<V> {
        // Taken before the read: a change during the read must invalidate the entry.
        let (changes, since) = (self.changes.count(), Instant::now());
        let value = read.await?;
        let entry = Entry {
            changes,
            since,
            value: value.clone(),
        };
        if self.is_fresh(&entry) {
            let mut entries = locks::write(&self.entries);
            entries.retain(|_, entry| self.is_fresh(entry));
            if entries.len() < MAX_ENTRIES {
                entries.insert(key.to_owned(), entry);
            }
        }
        Ok(value)
    }

    fn is_fresh(&self, entry: &Entry<V>) -> bool {
        entry.changes == self.changes.count() && entry.since.elapsed() < MAX_AGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::temporary;
    use mindhost_base::error::Error;

    async fn read(cache: &ReadCache<u32>, value: u32) -> u32 {
        if let Some(value) = cache.get("key") {
            return value;
        }
        cache.read("key", async { Ok(value) }).await.unwrap()
    }

    #[tokio::test]
    async fn value_is_cached_until_a_change_ends() {
        let (_dir, store, _) = temporary().await;
        let cache = ReadCache::new(&store);
        assert_eq!(read(&cache, 1).await, 1);
        assert_eq!(read(&cache, 2).await, 1);

        let tx = store.begin().await.unwrap();
        assert_eq!(read(&cache, 3).await, 1);
        drop(tx);
        assert_eq!(read(&cache, 4).await, 4);

        store.begin().await.unwrap().commit().await.unwrap();
        assert_eq!(read(&cache, 5).await, 5);

        store
            .change(sqlx::query("DELETE FROM minds"))
            .await
            .unwrap();
        assert_eq!(read(&cache, 6).await, 6);

        store.begin_records().await.unwrap().commit().await.unwrap();
        assert_eq!(read(&cache, 7).await, 6);
    }

    #[tokio::test]
    async fn value_read_during_a_change_is_not_cached() {
        let (_dir, store, _) = temporary().await;
        let cache = ReadCache::new(&store);
        let changed = async {
            store.change(sqlx::query("DELETE FROM minds")).await?;
            Ok(1)
        };
        assert_eq!(cache.read("key", changed).await.unwrap(), 1);
        assert_eq!(cache.get("key"), None);
        let failed = async { Err(Error::internal("no")) };
        assert!(cache.read("key", failed).await.is_err());
        assert_eq!(cache.get("key"), None);
    }
}
