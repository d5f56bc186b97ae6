//! Stored rollouts, and the requests that hosts of one store send each other about them.

use mindhost_plugins::active::ActivePlugins;
use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Rollout, Stage};
use mindhost_base::error::Result;
use mindhost_store::{Backend, Store, is_taken, json, now, to_json};

/// A rollout without a heartbeat for so long has lost its host; hosts send one every [`HEARTBEAT`].
pub(super) const LOST: Duration = Duration::from_secs(15);
/// Interval of the heartbeat of a rollout.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(3);

/// A request of another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RemoteRequest {
    /// No host asked for anything.
    Nothing,
    /// End the probation as passed: another version comes.
    Settle,
    /// Roll back, with the reason.
    Abort(String),
}

/// Stores a new rollout. Returns false if another one of its plugin is in progress on any host.
pub(super) async fn begin(store: &Store, rollout: &Rollout) -> Result<bool> {
    let begun = store.record(sqlx::query(
        "INSERT INTO rollouts (id, plugin, started_at, seen_at, ended_at, told, record) VALUES ($1, $2, $3, $4, 0, '', $5)",
    )
    .bind(rollout.id.to_string())
    .bind(&rollout.plugin)
    .bind(rollout.started_at.as_microsecond())
    .bind(now())
    .bind(to_json(rollout)?))
    .await;
    match begun {
        Err(error) if is_taken(&error) => Ok(false),
        begun => Ok(begun.map(|_| true)?),
    }
}

/// Stores the state of a rollout.
pub(super) async fn persist(store: &Store, rollout: &Rollout) -> Result<()> {
    let ended = rollout.ended_at.map_or(0, Timestamp::as_microsecond);
    let kept =
        sqlx::query("UPDATE rollouts SET seen_at = $2, ended_at = $3, record = $4 WHERE id = $1")
            .bind(rollout.id.to_string())
            .bind(now())
            .bind(ended)
            .bind(to_json(rollout)?);
    store.record(kept).await?;
    Ok(())
}

/// The newest rollouts of a plugin, newest first.
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

/// The rollouts in progress on all hosts of the store.
pub(super) async fn in_progress(store: &Store) -> Result<Vec<Rollout>> {
    let records: Vec<String> =
        sqlx::query_scalar("SELECT record FROM rollouts WHERE ended_at = 0 ORDER BY started_at")
            .fetch_all(store.pool())
            .await?;
    records.iter().map(|record| json(record)).collect()
}

/// A rollout of any host; `None` if there is none with this id.
pub(super) async fn get(store: &Store, id: Uuid) -> Result<Option<Rollout>> {
    let record: Option<String> = sqlx::query_scalar("SELECT record FROM rollouts WHERE id = $1")
        .bind(id.to_string())
        .fetch_optional(store.pool())
        .await?;
    record.map(|record| json(&record)).transpose()
}

/// Sends a request to the host of a rollout. The first request to roll back is kept.
pub(super) async fn tell(store: &Store, id: Uuid, told: &RemoteRequest) -> Result<()> {
    let word = match told {
        RemoteRequest::Nothing => return Ok(()),
        RemoteRequest::Settle => "settle".to_owned(),
        RemoteRequest::Abort(why) => format!("abort {why}"),
    };
    let told = sqlx::query(
        "UPDATE rollouts SET told = $2 WHERE id = $1 AND ended_at = 0 AND told NOT LIKE 'abort%'",
    );
    store.record(told.bind(id.to_string()).bind(word)).await?;
    Ok(())
}

/// The request of other hosts to the host of a rollout.
pub(super) async fn told(store: &Store, id: Uuid) -> Result<RemoteRequest> {
    let word: Option<String> = sqlx::query_scalar("SELECT told FROM rollouts WHERE id = $1")
        .bind(id.to_string())
        .fetch_optional(store.pool())
        .await?;
    let word = word.unwrap_or_default();
    Ok(match word.split_once(' ') {
        Some(("abort", why)) => RemoteRequest::Abort(why.to_owned()),
        _ if word == "settle" => RemoteRequest::Settle,
        _ => RemoteRequest::Nothing,
    })
}

/// Ends rollouts that lost their host, as long as this host runs.
pub(super) async fn end_orphans(store: Store, ending: CancellationToken) {
    // On SQLite there is no other host, so every older rollout in progress has lost its host.
    let mut silent = match store.backend() {
        Backend::Sqlite => Duration::ZERO,
        Backend::Postgres => LOST,
    };
    let mut before = now();
    loop {
        if let Err(error) = end_lost(&store, before, silent).await {
            tracing::warn!(%error, "unfinished rollouts could not be looked for");
        }
        tokio::select! {
            () = ending.cancelled() => return,
            () = tokio::time::sleep(HEARTBEAT) => {}
        }
        (before, silent) = (now(), LOST);
    }
}

async fn end_lost(store: &Store, before: i64, silent: Duration) -> Result<()> {
    let lost = before - i64::try_from(silent.as_micros()).unwrap_or(i64::MAX);
    let records: Vec<String> =
        sqlx::query_scalar("SELECT record FROM rollouts WHERE ended_at = 0 AND seen_at < $1")
            .bind(lost)
            .fetch_all(store.pool())
            .await?;
    if records.is_empty() {
        return Ok(());
    }
    let active = ActivePlugins(store).all().await?;
    for record in records {
        let mut rollout: Rollout = json(&record)?;
        rollout.stage = match active.values().any(|digest| *digest == rollout.to) {
            true => Stage::Completed,
            false => Stage::Failed,
        };
        rollout.reason = Some("the server ended before the rollout did".to_owned());
        rollout.ended_at = Some(Timestamp::now());
        persist(store, &rollout).await?;
    }
    Ok(())
}
