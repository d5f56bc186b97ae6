//! Answers that are made for keys that have ended meanwhile.

use std::time::Duration;

use super::Inner;
use mindhost_base::error::Result;
use mindhost_core::auth::keys;

/// How often this host looks whether another one, the command line or time itself ended a key: as long as a key is
/// remembered.
const LOOK: Duration = Duration::from_secs(1);

/// Until shutdown: stops answers whose keys have ended.
pub async fn keep(inner: &Inner) {
    let look = async {
        loop {
            tokio::time::sleep(LOOK).await;
            if let Err(error) = stop(inner).await {
                tracing::warn!(%error, cause = ?std::error::Error::source(&error), "could not look for keys that have ended");
            }
        }
    };
    inner.parts.ending.run_until_cancelled(look).await;
}

/// Stops them now. It costs nothing while no answer is under way.
pub async fn stop(inner: &Inner) -> Result<()> {
    let keys: Vec<String> = inner.running.keys().into_iter().collect();
    if keys.is_empty() {
        return Ok(());
    }
    for key in keys::ended(&inner.parts.store, keys).await? {
        inner.running.cancel(&key);
    }
    Ok(())
}
