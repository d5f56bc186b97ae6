//! The queries of the catalog.
//!
//! Reads are set-based: a catalog of any size takes a few queries. Writes of a run are fenced: they succeed only while
//! the run is active and claimed by the host that writes.

mod change;
mod edit;
#[cfg(test)]
pub mod fixture;
mod listing;
mod ownership;
mod read;
mod runs;
mod stamps;
mod version;
mod write;

use sqlx::{Any, AssertSqlSafe, any::AnyArguments, query::Query};

use mindhost_store::{Backend, Store, Tx};

pub use runs::Heartbeat;
pub use version::{CatalogVersion, TablesVersion};
pub use write::TableSnapshot;

/// Reads and writes tables, runs and statistics of all datasources.
#[derive(Clone, Debug)]
pub struct CatalogStore {
    store: Store,
}

impl CatalogStore {
    /// The catalog of a store.
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Whether no other host uses the store, so that runs of an earlier process can be claimed at once.
    pub fn is_exclusive(&self) -> bool {
        self.store.backend() == Backend::Sqlite
    }

    /// Locks a datasource, so that one request at a time plans its runs. SQLite has one writer anyway.
    ///
    /// The lock order is datasource, runs, tables, and this lock does not block rows that refer to the datasource, so
    /// there is no deadlock.
    async fn lock_datasource(&self, tx: &mut Tx, datasource_id: &str) -> sqlx::Result<()> {
        if self.store.backend() == Backend::Postgres {
            sqlx::query("SELECT id FROM datasources WHERE id = $1 FOR NO KEY UPDATE")
                .bind(datasource_id)
                .fetch_optional(&mut **tx)
                .await?;
        }
        Ok(())
    }
}

/// A statement whose text depends on how many values it has. `sql` is made of constants and placeholders only; it
/// is not kept prepared, because the next one has another length.
fn query(sql: String) -> Query<'static, Any, AnyArguments> {
    sqlx::query(AssertSqlSafe(sql)).persistent(false)
}
