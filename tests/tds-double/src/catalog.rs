//! The views of `sys` that clients ask for tables, columns and keys, as tables of SQLite.

use anyhow::{Context, Result, anyhow, bail};
use rusqlite::{Connection, params};
use sqlparser::ast::{
    ColumnOption, CreateTable, ForeignKeyConstraint, ObjectName, Statement, TableConstraint,
};
use sqlparser::dialect::MsSqlDialect;
use sqlparser::parser::Parser;

use crate::types::SqlType;

/// The views.
pub(crate) const SYS: &str = "
    CREATE TABLE sys.databases (name sysname, database_id int, snapshot_isolation_state tinyint);
    CREATE TABLE sys.schemas (name sysname, schema_id int);
    INSERT INTO sys.schemas VALUES ('dbo', 1), ('sys', 4), ('sales', 5);
    CREATE TABLE sys.objects (name sysname, object_id int, schema_id int, type char(2), is_ms_shipped bit);
    CREATE TABLE sys.columns (object_id int, name sysname, column_id int, user_type_id int, max_length smallint,
        precision tinyint, scale tinyint, is_nullable bit, is_identity bit, graph_type int);
    CREATE TABLE sys.types (name sysname, user_type_id int);
    CREATE TABLE sys.extended_properties (class tinyint, major_id int, minor_id int, name sysname, value sql_variant);
    CREATE TABLE sys.partitions (object_id int, index_id int, rows bigint);
    CREATE TABLE sys.default_constraints (parent_object_id int, parent_column_id int, definition nvarchar(4000));
    CREATE TABLE sys.computed_columns (object_id int, column_id int, definition nvarchar(4000));
    CREATE TABLE sys.key_constraints (name sysname, parent_object_id int, type char(2), unique_index_id int);
    CREATE TABLE sys.index_columns (object_id int, index_id int, column_id int, key_ordinal tinyint);
    CREATE TABLE sys.foreign_keys (name sysname, object_id int, parent_object_id int, referenced_object_id int);
    CREATE TABLE sys.foreign_key_columns (constraint_object_id int, constraint_column_id int, parent_object_id int,
        parent_column_id int, referenced_object_id int, referenced_column_id int);
";

/// Runs one statement; a table or view that it makes becomes part of the catalog.
pub(crate) fn run(connection: &Connection, sql: &str) -> Result<()> {
    let upper = sql.trim_start().to_ascii_uppercase();
    if upper.starts_with("CREATE TABLE") || upper.starts_with("CREATE VIEW") {
        return create(connection, sql);
    }
    let text = crate::translate::literals(sql);
    connection.execute_batch(&text).with_context(|| text)?;
    count_rows(connection)
}

fn create(connection: &Connection, sql: &str) -> Result<()> {
    let mut parsed = Parser::parse_sql(&MsSqlDialect {}, sql).with_context(|| sql.to_owned())?;
    match parsed.pop() {
        Some(Statement::CreateTable(table)) => create_table(connection, &table),
        Some(Statement::CreateView(view)) => {
            let (schema, name) = parts(&view.name)?;
            let query = crate::translate::select(&view.query.to_string())?;
            // A view of SQLite's sees its own file only, unless it is a temporary one; what it selects is in its
            // schema.
            let text = format!(
                "CREATE VIEW {schema}.{name} AS {}",
                query.text.replace(&format!("{schema}."), "")
            );
            connection
                .execute_batch(&text)
                .with_context(|| text.clone())?;
            let id = object(connection, &schema, &name, "V")?;
            let columns: Vec<(String, String)> = {
                let mut info = connection.prepare(&format!(
                    "SELECT name, type FROM pragma_table_info('{name}', '{schema}')"
                ))?;
                let rows = info.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
                rows.collect::<Result<_, _>>()?
            };
            for (index, (column, kind)) in columns.iter().enumerate() {
                let kind = if kind.is_empty() {
                    "nvarchar(max)"
                } else {
                    kind
                };
                add_column(connection, id, index + 1, column, kind, true, false)?;
            }
            Ok(())
        }
        _ => bail!("`{sql}` makes no table and no view"),
    }
}

fn parts(name: &ObjectName) -> Result<(String, String)> {
    let mut names = name
        .0
        .iter()
        .filter_map(|part| part.as_ident())
        .map(|ident| ident.value.clone());
    match (names.next(), names.next()) {
        (Some(schema), Some(name)) => Ok((schema, name)),
        _ => Err(anyhow!("write `{name}` with its schema")),
    }
}

