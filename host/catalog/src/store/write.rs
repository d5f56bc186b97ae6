//! The writes of a run: the list of tables, and the result of each table.

use std::collections::HashMap;

use sqlx::Row;

use super::{
    CatalogStore,
    change::Change,
    listing::Listing,
    ownership::{delete_children, fence, take},
    query, runs,
};
use crate::{
    Statistics,
    plan::takes,
    types::{Description, Mode, Run, Table, TableStatus},
};
use mindhost_base::error::Result;
use mindhost_plugin_api::{TableInfo, TableRef};
use mindhost_store::{CHUNK, Tx, now, placeholders, rows_of_placeholders, to_json};

/// Everything that a run learnt of one table.
#[derive(Clone, Debug)]
pub struct TableSnapshot {
    /// The engine's description.
    pub info: TableInfo,
    /// Exact if the whole table was read, else the engine's estimate.
    pub row_count: Option<u64>,
    /// By column name; columns without statistics are missing.
    pub statistics: HashMap<String, Statistics>,
    /// What could not be learnt, and why; its columns can be named nevertheless.
    pub note: Option<String>,
}

impl CatalogStore {
    /// Stores the list of a datasource's tables: adds new ones and marks missing ones. Writes nothing if nothing
    /// changed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn store_list(
        &self,
        workspace: &str,
        datasource_id: &str,
        listed: &[TableRef],
    ) -> Result<()> {
        let list = Listing {
            store: &self.store,
            workspace,
            datasource_id,
            run: None,
        };
        if !list.insert_ahead(listed).await? {
            return Ok(());
        }
        let mut tx = self.store.begin().await?;
        self.lock_datasource(&mut tx, datasource_id).await?;
        list.publish(&mut tx).await?;
        let known = runs::tables_in(&mut tx, datasource_id).await?;
        let change = Change::between(&known, listed);
        list.insert(&mut tx, &change.new, None).await?;
        mark(&mut tx, &ids(&change.gone), true).await?;
        mark(&mut tx, &ids(&change.back), false).await?;
        Ok(tx.commit().await?)
    }

    /// As [`Self::store_list`], and gives the run the tables that its mode takes. False if the run is lost.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn apply_listing(&self, run: &Run, host: &str, listed: &[TableRef]) -> Result<bool> {
        let list = Listing {
            store: &self.store,
            workspace: &run.workspace,
            datasource_id: &run.datasource_id,
            run: Some((run, host)),
        };
        if !list.insert_ahead(listed).await? {
            return Ok(false);
        }
        let mut tx = self.store.begin().await?;
        self.lock_datasource(&mut tx, &run.datasource_id).await?;
        if !fence(&mut tx, run, host, "listed = 1").await? {
            return Ok(false);
        }
        let left = list.publish(&mut tx).await?;
        let known = runs::tables_in(&mut tx, &run.datasource_id).await?;
        let active = runs::active_in(&mut tx, &run.datasource_id).await?;
        let mut change = Change::between(&known, listed);
        let left = known.iter().filter(|table| left.contains(&table.id));
        change.back.extend(left);
        list.insert(&mut tx, &change.new, None).await?;
        mark(&mut tx, &ids(&change.back), false).await?;
        mark(&mut tx, &ids(&change.gone), true).await?;
        leave(&mut tx, run, &change.still_gone(&known)).await?;
        let free = |table: &&Table| {
            let holder = table.run_id.as_ref();
            !active.iter().any(|run| Some(&run.id) == holder)
        };
        let back: Vec<_> = change.back.into_iter().filter(free).collect();
        let taken: Vec<String> = back
            .into_iter()
            .map(|table| Table {
                missing: false,
                ..table.clone()
            })
            .filter(|table| takes(run.mode, false, table))
            .map(|table| table.id)
            .collect();
        take(&mut tx, &run.id, run.mode, &taken).await?;
        sqlx::query(
            "UPDATE catalog_runs SET total = done + (SELECT COUNT(*) FROM catalog_tables WHERE run_id = $1 \
             AND status IN ('PENDING', 'LOADING')) WHERE id = $1",
        )
        .bind(&run.id)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(true)
    }

    /// The tables that a run has not loaded yet, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn unfinished(&self, run_id: &str) -> Result<Vec<(String, TableRef)>> {
        let rows = sqlx::query(
            "SELECT id, schema_name, table_name FROM catalog_tables WHERE run_id = $1 \
             AND status IN ('PENDING', 'LOADING') ORDER BY schema_name, table_name",
        )
        .bind(run_id)
        .fetch_all(self.store.pool())
        .await?;
        let table = |row: &sqlx::any::AnyRow| {
            let (schema, name) = (row.try_get(1)?, row.try_get(2)?);
            Ok((row.try_get(0)?, TableRef { schema, name }))
        };
        rows.iter().map(table).collect()
    }

    /// How many tables of a run failed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn failed(&self, run_id: &str) -> Result<i64> {
        let row = sqlx::query(
            "SELECT COUNT(*) FROM catalog_tables WHERE run_id = $1 AND status = 'FAILED'",
        )
        .bind(run_id)
        .fetch_one(self.store.pool())
        .await?;
        Ok(row.try_get(0)?)
    }

    /// Marks a table as loading.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn begin_table(&self, run: &Run, table_id: &str) -> Result<()> {
        let begun = sqlx::query(
            "UPDATE catalog_tables SET status = 'LOADING' WHERE id = $1 AND run_id = $2 AND status = 'PENDING'",
        );
        self.store
            .record(begun.bind(table_id).bind(&run.id))
            .await?;
        Ok(())
    }

    /// Stores the result of one table in one transaction. False if the run is lost.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn table_loaded(
        &self,
        run: &Run,
        host: &str,
        table_id: &str,
        loaded: &TableSnapshot,
    ) -> Result<bool> {
        let mut tx = self.store.begin().await?;
        if !fence(&mut tx, run, host, "done = done + 1").await? {
            return Ok(false);
        }
        replace(&mut tx, run, table_id, loaded, TableStatus::Completed).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Stores that a table failed whose rows could not be read, and what the engine said of its columns and keys.
    /// Statistics of columns that it had before stay, as the number of rows does. False if the run is lost.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn table_described(
        &self,
        run: &Run,
        host: &str,
        table_id: &str,
        info: &TableInfo,
        error: &str,
    ) -> Result<bool> {
        let mut tx = self.store.begin().await?;
        if !fence(&mut tx, run, host, "done = done + 1").await? {
            return Ok(false);
        }
        let earlier = earlier_row_count(&mut tx, table_id).await?;
        let described = TableSnapshot {
            info: info.clone(),
            row_count: earlier.or(info.row_count),
            statistics: earlier_statistics(&mut tx, table_id, info).await?,
            note: Some(error.to_owned()),
        };
        replace(&mut tx, run, table_id, &described, TableStatus::Failed).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Stores that a table failed of which nothing was learnt; its earlier columns stay. False if the run is lost.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn table_failed(
        &self,
        run: &Run,
        host: &str,
        table_id: &str,
        error: &str,
        missing: bool,
    ) -> Result<bool> {
        let mut tx = self.store.begin().await?;
        if !fence(&mut tx, run, host, "done = done + 1").await? {
            return Ok(false);
        }
        sqlx::query(
            "UPDATE catalog_tables SET status = 'FAILED', error = $1, \
             missing = CASE WHEN $2 = 1 THEN 1 ELSE missing END \
             WHERE id = $3 AND run_id = $4 AND status IN ('PENDING', 'LOADING')",
        )
        .bind(storable(error))
        .bind(i64::from(missing))
        .bind(table_id)
        .bind(&run.id)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(true)
    }
}

