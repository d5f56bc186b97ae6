//! Numbers that look random and are the same on every machine.

/// SplitMix64: small, and its sequence will never change under us as a library's might.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// From `low` to `high`, both included.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = high.abs_diff(low) + 1;
        low + i64::try_from(self.below(span)).unwrap_or(0)
    }

    /// True in so many of 100 cases.
    pub(super) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// From 0 to below `end`, small numbers more often: a few customers order much, a few products sell well.
    pub(super) fn skewed(&mut self, end: usize) -> usize {
        let end = end as u64;
        let (a, b) = (self.below(end), self.below(end));
        usize::try_from(a.min(b)).unwrap_or(0)
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        let index = self.below(items.len() as u64);
        items[usize::try_from(index).unwrap_or(0)]
    }

    /// One of `(item, weight)`.
    pub(super) fn weighted<'a>(&mut self, items: &[(&'a str, u64)]) -> &'a str {
        let mut left = self.below(items.iter().map(|(_, weight)| weight).sum());
        for (item, weight) in items {
            if left < *weight {
                return item;
            }
            left -= weight;
        }
        items[0].0
    }
}