fn object(connection: &Connection, schema: &str, name: &str, kind: &str) -> Result<i64> {
    let id: i64 = connection.query_row(
        "SELECT COALESCE(MAX(object_id), 100) + 1 FROM sys.objects",
        [],
        |row| row.get(0),
    )?;
    let schema: i64 = connection
        .query_row(
            "SELECT schema_id FROM sys.schemas WHERE name = ?1",
            [schema],
            |row| row.get(0),
        )
        .with_context(|| format!("no schema {schema}"))?;
    connection.execute(
        "INSERT INTO sys.objects VALUES (?1, ?2, ?3, ?4, 0)",
        params![name, id, schema, kind],
    )?;
    Ok(id)
}

fn create_table(connection: &Connection, table: &CreateTable) -> Result<()> {
    let (schema, name) = parts(&table.name)?;
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| {
            let not_null = column
                .options
                .iter()
                .any(|option| matches!(option.option, ColumnOption::NotNull));
            let collation = column
                .options
                .iter()
                .find_map(|option| match &option.option {
                    ColumnOption::Collation(name) => Some(format!(" COLLATE {name}")),
                    _ => None,
                });
            // SQLite would look its own collation up, so ours is part of the type's name.
            let kind = format!("{}{}", column.data_type, collation.unwrap_or_default());
            format!(
                "[{}] \"{kind}\"{}{}",
                column.name.value,
                if not_null { " NOT NULL" } else { "" },
                crate::values::collation(&kind)
            )
        })
        .collect();
    connection.execute_batch(&format!(
        "CREATE TABLE {schema}.[{name}] ({})",
        columns.join(", ")
    ))?;
    let id = object(connection, &schema, &name, "U")?;
    connection.execute("INSERT INTO sys.partitions VALUES (?1, 1, 0)", [id])?;
    for (index, column) in table.columns.iter().enumerate() {
        let options: Vec<&ColumnOption> =
            column.options.iter().map(|option| &option.option).collect();
        let nullable = !options
            .iter()
            .any(|option| matches!(option, ColumnOption::NotNull | ColumnOption::PrimaryKey(_)));
        let identity = options
            .iter()
            .any(|option| matches!(option, ColumnOption::Identity(_)));
        let kind = column.data_type.to_string();
        add_column(
            connection,
            id,
            index + 1,
            &column.name.value,
            &kind,
            nullable,
            identity,
        )?;
        for option in options {
            let column_name = std::slice::from_ref(&column.name.value);
            match option {
                ColumnOption::Default(value) => {
                    let definition = format!("({value})");
                    connection.execute(
                        "INSERT INTO sys.default_constraints VALUES (?1, ?2, ?3)",
                        params![id, index as i64 + 1, definition],
                    )?;
                }
                ColumnOption::PrimaryKey(_) => {
                    primary_key(connection, id, &format!("PK_{name}"), column_name)?
                }
                ColumnOption::ForeignKey(key) => foreign_key(
                    connection,
                    id,
                    &format!("FK_{name}_{}", column.name.value),
                    column_name,
                    key,
                )?,
                _ => {}
            }
        }
    }
    for constraint in &table.constraints {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                let named = key
                    .name
                    .as_ref()
                    .map_or(format!("PK_{name}"), |name| name.value.clone());
                let columns: Vec<String> = key
                    .columns
                    .iter()
                    .map(|column| unquoted(&column.column.expr.to_string()))
                    .collect();
                primary_key(connection, id, &named, &columns)?;
            }
            TableConstraint::ForeignKey(key) => {
                let named = key
                    .name
                    .as_ref()
                    .map_or(format!("FK_{name}"), |name| name.value.clone());
                let columns: Vec<String> = key
                    .columns
                    .iter()
                    .map(|column| column.value.clone())
                    .collect();
                foreign_key(connection, id, &named, &columns, key)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn unquoted(name: &str) -> String {
    name.trim_matches(['[', ']', '"']).to_owned()
}

fn add_column(
    connection: &Connection,
    table: i64,
    place: usize,
    name: &str,
    kind: &str,
    nullable: bool,
    identity: bool,
) -> Result<()> {
    let parsed = SqlType::parse(kind).ok_or_else(|| anyhow!("no type {kind}"))?;
    let base = kind.to_ascii_lowercase();
    let base = base.split(['(', ' ']).next().unwrap_or_default().to_owned();
    let (length, precision, scale) = match parsed {
        SqlType::Decimal(precision, scale, _) => (9, precision, scale),
        SqlType::Time(scale) | SqlType::DateTime2(scale) | SqlType::DateTimeOffset(scale) => {
            (8, 0, scale)
        }
        SqlType::Char(length, ..) | SqlType::Binary(length, _) => {
            (length.map_or(-1, i32::from), 0, 0)
        }
        SqlType::NChar(length, _) if base != "json" => {
            (length.map_or(-1, |length| i32::from(length) * 2), 0, 0)
        }
        SqlType::Int(bytes) | SqlType::Money(bytes) => (i32::from(bytes), 0, 0),
        _ => (8, 0, 0),
    };
    let known = "SELECT user_type_id FROM sys.types WHERE name = ?1";
    let id: i64 = match connection.query_row(known, [&base], |row| row.get(0)) {
        Ok(id) => id,
        Err(_) => {
            connection.execute(
                "INSERT INTO sys.types SELECT ?1, COUNT(*) + 1 FROM sys.types",
                [&base],
            )?;
            connection.query_row(known, [&base], |row| row.get(0))?
        }
    };
    connection.execute(
        "INSERT INTO sys.columns (object_id, name, column_id, user_type_id, max_length, precision, scale, is_nullable,
            is_identity) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            table,
            name,
            place as i64,
            id,
            length,
            precision,
            scale,
            nullable,
            identity
        ],
    )?;
    Ok(())
}