fn ids(tables: &[&Table]) -> Vec<String> {
    tables.iter().map(|table| table.id.clone()).collect()
}

/// Removes missing tables from a run and restores their status. After `force` they are deleted.
async fn leave(tx: &mut Tx, run: &Run, gone: &[&Table]) -> Result<()> {
    let held = |table: &&&Table| {
        table.run_id.as_ref() == Some(&run.id)
            && matches!(table.status, TableStatus::Pending | TableStatus::Loading)
    };
    for table in gone.iter().filter(held) {
        let sql = match (run.mode, table.loaded_at) {
            (Mode::Force, _) => "DELETE FROM catalog_tables WHERE id = $1",
            (_, Some(_)) => "UPDATE catalog_tables SET status = 'COMPLETED' WHERE id = $1",
            (_, None) => {
                "UPDATE catalog_tables SET status = 'NOT_CATALOGED', run_id = NULL WHERE id = $1"
            }
        };
        sqlx::query(sql).bind(&table.id).execute(&mut **tx).await?;
    }
    Ok(())
}

async fn mark(tx: &mut Tx, table_ids: &[String], missing: bool) -> Result<()> {
    for ids in table_ids.chunks(CHUNK) {
        let sql = format!(
            "UPDATE catalog_tables SET missing = $1 WHERE id IN ({})",
            placeholders(2, ids.len())
        );
        let query = query(sql).bind(i64::from(missing));
        let query = ids.iter().fold(query, |query, id| query.bind(id.clone()));
        query.execute(&mut **tx).await?;
    }
    Ok(())
}

