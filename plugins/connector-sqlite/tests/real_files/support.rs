//! A database in a temporary directory, and the connector on it.

use std::path::PathBuf;

use connector_sqlite::Sqlite;
use mindhost_sdk::{
    Batch, BatchLimits, Column, Config, Connector, Error, Result, Row, Statement, Value,
};
use rusqlite::Connection;
use tempfile::TempDir;

pub const LIMITS: BatchLimits = BatchLimits {
    max_rows: 1000,
    max_bytes: 1 << 20,
};

pub struct Shop {
    pub directory: TempDir,
    /// The program that owns the database.
    pub writer: Connection,
}

impl Shop {
    /// A database made by some statements.
    pub fn new(sql: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let writer = Connection::open(directory.path().join("shop.db")).unwrap();
        writer.execute_batch(sql).unwrap();
        Self { directory, writer }
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("shop.db")
    }

    pub fn write(&self, sql: &str) {
        self.writer.execute_batch(sql).unwrap();
    }

    pub fn open(&self) -> Result<Sqlite> {
        open(&self.path())
    }

    /// The rows of a statement, as a connector that was just opened reads them.
    pub fn rows(&self, sql: &str) -> Vec<Row> {
        rows(&mut self.open().unwrap(), sql).unwrap()
    }

    /// What a statement is refused with.
    pub fn error(&self, sql: &str) -> Error {
        rows(&mut self.open().unwrap(), sql).unwrap_err()
    }
}

pub fn open(path: &std::path::Path) -> Result<Sqlite> {
    Sqlite::open(&Config::from_json(
        serde_json::json!({ "path": path }).to_string(),
    ))
}

/// All rows of a statement, Arrow read back as values.
pub fn rows(sqlite: &mut Sqlite, sql: &str) -> Result<Vec<Row>> {
    let (columns, batches) = batches(sqlite, &Statement::new(sql), LIMITS)?;
    Ok(batches
        .iter()
        .flat_map(|batch| mindhost_sdk::testing::rows(batch, &columns).unwrap())
        .collect())
}

pub fn batches(
    sqlite: &mut Sqlite,
    statement: &Statement,
    limits: BatchLimits,
) -> Result<(Vec<Column>, Vec<Batch>)> {
    let mut cursor = sqlite.query(statement)?;
    let columns = sqlite.schema(&mut cursor)?;
    let mut batches = Vec::new();
    while let Some(batch) = sqlite.next(&mut cursor, limits)? {
        batches.push(batch);
    }
    sqlite.close(cursor)?;
    Ok((columns, batches))
}

pub fn text(text: &str) -> Value {
    Value::Text(text.into())
}
