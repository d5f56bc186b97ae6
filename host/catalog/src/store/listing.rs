//! Stores a list of tables.
//!
//! A database may have a hundred thousand tables, and SQLite has one writer, so a long list is stored in many short
//! transactions. Readers see it when it is complete: its tables have the id of the list, and are hidden until the row
//! of the unpublished list is deleted.

use std::collections::HashSet;

use super::{change::Change, ownership::fence, query, read::HIDDEN, runs};
use crate::types::{DescriptionSource, Run, TableStatus};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::TableRef;
use mindhost_store::{CHUNK, Store, Tx, is_referenced, new_id, rows_of_placeholders};

/// Tables that one transaction inserts, so that other writers wait only briefly.
const TABLES_PER_TRANSACTION: usize = 2 * CHUNK;

/// A list of the tables of one datasource.
pub(super) struct Listing<'a> {
    pub store: &'a Store,
    pub workspace: &'a str,
    pub datasource_id: &'a str,
    /// The run that will load the new tables, and its host.
    pub run: Option<(&'a Run, &'a str)>,
}

impl Listing<'_> {
    /// Inserts the new tables of a long list, hidden. False if nothing changed or the run is lost.
    pub async fn insert_ahead(&self, listed: &[TableRef]) -> Result<bool> {
        let known = {
            let mut connection = self.store.pool().acquire().await?;
            runs::tables_in(&mut connection, self.datasource_id).await?
        };
        let change = Change::between(&known, listed);
        if self.run.is_none() && change.is_nothing() {
            return Ok(false);
        }
        self.store.check_free_space()?;
        if change.new.len() <= TABLES_PER_TRANSACTION {
            return Ok(true);
        }
        let id = self.begin().await?;
        for tables in change.new.chunks(TABLES_PER_TRANSACTION) {
            let mut tx = self.store.begin().await?;
            if let Some((run, host)) = self.run
                && !fence(&mut tx, run, host, "listed = listed").await?
            {
                return Ok(false);
            }
            self.insert(&mut tx, tables, Some(&id)).await?;
            tx.commit().await?;
        }
        Ok(true)
    }

    /// Begins an unpublished list, or resumes one.
    async fn begin(&self) -> Result<String> {
        let mut tx = self.store.begin().await?;
        sqlx::query(
            "INSERT INTO catalog_listings (datasource_id, workspace_id, id) VALUES ($1, $2, $3) \
             ON CONFLICT (datasource_id) DO NOTHING",
        )
        .bind(self.datasource_id)
        .bind(self.workspace)
        .bind(new_id())
        .execute(&mut *tx)
        .await
        .map_err(deleted)?;
        let id = sqlx::query_scalar("SELECT id FROM catalog_listings WHERE datasource_id = $1")
            .bind(self.datasource_id)
            .fetch_one(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Publishes the list. Returns tables that an interrupted list left hidden and that no run has taken.
    pub async fn publish(&self, tx: &mut Tx) -> Result<HashSet<String>> {
        let sql = format!(
            "SELECT id FROM catalog_tables WHERE datasource_id = $1 AND {HIDDEN} AND COALESCE(run_id, '') <> $2"
        );
        let run = self.run.map_or("", |(run, _)| run.id.as_str());
        let left: Vec<String> = match self.run {
            Some(_) => {
                sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
                    .bind(self.datasource_id)
                    .bind(run)
                    .fetch_all(&mut **tx)
                    .await?
            }
            None => Vec::new(),
        };
        sqlx::query("DELETE FROM catalog_listings WHERE datasource_id = $1")
            .bind(self.datasource_id)
            .execute(&mut **tx)
            .await?;
        Ok(left.into_iter().collect())
    }

    /// Inserts tables, with the id of an unpublished list.
    pub async fn insert(
        &self,
        tx: &mut Tx,
        tables: &[&TableRef],
        listing: Option<&str>,
    ) -> Result<()> {
        let run_id = self.run.map(|(run, _)| run.id.clone());
        let status = match run_id {
            Some(_) => TableStatus::Pending,
            None => TableStatus::NotCataloged,
        };
        for tables in tables.chunks(CHUNK) {
            let sql = format!(
                "INSERT INTO catalog_tables (id, workspace_id, datasource_id, schema_name, table_name, kind, \
                 description_source, row_count, row_count_known, status, missing, run_id, listing_id) VALUES {} \
                 ON CONFLICT DO NOTHING",
                rows_of_placeholders(tables.len(), 13)
            );
            let mut query = query(sql);
            for table in tables {
                query = query
                    .bind(new_id())
                    .bind(self.workspace.to_owned())
                    .bind(self.datasource_id.to_owned())
                    .bind(table.schema.clone())
                    .bind(table.name.clone())
                    .bind("UNKNOWN")
                    .bind(DescriptionSource::Unset.as_str())
                    .bind(0_i64)
                    .bind(0_i64)
                    .bind(status.as_str())
                    .bind(0_i64)
                    .bind(run_id.clone())
                    .bind(listing.map(str::to_owned));
            }
            query.execute(&mut **tx).await.map_err(deleted)?;
        }
        Ok(())
    }
}

/// Converts an error: the datasource may be deleted while its list is stored.
fn deleted(error: sqlx::Error) -> Error {
    match is_referenced(&error) {
        true => Error::new(
            Code::DatasourceNotFound,
            "the datasource was deleted while its tables were listed",
        ),
        false => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::store::{CatalogStore, fixture};

    /// The rows that another writer sees in each of its transactions. It queues again at once, and the queue is fair.
    async fn rows_at_each_write(store: &Store, is_done: &AtomicBool) -> Vec<i64> {
        let mut seen = Vec::new();
        while !is_done.load(Ordering::SeqCst) {
            let mut tx = store.begin().await.unwrap();
            let rows = sqlx::query_scalar("SELECT COUNT(*) FROM catalog_tables")
                .fetch_one(&mut *tx)
                .await
                .unwrap();
            tx.commit().await.unwrap();
            seen.push(rows);
        }
        seen
    }

    #[tokio::test]
    async fn another_writer_can_write_after_each_thousand_tables_of_a_long_list() {
        const TABLES: usize = 4_500;
        let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
        let datasource = fixture::datasource(&store, &workspace).await;
        let catalog = CatalogStore::new(store.clone());
        let table = |number: usize| TableRef {
            schema: "main".to_owned(),
            name: format!("t{number:05}"),
        };
        let listed: Vec<_> = (0..TABLES).map(table).collect();
        let is_done = AtomicBool::new(false);
        let list = async {
            catalog
                .store_list(&workspace, &datasource, &listed)
                .await
                .unwrap();
            is_done.store(true, Ordering::SeqCst);
        };
        let (seen, ()) = tokio::join!(rows_at_each_write(&store, &is_done), list);
        let mut before = 0;
        for rows in &seen {
            assert!(
                rows - before <= 1000,
                "too many in one transaction: {seen:?}"
            );
            before = *rows;
        }
        assert!(before >= 4000, "it had no turn in between: {seen:?}");
        let shown = catalog.tables(&datasource).await.unwrap();
        assert_eq!(shown.len(), TABLES);
    }
}
