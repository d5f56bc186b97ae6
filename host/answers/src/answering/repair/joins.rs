//! Joins that a statement needs, by the foreign keys of the catalog.

use std::collections::{HashMap, VecDeque};

use super::{
    Advice,
    statement_scope::{KnownTable, StatementScope},
};
use mindhost_catalog::TableDetail;
use mindhost_sql::outline::{Outline, spelled};

/// Tables between two that a path goes through at most.
const MAX_BETWEEN: usize = 3;

/// One foreign key: from the columns of a table to those of another.
struct Key<'a> {
    from: usize,
    to: usize,
    columns: Vec<(&'a str, &'a str)>,
}

/// Adds the joins to each missing table, from the tables that the statement reads.
pub fn advise(
    known: &StatementScope<'_>,
    outline: &Outline,
    missing: &[KnownTable<'_>],
    described: &[TableDetail],
    advice: &mut Advice,
) {
    let keys = keys(described);
    let index = |table: &KnownTable<'_>| described.iter().position(|one| table.is_in(one));
    let mut joined: Vec<usize> = known.used(outline).iter().filter_map(index).collect();
    for table in missing {
        let Some(path) = index(table).and_then(|to| path(&keys, &joined, to)) else {
            advice.hint(format!(
                "the column is in the table {}, which the statement does not read",
                known.written(table)
            ));
            continue;
        };
        for (key, new) in path {
            advice
                .add_join
                .push(join(known, outline, described, &keys[key], new));
            joined.push(new);
        }
    }
}

fn keys(described: &[TableDetail]) -> Vec<Key<'_>> {
    let names: HashMap<(&str, &str), usize> = described
        .iter()
        .enumerate()
        .map(|(index, table)| ((table.datasource.as_str(), table.name.as_str()), index))
        .collect();
    let mut keys = Vec::new();
    for (from, table) in described.iter().enumerate() {
        for key in &table.foreign_keys {
            let Some(to) = names.get(&(table.datasource.as_str(), key.references.as_str())) else {
                continue;
            };
            let columns = key.columns.iter().zip(&key.referenced_columns);
            keys.push(Key {
                from,
                to: *to,
                columns: columns.map(|(a, b)| (a.as_str(), b.as_str())).collect(),
            });
        }
    }
    keys
}

/// The shortest path from one of the joined tables: each key, and the table that it adds.
fn path(keys: &[Key<'_>], joined: &[usize], to: usize) -> Option<Vec<(usize, usize)>> {
    let mut before: HashMap<usize, (usize, usize)> = HashMap::new();
    let mut queue: VecDeque<(usize, usize)> = joined.iter().map(|table| (*table, 0)).collect();
    while let Some((table, length)) = queue.pop_front() {
        if table == to {
            let mut path = Vec::new();
            let mut at = to;
            while let Some((key, previous)) = before.get(&at) {
                path.push((*key, at));
                at = *previous;
            }
            path.reverse();
            return Some(path);
        }
        if length > MAX_BETWEEN {
            continue;
        }
        for (index, key) in keys.iter().enumerate() {
            let other = match table {
                _ if key.from == table => key.to,
                _ if key.to == table => key.from,
                _ => continue,
            };
            if !joined.contains(&other) && !before.contains_key(&other) {
                before.insert(other, (index, table));
                queue.push_back((other, length + 1));
            }
        }
    }
    None
}

fn join(
    known: &StatementScope<'_>,
    outline: &Outline,
    described: &[TableDetail],
    key: &Key<'_>,
    new: usize,
) -> String {
    let table = |index: usize| {
        let detail = described.get(index)?;
        known.tables.iter().find(|table| table.is_in(detail))
    };
    let qualifier =
        |index| table(index).map_or_else(String::new, |one| known.qualifier(one, outline));
    let (from, to) = (qualifier(key.from), qualifier(key.to));
    let pairs: Vec<String> = key
        .columns
        .iter()
        .map(|(a, b)| {
            let (a, b) = (spelled(known.dialect, a), spelled(known.dialect, b));
            format!("{from}.{a} = {to}.{b}")
        })
        .collect();
    let name = table(new).map_or_else(String::new, |one| known.written(one));
    format!("JOIN {name} ON {}", pairs.join(" AND "))
}
