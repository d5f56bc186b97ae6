//! Facts about the store (a table of names and values), and its workspaces.

use std::sync::Arc;

use sqlx::Row;

use super::{Store, WorkspaceNames, new_id, now};
use mindhost_base::{error::Result, locks};

impl Store {
    /// The value of a fact, if it is stored.
    pub async fn fact(&self, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(
            sqlx::query_scalar("SELECT value FROM host_facts WHERE name = $1")
                .bind(name)
                .fetch_optional(self.pool())
                .await?,
        )
    }

    /// Stores a fact unless the name exists. Returns the stored value.
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

    /// The id of a workspace, which is created if the name does not exist.
    pub async fn ensure_workspace(&self, name: &str) -> Result<String> {
        let insert = sqlx::query(
            "INSERT INTO workspaces (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
        );
        self.record(insert.bind(new_id()).bind(name).bind(now()))
            .await?;
        let id = self.workspace_id(name).await?;
        id.ok_or_else(|| mindhost_base::Error::internal("a new workspace disappeared"))
    }

    /// The id of a workspace, if the name exists.
    pub async fn workspace_id(&self, name: &str) -> Result<Option<String>> {
        Ok(
            sqlx::query_scalar("SELECT id FROM workspaces WHERE name = $1")
                .bind(name)
                .fetch_optional(self.pool())
                .await?,
        )
    }

    /// The names of a workspace, which are queried once.
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

    /// The number of workspaces.
    pub async fn workspace_count(&self) -> Result<i64> {
        Ok(sqlx::query_scalar("SELECT count(*) FROM workspaces")
            .fetch_one(self.pool())
            .await?)
    }
}
