//! The store's record of serving versions: which serve, so that a start changes nothing, and which have served, with
//! their rights.

use serde::Serialize;
use sqlx::{AnyConnection, query, query_as};
use utoipa::ToSchema;

use crate::{
    registry::{Active, Registry},
    rights::{Incumbents, Rights},
};
use mindhost_base::error::Result;
use mindhost_store::{Store, json, now, to_json};

/// A change of the serving versions.
#[derive(Debug, Default)]
pub struct PluginSwitch<'a> {
    /// The new serving version of each slot.
    pub active: Active,
    /// A version that keeps no slot but those in `active`.
    pub old: Option<&'a str>,
    /// The new version and its rights.
    pub switched_to: Option<(&'a str, &'a Rights)>,
    /// The version that was rolled back.
    pub rolled_back: Option<&'a str>,
}

/// An active version that this host does not serve, because it lacks the file or cannot use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct MissingVersion {
    /// `connector` and an engine, or `model` and a plugin.
    #[schema(example = "connector postgres")]
    pub serves: String,
    /// Digest of the active version. Install the same file here, or activate another version.
    pub digest: String,
    /// Digest of the version that serves here in its place; null if none does.
    #[schema(required = true)]
    pub instead: Option<String>,
}

/// The record of serving versions in the store.
#[derive(Debug)]
pub struct ActivePlugins<'a>(pub &'a Store);

impl ActivePlugins<'_> {
    /// The digest of the serving version, by slot. Leaves out slots of a kind unknown to this host.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn all(&self) -> Result<Active> {
        let rows: Vec<(String, String)> = query_as("SELECT slot, digest FROM active_plugins")
            .fetch_all(self.0.pool())
            .await?;
        let known = |(slot, digest): (String, String)| Some((slot.parse().ok()?, digest));
        Ok(rows.into_iter().filter_map(known).collect())
    }

    /// The active versions that this host does not serve. Empty but for a moment while a version is being activated,
    /// unless a file is missing here or cannot be used.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn missing(&self, registry: &Registry) -> Result<Vec<MissingVersion>> {
        let (wanted, here) = (self.all().await?, registry.active());
        let missing = wanted.into_iter().filter_map(|(slot, digest)| {
            let instead = here.get(&slot).cloned();
            (instead.as_ref() != Some(&digest)).then(|| MissingVersion {
                serves: slot.to_string(),
                digest,
                instead,
            })
        });
        Ok(missing.collect())
    }

    /// Stores the serving versions.
    ///
    /// # Errors
    /// When the store fails; nothing has changed then.
    pub async fn switch(&self, switch: &PluginSwitch<'_>) -> Result<()> {
        let mut tx = self.0.begin().await?;
        query("DELETE FROM active_plugins WHERE digest = $1")
            .bind(switch.old.unwrap_or_default())
            .execute(&mut *tx)
            .await?;
        for (slot, digest) in &switch.active {
            query(
                "INSERT INTO active_plugins (slot, digest, since) VALUES ($1, $2, $3) \
                 ON CONFLICT (slot) DO UPDATE SET digest = excluded.digest, since = excluded.since",
            )
            .bind(slot.to_string())
            .bind(digest)
            .bind(now())
            .execute(&mut *tx)
            .await?;
        }
        if let Some((digest, rights)) = switch.switched_to {
            let again = "DO UPDATE SET rights = excluded.rights, served_at = excluded.served_at, rolled_back_at = 0";
            note_served(&mut tx, digest, rights, again).await?;
        }
        query("UPDATE served_plugins SET rolled_back_at = $2 WHERE digest = $1")
            .bind(switch.rolled_back.unwrap_or_default())
            .bind(now())
            .execute(&mut *tx)
            .await?;
        Ok(tx.commit().await?)
    }

    /// Stores the version of each slot that had none. A slot keeps its version even if the file is missing here,
    /// because other hosts of this store may have it. `rights` returns the rights of a version installed here.
    ///
    /// # Errors
    /// When the store fails; nothing has changed then.
    pub async fn add_first(
        &self,
        active: &Active,
        rights: impl Fn(&str) -> Option<Rights>,
    ) -> Result<()> {
        let mut tx = self.0.begin().await?;
        for (slot, digest) in active {
            query(
                "INSERT INTO active_plugins (slot, digest, since) VALUES ($1, $2, $3) \
                 ON CONFLICT (slot) DO NOTHING",
            )
            .bind(slot.to_string())
            .bind(digest)
            .bind(now())
            .execute(&mut *tx)
            .await?;
        }
        let chosen: Vec<String> = sqlx::query_scalar("SELECT DISTINCT digest FROM active_plugins")
            .fetch_all(&mut *tx)
            .await?;
        for digest in chosen {
            if let Some(rights) = rights(&digest) {
                note_served(&mut tx, &digest, &rights, "DO NOTHING").await?;
            }
        }
        Ok(tx.commit().await?)
    }

    /// The versions that new ones are compared with.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn incumbents(&self) -> Result<Incumbents> {
        let rows: Vec<(String, String)> =
            query_as("SELECT digest, rights FROM served_plugins ORDER BY served_at, digest")
                .fetch_all(self.0.pool())
                .await?;
        let served = rows
            .into_iter()
            .map(|(digest, rights)| Ok((digest, json(&rights)?)))
            .collect::<Result<_>>()?;
        Ok(Incumbents::new(served, &self.all().await?))
    }

    /// Whether a version has served, was not rolled back since, and has no rollout in progress (which could still roll
    /// it back).
    ///
    /// # Errors
    /// When the store fails.
    pub async fn has_proved_itself(&self, digest: &str) -> Result<bool> {
        let rolled_back: Option<i64> =
            sqlx::query_scalar("SELECT rolled_back_at FROM served_plugins WHERE digest = $1")
                .bind(digest)
                .fetch_optional(self.0.pool())
                .await?;
        // There are few: at most one per plugin.
        let running: Vec<String> =
            sqlx::query_scalar("SELECT record FROM rollouts WHERE ended_at = 0")
                .fetch_all(self.0.pool())
                .await?;
        let is_to = |record: &String| {
            let record: serde_json::Value = serde_json::from_str(record).unwrap_or_default();
            record["to"] == digest
        };
        Ok(rolled_back == Some(0) && !running.iter().any(is_to))
    }
}

async fn note_served(
    connection: &mut AnyConnection,
    digest: &str,
    rights: &Rights,
    again: &'static str,
) -> Result<()> {
    let sql = format!(
        "INSERT INTO served_plugins (digest, rights, served_at, rolled_back_at) VALUES ($1, $2, $3, 0) \
         ON CONFLICT (digest) {again}"
    );
    query(sqlx::AssertSqlSafe(sql))
        .bind(digest)
        .bind(to_json(rights)?)
        .bind(now())
        .execute(connection)
        .await?;
    Ok(())
}
