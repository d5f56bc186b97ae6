//! Deletes conversations and responses that are older than the retention.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{Inner, store};
use mindhost_base::error::Result;

/// The shortest and the longest interval between two sweeps, for a retention of minutes and one of years.
const SWEEP_INTERVAL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60 * 60));

/// Runs until shutdown.
pub async fn run(inner: &Inner) {
    let retention = inner.services.retention;
    let look = async {
        loop {
            if let Err(error) = sweep(inner, retention).await {
                tracing::warn!(%error, cause = ?std::error::Error::source(&error), "could not delete what is older than store.retention");
            }
            tokio::time::sleep((retention / 24).clamp(SWEEP_INTERVAL.0, SWEEP_INTERVAL.1)).await;
        }
    };
    inner.services.ending.run_until_cancelled(look).await;
}

/// Deletes in small transactions, so that no other writer waits long.
async fn sweep(inner: &Inner, retention: Duration) -> Result<()> {
    let age = SignedDuration::try_from(retention).unwrap_or(SignedDuration::MAX);
    let before = Timestamp::now().checked_sub(age).unwrap_or(Timestamp::MIN);
    while inner.services.conversations.delete_inactive(before).await? {}
    loop {
        let old = store::older_than(&inner.services.store, before).await?;
        if old.is_empty() {
            return Ok(());
        }
        for id in old {
            store::delete(&inner.services.store, id).await?;
        }
    }
}
