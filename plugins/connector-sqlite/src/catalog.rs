//! What the database holds: tables and views with columns, keys and comments.

use std::collections::{HashMap, HashSet};

use mindhost_sdk::{ForeignKeyColumn, KeyColumn, Table, TableColumn, TableRef};
use rusqlite::{Connection, Result, Row};

use crate::comments::{self, Definition};

/// SQLite's name of the database file itself.
const SCHEMA: &str = "main";

/// Every table and view; SQLite's own and the inner tables of virtual ones left out.
pub fn tables(connection: &Connection) -> Result<Vec<TableRef>> {
    let mut statement = connection.prepare(
        r"SELECT name FROM pragma_table_list
          WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
          ORDER BY name",
    )?;
    statement
        .query_map([], |row| {
            Ok(TableRef::new(SCHEMA, row.get::<_, String>(0)?))
        })?
        .collect()
}

/// Some of the tables; one that is gone is left out.
pub fn describe(connection: &Connection, tables: &[TableRef]) -> Result<Vec<Table>> {
    let row_counts = row_counts(connection)?;
    let schema = Schema::read(connection, tables)?;
    let mut described = Vec::with_capacity(tables.len());
    for table in tables.iter().filter(|table| table.schema == SCHEMA) {
        let Some(entry) = schema.entries.get(&table.name) else {
            continue;
        };
        let mut answer = Table::new(table.clone(), entry.kind());
        answer.row_count = row_counts.get(&table.name).copied();
        // A view whose tables are gone cannot be described; it must not keep the others from being.
        if let Err(error) = entry.describe(&schema, connection, &mut answer) {
            answer.extra.push(("error".into(), error.to_string()));
        }
        described.push(answer);
    }
    Ok(described)
}

/// A table as the schema lists it.
struct Entry {
    name: String,
    kind: String,
    without_rowid: bool,
    strict: bool,
    definition: Definition,
}

/// What the whole schema says. It is read once for all tables that are described: it has no index, and SQLite lists
/// every table each time that it is asked for one.
struct Schema {
    /// The tables that are described, by name.
    entries: HashMap<String, Entry>,
    /// The name of every table, by its lower case: SQLite compares names so, in ASCII.
    names: HashMap<String, String>,
}

impl Schema {
    fn read(connection: &Connection, tables: &[TableRef]) -> Result<Self> {
        let described: HashSet<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        let (mut definitions, mut names) = (HashMap::new(), HashMap::new());
        let mut statement = connection
            .prepare("SELECT type, name, sql FROM sqlite_schema WHERE type IN ('table', 'view')")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let name: String = row.get(1)?;
            if row.get_ref(0)?.as_str() == Ok("table") {
                names.insert(name.to_ascii_lowercase(), name.clone());
            }
            if described.contains(name.as_str()) {
                let sql: Option<String> = row.get(2)?;
                definitions.insert(name, comments::read(&sql.unwrap_or_default()));
            }
        }
        let mut entries = HashMap::with_capacity(definitions.len());
        let mut statement = connection.prepare(
            "SELECT name, type, wr, strict FROM pragma_table_list WHERE schema = 'main'",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let name: String = row.get(0)?;
            if let Some(definition) = definitions.remove(&name) {
                let entry = Entry {
                    name: name.clone(),
                    kind: row.get(1)?,
                    without_rowid: row.get(2)?,
                    strict: row.get(3)?,
                    definition,
                };
                entries.insert(name, entry);
            }
        }
        Ok(Self { entries, names })
    }

    /// The referenced table and column as they are really named. Without a column the parent's primary key is meant.
    fn referenced(
        &self,
        connection: &Connection,
        parent: String,
        column: Option<String>,
        place: u32,
    ) -> Result<(String, String)> {
        let known = self.names.get(&parent.to_ascii_lowercase()).cloned();
        let parent = known.unwrap_or(parent);
        let of_parent = columns(connection, &parent)?;
        let is_meant = |candidate: &&StoredColumn| match &column {
            Some(column) => candidate.name.eq_ignore_ascii_case(column),
            None => candidate.key_place == place + 1,
        };
        let found = of_parent
            .iter()
            .find(is_meant)
            .map(|column| column.name.clone());
        Ok((parent, found.or(column).unwrap_or_default()))
    }
}

impl Entry {
    fn kind(&self) -> &str {
        match self.kind.as_str() {
            "view" => "VIEW",
            "virtual" => "VIRTUAL TABLE",
            _ => "TABLE",
        }
    }

