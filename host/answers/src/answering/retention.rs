//! Conversations and responses that are older than they may be.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{Inner, store};
use mindhost_base::error::Result;

/// How often old ones are looked for: often enough for a retention of minutes, seldom enough for one of years.
const LOOK: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60 * 60));

/// Until shutdown: deletes what is older than the retention.
pub async fn keep(inner: &Inner) {
    let retention = inner.parts.retention;
    let look = async {
        loop {
            if let Err(error) = tidy(inner, retention).await {
                tracing::warn!(%error, cause = ?std::error::Error::source(&error), "could not delete what is older than store.retention");
            }
            tokio::time::sleep((retention / 24).clamp(LOOK.0, LOOK.1)).await;
        }
    };
    inner.parts.ending.run_until_cancelled(look).await;
}

/// A few at a time, each in a transaction of its own, so that no other write waits long for it.
async fn tidy(inner: &Inner, retention: Duration) -> Result<()> {
    let age = SignedDuration::try_from(retention).unwrap_or(SignedDuration::MAX);
    let before = Timestamp::now().checked_sub(age).unwrap_or(Timestamp::MIN);
    while inner.parts.conversations.delete_quiet(before).await? {}
    loop {
        let old = store::older(&inner.parts.store, before).await?;
        if old.is_empty() {
            return Ok(());
        }
        for id in old {
            store::delete(&inner.parts.store, id).await?;
        }
    }
}
