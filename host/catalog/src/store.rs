//! The queries of the catalog.
//!
//! Reads are set-based: a whole catalog is a handful of queries, however many tables and columns it has. What a
//! run writes is fenced: it lands only while the run is active and claimed by the host that writes.

mod edit;
#[cfg(test)]
pub mod fixture;
mod listing;
mod read;
mod runs;
mod write;

use sqlx::{Any, AssertSqlSafe, any::AnyArguments, query::Query};

use mindhost_store::{Backend, Store, Tx};

pub use runs::Beat;
pub use write::Loaded;

/// The catalog's side of the store.
#[derive(Clone, Debug)]
pub struct CatalogStore {
    store: Store,
}

impl CatalogStore {
    /// Over this store.
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Whether this host has the store to itself, so that what a former process of it left can be taken at once.
    pub fn is_exclusive(&self) -> bool {
        self.store.backend() == Backend::Sqlite
    }

    /// Waits until no other request decides about runs of this datasource. SQLite has one writer anyway.
    ///
    /// Locks are always taken in the order datasource, runs, tables, and this one does not stop others from adding
    /// rows that refer to the datasource: so no two transactions wait for each other.
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