    fn describe(&self, schema: &Schema, connection: &Connection, table: &mut Table) -> Result<()> {
        table.comment.clone_from(&self.definition.comment);
        let columns = columns(connection, &self.name)?;
        table.primary_key = self.primary_key(&columns);
        table.foreign_keys = self.foreign_keys(schema, connection)?;
        let is_alone = table.primary_key.len() == 1;
        table.columns = columns
            .into_iter()
            .filter(|column| column.hidden != HIDDEN)
            .zip(1..)
            .map(|(column, ordinal)| self.column(column, ordinal, is_alone))
            .collect();
        Ok(())
    }

    fn column(&self, column: StoredColumn, ordinal: u32, is_only_key: bool) -> TableColumn {
        // For historical reasons a key may hold NULL, except where it is the row's number or the table is of a newer kind.
        let is_row_number = is_only_key && column.native_type.eq_ignore_ascii_case("integer");
        let is_strict_key =
            column.key_place > 0 && (is_row_number || self.without_rowid || self.strict);
        let mut answer = TableColumn::new(column.name, ordinal, column.native_type);
        answer.nullable = !(column.not_null || is_strict_key);
        answer.comment = self
            .definition
            .column_comments
            .get(&answer.name.to_lowercase())
            .cloned();
        answer.default_value = column.default_value;
        if let Some(generated) = [(2, "virtual"), (3, "stored")]
            .iter()
            .find(|(hidden, _)| *hidden == column.hidden)
        {
            answer.extra.push(("generated".into(), generated.1.into()));
        }
        answer
    }

    fn primary_key(&self, columns: &[StoredColumn]) -> Vec<KeyColumn> {
        let name = self
            .definition
            .primary_key_name
            .clone()
            .unwrap_or_else(|| format!("{}_pkey", self.name));
        let mut key: Vec<KeyColumn> = columns
            .iter()
            .filter(|column| column.key_place > 0)
            .map(|column| KeyColumn {
                constraint_name: name.clone(),
                ordinal: column.key_place,
                column: column.name.clone(),
            })
            .collect();
        key.sort_by_key(|column| column.ordinal);
        key
    }

    fn foreign_keys(
        &self,
        schema: &Schema,
        connection: &Connection,
    ) -> Result<Vec<ForeignKeyColumn>> {
        // SQLite lists the key that was declared last first.
        let mut statement = connection.prepare(
            r#"SELECT max(id) OVER () - id, seq, "table", "from", "to" FROM pragma_foreign_key_list(?1, 'main')
               ORDER BY id DESC, seq"#,
        )?;
        let mut rows = statement.query([&self.name])?;
        let mut keys = Vec::new();
        while let Some(row) = rows.next()? {
            let (key, place): (u32, u32) = (row.get(0)?, row.get(1)?);
            let name = self
                .definition
                .foreign_key_names
                .get(key as usize)
                .cloned()
                .flatten();
            let (parent, column): (String, Option<String>) = (row.get(2)?, row.get(4)?);
            let (parent, column) = schema.referenced(connection, parent, column, place)?;
            keys.push(ForeignKeyColumn {
                constraint_name: name.unwrap_or_else(|| format!("{}_fkey{}", self.name, key + 1)),
                ordinal: place + 1,
                column: row.get(3)?,
                referenced: TableRef::new(SCHEMA, parent),
                referenced_column: column,
            });
        }
        Ok(keys)
    }
}

/// The mark of a virtual table's column that is an argument, not data.
const HIDDEN: u32 = 1;

struct StoredColumn {
    name: String,
    native_type: String,
    not_null: bool,
    default_value: Option<String>,
    /// From 1; 0 for a column that is not in the primary key.
    key_place: u32,
    hidden: u32,
}

fn columns(connection: &Connection, table: &str) -> Result<Vec<StoredColumn>> {
    let mut statement = connection.prepare(
        r#"SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?1, 'main') ORDER BY cid"#,
    )?;
    let read = |row: &Row<'_>| {
        Ok(StoredColumn {
            name: row.get(0)?,
            native_type: row.get(1)?,
            not_null: row.get(2)?,
            default_value: row.get(3)?,
            key_place: row.get(4)?,
            hidden: row.get(5)?,
        })
    };
    statement.query_map([table], read)?.collect()
}

/// What ANALYZE counted, by table. A count of our own would be a scan.
fn row_counts(connection: &Connection) -> Result<HashMap<String, u64>> {
    let exists = connection
        .prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'")?
        .exists([])?;
    let mut counts = HashMap::new();
    if !exists {
        return Ok(counts);
    }
    let mut statement =
        connection.prepare("SELECT tbl, stat FROM sqlite_stat1 WHERE typeof(stat) = 'text'")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (table, stat): (String, String) = (row.get(0)?, row.get(1)?);
        if let Some(count) = stat
            .split(' ')
            .next()
            .and_then(|count| count.parse::<u64>().ok())
        {
            counts
                .entry(table)
                .and_modify(|known: &mut u64| *known = count.max(*known))
                .or_insert(count);
        }
    }
    Ok(counts)
}
