//! The queries of workspaces.

use sqlx::AssertSqlSafe;

use super::Workspace;
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::{AnyRow, Row, Store, Tx, is_referenced, is_taken, new_id, now, timestamp};

/// What is deleted with a workspace, in the order of the references.
const CONTENTS: &[&str] = &[
    "idempotency",
    "messages",
    "responses",
    "conversations",
    "providers",
    "stored_bytes",
    "audit",
    "usage_days",
    "keys",
];

pub(super) async fn list(store: &Store) -> Result<Vec<Workspace>> {
    sqlx::query("SELECT id, name, folder, created_at FROM workspaces ORDER BY name")
        .fetch_all(store.pool())
        .await?
        .iter()
        .map(workspace)
        .collect()
}

pub(super) async fn by_name(store: &Store, name: &str) -> Result<Option<Workspace>> {
    sqlx::query("SELECT id, name, folder, created_at FROM workspaces WHERE name = $1")
        .bind(name)
        .fetch_optional(store.pool())
        .await?
        .as_ref()
        .map(workspace)
        .transpose()
}

/// Adds a workspace, unless there is one whose name differs only in case. If one of the name was deleted before, or the
/// directory of the name `has_files`, it gets another directory: the list of deleted workspaces is not complete for
/// stores of earlier versions.
pub(super) async fn insert(tx: &mut Tx, name: &str, has_files: bool) -> Result<Workspace> {
    let same: Option<String> =
        sqlx::query_scalar("SELECT name FROM workspaces WHERE lower(name) = lower($1)")
            .bind(name)
            .fetch_optional(&mut **tx)
            .await?;
    if let Some(same) = same {
        return Err(taken(&same));
    }
    let former: Option<String> =
        sqlx::query_scalar("SELECT name FROM former_workspaces WHERE name = lower($1)")
            .bind(name)
            .fetch_optional(&mut **tx)
            .await?;
    let (id, created_at) = (new_id(), now());
    // Names have no dot, so no workspace can have the directory name of another.
    let folder = (former.is_some() || has_files).then(|| format!("{name}.{id}"));
    sqlx::query("INSERT INTO workspaces (id, name, folder, created_at) VALUES ($1, $2, $3, $4)")
        .bind(&id)
        .bind(name)
        .bind(&folder)
        .bind(created_at)
        .execute(&mut **tx)
        .await
        .map_err(|error| match is_taken(&error) {
            true => taken(name),
            false => error.into(),
        })?;
    Ok(Workspace {
        id,
        name: name.to_owned(),
        files_directory: directory(folder.as_deref().unwrap_or(name)),
        created_at: timestamp(created_at),
    })
}

fn taken(name: &str) -> Error {
    Error::new(
        Code::NameTaken,
        format!(
            "there is a workspace '{name}' already, and case makes no difference; choose another name"
        ),
    )
    .param("name")
}

fn directory(folder: &str) -> String {
    format!("files/{folder}")
}

/// False, and nothing is deleted, if a record of the workspace was added between the deletions.
pub(super) async fn delete(mut tx: Tx, workspace: &Workspace) -> Result<bool> {
    for table in ["datasources", "minds"] {
        let sql = format!("SELECT count(*) FROM {table} WHERE workspace_id = $1");
        let left: i64 = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(&workspace.id)
            .fetch_one(&mut *tx)
            .await?;
        if left > 0 {
            let message = format!(
                "the workspace '{}' has {left} {table}; delete them first",
                workspace.name
            );
            return Err(Error::new(Code::InUse, message));
        }
    }
    for table in CONTENTS {
        let sql = format!("DELETE FROM {table} WHERE workspace_id = $1");
        sqlx::query(AssertSqlSafe(sql))
            .bind(&workspace.id)
            .execute(&mut *tx)
            .await?;
    }
    let deleted = sqlx::query("DELETE FROM workspaces WHERE id = $1")
        .bind(&workspace.id)
        .execute(&mut *tx)
        .await;
    match deleted {
        Err(error) if is_referenced(&error) => return Ok(false),
        deleted => deleted?,
    };
    sqlx::query(
        "INSERT INTO former_workspaces (name) VALUES (lower($1)) ON CONFLICT (name) DO NOTHING",
    )
    .bind(&workspace.name)
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(true)
}

fn workspace(row: &AnyRow) -> Result<Workspace> {
    let name: String = row.try_get("name")?;
    let folder: Option<String> = row.try_get("folder")?;
    Ok(Workspace {
        id: row.try_get("id")?,
        files_directory: directory(folder.as_deref().unwrap_or(&name)),
        name,
        created_at: timestamp(row.try_get("created_at")?),
    })
}