/// Stores what was learnt of a table in place of what was stored, if the run still has the table.
async fn replace(
    tx: &mut Tx,
    run: &Run,
    table_id: &str,
    loaded: &TableSnapshot,
    status: TableStatus,
) -> Result<()> {
    if update_table(tx, run, table_id, loaded, status).await? {
        let decided = decided_columns(tx, table_id).await?;
        delete_children(tx, &[table_id.to_owned()]).await?;
        insert_columns(tx, run, table_id, loaded, &decided).await?;
        insert_keys(tx, run, table_id, &loaded.info).await?;
    }
    Ok(())
}

async fn update_table(
    tx: &mut Tx,
    run: &Run,
    table_id: &str,
    loaded: &TableSnapshot,
    status: TableStatus,
) -> Result<bool> {
    let description = Description::from_source(loaded.info.comment.as_deref().map(storable));
    let changed = sqlx::query(
        "UPDATE catalog_tables SET kind = $1, source_description = $2, \
         description = CASE WHEN description_source = 'caller' THEN description ELSE $2 END, \
         description_source = CASE WHEN description_source = 'caller' THEN description_source ELSE $3 END, \
         row_count = $4, row_count_known = $5, status = $6, error = $7, missing = 0, loaded_at = $8 \
         WHERE id = $9 AND run_id = $10 AND status IN ('PENDING', 'LOADING')",
    )
    .bind(storable(&loaded.info.kind))
    .bind(description.in_source)
    .bind(description.source.as_str())
    .bind(loaded.row_count.map_or(0, |count| i64::try_from(count).unwrap_or(i64::MAX)))
    .bind(i64::from(loaded.row_count.is_some()))
    .bind(status.as_str())
    .bind(loaded.note.as_deref().map(storable))
    .bind(now())
    .bind(table_id)
    .bind(&run.id)
    .execute(&mut **tx)
    .await?;
    Ok(changed.rows_affected() > 0)
}

/// The number of rows as an earlier load learnt it.
async fn earlier_row_count(tx: &mut Tx, table_id: &str) -> Result<Option<u64>> {
    let known = "SELECT row_count FROM catalog_tables WHERE id = $1 AND row_count_known = 1";
    let row = sqlx::query(known)
        .bind(table_id)
        .fetch_optional(&mut **tx)
        .await?;
    let count = row.map(|row| row.try_get::<i64, _>(0)).transpose()?;
    Ok(count.and_then(|count| u64::try_from(count).ok()))
}

