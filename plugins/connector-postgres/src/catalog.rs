//! Tables, columns and keys, asked for many tables at a time.

use std::collections::{HashMap, HashSet};

use mindhost_sdk::{Error, ForeignKeyColumn, KeyColumn, Result, Table, TableColumn, TableRef};

use crate::array::literal;
use crate::error::untrue;
use crate::session::Session;
use crate::text_row::TextRow;

/// What the user may read, with one exception: where the root of a partition is in the list, with all columns that the
/// user may read of the partition, the partition is not.
const TABLES: &str = "
    SELECT n.nspname, c.relname
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f')
        AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
        AND ($1::text[] = '{}' OR n.nspname = ANY ($1::text[]))
        AND has_schema_privilege(n.oid, 'USAGE')
        AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))
        AND NOT (c.relispartition AND EXISTS (
            SELECT FROM pg_catalog.pg_class r JOIN pg_catalog.pg_namespace m ON m.oid = r.relnamespace
            WHERE r.oid = pg_partition_root(c.oid)
                AND has_schema_privilege(m.oid, 'USAGE') AND ($1::text[] = '{}' OR m.nspname = ANY ($1::text[]))
                AND (has_table_privilege(r.oid, 'SELECT') OR NOT EXISTS (
                    SELECT FROM pg_catalog.pg_attribute a
                    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                        AND has_column_privilege(c.oid, a.attnum, 'SELECT') AND NOT EXISTS (
                            SELECT FROM pg_catalog.pg_attribute b
                            WHERE b.attrelid = r.oid AND b.attname = a.attname
                                AND has_column_privilege(r.oid, b.attnum, 'SELECT'))))))
    ORDER BY 1, 2";

const SCHEMAS: &str =
    "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname = ANY ($1::text[])";

/// The tables of a request, as the other statements join them. $1 and $2 are their schemas and names.
const WANTED: &str = "
    WITH wanted AS (
        SELECT c.oid, c.relkind, c.relispartition, c.reltuples, c.relpages, n.nspname, c.relname
        FROM unnest($1::text[], $2::text[]) AS w (schema, name)
        JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
        JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.name
        WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND has_schema_privilege(n.oid, 'USAGE'))";

/// The count is the one of the last VACUUM or ANALYZE: -1 (before version 14: 0 pages) when there was none. A
/// partitioned table's is the sum of its leaves', where all of them have one, and so is that of a table that others
/// inherit from, with its own. It is stored as a `real`, of which only `float8` keeps all digits on the way to a text.
const DESCRIBED: &str = "
    SELECT w.oid::text, w.nspname, w.relname, w.relkind::text, obj_description(w.oid, 'pg_class'),
        (CASE
            WHEN w.relkind = 'v' THEN NULL
            WHEN w.relkind = 'p' OR EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = w.oid) THEN (
                WITH RECURSIVE tree (oid) AS (
                    SELECT w.oid
                    UNION
                    SELECT i.inhrelid FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.oid)
                SELECT CASE WHEN bool_and(l.reltuples >= 0) AND (bool_or(l.relpages > 0)
                    OR current_setting('server_version_num')::int >= 140000) THEN sum(l.reltuples::float8) END
                FROM tree JOIN pg_catalog.pg_class l ON l.oid = tree.oid WHERE l.relkind <> 'p')
            ELSE CASE WHEN w.reltuples > 0 OR (w.reltuples = 0 AND (w.relpages > 0
                OR current_setting('server_version_num')::int >= 140000)) THEN w.reltuples::float8 END
        END)::numeric::text
    FROM wanted w ORDER BY w.nspname, w.relname";

/// A column that may not be selected would make every statement with a star fail, so it is not shown.
const COLUMNS: &str = "
    SELECT a.attrelid::text, a.attname, format_type(a.atttypid, a.atttypmod),
        a.attnotnull OR (t.typtype = 'd' AND t.typnotnull),
        pg_get_expr(d.adbin, d.adrelid), col_description(a.attrelid, a.attnum), a.attidentity::text, a.attgenerated::text
    FROM wanted w
    JOIN pg_catalog.pg_attribute a ON a.attrelid = w.oid
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
    ORDER BY a.attrelid, a.attnum";

const PRIMARY_KEYS: &str = "
    SELECT k.conrelid::text, k.conname, p.place::text, a.attname
    FROM wanted w
    JOIN pg_catalog.pg_constraint k ON k.conrelid = w.oid AND k.contype = 'p'
    CROSS JOIN unnest(k.conkey) WITH ORDINALITY AS p (number, place)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = p.number
    ORDER BY k.conrelid, p.place";

