//! Which pages held the whole result when they were last read.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

/// Pages that are remembered. One that falls on the place of another takes it.
const PLACES: usize = 4096;

/// A memory for pages that hold their whole result, of fixed size. It may be wrong: it says what to try first.
pub struct Whole {
    hasher: RandomState,
    places: Box<[AtomicU64]>,
}

/// What is remembered of one page.
pub struct Habit<'a> {
    place: &'a AtomicU64,
    hash: u64,
}

impl Default for Whole {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            places: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Whole {
    /// The page that this statement reads from that datasource.
    pub fn page(&self, datasource: &str, statement: &str) -> Habit<'_> {
        let hash = self.hasher.hash_one((datasource, statement));
        let index = hash as usize % self.places.len();
        Habit {
            place: &self.places[index],
            hash,
        }
    }
}

impl Habit<'_> {
    /// Whether the page held the whole result.
    pub fn is_whole(&self) -> bool {
        self.place.load(Ordering::Relaxed) == self.hash
    }

    /// Remembers whether it did.
    pub fn learn(&self, is_whole: bool) {
        if is_whole {
            self.place.store(self.hash, Ordering::Relaxed);
        } else if self.is_whole() {
            self.place.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_known_by_its_statement_and_datasource() {
        let whole = Whole::default();
        assert!(!whole.page("shop", "SELECT 1").is_whole());
        whole.page("shop", "SELECT 1").learn(true);
        assert!(whole.page("shop", "SELECT 1").is_whole());
        assert!(!whole.page("shop", "SELECT 2").is_whole());
        assert!(!whole.page("crm", "SELECT 1").is_whole());
        whole.page("shop", "SELECT 1").learn(false);
        assert!(!whole.page("shop", "SELECT 1").is_whole());
    }
}
