//! Reading the catalog.

use std::collections::HashMap;

use sqlx::{Row, any::AnyRow};

use super::{CatalogStore, query};
use crate::{
    Statistics, StoredStatistics,
    types::{
        Column, Description, DescriptionSource, ForeignKey, PrimaryKeyColumn, Table, TableStatus,
    },
};
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::{ColumnStatistics, TableRef};
use mindhost_store::{CHUNK, placeholders};

pub(super) const TABLE: &str = "id, schema_name, table_name, kind, source_description, description, \
     description_source, row_count, row_count_known, status, error, missing, run_id, loaded_at, \
     CASE WHEN error IS NOT NULL THEN (SELECT r.request_id FROM catalog_runs r WHERE r.id = run_id) END";

/// Whether a table is one of a list that is not stored whole yet.
pub(super) const HIDDEN: &str =
    "listing_id IS NOT NULL AND EXISTS (SELECT 1 FROM catalog_listings l WHERE l.id = listing_id)";

impl CatalogStore {
    /// The tables of a datasource by schema and name, without columns and keys.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tables(&self, datasource_id: &str) -> Result<Vec<Table>> {
        let sql = format!(
            "SELECT {TABLE} FROM catalog_tables WHERE datasource_id = $1 AND NOT ({HIDDEN}) \
             ORDER BY schema_name, table_name"
        );
        let rows = query(sql)
            .bind(datasource_id.to_owned())
            .fetch_all(self.store.pool())
            .await?;
        rows.iter().map(table).collect()
    }

    /// Adds columns and keys to tables.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn fill(&self, tables: &mut [Table]) -> Result<()> {
        let index: HashMap<String, usize> = tables
            .iter()
            .enumerate()
            .map(|(index, table)| (table.id.clone(), index))
            .collect();
        let ids: Vec<String> = loaded_ids(tables);
        for ids in ids.chunks(CHUNK) {
            for row in self.children(COLUMNS, ids).await? {
                let (table_id, column) = column(&row)?;
                tables[at(&index, &table_id)?].columns.push(column);
            }
            for row in self.children(PRIMARY_KEYS, ids).await? {
                let (table_id, key) = primary_key(&row)?;
                tables[at(&index, &table_id)?].primary_key.push(key);
            }
            for row in self.children(FOREIGN_KEYS, ids).await? {
                let (table_id, key) = foreign_key(&row)?;
                tables[at(&index, &table_id)?].foreign_keys.push(key);
            }
        }
        Ok(())
    }

    /// Names of the columns of tables, in order, by id of the table.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn column_names(&self, tables: &[Table]) -> Result<HashMap<String, Vec<String>>> {
        let mut names: HashMap<String, Vec<String>> = HashMap::new();
        for ids in loaded_ids(tables).chunks(CHUNK) {
            for row in self.children(COLUMN_NAMES, ids).await? {
                names
                    .entry(row.try_get(0)?)
                    .or_default()
                    .push(row.try_get(1)?);
            }
        }
        Ok(names)
    }

    /// The columns of the primary keys of tables, in order, by id of the table.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn primary_keys(&self, tables: &[Table]) -> Result<HashMap<String, Vec<String>>> {
        let mut keys: HashMap<String, Vec<String>> = HashMap::new();
        for ids in loaded_ids(tables).chunks(CHUNK) {
            for row in self.children(PRIMARY_KEYS, ids).await? {
                let (table_id, key) = primary_key(&row)?;
                keys.entry(table_id).or_default().push(key.column_name);
            }
        }
        Ok(keys)
    }

    /// Statistics of the columns of tables, by id of the table. What cannot be read is left out.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn column_statistics(
        &self,
        tables: &[Table],
    ) -> Result<HashMap<String, Vec<ColumnStatistics>>> {
        let mut statistics: HashMap<String, Vec<ColumnStatistics>> = HashMap::new();
        for ids in loaded_ids(tables).chunks(CHUNK) {
            for row in self.children(COLUMN_STATISTICS, ids).await? {
                let stored: String = row.try_get(2)?;
                if let Ok(known) = mindhost_store::json::<Statistics>(&stored) {
                    let known = known.into_column(row.try_get(1)?);
                    statistics.entry(row.try_get(0)?).or_default().push(known);
                }
            }
        }
        Ok(statistics)
    }

    /// Whether some Mind has this datasource.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn has_mind(&self, datasource_id: &str) -> Result<bool> {
        Ok(
            sqlx::query("SELECT mind_id FROM mind_datasources WHERE datasource_id = $1 LIMIT 1")
                .bind(datasource_id)
                .fetch_optional(self.store.pool())
                .await?
                .is_some(),
        )
    }

    async fn children(&self, select: &str, ids: &[String]) -> Result<Vec<AnyRow>> {
        let order = match select {
            COLUMNS | COLUMN_NAMES | COLUMN_STATISTICS => "table_id, ordinal",
            _ => "table_id, constraint_name, ordinal",
        };
        let sql = format!(
            "{select} WHERE table_id IN ({}) ORDER BY {order}",
            placeholders(1, ids.len())
        );
        let query = ids
            .iter()
            .fold(query(sql), |query, id| query.bind(id.clone()));
        Ok(query.fetch_all(self.store.pool()).await?)
    }
}

