//! Fits what a question needs into a budget of tokens.

use crate::{
    index::Index,
    rank::{Ranking, WeightedText},
    render::Detail,
    tokens::tokens,
};

/// What is left out, in this order, until the rest fits; of each the tables that fit the question worst come first, and
/// so many of the best are spared. `host/docs/retrieval.md` states it for users.
const STEPS: [(Reduction, usize); 10] = [
    (Reduction::Unrelated, 0),
    (Reduction::Values, 10),
    (Reduction::Descriptions, 10),
    (Reduction::Tables, 150),
    (Reduction::Columns, 40),
    (Reduction::Tables, 10),
    (Reduction::Values, 0),
    (Reduction::Descriptions, 0),
    (Reduction::Columns, 0),
    (Reduction::Tables, 0),
];
/// Columns of a table that is cut to those that a word names and its keys.
const MOST_COLUMNS: usize = 40;
/// Keys among them that stay however many other columns a word names.
const MOST_KEYS: usize = 20;
/// A table that takes more than this part of the budget is cut before all others.
const LARGE: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduction {
    /// Tables that no word, key or schema leads to.
    Unrelated,
    Values,
    Descriptions,
    /// Columns that no word names, except keys.
    Columns,
    Tables,
}

/// The part of a catalog for one question.
#[derive(Clone, Debug, Default)]
pub struct PackedCatalog {
    /// One table a line; nothing of it begins a line of its own or has angle brackets.
    pub text: String,
    /// The tables in it, in the same order.
    pub tables: Vec<PackedTable>,
    /// Whether it is the whole catalog with all that is known.
    pub is_whole: bool,
    /// What `text` has, as [`crate::tokens`] counts.
    pub tokens: usize,
}

/// A table in a [`PackedCatalog`].
#[derive(Clone, Debug)]
pub struct PackedTable {
    /// Its number in [`Index::tables`].
    pub table: usize,
    /// The numbers of the columns that are shown.
    pub columns: Vec<usize>,
    /// Whether descriptions are shown.
    pub has_descriptions: bool,
    /// Whether values are shown.
    pub has_values: bool,
}

/// A table that may be packed.
struct Candidate {
    table: usize,
    detail: Detail,
    /// `None` for all.
    columns: Option<Vec<usize>>,
    cost: usize,
}

