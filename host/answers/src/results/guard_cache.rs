//! A cache of statements that the guard accepted.
//!
//! The result of the guard depends only on the text of the statement and on the access of its Mind. The access is
//! loaded again after every change, so an entry is valid for one access. Refusals are not cached.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, Weak},
};

use tokio::sync::Semaphore;

use super::Access;
use mindhost_base::{
    error::{Error, Result},
    locks,
};
use mindhost_sql::guard::{GuardedStatement, guard};

/// Entries in the cache. A new entry replaces the one in its bucket.
const BUCKETS: usize = 512;
/// Longer statements are not cached.
const MAX_CACHED_BYTES: usize = 4 << 10;
/// Longer statements are guarded on a blocking thread.
const LONG_BYTES: usize = 16 << 10;

/// A cache of fixed size.
#[derive(Debug)]
pub struct GuardCache {
    hasher: RandomState,
    buckets: Box<[Mutex<Option<Entry>>]>,
    /// Permits to guard long statements: one per processor.
    long_permits: Arc<Semaphore>,
}

#[derive(Debug)]
struct Entry {
    /// While this exists, no other access can have its address.
    access: Weak<Access>,
    sql: Box<str>,
    guarded: Arc<GuardedStatement>,
}

impl Default for GuardCache {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            buckets: (0..BUCKETS).map(|_| Mutex::default()).collect(),
            long_permits: Arc::new(Semaphore::new(
                std::thread::available_parallelism().map_or(1, usize::from),
            )),
        }
    }
}

impl GuardCache {
    /// The result of [`guard`]. A long statement whose caller has gone is not guarded.
    ///
    /// # Errors
    /// Those of the guard.
    pub async fn guarded(&self, access: &Arc<Access>, sql: &str) -> Result<Arc<GuardedStatement>> {
        if sql.len() > LONG_BYTES {
            return self.guard_long(Arc::clone(access), sql.to_owned()).await;
        }
        self.guard_short(access, sql)
    }

    async fn guard_long(&self, access: Arc<Access>, sql: String) -> Result<Arc<GuardedStatement>> {
        let permit = Arc::clone(&self.long_permits).acquire_owned().await;
        let permit = permit.map_err(Error::internal)?;
        let guarded = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            guard(&sql, &access.scope)
        });
        guarded.await.map_err(Error::internal)?.map(Arc::new)
    }

    fn guard_short(&self, access: &Arc<Access>, sql: &str) -> Result<Arc<GuardedStatement>> {
        if sql.len() > MAX_CACHED_BYTES {
            return guard(sql, &access.scope).map(Arc::new);
        }
        let of = Arc::downgrade(access);
        let hash = self.hasher.hash_one((of.as_ptr(), sql));
        let bucket = &self.buckets[hash as usize % self.buckets.len()];
        if let Some(entry) = &*locks::lock(bucket)
            && entry.access.ptr_eq(&of)
            && *entry.sql == *sql
        {
            return Ok(Arc::clone(&entry.guarded));
        }
        let guarded = Arc::new(guard(sql, &access.scope)?);
        *locks::lock(bucket) = Some(Entry {
            access: of,
            sql: sql.into(),
            guarded: Arc::clone(&guarded),
        });
        Ok(guarded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_base::error::Code;
    use mindhost_plugin_api::{Dialect, TableRef};
    use mindhost_sql::guard::{ScopeDatasource, ScopeTable};

    fn access(tables: &[&str]) -> Arc<Access> {
        let table = |name: &&str| ScopeTable::new(TableRef::new("public", *name), &["id"]);
        let tables = tables.iter().map(table).collect();
        Arc::new(Access::of(
            ScopeDatasource::new("shop", Dialect::Postgresql, tables).into(),
        ))
    }

    const ITEMS: &str = "SELECT id FROM item";

    #[tokio::test]
    async fn accepted_statement_is_cached() {
        let (cache, access) = (GuardCache::default(), access(&["item"]));
        let first = cache.guarded(&access, ITEMS).await.unwrap();
        let again = cache.guarded(&access, ITEMS).await.unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        let other = cache.guarded(&access, "SELECT id FROM item WHERE id = 1");
        assert_ne!(first.text(), other.await.unwrap().text());
    }

    #[tokio::test]
    async fn entry_of_one_access_is_not_used_for_another() {
        let cache = GuardCache::default();
        let mut seeing = access(&["item"]);
        for _ in 0..100 {
            assert!(cache.guarded(&seeing, ITEMS).await.is_ok());
            // The next access may get the same address.
            drop(seeing);
            let blind = access(&["order"]);
            let refused = cache.guarded(&blind, ITEMS).await.unwrap_err();
            assert_eq!(refused.code(), Code::SqlTableNotAllowed);
            drop(blind);
            seeing = access(&["item"]);
        }
    }

    #[tokio::test]
    async fn guard_long_statements_are_not_cached() {
        let (cache, access) = (GuardCache::default(), access(&["item"]));
        for length in [MAX_CACHED_BYTES, LONG_BYTES] {
            let sql = format!("{ITEMS} WHERE id IN (1{})", ", 1".repeat(length / 3));
            assert!(cache.guarded(&access, &sql).await.is_ok());
        }
        assert!(
            cache
                .buckets
                .iter()
                .all(|bucket| locks::lock(bucket).is_none())
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn guard_long_statement_does_not_block_the_thread() {
        let (cache, access) = (GuardCache::default(), access(&["item"]));
        let sql = format!("{ITEMS} WHERE id IN (1{})", ", 1".repeat(LONG_BYTES / 3));
        let mut guarding = std::pin::pin!(cache.guarded(&access, &sql));
        // On this thread it would be ready at the first poll.
        assert!(futures_util::poll!(&mut guarding).is_pending());
        assert!(guarding.await.is_ok());
    }
}
