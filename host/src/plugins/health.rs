//! How a version of a plugin is: whether it may be called, or rests because it failed too often.
//!
//! A *fault* is a failure that the plugin alone is to blame for: it trapped, or broke its contract. Each target has a
//! budget of them, which good uses restore. A target whose budget is used up is *backed off*: its calls fail at once, for
//! a time that doubles with each round. When nothing goes well any more for several targets (or for all there are), the
//! version as a whole is backed off, and after some rounds it is in *quarantine* until an operator releases it. So the
//! data of one datasource cannot take the others down.

mod trouble;

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use serde::Serialize;
use tokio::time::Instant;

use self::trouble::Trouble;
use super::meter::{TargetId, VersionId};
use crate::{
    config::FaultSettings,
    error::{Blame, Code, Error, Result},
    locks::lock,
};

/// So many targets in trouble are no coincidence of their data.
const SEVERAL: usize = 3;
/// Targets in trouble that are remembered; the one that was quiet for the longest time goes first.
const MAX_TARGETS: usize = 1_000;

/// How one version is.
#[derive(Debug)]
pub struct Health {
    id: VersionId,
    faults: FaultSettings,
    /// False while nothing is remembered: then nobody has to take the lock.
    in_trouble: AtomicBool,
    state: Mutex<State>,
    /// The time, which stands still in tests.
    #[cfg(test)]
    time: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct State {
    targets: HashMap<String, Trouble>,
    whole: Trouble,
    quarantine: Option<Quarantine>,
}

/// Why a version is not called any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Quarantine {
    /// Since when.
    pub since: Timestamp,
    /// The last fault before.
    pub reason: String,
}

/// Whether a version may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PluginHealthStatus)]
pub enum HealthStatus {
    /// It may.
    Ok,
    /// Not for a while.
    BackingOff,
    /// Not until an operator releases it.
    Quarantined,
}

impl HealthStatus {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ok, Self::BackingOff, Self::Quarantined];

    /// `ok`, `backing_off`, `quarantined`
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::BackingOff => "backing_off",
            Self::Quarantined => "quarantined",
        }
    }
}

/// How a version is, to be shown to operators.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = PluginHealth)]
pub struct HealthReport {
    /// Of the version as a whole.
    pub status: HealthStatus,
    /// When it is tried again, while it is backed off.
    #[schema(required = true)]
    pub until: Option<Timestamp>,
    /// Since when it is in quarantine.
    #[schema(required = true)]
    pub since: Option<Timestamp>,
    /// Its last fault, while it is not well.
    #[schema(required = true)]
    pub reason: Option<String>,
    /// The datasources and providers that are backed off by themselves.
    pub targets: Vec<TargetInTrouble>,
}

/// A target for which a version is not called for a while.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct TargetInTrouble {
    /// Id of the datasource or provider.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When it is tried again.
    pub until: Timestamp,
    /// Its last fault.
    pub reason: String,
}

impl Health {
    /// A version that is well.
    pub fn new(id: VersionId, faults: FaultSettings) -> Self {
        Self {
            id,
            faults,
            in_trouble: AtomicBool::new(false),
            state: Mutex::default(),
            #[cfg(test)]
            time: Mutex::default(),
        }
    }

    fn now(&self) -> Instant {
        #[cfg(test)]
        if let Some(time) = *lock(&self.time) {
            return time;
        }
        Instant::now()
    }

    /// Lets a use of the version begin.
    ///
    /// # Errors
    /// `plugin_suspended` while the version rests, for this target or as a whole.
    pub fn admit(&self, target: &TargetId) -> Result<()> {
        if !self.in_trouble.load(Ordering::Acquire) {
            return Ok(());
        }
        let now = self.now();
        let state = lock(&self.state);
        if let Some(quarantine) = &state.quarantine {
            return Err(self.refused(
                format!(
                    "is in quarantine since {} because it kept failing; let an operator release it or activate another version",
                    quarantine.since.strftime("%FT%TZ")
                ),
                None,
            ));
        }
        if let Some(wait) = state.whole.wait(now) {
            let why = "failed for too many datasources or providers and rests for a while";
            return Err(self.refused(why.to_owned(), Some(wait)));
        }
        let wait = |trouble: &Trouble| Some((trouble.wait(now)?, trouble.reason.clone()));
        match state.targets.get(&target.id).and_then(wait) {
            Some((wait, reason)) => Err(self.refused(
                format!(
                    "failed too often for `{}` and rests for a while; the last time: {reason}",
                    target.name
                ),
                Some(wait),
            )),
            None => Ok(()),
        }
    }

    fn refused(&self, why: String, wait: Option<Duration>) -> Error {
        let VersionId {
            plugin, version, ..
        } = &self.id;
        Error::new(
            Code::PluginSuspended,
            format!("the plugin `{plugin}` {version} {why}"),
        )
        .blamed(Blame::Plugin)
        .with_retry_after(wait)
    }

    /// A use of a target went well.
    pub fn went_well(&self, target_id: &str) {
        if !self.in_trouble.load(Ordering::Acquire) {
            return;
        }
        let mut state = lock(&self.state);
        state.went_well(target_id);
        self.keep_in_mind(&state);
    }

