//! Tables, columns and keys, asked of the views of `sys` for many tables at a time.

use std::collections::HashMap;

use mindhost_sdk::{Error, ForeignKeyColumn, KeyColumn, Result, Table, TableColumn, TableRef};

use crate::error::untrue;
use crate::session::{Session, TextRow};

/// Tables and views that the login may read.
const TABLES: &str = "SELECT s.name, o.name FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id \
     WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 \
     AND HAS_PERMS_BY_NAME(QUOTENAME(s.name) + N'.' + QUOTENAME(o.name), N'OBJECT', N'SELECT') = 1";

/// A table's own comment, and the rows of its heap or clustered index.
const DESCRIBED: &str = "SELECT o.object_id, s.name, o.name, o.type, CAST(e.value AS nvarchar(4000)), \
     (SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = o.object_id AND p.index_id IN (0, 1)) \
     FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id \
     LEFT JOIN sys.extended_properties AS e ON e.class = 1 AND e.major_id = o.object_id AND e.minor_id = 0 \
     AND e.name = N'MS_Description' WHERE o.type IN ('U', 'V') AND ";

const COLUMNS: &str = "SELECT c.object_id, c.name, t.name, c.max_length, c.precision, c.scale, c.is_nullable, \
     CAST(d.definition AS nvarchar(4000)), CAST(k.definition AS nvarchar(4000)), c.is_identity, \
     CAST(e.value AS nvarchar(4000)) \
     FROM sys.columns AS c JOIN sys.types AS t ON t.user_type_id = c.user_type_id \
     LEFT JOIN sys.default_constraints AS d ON d.parent_object_id = c.object_id AND d.parent_column_id = c.column_id \
     LEFT JOIN sys.computed_columns AS k ON k.object_id = c.object_id AND k.column_id = c.column_id \
     LEFT JOIN sys.extended_properties AS e ON e.class = 1 AND e.major_id = c.object_id \
     AND e.minor_id = c.column_id AND e.name = N'MS_Description' WHERE c.object_id IN ";

/// Leaves out the columns of graph tables that the server keeps for itself: selecting one is the error 13908. Computed
/// ones like `$node_id` have other numbers.
const SELECTABLE: &str = " AND (c.graph_type IS NULL OR c.graph_type NOT IN (1, 3, 4, 6, 7))";

const PRIMARY_KEYS: &str = "SELECT k.parent_object_id, k.name, i.key_ordinal, c.name FROM sys.key_constraints AS k \
     JOIN sys.index_columns AS i ON i.object_id = k.parent_object_id AND i.index_id = k.unique_index_id \
     JOIN sys.columns AS c ON c.object_id = i.object_id AND c.column_id = i.column_id \
     WHERE k.type = 'PK' AND i.key_ordinal > 0 AND k.parent_object_id IN ";

const FOREIGN_KEYS: &str = "SELECT f.parent_object_id, f.name, k.constraint_column_id, c.name, s.name, o.name, r.name \
     FROM sys.foreign_keys AS f \
     JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id \
     JOIN sys.columns AS c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id \
     JOIN sys.objects AS o ON o.object_id = k.referenced_object_id \
     JOIN sys.schemas AS s ON s.schema_id = o.schema_id \
     JOIN sys.columns AS r ON r.object_id = k.referenced_object_id AND r.column_id = k.referenced_column_id \
     WHERE f.parent_object_id IN ";

/// Looks for the schemas that the catalog is restricted to. The server compares names by its collation.
///
/// # Errors
/// `NotFound` with the first that the login does not see.
pub(crate) fn check_schemas(session: &mut Session, schemas: &[&str]) -> Result<()> {
    for schema in schemas {
        let sql = format!(
            "SELECT s.name FROM sys.schemas AS s WHERE s.name = {}",
            literal(schema)
        );
        let mut is_known = false;
        session.rows(&sql, |_| {
            is_known = true;
            Ok(())
        })?;
        if !is_known {
            return Err(Error::not_found(format!(
                "the database has no schema `{schema}`, or the login may not see it; correct `schema`"
            )));
        }
    }
    Ok(())
}

/// Every table and view that the login may read, in these schemas or in all.
pub(crate) fn tables(session: &mut Session, schemas: &[&str]) -> Result<Vec<TableRef>> {
    let within = match schemas {
        [] => String::new(),
        names => {
            let names: Vec<String> = names.iter().map(|name| literal(name)).collect();
            format!(" AND s.name IN ({})", names.join(", "))
        }
    };
    let mut tables = Vec::new();
    session.rows(
        &format!("{TABLES}{within} ORDER BY s.name, o.name"),
        |row| {
            tables.push(TableRef::new(row.text(0), row.text(1)));
            Ok(())
        },
    )?;
    Ok(tables)
}

