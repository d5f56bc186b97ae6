//! How tables join: by declared keys, as people say, and where a table has none, by columns of one name and type.

use std::collections::{HashMap, VecDeque};

use crate::schema::{Numbers, Table, TableName, number};

/// Tables that one column may lead to by its name alone; more say nothing.
const MOST_TARGETS: usize = 3;
/// Longest path between two tables, in joins.
const MAX_PATH: usize = 4;

/// A guessed join: tables and columns by number, from the column that refers to the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guess {
    /// The table that refers.
    pub from: u32,
    /// Its column that refers, by its number in the table.
    pub column: u32,
    /// The table with the key.
    pub to: u32,
    /// The column of that key, by its number in `to`.
    pub key: u32,
}

/// The joins between the tables of an index.
#[derive(Debug, Default)]
pub struct Joins {
    /// By table: its neighbours by declared keys and by what people say, in both directions, without repetition.
    declared: Vec<Vec<u32>>,
    /// By table: its neighbours by name.
    guessed: Vec<Vec<u32>>,
    /// All guesses, by the table that refers.
    guesses: HashMap<u32, Vec<Guess>>,
}

impl Joins {
    /// Finds the joins, and adds those that are known.
    pub fn new(tables: &[Table], numbers: &Numbers<'_>, known: &[[TableName; 2]]) -> Self {
        let mut joins = Self {
            declared: vec![Vec::new(); tables.len()],
            guessed: vec![Vec::new(); tables.len()],
            guesses: HashMap::new(),
        };
        joins.read_keys(tables, numbers);
        for [one, other] in known {
            if let (Some(one), Some(other)) = (number(numbers, one), number(numbers, other))
                && one != other
            {
                link(&mut joins.declared, one, other);
            }
        }
        joins.guess(tables);
        for neighbours in joins.declared.iter_mut().chain(&mut joins.guessed) {
            neighbours.sort_unstable();
            neighbours.dedup();
        }
        joins
    }

    /// The neighbours of a table, those of declared keys first.
    pub fn neighbours(&self, table: u32) -> impl Iterator<Item = u32> {
        let (declared, guessed) = (
            &self.declared[table as usize],
            &self.guessed[table as usize],
        );
        declared.iter().chain(guessed).copied()
    }

    /// The guessed joins of a table that refers to others.
    pub fn guesses(&self, table: u32) -> &[Guess] {
        self.guesses.get(&table).map_or(&[], Vec::as_slice)
    }

    /// The tables between `start` and each of the `goals` that can be reached, on a shortest path; declared keys are
    /// tried alone first.
    pub fn between(&self, start: u32, goals: &[u32]) -> Vec<u32> {
        let mut inner = Vec::new();
        let declared = self.search(
            start,
            goals,
            |table| &self.declared[table as usize],
            |_| &[],
        );
        let missed: Vec<u32> = goals
            .iter()
            .filter(|goal| !declared.contains_key(goal))
            .copied()
            .collect();
        let mut paths = declared;
        if !missed.is_empty() {
            let by_key = |table: u32| self.declared[table as usize].as_slice();
            let by_name = |table: u32| self.guessed[table as usize].as_slice();
            paths.extend(self.search(start, &missed, by_key, by_name));
        }
        for goal in goals {
            inner.extend(paths.get(goal).into_iter().flatten());
        }
        inner
    }

    /// The inner tables of a shortest path to each goal that can be reached.
    fn search<'a>(
        &'a self,
        start: u32,
        goals: &[u32],
        first: impl Fn(u32) -> &'a [u32],
        second: impl Fn(u32) -> &'a [u32],
    ) -> HashMap<u32, Vec<u32>> {
        let mut before: HashMap<u32, (u32, usize)> = HashMap::from([(start, (start, 0))]);
        let mut waiting = VecDeque::from([start]);
        let mut left = goals.iter().filter(|goal| **goal != start).count();
        while let Some(table) = waiting.pop_front() {
            let length = before[&table].1;
            if length >= MAX_PATH || left == 0 {
                break;
            }
            for next in first(table).iter().chain(second(table)) {
                if !before.contains_key(next) {
                    before.insert(*next, (table, length + 1));
                    waiting.push_back(*next);
                    left -= usize::from(goals.contains(next));
                }
            }
        }
        let found = goals
            .iter()
            .filter(|goal| **goal != start && before.contains_key(*goal));
        found
            .map(|goal| (*goal, inner(&before, start, *goal)))
            .collect()
    }

    fn read_keys(&mut self, tables: &[Table], numbers: &Numbers<'_>) {
        for (from, table) in tables.iter().enumerate() {
            for key in &table.foreign_keys {
                let to = (&*table.datasource, &*key.schema, &*key.table);
                if let Some(to) = numbers.get(&to).filter(|to| **to != from) {
                    link(&mut self.declared, from, *to);
                }
            }
        }
    }

    /// A column `customer_id` or `customer` of a table without declared keys joins the key of `customer` or
    /// `customers`; a column that has the name of another table's key joins that, unless the name is as common as `id`.
    fn guess(&mut self, tables: &[Table]) {
        let targets = targets(tables);
        for (from, table) in tables.iter().enumerate() {
            if !self.declared[from].is_empty() {
                continue;
            }
            for (column, of) in table.columns.iter().enumerate() {
                let qualified = (&*table.datasource, &*table.schema, plain(&of.name));
                let Some(found) = targets
                    .get(&qualified)
                    .filter(|found| found.len() <= MOST_TARGETS)
                else {
                    continue;
                };
                for (to, key) in found.iter().filter(|(to, _)| *to != from) {
                    if kind(&of.data_type) == kind(&tables[*to].columns[*key].data_type) {
                        link(&mut self.guessed, from, *to);
                        let guess =
                            [from, column, *to, *key].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
                        let [from, column, to, key] = guess;
                        self.guesses.entry(from).or_default().push(Guess {
                            from,
                            column,
                            to,
                            key,
                        });
                    }
                }
            }
        }
    }
}

