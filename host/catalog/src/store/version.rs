//! Whether a catalog has changed, without reading it.

use std::hash::{DefaultHasher, Hash, Hasher};

use sqlx::Row;

use super::{CatalogStore, query, read::HIDDEN};
use mindhost_base::error::Result;

/// What changes with each load, listing and deletion of a datasource's catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TablesVersion {
    tables: i64,
    loaded: i64,
    newest_load: i64,
    /// A remainder, because the sum of many times would not fit.
    loads: i64,
    /// Hash of the newest table's id, and of the ids of those that are missing.
    ids: u64,
}

/// The same, and what changes with each description that a caller writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogVersion {
    tables: TablesVersion,
    /// Hash of what callers wrote.
    words: u64,
}

impl CatalogStore {
    /// The version of a datasource's catalog.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn version(&self, datasource_id: &str) -> Result<CatalogVersion> {
        Ok(CatalogVersion {
            tables: self.tables_version(datasource_id).await?,
            words: self.words(datasource_id).await?,
        })
    }

    /// The version of a datasource's tables, columns and keys, without descriptions that callers wrote. The descriptions
    /// of the source change with a load only.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tables_version(&self, datasource_id: &str) -> Result<TablesVersion> {
        // One table may go and another come.
        let mut ids = DefaultHasher::new();
        let missing = query(MISSING.to_owned()).bind(datasource_id.to_owned());
        for row in missing.fetch_all(self.store.pool()).await? {
            row.try_get::<String, _>(0)?.hash(&mut ids);
        }
        let sql = format!(
            "SELECT COUNT(*), COUNT(loaded_at), CAST(COALESCE(MAX(loaded_at), 0) AS BIGINT), \
             CAST(COALESCE(SUM(loaded_at % 1000003), 0) AS BIGINT), COALESCE(MAX(id), '') \
             FROM catalog_tables WHERE datasource_id = $1 AND NOT ({HIDDEN})"
        );
        let counts = query(sql).bind(datasource_id.to_owned());
        let counts = counts.fetch_one(self.store.pool()).await?;
        counts.try_get::<String, _>(4)?.hash(&mut ids);
        Ok(TablesVersion {
            tables: counts.try_get(0)?,
            loaded: counts.try_get(1)?,
            newest_load: counts.try_get(2)?,
            loads: counts.try_get(3)?,
            ids: ids.finish(),
        })
    }

    /// A hash of the descriptions that callers wrote.
    async fn words(&self, datasource_id: &str) -> Result<u64> {
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
const MISSING: &str =
    "SELECT id FROM catalog_tables WHERE datasource_id = $1 AND missing = 1 ORDER BY id";

#[cfg(test)]
mod tests {
    use mindhost_plugin_api::TableRef;

    use super::*;
    use crate::store::fixture;

    #[tokio::test]
    async fn table_that_goes_as_another_comes_back_is_a_change() {
        let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
        let datasource = fixture::datasource(&store, &workspace).await;
        let catalog = CatalogStore::new(store);
        let listed_as = async |names: &[&str]| {
            let table = |name: &&str| TableRef {
                schema: "main".to_owned(),
                name: (*name).to_owned(),
            };
            let listed: Vec<_> = names.iter().map(table).collect();
            let stored = catalog.store_list(&workspace, &datasource, &listed);
            stored.await.unwrap();
            catalog.version(&datasource).await.unwrap()
        };
        listed_as(&["a", "b"]).await;
        let without_a = listed_as(&["b"]).await;
        assert_eq!(listed_as(&["b"]).await, without_a);
        assert_ne!(listed_as(&["a"]).await, without_a);
    }
}
