//! Calls that a source or vendor limited: repeated after a pause, as long as the call has time for it.
//!
//! Only calls without a partial result are repeated. All of them only read.

use std::time::Duration;

use super::host_errors::cancelled;
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::Call;

/// How often a call is repeated.
const REPEATS: u32 = 3;
/// The first pause if the plugin names none; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause for a source: if the wait is longer, the error goes out at once.
const FOR_SOURCES: Duration = Duration::from_secs(30);
/// The longest pause for a vendor of models, because a person waits for the answer.
const FOR_MODELS: Duration = Duration::from_secs(5);

/// The repetitions of one call.
#[derive(Debug)]
pub struct Retries {
    made: u32,
    longest_pause: Duration,
}

impl Retries {
    /// Of a call to a connector or scanner.
    pub fn of_source() -> Self {
        Self {
            made: 0,
            longest_pause: FOR_SOURCES,
        }
    }

    /// Of a call to a model, with shorter pauses.
    pub fn of_model() -> Self {
        Self {
            made: 0,
            longest_pause: FOR_MODELS,
        }
    }

    /// Waits before a repetition. Gives the error back if it is another one, if the call was repeated often enough, or
    /// if the pause would take the time that is left.
    ///
    /// # Errors
    /// The error itself; that the caller cancelled.
    pub async fn pause(&mut self, error: Error, call: &Call) -> Result<()> {
        let Some(pause) = self.next(&error, call.remaining()) else {
            return Err(error);
        };
        self.made += 1;
        tracing::debug!(
            repeat = self.made,
            ?pause,
            "a rate-limited call is repeated"
        );
        tokio::select! {
            () = tokio::time::sleep(pause) => Ok(()),
            () = call.cancel.cancelled() => Err(cancelled()),
        }
    }

    fn next(&self, error: &Error, left: Duration) -> Option<Duration> {
        if error.reported() != Some("rate-limited") || self.made >= REPEATS {
            return None;
        }
        let pause = error
            .retry_after()
            .unwrap_or(FIRST_PAUSE * (1 << self.made));
        (pause <= self.longest_pause && pause < left).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_base::error::Code;

    fn limited(after: Option<u64>) -> Error {
        Error::new(Code::RateLimited, "slow down")
            .with_reported("rate-limited")
            .with_retry_after(after.map(Duration::from_secs))
    }

    #[test]
    fn a_pause_is_what_the_plugin_names_if_there_is_time_for_it() {
        let left = Duration::from_secs(60);
        let next = |made: u32, error: &Error, left| {
            let repeats = Retries {
                made,
                ..Retries::of_source()
            };
            repeats.next(error, left)
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(next(0, &limited(Some(7)), left), seconds(7));
        assert_eq!(next(0, &limited(None), left), Some(FIRST_PAUSE));
        assert_eq!(next(2, &limited(None), left), seconds(2));
        assert_eq!(next(3, &limited(Some(0)), left), None, "often enough");
        assert_eq!(next(0, &limited(Some(31)), left), None, "too long");
        let soon = Duration::from_secs(5);
        assert_eq!(next(0, &limited(Some(7)), soon), None, "no time left");
        let model = Retries::of_model();
        assert_eq!(model.next(&limited(Some(7)), left), None, "a person waits");
        let other = Error::new(Code::RateLimited, "ours");
        assert_eq!(next(0, &other, left), None, "a limit of this host");
    }

    #[tokio::test]
    async fn a_cancelled_call_does_not_wait() {
        let call = Call::new(Duration::from_secs(60), Default::default());
        call.cancel.cancel();
        let mut repeats = Retries::of_source();
        let ended = repeats.pause(limited(Some(20)), &call);
        let ended = tokio::time::timeout(Duration::from_secs(5), ended).await;
        assert!(ended.unwrap().is_err());
    }
}
