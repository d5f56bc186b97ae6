//! What a caller changes: descriptions, deletion.

use super::{CatalogStore, ownership, query};
use mindhost_base::error::Result;
use mindhost_store::{CHUNK, placeholders};

impl CatalogStore {
    /// Sets the caller's description of a table; `None` clears it for good. False when the table is gone.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn describe_table(&self, table_id: &str, text: Option<&str>) -> Result<bool> {
        let changed = self.store.change(sqlx::query(
            "UPDATE catalog_tables SET description = $1, description_source = 'caller' WHERE id = $2",
        )
        .bind(text)
        .bind(table_id))
        .await?;
        Ok(changed.rows_affected() > 0)
    }

    /// Sets the caller's description of a column; `None` clears it for good. False when there is no such column.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn describe_column(
        &self,
        table_id: &str,
        column: &str,
        text: Option<&str>,
    ) -> Result<bool> {
        let changed = self
            .store
            .change(
                sqlx::query(
                    "UPDATE catalog_columns SET description = $1, description_source = 'caller' \
             WHERE table_id = $2 AND name = $3",
                )
                .bind(text)
                .bind(table_id)
                .bind(column),
            )
            .await?;
        Ok(changed.rows_affected() > 0)
    }

    /// Deletes all that is stored of these tables. Those that the source still has stay known as not cataloged.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn delete_tables(&self, table_ids: &[String]) -> Result<()> {
        let mut tx = self.store.begin().await?;
        delete_in(&mut tx, table_ids).await?;
        Ok(tx.commit().await?)
    }

    /// Deletes all that is stored of a datasource's tables, and its runs with it, so that it was never loaded. A
    /// run in progress finds that it is gone and writes nothing more.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn delete_all(&self, datasource_id: &str) -> Result<()> {
        let mut tx = self.store.begin().await?;
        self.lock_datasource(&mut tx, datasource_id).await?;
        sqlx::query("DELETE FROM catalog_runs WHERE datasource_id = $1")
            .bind(datasource_id)
            .execute(&mut *tx)
            .await?;
        let tables = super::runs::tables_in(&mut tx, datasource_id).await?;
        let ids: Vec<String> = tables.into_iter().map(|table| table.id).collect();
        delete_in(&mut tx, &ids).await?;
        Ok(tx.commit().await?)
    }
}

async fn delete_in(tx: &mut mindhost_store::Tx, table_ids: &[String]) -> Result<()> {
    ownership::delete_children(tx, table_ids).await?;
    for ids in table_ids.chunks(CHUNK) {
        let these = placeholders(1, ids.len());
        for sql in [
            format!("DELETE FROM catalog_tables WHERE missing = 1 AND id IN ({these})"),
            format!(
                "UPDATE catalog_tables SET kind = 'UNKNOWN', source_description = NULL, description = NULL, \
                 description_source = 'none', row_count = 0, row_count_known = 0, status = 'NOT_CATALOGED', \
                 error = NULL, run_id = NULL, loaded_at = NULL WHERE id IN ({these})"
            ),
        ] {
            let query = ids
                .iter()
                .fold(query(sql), |query, id| query.bind(id.clone()));
            query.execute(&mut **tx).await?;
        }
    }
    Ok(())
}
