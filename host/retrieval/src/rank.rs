//! The order of tables for a question: BM25 over fields of different weight, then what keys and schemas add.

use std::{cmp::Ordering, collections::HashMap};

use crate::{
    expand::Term,
    index::Index,
    words::{self, Stems},
};

/// How soon a word that a table has again adds nothing (`k1` of BM25).
const SATURATION: f32 = 1.2;
/// How much a table that is named in full is better than one whose name has other words too.
const NAME_COVERAGE: f32 = 0.35;
/// What a neighbour by key passes on of its own score.
const NEIGHBOUR: f32 = 0.3;
/// What the schema passes on: the sum of what its tables have of each word.
const SCHEMA: f32 = 0.35;
/// The best tables; the joins between them are looked for.
const SEEDS: usize = 8;
/// A table between two seeds is almost as good as the worse of them.
const BETWEEN: f32 = 0.95;
/// Words of a question that are looked up with all that they may be called in the catalog.
const MOST_WORDS: usize = 96;
/// Words of a question that are read. Those behind the first count only if the catalog has them as they are.
const MOST_READ: usize = 1_000;
/// The worth from which on a term names a column.
const NAMES: f32 = 0.3;

/// A text that tells which tables are wanted.
#[derive(Clone, Copy, Debug)]
pub struct WeightedText<'a> {
    /// The question, an earlier one, an earlier statement.
    pub text: &'a str,
    /// From 0 to 1: what its words are worth.
    pub weight: f32,
}

/// The order of tables for a question.
#[derive(Debug, Default)]
pub struct Ranking {
    /// Every table, best first.
    pub order: Vec<u32>,
    /// How many of them the question has to do with: it names them, or they join to one that it names.
    pub related: usize,
    /// What each term of the catalog is worth for the question.
    pub terms: HashMap<Term, f32>,
}

impl Index {
    /// The numbers of the tables that have one of the words, best first.
    pub fn search(&self, words: &str) -> Vec<usize> {
        let hits = self.hits(&[WeightedText {
            text: words,
            weight: 1.0,
        }]);
        let mut found: Vec<usize> = (0..self.tables.len())
            .filter(|table| hits.own[*table] > 0.0)
            .collect();
        found.sort_by(|a, b| descending(hits.own[*a], hits.own[*b]));
        found
    }

