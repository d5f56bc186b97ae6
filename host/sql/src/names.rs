//! Resolves the names of tables.

use sqlparser::ast::Ident;

use super::{
    rules::Rules,
    scope::{Scope, ScopeDatasource, ScopeTable},
    table_policy::TablePolicy,
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::TableRef;

/// Names that a message lists at most.
const MAX_NAMES: usize = 12;

/// A table of the scope that a written name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResolvedTable<'a> {
    /// Index of its datasource into [`Scope::datasources`].
    pub datasource: usize,
    /// As the engine spells it.
    pub table: &'a TableRef,
    /// The columns of its primary key; none if it is not known.
    pub key: &'a [String],
    /// What the caller may see of it.
    pub policy: Option<&'a TablePolicy>,
}

/// Finds the one table that `parts` mean: `table`, `schema.table`, `datasource.table` or
/// `datasource.schema.table`.
///
/// With one datasource, `schema.table` comes first, as in its engine. With several, `datasource.table` comes first.
///
/// Only where nothing fits, the tables of MySQL are looked for in any case: see [`Rules::is_table`].
///
/// # Errors
/// `sql_table_ambiguous` with the candidates, or `sql_table_not_allowed` with similar names of the scope. The error is
/// the same for a table outside of the scope and one that does not exist.
pub(super) fn resolve<'a>(scope: &'a Scope, parts: &[&Ident]) -> Result<ResolvedTable<'a>> {
    let readings: &[Reading] = match (parts.len(), scope.datasources.len()) {
        (1, _) => &[Reading::Bare],
        (2, 1) => &[Reading::Schema, Reading::Datasource],
        (2, _) => &[Reading::Datasource, Reading::Schema],
        (3, _) => &[Reading::Full],
        _ => &[],
    };
    for in_any_case in [false, true] {
        for reading in readings {
            match matches(scope, *reading, parts, in_any_case).as_slice() {
                [] => {}
                [one] => return Ok(*one),
                several => return Err(ambiguous(scope, parts, several)),
            }
        }
    }
    Err(unknown(scope, parts))
}

#[derive(Clone, Copy)]
enum Reading {
    Bare,
    Schema,
    Datasource,
    Full,
}

fn matches<'a>(
    scope: &'a Scope,
    reading: Reading,
    parts: &[&Ident],
    in_any_case: bool,
) -> Vec<ResolvedTable<'a>> {
    let (datasource, schema, name) = match (reading, parts) {
        (Reading::Bare, [name]) => (None, None, name),
        (Reading::Schema, [schema, name]) => (None, Some(schema), name),
        (Reading::Datasource, [datasource, name]) => (Some(datasource), None, name),
        (Reading::Full, [datasource, schema, name]) => (Some(datasource), Some(schema), name),
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for (index, candidate) in scope.datasources.iter().enumerate() {
        if datasource.is_some_and(|written| !is_datasource(scope, candidate, written)) {
            continue;
        }
        let rules = Rules::of(candidate.dialect);
        let same = |written: &Ident, stored: &str| rules.is_table(written, stored, in_any_case);
        found.extend(
            candidate
                .tables
                .iter()
                .filter(|ScopeTable { table, .. }| {
                    same(name, &table.name)
                        && schema.is_none_or(|schema| same(schema, &table.schema))
                })
                .map(|table| ResolvedTable {
                    datasource: index,
                    table: &table.table,
                    key: &table.key,
                    policy: table.policy.as_deref(),
                }),
        );
    }
    found
}

/// Whether a name means this datasource: exactly, or in another case if no other datasource has that name.
pub(super) fn is_datasource(scope: &Scope, candidate: &ScopeDatasource, written: &Ident) -> bool {
    if scope
        .datasources
        .iter()
        .any(|other| other.name == written.value)
    {
        return candidate.name == written.value;
    }
    written.quote_style.is_none() && candidate.name.eq_ignore_ascii_case(&written.value)
}

fn written(parts: &[&Ident]) -> String {
    let parts: Vec<_> = parts.iter().map(|part| part.value.as_str()).collect();
    parts.join(".")
}

/// The name of a table in a statement for this scope.
fn spelled(scope: &Scope, found: &ResolvedTable<'_>) -> String {
    let Some(datasource) = scope.datasources.get(found.datasource) else {
        return found.table.to_string();
    };
    let rules = Rules::of(datasource.dialect);
    let (schema, name) = (
        rules.spelled(&found.table.schema),
        rules.spelled(&found.table.name),
    );
    if scope.datasources.len() > 1 {
        format!("{}.{schema}.{name}", datasource.name)
    } else {
        format!("{schema}.{name}")
    }
}

fn ambiguous(scope: &Scope, parts: &[&Ident], several: &[ResolvedTable<'_>]) -> Error {
    let names: Vec<_> = several
        .iter()
        .take(MAX_NAMES)
        .map(|found| spelled(scope, found))
        .collect();
    Error::new(
        Code::SqlTableAmbiguous,
        format!(
            "the table name `{}` fits several tables; write one of: {}",
            written(parts),
            names.join(", ")
        ),
    )
}

fn unknown(scope: &Scope, parts: &[&Ident]) -> Error {
    // A parser that does not resolve doubled quotes keeps them, and similar names would be the same one.
    let has_backtick = |part: &&Ident| part.quote_style == Some('`') && part.value.contains("``");
    if parts.iter().any(has_backtick) {
        return Error::new(
            Code::SqlTableNotAllowed,
            format!(
                "`{}`: a name with a backtick in it cannot be read here; read a view with another name",
                written(parts)
            ),
        );
    }
    let mut all: Vec<(usize, String)> = Vec::new();
    let wanted = parts
        .last()
        .map(|part| part.value.to_lowercase())
        .unwrap_or_default();
    for (index, datasource) in scope.datasources.iter().enumerate() {
        for table in &datasource.tables {
            let found = ResolvedTable {
                datasource: index,
                table: &table.table,
                key: &table.key,
                policy: None,
            };
            all.push((
                distance(&wanted, &table.table.name.to_lowercase()),
                spelled(scope, &found),
            ));
        }
    }
    all.sort();
    let near = all
        .iter()
        .filter(|(distance, _)| *distance <= 2 + wanted.len() / 4)
        .count();
    let (word, shown) = if near > 0 {
        ("similar ones are", near)
    } else {
        ("it has", all.len())
    };
    let names: Vec<_> = all
        .iter()
        .take(shown.min(MAX_NAMES))
        .map(|(_, name)| name.as_str())
        .collect();
    let more = if shown > names.len() { ", …" } else { "" };
    let known = if names.is_empty() {
        "it has none".to_owned()
    } else {
        format!("{word}: {}{more}", names.join(", "))
    };
    Error::new(
        Code::SqlTableNotAllowed,
        format!("`{}` is not a table of this Mind; {known}", written(parts)),
    )
}

/// The edit distance of two names, of which only the first 64 characters count.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let here = (diagonal + usize::from(x != *y))
                .min(left + 1)
                .min(*cell + 1);
            diagonal = std::mem::replace(cell, here);
            left = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