fn link(neighbours: &mut [Vec<u32>], one: usize, other: usize) {
    if let (Ok(a), Ok(b)) = (u32::try_from(one), u32::try_from(other)) {
        neighbours[one].push(b);
        neighbours[other].push(a);
    }
}

type QualifiedName<'a> = (&'a str, &'a str, String);

/// By the name that a referring column may have: tables and their single key column.
fn targets(tables: &[Table]) -> HashMap<QualifiedName<'_>, Vec<(usize, usize)>> {
    let mut targets: HashMap<QualifiedName<'_>, Vec<(usize, usize)>> = HashMap::new();
    for (number, table) in tables.iter().enumerate() {
        let Some(key) = key_column(table) else {
            continue;
        };
        let own = plain(&table.name);
        let one = own.strip_suffix('s').unwrap_or(&own).to_owned();
        let mut names = vec![format!("{own}id"), format!("{one}id"), one];
        let named = plain(&table.columns[key].name);
        if named != "id" && named != "name" {
            names.push(named);
        }
        names.sort_unstable();
        names.dedup();
        for name in names {
            let qualified = (&*table.datasource, &*table.schema, name);
            targets.entry(qualified).or_default().push((number, key));
        }
    }
    targets
}

/// The only column of the primary key; where none is declared, `id` or `<table>_id`.
fn key_column(table: &Table) -> Option<usize> {
    let position = |name: &str| table.columns.iter().position(|column| column.name == name);
    match &table.primary_key[..] {
        [name] => position(name),
        [] => {
            let own = plain(&table.name);
            let one = own.strip_suffix('s').unwrap_or(&own);
            let is_key = |name: &str| {
                name == "id"
                    || name
                        .strip_suffix("id")
                        .is_some_and(|rest| rest == own || rest == one)
            };
            table
                .columns
                .iter()
                .position(|column| is_key(&plain(&column.name)))
        }
        _ => None,
    }
}

/// Lower-case letters and digits only.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Types that compare: numbers, texts, the rest by name.
fn kind(data_type: &str) -> String {
    let name = data_type.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["int", "num", "dec", "serial", "real", "double", "float"]) {
        return "number".to_owned();
    }
    if has(&["char", "text", "string", "clob"]) {
        return "text".to_owned();
    }
    name.split(['(', ' ']).next().unwrap_or_default().to_owned()
}

fn inner(before: &HashMap<u32, (u32, usize)>, start: u32, goal: u32) -> Vec<u32> {
    let mut path = Vec::new();
    let mut at = before[&goal].0;
    while at != start {
        path.push(at);
        at = before[&at].0;
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Column, ForeignKey, numbers};

    fn of(tables: &[Table]) -> Joins {
        Joins::new(tables, &numbers(tables), &[])
    }

    fn table(name: &str, columns: &[&str], keys: &[(&str, &str)]) -> Table {
        let column = |name: &&str| Column {
            name: (*name).to_owned(),
            data_type: "integer".to_owned(),
            ..Column::default()
        };
        let key = |(column, to): &(&str, &str)| ForeignKey {
            columns: vec![(*column).to_owned()],
            table: (*to).to_owned(),
            referenced: vec!["id".to_owned()],
            ..ForeignKey::default()
        };
        Table {
            name: name.to_owned(),
            columns: columns.iter().map(column).collect(),
            primary_key: vec![columns[0].to_owned()],
            foreign_keys: keys.iter().map(key).collect(),
            ..Table::default()
        }
    }

    #[test]
    fn tables_on_the_shortest_path_of_declared_keys_are_found() {
        let joins = of(&[
            table("customers", &["id"], &[]),
            table(
                "orders",
                &["id", "customer_id"],
                &[("customer_id", "customers")],
            ),
            table(
                "items",
                &["id", "order_id", "product_id"],
                &[("order_id", "orders"), ("product_id", "products")],
            ),
            table("products", &["id"], &[]),
            table("weather", &["id"], &[("id", "gone")]),
        ]);
        assert_eq!(joins.between(0, &[3]), [1, 2]);
        assert_eq!(joins.between(3, &[0, 2]), [2, 1]);
        assert!(joins.between(0, &[4]).is_empty());
        assert_eq!(joins.neighbours(2).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn known_joins_count_as_declared_keys() {
        let tables = [
            table("customers", &["id"], &[]),
            table("visits", &["who"], &[]),
            table("pages", &["id"], &[]),
        ];
        let name = |name: &str| TableName {
            name: name.to_owned(),
            ..TableName::default()
        };
        let known = [
            [name("visits"), name("customers")],
            [name("visits"), name("pages")],
            [name("visits"), name("gone")],
        ];
        let joins = Joins::new(&tables, &numbers(&tables), &known);
        assert_eq!(joins.between(0, &[2]), [1]);
    }

    #[test]
    fn names_join_where_no_key_is_declared() {
        let joins = of(&[
            table("customers", &["id"], &[]),
            table("orders", &["id", "customer_id"], &[]),
            table("stations", &["station_no"], &[]),
            table("trips", &["id", "station_no"], &[]),
        ]);
        assert_eq!(joins.neighbours(1).collect::<Vec<_>>(), [0]);
        assert_eq!(joins.neighbours(2).collect::<Vec<_>>(), [3]);
        let guess = Guess {
            from: 1,
            column: 1,
            to: 0,
            key: 0,
        };
        assert_eq!(joins.guesses(1), [guess]);
    }
}