/// Columns, keys and comments of some tables, in four statements however many they are. The first call in a session
/// takes one more.
pub(crate) fn describe(session: &mut Session, wanted: &[TableRef]) -> Result<Vec<Table>> {
    let mut described: Vec<Table> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    if wanted.is_empty() {
        return Ok(described);
    }
    let named: Vec<String> = wanted.iter().map(is_table).collect();
    let sql = format!(
        "{DESCRIBED}({}) ORDER BY s.name, o.name",
        named.join(" OR ")
    );
    session.rows(&sql, |row| {
        let table = TableRef::new(row.text(1), row.text(2));
        // The server may compare names without regard to case; only the very name was asked for.
        if !wanted.contains(&table) {
            return Ok(());
        }
        if row.text(0).parse::<i64>().is_err() || described.iter().any(|known| known.table == table)
        {
            return Err(untrue("describes one table twice"));
        }
        places.insert(row.text(0).to_owned(), described.len());
        described.push(described_table(table, row));
        Ok(())
    })?;
    if places.is_empty() {
        return Ok(described);
    }
    let ids: Vec<&str> = places.keys().map(String::as_str).collect();
    let ids = format!("({})", ids.join(", "));
    let selectable = match session.has_graph_type()? {
        true => SELECTABLE,
        false => "",
    };
    let mut into = |sql: String, add: fn(&mut Table, &TextRow)| {
        session.rows(&sql, |row| {
            let place = places.get(row.text(0));
            if let Some(table) = place.and_then(|place| described.get_mut(*place)) {
                add(table, row);
            }
            Ok(())
        })
    };
    into(
        format!("{COLUMNS}{ids}{selectable} ORDER BY c.object_id, c.column_id"),
        add_column,
    )?;
    into(
        format!("{PRIMARY_KEYS}{ids} ORDER BY k.parent_object_id, i.key_ordinal"),
        |table, row| {
            table.primary_key.push(KeyColumn {
                constraint_name: row.text(1).to_owned(),
                ordinal: row.number(2).unwrap_or_default(),
                column: row.text(3).to_owned(),
            });
        },
    )?;
    let order = "ORDER BY f.parent_object_id, f.name, k.constraint_column_id";
    into(format!("{FOREIGN_KEYS}{ids} {order}"), |table, row| {
        table.foreign_keys.push(ForeignKeyColumn {
            constraint_name: row.text(1).to_owned(),
            ordinal: row.number(2).unwrap_or_default(),
            column: row.text(3).to_owned(),
            referenced: TableRef::new(row.text(4), row.text(5)),
            referenced_column: row.text(6).to_owned(),
        });
    })?;
    Ok(described)
}

fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

fn is_table(table: &TableRef) -> String {
    let (schema, name) = (literal(&table.schema), literal(&table.name));
    format!("(s.name = {schema} AND o.name = {name})")
}

fn described_table(table: TableRef, row: &TextRow) -> Table {
    let kind = match row.text(3).trim_end() {
        "V" => "VIEW",
        _ => "TABLE",
    };
    let mut table = Table::new(table, kind);
    table.comment = row.optional(4).map(str::to_owned);
    table.row_count = row.number(5).filter(|_| kind == "TABLE");
    table
}

fn add_column(table: &mut Table, row: &TextRow) {
    let ordinal = u32::try_from(table.columns.len() + 1).unwrap_or(u32::MAX);
    let native = native_type(
        row.text(2),
        row.number(3).unwrap_or_default(),
        row.number(4).unwrap_or_default(),
        row.number(5).unwrap_or_default(),
    );
    let mut column = TableColumn::new(row.text(1), ordinal, native);
    column.nullable = row.is_true(6);
    column.comment = row.optional(10).map(str::to_owned);
    column.default_value = match (row.optional(8), row.is_true(9)) {
        (Some(computed), _) => Some(format!("AS {computed}")),
        (None, true) => Some("IDENTITY".into()),
        (None, false) => row.optional(7).map(str::to_owned),
    };
    table.columns.push(column);
}

/// The name of a type as a table's definition has it. Lengths are in bytes, -1 for `max`.
fn native_type(name: &str, length: i32, precision: u8, scale: u8) -> String {
    let sized = |units: i32| match length {
        -1 => format!("{name}(max)"),
        _ => format!("{name}({})", length / units),
    };
    match name {
        "char" | "varchar" | "binary" | "varbinary" => sized(1),
        "nchar" | "nvarchar" => sized(2),
        "decimal" | "numeric" => format!("{name}({precision},{scale})"),
        "time" | "datetime2" | "datetimeoffset" => format!("{name}({scale})"),
        "timestamp" => "rowversion".into(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_named_as_in_a_definition() {
        for (name, length, precision, scale, native) in [
            ("int", 4, 10, 0, "int"),
            ("nvarchar", 80, 0, 0, "nvarchar(40)"),
            ("nvarchar", -1, 0, 0, "nvarchar(max)"),
            ("varbinary", 16, 0, 0, "varbinary(16)"),
            ("decimal", 9, 12, 2, "decimal(12,2)"),
            ("datetime2", 8, 27, 7, "datetime2(7)"),
            ("timestamp", 8, 0, 0, "rowversion"),
            ("hierarchyid", 892, 0, 0, "hierarchyid"),
        ] {
            assert_eq!(native_type(name, length, precision, scale), native);
        }
    }
}
