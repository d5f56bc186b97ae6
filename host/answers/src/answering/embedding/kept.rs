//! The vectors that a host keeps, and how long a vendor is left alone.
//!
//! Vectors cost a vendor's tokens, so none is dropped for another one while it is used: where there is no room, a
//! catalog goes without, and is tried again an hour later. What no question needed for an hour makes room.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::time::Instant;

/// Bytes of the vectors of one embedder, so that no workspace takes all of them, and of all.
const MAX_OWN: usize = 32 << 20;
const MAX_ALL: usize = 128 << 20;
/// What a vector takes besides its numbers.
const OVERHEAD: usize = 160;
/// How long vectors are kept that no question needs.
const UNUSED: Duration = Duration::from_secs(3_600);
/// How long a vendor that failed is not asked again: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
pub const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);

/// SHA-256.
pub type Hash = [u8; 32];

/// The numbers of a vector.
pub type Numbers = Arc<[f32]>;

/// The vectors of all embedders.
#[derive(Default)]
pub struct Kept(HashMap<Hash, Embedded>);

/// Those of one.
#[derive(Default)]
struct Embedded {
    vectors: HashMap<Hash, Vector>,
    is_at_work: bool,
    /// In a row.
    failures: u32,
    paused_until: Option<Instant>,
}

struct Vector {
    numbers: Numbers,
    used: Instant,
}

impl Vector {
    fn bytes(&self) -> usize {
        OVERHEAD + size_of_val::<[f32]>(&self.numbers)
    }
}

impl Embedded {
    fn bytes(&self) -> usize {
        self.vectors.values().map(Vector::bytes).sum()
    }

    fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|end| end > now)
    }
}

impl Kept {
    /// Whether an embedder is not to be asked: it is at work for tables, or paused.
    pub fn is_waiting(&self, embedder: &Hash, now: Instant) -> bool {
        let found = self.0.get(embedder);
        found.is_some_and(|found| found.is_at_work || found.is_paused(now))
    }

    /// Whether an embedder has the vector of a text.
    pub fn has(&self, embedder: &Hash, text: &Hash) -> bool {
        let found = self.0.get(embedder);
        found.is_some_and(|found| found.vectors.contains_key(text))
    }

