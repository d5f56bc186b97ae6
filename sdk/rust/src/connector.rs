//! The trait of a connector, and its export macro.

pub(crate) mod export;
pub(crate) mod session;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::batch::BatchLimits;
use crate::bindings::connector::exports::mindhost::plugin::connector as wire;
use crate::bindings::connector::mindhost::plugin::types;
use crate::catalog::{ColumnStatistics, StatisticsOptions, Table, TableRef};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::values::{Batch, Column, Extra};

pub use types::ServerInfo;

impl ServerInfo {
    /// The engine's product name and version: `PostgreSQL`, `16.4`.
    pub fn new(product: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            product: product.into(),
            version: version.into(),
            extra: Vec::new(),
        }
    }
}

/// One read-only statement, already guarded by the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// SQL in the engine's dialect.
    pub text: String,
    /// The host's id of this execution, for the engine's own log where it has a place for one.
    pub id: String,
    /// The engine should stop the statement by itself after this long.
    pub timeout: Duration,
    /// A larger cell is the error `TooLarge`. In bytes.
    pub max_cell_bytes: u64,
    /// Named additions.
    pub extra: Extra,
}

impl Statement {
    /// For tests: a statement with a minute of time and cells of up to 16 MiB.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            id: String::new(),
            timeout: Duration::from_secs(60),
            max_cell_bytes: 16 << 20,
            extra: Vec::new(),
        }
    }
}

impl From<wire::Statement> for Statement {
    fn from(statement: wire::Statement) -> Self {
        Self {
            text: statement.text,
            id: statement.id,
            timeout: Duration::from_millis(statement.timeout_ms),
            max_cell_bytes: statement.max_cell_bytes,
            extra: statement.extra,
        }
    }
}

