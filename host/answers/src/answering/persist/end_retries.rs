//! Repeats the write of the end of an answer while the store cannot take it.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::super::{
    Inner,
    record::{ResponseRecord, ResponseStatus},
    store,
};
use mindhost_base::error::{Blame, Code, Error, Result};

/// The pause after the first attempt. It doubles with each one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// How long an end is kept for the store. The next start of the server ends an answer that has none.
const LONGEST: Duration = Duration::from_secs(3600);

/// The attempts to store the end of one answer: one if a caller waits for it. The caller of a background answer does
/// not, and could not ask again, and a caller who was told of a failure has gone: such an end is written as soon as the
/// store can take it.
pub struct EndRetries<'a> {
    inner: &'a Inner,
    id: Uuid,
    status: ResponseStatus,
    is_awaited: bool,
    pause: Duration,
    until: Instant,
}

impl<'a> EndRetries<'a> {
    /// For the end that this record has.
    pub fn new(inner: &'a Inner, record: &ResponseRecord, is_awaited: bool) -> Self {
        Self {
            inner,
            id: record.id,
            status: record.status,
            is_awaited,
            pause: FIRST_PAUSE,
            until: Instant::now() + LONGEST,
        }
    }

    /// Takes the result of an attempt. True when the end is stored; false, after a pause, when it must be written
    /// again.
    ///
    /// # Errors
    /// That of the attempt, if another one would not help, the server ends, or an hour is over.
    pub async fn are_over(&mut self, attempt: Result<()>) -> Result<bool> {
        let Err(error) = attempt else {
            return Ok(true);
        };
        let halt = &self.inner.services.halt;
        let is_last = self.is_awaited || halt.is_cancelled() || Instant::now() >= self.until;
        if is_last || !is_passing(&error) {
            return Err(error);
        }
        tracing::warn!(response = %self.id, %error, "cannot store the end of an answer yet");
        tokio::select! {
            () = sleep(self.pause) => {}
            () = halt.cancelled() => return Err(error),
        }
        self.pause = MAX_PAUSE.min(self.pause * 2);
        // The connection may have broken between the commit and its confirmation.
        Ok(self.is_stored().await)
    }

    async fn is_stored(&self) -> bool {
        let found = store::find(&self.inner.services.store, self.id).await;
        let is_end =
            |found: ResponseRecord| found.completed_at.is_some() && found.status == self.status;
        found.ok().flatten().is_some_and(is_end)
    }
}

/// Whether the store may take the end later: it is busy, full or away.
pub fn is_passing(error: &Error) -> bool {
    error.blame() == Some(Blame::Host)
        && matches!(error.code(), Code::Overloaded | Code::StorageFull)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_store_that_cannot_write_now_is_asked_again() {
        assert!(is_passing(&Error::from(sqlx::Error::PoolTimedOut)));
        assert!(is_passing(&Error::disk_full()));
        assert!(!is_passing(&Error::internal("a fault")));
        assert!(!is_passing(&Error::new(
            Code::Overloaded,
            "the model's host is busy"
        )));
    }
}
