//! Joins that a statement needs, by the foreign keys of the catalog.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::{
    Advice, Replace,
    statement_scope::{KnownTable, StatementScope},
};
use mindhost_catalog::TableDetail;
use mindhost_sql::outline::{Outline, Word, spelled};

/// Tables between two that a path goes through at most.
const MAX_BETWEEN: usize = 3;

/// One foreign key: from the columns of a table to those of another.
struct Key<'a> {
    from: usize,
    to: usize,
    columns: Vec<(&'a str, &'a str)>,
}

/// A table that a statement needs but does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing<'a> {
    /// The table.
    pub table: KnownTable<'a>,
    /// What the statement calls it, if that is not its name.
    pub alias: Option<String>,
    /// Where the statement names columns of it, in characters from 1.
    pub positions: Vec<u32>,
}

/// Adds the joins to each missing table, from the tables that the statement reads: at the end of FROM, or in front of
/// the join whose condition names a column of it. There the tables behind it cannot be named yet.
pub fn advise(
    known: &StatementScope<'_>,
    outline: &Outline,
    words: &[Word],
    missing: &[Missing<'_>],
    described: &[TableDetail],
    advice: &mut Advice,
) {
    let keys = keys(described);
    let index = |table: &KnownTable<'_>| described.iter().position(|one| table.is_in(one));
    // Each table with its position.
    let mut joined: Vec<(usize, u32)> = Vec::new();
    for table in outline.tables() {
        let found = known.find(table).and_then(|found| index(&found));
        joined.extend(found.map(|found| (found, table.name.position)));
    }
    let mut in_front: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for Missing {
        table,
        alias,
        positions,
    } in missing
    {
        let joins = positions.iter().filter_map(|at| join_around(words, *at));
        let front = joins.min();
        let end = front
            .and_then(|front| words.get(front))
            .map_or(u32::MAX, |word| word.position);
        let places = joined.iter().filter(|(_, position)| *position <= end);
        let places: Vec<usize> = places.map(|(place, _)| *place).collect();
        let Some(path) = index(table).and_then(|to| path(&keys, &places, to)) else {
            advice.hint(format!(
                "the column is in the table {}, which the statement does not read",
                known.written(table)
            ));
            continue;
        };
        let last = path.len().saturating_sub(1);
        for (step, (key, new)) in path.into_iter().enumerate() {
            let alias = alias.as_deref().filter(|_| step == last);
            let text = join(known, outline, described, &keys[key], (new, alias));
            match front {
                Some(front) => in_front.entry(front).or_default().push(text),
                None => advice.add_join.push(text),
            }
            joined.push((new, end));
        }
    }
    for (front, joins) in in_front {
        if let Some(word) = words.get(front) {
            let instead = format!("{} {}", joins.join(" "), word.text);
            advice.replace.push(Replace::new(
                word.text.clone(),
                word.position,
                vec![instead],
            ));
        }
    }
}

/// The first word of the join whose condition has this position.
fn join_around(words: &[Word], position: u32) -> Option<usize> {
    const CLAUSES: [&str; 7] = [
        "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT",
    ];
    const KINDS: [&str; 6] = ["LEFT", "RIGHT", "FULL", "INNER", "OUTER", "NATURAL"];
    let mut at = words.iter().position(|word| word.position == position)?;
    let mut closed = 0_usize;
    loop {
        at = at.checked_sub(1)?;
        let word = words.get(at)?.text.to_uppercase();
        match word.as_str() {
            ")" => closed += 1,
            "(" => closed = closed.saturating_sub(1),
            _ if closed > 0 => {}
            "JOIN" => break,
            _ if CLAUSES.contains(&word.as_str()) => return None,
            _ => {}
        }
    }
    let is_kind = |word: &&Word| KINDS.contains(&word.text.to_uppercase().as_str());
    Some(at - words[..at].iter().rev().take_while(is_kind).count())
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
    (new, alias): (usize, Option<&str>),
) -> String {
    let table = |index: usize| {
        let detail = described.get(index)?;
        known.tables.iter().find(|table| table.is_in(detail))
    };
    let qualifier = |index| match alias.filter(|_| index == new) {
        Some(alias) => alias.to_owned(),
        None => table(index).map_or_else(String::new, |one| known.qualifier(one, outline)),
    };
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
    let named = alias.map_or(name.clone(), |alias| format!("{name} {alias}"));
    format!("JOIN {named} ON {}", pairs.join(" AND "))
}
