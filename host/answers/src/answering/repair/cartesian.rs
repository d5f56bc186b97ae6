//! Aggregates over each row of one table with each row of another, because no condition joins the two.

use std::collections::{HashMap, HashSet};

use super::{
    fan_out::{counts_rows, summed},
    statement_scope::StatementScope,
    warnings::Warning,
};
use mindhost_catalog::TableDetail;
use mindhost_sql::outline::{Block, Column, Outline, Word};

/// The warning for one SELECT of a statement with these words.
pub fn warning(
    known: &StatementScope<'_>,
    outline: &Outline,
    block: &Block,
    words: &[Word],
    described: &[TableDetail],
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
    let mut fixed: HashMap<usize, HashSet<String>> = HashMap::new();
    for column in fixed_columns(outline, block, words) {
        if let Some(number) = groups.of(known, block, column) {
            let names = fixed.entry(number).or_default();
            names.insert(column.name.text.to_lowercase());
        }
    }
    let mut first = None;
    for (number, table) in block.tables.iter().enumerate() {
        let found = known.find(table);
        let place = found.and_then(|found| described.iter().position(|one| found.is_in(one)));
        let Some(detail) = place.and_then(|place| described.get(place)) else {
            continue;
        };
        let is_one = |names: &HashSet<String>| is_one_row(detail, names);
        if fixed.get(&number).is_some_and(is_one) || detail.row_count.is_some_and(|rows| rows <= 1)
        {
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

/// Whether a table has one row at most with a value for each of these columns, whose names are in lower case: they have
/// its primary key, or one of them has no equal values.
fn is_one_row(table: &TableDetail, names: &HashSet<String>) -> bool {
    let key = &table.primary_key;
    let is_fixed = |name: &String| names.contains(&name.to_lowercase());
    let mut columns = table.columns.iter().filter(|one| is_fixed(&one.name));
    let is_unique = columns.any(|column| {
        let counts = column.distinct_count.zip(table.row_count);
        counts.is_some_and(|(distinct, rows)| distinct >= rows)
    });
    is_unique || (!key.is_empty() && key.iter().all(is_fixed))
}

/// The columns that the conditions of a SELECT hold at one value: each is compared by `=` with a constant, or with what
/// a subquery gives, and no OR is beside it.
fn fixed_columns<'a>(outline: &'a Outline, block: &Block, words: &[Word]) -> Vec<&'a Column> {
    const ENDS: [&str; 11] = [
        "GROUP",
        "HAVING",
        "ORDER",
        "LIMIT",
        "UNION",
        "INTERSECT",
        "EXCEPT",
        "WINDOW",
        "FETCH",
        "OFFSET",
        ";",
    ];
    const BREAKS: [&str; 9] = [
        "WHERE", "ON", "AND", "JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS",
    ];
    let position = block.tables.first().map_or(0, |table| table.name.position);
    let start = words.iter().position(|word| word.position == position);
    let mut fixed = Vec::new();
    // The columns of the clause that is read: an OR takes them back.
    let mut clause: Vec<&Column> = Vec::new();
    let (mut has_or, mut depth, mut from) = (false, 0_usize, None);
    let start = start.unwrap_or(words.len());
    for (index, word) in words.iter().enumerate().skip(start) {
        let upper = word.text.to_uppercase();
        match upper.as_str() {
            "(" => depth += 1,
            ")" if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            "OR" => has_or = true,
            text if text == ")" || ENDS.contains(&text) || BREAKS.contains(&text) => {
                let condition = from.and_then(|from| words.get(from..index));
                clause.extend(condition.and_then(|words| fixed_column(outline, words)));
                from = ["WHERE", "ON", "AND"].contains(&text).then_some(index + 1);
                if text != "AND" {
                    if !has_or {
                        fixed.append(&mut clause);
                    }
                    clause.clear();
                    has_or = false;
                }
                if text == ")" || ENDS.contains(&text) {
                    return fixed;
                }
            }
            _ => {}
        }
    }
    let condition = from.and_then(|from| words.get(from..));
    clause.extend(condition.and_then(|words| fixed_column(outline, words)));
    if !has_or {
        fixed.append(&mut clause);
    }
    fixed
}

/// The column of a condition that is nothing but its comparison by `=` with one value.
fn fixed_column<'a>(outline: &'a Outline, condition: &[Word]) -> Option<&'a Column> {
    let (first, last) = (condition.first()?.position, condition.last()?.position);
    let begins = |column: &Column| {
        let start = column.qualifier.as_ref().unwrap_or(&column.name);
        start.position == first
    };
    let mut equal = outline.comparisons.iter().filter(|one| one.operator == "=");
    let is_whole = |column: &Column| begins(column) || column.name.position == last;
    if let Some(found) = equal.find(|one| is_whole(&one.column)) {
        return Some(&found.column);
    }
    let at = condition.iter().position(|word| word.text == "=")?;
    let is = |at: usize, text: &str| {
        let word = condition.get(at);
        word.is_some_and(|word| word.text.eq_ignore_ascii_case(text))
    };
    let is_subquery = is(at + 1, "(") && is(at + 2, "SELECT") && is(condition.len() - 1, ")");
    let is_left = |column: &&Column| {
        let words = if column.qualifier.is_some() { 3 } else { 1 };
        begins(column) && words == at
    };
    outline.columns.iter().find(is_left).filter(|_| is_subquery)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Access;
    use mindhost_plugin_api::{Dialect, TableRef};
    use mindhost_sql::{ScopeDatasource, ScopeTable, outline};

    const COLUMNS: [(&str, [&str; 3]); 2] = [
        ("customer", ["id", "country", "code"]),
        ("invoice", ["id", "total", "state"]),
    ];

    fn is_warned(sql: &str) -> bool {
        let tables =
            COLUMNS.map(|(name, columns)| ScopeTable::new(TableRef::new("main", name), &columns));
        let access =
            Access::of(ScopeDatasource::new("shop", Dialect::Sqlite, tables.into()).into());
        let detail = |&(name, _): &(&str, [&str; 3])| TableDetail {
            datasource: "shop".to_owned(),
            name: format!("main.{name}"),
            kind: "TABLE".to_owned(),
            description: None,
            row_count: Some(100),
            rows_below: None,
            columns: Vec::new(),
            primary_key: vec!["id".to_owned()],
            foreign_keys: Vec::new(),
        };
        let described: Vec<TableDetail> = COLUMNS.iter().map(detail).collect();
        let known = StatementScope::new(&access, Dialect::Sqlite);
        let outline = outline::outline(sql, Dialect::Sqlite).unwrap();
        let words = outline::words(sql, Dialect::Sqlite);
        let mut blocks = outline.blocks.iter();
        blocks.any(|block| warning(&known, &outline, block, &words, &described).is_some())
    }

    #[test]
    fn only_a_filter_for_one_row_of_its_select_makes_a_join_needless() {
        let both = "SELECT sum(i.total) FROM customer c, invoice i";
        for (rest, expected) in [
            ("", true),
            ("WHERE c.country = 'Germany'", true),
            ("WHERE c.id > 5", true),
            ("WHERE c.id = 5 OR c.country = 'Germany'", true),
            ("WHERE NOT c.id = 5", true),
            (
                "WHERE i.total IN (SELECT x.total FROM invoice x WHERE x.id = 5)",
                true,
            ),
            (
                "WHERE i.total > 1 UNION SELECT total FROM invoice i WHERE i.id = 5",
                true,
            ),
            ("WHERE c.id = 5", false),
            ("WHERE i.total > 1 AND 5 = c.id GROUP BY c.country", false),
            ("WHERE i.id = 7 AND c.country = 'Germany'", false),
            (
                "WHERE c.id = (SELECT max(x.id) FROM customer x) AND i.total > 1",
                false,
            ),
        ] {
            let sql = format!("{both} {rest}");
            assert_eq!(is_warned(&sql), expected, "{sql}");
        }
        assert!(!is_warned(
            "SELECT sum(i.total) FROM customer c CROSS JOIN invoice i"
        ));
    }
}
