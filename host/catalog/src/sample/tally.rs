//! Counts the values of one column in bounded memory.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
};

use super::{
    cell::{Cell, OwnedCell},
    common::Common,
};
use crate::statistics::Statistics;

/// Average length from which text is prose, which has no common values.
const PROSE: usize = 200;
/// Rows from which a value that occurs once is not common.
const SMALL_SAMPLE: u64 = 50;

/// Counts of the values of a column.
pub struct Tally {
    hasher: RandomState,
    rows: u64,
    nulls: u64,
    /// Counts by 64-bit hash; collisions are too rare to matter.
    counts: HashMap<u64, u32>,
    max_counts: usize,
    common: Common,
    text_bytes: u64,
    /// Set if there are more distinct values than the memory allows.
    overflow: Option<Overflow>,
    min: Option<OwnedCell>,
    max: Option<OwnedCell>,
    /// Whether values may be shown: not for bytes and JSON.
    shown: bool,
    /// Whether the range is known: not if a value has no known place in the order of its type.
    has_range: bool,
    /// Whether the type has the order of its texts.
    orders_texts: bool,
    /// Whether rows tell only if the value is NULL.
    only_nulls: bool,
}

/// The counts when the memory for distinct values ran out.
struct Overflow {
    values: u64,
    distinct: u64,
    singles: u64,
}

impl Tally {
    /// Counts at most `max_counts` distinct values.
    pub fn new(max_counts: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            rows: 0,
            nulls: 0,
            counts: HashMap::new(),
            max_counts: max_counts.max(1),
            common: Common::default(),
            text_bytes: 0,
            overflow: None,
            min: None,
            max: None,
            shown: true,
            has_range: true,
            orders_texts: true,
            only_nulls: false,
        }
    }

    /// Counts only NULLs: of a column whose values are not read.
    pub fn of_nulls() -> Self {
        Self {
            shown: false,
            only_nulls: true,
            ..Self::new(0)
        }
    }

    /// Tells no range if there are texts: the engine orders them in another way.
    pub fn without_order_of_texts(self) -> Self {
        Self {
            orders_texts: false,
            ..self
        }
    }

    /// Adds a row; `None` is NULL.
    pub fn add(&mut self, cell: Option<Cell<'_>>) {
        self.rows += 1;
        let Some(cell) = cell else {
            self.nulls += 1;
            return;
        };
        if self.only_nulls {
            return;
        }
        self.count(cell);
        self.text_bytes += cell.size() as u64;
        match cell {
            Cell::Bytes(_) | Cell::Json(_) => self.shown = false,
            Cell::Beyond(_, None) => self.has_range = false,
            Cell::Text(_) if !self.orders_texts => self.has_range = false,
            _ => self.widen(cell),
        }
    }

    fn count(&mut self, cell: Cell<'_>) {
        let hash = self.hasher.hash_one(cell);
        if self.counts.len() >= self.max_counts && !self.counts.contains_key(&hash) {
            self.overflow.get_or_insert_with(|| Overflow {
                values: self.rows - self.nulls - 1,
                distinct: self.counts.len() as u64,
                singles: singles(&self.counts),
            });
            self.make_room();
        }
        let count = self.counts.entry(hash).or_default();
        *count = count.saturating_add(1);
        // In a large sample, a value that occurs once is not common.
        if *count > 1 || self.rows - self.nulls <= SMALL_SAMPLE {
            self.common.add(hash, *count, cell);
        }
    }

    /// Lowers all counts by their median, and forgets the values without a count, which are half of them at least. Later,
    /// each count is too low by at most 2 / `max_counts` of all values (Misra and Gries).
    fn make_room(&mut self) {
        let mut all: Vec<u32> = self.counts.values().copied().collect();
        let middle = all.len() / 2;
        let median = *all.select_nth_unstable(middle).1;
        self.counts.retain(|_, count| {
            *count = count.saturating_sub(median);
            *count > 0
        });
        self.common.lower(median);
    }

    fn widen(&mut self, cell: Cell<'_>) {
        if self
            .min
            .as_ref()
            .is_none_or(|min| cell.compare(min.cell()).is_lt())
        {
            self.min = cell.into_owned();
        }
        if self
            .max
            .as_ref()
            .is_none_or(|max| cell.compare(max.cell()).is_gt())
        {
            self.max = cell.into_owned();
        }
    }

    /// The statistics. `total_rows` is the engine's estimate, used if `whole` is false.
    pub fn finish(self, whole: bool, total_rows: Option<u64>) -> Statistics {
        // The number of distinct values is not known then, which is 0 and estimated.
        let is_unknown = self.only_nulls && self.nulls < self.rows;
        let exact = whole && self.overflow.is_none() && !is_unknown;
        let mut statistics = Statistics {
            null_percentage: share(self.nulls, self.rows) * 100.0,
            distinct_values_count: self.distinct(whole, total_rows),
            estimated: !exact,
            sampled_rows: Some(self.rows),
            ..Statistics::default()
        };
        if self.shown {
            let text = |cell: &Option<OwnedCell>| {
                cell.as_ref()
                    .and_then(|cell| cell.cell().text().map(String::from))
                    .unwrap_or_default()
            };
            if self.has_range {
                statistics.set_range(&text(&self.min), &text(&self.max));
            }
            let common = self.into_common();
            statistics.set_common(common.iter().map(|(text, share)| (&**text, *share)));
        }
        statistics
    }

    /// The most common values with their shares of all rows.
    fn into_common(self) -> Vec<(Box<str>, f64)> {
        let values = self.rows - self.nulls;
        if values == 0 || self.text_bytes / values > PROSE as u64 {
            return Vec::new();
        }
        let least = if values > SMALL_SAMPLE { 2 } else { 1 };
        let rows = self.rows;
        let common = self.common.into_values(least);
        common
            .map(|(text, count)| (text, share(u64::from(count), rows)))
            .collect()
    }

    fn distinct(&self, whole: bool, total_rows: Option<u64>) -> u64 {
        let values = self.rows - self.nulls;
        let here = Overflow {
            values,
            distinct: self.counts.len() as u64,
            singles: 0,
        };
        if whole {
            return match &self.overflow {
                None => here.distinct,
                Some(seen) => estimate(seen, values),
            };
        }
        // Assumes the same share of NULL in the other rows.
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an estimate"
        )]
        let all = total_rows.map_or(values, |rows| {
            (rows as f64 * (1.0 - share(self.nulls, self.rows))).round() as u64
        });
        let seen = self.overflow.as_ref();
        let here = Overflow {
            singles: singles(&self.counts),
            ..here
        };
        estimate(seen.unwrap_or(&here), all.max(values))
    }
}

