//! Qualifiers that no table of the statement has: of a table that it lacks, or written wrongly.

use super::{
    MAX_ADVICES,
    names::{is_compared_with, spelled_column},
    nearest::{nearest, suits},
    statement_scope::{KnownTable, StatementScope},
};
use mindhost_sql::outline::{Column, Name, Outline};

/// A qualifier without a table.
pub struct Qualifier<'a, 'b> {
    /// What the statement may read.
    pub known: &'b StatementScope<'a>,
    /// What the statement names.
    pub outline: &'b Outline,
    /// The tables that it reads.
    pub used: &'b [KnownTable<'a>],
    /// The qualifier as it is written.
    pub name: &'b Name,
}

/// What a qualifier means.
pub enum Meaning<'a> {
    /// A table that the statement does not read.
    Missing(KnownTable<'a>),
    /// Tables that it reads: what to write in place of the column, best first; none if that is not known.
    Columns(Vec<String>),
}

impl<'a> Qualifier<'a, '_> {
    /// What it means in front of a column. `unknown` are the columns that the statement lacks, of any qualifier.
    pub fn meaning(&self, column: &Column, unknown: &[&Column]) -> Meaning<'a> {
        let text = &self.name.text;
        let mut tables = self.known.tables.iter();
        match tables.find(|table| table.name.eq_ignore_ascii_case(text)) {
            // The table is read under an alias.
            Some(table) if self.used.contains(table) => {
                let alias = self.known.qualifier(table, self.outline);
                return Meaning::Columns(vec![format!("{alias}.{}", column.name.text)]);
            }
            Some(table) if table.has(&column.name) => return Meaning::Missing(*table),
            _ => {}
        }
        let is_its = |one: &&&Column| {
            let qualifier = one.qualifier.as_ref();
            qualifier.is_some_and(|one| one.text.eq_ignore_ascii_case(text))
        };
        let columns: Vec<&Column> = unknown.iter().filter(is_its).copied().collect();
        let has_all = |table: &&KnownTable<'a>| columns.iter().all(|one| table.has(&one.name));
        let is_itself = |table: &KnownTable<'a>| {
            let mut columns = columns.iter();
            columns.any(|one| is_compared_with(self.known, self.outline, one, table))
        };
        let (read, others): (Vec<&KnownTable<'a>>, Vec<&KnownTable<'a>>) = self
            .known
            .tables
            .iter()
            .filter(has_all)
            .partition(|table| self.used.contains(*table));
        let read: Vec<&KnownTable<'a>> = read.into_iter().filter(|one| !is_itself(one)).collect();
        let best = |tables: &[&KnownTable<'a>]| {
            let scores = tables.iter().map(|table| suits(text, table.name));
            scores.max().unwrap_or(0)
        };
        let (by_read, by_other) = (best(&read), best(&others));
        let suiting = others
            .iter()
            .filter(|one| suits(text, one.name) == by_other);
        let mut suiting = suiting.copied();
        // Without a table that suits it, one that the statement reads is more likely than another.
        let is_missing = by_other > by_read || read.is_empty();
        if is_missing && let (Some(only), None) = (suiting.next(), suiting.next()) {
            return Meaning::Missing(*only);
        }
        Meaning::Columns(match read.is_empty() {
            false => self.of(read, column),
            true => self.written_wrongly(column),
        })
    }

    /// The column of each of these tables, those that the qualifier suits first.
    fn of(&self, mut tables: Vec<&KnownTable<'a>>, column: &Column) -> Vec<String> {
        tables.sort_by_key(|table| std::cmp::Reverse(suits(&self.name.text, table.name)));
        let written = |table: &KnownTable<'a>| {
            let alias = self.known.qualifier(table, self.outline);
            let name = spelled_column(self.known, table, &column.name);
            format!("{alias}.{name}")
        };
        tables.into_iter().take(MAX_ADVICES).map(written).collect()
    }

    /// Where no table has all columns of the qualifier: the tables that have this one, or an alias that is almost it.
    fn written_wrongly(&self, column: &Column) -> Vec<String> {
        let has = |table: &&KnownTable<'a>| {
            table.has(&column.name) && !is_compared_with(self.known, self.outline, column, table)
        };
        let having: Vec<&KnownTable<'a>> = self.used.iter().filter(has).collect();
        if !having.is_empty() {
            return self.of(having, column);
        }
        // Of a table that the catalog has not loaded, or of a CTE, any column may be meant.
        let tables = self.outline.tables().filter(|table| {
            let found = self.known.find(table);
            found.is_none_or(|found| found.columns.is_empty())
        });
        let aliases = tables.map(|table| {
            let alias = table.alias.clone();
            alias.unwrap_or_else(|| table.name.text.clone())
        });
        let aliases = nearest(&self.name.text, aliases.map(|alias| (alias.clone(), alias)));
        let written = |alias: &String| format!("{alias}.{}", column.name.text);
        aliases.iter().map(written).collect()
    }
}