/// Statistics that an earlier load stored, of columns that still have their name and type. What cannot be read is left
/// out.
async fn earlier_statistics(
    tx: &mut Tx,
    table_id: &str,
    info: &TableInfo,
) -> Result<HashMap<String, Statistics>> {
    let rows =
        sqlx::query("SELECT name, data_type, statistics FROM catalog_columns WHERE table_id = $1")
            .bind(table_id)
            .fetch_all(&mut **tx)
            .await?;
    let mut earlier: HashMap<(String, String), String> = HashMap::new();
    for row in &rows {
        earlier.insert((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?);
    }
    let columns = info.columns.iter();
    Ok(columns
        .filter_map(|column| {
            let key = (storable(&column.name), storable(&column.native_type));
            let stored = mindhost_store::json(earlier.get(&key)?).ok()?;
            Some((column.name.clone(), stored))
        })
        .collect())
}

/// The columns that a caller has described, with the text.
async fn decided_columns(tx: &mut Tx, table_id: &str) -> Result<HashMap<String, Option<String>>> {
    let rows = sqlx::query(
        "SELECT name, description FROM catalog_columns WHERE table_id = $1 AND description_source = 'caller'",
    )
    .bind(table_id)
    .fetch_all(&mut **tx)
    .await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

async fn insert_columns(
    tx: &mut Tx,
    run: &Run,
    table_id: &str,
    loaded: &TableSnapshot,
    decided: &HashMap<String, Option<String>>,
) -> Result<()> {
    let unknown = Statistics::default();
    let numbered: Vec<_> = (1_i64..).zip(&loaded.info.columns).collect();
    for columns in numbered.chunks(CHUNK) {
        let sql = format!(
            "INSERT INTO catalog_columns (workspace_id, table_id, ordinal, name, data_type, nullable, default_value, \
             source_description, description, description_source, statistics) VALUES {} ON CONFLICT DO NOTHING",
            rows_of_placeholders(columns.len(), 11)
        );
        let mut query = query(sql);
        for (ordinal, column) in columns {
            let mut description = Description::from_source(column.comment.as_deref().map(storable));
            if let Some(text) = decided.get(&column.name) {
                description = description.decided(text.clone());
            }
            let statistics = loaded.statistics.get(&column.name).unwrap_or(&unknown);
            query = query
                .bind(run.workspace.clone())
                .bind(table_id.to_owned())
                .bind(*ordinal)
                .bind(storable(&column.name))
                .bind(storable(&column.native_type))
                .bind(i64::from(column.nullable))
                .bind(column.default_value.as_deref().map(storable))
                .bind(description.in_source)
                .bind(description.text)
                .bind(description.source.as_str())
                .bind(to_json(statistics)?);
        }
        query.execute(&mut **tx).await?;
    }
    Ok(())
}

async fn insert_keys(tx: &mut Tx, run: &Run, table_id: &str, info: &TableInfo) -> Result<()> {
    for keys in info.primary_key.chunks(CHUNK) {
        let sql = format!(
            "INSERT INTO catalog_primary_keys (workspace_id, table_id, constraint_name, ordinal, column_name) \
             VALUES {} ON CONFLICT DO NOTHING",
            rows_of_placeholders(keys.len(), 5)
        );
        let query = keys.iter().fold(query(sql), |query, key| {
            query
                .bind(run.workspace.clone())
                .bind(table_id.to_owned())
                .bind(storable(&key.constraint_name))
                .bind(i64::from(key.ordinal))
                .bind(storable(&key.column))
        });
        query.execute(&mut **tx).await?;
    }
    for keys in info.foreign_keys.chunks(CHUNK) {
        let sql = format!(
            "INSERT INTO catalog_foreign_keys (workspace_id, table_id, constraint_name, ordinal, column_name, \
             referenced_schema, referenced_table, referenced_column) VALUES {} ON CONFLICT DO NOTHING",
            rows_of_placeholders(keys.len(), 8)
        );
        let query = keys.iter().fold(query(sql), |query, key| {
            query
                .bind(run.workspace.clone())
                .bind(table_id.to_owned())
                .bind(storable(&key.constraint_name))
                .bind(i64::from(key.ordinal))
                .bind(storable(&key.column))
                .bind(storable(&key.referenced.schema))
                .bind(storable(&key.referenced.name))
                .bind(storable(&key.referenced_column))
        });
        query.execute(&mut **tx).await?;
    }
    Ok(())
}

/// PostgreSQL stores no NUL in text, and some engines have them in names and comments.
fn storable(text: &str) -> String {
    text.replace('\0', "")
}
