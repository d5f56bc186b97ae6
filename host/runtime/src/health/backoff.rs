//! The backoff of a target, and the breaker of a workspace or version.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::super::ids::TargetId;
use mindhost_base::config::FaultSettings;

/// The recent faults of a target, and its backoff. A breaker uses only the backoff.
#[derive(Clone, Debug, Default)]
pub struct Backoff {
    /// Name of the target.
    pub name: String,
    /// Name of its workspace, whose breaker its faults count for.
    pub workspace: String,
    /// Faults minus successes, from 0.
    faults: u32,
    /// Backoffs since the last success.
    pub backoffs: u32,
    /// End of the last backoff.
    until: Option<Instant>,
    /// Time of the last fault.
    pub last: Option<Instant>,
    /// The last fault.
    pub reason: String,
    /// Another target succeeded since the first fault, so the data of this one may be the cause.
    pub others_succeed: bool,
}

impl Backoff {
    /// The rest of the current backoff.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let wait = self.until?.saturating_duration_since(now);
        (!wait.is_zero()).then_some(wait)
    }

    /// Adds a fault. Returns the length of the backoff that it starts, if any.
    pub fn record_fault(
        &mut self,
        now: Instant,
        target: &TargetId,
        reason: &str,
        settings: &FaultSettings,
    ) -> Option<Duration> {
        reason.clone_into(&mut self.reason);
        target.name.clone_into(&mut self.name);
        target.workspace.clone_into(&mut self.workspace);
        self.last = Some(now);
        // Calls that began before the backoff may still fail. They do not count.
        if self.wait(now).is_some() {
            return None;
        }
        self.faults += 1;
        // After a backoff, one fault starts the next.
        let enough = self.backoffs > 0 || self.faults >= settings.budget.max(1);
        enough.then(|| self.back_off(now, reason, settings))
    }

    /// Whether it counts for the breakers: it is backed off, and no other target has succeeded.
    pub fn is_suspended(&self) -> bool {
        self.backoffs > 0 && !self.others_succeed
    }

    /// Starts a backoff, twice as long as the one before.
    fn back_off(&mut self, now: Instant, reason: &str, settings: &FaultSettings) -> Duration {
        let factor = 1u32.checked_shl(self.backoffs).unwrap_or(u32::MAX);
        let wait = settings.backoff.saturating_mul(factor);
        let wait = wait.min(settings.max_backoff);
        self.backoffs = self.backoffs.saturating_add(1);
        self.until = Some(now + wait);
        self.last = Some(now);
        reason.clone_into(&mut self.reason);
        wait
    }

    /// Restores the budget by one, or fully after a backoff. Returns whether no fault is left.
    pub fn record_success(&mut self) -> bool {
        self.faults = match self.backoffs {
            0 => self.faults.saturating_sub(1),
            _ => 0,
        };
        self.backoffs = 0;
        self.until = None;
        self.faults == 0
    }

    /// Whether the last fault is so old that it can be forgotten.
    pub fn is_expired(&self, now: Instant, settings: &FaultSettings) -> bool {
        let quiet = match self.backoffs {
            0 => settings.window,
            _ => settings.window + settings.max_backoff * 2,
        };
        self.last.is_none_or(|last| now >= last + quiet)
    }
}

/// The circuit breaker of a workspace or of the version.
#[derive(Debug, Default)]
pub struct Breaker {
    /// How long calls are rejected after the latest faults.
    pub backoff: Backoff,
    /// Start of the quarantine, and the fault that caused it.
    pub quarantine: Option<(Timestamp, String)>,
}

/// What a breaker does when it trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trip {
    /// Reject calls for this time.
    BackOff(Duration),
    /// Reject calls until a release.
    Quarantine,
}

impl Breaker {
    /// Trips the breaker, unless it is open.
    pub fn trip(&mut self, now: Instant, reason: &str, settings: &FaultSettings) -> Option<Trip> {
        if self.quarantine.is_some() || self.backoff.wait(now).is_some() {
            return None;
        }
        if settings.quarantine_after > 0 && self.backoff.backoffs >= settings.quarantine_after {
            self.quarantine = Some((Timestamp::now(), reason.to_owned()));
            return Some(Trip::Quarantine);
        }
        Some(Trip::BackOff(self.backoff.back_off(now, reason, settings)))
    }
}
