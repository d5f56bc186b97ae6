//! Names of tables and columns in knowledge.

use std::collections::BTreeSet;

use crate::results::Access;
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{Dialect, TableRef};
use mindhost_sql::guard::{ScopeDatasource, ScopeTable};

/// Names that a message lists at most.
const MOST_NAMES: usize = 3;

/// How alike a name must be to be suggested, from 0 to 1.
const ALIKE: f64 = 0.75;

/// A table of the Mind, with its datasource.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScopedTable<'a> {
    pub datasource: &'a ScopeDatasource,
    pub table: &'a ScopeTable,
}

impl ScopedTable<'_> {
    /// `"datasource"."schema"."table"`, quoted for this dialect.
    pub fn quoted(&self, dialect: Dialect) -> String {
        let TableRef { schema, name } = &self.table.table;
        let parts = [&self.datasource.name, schema, name];
        let parts = parts.iter().filter(|part| !part.is_empty());
        let parts: Vec<_> = parts.map(|part| quoted(dialect, part)).collect();
        parts.join(".")
    }
}

/// The name as an identifier: in backticks for MySQL and ClickHouse, else in double quotes.
pub(super) fn quoted(dialect: Dialect, name: &str) -> String {
    match dialect {
        Dialect::Mysql => format!("`{}`", name.replace('`', "``")),
        // A backslash begins an escape there, within quotes too.
        Dialect::Clickhouse => {
            format!("`{}`", name.replace('\\', "\\\\").replace('`', "``"))
        }
        _ => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// The one table that is called so: `table`, `schema.table`, `datasource.table` or `datasource.schema.table`. In this
/// case if there is one, else in any.
///
/// # Errors
/// `unknown_table` with the nearest names, `ambiguous_table` with the candidates.
pub(super) fn table<'a>(access: &'a Access, param: &str, name: &str) -> Result<ScopedTable<'a>> {
    let exactly = |written: &str| written == name;
    let in_any_case = |written: &str| written.to_lowercase() == name.to_lowercase();
    let mut found = tables_called(access, exactly);
    if found.is_empty() {
        found = tables_called(access, in_any_case);
    }
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(unknown_table(access, name).param(param)),
        several => {
            let names: Vec<_> = several.iter().take(12).map(full_name).collect();
            let message = format!(
                "'{name}' fits several tables; write one of: {}",
                names.join(", ")
            );
            Err(Error::new(Code::AmbiguousTable, message).param(param))
        }
    }
}

fn tables_called<'a>(access: &'a Access, is_called: impl Fn(&str) -> bool) -> Vec<ScopedTable<'a>> {
    let mut found = Vec::new();
    for datasource in &access.scope.datasources {
        for table in &datasource.tables {
            let (bare, of) = (&table.table.name, &datasource.name);
            let full = table.table.to_string();
            let names = [
                bare.clone(),
                format!("{of}.{bare}"),
                format!("{of}.{full}"),
                full,
            ];
            if names.iter().any(|name| is_called(name)) {
                found.push(ScopedTable { datasource, table });
            }
        }
    }
    found
}

fn full_name(table: &ScopedTable<'_>) -> String {
    format!("{}.{}", table.datasource.name, table.table.table)
}

fn unknown_table(access: &Access, name: &str) -> Error {
    let bare = name.rsplit('.').next().unwrap_or(name);
    let tables = access.scope.datasources.iter().flat_map(|one| &one.tables);
    let names: BTreeSet<&str> = tables.map(|table| table.table.name.as_str()).collect();
    let message = format!("the Mind has no table '{name}'{}", suggestion(bare, &names));
    Error::new(Code::UnknownTable, message)
}

/// Checks that a table has a column, and gives the column's name as the engine spells it. A table that the catalog has
/// not loaded may have any.
///
/// # Errors
/// `unknown_column` with the nearest names.
pub(super) fn column(table: ScopedTable<'_>, param: &str, name: &str) -> Result<String> {
    let columns = &table.table.columns;
    let in_any_case = |column: &&String| column.to_lowercase() == name.to_lowercase();
    let found = columns.iter().find(|column| *column == name);
    if let Some(column) = found.or_else(|| columns.iter().find(in_any_case)) {
        return Ok(column.clone());
    }
    if columns.is_empty() {
        return Ok(name.to_owned());
    }
    let names: BTreeSet<&str> = columns.iter().map(String::as_str).collect();
    let message = format!(
        "the table {} has no column '{name}'{}",
        table.table.table,
        suggestion(name, &names)
    );
    Err(Error::new(Code::UnknownColumn, message).param(param))
}

