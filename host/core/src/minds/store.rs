//! The queries of Minds.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Value};
use sqlx::AssertSqlSafe;

use super::{Mind, MindDatasource, MindPolicy};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::TableRef;
use mindhost_store::{
    AnyRow, ROW_BYTES, ResourceKind, Row, Store, Tx, is_referenced, is_taken, json, now, timestamp,
    to_json,
};

/// The model is the Mind's own, else its provider's default at the time of reading.
const SELECT: &str = "SELECT m.id, m.workspace_id, m.name, m.provider_id, p.name AS provider, m.model_name, \
     p.connection_data, m.parameters, m.policies, m.created_at, m.updated_at \
     FROM minds m JOIN providers p ON p.id = m.provider_id WHERE m.workspace_id = $1";

/// The columns of an update.
pub(super) struct Change {
    pub name: String,
    pub provider_id: String,
    pub model_name: Option<String>,
    pub parameters: Option<Map<String, Value>>,
    pub datasources: Option<Vec<MindDatasource>>,
}

pub(super) async fn list(store: &Store, workspace: &str) -> Result<Vec<Mind>> {
    let rows = sqlx::query(AssertSqlSafe(format!("{SELECT} ORDER BY m.name")))
        .bind(workspace)
        .fetch_all(store.pool())
        .await?;
    let mut datasources = of_workspace(store, workspace).await?;
    rows.iter()
        .map(|row| {
            let mut mind = mind(row)?;
            mind.datasources = datasources.remove(&mind.id).unwrap_or_default();
            Ok(mind)
        })
        .collect()
}

pub(super) async fn by_name(store: &Store, workspace: &str, name: &str) -> Result<Option<Mind>> {
    one(store, "name", workspace, name).await
}

pub(super) async fn by_id(store: &Store, workspace: &str, id: &str) -> Result<Option<Mind>> {
    one(store, "id", workspace, id).await
}

async fn one(store: &Store, column: &str, workspace: &str, value: &str) -> Result<Option<Mind>> {
    let row = sqlx::query(AssertSqlSafe(format!("{SELECT} AND m.{column} = $2")))
        .bind(workspace)
        .bind(value)
        .fetch_optional(store.pool())
        .await?;
    let Some(row) = row else { return Ok(None) };
    let mut mind = mind(&row)?;
    mind.datasources = sqlx::query(
        "SELECT d.id, d.name, md.tables FROM mind_datasources md JOIN datasources d ON d.id = md.datasource_id \
         WHERE md.mind_id = $1 ORDER BY md.position",
    )
    .bind(&mind.id)
    .fetch_all(store.pool())
    .await?
    .iter()
    .map(datasource)
    .collect::<Result<_>>()?;
    Ok(Some(mind))
}

async fn of_workspace(
    store: &Store,
    workspace: &str,
) -> Result<HashMap<String, Vec<MindDatasource>>> {
    let rows = sqlx::query(
        "SELECT md.mind_id, d.id, d.name, md.tables FROM mind_datasources md \
         JOIN datasources d ON d.id = md.datasource_id WHERE md.workspace_id = $1 ORDER BY md.position",
    )
    .bind(workspace)
    .fetch_all(store.pool())
    .await?;
    let mut found: HashMap<String, Vec<MindDatasource>> = HashMap::new();
    for row in &rows {
        let mind: String = row.try_get("mind_id")?;
        found.entry(mind).or_default().push(datasource(row)?);
    }
    Ok(found)
}

