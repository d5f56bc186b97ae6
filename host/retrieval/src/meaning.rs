//! The order of tables by meaning, from vectors that others made, and how it is put together with the order by words.

use crate::{index::Index, rank::Ranking, render::Detail};

/// What softens the difference between the first places of an order (`k` of reciprocal rank fusion).
const SOFTENING: f32 = 60.0;
/// Tables nearest to the question that count as found, though no word leads to them.
const FOUND: usize = 20;
/// Characters of a table that are embedded.
const EMBEDDED: usize = 4_000;

impl Index {
    /// What is embedded of a table: its line of a prompt with names, types, keys and descriptions, never a value.
    pub fn embedded_text(&self, table: usize) -> String {
        let columns: Vec<usize> = (0..self.tables[table].columns.len()).collect();
        let line = self.renderer().table(table, &columns, Detail::NoValues);
        line.trim_end().chars().take(EMBEDDED).collect()
    }
}

/// The numbers of vectors, those most like the question first. Those that cannot be compared with it are left out: of
/// another length, or without a direction.
pub fn nearest(question: &[f32], vectors: &[impl AsRef<[f32]>]) -> Vec<u32> {
    let likeness = |vector: &[f32]| match vector.len() == question.len() {
        true => dot(question, vector) / (dot(question, question) * dot(vector, vector)).sqrt(),
        false => f32::NAN,
    };
    let mut order: Vec<(f32, u32)> = (0..)
        .zip(vectors)
        .map(|(number, vector)| (likeness(vector.as_ref()), number))
        .filter(|(likeness, _)| likeness.is_finite())
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    order.into_iter().map(|(_, number)| number).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Ranking {
    /// The same with the order by meaning: each table counts `1 / (60 + place)` in each of the two orders, in that by
    /// words only if the question has to do with it. The tables that are found by either come first.
    #[must_use]
    pub fn with_meaning(self, nearest: &[u32]) -> Self {
        let mut worth = vec![0.0; self.order.len()];
        let mut found = vec![false; self.order.len()];
        let by_words = &self.order[..self.related.min(self.order.len())];
        for table in by_words.iter().chain(nearest.iter().take(FOUND)) {
            if let Some(found) = found.get_mut(*table as usize) {
                *found = true;
            }
        }
        for order in [by_words, nearest] {
            for (place, table) in order.iter().enumerate() {
                if let Some(worth) = worth.get_mut(*table as usize) {
                    *worth += reciprocal(place);
                }
            }
        }
        let key = |table: &u32| (found[*table as usize], worth[*table as usize]);
        let mut order = self.order;
        order.sort_by(|a, b| {
            let (a, b) = (key(a), key(b));
            b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        Self {
            related: found.iter().filter(|found| **found).count(),
            order,
            terms: self.terms,
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a weight")]
fn reciprocal(place: usize) -> f32 {
    1.0 / (SOFTENING + 1.0 + place as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(order: &[u32], related: usize) -> Ranking {
        Ranking {
            order: order.to_vec(),
            related,
            ..Ranking::default()
        }
    }

    #[test]
    fn vectors_are_ordered_by_their_angle() {
        let vectors = [vec![0.0, 9.0], vec![3.0, 0.3], vec![1.0, 1.0]];
        assert_eq!(nearest(&[1.0, 0.0], &vectors), [1, 2, 0]);
    }

    #[test]
    fn vectors_that_cannot_be_compared_are_left_out() {
        let vectors = [vec![0.0, 0.0], vec![1.0], vec![-1.0, 0.0]];
        assert_eq!(nearest(&[1.0, 0.0], &vectors), [2]);
        assert_eq!(nearest(&[0.0, 0.0], &vectors), [0; 0]);
    }

    #[test]
    fn table_that_both_orders_have_is_first() {
        let fused = ranking(&[0, 1, 2, 3], 2).with_meaning(&[3, 1, 2, 0]);
        assert_eq!(fused.order[0], 1);
        assert_eq!(fused.related, 4);
    }

    #[test]
    fn table_that_no_word_leads_to_is_found_if_it_is_near() {
        let order: Vec<u32> = (0..100).collect();
        let nearest: Vec<u32> = (0..100).rev().collect();
        let fused = ranking(&order, 1).with_meaning(&nearest);
        assert_eq!(fused.related, 1 + FOUND);
        assert!(fused.order[..fused.related].contains(&99));
        assert!(!fused.order[..fused.related].contains(&50));
    }

    #[test]
    fn numbers_of_no_table_are_ignored() {
        let fused = ranking(&[1, 0], 1).with_meaning(&[7, 0]);
        assert_eq!(fused.order.len(), 2);
    }
}
