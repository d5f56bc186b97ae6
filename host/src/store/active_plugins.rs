//! Which plugins serve, so that a start changes nothing.

use std::collections::BTreeMap;

use super::{Store, now};
use crate::error::Result;

impl Store {
    /// The digest of the plugin that serves, by what it serves.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn active_plugins(&self) -> Result<BTreeMap<String, String>> {
        let rows: Vec<(String, String)> = sqlx::query_as("SELECT slot, digest FROM active_plugins")
            .fetch_all(self.pool())
            .await?;
        Ok(rows.into_iter().collect())
    }

    /// Remembers who serves from now on. What the version `old` served beside that, nobody serves any more.
    ///
    /// # Errors
    /// When the store fails; nothing has changed then.
    pub async fn activate_plugin(
        &self,
        active: &BTreeMap<String, String>,
        old: Option<&str>,
    ) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("DELETE FROM active_plugins WHERE digest = $1")
            .bind(old.unwrap_or_default())
            .execute(&mut *tx)
            .await?;
        for (slot, digest) in active {
            sqlx::query(
                "INSERT INTO active_plugins (slot, digest, since) VALUES ($1, $2, $3) \
                 ON CONFLICT (slot) DO UPDATE SET digest = excluded.digest, since = excluded.since",
            )
            .bind(slot)
            .bind(digest)
            .bind(now())
            .execute(&mut *tx)
            .await?;
        }
        Ok(tx.commit().await?)
    }

    /// Remembers who serves what nobody served before. What somebody was activated for stays his, also where his file is
    /// missing for now: other hosts of this store may have it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn keep_first_plugins(&self, active: &BTreeMap<String, String>) -> Result<()> {
        for (slot, digest) in active {
            self.change(
                sqlx::query(
                    "INSERT INTO active_plugins (slot, digest, since) VALUES ($1, $2, $3) \
                     ON CONFLICT (slot) DO NOTHING",
                )
                .bind(slot)
                .bind(digest)
                .bind(now()),
            )
            .await?;
        }
        Ok(())
    }
}