/// `; the nearest names are a and b`, or nothing.
fn suggestion(name: &str, names: &BTreeSet<&str>) -> String {
    let nearest = nearest(name, names);
    match nearest.is_empty() {
        true => String::new(),
        false => format!("; the nearest names are: {}", nearest.join(", ")),
    }
}

/// The most similar names, best first.
fn nearest<'a>(name: &str, names: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let alike = |other: &str| strsim::jaro_winkler(&name, &other.to_lowercase());
    let mut scored: Vec<_> = names.iter().map(|other| (alike(other), *other)).collect();
    scored.retain(|(score, _)| *score >= ALIKE);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored
        .into_iter()
        .take(MOST_NAMES)
        .map(|(_, name)| name)
        .collect()
}

/// What to add to an engine's message about an unknown name: names of the catalog that are like words in it, which are
/// no names of the catalog themselves. Nothing for a message about something else, such as a division by zero.
pub(super) fn hint(access: &Access, message: &str) -> String {
    if !is_of_unknown_name(message) {
        return String::new();
    }
    let tables = access.scope.datasources.iter().flat_map(|one| &one.tables);
    let mut names = BTreeSet::new();
    for table in tables {
        names.insert(table.table.name.as_str());
        names.extend(table.columns.iter().map(String::as_str));
    }
    let is_of_name = |char: char| char.is_alphanumeric() || char == '_';
    let words = message.split(|char: char| !is_of_name(char));
    let words = words.filter(|word| word.len() > 2 && word.contains(is_of_name));
    let known = |word: &str| names.iter().any(|name| name.eq_ignore_ascii_case(word));
    let unknown = words.filter(|word| !known(word) && !is_of_messages(word));
    let best = |word: &str| nearest(word, &names).first().copied();
    let mut hints: Vec<&str> = unknown.take(50).filter_map(best).collect();
    hints.dedup();
    hints.truncate(MOST_NAMES);
    match hints.is_empty() {
        true => String::new(),
        false => format!("; the nearest names are: {}", hints.join(", ")),
    }
}

/// Whether an engine says that it does not know a name.
fn is_of_unknown_name(message: &str) -> bool {
    const PHRASES: [&str; 14] = [
        "not exist",
        "n't exist",
        "not found",
        "no such",
        "unknown",
        "missing column",
        "cannot be resolved",
        "could not be resolved",
        "invalid column name",
        "invalid object name",
        "no field named",
        "no column",
        "missing from-clause entry",
        "could not be bound",
    ];
    let message = message.to_lowercase();
    PHRASES.iter().any(|phrase| message.contains(phrase))
}

/// Words with which engines say that a name is unknown.
fn is_of_messages(word: &str) -> bool {
    const WORDS: [&str; 16] = [
        "column", "table", "relation", "function", "does", "not", "exist", "unknown", "invalid",
        "such", "field", "list", "clause", "name", "error", "missing",
    ];
    WORDS.iter().any(|one| one.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    #[test]
    fn backslash_ends_no_quotes_in_clickhouse() {
        let name = r"a\` b";
        assert_eq!(
            super::quoted(super::Dialect::Clickhouse, name),
            r"`a\\`` b`"
        );
        assert_eq!(super::quoted(super::Dialect::Mysql, name), r"`a\`` b`");
    }

    #[test]
    fn only_unknown_names_have_nearest_ones() {
        for message in [
            "no such column: custmer",
            "column \"custmer\" does not exist",
            "Unknown column 'custmer' in 'field list'",
            "Table 'shop.custmer' doesn't exist",
            "Missing columns: 'custmer' while processing query",
            "Column 'custmer' cannot be resolved",
            "Invalid object name 'custmer'.",
            "Schema error: No field named custmer.",
            "missing FROM-clause entry for table \"custmer\"",
            "The multi-part identifier \"custmer.id\" could not be bound.",
        ] {
            assert!(super::is_of_unknown_name(message), "{message}");
        }
        for message in [
            "division by zero",
            "invalid input syntax for type date: \"x\"",
        ] {
            assert!(!super::is_of_unknown_name(message), "{message}");
        }
    }
}
