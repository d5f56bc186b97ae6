//! Tables and columns, from `system.tables` and `system.columns`.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use mindhost_sdk::{Result, Table, TableColumn, TableRef, log};

use crate::cursor::Session;
use crate::error::malformed;
use crate::http::{Sending, is_sayable, rows};
use crate::types::Type;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// What the columns of a hundred tables may take, in bytes.
const MAX_ANSWER: usize = 64 << 20;
/// The most tables that the host takes.
const MAX_TABLES: usize = 100_000;

/// The databases that the server has for itself.
const SYSTEM: &str = "('system', 'information_schema', 'INFORMATION_SCHEMA')";

/// Every table and view that the user may see. A view with parameters has no columns: it is a function.
pub(crate) fn tables(session: &Session<'_>) -> Result<Vec<TableRef>> {
    let which = match &session.data.database {
        Some(database) => format!("database = {}", literal(database)),
        None => format!("database NOT IN {SYSTEM}"),
    };
    let sql = format!(
        "SELECT database, name FROM system.tables WHERE {which} AND is_temporary = 0 AND name NOT LIKE '.inner%' \
         AND (engine != 'View' OR (database, name) IN (SELECT database, table FROM system.columns WHERE {which})) \
         ORDER BY database, name LIMIT {}",
        MAX_TABLES + 1
    );
    let rows = ask(session, &sql)?;
    let table = |row: Vec<String>| {
        let [database, name] = <[String; 2]>::try_from(row).map_err(|_| unreadable())?;
        Ok(TableRef::new(database, name))
    };
    let tables: Result<Vec<TableRef>> = rows.into_iter().map(table).collect();
    let mut tables = tables?;
    tables.retain(|table| {
        let is_sayable = is_sayable(&table.schema) && is_sayable(&table.name);
        if !is_sayable {
            log::warn(format_args!(
                "the table `{}`.`{}` is not in the catalog: its name is not UTF-8",
                table.schema, table.name
            ));
        }
        is_sayable
    });
    Ok(tables)
}

/// Columns and comments of some tables, in three statements however many they are.
pub(crate) fn describe(session: &Session<'_>, tables: &[TableRef]) -> Result<Vec<Table>> {
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let known = columns_of_system(session)?;
    let pairs: Vec<String> = tables
        .iter()
        .map(|table| format!("({}, {})", literal(&table.schema), literal(&table.name)))
        .collect();
    let wanted = pairs.join(", ");
    let mut described = about(session, &known, &wanted)?;
    for (table, column) in columns(session, &wanted)? {
        if let Some(table) = described.iter_mut().find(|known| known.table == table) {
            let ordinal = u32::try_from(table.columns.len() + 1).unwrap_or(u32::MAX);
            table.columns.push(TableColumn { ordinal, ..column });
        }
    }
    described.retain(|table| !table.columns.is_empty());
    Ok(described)
}

/// Columns of the server's own tables that not every version has.
fn columns_of_system(session: &Session<'_>) -> Result<HashSet<String>> {
    let sql = "SELECT name FROM system.columns WHERE database = 'system' AND table = 'tables' \
               AND name IN ('comment', 'total_rows', 'sorting_key')";
    Ok(ask(session, sql)?.into_iter().flatten().collect())
}

fn about(session: &Session<'_>, known: &HashSet<String>, wanted: &str) -> Result<Vec<Table>> {
    let or =
        |name: &'static str, other: &'static str| if known.contains(name) { name } else { other };
    let sql = format!(
        "SELECT database, name, engine, {}, toString({}), {} FROM system.tables WHERE (database, name) IN ({wanted}) \
         ORDER BY database, name",
        or("comment", "''"),
        or("total_rows", "NULL"),
        or("sorting_key", "''"),
    );
    let counts = match known.contains("total_rows") {
        true => HashMap::new(),
        false => counted(session, wanted)?,
    };
    let table = |row: Vec<String>| {
        let [database, name, engine, comment, total, key] =
            <[String; 6]>::try_from(row).map_err(|_| unreadable())?;
        let at = TableRef::new(database, name);
        let mut table = Table::new(at.clone(), kind(&engine));
        table.comment = (!comment.is_empty()).then_some(comment);
        table.row_count = total
            .parse()
            .ok()
            .or_else(|| counts.get(&(at.schema, at.name)).copied());
        table.extra.push(("engine".into(), engine));
        if !key.is_empty() {
            table.extra.push(("sorting_key".into(), key));
        }
        Ok(table)
    };
    ask(session, &sql)?.into_iter().map(table).collect()
}

/// Servers before version 20 know the rows of their parts only.
fn counted(session: &Session<'_>, wanted: &str) -> Result<HashMap<(String, String), u64>> {
    let sql = format!(
        "SELECT database, table, toString(sum(rows)) FROM system.parts \
         WHERE active AND (database, table) IN ({wanted}) GROUP BY database, table"
    );
    let row = |row: Vec<String>| {
        let [database, table, rows] = <[String; 3]>::try_from(row).map_err(|_| unreadable())?;
        Ok(((database, table), rows.parse().map_err(|_| unreadable())?))
    };
    ask(session, &sql)?.into_iter().map(row).collect()
}

/// The columns in the order of the table. One that is `EPHEMERAL` cannot be selected, and one whose name is not UTF-8
/// cannot be named; one with the state of an aggregation has no value, and would make every sample of its table fail.
fn columns(session: &Session<'_>, wanted: &str) -> Result<Vec<(TableRef, TableColumn)>> {
    let sql = format!(
        "SELECT database, table, name, type, default_kind, default_expression, comment FROM system.columns \
         WHERE (database, table) IN ({wanted}) AND default_kind != 'EPHEMERAL'"
    );
    let column = |row: Vec<String>| {
        let [
            database,
            table,
            name,
            native,
            default_kind,
            default,
            comment,
        ] = <[String; 7]>::try_from(row).map_err(|_| unreadable())?;
        let mut column = TableColumn::new(name, 0, native.as_str());
        let of = Type::parse(&native)?;
        column.nullable = of.nullable;
        column.comment = (!comment.is_empty()).then_some(comment);
        column.default_value = (!default.is_empty()).then_some(default);
        if matches!(default_kind.as_str(), "MATERIALIZED" | "ALIAS") {
            column.extra.push(("default_kind".into(), default_kind));
        }
        let is_sayable = is_sayable(&column.name);
        if !is_sayable {
            log::warn(format_args!(
                "the column `{}` of `{database}`.`{table}` is not in the catalog: its name is not UTF-8",
                column.name
            ));
        }
        let is_known = is_sayable && !of.holds_state();
        Ok(is_known.then(|| (TableRef::new(database, table), column)))
    };
    ask(session, &sql)?
        .into_iter()
        .filter_map(|row| column(row).transpose())
        .collect()
}

fn kind(engine: &str) -> &'static str {
    match engine {
        "View" | "LiveView" | "WindowView" => "VIEW",
        "MaterializedView" => "MATERIALIZED VIEW",
        _ => "TABLE",
    }
}

fn ask(session: &Session<'_>, sql: &str) -> Result<Vec<Vec<String>>> {
    let parameters = vec![("default_format", "TabSeparated".to_owned())];
    let sending = Sending {
        agent: session.agent,
        sql,
        parameters,
        timeout: TIMEOUT,
        before: 0,
    };
    rows(session.data, &sending, MAX_ANSWER)
}

fn unreadable() -> mindhost_sdk::Error {
    malformed("a row of its own catalog that cannot be read")
}

/// A text of SQL.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_their_quotes() {
        assert_eq!(literal(r"a'b\"), r"'a\'b\\'");
    }
}
