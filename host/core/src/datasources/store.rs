//! The queries of datasources alone.

use std::collections::HashSet;

use sqlx::AssertSqlSafe;

use super::{Datasource, Settings};
use crate::stored_connections::{in_use, not_found, store as rows};
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::{CHUNK, ResourceKind, Store, is_referenced, json, placeholders};

/// The settings of every datasource.
pub(super) async fn all_settings(store: &Store) -> Result<Vec<Settings>> {
    let all: Vec<String> = sqlx::query_scalar("SELECT settings FROM datasources")
        .fetch_all(store.pool())
        .await?;
    all.iter().map(|settings| json(settings)).collect()
}

/// Ids of the datasources that some of these Minds use.
pub(super) async fn used_by(store: &Store, minds: &[String]) -> Result<HashSet<String>> {
    let mut ids = HashSet::new();
    for minds in minds.chunks(CHUNK) {
        let sql = format!(
            "SELECT DISTINCT datasource_id FROM mind_datasources WHERE mind_id IN ({})",
            placeholders(1, minds.len())
        );
        let query = sqlx::query_scalar(AssertSqlSafe(sql)).persistent(false);
        let query = minds.iter().fold(query, |query, mind| query.bind(mind));
        let used: Vec<String> = query.fetch_all(store.pool()).await?;
        ids.extend(used);
    }
    Ok(ids)
}

pub(super) async fn insert(store: &Store, new: &Datasource) -> Result<()> {
    let mut tx = store.begin().await?;
    store
        .check_quota_in(&mut tx, ResourceKind::Datasources, &new.workspace_id)
        .await?;
    rows::insert(&mut tx, new).await?;
    Ok(tx.commit().await?)
}

pub(super) async fn update(store: &Store, old: &Datasource, new: &Datasource) -> Result<()> {
    let mut tx = store.begin().await?;
    rows::update(&mut tx, old, new).await?;
    Ok(tx.commit().await?)
}

/// Deletes with its catalog. Without `cascade` it must be in no Mind.
pub(super) async fn delete(store: &Store, datasource: &Datasource, cascade: bool) -> Result<()> {
    let mut tx = store.begin().await?;
    if cascade {
        sqlx::query("DELETE FROM mind_datasources WHERE datasource_id = $1")
            .bind(&datasource.id)
            .execute(&mut *tx)
            .await?;
    } else {
        let minds: Vec<String> = sqlx::query_scalar(
            "SELECT m.name FROM minds m JOIN mind_datasources d ON d.mind_id = m.id \
             WHERE d.datasource_id = $1 ORDER BY m.name",
        )
        .bind(&datasource.id)
        .fetch_all(&mut *tx)
        .await?;
        if !minds.is_empty() {
            let advice = "take it out of them, or delete it with ?cascade=true";
            return Err(in_use::<Datasource>(&datasource.name, &minds, advice));
        }
    }
    // In the order in which the catalog takes its locks, so that a running load and this cannot deadlock.
    for sql in [
        "UPDATE datasources SET modified_at = modified_at WHERE id = $1",
        "DELETE FROM catalog_runs WHERE datasource_id = $1",
    ] {
        sqlx::query(sql)
            .bind(&datasource.id)
            .execute(&mut *tx)
            .await?;
    }
    let done = sqlx::query("DELETE FROM datasources WHERE id = $1")
        .bind(&datasource.id)
        .execute(&mut *tx)
        .await
        .map_err(|error| match is_referenced(&error) {
            true => Error::new(
                Code::InUse,
                "a Mind started to use the datasource during this request",
            ),
            false => error.into(),
        })?;
    if done.rows_affected() == 0 {
        return Err(not_found::<Datasource>(&datasource.name));
    }
    Ok(tx.commit().await?)
}
