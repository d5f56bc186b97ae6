//! The queries of workspaces.

use sqlx::AssertSqlSafe;

use super::Workspace;
use crate::{
    error::{Code, Error, Result},
    store::{AnyRow, Row, Store, Tx, is_referenced, is_taken, new_id, now, timestamp},
};

/// What goes with a workspace, in an order in which no row refers to one that is gone.
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
    sqlx::query("SELECT id, name, created_at FROM workspaces ORDER BY name")
        .fetch_all(store.pool())
        .await?
        .iter()
        .map(workspace)
        .collect()
}

pub(super) async fn by_name(store: &Store, name: &str) -> Result<Option<Workspace>> {
    sqlx::query("SELECT id, name, created_at FROM workspaces WHERE name = $1")
        .bind(name)
        .fetch_optional(store.pool())
        .await?
        .as_ref()
        .map(workspace)
        .transpose()
}

pub(super) async fn insert(tx: &mut Tx, name: &str) -> Result<Workspace> {
    let (id, created_at) = (new_id(), now());
    sqlx::query("INSERT INTO workspaces (id, name, created_at) VALUES ($1, $2, $3)")
        .bind(&id)
        .bind(name)
        .bind(created_at)
        .execute(&mut **tx)
        .await
        .map_err(|error| match is_taken(&error) {
            true => Error::new(
                Code::NameTaken,
                format!("there is a workspace '{name}' already; choose another name"),
            )
            .param("name"),
            false => error.into(),
        })?;
    Ok(Workspace {
        id,
        name: name.to_owned(),
        created_at: timestamp(created_at),
    })
}

pub(super) async fn delete(mut tx: Tx, workspace: &Workspace) -> Result<()> {
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
    sqlx::query("DELETE FROM workspaces WHERE id = $1")
        .bind(&workspace.id)
        .execute(&mut *tx)
        .await
        .map_err(|error| match is_referenced(&error) {
            true => Error::new(Code::InUse, "the workspace was used meanwhile; try again"),
            false => error.into(),
        })?;
    Ok(tx.commit().await?)
}

fn workspace(row: &AnyRow) -> Result<Workspace> {
    Ok(Workspace {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        created_at: timestamp(row.try_get("created_at")?),
    })
}