pub(super) async fn insert(store: &Store, new: &Mind) -> Result<()> {
    let mut tx = store.begin().await?;
    store
        .check_quota_in(&mut tx, ResourceKind::Minds, &new.workspace_id)
        .await?;
    sqlx::query(
        "INSERT INTO minds (id, workspace_id, name, provider_id, model_name, parameters, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(&new.id)
    .bind(&new.workspace_id)
    .bind(&new.name)
    .bind(&new.provider_id)
    .bind(&new.model_name)
    .bind(to_json(&new.parameters)?)
    .bind(new.created_at.as_microsecond())
    .bind(new.updated_at.as_microsecond())
    .execute(&mut *tx)
    .await
    .map_err(|error| named(error, &new.name))?;
    put_datasources(&mut tx, &new.workspace_id, &new.id, &new.datasources).await?;
    Ok(tx.commit().await?)
}

pub(super) async fn update(store: &Store, old: &Mind, change: &Change) -> Result<()> {
    let mut tx = store.begin().await?;
    // By its name too: of several requests that rename a Mind at once, the first one counts.
    let done = sqlx::query(
        "UPDATE minds SET name = $1, provider_id = $2, model_name = COALESCE($3, model_name), \
         parameters = COALESCE($4, parameters), updated_at = $5 WHERE id = $6 AND name = $7",
    )
    .bind(&change.name)
    .bind(&change.provider_id)
    .bind(change.model_name.clone())
    .bind(change.parameters.as_ref().map(to_json).transpose()?)
    .bind(now())
    .bind(&old.id)
    .bind(&old.name)
    .execute(&mut *tx)
    .await
    .map_err(|error| named(error, &change.name))?;
    if done.rows_affected() == 0 {
        return Err(super::not_found(&old.name));
    }
    if let Some(datasources) = &change.datasources {
        sqlx::query("DELETE FROM mind_datasources WHERE mind_id = $1")
            .bind(&old.id)
            .execute(&mut *tx)
            .await?;
        put_datasources(&mut tx, &old.workspace_id, &old.id, datasources).await?;
    }
    Ok(tx.commit().await?)
}

/// False if there is no such Mind.
pub(super) async fn set_policies(store: &Store, id: &str, policies: &[MindPolicy]) -> Result<bool> {
    let mut tx = store.begin().await?;
    let update = sqlx::query("UPDATE minds SET policies = $1, updated_at = $2 WHERE id = $3")
        .bind(to_json(&policies)?)
        .bind(now())
        .bind(id);
    if update.execute(&mut *tx).await?.rows_affected() == 0 {
        return Ok(false);
    }
    // The Mind's row is locked now, so what is not gone yet stays until the end of the transaction.
    let has = "SELECT datasource_id FROM mind_datasources WHERE mind_id = $1";
    let has: Vec<String> = sqlx::query_scalar(has).bind(id).fetch_all(&mut *tx).await?;
    if policies
        .iter()
        .any(|policy| !has.contains(&policy.datasource_id))
    {
        let message =
            "another request took a datasource from the Mind; read its policies and try again";
        return Err(Error::new(Code::WrongState, message));
    }
    tx.commit().await?;
    Ok(true)
}

pub(super) async fn delete(store: &Store, id: &str) -> Result<bool> {
    let mut tx = store.begin().await?;
    free_evaluations(&mut tx, "mind_id = $1", &[id]).await?;
    let delete = sqlx::query("DELETE FROM minds WHERE id = $1").bind(id);
    let done = delete.execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(done.rows_affected() == 1)
}

/// Takes the bytes of evaluations that are about to be deleted off what their keys store. `which` is a condition in SQL
/// with these parameters.
pub async fn free_evaluations(tx: &mut Tx, which: &'static str, parameters: &[&str]) -> Result<()> {
    let sql = format!(
        "SELECT workspace_id, key_id, CAST(SUM(octet_length(report) + {ROW_BYTES}) AS BIGINT) FROM evaluations \
         WHERE {which} GROUP BY workspace_id, key_id"
    );
    let mut freed = sqlx::query_as(AssertSqlSafe(sql));
    for parameter in parameters {
        freed = freed.bind((*parameter).to_owned());
    }
    let freed: Vec<(String, String, i64)> = freed.fetch_all(&mut **tx).await?;
    for (workspace, key, bytes) in freed {
        mindhost_store::count(tx, &workspace, &key, -bytes).await?;
    }
    Ok(())
}

async fn put_datasources(
    tx: &mut Tx,
    workspace: &str,
    mind_id: &str,
    datasources: &[MindDatasource],
) -> Result<()> {
    for (position, datasource) in (0_i64..).zip(datasources) {
        sqlx::query(
            "INSERT INTO mind_datasources (workspace_id, mind_id, datasource_id, position, tables) \
             VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(workspace)
        .bind(mind_id)
        .bind(&datasource.id)
        .bind(position)
        .bind(datasource.tables.as_ref().map(to_json).transpose()?)
        .execute(&mut **tx)
        .await
        .map_err(|error| match is_referenced(&error) {
            true => deleted_meanwhile(datasource),
            false => error.into(),
        })?;
    }
    Ok(())
}

fn deleted_meanwhile(datasource: &MindDatasource) -> Error {
    let message = format!(
        "the datasource '{}' was deleted in the meantime",
        datasource.name
    );
    Error::new(Code::UnknownDatasource, message).param("datasources")
}

fn named(error: sqlx::Error, name: &str) -> Error {
    if is_taken(&error) {
        let message =
            format!("there is a Mind '{name}' already; choose another name or change that one");
        return Error::new(Code::NameTaken, message).param("name");
    }
    match is_referenced(&error) {
        true => Error::new(
            Code::UnknownProvider,
            "the provider was deleted in the meantime",
        )
        .param("provider"),
        false => error.into(),
    }
}

fn mind(row: &AnyRow) -> Result<Mind> {
    let mut model_name: String = row.try_get("model_name")?;
    if model_name.is_empty() {
        let provider: Map<String, Value> = json(&row.try_get::<String, _>("connection_data")?)?;
        let default = provider.get("model").and_then(Value::as_str);
        model_name = default.unwrap_or_default().to_owned();
    }
    Ok(Mind {
        id: row.try_get("id")?,
        workspace_id: row.try_get("workspace_id")?,
        name: row.try_get("name")?,
        datasources: Vec::new(),
        provider_id: row.try_get("provider_id")?,
        provider: row.try_get("provider")?,
        model_name,
        parameters: json(&row.try_get::<String, _>("parameters")?)?,
        policies: json(&row.try_get::<String, _>("policies")?)?,
        of_key: Arc::default(),
        created_at: timestamp(row.try_get("created_at")?),
        updated_at: timestamp(row.try_get("updated_at")?),
    })
}

fn datasource(row: &AnyRow) -> Result<MindDatasource> {
    let tables: Option<String> = row.try_get("tables")?;
    let tables: Option<Vec<TableRef>> = tables.as_deref().map(json).transpose()?;
    Ok(MindDatasource {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        tables,
    })
}
