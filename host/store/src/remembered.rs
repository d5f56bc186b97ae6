//! What was read from the store, remembered until something in it changes.
//!
//! Every request needs its Mind, that Mind's datasources and their tables, which rarely change. A change made through
//! this host is seen by the next read. One that another host of the same store made is seen within [`KEPT`], and so is one
//! whose maker left before the database had finished it.

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

/// How long something is remembered at most.
const KEPT: Duration = Duration::from_secs(1);

/// Things that are remembered at the same time; one may be a catalog of thousands of tables.
const LIMIT: usize = 256;

/// Counts the changes that this host made to what is remembered.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(Arc<AtomicU64>);

impl Changes {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// A change under way.
    pub fn begin(&self) -> Changing {
        Changing(self.clone())
    }
}

/// A change under way. When it ends, in whatever way, nothing that was read before is remembered any more.
#[derive(Debug)]
pub(super) struct Changing(Changes);

impl Drop for Changing {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// Things of one kind, by key.
#[derive(Debug)]
pub struct Remembered<V> {
    changes: Changes,
    entries: RwLock<HashMap<String, Entry<V>>>,
}

#[derive(Debug)]
struct Entry<V> {
    /// The changes that had been made before it was read.
    changes: u64,
    since: Instant,
    value: V,
}

impl<V: Clone> Remembered<V> {
    /// None yet, of this store.
    pub fn new(store: &Store) -> Self {
        Self {
            changes: store.changes.clone(),
            entries: RwLock::default(),
        }
    }

    /// What was read under this key, unless something changed since.
    pub fn get(&self, key: &str) -> Option<V> {
        let entries = locks::read(&self.entries);
        let entry = entries.get(key)?;
        self.is_fresh(entry).then(|| entry.value.clone())
    }

    /// Reads it and remembers it.
    ///
    /// # Errors
    /// Those of `read`.
    pub async fn read(&self, key: &str, read: impl Future<Output = Result<V>>) -> Result<V> {
        // Taken before reading: what changes meanwhile makes the entry worthless.
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
            if entries.len() < LIMIT {
                entries.insert(key.to_owned(), entry);
            }
        }
        Ok(value)
    }

    fn is_fresh(&self, entry: &Entry<V>) -> bool {
        entry.changes == self.changes.count() && entry.since.elapsed() < KEPT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::temporary;
    use mindhost_base::error::Error;

    async fn read(remembered: &Remembered<u32>, value: u32) -> u32 {
        if let Some(value) = remembered.get("key") {
            return value;
        }
        remembered.read("key", async { Ok(value) }).await.unwrap()
    }

    #[tokio::test]
    async fn what_was_read_is_remembered_until_a_change_ends() {
        let (_dir, store, _) = temporary().await;
        let remembered = Remembered::new(&store);
        assert_eq!(read(&remembered, 1).await, 1);
        assert_eq!(read(&remembered, 2).await, 1);

        let tx = store.begin().await.unwrap();
        assert_eq!(read(&remembered, 3).await, 1);
        drop(tx);
        assert_eq!(read(&remembered, 4).await, 4);

        store.begin().await.unwrap().commit().await.unwrap();
        assert_eq!(read(&remembered, 5).await, 5);

        store
            .change(sqlx::query("DELETE FROM minds"))
            .await
            .unwrap();
        assert_eq!(read(&remembered, 6).await, 6);

        store.begin_records().await.unwrap().commit().await.unwrap();
        assert_eq!(read(&remembered, 7).await, 6);
    }

    #[tokio::test]
    async fn what_was_read_while_something_changed_is_not_remembered() {
        let (_dir, store, _) = temporary().await;
        let remembered = Remembered::new(&store);
        let meanwhile = async {
            store.change(sqlx::query("DELETE FROM minds")).await?;
            Ok(1)
        };
        assert_eq!(remembered.read("key", meanwhile).await.unwrap(), 1);
        assert_eq!(remembered.get("key"), None);
        let failed = async { Err(Error::internal("no")) };
        assert!(remembered.read("key", failed).await.is_err());
        assert_eq!(remembered.get("key"), None);
    }
}
