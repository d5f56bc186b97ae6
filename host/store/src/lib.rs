//! The store: one pool over SQLite or PostgreSQL.
//!
//! Queries are plain SQL that both understand, with `$1` placeholders; each part of the host keeps its own in
//! `<part>/store.rs`. Ids are UUIDs as text, times microseconds since 1970, JSON text, truth values 0 and 1: the
//! few types that travel through both drivers unchanged.

mod facts;
mod migrations;
mod open;
mod remembered;
mod room;
mod space;
pub mod testing;

use std::{
    collections::HashMap,
    fmt::Write,
    ops::{Deref, DerefMut},
    sync::{Arc, RwLock},
    time::Duration,
};

use sqlx::{
    Any, AnyConnection, AnyPool, Transaction,
    any::{AnyArguments, AnyQueryResult},
    query::Query,
};
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::timeout,
};
use uuid::Uuid;

use self::{
    remembered::{Changes, Changing},
    room::Bounds,
};
use mindhost_base::error::{Error, Result};

pub use open::{Migrations, OpenError};
pub use remembered::Remembered;
pub use room::{Added, Counted, ROW_BYTES, count};
pub use sqlx::{Row, any::AnyRow};

/// The workspace that the first start makes.
pub const DEFAULT_WORKSPACE: &str = "default";

/// Which database is behind the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A file in the data directory.
    Sqlite,
    /// A server, perhaps shared by several hosts.
    Postgres,
}

/// A handle on the store; cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    pool: AnyPool,
    backend: Backend,
    /// Names of workspaces by id; they never change.
    workspaces: Arc<RwLock<HashMap<String, Arc<WorkspaceNames>>>>,
    changes: Changes,
    bounds: Arc<Bounds>,
    /// Who writes to SQLite does so in turn: it has one writer at a time, and knows no order among those that wait.
    turn: Arc<Mutex<()>>,
    patience: Duration,
}

/// What a workspace is called.
#[derive(Debug)]
pub struct WorkspaceNames {
    /// Its name.
    pub name: String,
    /// Its directory below `files/` in the data directory: its name, unless a deleted workspace had that before.
    pub folder: String,
}

/// The connections of a store.
#[derive(Clone, Copy, Debug)]
pub struct Connections {
    /// That there are.
    pub open: u64,
    /// Of those, that nobody uses.
    pub idle: u64,
    /// That there may be.
    pub limit: u64,
}

/// A transaction that may write. Rolled back when dropped.
#[derive(Debug)]
pub struct Tx {
    transaction: Transaction<'static, Any>,
    /// Ends after the transaction.
    _changing: Option<Changing>,
    _turn: Option<OwnedMutexGuard<()>>,
}

impl Tx {
    /// Makes what was written last.
    ///
    /// # Errors
    /// When the store fails; nothing was written then.
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
    /// For single statements that read, or that write records; see [`Self::change`] for others.
    pub fn pool(&self) -> &AnyPool {
        &self.pool
    }

    /// Its connections.
    pub fn connections(&self) -> Connections {
        Connections {
            open: u64::from(self.pool.size()),
            idle: self.pool.num_idle() as u64,
            limit: u64::from(self.pool.options().get_max_connections()),
        }
    }

    /// Which database it is.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// A transaction that may change anything. Nothing that was read before it ends is remembered after it.
    ///
    /// On SQLite it takes the write lock at once: one that started by reading and then wrote would fail when another
    /// wrote in between.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn begin(&self) -> Result<Tx> {
        let changing = self.changes.begin();
        self.transaction(Some(changing)).await
    }

    /// As [`Self::begin`], for records of what was asked and done: responses, conversations, notes, sums. Nothing of
    /// them is ever [`Remembered`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn begin_records(&self) -> Result<Tx> {
        self.transaction(None).await
    }

    /// One statement that may change anything, as in a transaction of its own.
    ///
    /// # Errors
    /// When the statement fails.
    pub async fn change(
        &self,
        statement: Query<'_, Any, AnyArguments>,
    ) -> sqlx::Result<AnyQueryResult> {
        let _changing = self.changes.begin();
        self.record(statement).await
    }

    /// One statement that writes records, as in a transaction of [`Self::begin_records`].
    ///
    /// # Errors
    /// When the statement fails.
    pub async fn record(
        &self,
        statement: Query<'_, Any, AnyArguments>,
    ) -> sqlx::Result<AnyQueryResult> {
        let _turn = self.turn().await?;
        statement.execute(&self.pool).await
    }

    async fn transaction(&self, changing: Option<Changing>) -> Result<Tx> {
        // First the turn, then a connection: who waits for its turn keeps no connection from those that read.
        let turn = self.turn().await?;
        let transaction = match self.backend {
            Backend::Sqlite => self.pool.begin_with("BEGIN IMMEDIATE").await?,
            Backend::Postgres => self.pool.begin().await?,
        };
        Ok(Tx {
            transaction,
            _changing: changing,
            _turn: turn,
        })
    }

    /// The turn to write, in the order of asking; PostgreSQL has many writers.
    async fn turn(&self) -> sqlx::Result<Option<OwnedMutexGuard<()>>> {
        if self.backend == Backend::Postgres {
            return Ok(None);
        }
        let turn = timeout(self.patience, self.turn.clone().lock_owned()).await;
        turn.map(Some).map_err(|_| sqlx::Error::PoolTimedOut)
    }

    /// How long who writes may wait for a turn or a connection.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Proves that the store answers.
    pub async fn ping(&self) -> Result<()> {
        sqlx::query("SELECT 1").execute(&self.pool).await?;
        Ok(())
    }

    /// Ends all connections, waiting for those in use.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// Whether a statement failed because a row with that name or key exists.
pub fn is_taken(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| error.is_unique_violation())
}

/// Whether a statement failed because another row refers to this one, or this one to none.
pub fn is_referenced(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| error.is_foreign_key_violation())
}

/// A new id; later ones sort after earlier ones.
pub fn new_id() -> String {
    Uuid::now_v7().to_string()
}

/// Sorts behind all ids that were made before a time, and before those made since.
pub fn first_id_of(time: jiff::Timestamp) -> String {
    let millis = u64::try_from(time.as_millisecond()).unwrap_or(0);
    format!("{:08x}-{:04x}", millis >> 16, millis & 0xffff)
}

/// Microseconds since 1970-01-01T00:00:00Z.
pub fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

/// A stored time, to show.
pub fn timestamp(micros: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(micros).unwrap_or_default()
}

/// Values that go into one statement; far below the limits of both databases on placeholders.
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

/// Rows in groups of 32, 16, 8, 4, 2 and 1, so that few statements are prepared however many rows come at a time.
pub fn groups<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = rows.len().checked_ilog2()?.min(5);
        let (group, rest) = rows.split_at(1 << size);
        rows = rest;
        Some(group)
    })
}

/// Reads a JSON column.
pub fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(Error::internal)
}

/// Writes a JSON column.
pub fn to_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(Error::internal)
}
