//! The most common values of a column.

use std::cmp::Ordering;

use super::cell::{Cell, beginning};
use crate::statistics::MAX_COMMON;

/// The values that occur most often so far, with their texts. Only a value that is seen can rise among them, and then
/// its text is at hand: so texts of no other values are needed.
#[derive(Default)]
pub struct Common {
    values: Vec<CommonValue>,
}

struct CommonValue {
    hash: u64,
    count: u32,
    text: Box<str>,
}

impl CommonValue {
    /// The most common first, then by text.
    fn compare(&self, other: &Self) -> Ordering {
        let by_count = other.count.cmp(&self.count);
        by_count.then_with(|| self.text.cmp(&other.text))
    }
}

impl Common {
    /// Adds that a value was seen, `count` times by now. Values that are never shown are not kept.
    pub fn add(&mut self, hash: u64, count: u32, cell: Cell<'_>) {
        if let Some(known) = self.values.iter_mut().find(|value| value.hash == hash) {
            known.count = count;
            return;
        }
        let is_full = self.values.len() >= MAX_COMMON;
        if is_full && self.values.iter().all(|value| count < value.count) {
            return;
        }
        let Some(text) = cell.text() else { return };
        let text = beginning(&text).into();
        let new = CommonValue { hash, count, text };
        let last = self.values.iter_mut().max_by(|a, b| a.compare(b));
        match last {
            Some(last) if is_full => {
                if new.compare(last).is_lt() {
                    *last = new;
                }
            }
            _ => self.values.push(new),
        }
    }

    /// Lowers all counts. Values without a count are forgotten.
    pub fn lower(&mut self, by: u32) {
        self.values.retain_mut(|value| {
            value.count = value.count.saturating_sub(by);
            value.count > 0
        });
    }

    /// The values that occur at least so often, most common first, with their counts.
    pub fn into_values(mut self, least: u32) -> impl Iterator<Item = (Box<str>, u32)> {
        self.values.sort_unstable_by(CommonValue::compare);
        let values = self.values.into_iter();
        values
            .filter(move |value| value.count >= least)
            .map(|value| (value.text, value.count))
    }
}
