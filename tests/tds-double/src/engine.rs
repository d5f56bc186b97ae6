//! SQLite in the place of the engine: one file for each schema, shared by all sessions.

use std::sync::Mutex;

use anyhow::{Context, Result};
use rusqlite::Connection;

use crate::catalog;

/// The schemas of the database; each is a file of SQLite's that a session attaches.
pub const SCHEMAS: [&str; 3] = ["dbo", "sales", "sys"];

/// The files, and the session that makes tables.
pub struct Engine {
    folder: tempfile::TempDir,
    own: Mutex<Connection>,
}

impl Engine {
    pub(crate) fn new(snapshots: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the engine's files");
        let own = open(folder.path()).expect("SQLite");
        for schema in SCHEMAS {
            let wal = format!("PRAGMA {schema}.journal_mode = WAL");
            own.query_row(&wal, [], |_| Ok(())).expect("a journal");
        }
        own.execute_batch(catalog::SYS).expect("the catalog");
        let state = u8::from(snapshots);
        let databases = format!("INSERT INTO sys.databases VALUES ('shop', 1, {state})");
        own.execute_batch(&databases).expect("the catalog");
        Self {
            folder,
            own: Mutex::new(own),
        }
    }

    /// A session's own connection.
    pub(crate) fn session(&self) -> Result<Connection> {
        open(self.folder.path())
    }

    /// Removes the files. A session that still runs would keep them until the process ends, and then they would stay.
    pub(crate) fn remove_files(&self) {
        let _ = std::fs::remove_dir_all(self.folder.path());
    }

    /// Runs statements: CREATE TABLE and CREATE VIEW of T-SQL, and anything that SQLite has.
    pub(crate) fn set_up(&self, sql: &str) -> Result<()> {
        let own = self.own.lock().expect("no panic while it was held");
        for statement in crate::batch::split(sql).context("statements")? {
            catalog::run(&own, &statement)?;
        }
        Ok(())
    }

    pub(crate) fn comment(
        &self,
        schema: &str,
        table: &str,
        column: Option<&str>,
        text: &str,
    ) -> Result<()> {
        let own = self.own.lock().expect("no panic while it was held");
        catalog::comment(&own, schema, table, column, text)
    }

    pub(crate) fn value(&self, sql: &str) -> Result<String> {
        let own = self.own.lock().expect("no panic while it was held");
        let value: rusqlite::types::Value = own.query_row(sql, [], |row| row.get(0))?;
        Ok(match value {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        })
    }
}

fn open(folder: &std::path::Path) -> Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    crate::values::register(&connection)?;
    for schema in SCHEMAS {
        let file = folder.join(format!("{schema}.db"));
        connection.execute(&format!("ATTACH ?1 AS {schema}"), [file.to_string_lossy()])?;
    }
    // Several statements of one text would else see the quotes of strings as names.
    connection.execute_batch("CREATE TABLE main.dm_exec_requests (session_id int, command nvarchar(32), text nvarchar(4000))")?;
    Ok(connection)
}
