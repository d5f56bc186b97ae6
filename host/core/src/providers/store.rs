//! The queries of model providers.

use sqlx::AssertSqlSafe;

use super::{BUILTIN, Provider, not_found};
use crate::connection_data::Stored;
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::{
    AnyRow, ResourceKind, Row, Store, Tx, is_referenced, is_taken, json, new_id, now, timestamp,
    to_json,
};

const COLUMNS: &str = "id, workspace_id, name, plugin, description, connection_data, secrets, is_default, created_at, modified_at";

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

/// Those of all workspaces that use a plugin, those that changed last first.
pub(super) async fn using(store: &Store, plugin: &str) -> Result<Vec<Provider>> {
    let sql =
        format!("SELECT {COLUMNS} FROM providers WHERE plugin = $1 ORDER BY modified_at DESC, id");
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(plugin)
        .fetch_all(store.pool());
    rows.await?.iter().map(provider).collect()
}

/// Those of all workspaces that have secrets.
pub(super) async fn with_secrets(store: &Store) -> Result<Vec<Provider>> {
    let sql = format!("SELECT {COLUMNS} FROM providers WHERE secrets IS NOT NULL ORDER BY id");
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(store.pool());
    rows.await?.iter().map(provider).collect()
}

/// Stores the same secrets sealed anew, unless they were changed since they were read.
pub(super) async fn replace_secrets(store: &Store, old: &Provider, sealed: &Stored) -> Result<()> {
    let replace = sqlx::query(
        "UPDATE providers SET secrets = $1 WHERE id = $2 AND secrets = $3 AND modified_at = $4",
    );
    store
        .change(
            replace
                .bind(sealed.sealed().map(<[u8]>::to_vec))
                .bind(&old.id)
                .bind(old.connection_data.sealed().map(<[u8]>::to_vec))
                .bind(old.modified_at.as_microsecond()),
        )
        .await?;
    Ok(())
}

pub(super) async fn list(store: &Store, workspace: &str) -> Result<Vec<Provider>> {
    let sql = format!("SELECT {COLUMNS} FROM providers WHERE workspace_id = $1 ORDER BY name");
    sqlx::query(AssertSqlSafe(sql))
        .bind(workspace)
        .fetch_all(store.pool())
        .await?
        .iter()
        .map(provider)
        .collect()
}

pub(super) async fn by_name(
    store: &Store,
    workspace: &str,
    name: &str,
) -> Result<Option<Provider>> {
    one(store, "name", workspace, name).await
}

pub(super) async fn by_id(store: &Store, workspace: &str, id: &str) -> Result<Option<Provider>> {
    one(store, "id", workspace, id).await
}

async fn one(
    store: &Store,
    column: &str,
    workspace: &str,
    value: &str,
) -> Result<Option<Provider>> {
    let sql = format!("SELECT {COLUMNS} FROM providers WHERE workspace_id = $1 AND {column} = $2");
    sqlx::query(AssertSqlSafe(sql))
        .bind(workspace)
        .bind(value)
        .fetch_optional(store.pool())
        .await?
        .as_ref()
        .map(provider)
        .transpose()
}