fn column_id(connection: &Connection, table: i64, name: &str) -> Result<i64> {
    let sql = "SELECT column_id FROM sys.columns WHERE object_id = ?1 AND name = ?2";
    connection
        .query_row(sql, params![table, name], |row| row.get(0))
        .with_context(|| format!("no column {name}"))
}

fn primary_key(connection: &Connection, table: i64, name: &str, columns: &[String]) -> Result<()> {
    connection.execute(
        "INSERT INTO sys.key_constraints VALUES (?1, ?2, 'PK', 1)",
        params![name, table],
    )?;
    for (index, column) in columns.iter().enumerate() {
        let column = column_id(connection, table, column)?;
        connection.execute(
            "INSERT INTO sys.index_columns VALUES (?1, 1, ?2, ?3)",
            params![table, column, index as i64 + 1],
        )?;
    }
    Ok(())
}

fn object_id(connection: &Connection, schema: &str, name: &str) -> Result<i64> {
    let sql = "SELECT o.object_id FROM sys.objects o JOIN sys.schemas s ON s.schema_id = o.schema_id WHERE s.name = ?1 AND o.name = ?2";
    connection
        .query_row(sql, [schema, name], |row| row.get(0))
        .with_context(|| format!("no table {schema}.{name}"))
}

fn foreign_key(
    connection: &Connection,
    table: i64,
    name: &str,
    columns: &[String],
    key: &ForeignKeyConstraint,
) -> Result<()> {
    let (schema, referenced) = parts(&key.foreign_table)?;
    let referenced = object_id(connection, &schema, &referenced)?;
    let id: i64 =
        connection.query_row("SELECT 10000 + COUNT(*) FROM sys.foreign_keys", [], |row| {
            row.get(0)
        })?;
    connection.execute(
        "INSERT INTO sys.foreign_keys VALUES (?1, ?2, ?3, ?4)",
        params![name, id, table, referenced],
    )?;
    for (index, (column, other)) in columns.iter().zip(&key.referred_columns).enumerate() {
        let column = column_id(connection, table, column)?;
        let other = column_id(connection, referenced, &other.value)?;
        connection.execute(
            "INSERT INTO sys.foreign_key_columns VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![id, index as i64 + 1, table, column, referenced, other],
        )?;
    }
    Ok(())
}

/// Puts a comment on a table or on a column.
pub(crate) fn comment(
    connection: &Connection,
    schema: &str,
    table: &str,
    column: Option<&str>,
    text: &str,
) -> Result<()> {
    let id = object_id(connection, schema, table)?;
    let column = column.map_or(Ok(0), |column| column_id(connection, id, column))?;
    connection.execute(
        "INSERT INTO sys.extended_properties VALUES (1, ?1, ?2, 'MS_Description', ?3)",
        params![id, column, text],
    )?;
    Ok(())
}

/// What the engine knows of the number of rows is as it was after the last change from outside.
fn count_rows(connection: &Connection) -> Result<()> {
    let tables: Vec<(i64, String, String)> = {
        let sql = "SELECT o.object_id, s.name, o.name FROM sys.objects o JOIN sys.schemas s ON s.schema_id = o.schema_id WHERE o.type = 'U'";
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        rows.collect::<Result<_, _>>()?
    };
    for (id, schema, name) in tables {
        let rows: rusqlite::Result<i64> = connection.query_row(
            &format!("SELECT COUNT(*) FROM {schema}.[{name}]"),
            [],
            |row| row.get(0),
        );
        if let Ok(rows) = rows {
            connection.execute(
                "UPDATE sys.partitions SET rows = ?2 WHERE object_id = ?1",
                params![id, rows],
            )?;
        }
    }
    Ok(())
}
