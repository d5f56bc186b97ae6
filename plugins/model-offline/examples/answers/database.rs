//! One database: what the host's catalog knows of it, what its tools give, and its rows.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use connector_sqlite::Sqlite;
use mindhost_retrieval::{self as retrieval, Index, Knowledge, WeightedText};
use mindhost_sdk::{Config, Connector, ForeignKeyColumn, Table, TableColumn};
use rusqlite::{Connection, OpenFlags, types::ValueRef};
use serde_json::{Value, json};

/// What `answering.catalog_tokens` is by default, without the frame of the catalog.
const CATALOG_TOKENS: usize = 7_800;
/// Most rows that the host gives a model by default.
const MODEL_ROWS: usize = 50;
/// A statement that takes longer is interrupted.
const LONGEST: Duration = Duration::from_secs(20);
/// Common values that the catalog keeps of a column.
const COMMON: usize = 10;
/// Longest value that leads to a table, in characters.
const SHORT: usize = 64;

/// A database file, read-only.
pub struct Database {
    connection: Connection,
    index: Index,
    /// As `describe_tables` gives them, in the order of the index.
    details: Vec<Value>,
}

/// A result.
pub struct Rows {
    pub columns: Vec<String>,
    /// The first of them.
    pub rows: Vec<Vec<Value>>,
    /// How many there are.
    pub total: u64,
}

impl Database {
    /// Opens a file and reads what a catalog keeps of it. The connector of the host tells tables and keys.
    pub fn open(path: &Path) -> Self {
        let config = Config::from_json(json!({"path": path}).to_string());
        let mut connector = Sqlite::open(&config).expect("a database");
        let tables = connector.tables().expect("tables");
        let tables = connector.describe_tables(&tables).expect("descriptions");
        let connection =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let details = tables
            .iter()
            .map(|table| detail(&connection, table))
            .collect();
        let indexed = tables.iter().zip(&details);
        let indexed = indexed.map(|(table, detail)| indexed_table(table, detail));
        let index = Index::new(indexed.collect(), &Knowledge::default());
        Self {
            connection,
            index,
            details,
        }
    }

    /// The rows of all tables.
    pub fn rows(&self) -> u64 {
        let counts = self.details.iter().map(|table| &table["row_count"]);
        counts.filter_map(Value::as_u64).sum()
    }

    /// The catalog for a question, as it stands in the system message.
    pub fn packed(&self, question: &str) -> String {
        let said = WeightedText {
            text: question,
            weight: 1.0,
        };
        self.index.pack(&[said], CATALOG_TOKENS).text
    }

    /// What a tool of the host gives for a call; the error is one that the model reads.
    pub fn tool(&self, name: &str, arguments: &Value) -> Result<Value, Value> {
        match name {
            "search_catalog" => Ok(self.search(arguments)),
            "describe_tables" => {
                let wanted = arguments["tables"].as_array().unwrap();
                let is_wanted = |table: &&Value| wanted.contains(&table["table"]);
                let found: Vec<&Value> = self.details.iter().filter(is_wanted).collect();
                Ok(json!({"tables": found}))
            }
            "run_sql" => self.run(arguments),
            other => panic!("the model calls {other}"),
        }
    }

    fn search(&self, arguments: &Value) -> Value {
        let mut found = self.index.search(arguments["query"].as_str().unwrap());
        if found.is_empty() {
            found = (0..self.details.len()).collect();
        }
        found.truncate(arguments["limit"].as_u64().unwrap().try_into().unwrap());
        let tables: Vec<&Value> = found.iter().map(|table| &self.details[*table]).collect();
        json!({"tables": tables, "total_tables": self.details.len()})
    }

    fn run(&self, arguments: &Value) -> Result<Value, Value> {
        let most = arguments["max_rows"]
            .as_u64()
            .map_or(MODEL_ROWS, |most| most.try_into().unwrap());
        let found = self.query(arguments["sql"].as_str().unwrap(), most);
        let found = found
            .map_err(|message| json!({"error": {"code": "sql_invalid", "message": message}}))?;
        let column = |name: &String| json!({"name": name, "type": "any"});
        let columns: Vec<Value> = found.columns.iter().map(column).collect();
        let truncated = found.total > found.rows.len() as u64;
        Ok(
            json!({"columns": columns, "rows": found.rows, "row_count": found.total, "truncated": truncated}),
        )
    }

    /// Runs a statement and reads its first rows.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn query(&self, sql: &str, most: usize) -> Result<Rows, String> {
        query(&self.connection, sql, most).map_err(|error| error.to_string())
    }
}

fn query(connection: &Connection, sql: &str, most: usize) -> rusqlite::Result<Rows> {
    let end = Instant::now() + LONGEST;
    connection.progress_handler(10_000, Some(move || Instant::now() > end))?;
    let mut statement = connection.prepare(sql)?;
    let columns: Vec<String> = statement
        .column_names()
        .into_iter()
        .map(str::to_owned)
        .collect();
    let mut found = Rows {
        rows: Vec::new(),
        total: 0,
        columns,
    };
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        found.total += 1;
        if found.rows.len() < most {
            let cells = (0..found.columns.len()).map(|at| row.get_ref(at).map(cell));
            found.rows.push(cells.collect::<rusqlite::Result<_>>()?);
        }
    }
    Ok(found)
}