/// A SQL engine, as one live connection to it.
///
/// One instance of the component holds one connection, and a connection at most one open cursor: while a cursor is
/// open the host calls nothing but the cursor. The SDK sees to it that a breach of this, and any order in which
/// the host drops things, is a typed error or harmless, so an implementation need not think about it.
///
/// A panic ends the instance and costs the host a connection; return errors.
pub trait Connector: Sized + 'static {
    /// The manifest: `include_str!("../manifest.json")`. The host reads it from the packed component, and refuses one
    /// that says otherwise.
    const MANIFEST: &'static str;

    /// What runs between [`Connector::query`] and [`Connector::close`]. It may not borrow from the connection; every
    /// method gets both.
    type Cursor: 'static;

    /// Connects and proves that the engine answers.
    ///
    /// Called once for each instance, before anything else. The host keeps the connection in a pool, so it lives
    /// for many statements.
    fn open(config: &Config) -> Result<Self>;

    /// What [`Connector::cancel`] needs to stop whatever runs on this connection.
    ///
    /// Read once, after `open`. Not overriding it means that the engine can only be stopped through
    /// [`crate::control`] and by dropping the instance, which must then end the engine's work too.
    fn cancel_key(&self) -> Option<Vec<u8>> {
        None
    }

    /// Asks the engine whether it still answers, and who it is.
    ///
    /// Called when a person makes, changes or tests a datasource, and at no other time: a connection from the pool is
    /// used as it is, and one that turns out to be lost is replaced. Keep it to one round trip.
    fn check(&mut self) -> Result<ServerInfo>;

    /// Every table and view that the configuration reaches, the engine's own catalog left out.
    ///
    /// Called at the start of a catalog run, and when a datasource is made.
    fn tables(&mut self) -> Result<Vec<TableRef>>;

    /// Columns, keys and comments of some tables; one that is gone is left out of the answer.
    ///
    /// Called during a catalog run with up to 50 tables at a time: ask the engine in a few statements, not in
    /// a few for each table.
    fn describe_tables(&mut self, tables: &[TableRef]) -> Result<Vec<Table>>;

    /// The engine's own statistics of a table, within the limits of `options`.
    ///
    /// Called once a table in a catalog run. `None` (and not overriding it) means that there are no fresh ones: the
    /// host then reads a bounded sample itself, through [`Connector::query`].
    fn statistics(
        &mut self,
        table: &TableRef,
        options: &StatisticsOptions,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        let _ = (table, options);
        Ok(None)
    }

    /// From here to [`Connector::end_snapshot`] all statements see one state of the data; the engine may end it after
    /// `timeout`.
    ///
    /// Called before the host counts and pages one statement. False (and not overriding it) means that the engine has
    /// no such thing: the answer's count may then differ from its rows. Say the same in the manifest
    /// (`capabilities.snapshot`).
    fn begin_snapshot(&mut self, timeout: Duration) -> Result<bool> {
        let _ = timeout;
        Ok(false)
    }

    /// Ends the snapshot.
    ///
    /// Called once after each `begin_snapshot` that answered true, also after an error of a statement in it; not where the
    /// connection is lost, cancelled or out of time, which is then dropped as it is. Not overriding it goes with not
    /// overriding `begin_snapshot`.
    fn end_snapshot(&mut self) -> Result<()> {
        Ok(())
    }

    /// Starts one read-only statement.
    ///
    /// Called for each query, page and count. It is the third line of defence after the host's guard: run the
    /// statement so that it cannot write (a read-only transaction or session), and with the statement's timeout set in
    /// the engine.
    ///
    /// On a connection from the pool, `ConnectionLost` has the host open another one and call again. Where the engine
    /// can take long before this returns, use [`Error::of_begun_statement`] for what happens after the statement began:
    /// a statement that an administrator killed must not run again.
    fn query(&mut self, statement: &Statement) -> Result<Self::Cursor>;

    /// The columns of the answer.
    ///
    /// Called once, before the first [`Connector::next`].
    fn schema(&mut self, cursor: &mut Self::Cursor) -> Result<Vec<Column>>;

    /// As [`Connector::cancel_key`], for engines that name each execution.
    ///
    /// Read once, after `query`. Not overriding it means that the connection's key serves.
    fn cursor_cancel_key(&self, cursor: &Self::Cursor) -> Option<Vec<u8>> {
        let _ = cursor;
        None
    }

    /// The next rows; `None` at the end.
    ///
    /// Called until it answers `None` or the host has enough. Keep to the limits ([`crate::BatchBuilder`] does), and
    /// hold no more than about one batch in memory. An empty batch means nothing yet. After an error the host closes
    /// the cursor.
    fn next(&mut self, cursor: &mut Self::Cursor, limits: BatchLimits) -> Result<Option<Batch>>;

    /// Ends the execution, finished or not. True when the connection can be used again.
    ///
    /// Called exactly once for each cursor, with little time: close an unfinished execution the cheapest way, and
    /// answer false rather than drain it. When a caller leaves in the middle of a result, the host asks
    /// [`Connector::cancel`] first, then calls this, and drops the connection whatever the answer. When the host drops a
    /// cursor without closing it, the SDK calls this.
    fn close(&mut self, cursor: Self::Cursor) -> Result<bool>;

    /// Stops what runs on another instance's connection, named by its key.
    ///
    /// Called on a fresh instance, without `open`, once the running one was told through [`crate::control`] and has
    /// returned, or has not within a fifth of its time to wind up (100 ms). Not overriding it means that the host drops the running instance instead.
    fn cancel(config: &Config, key: &[u8]) -> Result<()> {
        let _ = (config, key);
        Err(Error::unsupported("this connector has no cancel request"))
    }
}

/// Makes a type that implements [`Connector`] the connector of this component. Once in a crate.
///
/// For targets other than WebAssembly it only checks that the type implements the trait.
#[macro_export]
macro_rules! export_connector {
    ($connector:ty) => {
        const _: () = {
            const fn implements_connector<T: $crate::Connector>() {}
            implements_connector::<$connector>();

            #[cfg(target_family = "wasm")]
            type Exported = $crate::exports::ExportedConnector<$connector>;
            #[cfg(target_family = "wasm")]
            $crate::bindings::connector::export!(Exported with_types_in $crate::bindings::connector);
        };
    };
}
