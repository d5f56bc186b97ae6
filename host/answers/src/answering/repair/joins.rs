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
/// Ways to join one table that are named.
const MAX_WAYS: usize = 4;

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
    // What those are called that are added.
    let mut added: HashMap<usize, String> = HashMap::new();
    let mut in_front: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for one in missing {
        let Missing {
            table,
            alias,
            positions,
        } = one;
        let joins = positions.iter().filter_map(|at| join_around(words, *at));
        let front = joins.min();
        let end = front
            .and_then(|front| words.get(front))
            .map_or(u32::MAX, |word| word.position);
        let places = joined.iter().filter(|(_, position)| *position <= end);
        let mut places: Vec<usize> = places.map(|(place, _)| *place).collect();
        places.dedup();
        let paths = index(table).map_or_else(Vec::new, |to| paths(&keys, &places, to));
        let joins = Joins {
            known,
            outline,
            described,
            keys: &keys,
            added: &added,
            alias: alias.as_deref(),
        };
        let mut ways: Vec<Vec<String>> = Vec::new();
        for way in paths.iter().flat_map(|path| joins.of(path)) {
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        // One that is named in two ways may be two rows of it.
        let is_alone = missing
            .iter()
            .all(|other| other == one || other.table != *table);
        match &ways[..] {
            [] => advice.hint(format!(
                "the column is in the table {}, which the statement does not read",
                known.written(table)
            )),
            [only] if is_alone => {
                match front {
                    Some(front) => in_front.entry(front).or_default().extend_from_slice(only),
                    None => advice.add_join.extend_from_slice(only),
                }
                let path = paths.first().into_iter().flatten();
                joined.extend(path.map(|step| (step.new, end)));
                let alias = alias.clone().zip(index(table));
                added.extend(alias.map(|(alias, table)| (table, alias)));
            }
            _ => advice.hint(several(&known.written(table), &ways)),
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

/// A key of a path, the table that it comes from, and the table that it adds.
#[derive(Clone, Copy)]
struct Step {
    key: usize,
    from: usize,
    new: usize,
}

/// The shortest paths from the joined tables to another, at most [`MAX_WAYS`].
fn paths(keys: &[Key<'_>], joined: &[usize], to: usize) -> Vec<Vec<Step>> {
    // How far each table is, and the last steps of all ways to it.
    let mut lengths: HashMap<usize, usize> = joined.iter().map(|table| (*table, 0)).collect();
    let mut last_steps: HashMap<usize, Vec<Step>> = HashMap::new();
    let mut queue: VecDeque<usize> = joined.iter().copied().collect();
    while let Some(from) = queue.pop_front() {
        let length = lengths.get(&from).map_or(0, |length| length + 1);
        if from == to || length > MAX_BETWEEN + 1 {
            continue;
        }
        for (key, other) in keys.iter().enumerate() {
            let new = match from {
                _ if other.from == from => other.to,
                _ if other.to == from => other.from,
                _ => continue,
            };
            let known = *lengths.entry(new).or_insert_with(|| {
                queue.push_back(new);
                length
            });
            if known == length {
                let step = Step { key, from, new };
                last_steps.entry(new).or_default().push(step);
            }
        }
    }
    // From the end to the beginning.
    let mut found = Vec::new();
    let mut open: Vec<(usize, Vec<Step>)> = vec![(to, Vec::new())];
    while let Some((at, path)) = open.pop() {
        let before = last_steps.get(&at).map_or(&[][..], Vec::as_slice);
        if before.is_empty() && !path.is_empty() {
            found.push(path.into_iter().rev().collect());
            if found.len() >= MAX_WAYS {
                break;
            }
            continue;
        }
        for step in before.iter().take(MAX_WAYS).rev() {
            let longer = path.iter().copied().chain([*step]).collect();
            open.push((step.from, longer));
        }
    }
    found
}

/// What joins to one missing table are written with.
struct Joins<'a, 'b> {
    known: &'b StatementScope<'a>,
    outline: &'b Outline,
    described: &'b [TableDetail],
    keys: &'b [Key<'b>],
    added: &'b HashMap<usize, String>,
    /// What the statement calls the missing table, if that is not its name.
    alias: Option<&'b str>,
}

impl Joins<'_, '_> {
    /// The joins of a path, once for each time that the statement reads its first table.
    fn of(&self, path: &[Step]) -> Vec<Vec<String>> {
        let first = path
            .first()
            .map_or_else(Vec::new, |step| self.names(step.from));
        let last = path.len().saturating_sub(1);
        let joins = |first: &String| {
            let mut before = first.clone();
            let mut joins = Vec::new();
            for (at, step) in path.iter().enumerate() {
                let alias = self.alias.filter(|_| at == last);
                let (join, name) = self.join(step, &before, alias);
                joins.push(join);
                before = name;
            }
            joins
        };
        first.iter().map(joins).collect()
    }

    fn table(&self, index: usize) -> Option<&KnownTable<'_>> {
        let detail = self.described.get(index)?;
        self.known.tables.iter().find(|table| table.is_in(detail))
    }

    fn names(&self, index: usize) -> Vec<String> {
        if let Some(name) = self.added.get(&index) {
            return vec![name.clone()];
        }
        let table = self.table(index);
        table.map_or_else(Vec::new, |table| self.known.qualifiers(table, self.outline))
    }

    /// The join of one step, and what it calls the new table.
    fn join(&self, step: &Step, before: &str, alias: Option<&str>) -> (String, String) {
        let table = self.table(step.new);
        let written = table.map_or_else(String::new, |one| self.known.written(one));
        let (named, called) = match (alias, table) {
            (Some(alias), _) => (format!("{written} {alias}"), alias.to_owned()),
            (None, Some(table)) => (written, spelled(self.known.dialect, table.name)),
            (None, None) => (written, String::new()),
        };
        let Some(key) = self.keys.get(step.key) else {
            return (format!("JOIN {named}"), called);
        };
        let (from, to) = match key.from == step.from {
            true => (before, called.as_str()),
            false => (called.as_str(), before),
        };
        let pair = |(a, b): &(&str, &str)| {
            let dialect = self.known.dialect;
            format!(
                "{from}.{} = {to}.{}",
                spelled(dialect, a),
                spelled(dialect, b)
            )
        };
        let pairs: Vec<String> = key.columns.iter().map(pair).collect();
        (format!("JOIN {named} ON {}", pairs.join(" AND ")), called)
    }
}

/// What is said of the ways to join a table, each of which gives other rows.
fn several(table: &str, ways: &[Vec<String>]) -> String {
    let ways: Vec<String> = ways
        .iter()
        .map(|way| format!("`{}`", way.join(" ")))
        .collect();
    format!(
        "the statement does not read {table}; join it in the way that is meant: {}",
        ways.join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{answering::repair::names, results::Access};
    use mindhost_catalog::DescribedKey;
    use mindhost_plugin_api::{Dialect, TableRef};
    use mindhost_sql::{ScopeDatasource, ScopeTable, outline};

    /// A name, the columns, and the keys by which the table refers to others.
    type TestTable = (
        &'static str,
        &'static [&'static str],
        &'static [(&'static str, &'static str)],
    );

    const TABLES: [TestTable; 5] = [
        ("airports", &["id", "code"], &[]),
        (
            "flights",
            &["id", "no", "origin_id", "dest_id", "plane_id"],
            &[
                ("origin_id", "airports"),
                ("dest_id", "airports"),
                ("plane_id", "planes"),
            ],
        ),
        ("planes", &["id", "maker_id"], &[("maker_id", "makers")]),
        ("makers", &["id", "brand"], &[]),
        (
            "staff",
            &["id", "full_name", "boss_id"],
            &[("boss_id", "staff")],
        ),
    ];

    fn advised(sql: &str) -> Advice {
        let tables =
            TABLES.map(|(name, columns, _)| ScopeTable::new(TableRef::new("main", name), columns));
        let access = Access::of(ScopeDatasource::new("air", Dialect::Sqlite, tables.into()).into());
        let key = |&(column, table): &(&str, &str)| DescribedKey {
            columns: vec![column.to_owned()],
            references: format!("main.{table}"),
            referenced_columns: vec!["id".to_owned()],
        };
        let detail = |&(name, _, keys): &TestTable| TableDetail {
            datasource: "air".to_owned(),
            name: format!("main.{name}"),
            kind: "TABLE".to_owned(),
            description: None,
            row_count: None,
            rows_below: None,
            columns: Vec::new(),
            primary_key: vec!["id".to_owned()],
            foreign_keys: keys.iter().map(key).collect(),
        };
        let described: Vec<TableDetail> = TABLES.iter().map(detail).collect();
        let known = StatementScope::new(&access, Dialect::Sqlite);
        let outline = outline::outline(sql, Dialect::Sqlite).unwrap();
        let words = outline::words(sql, Dialect::Sqlite);
        let mut advice = Advice::default();
        let missing = names::advise(&known, &outline, &mut advice);
        advise(&known, &outline, &words, &missing, &described, &mut advice);
        advice
    }

    #[test]
    fn only_way_to_join_a_table_is_advised() {
        let advice = advised("SELECT f.no, m.brand FROM flights f");
        assert_eq!(
            advice.add_join,
            [
                "JOIN planes ON f.plane_id = planes.id",
                "JOIN makers m ON planes.maker_id = m.id"
            ]
        );
        assert_eq!(advice.hints, Vec::<String>::new());
    }

    #[test]
    fn all_of_several_ways_to_join_a_table_are_named() {
        for (sql, ways) in [
            (
                "SELECT no FROM flights WHERE code = 'BER'",
                [
                    "`JOIN airports ON flights.origin_id = airports.id`",
                    "`JOIN airports ON flights.dest_id = airports.id`",
                ],
            ),
            (
                "SELECT o.no FROM flights o WHERE d.code = 'BER'",
                [
                    "`JOIN airports d ON o.origin_id = d.id`",
                    "`JOIN airports d ON o.dest_id = d.id`",
                ],
            ),
            (
                "SELECT a.no, p.maker_id FROM flights a JOIN flights b ON a.no = b.no",
                [
                    "`JOIN planes p ON a.plane_id = p.id`",
                    "`JOIN planes p ON b.plane_id = p.id`",
                ],
            ),
        ] {
            let advice = advised(sql);
            assert!(advice.add_join.is_empty(), "{sql}: {advice:?}");
            assert!(advice.replace.is_empty(), "{sql}: {advice:?}");
            for way in ways {
                assert!(advice.hints[0].contains(way), "{sql}: {advice:?}");
            }
        }
    }

    #[test]
    fn table_that_may_be_read_a_second_time_is_not_taken_for_the_first() {
        for (sql, column) in [
            (
                "SELECT f.no FROM flights f JOIN airports o ON o.id = f.origin_id WHERE d.code = 'BER'",
                "write o.code if",
            ),
            (
                "SELECT a.no FROM flights a JOIN airports a1 ON a1.id = a.origin_id WHERE a2.code = 'BER'",
                "write a1.code if",
            ),
            (
                "SELECT e.full_name FROM staff e WHERE boss.full_name = 'A B'",
                "write e.full_name if",
            ),
        ] {
            let advice = advised(sql);
            assert!(advice.replace.is_empty(), "{sql}: {advice:?}");
            assert!(advice.add_join.is_empty(), "{sql}: {advice:?}");
            assert!(advice.hints[0].contains(column), "{sql}: {advice:?}");
        }
    }

    #[test]
    fn each_reading_of_a_table_is_named() {
        let both = "FROM staff e JOIN staff m ON m.id = e.boss_id";
        for column in ["staff.full_name", "full_nam"] {
            let advice = advised(&format!("SELECT {column} {both}"));
            assert_eq!(advice.replace[0].written, column);
            assert_eq!(advice.replace[0].instead, ["e.full_name", "m.full_name"]);
            assert!(advice.hints[0].ends_with("choose the one that is meant"));
        }
    }

    #[test]
    fn qualifier_that_is_certain_is_replaced() {
        for (sql, instead) in [
            ("SELECT staff.full_name FROM staff e", "e.full_name"),
            ("SELECT s.full_name, s.id FROM staff", "staff.full_name"),
            (
                "SELECT staf.full_name FROM staff e WHERE e.id = 1",
                "e.full_name",
            ),
        ] {
            let advice = advised(sql);
            assert_eq!(advice.replace[0].instead, [instead], "{sql}");
            assert_eq!(advice.hints, Vec::<String>::new(), "{sql}");
        }
    }
}
