//! The store: one connection pool over SQLite or PostgreSQL, with migrations, quotas and a read cache. It never queries
//! the tables of another crate, except to count them.
//!
//! Queries are plain SQL that both databases understand, with `$1` placeholders; each service has its own in
//! `<service>/store.rs`. Both drivers pass only a few types unchanged, so ids are UUIDs as text, times are microseconds
//! since 1970, JSON is text, and booleans are 0 and 1.

mod cache;
mod facts;
mod migrations;
mod open;
mod quotas;
pub mod testing;
mod vacuum;

use std::{
    collections::HashMap,
    fmt::Write,
    ops::{Deref, DerefMut},
    sync::{Arc, RwLock},
    time::Duration,
};

use sqlx::{
    Any, AnyConnection, AnyPool, ConnectOptions, Connection, Transaction,
    any::{AnyArguments, AnyQueryResult},
    query::Query,
};
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::timeout,
};
use uuid::Uuid;

use self::{
    cache::{ChangeCounter, ChangeGuard},
    quotas::Quotas,
};
use mindhost_base::error::{Error, Result};

pub use cache::ReadCache;
pub use open::{OpenError, SchemaState};
pub use quotas::{ROW_BYTES, ResourceKind, StoredBytes, count, free_bytes};
pub use sqlx::{Row, any::AnyRow};

/// The workspace that the first start creates.
pub const DEFAULT_WORKSPACE: &str = "default";

/// Which database is behind the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A file in the data directory.
    Sqlite,
    /// A server, which several hosts may share.
    Postgres,
}

/// A handle to the store; cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    pool: AnyPool,
    backend: Backend,
    /// A connection to the SQLite file that stays open and is not used. The last connection that closes deletes the
    /// write-ahead log, and a full disk has no room for a new one: then nothing could be read.
    anchor: Arc<Mutex<Option<AnyConnection>>>,
    /// Names of workspaces by id; they never change.
    workspaces: Arc<RwLock<HashMap<String, Arc<WorkspaceNames>>>>,
    changes: ChangeCounter,
    quotas: Arc<Quotas>,
    /// Queues the writers of SQLite, which has one writer at a time and does not serve them in order.
    writer: Arc<Mutex<()>>,
    write_timeout: Duration,
}

/// The name of a workspace, and that of its directory.
#[derive(Debug)]
pub struct WorkspaceNames {
    /// Unique, without regard to case.
    pub name: String,
    /// Its directory below `files/` in the data directory. Differs from the name if a deleted workspace used that.
    pub folder: String,
}

/// The state of the connection pool.
#[derive(Clone, Copy, Debug)]
pub struct Connections {
    /// Open connections.
    pub open: u64,
    /// Open connections that are not in use.
    pub idle: u64,
    /// Open connections at most.
    pub limit: u64,
}

/// A transaction that may write. Rolls back when dropped.
#[derive(Debug)]
pub struct Tx {
    transaction: Transaction<'static, Any>,
    /// Dropped after the transaction.
    _change: Option<ChangeGuard>,
    _writer: Option<OwnedMutexGuard<()>>,
}

impl Tx {
    /// Commits the transaction.
    ///
    /// # Errors
    /// When the store fails; then nothing is written.
    pub async fn commit(self) -> sqlx::Result<()> {
        self.transaction.commit().await
    }
}

impl Deref for Tx {
    type Target = AnyConnection;

    fn deref(&self) -> &AnyConnection {
        &self.transaction
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut AnyConnection {
        &mut self.transaction
    }
}

impl Store {
    /// The pool, for single statements that read. [`Self::change`] and [`Self::record`] write.
    pub fn pool(&self) -> &AnyPool {
        &self.pool
    }

    /// The state of the connection pool, for metrics.
    pub fn connections(&self) -> Connections {
        Connections {
            open: u64::from(self.pool.size()),
            idle: self.pool.num_idle() as u64,
            limit: u64::from(self.pool.options().get_max_connections()),
        }
    }

    /// The database behind the store.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Begins a transaction that may change anything. Its end invalidates every [`ReadCache`].
    ///
    /// On SQLite it takes the write lock at once: a transaction that reads first fails when it writes after another
    /// writer.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn begin(&self) -> Result<Tx> {
        let change = self.changes.begin();
        self.transaction(Some(change)).await
    }

