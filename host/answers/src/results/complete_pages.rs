//! Remembers which pages held the complete result when they were last read.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

/// Pages that are remembered. A new page replaces the one in its bucket.
const BUCKETS: usize = 4096;

/// A table of fixed size. It may be wrong: it only decides what to try first.
pub struct CompletePages {
    hasher: RandomState,
    buckets: Box<[AtomicU64]>,
}

/// Whether one page is likely to be the whole result, as it was when last read.
pub struct PageHint<'a> {
    bucket: &'a AtomicU64,
    hash: u64,
}

impl Default for CompletePages {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl CompletePages {
    /// The hint for the page that this statement reads from this datasource.
    pub fn page(&self, datasource: &str, statement: &str) -> PageHint<'_> {
        let hash = self.hasher.hash_one((datasource, statement));
        let index = hash as usize % self.buckets.len();
        PageHint {
            bucket: &self.buckets[index],
            hash,
        }
    }
}

impl PageHint<'_> {
    /// Whether the page held the complete result.
    pub fn is_complete(&self) -> bool {
        self.bucket.load(Ordering::Relaxed) == self.hash
    }

    /// Sets whether the page held the complete result.
    pub fn set_complete(&self, is_complete: bool) {
        if is_complete {
            self.bucket.store(self.hash, Ordering::Relaxed);
        } else if self.is_complete() {
            self.bucket.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_identified_by_statement_and_datasource() {
        let pages = CompletePages::default();
        assert!(!pages.page("shop", "SELECT 1").is_complete());
        pages.page("shop", "SELECT 1").set_complete(true);
        assert!(pages.page("shop", "SELECT 1").is_complete());
        assert!(!pages.page("shop", "SELECT 2").is_complete());
        assert!(!pages.page("crm", "SELECT 1").is_complete());
        pages.page("shop", "SELECT 1").set_complete(false);
        assert!(!pages.page("shop", "SELECT 1").is_complete());
    }
}
