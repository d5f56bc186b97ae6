//! The queries of datasources alone.

use std::collections::HashSet;

use sqlx::AssertSqlSafe;

use super::{Datasource, Settings};
use crate::{
    minds::MindPolicy,
    stored_connections::{in_use, not_found, store as rows},
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::{
    CHUNK, ResourceKind, Row, Store, Tx, is_referenced, json, now, placeholders, to_json,
};

/// The settings of every datasource.
pub(super) async fn all_settings(store: &Store) -> Result<Vec<Settings>> {
    let all: Vec<String> = sqlx::query_scalar("SELECT settings FROM datasources")
        .fetch_all(store.pool())
        .await?;
    all.iter().map(|settings| json(settings)).collect()
}

async fn leave_minds(tx: &mut Tx, datasource: &str) -> Result<()> {
    // Writes each row, so that its policies cannot change until the end of the transaction.
    let locked = sqlx::query(
        "UPDATE minds SET policies = policies \
         WHERE id IN (SELECT mind_id FROM mind_datasources WHERE datasource_id = $1) RETURNING id, policies",
    )
    .bind(datasource)
    .fetch_all(&mut **tx)
    .await?;
    for row in locked {
        let (id, policies): (String, String) = (row.try_get("id")?, row.try_get("policies")?);
        let before: Vec<MindPolicy> = json(&policies)?;
        let is_other = |policy: &&MindPolicy| policy.datasource_id != datasource;
        let kept: Vec<&MindPolicy> = before.iter().filter(is_other).collect();
        if kept.len() < before.len() {
            sqlx::query("UPDATE minds SET policies = $1, updated_at = $2 WHERE id = $3")
                .bind(to_json(&kept)?)
                .bind(now())
                .bind(id)
                .execute(&mut **tx)
                .await?;
        }
    }
    sqlx::query("DELETE FROM mind_datasources WHERE datasource_id = $1")
        .bind(datasource)
        .execute(&mut **tx)
        .await?;
    Ok(())
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

/// Deletes with its catalog. Without `cascade` it must be in no Mind; with it, Minds lose it and their policies for it.
pub(super) async fn delete(store: &Store, datasource: &Datasource, cascade: bool) -> Result<()> {
    let mut tx = store.begin().await?;
    if cascade {
        leave_minds(&mut tx, &datasource.id).await?;
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