    /// As [`Self::begin`], for records of requests: responses, conversations, audit entries, usage. A [`ReadCache`]
    /// never holds them, so it stays valid.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn begin_records(&self) -> Result<Tx> {
        self.transaction(None).await
    }

    /// Runs one statement that may change anything, as [`Self::begin`] does.
    ///
    /// # Errors
    /// When the statement fails.
    pub async fn change(
        &self,
        statement: Query<'_, Any, AnyArguments>,
    ) -> sqlx::Result<AnyQueryResult> {
        let _change = self.changes.begin();
        self.record(statement).await
    }

    /// Runs one statement that writes records, as [`Self::begin_records`] does.
    ///
    /// # Errors
    /// When the statement fails.
    pub async fn record(
        &self,
        statement: Query<'_, Any, AnyArguments>,
    ) -> sqlx::Result<AnyQueryResult> {
        let _writer = self.lock_writer().await?;
        statement.execute(&self.pool).await
    }

    async fn transaction(&self, change: Option<ChangeGuard>) -> Result<Tx> {
        // Lock first, then take a connection: a writer that waits must not hold a connection that a reader could use.
        let writer = self.lock_writer().await?;
        let transaction = match self.backend {
            Backend::Sqlite => self.pool.begin_with("BEGIN IMMEDIATE").await?,
            // A task of its own finishes the BEGIN if the caller is dropped. Otherwise the connection would go back to
            // the pool with a transaction that the driver does not know of.
            Backend::Postgres => {
                let connection = self.pool.acquire().await?;
                tokio::spawn(Transaction::<'static, Any>::begin(connection, None))
                    .await
                    .map_err(Error::internal)??
            }
        };
        Ok(Tx {
            transaction,
            _change: change,
            _writer: writer,
        })
    }

    /// The writer lock of SQLite, first come, first served. None for PostgreSQL, which has many writers.
    async fn lock_writer(&self) -> sqlx::Result<Option<OwnedMutexGuard<()>>> {
        if self.backend == Backend::Postgres {
            return Ok(None);
        }
        let writer = timeout(self.write_timeout, self.writer.clone().lock_owned()).await;
        writer.map(Some).map_err(|_| sqlx::Error::PoolTimedOut)
    }

    /// How long a writer waits for the writer lock, and again for a connection.
    pub fn write_timeout(&self) -> Duration {
        self.write_timeout
    }

    /// Runs an empty query, for readiness checks. If the server cannot be reached, the error says why.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn ping(&self) -> Result<()> {
        match sqlx::query("SELECT 1").execute(&self.pool).await {
            Ok(_) => Ok(()),
            Err(sqlx::Error::PoolTimedOut) => {
                let options = self.pool.connect_options();
                Err(open::connect_error(options.connect()).await.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Closes all connections after their current use.
    pub async fn close(&self) {
        self.pool.close().await;
        if let Some(anchor) = self.anchor.lock().await.take()
            && let Err(error) = anchor.close().await
        {
            tracing::debug!(%error, "a connection to the store was not closed cleanly");
        }
    }
}

/// Whether a statement violated a unique constraint: a row with that name or key exists.
pub fn is_taken(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| error.is_unique_violation())
}

/// Whether a statement violated a foreign key: another row refers to this one, or this one to a missing row.
pub fn is_referenced(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| error.is_foreign_key_violation())
}

/// A new id (UUIDv7); later ids sort after earlier ones.
pub fn new_id() -> String {
    Uuid::now_v7().to_string()
}

/// A prefix that sorts between the ids from before a time and those from then on.
pub fn first_id_of(time: jiff::Timestamp) -> String {
    let millis = u64::try_from(time.as_millisecond()).unwrap_or(0);
    format!("{:08x}-{:04x}", millis >> 16, millis & 0xffff)
}

/// Microseconds since 1970-01-01T00:00:00Z.
pub fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

/// Converts a stored time.
pub fn timestamp(micros: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(micros).unwrap_or_default()
}

/// Values per statement; far below the placeholder limits of both databases.
pub const CHUNK: usize = 500;

/// `$first, $first+1, …`
pub fn placeholders(first: usize, count: usize) -> String {
    let mut text = String::with_capacity(count * 6);
    for number in first..first + count {
        let comma = if number == first { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(text, "{comma}${number}");
    }
    text
}

/// `($1, $2), ($3, $4), …`
pub fn rows_of_placeholders(rows: usize, columns: usize) -> String {
    let row = |row: usize| format!("({})", placeholders(row * columns + 1, columns));
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

/// Splits rows into groups of 32, 16, 8, 4, 2 and 1, so that any number of rows needs only six prepared statements.
pub fn groups<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = rows.len().checked_ilog2()?.min(5);
        let (group, rest) = rows.split_at(1 << size);
        rows = rest;
        Some(group)
    })
}

/// Parses a JSON column.
pub fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(Error::internal)
}

/// Serializes a value for a JSON column.
pub fn to_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(Error::internal)
}
