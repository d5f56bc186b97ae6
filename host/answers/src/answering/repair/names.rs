//! Names of tables and columns that do not exist, and the nearest that do.

use super::{
    Advice, MAX_ADVICES, MAX_UNKNOWN, Replace,
    nearest::nearest,
    statement_scope::{KnownTable, StatementScope},
};
use mindhost_sql::outline::{Column, Name, Outline, Table, spelled};

/// Adds what to write in place of unknown names. Returns the tables that the statement needs but does not read.
pub fn advise<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    advice: &mut Advice,
) -> Vec<KnownTable<'a>> {
    let is_unknown = |table: &&Table| {
        let is_cte =
            table.parts.len() == 1 && outline.defined.contains(&table.name.text.to_lowercase());
        !is_cte && known.find(table).is_none()
    };
    for table in outline.tables().filter(is_unknown).take(MAX_UNKNOWN) {
        if advice.replace.len() >= MAX_ADVICES {
            break;
        }
        let candidates = known.tables.iter().map(|one| (one.name.to_owned(), one));
        let found = nearest(&table.name.text, candidates).into_iter();
        let instead: Vec<String> = found.map(|one| known.written(one)).collect();
        if !instead.is_empty() {
            let written = table.parts.join(".");
            advice.replace.push(Replace::new(written, 0, instead));
        }
    }
    // A column of an unknown table is unknown too, and says nothing.
    if !advice.replace.is_empty() {
        return Vec::new();
    }
    let used = known.used(outline);
    let is_unknown = |column: &&Column| !is_known(known, outline, &used, column);
    let mut missing = Vec::new();
    for column in outline.columns.iter().filter(is_unknown).take(MAX_UNKNOWN) {
        if advice.replace.len() >= MAX_ADVICES {
            break;
        }
        let table = unknown(known, outline, &used, column, advice);
        if let Some(table) = table.filter(|table| !missing.contains(table)) {
            missing.push(table);
        }
    }
    missing
}

/// Whether a column may be one of the tables that the statement reads.
fn is_known<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    used: &[KnownTable<'a>],
    column: &Column,
) -> bool {
    let may_have = |table: &KnownTable<'_>| table.columns.is_empty() || table.has(&column.name);
    let is_defined = |name: &Name| outline.defined.contains(&name.text.to_lowercase());
    match &column.qualifier {
        Some(qualifier) => match known.qualified(qualifier, outline) {
            Some(table) => may_have(&table),
            None => is_defined(qualifier),
        },
        None => is_defined(&column.name) || used.is_empty() || used.iter().any(may_have),
    }
}

/// Advises on one unknown column. Returns a table that it needs.
fn unknown<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    used: &[KnownTable<'a>],
    column: &Column,
    advice: &mut Advice,
) -> Option<KnownTable<'a>> {
    let Some(qualifier) = &column.qualifier else {
        return in_place_of_bare(known, outline, column, used, advice);
    };
    match known.qualified(qualifier, outline) {
        Some(table) => in_place_of_qualified(known, outline, used, column, &table, advice),
        None => unknown_qualifier(known, outline, used, column, qualifier, advice),
    }
}

fn unknown_qualifier<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    used: &[KnownTable<'a>],
    column: &Column,
    qualifier: &Name,
    advice: &mut Advice,
) -> Option<KnownTable<'a>> {
    let text = qualifier.text.to_lowercase();
    let named = known
        .tables
        .iter()
        .find(|table| table.name.eq_ignore_ascii_case(&text));
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
                .take(MAX_ADVICES)
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
    used: &[KnownTable<'a>],
    column: &Column,
    table: &KnownTable<'a>,
    advice: &mut Advice,
) -> Option<KnownTable<'a>> {
    let qualifier = column
        .qualifier
        .as_ref()
        .map_or("", |name| name.text.as_str());
    let elsewhere = used
        .iter()
        .filter(|other| *other != table && other.has(&column.name));
    let mut instead: Vec<String> = elsewhere
        .take(MAX_ADVICES)
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
    table_with(known, used, &column.name)
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
    let of = |table: &KnownTable<'a>| {
        let table = *table;
        let columns = table.columns.iter();
        columns.map(move |name| (name.clone(), (table, name)))
    };
    let found = nearest(&column.name.text, used.iter().flat_map(of)).into_iter();
    let text = |(table, name): (KnownTable<'a>, &String)| {
        let spelled = spelled(known.dialect, name);
        match qualifies {
            true => format!("{}.{spelled}", known.qualifier(&table, outline)),
            false => spelled,
        }
    };
    let mut instead: Vec<String> = found.map(text).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Access;
    use mindhost_plugin_api::{Dialect, Paging, TableRef};
    use mindhost_sql::{Scope, ScopeDatasource, ScopeTable, outline};

    /// 400 tables of 30 columns.
    fn warehouse() -> Access {
        let table = |number: usize| ScopeTable {
            table: TableRef {
                schema: "main".to_owned(),
                name: format!("fact_{number}"),
            },
            columns: (0..30).map(|column| format!("measure_{column}")).collect(),
            key: Vec::new(),
            row_count: None,
            statistics: Default::default(),
            policy: None,
        };
        Access::of(Scope {
            datasources: vec![ScopeDatasource {
                id: "id of shop".to_owned(),
                name: "shop".to_owned(),
                dialect: Dialect::Postgresql,
                tables: (0..400).map(table).collect(),
                function_schemas: Vec::new(),
                paging: Paging::Sql,
            }],
        })
    }

    fn advised(sql: &str) -> Vec<Replace> {
        let access = warehouse();
        let known = StatementScope::new(&access, Dialect::Postgresql);
        let outline = outline::outline(sql, Dialect::Postgresql).unwrap();
        let mut advice = Advice::default();
        assert_eq!(advise(&known, &outline, &mut advice), []);
        advice.replace
    }

    #[test]
    fn few_of_many_unknown_names_are_compared_with_the_catalog() {
        let tables: Vec<String> = (0..40).map(|one| format!("fact_{one} AS t{one}")).collect();
        let from = tables.join(", ");
        let columns = "measur_1x, ".repeat(20_000);
        let found = advised(&format!("SELECT {columns}1 FROM {from}"));
        assert_eq!(found.len(), MAX_ADVICES);
        assert_eq!(found[0].written, "measur_1x");
        assert!(found[0].instead[0].starts_with("t0.measure_1"), "{found:?}");
        let columns = "zzqqwwkk, ".repeat(20_000);
        assert_eq!(advised(&format!("SELECT {columns}1 FROM {from}")), []);
        let columns = "t39.measure_29, ".repeat(15_000);
        assert_eq!(advised(&format!("SELECT {columns}1 FROM {from}")), []);
        let others = "fact_1x, ".repeat(20_000);
        let found = advised(&format!("SELECT 1 FROM {others}fact_1"));
        assert_eq!(found.len(), MAX_ADVICES);
    }
}