/// A key that refers to a partitioned table is stored once more for each partition; those copies have a parent, as
/// have the copies that a partition inherits, of which only the latter belong to the table.
const FOREIGN_KEYS: &str = "
    SELECT k.conrelid::text, k.conname, p.place::text, a.attname, n.nspname, r.relname, f.attname
    FROM wanted w
    JOIN pg_catalog.pg_constraint k ON k.conrelid = w.oid AND k.contype = 'f' AND (k.conparentid = 0 OR w.relispartition)
    CROSS JOIN unnest(k.conkey, k.confkey) WITH ORDINALITY AS p (number, referenced, place)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = p.number
    JOIN pg_catalog.pg_attribute f ON f.attrelid = k.confrelid AND f.attnum = p.referenced
    JOIN pg_catalog.pg_class r ON r.oid = k.confrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
    ORDER BY k.conrelid, k.conname, p.place";

/// Looks for the schemas that the catalog is restricted to.
///
/// # Errors
/// `NotFound` with the first that the database does not have.
pub(crate) fn check_schemas(session: &mut Session, schemas: &[&str]) -> Result<()> {
    if schemas.is_empty() {
        return Ok(());
    }
    let mut known = HashSet::new();
    session.rows(SCHEMAS, &[&literal(schemas.iter().copied())], |row| {
        known.insert(row.text(0).to_owned());
        Ok(())
    })?;
    match schemas.iter().find(|schema| !known.contains(**schema)) {
        None => Ok(()),
        Some(absent) => Err(Error::not_found(format!(
            "the database has no schema `{absent}`; correct `schema`"
        ))),
    }
}

/// Every table and view that the user may read, in these schemas or in all.
pub(crate) fn tables(session: &mut Session, schemas: &[&str]) -> Result<Vec<TableRef>> {
    let mut tables = Vec::new();
    session.rows(TABLES, &[&literal(schemas.iter().copied())], |row| {
        tables.push(TableRef::new(row.text(0), row.text(1)));
        Ok(())
    })?;
    Ok(tables)
}

/// Columns, keys and comments of some tables, in four statements however many they are.
pub(crate) fn describe(session: &mut Session, tables: &[TableRef]) -> Result<Vec<Table>> {
    let schemas = literal(tables.iter().map(|table| table.schema.as_str()));
    let names = literal(tables.iter().map(|table| table.name.as_str()));
    let mut described = Vec::new();
    let mut places = HashMap::new();
    let mut wanted: HashSet<(String, String)> = tables
        .iter()
        .map(|table| (table.schema.clone(), table.name.clone()))
        .collect();
    let mut ask = |sql: &str, each: &mut dyn FnMut(&TextRow<'_>) -> Result<()>| {
        session.rows(&format!("{WANTED}{sql}"), &[&schemas, &names], each)
    };
    ask(DESCRIBED, &mut |row| {
        let table = (row.text(1).to_owned(), row.text(2).to_owned());
        if !wanted.remove(&table) {
            return Err(untrue(
                "describes a table that was not asked for, or one twice",
            ));
        }
        places.insert(row.text(0).to_owned(), described.len());
        described.push(described_table(row));
        Ok(())
    })?;
    let mut into = |sql: &str, add: fn(&mut Table, &TextRow<'_>)| {
        ask(sql, &mut |row| {
            // A table that was made between two statements has columns but no place.
            if let Some(table) = places
                .get(row.text(0))
                .and_then(|place| described.get_mut(*place))
            {
                add(table, row);
            }
            Ok(())
        })
    };
    into(COLUMNS, add_column)?;
    into(PRIMARY_KEYS, |table, row| {
        table.primary_key.push(KeyColumn {
            constraint_name: row.text(1).to_owned(),
            ordinal: row.number(2).unwrap_or_default(),
            column: row.text(3).to_owned(),
        });
    })?;
    into(FOREIGN_KEYS, |table, row| {
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

fn described_table(row: &TextRow<'_>) -> Table {
    let kind = match row.text(3) {
        "v" => "VIEW",
        "m" => "MATERIALIZED VIEW",
        "p" => "PARTITIONED TABLE",
        "f" => "FOREIGN TABLE",
        _ => "TABLE",
    };
    let mut table = Table::new(TableRef::new(row.text(1), row.text(2)), kind);
    table.comment = row.optional(4).map(str::to_owned);
    table.row_count = row.number(5);
    table
}

fn add_column(table: &mut Table, row: &TextRow<'_>) {
    let ordinal = u32::try_from(table.columns.len() + 1).unwrap_or(u32::MAX);
    let mut column = TableColumn::new(row.text(1), ordinal, row.text(2));
    column.nullable = !row.is_true(3);
    column.comment = row.optional(5).map(str::to_owned);
    let expression = row.optional(4);
    column.default_value = match (row.text(6), row.text(7)) {
        ("a", _) => Some("GENERATED ALWAYS AS IDENTITY".into()),
        ("d", _) => Some("GENERATED BY DEFAULT AS IDENTITY".into()),
        (_, "s") => {
            expression.map(|expression| format!("GENERATED ALWAYS AS ({expression}) STORED"))
        }
        (_, "v") => expression.map(|expression| format!("GENERATED ALWAYS AS ({expression})")),
        _ => expression.map(str::to_owned),
    };
    table.columns.push(column);
}