impl Index {
    /// The tables and columns that the texts need, in at most `budget` tokens. A catalog that fits is packed whole, in
    /// its own order, so that the prompt is the same for each question.
    pub fn pack(&self, texts: &[WeightedText<'_>], budget: usize) -> PackedCatalog {
        self.pack_with(texts, &[], budget)
    }

    /// As [`Self::pack`], with tables in their order by meaning ([`crate::nearest`]). Without any, words decide.
    pub fn pack_with(
        &self,
        texts: &[WeightedText<'_>],
        nearest: &[u32],
        budget: usize,
    ) -> PackedCatalog {
        if self.fits(budget) {
            let all = (0..self.tables.len()).map(|table| self.candidate(table));
            return self.write(all.collect(), budget, true);
        }
        let ranking = match nearest {
            [] => self.rank(texts),
            _ => self.rank(texts).with_meaning(nearest),
        };
        let chosen = self.choose(&ranking, budget);
        self.write(chosen, budget, false)
    }

    /// Whether the whole catalog fits into a budget, so that its order does not matter.
    pub fn fits(&self, budget: usize) -> bool {
        let full = self.costs.iter().map(|costs| costs[0] as usize);
        full.sum::<usize>() <= budget
    }

    fn candidate(&self, table: usize) -> Candidate {
        Candidate {
            table,
            detail: Detail::All,
            columns: None,
            cost: self.costs[table][0] as usize,
        }
    }

    fn choose(&self, ranking: &Ranking, budget: usize) -> Vec<Candidate> {
        let order = ranking.order.iter().map(|table| *table as usize);
        let mut chosen: Vec<Candidate> = order.map(|table| self.candidate(table)).collect();
        let mut total: usize = chosen.iter().map(|one| one.cost).sum();
        for one in &mut chosen {
            if one.cost > budget / LARGE {
                total -= one.cost;
                self.drop_columns(one, ranking);
                total += one.cost;
            }
        }
        for (reduction, spared) in STEPS {
            if reduction == Reduction::Unrelated || reduction == Reduction::Tables {
                let spared = if reduction == Reduction::Unrelated {
                    ranking.related
                } else {
                    spared
                };
                while total > budget && chosen.len() > spared {
                    total -= chosen.pop().map_or(0, |one| one.cost);
                }
                continue;
            }
            for one in chosen.iter_mut().skip(spared).rev() {
                if total <= budget {
                    break;
                }
                total -= one.cost;
                self.reduce(one, reduction, ranking);
                total += one.cost;
            }
        }
        chosen
    }

    fn reduce(&self, one: &mut Candidate, reduction: Reduction, ranking: &Ranking) {
        let least = match reduction {
            Reduction::Values => Detail::NoValues,
            Reduction::Columns => return self.drop_columns(one, ranking),
            _ => Detail::NoDescriptions,
        };
        one.detail = one.detail.max(least);
        one.cost = self.cost(one);
    }

    fn cost(&self, one: &Candidate) -> usize {
        match &one.columns {
            None => self.costs[one.table][one.detail as usize] as usize,
            Some(columns) => tokens(&self.renderer().table(one.table, columns, one.detail)),
        }
    }

    /// Keeps keys and the columns that a word names, the best of them if there are many. Without its keys a table could
    /// not be joined.
    fn drop_columns(&self, one: &mut Candidate, ranking: &Ranking) {
        if one.columns.is_some() {
            return;
        }
        let table = &self.tables[one.table];
        let guesses = self
            .joins
            .guesses(u32::try_from(one.table).unwrap_or(u32::MAX));
        let mut keys: Vec<(f32, usize)> = Vec::new();
        let mut named: Vec<(f32, usize)> = Vec::new();
        for (at, column) in table.columns.iter().enumerate() {
            let worth = self.column_worth(one.table, at, ranking);
            let is_primary = table.primary_key.contains(&column.name);
            let mut foreign = table.foreign_keys.iter();
            let refers = foreign.any(|key| key.columns.contains(&column.name))
                || guesses.iter().any(|guess| guess.column as usize == at);
            if is_primary {
                keys.push((f32::INFINITY, at));
            } else if refers {
                keys.push((worth, at));
            } else if worth > 0.0 {
                named.push((worth, at));
            }
        }
        keys.sort_by(|a, b| b.0.total_cmp(&a.0));
        let rest = keys.split_off(keys.len().min(MOST_KEYS));
        named.extend(rest);
        named.sort_by(|a, b| b.0.total_cmp(&a.0));
        named.truncate(MOST_COLUMNS.saturating_sub(keys.len()));
        let mut columns: Vec<usize> = keys.iter().chain(&named).map(|(_, at)| *at).collect();
        columns.sort_unstable();
        one.columns = Some(columns);
        one.cost = self.cost(one);
    }

    /// Writes what was chosen. The budget holds even if the costs were wrong.
    fn write(&self, chosen: Vec<Candidate>, budget: usize, is_whole: bool) -> PackedCatalog {
        let mut packed = PackedCatalog {
            is_whole,
            ..PackedCatalog::default()
        };
        for one in chosen {
            let all = || (0..self.tables[one.table].columns.len()).collect();
            let columns = one.columns.unwrap_or_else(all);
            let line = self.renderer().table(one.table, &columns, one.detail);
            let cost = tokens(&line);
            if packed.tokens + cost > budget {
                packed.is_whole = false;
                continue;
            }
            packed.tokens += cost;
            packed.text.push_str(&line);
            packed.tables.push(PackedTable {
                table: one.table,
                columns,
                has_descriptions: one.detail < Detail::NoDescriptions,
                has_values: one.detail == Detail::All,
            });
        }
        packed
    }
}