const COLUMNS: &str = "SELECT table_id, name, data_type, nullable, default_value, source_description, description, \
     description_source, statistics FROM catalog_columns";
const COLUMN_NAMES: &str = "SELECT table_id, name FROM catalog_columns";
const COLUMN_STATISTICS: &str = "SELECT table_id, name, statistics FROM catalog_columns";
const PRIMARY_KEYS: &str =
    "SELECT table_id, constraint_name, ordinal, column_name FROM catalog_primary_keys";
const FOREIGN_KEYS: &str = "SELECT table_id, constraint_name, ordinal, column_name, referenced_schema, \
     referenced_table, referenced_column FROM catalog_foreign_keys";

fn loaded_ids(tables: &[Table]) -> Vec<String> {
    tables
        .iter()
        .filter(|table| table.loaded_at.is_some())
        .map(|table| table.id.clone())
        .collect()
}

fn at(index: &HashMap<String, usize>, table_id: &str) -> Result<usize> {
    index
        .get(table_id)
        .copied()
        .ok_or_else(|| Error::internal("a column of a table that was not asked for"))
}

pub(super) fn table(row: &AnyRow) -> Result<Table> {
    let known = row.try_get::<i64, _>(8)? != 0;
    let count = u64::try_from(row.try_get::<i64, _>(7)?).unwrap_or_default();
    Ok(Table {
        id: row.try_get(0)?,
        table: TableRef {
            schema: row.try_get(1)?,
            name: row.try_get(2)?,
        },
        kind: row.try_get(3)?,
        description: description(row, 4)?,
        row_count: known.then_some(count),
        status: TableStatus::parse(&row.try_get::<String, _>(9)?)?,
        error: row.try_get(10)?,
        missing: row.try_get::<i64, _>(11)? != 0,
        run_id: row.try_get(12)?,
        loaded_at: row.try_get(13)?,
        error_request_id: row.try_get(14)?,
        columns: Vec::new(),
        primary_key: Vec::new(),
        foreign_keys: Vec::new(),
    })
}

/// From three columns: the source's text, the text, whose it is.
fn description(row: &AnyRow, first: usize) -> Result<Description> {
    Ok(Description {
        in_source: row.try_get(first)?,
        text: row.try_get(first + 1)?,
        source: DescriptionSource::parse(&row.try_get::<String, _>(first + 2)?)?,
    })
}

fn column(row: &AnyRow) -> Result<(String, Column)> {
    let column = Column {
        name: row.try_get(1)?,
        data_type: row.try_get(2)?,
        nullable: row.try_get::<i64, _>(3)? != 0,
        default_value: row.try_get(4)?,
        description: description(row, 5)?,
        statistics: StoredStatistics::new(row.try_get(8)?)?,
    };
    Ok((row.try_get(0)?, column))
}

fn primary_key(row: &AnyRow) -> Result<(String, PrimaryKeyColumn)> {
    let key = PrimaryKeyColumn {
        constraint_name: row.try_get(1)?,
        ordinal_position: ordinal(row)?,
        column_name: row.try_get(3)?,
    };
    Ok((row.try_get(0)?, key))
}

fn foreign_key(row: &AnyRow) -> Result<(String, ForeignKey)> {
    let key = ForeignKey {
        constraint_name: row.try_get(1)?,
        ordinal_position: ordinal(row)?,
        column_name: row.try_get(3)?,
        referenced_schema: row.try_get(4)?,
        referenced_table: row.try_get(5)?,
        referenced_column: row.try_get(6)?,
    };
    Ok((row.try_get(0)?, key))
}

fn ordinal(row: &AnyRow) -> Result<u32> {
    Ok(u32::try_from(row.try_get::<i64, _>(2)?).unwrap_or_default())
}
