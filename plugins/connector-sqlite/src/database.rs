//! The open database: the connection, and the state of the file that it has in its cache.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mindhost_sdk::{Error, ErrorKind, Result};
use rusqlite::{Connection, OpenFlags};

use crate::errors;
use crate::file::{DatabaseFile, FileState};
use crate::guard::Watch;

/// The connector's own statements read the schema only.
const INTERNAL_TIMEOUT: Duration = Duration::from_secs(30);

/// The file and the one connection to it.
pub struct Database {
    file: DatabaseFile,
    connection: Rc<Connection>,
    watch: Arc<Watch>,
    state: FileState,
    in_snapshot: bool,
}

impl Database {
    pub fn open(path: PathBuf) -> Result<Self> {
        let watch = Arc::new(Watch::default());
        let (file, state, connection) = opened(path, &watch)?;
        Ok(Self {
            file,
            connection,
            watch,
            state,
            in_snapshot: false,
        })
    }

    pub fn connection(&self) -> &Rc<Connection> {
        &self.connection
    }

    pub fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    /// Makes sure that the connection sees the file as it is now. Call before each statement: an immutable
    /// connection does not look by itself.
    pub fn refresh(&mut self) -> Result<()> {
        let state = self.file.settled_state()?;
        if state == self.state {
            return Ok(());
        }
        if self.in_snapshot {
            return Err(changed("since the snapshot began"));
        }
        (self.file, self.state, self.connection) =
            opened(self.file.path().to_owned(), &self.watch)?;
        Ok(())
    }

    /// An error when the file is not what it was when the statement began: the rows just read may mix two states.
    pub fn verify_unchanged(&self) -> Result<()> {
        if self.file.state()? == self.state {
            return Ok(());
        }
        Err(changed("while the statement was reading it"))
    }

    pub fn begin_snapshot(&mut self) -> Result<()> {
        self.refresh()?;
        self.in_snapshot = true;
        Ok(())
    }

    pub fn end_snapshot(&mut self) {
        self.in_snapshot = false;
    }

    /// Runs statements of the connector's own, which may read the schema.
    pub fn internal<R>(&self, run: impl FnOnce(&Connection) -> rusqlite::Result<R>) -> Result<R> {
        self.watch.start(INTERNAL_TIMEOUT);
        let result = self.watch.internal(|| run(&self.connection));
        result.map_err(|error| self.error(error, ""))
    }

    /// The typed error of a statement, with what interrupted it where something did.
    pub fn error(&self, error: rusqlite::Error, statement: &str) -> Error {
        self.watch
            .ended()
            .unwrap_or_else(|| errors::from_sqlite(error, statement))
    }
}

/// The file, its state, and a connection to it: all three of the same file.
fn opened(path: PathBuf, watch: &Arc<Watch>) -> Result<(DatabaseFile, FileState, Rc<Connection>)> {
    let file = DatabaseFile::open(path)?;
    let state = file.settled_state()?;
    let connection = connect(file.path(), watch)?;
    // Another file may have taken the path before SQLite opened it, or before its state was read.
    if file.settled_state()? != state || file.state()? != state {
        return Err(changed("while it was being opened"));
    }
    Ok((file, state, connection))
}

fn connect(path: &Path, watch: &Arc<Watch>) -> Result<Rc<Connection>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri(path)?, flags)
        .map_err(|error| errors::from_sqlite(error, ""))?;
    watch.install(&connection)?;
    Ok(Rc::new(connection))
}

/// The file as a URI: `immutable` keeps SQLite from the locks that a read-only sandbox does not have.
fn uri(path: &Path) -> Result<String> {
    let text = path
        .to_str()
        .ok_or_else(|| Error::invalid_config("`path` is not valid UTF-8"))?;
    let mut uri = String::from("file:");
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                uri.push(char::from(byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    Ok(uri)
}

fn changed(when: &str) -> Error {
    let message =
        format!("another program changed the database file {when}; run the statement again");
    Error::new(ErrorKind::Upstream, message).connection_usable(true)
}
