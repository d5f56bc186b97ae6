//! Qualifiers that no table of the statement has: of a table that it lacks, or written wrongly.

use super::{
    MAX_ADVICES,
    names::{is_compared_with, spelled_column},
    nearest::{likeness, nearest, suits},
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
    /// A table that it reads: what to write in place of the column, once for each time that the table is read; none
    /// if that is not known.
    Columns(Vec<String>),
    /// Perhaps a table that it reads, in these columns. Perhaps a join is missing, also one more of such a table.
    Uncertain(Vec<String>),
}

/// What a qualifier may be: the name of a table or its alias, and the column that is then meant.
struct Choice {
    name: String,
    column: String,
}

/// The likeness from which a name is taken for a misspelt one.
const MISSPELT: f64 = 0.7;
/// Those of names in all dialects.
const QUOTES: [char; 4] = ['"', '`', '[', ']'];

impl<'a> Qualifier<'a, '_> {
    /// What it means in front of a column. `unknown` are the columns that the statement lacks, of any qualifier.
    pub fn meaning(&self, column: &Column, unknown: &[&Column]) -> Meaning<'a> {
        let text = &self.name.text;
        let mut tables = self.known.tables.iter();
        match tables.find(|table| table.name.eq_ignore_ascii_case(text)) {
            // The table is read under an alias.
            Some(table) if self.used.contains(table) => {
                let aliases = self.known.qualifiers(table, self.outline).into_iter();
                let columns = aliases.map(|alias| format!("{alias}.{}", column.name.text));
                return Meaning::Columns(columns.collect());
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
        let choices = match read.is_empty() {
            false => self.of(read, column),
            true => self.written_wrongly(column),
        };
        let is_certain = matches!(&choices[..], [only] if self.is_certainly(only));
        let columns = choices.into_iter().map(|one| one.column).collect();
        match is_certain {
            true => Meaning::Columns(columns),
            false => Meaning::Uncertain(columns),
        }
    }

    /// Whether the qualifier is this name misspelt, or an abbreviation of it that the statement writes throughout. A
    /// table that is also named rightly may lack a second join; one with another number is another.
    fn is_certainly(&self, choice: &Choice) -> bool {
        let text = &self.name.text;
        let digits = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
        let (written, _) = choice.column.split_once('.').unwrap_or_default();
        let is_written = |column: &Column| {
            let qualifier = column.qualifier.as_ref();
            qualifier.is_some_and(|one| one.text.eq_ignore_ascii_case(written.trim_matches(QUOTES)))
        };
        let is_misspelt = likeness(text, &choice.name) > MISSPELT;
        let abbreviates =
            || suits(text, &choice.name) > 0 && !self.outline.columns.iter().any(is_written);
        digits(text) == digits(&choice.name) && (is_misspelt || abbreviates())
    }

    /// The column of each of these tables, those that the qualifier suits first.
    fn of(&self, mut tables: Vec<&KnownTable<'a>>, column: &Column) -> Vec<Choice> {
        tables.sort_by_key(|table| std::cmp::Reverse(suits(&self.name.text, table.name)));
        let mut choices = Vec::new();
        for table in tables {
            let name = spelled_column(self.known, table, &column.name);
            let aliases = self.known.qualifiers(table, self.outline).into_iter();
            choices.extend(aliases.map(|alias| Choice {
                name: table.name.to_owned(),
                column: format!("{alias}.{name}"),
            }));
        }
        choices.truncate(MAX_ADVICES);
        choices
    }

    /// Where no table has all columns of the qualifier: the tables that have this one, or an alias that is almost it.
    fn written_wrongly(&self, column: &Column) -> Vec<Choice> {
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
        let choice = |alias: String| Choice {
            column: format!("{alias}.{}", column.name.text),
            name: alias,
        };
        aliases.into_iter().map(choice).collect()
    }
}
