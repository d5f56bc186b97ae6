//! Facts about the store itself, and its workspaces.

use std::sync::Arc;

use sqlx::Row;

use super::{Store, WorkspaceNames, new_id, now};
use mindhost_base::{error::Result, locks};

impl Store {
    /// A stored fact.
    pub async fn fact(&self, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(
            sqlx::query_scalar("SELECT value FROM host_facts WHERE name = $1")
                .bind(name)
                .fetch_optional(self.pool())
                .await?,
        )
    }

    /// Stores a fact unless there is one of that name, and returns the one that is stored now.
    pub async fn add_fact(&self, name: &str, value: &[u8]) -> Result<Vec<u8>> {
        let added = sqlx::query(
            "INSERT INTO host_facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
        );
        self.record(added.bind(name).bind(value.to_vec())).await?;
        Ok(
            sqlx::query_scalar("SELECT value FROM host_facts WHERE name = $1")
                .bind(name)
                .fetch_one(self.pool())
                .await?,
        )
    }

    /// The id of the workspace of that name, which is made if there is none.
    pub async fn ensure_workspace(&self, name: &str) -> Result<String> {
        let made = sqlx::query(
            "INSERT INTO workspaces (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
        );
        self.record(made.bind(new_id()).bind(name).bind(now()))
            .await?;
        let id = self.workspace_id(name).await?;
        id.ok_or_else(|| mindhost_base::Error::internal("a workspace is gone that was just made"))
    }

    /// The id of the workspace of that name, if there is one.
    pub async fn workspace_id(&self, name: &str) -> Result<Option<String>> {
        Ok(
            sqlx::query_scalar("SELECT id FROM workspaces WHERE name = $1")
                .bind(name)
                .fetch_optional(self.pool())
                .await?,
        )
    }

    /// What a workspace is called. Asks once for each.
    pub async fn workspace(&self, id: &str) -> Result<Arc<WorkspaceNames>> {
        let known = locks::read(&self.workspaces).get(id).cloned();
        if let Some(names) = known {
            return Ok(names);
        }
        let row = sqlx::query("SELECT name, folder FROM workspaces WHERE id = $1")
            .bind(id)
            .fetch_one(self.pool())
            .await?;
        let name: String = row.try_get("name")?;
        let folder: Option<String> = row.try_get("folder")?;
        let names = Arc::new(WorkspaceNames {
            folder: folder.unwrap_or_else(|| name.clone()),
            name,
        });
        locks::write(&self.workspaces).insert(id.to_owned(), names.clone());
        Ok(names)
    }

    /// How many workspaces there are.
    pub async fn workspace_count(&self) -> Result<i64> {
        Ok(sqlx::query_scalar("SELECT count(*) FROM workspaces")
            .fetch_one(self.pool())
            .await?)
    }
}
