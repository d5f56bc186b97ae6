//! Recovery of abandoned responses, whose host died or could not store their end; and requests of other hosts to stop
//! an answer.

use std::time::Duration;

use super::{Inner, store};
use mindhost_store::Backend;

/// How often this host sends its heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// A host without a heartbeat for this long is dead.
const DEAD_AFTER: Duration = Duration::from_secs(60);

/// How often this host looks for stop requests.
const STOP_POLL: Duration = Duration::from_secs(1);

/// Runs until shutdown: stops the answers of this host that were cancelled through another host.
pub async fn watch_stop_requests(inner: &Inner) {
    while !inner.services.ending.is_cancelled() {
        tokio::select! {
            () = tokio::time::sleep(STOP_POLL) => {}
            () = inner.services.ending.cancelled() => return,
        }
        match store::stop_requests(&inner.services.store, &inner.running.ids()).await {
            Ok(ids) => {
                let answers = ids.into_iter().filter_map(|id| inner.running.find(id));
                answers.for_each(|one| one.log.cancel.cancel());
            }
            Err(error) => tracing::warn!(%error, "cannot read the stop requests"),
        }
    }
}

/// Runs until shutdown: sends heartbeats and marks abandoned responses as failed.
pub async fn run(inner: &Inner) {
    // SQLite has one host, so every response that is open at its start is abandoned.
    let mut dead_after = match inner.services.store.backend() {
        Backend::Sqlite => Duration::ZERO,
        Backend::Postgres => DEAD_AFTER,
    };
    loop {
        if let Err(error) = recover(inner, dead_after).await {
            tracing::warn!(%error, "cannot recover abandoned responses");
        }
        dead_after = DEAD_AFTER;
        tokio::select! {
            () = tokio::time::sleep(HEARTBEAT) => {}
            () = inner.services.ending.cancelled() => return,
        }
    }
}

async fn recover(inner: &Inner, dead_after: Duration) -> mindhost_base::error::Result<()> {
    let error = serde_json::json!({
        "code": "internal_error",
        "message": "the server stopped, or could not store the end of this answer; ask again",
    });
    let before =
        |age: Duration| mindhost_store::now() - i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    inner.running.evict_logs();
    store::heartbeat(&inner.services.store, &inner.running.ids()).await?;
    let found = store::fail_abandoned(
        &inner.services.store,
        &inner.host_id,
        before(DEAD_AFTER),
        before(dead_after),
        &error.to_string(),
    )
    .await?;
    if found > 0 {
        tracing::info!(responses = found, "marked abandoned responses as failed");
    }
    Ok(())
}
