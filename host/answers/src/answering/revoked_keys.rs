//! Stops answers whose keys were revoked, rotated, expired or deleted after they started.

use std::time::Duration;

use super::Inner;
use mindhost_base::error::Result;
use mindhost_core::auth::keys::{self, UsedKey};

/// How often this host checks its keys, which another host, the command line or time can invalidate. Equal to the time
/// for which keys are cached.
const POLL: Duration = Duration::from_secs(1);

/// Runs until shutdown.
pub async fn run(inner: &Inner) {
    let look = async {
        loop {
            tokio::time::sleep(POLL).await;
            if let Err(error) = stop_answers(inner).await {
                tracing::warn!(%error, cause = ?std::error::Error::source(&error), "cannot check the keys of running answers");
            }
        }
    };
    inner.services.ending.run_until_cancelled(look).await;
}

/// Stops them now. Without running answers the store is not queried.
pub async fn stop_answers(inner: &Inner) -> Result<()> {
    let keys: Vec<UsedKey> = inner.running.keys().into_iter().collect();
    if keys.is_empty() {
        return Ok(());
    }
    for key in keys::ended(&inner.services.store, keys).await? {
        inner.running.cancel(&key);
    }
    Ok(())
}
