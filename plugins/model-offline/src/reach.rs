//! Which tables a row leads to over foreign keys, each to exactly one row of the other table.

use std::collections::BTreeMap;

use crate::catalog::Catalog;

/// A step over a foreign key: the table that holds the key, and the key's index in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// The referring table.
    pub from: usize,
    /// Index into its foreign keys.
    pub key: usize,
}

/// The tables that one table leads to.
#[derive(Debug, Clone)]
pub struct Reach {
    ways: BTreeMap<usize, Vec<Vec<Step>>>,
}

/// Longer ways are correct too, but hardly what a person means.
const FARTHEST: usize = 3;

impl Reach {
    /// Walks all foreign keys from `base`.
    pub fn from(catalog: &Catalog, base: usize) -> Self {
        let mut ways: BTreeMap<usize, Vec<Vec<Step>>> = BTreeMap::from([(base, vec![Vec::new()])]);
        let mut edge: Vec<Vec<Step>> = vec![Vec::new()];
        for _ in 0..FARTHEST {
            let mut next = Vec::new();
            for way in &edge {
                let at = way
                    .last()
                    .map_or(base, |s| catalog.table(s.from).foreign_keys[s.key].target);
                for key in 0..catalog.table(at).foreign_keys.len() {
                    let target = catalog.table(at).foreign_keys[key].target;
                    let known = ways.get(&target).and_then(|w| w.first()).map(Vec::len);
                    if known.is_none_or(|length| length > way.len()) {
                        let mut longer = way.clone();
                        longer.push(Step { from: at, key });
                        ways.entry(target).or_default().push(longer.clone());
                        next.push(longer);
                    }
                }
            }
            edge = next;
        }
        Self { ways }
    }

    /// How many foreign keys away a table is. `None` when it cannot be reached, or in more than one way.
    pub fn distance(&self, table: usize) -> Option<usize> {
        self.way(table).map(<[Step]>::len)
    }

    /// How many of the keys on the way may be empty, so that some rows lead nowhere.
    pub fn gaps(&self, catalog: &Catalog, table: usize) -> usize {
        let empty = |s: &&Step| {
            let source = catalog.table(s.from);
            source.foreign_keys[s.key]
                .columns
                .iter()
                .any(|c| source.columns[*c].nullable)
        };
        self.way(table)
            .map_or(0, |way| way.iter().filter(empty).count())
    }

    /// The one shortest way to a table.
    pub fn way(&self, table: usize) -> Option<&[Step]> {
        match self.ways.get(&table)?.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}
