//! Stamps of catalogs, by which others notice that one changed.

use std::collections::HashMap;

use sqlx::Row;

use super::{CatalogStore, query, read::HIDDEN};
use mindhost_base::error::Result;
use mindhost_store::{CHUNK, placeholders};

impl CatalogStore {
    /// A stamp for each datasource with tables: how many tables there are, how many of them are missing, and when one
    /// was loaded last.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stamps(&self, datasource_ids: &[String]) -> Result<HashMap<String, String>> {
        let mut stamps = HashMap::new();
        for ids in datasource_ids.chunks(CHUNK) {
            let sql = format!(
                "SELECT datasource_id, COUNT(*), CAST(SUM(missing) AS BIGINT), COUNT(loaded_at), \
                 CAST(COALESCE(MAX(loaded_at), 0) AS BIGINT) FROM catalog_tables \
                 WHERE datasource_id IN ({}) AND NOT ({HIDDEN}) GROUP BY datasource_id",
                placeholders(1, ids.len())
            );
            let query = ids
                .iter()
                .fold(query(sql), |query, id| query.bind(id.clone()));
            for row in query.fetch_all(self.store.pool()).await? {
                let mut figures = Vec::with_capacity(4);
                for column in 1..=4 {
                    figures.push(row.try_get::<i64, _>(column)?.to_string());
                }
                stamps.insert(row.try_get(0)?, figures.join(" "));
            }
        }
        Ok(stamps)
    }
}