    /// A use of a target ended by a fault. `known` is how many targets use the version.
    pub fn fault(&self, target: &TargetId, reason: &str, known: usize) {
        let mut state = lock(&self.state);
        let change = state.fault(self.now(), target, reason, known, &self.faults);
        self.keep_in_mind(&state);
        drop(state);
        let VersionId {
            plugin,
            version,
            digest,
        } = &self.id;
        let name = target.name.as_str();
        match change {
            Change::None => {}
            Change::Target(wait) => tracing::warn!(
                plugin,
                version,
                digest,
                target = name,
                seconds = wait.as_secs_f64(),
                reason,
                "a plugin failed too often for this target and rests"
            ),
            Change::Whole(wait) => tracing::warn!(
                plugin,
                version,
                digest,
                seconds = wait.as_secs_f64(),
                reason,
                "a plugin failed too often for several targets and rests"
            ),
            Change::Quarantine => tracing::error!(
                plugin,
                version,
                digest,
                reason,
                "a plugin keeps failing and is in quarantine until an operator releases it"
            ),
        }
    }

    /// The target was changed or deleted: what was wrong with it is over.
    pub fn forget(&self, target_id: &str) {
        let mut state = lock(&self.state);
        state.targets.remove(target_id);
        self.keep_in_mind(&state);
    }

    /// An operator wants it to be called again. Whether it was not well.
    pub fn release(&self) -> bool {
        let state = std::mem::take(&mut *lock(&self.state));
        self.in_trouble.store(false, Ordering::Release);
        !state.is_well()
    }

    fn keep_in_mind(&self, state: &State) {
        self.in_trouble.store(!state.is_well(), Ordering::Release);
    }

    /// How it is.
    pub fn report(&self) -> HealthReport {
        let state = lock(&self.state);
        let now = self.now();
        let at = |wait: Duration| Timestamp::now().saturating_add(wait).unwrap_or_default();
        let until = state.whole.wait(now).map(at);
        let rests = |(id, trouble): (&String, &Trouble)| {
            Some(TargetInTrouble {
                id: id.clone(),
                name: trouble.name.clone(),
                until: at(trouble.wait(now)?),
                reason: trouble.reason.clone(),
            })
        };
        let mut targets: Vec<_> = state.targets.iter().filter_map(rests).collect();
        targets.sort_by(|a, b| a.name.cmp(&b.name));
        let quarantine = state.quarantine.as_ref();
        HealthReport {
            status: match (quarantine, until) {
                (Some(_), _) => HealthStatus::Quarantined,
                (None, Some(_)) => HealthStatus::BackingOff,
                (None, None) => HealthStatus::Ok,
            },
            since: quarantine.map(|one| one.since),
            reason: match quarantine {
                Some(quarantine) => Some(quarantine.reason.clone()),
                None => until.map(|_| state.whole.reason.clone()),
            },
            until: until.filter(|_| quarantine.is_none()),
            targets,
        }
    }
}

/// What a fault changed.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    None,
    Target(Duration),
    Whole(Duration),
    Quarantine,
}

impl State {
    fn is_well(&self) -> bool {
        self.targets.is_empty() && self.whole.rounds == 0 && self.quarantine.is_none()
    }

    fn went_well(&mut self, target_id: &str) {
        if let Some(trouble) = self.targets.get_mut(target_id)
            && trouble.went_well()
        {
            self.targets.remove(target_id);
        }
        for (_, trouble) in self.targets.iter_mut().filter(|(id, _)| *id != target_id) {
            trouble.others_do_well = true;
        }
        self.whole = Trouble::default();
    }

    fn fault(
        &mut self,
        now: Instant,
        target: &TargetId,
        reason: &str,
        known: usize,
        faults: &FaultSettings,
    ) -> Change {
        self.targets.retain(|_, one| !one.is_over(now, faults));
        if self.targets.len() >= MAX_TARGETS && !self.targets.contains_key(&target.id) {
            let quiet = self.targets.iter().min_by_key(|(_, one)| one.last);
            let quiet = quiet.map(|(id, _)| id.clone()).unwrap_or_default();
            self.targets.remove(&quiet);
        }
        let trouble = self.targets.entry(target.id.clone()).or_default();
        let Some(wait) = trouble.fault(now, &target.name, reason, faults) else {
            return Change::None;
        };
        let in_trouble = |one: &&Trouble| one.rounds > 0 && !one.others_do_well;
        let troubled = self.targets.values().filter(in_trouble).count();
        if troubled < known.clamp(1, SEVERAL) || self.whole.wait(now).is_some() {
            return Change::Target(wait);
        }
        if faults.quarantine_after > 0 && self.whole.rounds >= faults.quarantine_after {
            self.quarantine = Some(Quarantine {
                since: Timestamp::now(),
                reason: reason.to_owned(),
            });
            return Change::Quarantine;
        }
        Change::Whole(self.whole.back_off(now, &target.name, reason, faults))
    }
}

#[cfg(test)]
mod tests;
