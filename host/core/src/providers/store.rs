//! The queries of model providers alone.

use super::{BUILTIN, Provider};
use crate::stored_connections::{in_use, not_found, store as rows};
use mindhost_base::error::{Code, Error, Result};
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
    let delete = "DELETE FROM providers WHERE id = $1 AND is_default = 0";
    let done = store.change(sqlx::query(delete).bind(&provider.id)).await;
    match done {
        Ok(done) if done.rows_affected() == 0 => {
            let now = rows::by_name::<Provider>(store, &provider.workspace_id, &provider.name);
            let is_there = now.await?.is_some_and(|now| now.id == provider.id);
            Err(match is_there {
                true => is_the_default(),
                false => not_found::<Provider>(&provider.name),
            })
        }
        Ok(_) => Ok(()),
        Err(error) if is_referenced(&error) => Err(used_by_minds(store, provider).await?),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn is_the_default() -> Error {
    let message =
        "the default provider cannot be deleted; set `default: true` on another one first";
    Error::new(Code::InUse, message)
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

/// Takes the mark from the default provider. That is a change of it: a request that read it before, and would write the
/// mark again with what else it changes, finds it changed.
async fn clear_default(tx: &mut Tx, workspace: &str) -> Result<()> {
    let clear = "UPDATE providers SET is_default = 0, \
                 modified_at = CASE WHEN modified_at < $2 THEN $2 ELSE modified_at + 1 END \
                 WHERE workspace_id = $1 AND is_default = 1";
    sqlx::query(clear)
        .bind(workspace)
        .bind(now())
        .execute(&mut **tx)
        .await?;
    Ok(())
}
