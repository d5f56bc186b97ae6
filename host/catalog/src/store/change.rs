//! What changed between two lists of tables.

use std::collections::HashSet;

use crate::types::Table;
use mindhost_plugin_api::TableRef;

/// The difference between the stored list and that of the source.
pub(super) struct Change<'a> {
    pub new: Vec<&'a TableRef>,
    pub gone: Vec<&'a Table>,
    pub back: Vec<&'a Table>,
    listed: HashSet<&'a TableRef>,
}

impl<'a> Change<'a> {
    pub fn between(known: &'a [Table], listed: &'a [TableRef]) -> Self {
        let by_name: HashSet<&TableRef> = known.iter().map(|table| &table.table).collect();
        let listed: HashSet<&TableRef> = listed.iter().collect();
        let is_listed = |table: &&Table| listed.contains(&table.table);
        let mut new: Vec<_> = listed
            .iter()
            .copied()
            .filter(|one| !by_name.contains(one))
            .collect();
        new.sort_unstable();
        Self {
            new,
            gone: known
                .iter()
                .filter(|table| !table.missing && !is_listed(table))
                .collect(),
            back: known
                .iter()
                .filter(|table| table.missing && is_listed(table))
                .collect(),
            listed,
        }
    }

    pub fn is_nothing(&self) -> bool {
        self.new.is_empty() && self.gone.is_empty() && self.back.is_empty()
    }

    /// Stored tables that the source does not have, including those marked before.
    pub fn still_gone(&self, known: &'a [Table]) -> Vec<&'a Table> {
        known
            .iter()
            .filter(|table| !self.listed.contains(&table.table))
            .collect()
    }
}
