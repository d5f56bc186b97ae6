//! The queries of datasources.

use std::collections::HashSet;

use sqlx::AssertSqlSafe;

use super::{Datasource, Settings, not_found};
use crate::connection_data::Stored;
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::{
    AnyRow, CHUNK, ResourceKind, Row, Store, is_referenced, is_taken, json, placeholders,
    timestamp, to_json,
};

const COLUMNS: &str = "id, workspace_id, name, engine, description, connection_data, secrets, settings, created_at, modified_at";

pub(super) async fn list(store: &Store, workspace: &str) -> Result<Vec<Datasource>> {
    let sql = format!("SELECT {COLUMNS} FROM datasources WHERE workspace_id = $1 ORDER BY name");
    sqlx::query(AssertSqlSafe(sql))
        .bind(workspace)
        .fetch_all(store.pool())
        .await?
        .iter()
        .map(datasource)
        .collect()
}

pub(super) async fn by_name(
    store: &Store,
    workspace: &str,
    name: &str,
) -> Result<Option<Datasource>> {
    one(store, "name", workspace, name).await
}

pub(super) async fn by_id(store: &Store, workspace: &str, id: &str) -> Result<Option<Datasource>> {
    one(store, "id", workspace, id).await
}

async fn one(
    store: &Store,
    column: &str,
    workspace: &str,
    value: &str,
) -> Result<Option<Datasource>> {
    let sql =
        format!("SELECT {COLUMNS} FROM datasources WHERE workspace_id = $1 AND {column} = $2");
    sqlx::query(AssertSqlSafe(sql))
        .bind(workspace)
        .bind(value)
        .fetch_optional(store.pool())
        .await?
        .as_ref()
        .map(datasource)
        .transpose()
}

/// Those of all workspaces that some engines serve, those that changed last first.
pub(super) async fn of_engines(store: &Store, engines: &[String]) -> Result<Vec<Datasource>> {
    if engines.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM datasources WHERE engine IN ({}) ORDER BY modified_at DESC, id",
        placeholders(1, engines.len())
    );
    let query = sqlx::query(AssertSqlSafe(sql)).persistent(false);
    let query = engines
        .iter()
        .fold(query, |query, engine| query.bind(engine));
    let rows = query.fetch_all(store.pool()).await?;
    rows.iter().map(datasource).collect()
}

/// Those of all workspaces that have secrets.
pub(super) async fn with_secrets(store: &Store) -> Result<Vec<Datasource>> {
    let sql = format!("SELECT {COLUMNS} FROM datasources WHERE secrets IS NOT NULL ORDER BY id");
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(store.pool());
    rows.await?.iter().map(datasource).collect()
}

/// Stores the same secrets sealed anew, unless they were changed since they were read.
pub(super) async fn replace_secrets(
    store: &Store,
    old: &Datasource,
    sealed: &Stored,
) -> Result<()> {
    let replace = sqlx::query(
        "UPDATE datasources SET secrets = $1 WHERE id = $2 AND secrets = $3 AND modified_at = $4",
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
    sqlx::query(
        "INSERT INTO datasources (id, workspace_id, name, engine, description, connection_data, secrets, settings, \
         created_at, modified_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(&new.id)
    .bind(&new.workspace_id)
    .bind(&new.name)
    .bind(&new.engine)
    .bind(&new.description)
    .bind(to_json(&new.connection_data.shown)?)
    .bind(new.connection_data.sealed().map(<[u8]>::to_vec))
    .bind(to_json(&new.settings)?)
    .bind(new.created_at.as_microsecond())
    .bind(new.modified_at.as_microsecond())
    .execute(&mut *tx)
    .await
    .map_err(|error| named(error, &new.name))?;
    Ok(tx.commit().await?)
}

/// Stores the changed one, if nobody changed it since `old` was read.
pub(super) async fn update(store: &Store, old: &Datasource, new: &Datasource) -> Result<()> {
    let done = store.change(sqlx::query(
        "UPDATE datasources SET name = $1, description = $2, connection_data = $3, secrets = $4, settings = $5, \
         modified_at = $6 WHERE id = $7 AND modified_at = $8 AND secrets IS NOT DISTINCT FROM $9",
    )
    .bind(&new.name)
    .bind(&new.description)
    .bind(to_json(&new.connection_data.shown)?)
    .bind(new.connection_data.sealed().map(<[u8]>::to_vec))
    .bind(to_json(&new.settings)?)
    .bind(new.modified_at.as_microsecond())
    .bind(&new.id)
    .bind(old.modified_at.as_microsecond())
    // They are sealed anew when the secret key changes.
    .bind(old.connection_data.sealed().map(<[u8]>::to_vec)))
    .await
    .map_err(|error| named(error, &new.name))?;
    match done.rows_affected() {
        0 => Err(Error::new(
            Code::WrongState,
            "the datasource was changed or deleted by another request meanwhile; read it and try again",
        )),
        _ => Ok(()),
    }
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
            let message = format!(
                "the datasource '{}' is used by the Minds {}; take it out of them, or delete it with ?cascade=true",
                datasource.name,
                minds.join(", ")
            );
            return Err(Error::new(Code::InUse, message));
        }
    }
    // In the order in which the catalog takes its locks, so that a run under way and this never wait for each other.
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
            true => Error::new(Code::InUse, "a Mind began to use the datasource meanwhile"),
            false => error.into(),
        })?;
    if done.rows_affected() == 0 {
        return Err(not_found(&datasource.name));
    }
    Ok(tx.commit().await?)
}

pub(super) fn taken(name: &str) -> Error {
    Error::new(
        Code::NameTaken,
        format!("there is a datasource '{name}' already; choose another name or change that one"),
    )
    .param("name")
}

fn named(error: sqlx::Error, name: &str) -> Error {
    match is_taken(&error) {
        true => taken(name),
        false => error.into(),
    }
}

fn datasource(row: &AnyRow) -> Result<Datasource> {
    let shown: String = row.try_get("connection_data")?;
    let settings: String = row.try_get("settings")?;
    Ok(Datasource {
        id: row.try_get("id")?,
        workspace_id: row.try_get("workspace_id")?,
        name: row.try_get("name")?,
        engine: row.try_get("engine")?,
        description: row.try_get("description")?,
        connection_data: Stored::new(json(&shown)?, row.try_get("secrets")?),
        settings: json(&settings)?,
        created_at: timestamp(row.try_get("created_at")?),
        modified_at: timestamp(row.try_get("modified_at")?),
    })
}
