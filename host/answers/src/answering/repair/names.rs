//! Names of tables and columns that do not exist, and the nearest that do.

use super::{
    Advice, Replace,
    nearest::nearest,
    statement_scope::{KnownTable, StatementScope},
};
use mindhost_sql::outline::{Column, Name, Outline, spelled};

/// Adds what to write in place of unknown names. Returns the tables that the statement needs but does not read.
pub fn advise<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    advice: &mut Advice,
) -> Vec<KnownTable<'a>> {
    for table in outline.tables() {
        let is_cte =
            table.parts.len() == 1 && outline.defined.contains(&table.name.text.to_lowercase());
        if is_cte || known.find(table).is_some() {
            continue;
        }
        let candidates = known
            .tables
            .iter()
            .map(|one| (one.name.to_owned(), known.written(one)));
        let instead = nearest(&table.name.text, candidates);
        if !instead.is_empty() {
            let written = table.parts.join(".");
            advice.replace.push(Replace::new(written, 0, instead));
        }
    }
    // A column of an unknown table is unknown too, and says nothing.
    if !advice.replace.is_empty() {
        return Vec::new();
    }
    let mut missing = Vec::new();
    for column in &outline.columns {
        let table = unknown(known, outline, column, advice);
        if let Some(table) = table.filter(|table| !missing.contains(table)) {
            missing.push(table);
        }
    }
    missing
}

/// Advises on one column, if it is unknown. Returns a table that it needs.
fn unknown<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    column: &Column,
    advice: &mut Advice,
) -> Option<KnownTable<'a>> {
    match &column.qualifier {
        Some(qualifier) => {
            let Some(table) = known.qualified(qualifier, outline) else {
                return unknown_qualifier(known, outline, column, qualifier, advice);
            };
            if table.columns.is_empty() || table.has(&column.name) {
                return None;
            }
            in_place_of_qualified(known, outline, column, &table, advice)
        }
        None => {
            let used = known.used(outline);
            let is_known = outline.defined.contains(&column.name.text.to_lowercase())
                || used.is_empty()
                || used
                    .iter()
                    .any(|table| table.columns.is_empty() || table.has(&column.name));
            if is_known {
                return None;
            }
            in_place_of_bare(known, outline, column, &used, advice)
        }
    }
}

fn unknown_qualifier<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    column: &Column,
    qualifier: &Name,
    advice: &mut Advice,
) -> Option<KnownTable<'a>> {
    let text = qualifier.text.to_lowercase();
    if outline.defined.contains(&text) {
        return None;
    }
    let named = known
        .tables
        .iter()
        .find(|table| table.name.eq_ignore_ascii_case(&text));
    let used = known.used(outline);
    match named {
        // The table is read under an alias.
        Some(table) if used.contains(table) => {
            let alias = known.qualifier(table, outline);
            let instead = format!("{alias}.{}", column.name.text);
            advice.replace.push(written(column, vec![instead]));
            None
        }
        Some(table) if table.has(&column.name) => Some(*table),
        _ => {
            let own = used.iter().filter(|table| table.has(&column.name));
            let mut instead: Vec<String> = own
                .map(|table| {
                    format!(
                        "{}.{}",
                        known.qualifier(table, outline),
                        spelled_column(known, table, &column.name)
                    )
                })
                .collect();
            if instead.is_empty() {
                let aliases = outline.tables().map(|table| {
                    table
                        .alias
                        .clone()
                        .unwrap_or_else(|| table.name.text.clone())
                });
                let aliases = nearest(&qualifier.text, aliases.map(|alias| (alias.clone(), alias)));
                instead = aliases
                    .iter()
                    .map(|alias| format!("{alias}.{}", column.name.text))
                    .collect();
            }
            if !instead.is_empty() {
                advice.replace.push(written(column, instead));
            }
            None
        }
    }
}

/// A column that the table behind its qualifier does not have.
fn in_place_of_qualified<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    column: &Column,
    table: &KnownTable<'a>,
    advice: &mut Advice,
) -> Option<KnownTable<'a>> {
    let qualifier = column
        .qualifier
        .as_ref()
        .map_or("", |name| name.text.as_str());
    let used = known.used(outline);
    let elsewhere = used
        .iter()
        .filter(|other| *other != table && other.has(&column.name));
    let mut instead: Vec<String> = elsewhere
        .map(|other| {
            format!(
                "{}.{}",
                known.qualifier(other, outline),
                spelled_column(known, other, &column.name)
            )
        })
        .collect();
    let own = table.columns.iter().map(|name| {
        (
            name.clone(),
            format!("{qualifier}.{}", spelled(known.dialect, name)),
        )
    });
    instead.extend(nearest(&column.name.text, own));
    if !instead.is_empty() {
        advice.replace.push(written(column, instead));
        return None;
    }
    table_with(known, &used, &column.name)
}

/// A column that no table of the statement has.
fn in_place_of_bare<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    column: &Column,
    used: &[KnownTable<'a>],
    advice: &mut Advice,
) -> Option<KnownTable<'a>> {
    if let Some(table) = table_with(known, used, &column.name) {
        return Some(table);
    }
    let qualifies = used.len() > 1;
    let candidates = used.iter().flat_map(|table| {
        table.columns.iter().map(move |name| {
            let spelled = spelled(known.dialect, name);
            let text = match qualifies {
                true => format!("{}.{spelled}", known.qualifier(table, outline)),
                false => spelled,
            };
            (name.clone(), text)
        })
    });
    let mut instead = nearest(&column.name.text, candidates);
    if column.name.quote == Some('"') {
        let text = format!("'{}'", column.name.text.replace('\'', "''"));
        // Close to a column it is one; else it was meant as a text.
        let at = if is_close(&instead, &column.name.text) {
            instead.len()
        } else {
            0
        };
        instead.insert(at, text);
        advice.hint("texts stand in single quotes: 'text'; double quotes are for names");
    }
    if !instead.is_empty() {
        advice.replace.push(written(column, instead));
    }
    None
}

fn is_close(found: &[String], written: &str) -> bool {
    found.first().is_some_and(|first| {
        let name = first.rsplit('.').next().unwrap_or(first);
        super::nearest::likeness(name.trim_matches('"'), written) > 0.7
    })
}

/// A table that the statement does not read, with this very column.
fn table_with<'a>(
    known: &StatementScope<'a>,
    used: &[KnownTable<'a>],
    name: &Name,
) -> Option<KnownTable<'a>> {
    let mut with = known
        .tables
        .iter()
        .filter(|table| !used.contains(table) && table.has(name));
    match (with.next(), with.next()) {
        (Some(only), None) => Some(*only),
        _ => None,
    }
}

fn spelled_column(known: &StatementScope<'_>, table: &KnownTable<'_>, written: &Name) -> String {
    let stored = table
        .columns
        .iter()
        .find(|column| column.eq_ignore_ascii_case(&written.text));
    spelled(
        known.dialect,
        stored.map_or(written.text.as_str(), String::as_str),
    )
}

/// A column as the statement has it.
fn written(column: &Column, instead: Vec<String>) -> Replace {
    let quoted = |name: &Name| match name.quote {
        Some('[') => format!("[{}]", name.text),
        Some(quote) => format!("{quote}{}{quote}", name.text),
        None => name.text.clone(),
    };
    let (text, first) = match &column.qualifier {
        Some(qualifier) => (
            format!("{}.{}", quoted(qualifier), quoted(&column.name)),
            qualifier,
        ),
        None => (quoted(&column.name), &column.name),
    };
    Replace::new(text, first.position, instead)
}