    /// The vectors of all these texts, in order; `None` if one is missing. Those that there are count as used.
    pub fn vectors<'a>(
        &mut self,
        embedder: &Hash,
        texts: impl Iterator<Item = &'a Hash>,
        now: Instant,
    ) -> Option<Vec<Numbers>> {
        let found = self.0.get_mut(embedder)?;
        let vectors: Vec<Option<Numbers>> = texts
            .map(|text| {
                let vector = found.vectors.get_mut(text)?;
                vector.used = now;
                Some(Arc::clone(&vector.numbers))
            })
            .collect();
        vectors.into_iter().collect()
    }

    /// Marks an embedder as at work; false if it is already, or paused.
    pub fn begin(&mut self, embedder: Hash, now: Instant) -> bool {
        for embedded in self.0.values_mut() {
            let is_used = |vector: &Vector| now.saturating_duration_since(vector.used) < UNUSED;
            embedded.vectors.retain(|_, vector| is_used(vector));
        }
        let is_needed = |one: &Embedded| !one.vectors.is_empty() || one.is_at_work;
        self.0.retain(|_, one| is_needed(one) || one.is_paused(now));
        let embedded = self.0.entry(embedder).or_default();
        let may_begin = !embedded.is_at_work && !embedded.is_paused(now);
        embedded.is_at_work |= may_begin;
        may_begin
    }

    /// Keeps vectors, if there is room for them and for as many more of their size. If not, the embedder pauses.
    pub fn keep(
        &mut self,
        embedder: Hash,
        vectors: impl Iterator<Item = (Hash, Vec<f32>)>,
        more: usize,
        now: Instant,
    ) -> bool {
        let vectors: Vec<(Hash, Vector)> = vectors
            .map(|(text, numbers)| {
                let numbers = Arc::from(numbers);
                (text, Vector { numbers, used: now })
            })
            .collect();
        let largest = vectors.iter().map(|(_, vector)| vector.bytes()).max();
        let needed = (vectors.len() + more) * largest.unwrap_or_default();
        let all: usize = self.0.values().map(Embedded::bytes).sum();
        let embedded = self.0.entry(embedder).or_default();
        if embedded.bytes() + needed > MAX_OWN || all + needed > MAX_ALL {
            embedded.paused_until = Some(now + LONGEST_PAUSE);
            return false;
        }
        embedded.vectors.extend(vectors);
        true
    }

    /// Forgets the vectors of an embedder.
    pub fn forget(&mut self, embedder: &Hash) {
        if let Some(embedded) = self.0.get_mut(embedder) {
            embedded.vectors.clear();
        }
    }

    /// Pauses an embedder, twice as long after each failure in a row. Returns how long.
    pub fn fail(&mut self, embedder: Hash, now: Instant) -> Duration {
        let embedded = self.0.entry(embedder).or_default();
        let factor = 1_u32.checked_shl(embedded.failures.min(16)).unwrap_or(1);
        let pause = FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE);
        embedded.failures += 1;
        embedded.paused_until = Some(now + pause);
        pause
    }

    /// Ends a row of failures.
    pub fn succeed(&mut self, embedder: &Hash) {
        if let Some(embedded) = self.0.get_mut(embedder) {
            embedded.failures = 0;
        }
    }

    /// Marks an embedder as no longer at work.
    pub fn end(&mut self, embedder: &Hash) {
        if let Some(embedded) = self.0.get_mut(embedder) {
            embedded.is_at_work = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Hash = [1; 32];
    const OTHER: Hash = [2; 32];

    fn text(number: u16) -> Hash {
        let mut hash = [0; 32];
        hash[..2].copy_from_slice(&number.to_be_bytes());
        hash
    }

    /// Vectors of a megabyte.
    fn large(numbers: std::ops::Range<u16>) -> impl Iterator<Item = (Hash, Vec<f32>)> {
        numbers.map(|number| (text(number), vec![1.0; 1 << 18]))
    }

    #[test]
    fn catalog_without_room_is_tried_again_an_hour_later() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        assert!(kept.begin(ONE, now));
        assert!(kept.keep(ONE, large(0..20), 0, now));
        // Not one of them is kept, so that the vendor is not asked for the others.
        assert!(!kept.keep(ONE, large(20..21), 11, now));
        kept.end(&ONE);
        assert!(!kept.has(&ONE, &text(20)) && kept.has(&ONE, &text(19)));
        assert!(kept.is_waiting(&ONE, now + UNUSED / 2) && !kept.begin(ONE, now + UNUSED / 2));
        // What was not used since then has made room.
        let later = now + UNUSED;
        assert!(kept.begin(ONE, later) && !kept.has(&ONE, &text(19)));
        assert!(kept.keep(ONE, large(20..21), 11, later));
    }

    #[test]
    fn nothing_that_is_used_makes_room_for_another_embedder() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        for embedder in 10..14 {
            assert!(kept.keep([embedder; 32], large(0..30), 0, now));
        }
        assert!(!kept.keep(OTHER, large(0..10), 0, now));
        let used = [text(3)];
        let later = now + UNUSED;
        assert!(kept.vectors(&[10; 32], used.iter(), later).is_some());
        assert!(kept.begin(OTHER, later));
        assert!(kept.has(&[10; 32], &text(3)) && !kept.has(&[10; 32], &text(4)));
        assert!(kept.keep(OTHER, large(0..10), 0, later));
    }

    #[test]
    fn vendor_that_goes_on_failing_is_asked_less_and_less() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        let minutes = (0..8).map(|_| kept.fail(ONE, now).as_secs() / 60);
        assert_eq!(minutes.collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32, 60, 60]);
        kept.succeed(&ONE);
        assert_eq!(kept.fail(ONE, now), FIRST_PAUSE);
    }
}
