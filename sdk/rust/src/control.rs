//! The host's word on the call that is running.
//!
//! A native build has no host. There, no call is cancelled and none has a deadline, unless a test sets them with
//! [`stand_in`].

use std::time::Duration;

use crate::error::{Error, Result};

/// How long the host lets this call run on.
pub fn remaining() -> Duration {
    Duration::from_millis(imports::remaining_ms())
}

/// Whether the host wants this call to end early.
///
/// Asking crosses the sandbox (about a microsecond): ask in a loop every some thousand steps, not on each.
pub fn is_cancelled() -> bool {
    imports::is_cancelled()
}

/// An error when the host cancelled this call or its time ran out.
///
/// # Errors
/// `Cancelled` or `Timeout`.
pub fn check() -> Result<()> {
    if is_cancelled() {
        return Err(Error::cancelled());
    }
    if remaining().is_zero() {
        return Err(Error::timeout("the time for this call ran out"));
    }
    Ok(())
}

/// Waits, and ends early when the host wants the call to end.
///
/// # Errors
/// `Cancelled` or `Timeout`.
pub fn sleep(time: Duration) -> Result<()> {
    check()?;
    imports::wait(time.min(remaining()));
    check()
}

/// Becomes ready when the host wants this call to end early: wait on it beside the socket.
#[cfg(target_family = "wasm")]
pub fn cancelled() -> wasip2::io::poll::Pollable {
    crate::bindings::connector::mindhost::plugin::control::cancelled()
}

#[cfg(target_family = "wasm")]
mod imports {
    use std::time::Duration;

    pub(super) use crate::bindings::connector::mindhost::plugin::control::{
        is_cancelled, remaining_ms,
    };

    /// Waits for the time, or for the host's wish to cancel.
    pub(super) fn wait(time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let over = wasip2::clocks::monotonic_clock::subscribe_duration(time);
        wasip2::io::poll::poll(&[&over, &super::cancelled()]);
    }
}

#[cfg(not(target_family = "wasm"))]
use stand_in as imports;

/// Stands in for the host in native builds; what it holds is of the current thread.
#[cfg(not(target_family = "wasm"))]
pub mod stand_in {
    use std::cell::{Cell, RefCell};
    use std::time::{Duration, Instant};

    thread_local! {
        /// The waits that were skipped; none where waits take their time.
        static SKIPPED: RefCell<Option<Vec<Duration>>> = const { RefCell::new(None) };
        static CANCELLED: Cell<bool> = const { Cell::new(false) };
        static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
    }

    /// Cancels what runs on this thread, or takes that back.
    pub fn set_cancelled(cancelled: bool) {
        CANCELLED.set(cancelled);
    }

    /// Gives what runs on this thread so much time from now; `None` takes the limit away.
    pub fn set_remaining(remaining: Option<Duration>) {
        DEADLINE.set(remaining.and_then(|time| Instant::now().checked_add(time)));
    }

    /// From here on waits take no time, and are kept; or they take their time again.
    pub(crate) fn skip_waits(skip: bool) {
        SKIPPED.set(skip.then(Vec::new));
    }

    /// The waits that were skipped, in order.
    pub(crate) fn skipped_waits() -> Vec<Duration> {
        SKIPPED.with_borrow(|skipped| skipped.clone().unwrap_or_default())
    }

    /// Waits for the time. Only this thread can cancel, and it waits. A wait that is skipped still takes its time from
    /// what the call has left.
    pub(super) fn wait(time: Duration) {
        let is_skipped = SKIPPED.with_borrow_mut(|skipped| {
            let skipped = skipped.as_mut();
            skipped.map(|skipped| skipped.push(time)).is_some()
        });
        if !is_skipped {
            return std::thread::sleep(time);
        }
        let now = Instant::now();
        DEADLINE.set(
            DEADLINE
                .get()
                .map(|end| end.checked_sub(time).unwrap_or(now)),
        );
    }

    pub(super) fn is_cancelled() -> bool {
        CANCELLED.get()
    }

    pub(super) fn remaining_ms() -> u64 {
        DEADLINE.get().map_or(u64::MAX, |deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
        })
    }
}
