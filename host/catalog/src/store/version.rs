//! Whether a catalog has changed, without reading it.

use std::hash::{DefaultHasher, Hash, Hasher};

use sqlx::Row;

use super::{CatalogStore, query, read::HIDDEN};
use mindhost_base::error::Result;

/// What changes with each load, listing, deletion and description of a datasource's catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogVersion {
    tables: i64,
    missing: i64,
    loaded: i64,
    newest_load: i64,
    /// A remainder, because the sum of many times would not fit.
    loads: i64,
    /// Hash of what callers wrote.
    descriptions: u64,
}

impl CatalogStore {
    /// The version of a datasource's catalog.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn version(&self, datasource_id: &str) -> Result<CatalogVersion> {
        let sql = format!(
            "SELECT COUNT(*), COUNT(loaded_at), CAST(COALESCE(SUM(missing), 0) AS BIGINT), \
             CAST(COALESCE(MAX(loaded_at), 0) AS BIGINT), CAST(COALESCE(SUM(loaded_at % 1000003), 0) AS BIGINT) \
             FROM catalog_tables WHERE datasource_id = $1 AND NOT ({HIDDEN})"
        );
        let counts = query(sql).bind(datasource_id.to_owned());
        let counts = counts.fetch_one(self.store.pool()).await?;
        Ok(CatalogVersion {
            tables: counts.try_get(0)?,
            loaded: counts.try_get(1)?,
            missing: counts.try_get(2)?,
            newest_load: counts.try_get(3)?,
            loads: counts.try_get(4)?,
            descriptions: self.descriptions(datasource_id).await?,
        })
    }

    /// A hash of the descriptions that callers wrote. Those of the source change with a load only.
    async fn descriptions(&self, datasource_id: &str) -> Result<u64> {
        let mut hasher = DefaultHasher::new();
        for sql in [OF_TABLES, OF_COLUMNS] {
            let written = query(sql.to_owned()).bind(datasource_id.to_owned());
            for row in written.fetch_all(self.store.pool()).await? {
                let (table, column): (String, String) = (row.try_get(0)?, row.try_get(1)?);
                let text: Option<String> = row.try_get(2)?;
                (table, column, text).hash(&mut hasher);
            }
        }
        Ok(hasher.finish())
    }
}

const OF_TABLES: &str = "SELECT id, table_name, description FROM catalog_tables \
     WHERE datasource_id = $1 AND description_source = 'caller' ORDER BY id";
const OF_COLUMNS: &str = "SELECT c.table_id, c.name, c.description FROM catalog_columns c \
     JOIN catalog_tables t ON t.id = c.table_id \
     WHERE t.datasource_id = $1 AND c.description_source = 'caller' ORDER BY c.table_id, c.ordinal";
