//! Tables, columns and keys out of `information_schema`, asked for many tables at a time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

use mindhost_sdk::{Error, ForeignKeyColumn, KeyColumn, Result, Table, TableColumn, TableRef};

use crate::session::{Session, TextRow, literal};

/// What belongs to the server itself, and what only counts up.
const TABLES: &str = "
    SELECT t.TABLE_SCHEMA, t.TABLE_NAME, @@lower_case_table_names FROM information_schema.TABLES t
    WHERE t.TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
        AND t.TABLE_TYPE IN ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED')";

const DATABASES: &str = "
    SELECT s.SCHEMA_NAME, @@lower_case_table_names FROM information_schema.SCHEMATA s WHERE s.SCHEMA_NAME IN ";

const DESCRIBED: &str = "
    SELECT t.TABLE_SCHEMA, t.TABLE_NAME, t.TABLE_TYPE, t.TABLE_COMMENT, t.TABLE_ROWS
    FROM information_schema.TABLES t WHERE ";

/// A column that may not be selected would make every statement with a star fail, so it is not shown.
const COLUMNS: &str = "
    SELECT t.TABLE_SCHEMA, t.TABLE_NAME, t.COLUMN_NAME, t.COLUMN_TYPE, t.IS_NULLABLE, t.COLUMN_DEFAULT,
        t.COLUMN_COMMENT, t.EXTRA, t.GENERATION_EXPRESSION
    FROM information_schema.COLUMNS t WHERE FIND_IN_SET('select', t.PRIVILEGES) AND ";

/// The index says the same as the constraint, and may be read with the right to select alone.
const PRIMARY_KEYS: &str = "
    SELECT t.TABLE_SCHEMA, t.TABLE_NAME, t.INDEX_NAME, t.SEQ_IN_INDEX, t.COLUMN_NAME
    FROM information_schema.STATISTICS t WHERE t.INDEX_NAME = 'PRIMARY' AND ";

const FOREIGN_KEYS: &str = "
    SELECT t.TABLE_SCHEMA, t.TABLE_NAME, t.CONSTRAINT_NAME, t.ORDINAL_POSITION, t.COLUMN_NAME,
        t.REFERENCED_TABLE_SCHEMA, t.REFERENCED_TABLE_NAME, t.REFERENCED_COLUMN_NAME
    FROM information_schema.KEY_COLUMN_USAGE t WHERE t.REFERENCED_TABLE_NAME IS NOT NULL AND ";

/// Looks for the databases that the catalog is restricted to.
///
/// # Errors
/// `NotFound` with the first that the user does not see.
pub(crate) fn check_databases(session: &mut Session, wanted: &[&str]) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let mut absent = wanted.to_vec();
    session.rows(&format!("{DATABASES}{}", list(wanted)), |row| {
        let (stored, folds) = (row.text(0), row.text(1) != "0");
        absent.retain(|wanted| !same(wanted, stored, folds));
        Ok(())
    })?;
    match absent.first() {
        None => Ok(()),
        Some(absent) => Err(Error::not_found(format!(
            "the server has no database `{absent}`, or the user may not see it; correct `schema`"
        ))),
    }
}

fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| literal(name)).collect();
    format!("({})", names.join(", "))
}

/// Every table and view that the user may read, in these databases or in all.
pub(crate) fn tables(session: &mut Session, schemas: &[&str]) -> Result<Vec<TableRef>> {
    let mut sql = TABLES.to_owned();
    if !schemas.is_empty() {
        // Writing into a string cannot fail.
        _ = write!(sql, " AND t.TABLE_SCHEMA IN {}", list(schemas));
    }
    sql.push_str(" ORDER BY 1, 2");
    let mut tables = Vec::new();
    session.rows(&sql, |row| {
        let (schema, folds) = (row.text(0), row.text(2) != "0");
        // The comparison of the server's folds case, also where two databases may differ by it.
        let is_wanted = schemas.iter().any(|wanted| same(wanted, schema, folds));
        if schemas.is_empty() || is_wanted {
            tables.push(TableRef::new(schema, row.text(1)));
        }
        Ok(())
    })?;
    Ok(tables)
}

/// A server that folds the case of names (`lower_case_table_names`) stores them in lower case (1), or as written (2).
fn same(wanted: &str, stored: &str, folds: bool) -> bool {
    wanted == stored || (folds && wanted.to_lowercase() == stored.to_lowercase())
}

/// The tables that were asked for, each at its place in the answer.
struct Places {
    wanted: HashMap<(String, String), Option<usize>>,
    described: Vec<Table>,
}