    /// Ranks all tables.
    pub fn rank(&self, texts: &[WeightedText<'_>]) -> Ranking {
        let hits = self.hits(texts);
        let mut scores: Vec<f32> = (0..self.tables.len())
            .map(|table| self.score(table, &hits))
            .collect();
        let mut order: Vec<u32> = (0..scores.len())
            .filter_map(|table| u32::try_from(table).ok())
            .collect();
        let sort = |order: &mut Vec<u32>, scores: &[f32]| {
            order.sort_by(|a, b| descending(scores[*a as usize], scores[*b as usize]));
        };
        sort(&mut order, &scores);
        if self.lift_between(&order, &mut scores) {
            sort(&mut order, &scores);
        }
        let related = order
            .iter()
            .take_while(|table| scores[**table as usize] > 0.0)
            .count();
        Ranking {
            order,
            related,
            terms: hits.terms,
        }
    }

    /// All columns as numbers of table and column: those first that the words name, then those of tables that fit.
    pub fn columns(&self, words: &str) -> Vec<(usize, usize)> {
        let ranking = self.rank(&[WeightedText {
            text: words,
            weight: 1.0,
        }]);
        let mut columns = Vec::new();
        for table in ranking.order.iter().map(|table| *table as usize) {
            let all = 0..self.tables[table].columns.len();
            columns.extend(
                all.map(|column| (self.column_worth(table, column, &ranking), table, column)),
            );
        }
        columns.sort_by(|a, b| descending(a.0, b.0));
        columns
            .into_iter()
            .map(|(_, table, column)| (table, column))
            .collect()
    }

    fn score(&self, table: usize, hits: &Hits) -> f32 {
        let number = u32::try_from(table).unwrap_or(u32::MAX);
        let neighbours = self
            .joins
            .neighbours(number)
            .map(|other| hits.own[other as usize]);
        let beside = neighbours.fold(0.0, f32::max);
        // Of a single schema all tables would have the same share, and none would be unrelated.
        let around = match self.group_count {
            0 | 1 => 0.0,
            _ => hits.of_groups[self.groups[table] as usize],
        };
        hits.own[table] + NEIGHBOUR * beside + SCHEMA * around
    }

    /// Lifts the tables between the best ones. Returns whether there are any.
    fn lift_between(&self, order: &[u32], scores: &mut [f32]) -> bool {
        let seeds: Vec<u32> = order
            .iter()
            .take(SEEDS)
            .copied()
            .filter(|seed| scores[*seed as usize] > 0.0)
            .collect();
        let mut lifted = false;
        for (at, seed) in seeds.iter().enumerate() {
            for other in &seeds[at + 1..] {
                let worth = BETWEEN * scores[*other as usize];
                for table in self.joins.between(*seed, &[*other]) {
                    if scores[table as usize] < worth {
                        scores[table as usize] = worth;
                        lifted = true;
                    }
                }
            }
        }
        lifted
    }

    fn hits(&self, texts: &[WeightedText<'_>]) -> Hits {
        let mut hits = Hits {
            own: vec![0.0; self.tables.len()],
            of_groups: vec![0.0; self.group_count],
            terms: HashMap::new(),
        };
        let mut stems = Stems::new();
        let mut best = vec![0.0; self.tables.len()];
        for (at, (word, weight)) in weighted_words(texts).into_iter().enumerate() {
            let terms = match at < MOST_WORDS {
                true => self.vocabulary.expand(&word, &mut stems),
                false => self.vocabulary.itself(&word, &mut stems),
            };
            self.add_word(&terms, weight, &mut best, &mut hits);
        }
        for table in 0..self.tables.len() {
            if hits.own[table] > 0.0 {
                hits.own[table] *= 1.0 + NAME_COVERAGE * self.coverage(table, &hits.terms);
            }
        }
        hits
    }

    /// Adds what each table has of one word: the best of the terms that the word becomes.
    fn add_word(&self, terms: &[(Term, f32)], weight: f32, best: &mut [f32], hits: &mut Hits) {
        let mut touched = Vec::new();
        // A guess must not count more than the word itself because it is rarer.
        let exact = terms
            .iter()
            .find(|(_, worth)| *worth == 1.0)
            .map(|(term, _)| self.rarity(*term));
        for (term, worth) in terms {
            let rarity = self.rarity(*term).min(exact.unwrap_or(f32::MAX));
            let known = hits.terms.entry(*term).or_default();
            *known = known.max(worth * weight);
            for (table, count) in &self.postings[*term as usize] {
                let score =
                    weight * worth * rarity * count * (SATURATION + 1.0) / (count + SATURATION);
                let slot = &mut best[*table as usize];
                if *slot == 0.0 {
                    touched.push(*table);
                }
                *slot = slot.max(score);
            }
        }
        let mut of_groups: HashMap<u32, f32> = HashMap::new();
        for table in touched {
            let score = std::mem::take(&mut best[table as usize]);
            hits.own[table as usize] += score;
            let group = of_groups.entry(self.groups[table as usize]).or_default();
            *group = group.max(score);
        }
        for (group, score) in of_groups {
            hits.of_groups[group as usize] += score;
        }
    }

    /// The inverse document frequency of BM25.
    #[allow(clippy::cast_precision_loss, reason = "a weight")]
    fn rarity(&self, term: Term) -> f32 {
        let (all, having) = (
            self.tables.len() as f32,
            self.postings[term as usize].len() as f32,
        );
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }

    /// The share of a table's name that the question has.
    #[allow(clippy::cast_precision_loss, reason = "a share")]
    fn coverage(&self, table: usize, terms: &HashMap<Term, f32>) -> f32 {
        let name = &self.name_terms[table];
        let covered: f32 = name.iter().filter_map(|term| terms.get(term)).sum();
        covered / (name.len().max(1) as f32)
    }

    /// What the question makes a column worth: 0 when it names neither the column nor one of its values.
    pub(crate) fn column_worth(&self, table: usize, column: usize, ranking: &Ranking) -> f32 {
        let terms = self.column_terms[table][column].iter();
        let worths = terms.filter_map(|term| Some((*term, *ranking.terms.get(term)?)));
        let named = worths.filter(|(_, worth)| *worth >= NAMES);
        named
            .map(|(term, worth)| worth * self.rarity(term))
            .fold(0.0, f32::max)
    }
}

struct Hits {
    /// By table.
    own: Vec<f32>,
    /// By schema.
    of_groups: Vec<f32>,
    terms: HashMap<Term, f32>,
}

/// The words of texts with their weights, each once, and pairs of neighbours as one word. Stop words count only where
/// there are no others: `order` then asks for the table `orders`.
fn weighted_words(texts: &[WeightedText<'_>]) -> Vec<(String, f32)> {
    let words = words_of(texts, |word| !words::is_stop_word(word));
    match words.is_empty() {
        true => words_of(texts, |_| true),
        false => words,
    }
}

fn words_of(texts: &[WeightedText<'_>], counts: impl Fn(&str) -> bool) -> Vec<(String, f32)> {
    let mut words: Vec<(String, f32)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut add = |word: String, weight: f32| {
        let count = words.len();
        match places.get(&word).and_then(|at| words.get_mut(*at)) {
            Some((_, known)) => *known = known.max(weight),
            None if count >= MOST_READ => {}
            None => {
                places.insert(word.clone(), count);
                words.push((word, weight));
            }
        }
    };
    for one in texts {
        let split = words::split_question(one.text);
        let mut last: Option<&String> = None;
        for word in split.iter().filter(|word| counts(word)) {
            add(word.clone(), one.weight);
            if let Some(last) = last {
                add(format!("{last}{word}"), one.weight);
            }
            last = Some(word);
        }
    }
    words
}

fn descending(a: f32, b: f32) -> Ordering {
    b.total_cmp(&a)
}
