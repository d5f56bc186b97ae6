//! Waiting for a condition that nothing announces.

use std::{fmt::Debug, time::Duration};

use tokio::time::{Instant, sleep};

/// What a test waits for comes within this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often it is looked at.
const POLL: Duration = Duration::from_millis(20);

/// Looks until what is seen is as expected, and gives it. The one wait loop of the tests.
///
/// # Panics
/// When it is not within a minute; says what was seen last.
pub async fn eventually<T: Debug>(
    look: impl AsyncFnMut() -> T,
    expected: impl Fn(&T) -> bool,
) -> T {
    eventually_within(PATIENCE, look, expected).await
}

/// As [`eventually`], for what takes longer than a minute on a machine that does much else.
///
/// # Panics
/// When it is not within `patience`; says what was seen last.
pub async fn eventually_within<T: Debug>(
    patience: Duration,
    mut look: impl AsyncFnMut() -> T,
    expected: impl Fn(&T) -> bool,
) -> T {
    let deadline = Instant::now() + patience;
    loop {
        let seen = look().await;
        if expected(&seen) {
            return seen;
        }
        assert!(
            Instant::now() < deadline,
            "still not as expected after {patience:?}: {seen:?}"
        );
        sleep(POLL).await;
    }
}

/// Looks until there is something, in a thread that may wait. None when there is nothing within `patience`.
pub(crate) fn found_within<T>(
    patience: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> Option<T> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(POLL / 10);
    }
}
