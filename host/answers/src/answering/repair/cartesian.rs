//! Aggregates over each row of one table with each row of another, because no condition joins the two.

use std::collections::HashMap;

use super::{
    fan_out::{counts_rows, summed},
    statement_scope::StatementScope,
    warnings::Warning,
};
use mindhost_catalog::TableDetail;
use mindhost_sql::outline::{Block, Column};

/// The warning for one SELECT. `is_narrowed` tells whether a filter may select one row of a table.
pub fn warning(
    known: &StatementScope<'_>,
    block: &Block,
    described: &[TableDetail],
    is_narrowed: impl Fn(usize) -> bool,
) -> Option<Warning> {
    let changes = |one| summed(one).is_some() || counts_rows(one);
    let aggregate = block.aggregates.iter().find(|one| changes(one))?;
    let mut groups = Groups::default();
    for table in &block.tables {
        let called = table.alias.as_ref().unwrap_or(&table.name.text);
        groups.number(called);
    }
    // Tables of one name in several datasources: a qualifier may be about any of them.
    if groups.parents.len() < block.tables.len() {
        return None;
    }
    for number in &block.joined {
        groups.unite(number.saturating_sub(1), *number);
    }
    for condition in &block.conditions {
        let mut numbers = Vec::new();
        for column in condition {
            numbers.push(groups.of(known, block, column)?);
        }
        for pair in numbers.windows(2) {
            groups.unite(pair[0], pair[1]);
        }
    }
    let mut first = None;
    for (number, table) in block.tables.iter().enumerate() {
        let found = known.find(table);
        let place = found.and_then(|found| described.iter().position(|one| found.is_in(one)));
        let Some((place, detail)) = place.and_then(|place| Some((place, described.get(place)?)))
        else {
            continue;
        };
        if is_narrowed(place) || detail.row_count.is_some_and(|rows| rows <= 1) {
            continue;
        }
        let group = groups.find(number);
        match first {
            None => first = Some((group, &detail.name)),
            Some((other, name)) if other != group => {
                return Some(Warning::plain(format!(
                    "{} is over each row of {} with each row of {name}, because no condition joins them; join them \
                     by a key, if need be through a third table",
                    aggregate.function, detail.name
                )));
            }
            Some(_) => {}
        }
    }
    None
}

/// The tables of a SELECT by their names in it, united where something joins them.
#[derive(Default)]
struct Groups {
    numbers: HashMap<String, usize>,
    /// Another member of the group of each, or itself.
    parents: Vec<usize>,
}

impl Groups {
    /// The number of a name; that of a table is its place.
    fn number(&mut self, called: &str) -> usize {
        let next = self.parents.len();
        let number = *self.numbers.entry(called.to_lowercase()).or_insert(next);
        if number == next {
            self.parents.push(next);
        }
        number
    }

    /// The table of a column; `None` if that is not certain.
    fn of(&mut self, known: &StatementScope<'_>, block: &Block, column: &Column) -> Option<usize> {
        if let Some(qualifier) = &column.qualifier {
            return Some(self.number(&qualifier.text));
        }
        let has = |(number, table)| {
            let found = known.find(table);
            found
                .is_some_and(|found| found.has(&column.name))
                .then_some(number)
        };
        let mut owners = block.tables.iter().enumerate().filter_map(has);
        match (owners.next(), owners.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }

    fn find(&self, mut number: usize) -> usize {
        while let Some(parent) = self.parents.get(number).filter(|parent| **parent != number) {
            number = *parent;
        }
        number
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        if let Some(parent) = self.parents.get_mut(other) {
            *parent = one;
        }
    }
}
