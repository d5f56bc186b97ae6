//! The queries of model providers alone.

use super::{BUILTIN, Provider};
use crate::stored_connections::{in_use, not_found, store as rows};
use mindhost_base::error::{Error, Result};
use mindhost_store::{ResourceKind, Store, Tx, is_referenced, is_taken, new_id, now};

pub(super) async fn ensure_builtin(store: &Store, workspace: &str) -> Result<()> {
    let (name, plugin) = BUILTIN;
    store.change(sqlx::query(
        "INSERT INTO providers (id, workspace_id, name, plugin, description, connection_data, is_default, \
         created_at, modified_at) VALUES ($1, $2, $3, $4, $5, '{}', 0, $6, $6) \
         ON CONFLICT (workspace_id, name) DO NOTHING",
    )
    .bind(new_id())
    .bind(workspace)
    .bind(name)
    .bind(plugin)
    .bind("Answers plain questions by rules, without any network.")
    .bind(now()))
    .await?;
    let made = store.change(sqlx::query(
        "UPDATE providers SET is_default = 1 WHERE workspace_id = $1 AND name = $2 AND NOT EXISTS \
         (SELECT 1 FROM providers p WHERE p.workspace_id = $1 AND p.is_default = 1)",
    )
    .bind(workspace)
    .bind(name))
    .await;
    match made {
        // Another host did the same at the same moment.
        Err(error) if is_taken(&error) => Ok(()),
        result => Ok(result.map(drop)?),
    }
}

pub(super) async fn insert(store: &Store, new: &Provider) -> Result<()> {
    let mut tx = store.begin().await?;
    store
        .check_quota_in(&mut tx, ResourceKind::Providers, &new.workspace_id)
        .await?;
    if new.is_default {
        clear_default(&mut tx, &new.workspace_id).await?;
    }
    rows::insert(&mut tx, new).await?;
    Ok(tx.commit().await?)
}

pub(super) async fn update(store: &Store, old: &Provider, new: &Provider) -> Result<()> {
    let mut tx = store.begin().await?;
    if new.is_default && !old.is_default {
        clear_default(&mut tx, &new.workspace_id).await?;
    }
    rows::update(&mut tx, old, new).await?;
    Ok(tx.commit().await?)
}

pub(super) async fn delete(store: &Store, provider: &Provider) -> Result<()> {
    let done = store
        .change(sqlx::query("DELETE FROM providers WHERE id = $1").bind(&provider.id))
        .await;
    match done {
        Ok(done) if done.rows_affected() == 0 => Err(not_found::<Provider>(&provider.name)),
        Ok(_) => Ok(()),
        Err(error) if is_referenced(&error) => Err(used_by_minds(store, provider).await?),
        Err(error) => Err(error.into()),
    }
}

async fn used_by_minds(store: &Store, provider: &Provider) -> Result<Error> {
    let minds: Vec<String> =
        sqlx::query_scalar("SELECT name FROM minds WHERE provider_id = $1 ORDER BY name")
            .bind(&provider.id)
            .fetch_all(store.pool())
            .await?;
    let advice = "give them another provider first";
    Ok(in_use::<Provider>(&provider.name, &minds, advice))
}

async fn clear_default(tx: &mut Tx, workspace: &str) -> Result<()> {
    sqlx::query("UPDATE providers SET is_default = 0 WHERE workspace_id = $1 AND is_default = 1")
        .bind(workspace)
        .execute(&mut **tx)
        .await?;
    Ok(())
}
