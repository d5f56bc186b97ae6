//! Responses that nobody works on any more: their host died, or could not store how they ended. And those that were
//! stopped through another host.

use std::time::Duration;

use super::{Inner, store};
use mindhost_store::Backend;

/// How often this host says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// A host that was silent for so long is dead.
const DEAD_AFTER: Duration = Duration::from_secs(60);

/// How soon an answer stops that was stopped through another host.
const OBEY: Duration = Duration::from_secs(1);

/// Until shutdown: stops the answers of this host that another host of the store was asked to stop.
pub async fn obey(inner: &Inner) {
    while !inner.parts.ending.is_cancelled() {
        tokio::select! {
            () = tokio::time::sleep(OBEY) => {}
            () = inner.parts.ending.cancelled() => return,
        }
        match store::asked_to_stop(&inner.parts.store, &inner.running.ids()).await {
            Ok(ids) => {
                let underway = ids.into_iter().filter_map(|id| inner.running.find(id));
                underway.for_each(|one| one.log.cancel.cancel());
            }
            Err(error) => tracing::warn!(%error, "could not see which answers shall be stopped"),
        }
    }
}

/// Until shutdown: sends heartbeats and marks abandoned responses as failed.
pub async fn keep(inner: &Inner) {
    // SQLite has one host: whatever is open at its start was left by one that died.
    let mut patience = match inner.parts.store.backend() {
        Backend::Sqlite => Duration::ZERO,
        Backend::Postgres => DEAD_AFTER,
    };
    loop {
        if let Err(error) = tend(inner, patience).await {
            tracing::warn!(%error, "could not look after abandoned responses");
        }
        patience = DEAD_AFTER;
        tokio::select! {
            () = tokio::time::sleep(HEARTBEAT) => {}
            () = inner.parts.ending.cancelled() => return,
        }
    }
}

async fn tend(inner: &Inner, patience: Duration) -> mindhost_base::error::Result<()> {
    let error = serde_json::json!({
        "code": "internal_error",
        "message": "the server stopped while it made this answer; ask again",
    });
    let before =
        |age: Duration| mindhost_store::now() - i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    inner.running.forget_old();
    store::heartbeat(&inner.parts.store, &inner.running.ids()).await?;
    let found = store::fail_abandoned(
        &inner.parts.store,
        &inner.host_id,
        before(DEAD_AFTER),
        before(patience),
        &error.to_string(),
    )
    .await?;
    if found > 0 {
        tracing::info!(
            responses = found,
            "marked responses as failed that nobody worked on any more"
        );
    }
    Ok(())
}
