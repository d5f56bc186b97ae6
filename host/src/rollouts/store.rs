//! Where rollouts are kept.

use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{Rollout, Stage};
use crate::{
    error::Result,
    store::{Store, json, now, to_json},
};

/// A rollout whose host has said nothing of it for so long is over: hosts say something every [`BEAT`].
const LOST: Duration = Duration::from_secs(60);
/// How often a host says that a rollout is still under way.
pub(super) const BEAT: Duration = Duration::from_secs(10);

/// Keeps how a rollout stands.
pub(super) async fn keep(store: &Store, rollout: &Rollout) -> Result<()> {
    let ended = rollout.ended_at.map_or(0, Timestamp::as_microsecond);
    let statement = sqlx::query(
        "INSERT INTO rollouts (id, plugin, started_at, seen_at, ended_at, record) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, ended_at = excluded.ended_at, record = excluded.record",
    )
    .bind(rollout.id.to_string())
    .bind(&rollout.plugin)
    .bind(rollout.started_at.as_microsecond())
    .bind(now())
    .bind(ended)
    .bind(to_json(rollout)?);
    statement.execute(store.pool()).await?;
    Ok(())
}

/// The newest of a plugin, newest first.
pub(super) async fn list(store: &Store, plugin: &str, limit: i64) -> Result<Vec<Rollout>> {
    let records: Vec<String> = sqlx::query_scalar(
        "SELECT record FROM rollouts WHERE plugin = $1 ORDER BY started_at DESC, id DESC LIMIT $2",
    )
    .bind(plugin)
    .bind(limit)
    .fetch_all(store.pool())
    .await?;
    records.iter().map(|record| json(record)).collect()
}

/// Ends the rollouts that a host left unfinished, for as long as this host runs.
pub(super) async fn end_orphans(store: Store, ending: CancellationToken) {
    loop {
        if let Err(error) = end_lost(&store).await {
            tracing::warn!(%error, "unfinished rollouts could not be looked for");
        }
        tokio::select! {
            () = ending.cancelled() => return,
            () = tokio::time::sleep(LOST) => {}
        }
    }
}

async fn end_lost(store: &Store) -> Result<()> {
    let lost = now() - i64::try_from(LOST.as_micros()).unwrap_or(i64::MAX);
    let records: Vec<String> =
        sqlx::query_scalar("SELECT record FROM rollouts WHERE ended_at = 0 AND seen_at < $1")
            .bind(lost)
            .fetch_all(store.pool())
            .await?;
    for record in records {
        let mut rollout: Rollout = json(&record)?;
        rollout.stage = match rollout.stage {
            Stage::Probation => Stage::Completed,
            _ => Stage::Failed,
        };
        rollout.reason = Some("the server ended before the rollout did".to_owned());
        rollout.ended_at = Some(Timestamp::now());
        keep(store, &rollout).await?;
    }
    Ok(())
}