fn cell(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(number) => json!(number),
        ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
        ValueRef::Blob(_) => json!("(bytes)"),
    }
}

/// A table as the catalog describes it to a model.
fn detail(connection: &Connection, table: &Table) -> Value {
    let name = quoted(&table.table.name);
    let row_count = &values(connection, &format!("SELECT count(*) FROM {name}"))[0];
    let key: Vec<&str> = table.primary_key.iter().map(|key| &*key.column).collect();
    let keys: Vec<Value> = keys(table)
        .map(|keys| {
            json!({
                "columns": keys.iter().map(|key| &*key.column).collect::<Vec<_>>(),
                "references": format!("{}.{}", keys[0].referenced.schema, keys[0].referenced.name),
                "referenced_columns": keys.iter().map(|key| &*key.referenced_column).collect::<Vec<_>>(),
            })
        })
        .collect();
    let columns = table
        .columns
        .iter()
        .map(|one| column(connection, &name, one));
    json!({
        "datasource": "spider",
        "dialect": "sqlite",
        "table": format!("{}.{}", table.table.schema, table.table.name),
        "type": table.kind,
        "description": table.comment,
        "row_count": row_count,
        "columns": columns.collect::<Vec<_>>(),
        "primary_key": key,
        "foreign_keys": keys,
    })
}

/// The columns of each foreign key.
fn keys(table: &Table) -> impl Iterator<Item = &[ForeignKeyColumn]> {
    table
        .foreign_keys
        .chunk_by(|a, b| a.constraint_name == b.constraint_name)
}

/// A column with what a whole sample tells of its values.
fn column(connection: &Connection, table: &str, column: &TableColumn) -> Value {
    let name = quoted(&column.name);
    let texts = |select: String| -> Vec<String> {
        let found = values(connection, &select);
        found.iter().filter_map(text).collect()
    };
    let shown = format!("FROM {table} WHERE {name} IS NOT NULL AND typeof({name}) <> 'blob'");
    // A value that occurs once is common in a small table only, and none is in a column of prose.
    let common = texts(format!(
        "SELECT {name} {shown} GROUP BY {name}
         HAVING count(*) >= (SELECT iif(count(*) > 50, 2, 1) {shown}) AND (SELECT avg(length({name})) {shown}) <= 200
         ORDER BY count(*) DESC, CAST({name} AS TEXT) LIMIT {COMMON}"
    ));
    let bound = |function: &str| texts(format!("SELECT {function}({name}) {shown}")).pop();
    let mut described = json!({
        "name": column.name,
        "type": column.native_type,
        "nullable": column.nullable,
        "description": column.comment,
        "min": bound("min"),
        "max": bound("max"),
        "distinct_count": values(connection, &format!("SELECT count(DISTINCT {name}) FROM {table}"))[0],
    });
    if !common.is_empty() {
        described["common_values"] = json!(common);
    }
    described
}

/// The first column of a statement; of one that cannot run, as of a broken view, a single NULL.
fn values(connection: &Connection, sql: &str) -> Vec<Value> {
    match query(connection, sql, usize::MAX) {
        Ok(found) => found
            .rows
            .into_iter()
            .map(|mut row| row.swap_remove(0))
            .collect(),
        Err(_) => vec![Value::Null],
    }
}

/// A value as the catalog writes it.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64()?.to_string(),
        other => other.to_string(),
    };
    Some(text.chars().take(256).collect())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A table as the index has it.
fn indexed_table(table: &Table, detail: &Value) -> retrieval::Table {
    let columns = table
        .columns
        .iter()
        .zip(detail["columns"].as_array().unwrap());
    retrieval::Table {
        datasource: "spider".to_owned(),
        schema: table.table.schema.clone(),
        name: table.table.name.clone(),
        kind: table.kind.clone(),
        description: table.comment.clone(),
        row_count: detail["row_count"].as_u64(),
        columns: columns
            .map(|(column, detail)| retrieval::Column {
                name: column.name.clone(),
                data_type: column.native_type.clone(),
                description: column.comment.clone(),
                values: words(&detail["common_values"]),
            })
            .collect(),
        primary_key: table
            .primary_key
            .iter()
            .map(|key| key.column.clone())
            .collect(),
        foreign_keys: keys(table)
            .map(|keys| retrieval::ForeignKey {
                columns: keys.iter().map(|key| key.column.clone()).collect(),
                schema: keys[0].referenced.schema.clone(),
                table: keys[0].referenced.name.clone(),
                referenced: keys
                    .iter()
                    .map(|key| key.referenced_column.clone())
                    .collect(),
            })
            .collect(),
    }
}

/// Common values that may lead to a table: short ones, of a column that has words.
fn words(common: &Value) -> Vec<String> {
    let common = common.as_array().into_iter().flatten();
    let texts = common.filter_map(|value| value.as_str().map(str::to_owned));
    let short: Vec<String> = texts.filter(|text| text.chars().count() <= SHORT).collect();
    match short
        .iter()
        .any(|text| text.chars().any(char::is_alphabetic))
    {
        true => short,
        false => Vec::new(),
    }
}
