//! The faults of one target, and what came of those of several.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::super::meter::TargetId;
use mindhost_base::config::FaultSettings;

/// Faults that were not forgiven yet.
#[derive(Clone, Debug, Default)]
pub struct Trouble {
    /// Name of the target.
    pub name: String,
    /// Name of its workspace.
    pub workspace: String,
    /// More faults than good uses by so many.
    faults: u32,
    /// How often it was backed off since it last went well.
    pub rounds: u32,
    /// The end of the last round.
    until: Option<Instant>,
    /// When the last fault was.
    pub last: Option<Instant>,
    /// What it was.
    pub reason: String,
    /// Since its first fault another target was served well, so that its own data may be the cause.
    pub others_do_well: bool,
}

impl Trouble {
    /// How long it still rests.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let wait = self.until?.saturating_duration_since(now);
        (!wait.is_zero()).then_some(wait)
    }

    /// Adds a fault; the time to rest when that is too much.
    pub fn fault(
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
        // Calls that began before it rested may still fail; they are no news.
        if self.wait(now).is_some() {
            return None;
        }
        self.faults += 1;
        // After a rest one more is enough to know that nothing became better.
        let enough = self.rounds > 0 || self.faults >= settings.budget.max(1);
        enough.then(|| self.back_off(now, reason, settings))
    }

    /// Whether it was backed off and nothing says that its own data are the cause.
    pub fn counts(&self) -> bool {
        self.rounds > 0 && !self.others_do_well
    }

    /// Begins a rest, twice as long as the one before.
    fn back_off(&mut self, now: Instant, reason: &str, settings: &FaultSettings) -> Duration {
        let factor = 1u32.checked_shl(self.rounds).unwrap_or(u32::MAX);
        let wait = settings.backoff.saturating_mul(factor);
        let wait = wait.min(settings.max_backoff);
        self.rounds = self.rounds.saturating_add(1);
        self.until = Some(now + wait);
        self.last = Some(now);
        reason.clone_into(&mut self.reason);
        wait
    }

    /// A good use restores the budget by one, and ends what was worse. Whether nothing is left to remember.
    pub fn went_well(&mut self) -> bool {
        self.faults = match self.rounds {
            0 => self.faults.saturating_sub(1),
            _ => 0,
        };
        self.rounds = 0;
        self.until = None;
        self.faults == 0
    }

    /// Whether it was quiet for so long that it can be forgotten.
    pub fn is_over(&self, now: Instant, settings: &FaultSettings) -> bool {
        let quiet = match self.rounds {
            0 => settings.window,
            _ => settings.window + settings.max_backoff * 2,
        };
        self.last.is_none_or(|last| now >= last + quiet)
    }
}

/// Whether a version is called for a workspace, or at all.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Its rests.
    pub trouble: Trouble,
    /// Since when it is not called any more, and the fault before.
    pub quarantine: Option<(Timestamp, String)>,
}

/// What a verdict came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sentence {
    /// It rests for so long.
    Rest(Duration),
    /// It is not called until somebody releases it.
    Quarantine,
}

impl Verdict {
    /// Nothing goes well any more; none while that is known.
    pub fn fails(
        &mut self,
        now: Instant,
        reason: &str,
        settings: &FaultSettings,
    ) -> Option<Sentence> {
        if self.quarantine.is_some() || self.trouble.wait(now).is_some() {
            return None;
        }
        if settings.quarantine_after > 0 && self.trouble.rounds >= settings.quarantine_after {
            self.quarantine = Some((Timestamp::now(), reason.to_owned()));
            return Some(Sentence::Quarantine);
        }
        Some(Sentence::Rest(self.trouble.back_off(now, reason, settings)))
    }
}