fn singles(counts: &HashMap<u64, u32>) -> u64 {
    counts.values().filter(|count| **count == 1).count() as u64
}

/// The estimator Duj1 of Haas and Stokes, which extrapolates from the values that occur once.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate"
)]
fn estimate(seen: &Overflow, all: u64) -> u64 {
    if seen.values == 0 || all <= seen.values {
        return seen.distinct;
    }
    let (n, d, f1) = (
        seen.values as f64,
        seen.distinct as f64,
        seen.singles as f64,
    );
    let all_values = all as f64;
    let estimated = n * d / (n - f1 + f1 * n / all_values);
    (estimated.round() as u64).clamp(seen.distinct, all)
}

#[allow(clippy::cast_precision_loss, reason = "a share")]
fn share(part: u64, all: u64) -> f64 {
    if all == 0 {
        0.0
    } else {
        part as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::place;
    use super::*;

    fn tally(cells: &[Option<Cell<'_>>]) -> Tally {
        let mut tally = Tally::new(1_000);
        cells.iter().for_each(|cell| tally.add(*cell));
        tally
    }

    fn texts(texts: &[&'static str]) -> Vec<Option<Cell<'static>>> {
        texts.iter().map(|text| Some(Cell::Text(text))).collect()
    }

    #[test]
    fn whole_column_has_exact_statistics() {
        let mut cells = texts(&["b", "a", "b", "c"]);
        cells.push(None);
        let statistics = tally(&cells).finish(true, None);
        assert_eq!(
            statistics.most_common_values,
            Some(vec!["b".into(), "a".into(), "c".into()])
        );
        assert_eq!(
            statistics.most_common_frequencies,
            Some(vec![0.4, 0.2, 0.2])
        );
        assert_eq!(statistics.null_percentage, 20.0);
        assert_eq!(statistics.distinct_values_count, 3);
        assert_eq!(
            (statistics.min_value.as_str(), statistics.max_value.as_str()),
            ("a", "c")
        );
        assert_eq!(
            (statistics.estimated, statistics.sampled_rows),
            (false, Some(5))
        );
    }

    #[test]
    fn texts_of_another_order_have_no_range() {
        let count = |cells: &[Option<Cell<'_>>]| {
            let mut tally = Tally::new(1_000).without_order_of_texts();
            cells.iter().for_each(|cell| tally.add(*cell));
            tally.finish(true, None)
        };
        let money = count(&texts(&["$10", "$9", "$10"]));
        assert_eq!(
            (money.min_value, money.max_value),
            (String::new(), String::new())
        );
        assert_eq!((money.distinct_values_count, money.estimated), (2, false));
        assert_eq!(
            money.most_common_values,
            Some(vec!["$10".into(), "$9".into()])
        );
        let numbers = count(&[10, 9].map(|n| Some(Cell::Integer(n))));
        assert_eq!(
            (numbers.min_value.as_str(), numbers.max_value.as_str()),
            ("9", "10")
        );
    }

    #[test]
    fn common_values_may_come_late() {
        let mut tally = Tally::new(100_000);
        (0..2_500).for_each(|n| tally.add(Some(Cell::Integer(n))));
        (0..7_500).for_each(|n| tally.add(Some(Cell::Integer(5_000 + n % 3 / 2))));
        let statistics = tally.finish(true, None);
        assert_eq!(
            statistics.most_common_values,
            Some(vec!["5000".into(), "5001".into()])
        );
        assert_eq!(statistics.most_common_frequencies, Some(vec![0.5, 0.25]));
        assert!(!statistics.estimated);
    }

    #[test]
    fn common_values_are_those_of_a_full_count() {
        // Each of the squares occurs another number of times, in an order that mixes them.
        let cells = |n: u64| (n * 7_919 % 20_011) * (n * 7_919 % 20_011) / 100_003;
        let mut counts = HashMap::new();
        let mut tally = Tally::new(100_000);
        for value in (0..20_011).map(cells) {
            *counts.entry(value).or_insert(0) += 1;
            tally.add(Some(Cell::Integer(value.into())));
        }
        let mut expected: Vec<_> = counts.iter().collect();
        expected.sort_by_key(|(value, count)| (std::cmp::Reverse(**count), value.to_string()));
        let expected: Vec<_> = (expected.iter().take(10))
            .map(|(value, _)| value.to_string())
            .collect();
        let statistics = tally.finish(true, None);
        assert_eq!(statistics.most_common_values, Some(expected));
        assert_eq!(statistics.distinct_values_count, counts.len() as u64);
    }

    #[test]
    fn at_most_ten_values_are_common_and_none_that_occurs_once_in_a_large_column() {
        let cells: Vec<_> = (0..200).map(|n| Some(Cell::Integer(n % 30))).collect();
        let common = tally(&cells).finish(true, None).most_common_values.unwrap();
        assert_eq!(common.len(), 10);
        let cells: Vec<_> = (0..200).map(|n| Some(Cell::Integer(n))).collect();
        assert_eq!(tally(&cells).finish(true, None).most_common_values, None);
    }

    #[test]
    fn column_without_values_has_no_range() {
        let statistics = tally(&[None, None]).finish(true, None);
        assert_eq!(statistics.null_percentage, 100.0);
        assert_eq!(
            (statistics.min_value.as_str(), statistics.max_value.as_str()),
            ("", "")
        );
        assert_eq!(statistics.most_common_values, None);
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        let cells = [9, 10, -5].map(|n| Some(Cell::Integer(n)));
        let statistics = tally(&cells).finish(true, None);
        assert_eq!(
            (statistics.min_value.as_str(), statistics.max_value.as_str()),
            ("-5", "10")
        );
    }

    #[test]
    fn bytes_and_json_are_counted_and_never_shown() {
        let cells = [
            Some(Cell::Bytes(b"x")),
            Some(Cell::Bytes(b"y")),
            Some(Cell::Json("{}")),
        ];
        let statistics = tally(&cells).finish(true, None);
        assert_eq!(statistics.distinct_values_count, 3);
        assert_eq!(statistics.most_common_values, None);
        assert_eq!(statistics.max_value, "");
    }

    #[test]
    fn of_values_that_are_not_read_only_nulls_are_counted() {
        let count = |cells: &[Option<Cell<'_>>]| {
            let mut tally = Tally::of_nulls();
            cells.iter().for_each(|cell| tally.add(*cell));
            tally.finish(true, None)
        };
        let statistics = count(&[Some(Cell::Integer(1)), None]);
        assert_eq!(statistics.null_percentage, 50.0);
        assert_eq!(statistics.distinct_values_count, 0);
        assert!(statistics.estimated);
        assert_eq!(statistics.most_common_values, None);
        assert_eq!(statistics.max_value, "");
        let nothing = count(&[None, None]);
        assert_eq!(
            (nothing.distinct_values_count, nothing.estimated),
            (0, false)
        );
    }

    #[test]
    fn values_beyond_their_type_are_in_the_range() {
        let cells = [
            Some(Cell::Date(19_782)),
            Some(Cell::Beyond("-infinity", place("-infinity"))),
            Some(Cell::Beyond("2024-02-00", place("2024-02-00"))),
        ];
        let range = |cells: &[Option<Cell<'_>>]| {
            let statistics = tally(cells).finish(true, None);
            (statistics.min_value, statistics.max_value)
        };
        let expected = ("-infinity".to_owned(), "2024-02-29".to_owned());
        assert_eq!(range(&cells), expected);
        let unplaced = [cells[0], Some(Cell::Beyond("soon", None))];
        assert_eq!(range(&unplaced), (String::new(), String::new()));
    }

    #[test]
    fn prose_has_no_common_values_but_a_range() {
        let long = "é".repeat(500);
        let cells = [Some(Cell::Text(&long)), Some(Cell::Text(&long))];
        let statistics = tally(&cells).finish(true, None);
        assert_eq!(statistics.most_common_values, None);
        assert_eq!(statistics.max_value.chars().count(), 256);
        assert!(statistics.truncated_values);
    }

    #[test]
    fn sample_of_unique_values_estimates_a_unique_column() {
        let cells: Vec<_> = (0..100).map(|n| Some(Cell::Integer(n))).collect();
        let statistics = tally(&cells).finish(false, Some(10_000));
        assert_eq!(statistics.distinct_values_count, 10_000);
        assert!(statistics.estimated);
    }

    #[test]
    fn sample_with_repeated_values_has_all_distinct_values() {
        let cells: Vec<_> = (0..100).map(|n| Some(Cell::Integer(n % 5))).collect();
        assert_eq!(
            tally(&cells)
                .finish(false, Some(10_000))
                .distinct_values_count,
            5
        );
    }

    #[test]
    fn distinct_values_beyond_the_memory_are_estimated() {
        let mut tally = Tally::new(100);
        (0..5_000).for_each(|n| tally.add(Some(Cell::Integer(n))));
        assert!(tally.counts.len() <= 100);
        let statistics = tally.finish(true, None);
        assert_eq!(statistics.distinct_values_count, 5_000);
        assert_eq!(statistics.most_common_values, None);
        assert!(statistics.estimated);
    }

    #[test]
    fn common_values_beyond_the_memory_are_estimated() {
        let mut tally = Tally::new(100);
        (0..5_000).for_each(|n| tally.add(Some(Cell::Integer(n))));
        for n in 5_000..10_000 {
            tally.add(Some(Cell::Integer(n)));
            tally.add(Some(Cell::Integer(-1)));
        }
        assert!(tally.counts.len() <= 100);
        let statistics = tally.finish(true, None);
        assert_eq!(statistics.most_common_values, Some(vec!["-1".into()]));
        let share = statistics.most_common_frequencies.unwrap()[0];
        assert!((0.31..=0.334).contains(&share), "{share}");
        assert!(statistics.estimated);
    }
}