pub(super) async fn insert(store: &Store, new: &Provider) -> Result<()> {
    let mut tx = store.begin().await?;
    store
        .check_quota_in(&mut tx, ResourceKind::Providers, &new.workspace_id)
        .await?;
    if new.is_default {
        no_default(&mut tx, &new.workspace_id).await?;
    }
    sqlx::query(
        "INSERT INTO providers (id, workspace_id, name, plugin, description, connection_data, secrets, is_default, \
         created_at, modified_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(&new.id)
    .bind(&new.workspace_id)
    .bind(&new.name)
    .bind(&new.plugin)
    .bind(&new.description)
    .bind(to_json(&new.connection_data.shown)?)
    .bind(new.connection_data.sealed().map(<[u8]>::to_vec))
    .bind(i64::from(new.is_default))
    .bind(new.created_at.as_microsecond())
    .bind(new.modified_at.as_microsecond())
    .execute(&mut *tx)
    .await
    .map_err(|error| named(error, &new.name))?;
    Ok(tx.commit().await?)
}

/// Stores the changed one, if nobody changed it since `old` was read.
pub(super) async fn update(store: &Store, old: &Provider, new: &Provider) -> Result<()> {
    let mut tx = store.begin().await?;
    if new.is_default && !old.is_default {
        no_default(&mut tx, &new.workspace_id).await?;
    }
    let done = sqlx::query(
        "UPDATE providers SET name = $1, plugin = $2, description = $3, connection_data = $4, secrets = $5, \
         is_default = $6, modified_at = $7 WHERE id = $8 AND modified_at = $9 AND secrets IS NOT DISTINCT FROM $10",
    )
    .bind(&new.name)
    .bind(&new.plugin)
    .bind(&new.description)
    .bind(to_json(&new.connection_data.shown)?)
    .bind(new.connection_data.sealed().map(<[u8]>::to_vec))
    .bind(i64::from(new.is_default))
    .bind(new.modified_at.as_microsecond())
    .bind(&new.id)
    .bind(old.modified_at.as_microsecond())
    // They are sealed anew when the secret key changes.
    .bind(old.connection_data.sealed().map(<[u8]>::to_vec))
    .execute(&mut *tx)
    .await
    .map_err(|error| named(error, &new.name))?;
    if done.rows_affected() == 0 {
        return Err(Error::new(
            Code::WrongState,
            "the provider was changed or deleted by another request meanwhile; read it and try again",
        ));
    }
    Ok(tx.commit().await?)
}

pub(super) async fn delete(store: &Store, provider: &Provider) -> Result<()> {
    let done = store
        .change(sqlx::query("DELETE FROM providers WHERE id = $1").bind(&provider.id))
        .await;
    match done {
        Ok(done) if done.rows_affected() == 0 => Err(not_found(&provider.name)),
        Ok(_) => Ok(()),
        Err(error) if is_referenced(&error) => Err(in_use(store, provider).await?),
        Err(error) => Err(error.into()),
    }
}

async fn in_use(store: &Store, provider: &Provider) -> Result<Error> {
    let minds: Vec<String> =
        sqlx::query_scalar("SELECT name FROM minds WHERE provider_id = $1 ORDER BY name")
            .bind(&provider.id)
            .fetch_all(store.pool())
            .await?;
    let message = format!(
        "the provider '{}' is used by the Minds {}; give them another provider first",
        provider.name,
        minds.join(", ")
    );
    Ok(Error::new(Code::InUse, message))
}

async fn no_default(tx: &mut Tx, workspace: &str) -> Result<()> {
    sqlx::query("UPDATE providers SET is_default = 0 WHERE workspace_id = $1 AND is_default = 1")
        .bind(workspace)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

pub(super) fn taken(name: &str) -> Error {
    Error::new(
        Code::NameTaken,
        format!("there is a provider '{name}' already; choose another name or change that one"),
    )
    .param("name")
}

fn named(error: sqlx::Error, name: &str) -> Error {
    match is_taken(&error) {
        true => taken(name),
        false => error.into(),
    }
}

fn provider(row: &AnyRow) -> Result<Provider> {
    let shown: String = row.try_get("connection_data")?;
    Ok(Provider {
        id: row.try_get("id")?,
        workspace_id: row.try_get("workspace_id")?,
        name: row.try_get("name")?,
        plugin: row.try_get("plugin")?,
        description: row.try_get("description")?,
        connection_data: Stored::new(json(&shown)?, row.try_get("secrets")?),
        is_default: row.try_get::<i64, _>("is_default")? == 1,
        created_at: timestamp(row.try_get("created_at")?),
        modified_at: timestamp(row.try_get("modified_at")?),
    })
}
