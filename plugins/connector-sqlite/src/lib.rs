//! The SQLite connector of Mindhost: real files, read-only.
//!
//! A guest sees the database file and its siblings in a read-only directory, where SQLite can neither lock nor keep
//! shared memory. So the file is opened as immutable, and this crate watches for what that would miss: changes that
//! wait in a write-ahead log, an unfinished transaction, and a file that changed while it was read.

mod catalog;
mod comments;
mod cursor;
mod database;
mod errors;
mod file;
mod guard;
mod temporal;
mod tokens;
mod types;
mod wal;

use std::time::Duration;

use mindhost_sdk::{
    Batch, BatchLimits, Column, Config, Connector, Result, ServerInfo, Statement, Table, TableRef,
    export_connector,
};
use serde::Deserialize;

use crate::cursor::Cursor;
use crate::database::Database;

/// One open database file.
pub struct Sqlite {
    database: Database,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConnectionData {
    path: String,
}

impl Connector for Sqlite {
    const MANIFEST: &'static str = include_str!("../manifest.json");
    type Cursor = Cursor;

    fn open(config: &Config) -> Result<Self> {
        let data: ConnectionData = config.parse()?;
        Ok(Self {
            database: Database::open(data.path.into())?,
        })
    }

    fn check(&mut self) -> Result<ServerInfo> {
        self.database.refresh()?;
        self.database.internal(|connection| {
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        })?;
        Ok(ServerInfo::new("SQLite", rusqlite::version()))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        self.database.refresh()?;
        self.database.internal(catalog::tables)
    }

    fn describe_tables(&mut self, tables: &[TableRef]) -> Result<Vec<Table>> {
        self.database.refresh()?;
        self.database
            .internal(|connection| catalog::describe(connection, tables))
    }

    /// The file cannot be locked, so a snapshot is a promise to notice: a statement in it fails if the file changed.
    fn begin_snapshot(&mut self, _timeout: Duration) -> Result<bool> {
        self.database.begin_snapshot()?;
        Ok(true)
    }

    fn end_snapshot(&mut self) -> Result<()> {
        self.database.end_snapshot();
        Ok(())
    }

    fn query(&mut self, statement: &Statement) -> Result<Cursor> {
        self.database.refresh()?;
        Cursor::start(&self.database, statement)
    }

    fn schema(&mut self, cursor: &mut Cursor) -> Result<Vec<Column>> {
        Ok(cursor.columns().to_vec())
    }

    fn next(&mut self, cursor: &mut Cursor, limits: BatchLimits) -> Result<Option<Batch>> {
        cursor.next(&self.database, limits)
    }

    fn close(&mut self, cursor: Cursor) -> Result<bool> {
        drop(cursor);
        Ok(true)
    }
}

export_connector!(Sqlite);