/// Adds a row of a query to its table.
type Add = fn(&mut Table, &TextRow<'_>);

/// Columns, keys and comments of some tables, in four statements however many they are.
pub(crate) fn describe(session: &mut Session, tables: &[TableRef]) -> Result<Vec<Table>> {
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let wanted = tables
        .iter()
        .map(|table| ((table.schema.clone(), table.name.clone()), None));
    let mut places = Places {
        wanted: wanted.collect(),
        described: Vec::new(),
    };
    let condition = condition(tables);
    session.rows(&format!("{DESCRIBED}{condition}"), |row| {
        // The comparison of the server's folds case, so there may be more than was asked for.
        if let Some(place @ None) = places.wanted.get_mut(&key(row)) {
            *place = Some(places.described.len());
            places.described.push(described_table(row));
        }
        Ok(())
    })?;
    let add_columns: Add = match session.is_mariadb {
        true => add_column_of_mariadb,
        false => add_column_of_mysql,
    };
    let parts: [(&str, &str, Add); 3] = [
        (COLUMNS, "ORDINAL_POSITION", add_columns),
        (PRIMARY_KEYS, "SEQ_IN_INDEX", add_primary_key),
        (
            FOREIGN_KEYS,
            "CONSTRAINT_NAME, t.ORDINAL_POSITION",
            add_foreign_key,
        ),
    ];
    for (select, order, add) in parts {
        let sql = format!("{select}{condition} ORDER BY t.TABLE_SCHEMA, t.TABLE_NAME, t.{order}");
        session.rows(&sql, |row| {
            // A table that was made between two statements has columns but no place.
            if let Some(Some(place)) = places.wanted.get(&key(row))
                && let Some(table) = places.described.get_mut(*place)
            {
                add(table, row);
            }
            Ok(())
        })?;
    }
    Ok(places.described)
}

/// Schema and name of the table that a row is about.
fn key(row: &TextRow<'_>) -> (String, String) {
    (row.text(0).to_owned(), row.text(1).to_owned())
}

fn condition(tables: &[TableRef]) -> String {
    let pairs: Vec<String> = tables
        .iter()
        .map(|table| format!("({}, {})", literal(&table.schema), literal(&table.name)))
        .collect();
    format!("(t.TABLE_SCHEMA, t.TABLE_NAME) IN ({})", pairs.join(", "))
}

fn described_table(row: &TextRow<'_>) -> Table {
    let is_view = row.text(2) == "VIEW";
    let kind = if is_view { "VIEW" } else { "TABLE" };
    let mut table = Table::new(TableRef::new(row.text(0), row.text(1)), kind);
    if !is_view {
        table.comment = comment(row.text(3));
        table.row_count = row.number(4);
    }
    table
}

fn comment(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn add_column_of_mariadb(table: &mut Table, row: &TextRow<'_>) {
    add_column(table, row, mariadb_default(row.optional(5)));
}

fn add_column_of_mysql(table: &mut Table, row: &TextRow<'_>) {
    let default = row.optional(5);
    let default = default.map(|default| mysql_default(default, row.text(3), row.text(7)));
    add_column(table, row, default);
}

fn add_column(table: &mut Table, row: &TextRow<'_>, default: Option<String>) {
    let ordinal = u32::try_from(table.columns.len() + 1).unwrap_or(u32::MAX);
    let mut column = TableColumn::new(row.text(2), ordinal, shown_type(row.text(3)));
    column.nullable = row.text(4) == "YES";
    column.comment = comment(row.text(6));
    let extra = row.text(7);
    column.default_value = match row.text(8) {
        "" if extra.contains("auto_increment") => Some("AUTO_INCREMENT".into()),
        "" => default,
        expression => {
            let kind = match extra.contains("VIRTUAL") {
                true => "",
                false => " STORED",
            };
            Some(format!("GENERATED ALWAYS AS ({expression}){kind}"))
        }
    };
    table.columns.push(column);
}

/// What a column's type may take, in bytes: `enum` and `set` list values without end, and a name has 4096 at most.
const MAX_TYPE: usize = 4_000;

/// The type as the server writes it, but of a very long list of values only the first ones, and `…`.
fn shown_type(written: &str) -> Cow<'_, str> {
    let (kept, mut end, mut is_quoted) = (written.floor_char_boundary(MAX_TYPE), 0, false);
    if kept == written.len() {
        return written.into();
    }
    for (at, character) in written[..kept].char_indices() {
        match character {
            // A quote in a value is doubled, which ends the value and begins it again.
            '\'' => is_quoted = !is_quoted,
            '(' | ',' if !is_quoted => end = at + 1,
            _ => {}
        }
    }
    format!("{}…)", &written[..end]).into()
}

/// MariaDB writes a default as an expression: a text is in quotes, and NULL without them says that there is none.
fn mariadb_default(default: Option<&str>) -> Option<String> {
    default
        .filter(|default| *default != "NULL")
        .map(str::to_owned)
}

/// A default of MySQL's as MariaDB writes it. MySQL writes a literal without quotes and marks an expression in the
/// column's extra. Where there is no default it has no text.
fn mysql_default(default: &str, column_type: &str, extra: &str) -> String {
    let mut words = column_type.split(|c: char| !c.is_ascii_alphabetic());
    let is_plain = match words.next().unwrap_or_default() {
        // The default of a bit is written as b'101', and that of bytes as 0x616263.
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "float"
        | "double" | "year" | "bit" | "binary" | "varbinary" => true,
        // Servers that imitate MySQL may not mark this one.
        "datetime" | "timestamp" => default.starts_with("CURRENT_TIMESTAMP"),
        _ => false,
    };
    if is_plain || extra.contains("DEFAULT_GENERATED") {
        return default.to_owned();
    }
    quoted(default)
}

/// A text in quotes, escaped as MariaDB does it for `information_schema`.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for c in text.chars() {
        match c {
            '\'' => quoted.push_str("''"),
            '\\' => quoted.push_str("\\\\"),
            '\0' => quoted.push_str("\\0"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

fn add_primary_key(table: &mut Table, row: &TextRow<'_>) {
    table.primary_key.push(KeyColumn {
        constraint_name: row.text(2).to_owned(),
        ordinal: row.number(3).unwrap_or_default(),
        column: row.text(4).to_owned(),
    });
}

fn add_foreign_key(table: &mut Table, row: &TextRow<'_>) {
    table.foreign_keys.push(ForeignKeyColumn {
        constraint_name: row.text(2).to_owned(),
        ordinal: row.number(3).unwrap_or_default(),
        column: row.text(4).to_owned(),
        referenced: TableRef::new(row.text(5), row.text(6)),
        referenced_column: row.text(7).to_owned(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_very_long_list_of_values_is_cut() {
        let list = |count| {
            let values: Vec<String> = (0..count).map(|n| format!("'it''s, ({n:04})'")).collect();
            format!("enum({})", values.join(","))
        };
        assert_eq!(shown_type(&list(200)), list(200));
        let shown = shown_type(&list(599)).into_owned();
        assert!(shown.len() < 4_096, "{}", shown.len());
        let kept = shown.strip_suffix(",…)").unwrap();
        assert!(kept.ends_with(")'"), "{kept}");
        assert!(list(599).starts_with(kept));
        let long = format!("set('{}')", "ä".repeat(9_000));
        assert_eq!(shown_type(&long), "set(…)");
    }

    #[test]
    fn case_of_a_database_counts_where_the_server_keeps_it_apart() {
        for (wanted, stored, folds, expected) in [
            ("shop", "shop", false, true),
            ("Shop", "shop", false, false),
            ("Shop", "shop", true, true),
            ("shop", "Shop", true, true),
            ("shops", "shop", true, false),
        ] {
            assert_eq!(same(wanted, stored, folds), expected, "{wanted} {stored}");
        }
    }

    #[test]
    fn defaults_of_mysql_are_written_as_those_of_mariadb() {
        for (default, column_type, extra, expected) in [
            ("guest", "varchar(40)", "", "'guest'"),
            ("NULL", "varchar(9)", "", "'NULL'"),
            ("", "varchar(9)", "", "''"),
            ("it's \\\n", "varchar(9)", "", r"'it''s \\\n'"),
            ("7", "varchar(9)", "", "'7'"),
            ("new", "enum('new','paid')", "", "'new'"),
            ("uuid()", "varchar(36)", "", "'uuid()'"),
            ("uuid()", "varchar(36)", "DEFAULT_GENERATED", "uuid()"),
            ("2020-01-01", "date", "", "'2020-01-01'"),
            (
                "(curdate() + interval 1 day)",
                "date",
                "DEFAULT_GENERATED",
                "(curdate() + interval 1 day)",
            ),
            (
                "2020-01-01 00:00:00",
                "timestamp",
                "",
                "'2020-01-01 00:00:00'",
            ),
            (
                "CURRENT_TIMESTAMP(3)",
                "datetime(3)",
                "DEFAULT_GENERATED on update CURRENT_TIMESTAMP(3)",
                "CURRENT_TIMESTAMP(3)",
            ),
            ("CURRENT_TIMESTAMP", "timestamp", "", "CURRENT_TIMESTAMP"),
            (
                "CURRENT_TIMESTAMP",
                "varchar(20)",
                "",
                "'CURRENT_TIMESTAMP'",
            ),
            ("5", "int unsigned", "", "5"),
            ("1.50", "decimal(5,2)", "", "1.50"),
            ("b'101'", "bit(3)", "", "b'101'"),
            ("0x616263", "binary(3)", "", "0x616263"),
        ] {
            let written = mysql_default(default, column_type, extra);
            assert_eq!(written, expected, "{default} of {column_type} {extra}");
        }
    }

    #[test]
    fn no_default_of_mariadb_is_its_word_without_quotes() {
        for (default, expected) in [
            (None, None),
            (Some("NULL"), None),
            (Some("'NULL'"), Some("'NULL'")),
            (Some("uuid()"), Some("uuid()")),
        ] {
            assert_eq!(mariadb_default(default).as_deref(), expected);
        }
    }
}
