//! The circuit breakers of a plugin version: for each target, for each workspace and for the version.
//!
//! A *fault* is a failure that only the plugin causes: it traps or breaks its contract. Each target has a budget of
//! faults, which successes restore. A target without budget is *backed off*: its calls fail at once, for a time that
//! doubles with each backoff. If several targets of a workspace (or all that it has) are backed off, the version is
//! backed off for the workspace, and after some backoffs it is *quarantined* there until somebody releases it. If that
//! happens in several workspaces, the version is backed off for all. So the data of one datasource cannot stop the
//! others, and one workspace cannot stop a version for another.

mod backoff;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use serde::Serialize;
use tokio::time::Instant;

use self::backoff::{Backoff, Breaker, Trip};
use super::ids::{TargetId, VersionId};
use mindhost_base::{
    config::FaultSettings,
    error::{Blame, Code, Error, Result},
    locks::lock,
};

/// Suspended targets that trip the breaker of a workspace, and workspaces that trip that of the version. Fewer may be
/// due to their data.
const TRIP_COUNT: usize = 3;
/// Suspended workspaces that the breaker of the version needs at least.
const MIN_WORKSPACES: usize = 2;
/// Targets with faults that are tracked. The one with the oldest fault is evicted.
const MAX_TARGETS: usize = 1_000;

/// The known users of a version.
#[derive(Clone, Copy, Debug)]
pub struct Users {
    /// Targets of the workspace with the fault.
    pub here: usize,
    /// Targets of all workspaces.
    pub targets: usize,
    /// Workspaces with at least one of those targets.
    pub workspaces: usize,
}

/// The circuit breakers of one version.
#[derive(Debug)]
pub struct Health {
    id: VersionId,
    faults: FaultSettings,
    /// False while the state is empty, so that most calls need no lock.
    has_faults: AtomicBool,
    state: Mutex<State>,
    /// The clock of the tests.
    #[cfg(test)]
    time: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct State {
    targets: HashMap<String, Backoff>,
    /// By name of the workspace.
    workspaces: HashMap<String, Breaker>,
    version: Breaker,
}

/// Whether a version may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PluginHealthStatus)]
pub enum HealthStatus {
    /// It may be called.
    Ok,
    /// It may be called again after some time.
    BackingOff,
    /// It may be called after an operator releases it or activates another version.
    Quarantined,
}

impl HealthStatus {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Ok, Self::BackingOff, Self::Quarantined];

    /// The value in responses: `ok`, `backing_off` or `quarantined`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::BackingOff => "backing_off",
            Self::Quarantined => "quarantined",
        }
    }
}

/// The health of a version, for operators.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = PluginHealth)]
pub struct HealthReport {
    /// The status for all workspaces: that of the version, or of every workspace that uses it.
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
    /// The workspaces for which it is not called.
    pub workspaces: Vec<SuspendedWorkspace>,
    /// The datasources and providers that are backed off by themselves.
    pub targets: Vec<SuspendedTarget>,
}

/// A workspace for which a version is not called.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = WorkspaceInTrouble)]
pub struct SuspendedWorkspace {
    /// Its name.
    pub workspace: String,
    /// The status of the version for it.
    pub status: HealthStatus,
    /// When it is tried again, while it is backed off.
    #[schema(required = true)]
    pub until: Option<Timestamp>,
    /// Since when it is in quarantine.
    #[schema(required = true)]
    pub since: Option<Timestamp>,
    /// The last fault.
    pub reason: String,
}

/// A target for which a version is not called for a while.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = TargetInTrouble)]
pub struct SuspendedTarget {
    /// Id of the datasource or provider.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Name of its workspace.
    pub workspace: String,
    /// When it is tried again.
    pub until: Timestamp,
    /// Its last fault.
    pub reason: String,
}

impl Health {
    /// A version without faults.
    pub fn new(id: VersionId, faults: FaultSettings) -> Self {
        Self {
            id,
            faults,
            has_faults: AtomicBool::new(false),
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

    /// Admits a use of the version.
    ///
    /// # Errors
    /// `plugin_suspended` while the version is suspended for this target, for its workspace or for all.
    pub fn admit(&self, target: &TargetId) -> Result<()> {
        if !self.has_faults.load(Ordering::Acquire) {
            return Ok(());
        }
        let now = self.now();
        let state = lock(&self.state);
        self.check(now, &state.version, false)?;
        if let Some(here) = state.workspaces.get(&target.workspace) {
            self.check(now, here, true)?;
        }
        let wait = |backoff: &Backoff| Some((backoff.wait(now)?, backoff.reason.clone()));
        match state.targets.get(&target.id).and_then(wait) {
            Some((wait, reason)) => Err(self.refused(
                format!(
                    "failed too often for `{}` and is backed off; the last fault: {reason}",
                    target.name
                ),
                Some(wait),
            )),
            None => Ok(()),
        }
    }

    /// Checks a breaker. The message leaves out the fault, which may be another target's.
    fn check(&self, now: Instant, breaker: &Breaker, in_workspace: bool) -> Result<()> {
        let (of, who) = match in_workspace {
            true => (" for this workspace", "an admin of the workspace"),
            false => ("", "an operator"),
        };
        if let Some((since, _)) = &breaker.quarantine {
            let since = since.strftime("%FT%TZ");
            let why = format!(
                "is in quarantine{of} since {since} because it kept failing; ask {who} to release it, or an operator to \
                 activate another version"
            );
            return Err(self.refused(why, None));
        }
        match breaker.backoff.wait(now) {
            Some(wait) => {
                let why =
                    format!("failed for too many datasources or providers and is backed off{of}");
                Err(self.refused(why, Some(wait)))
            }
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

    /// Records a successful use of a target.
    pub fn record_success(&self, target: &TargetId) {
        if !self.has_faults.load(Ordering::Acquire) {
            return;
        }
        let mut state = lock(&self.state);
        state.record_success(target);
        self.update_flag(&state);
    }

    /// Records a use of a target that ended with a fault.
    pub fn record_fault(&self, target: &TargetId, reason: &str, users: Users) {
        let mut state = lock(&self.state);
        let change = state.record_fault(self.now(), target, reason, users, &self.faults);
        self.update_flag(&state);
        drop(state);
        let VersionId {
            plugin,
            version,
            digest,
        } = &self.id;
        let (name, workspace) = (target.name.as_str(), target.workspace.as_str());
        let (what, seconds) = match change {
            Change::None => return,
            Change::Target(wait) => ("failed too often for this target and is backed off", wait),
            Change::Workspace(Trip::BackOff(wait)) => (
                "failed too often for several targets of a workspace and is backed off for it",
                wait,
            ),
            Change::Version(Trip::BackOff(wait)) => (
                "failed too often for targets of several workspaces and is backed off",
                wait,
            ),
            Change::Workspace(Trip::Quarantine) => {
                tracing::error!(
                    plugin,
                    version,
                    digest,
                    workspace,
                    reason,
                    "a plugin keeps failing for a workspace and is in quarantine for it until somebody releases it"
                );
                return;
            }
            Change::Version(Trip::Quarantine) => {
                tracing::error!(
                    plugin,
                    version,
                    digest,
                    reason,
                    "a plugin keeps failing and is in quarantine until an operator releases it"
                );
                return;
            }
        };
        tracing::warn!(
            plugin,
            version,
            digest,
            workspace,
            target = name,
            seconds = seconds.as_secs_f64(),
            reason,
            "a plugin {what}"
        );
    }

    /// Forgets the faults of a target that was changed or deleted.
    pub fn forget(&self, target_id: &str) {
        let mut state = lock(&self.state);
        state.targets.remove(target_id);
        self.update_flag(&state);
    }

    /// Resets all breakers, for an operator. Returns whether one was open.
    pub fn release(&self) -> bool {
        let state = std::mem::take(&mut *lock(&self.state));
        self.has_faults.store(false, Ordering::Release);
        !state.is_healthy()
    }

    /// Resets the breakers of a workspace, for its admin. Returns whether one was open. That of the version stays.
    pub fn release_workspace(&self, workspace: &str) -> bool {
        let mut state = lock(&self.state);
        let was_here = state.workspaces.remove(workspace).is_some();
        let before = state.targets.len();
        state.targets.retain(|_, one| one.workspace != workspace);
        self.update_flag(&state);
        was_here || state.targets.len() < before
    }

    fn update_flag(&self, state: &State) {
        self.has_faults
            .store(!state.is_healthy(), Ordering::Release);
    }

    /// The report for operators; `users` are the names of the workspaces that use the version.
    pub fn report(&self, users: &BTreeSet<String>) -> HealthReport {
        let state = lock(&self.state);
        let now = self.now();
        let at = |wait: Duration| Timestamp::now().saturating_add(wait).unwrap_or_default();
        let suspended = |(id, backoff): (&String, &Backoff)| {
            Some(SuspendedTarget {
                id: id.clone(),
                name: backoff.name.clone(),
                workspace: backoff.workspace.clone(),
                until: at(backoff.wait(now)?),
                reason: backoff.reason.clone(),
            })
        };
        let mut targets: Vec<_> = state.targets.iter().filter_map(suspended).collect();
        targets.sort_by(|a, b| (&a.workspace, &a.name).cmp(&(&b.workspace, &b.name)));
        let report = |workspace: &str, breaker: &Breaker| {
            let (status, until, since, reason) =
                match (&breaker.quarantine, breaker.backoff.wait(now)) {
                    (Some((since, reason)), _) => {
                        (HealthStatus::Quarantined, None, Some(*since), reason)
                    }
                    (None, Some(wait)) => {
                        let reason = &breaker.backoff.reason;
                        (HealthStatus::BackingOff, Some(at(wait)), None, reason)
                    }
                    (None, None) => return None,
                };
            Some(SuspendedWorkspace {
                workspace: workspace.to_owned(),
                status,
                until,
                since,
                reason: reason.clone(),
            })
        };
        let workspaces = state.workspaces.iter();
        let workspaces = workspaces.filter_map(|(name, breaker)| report(name, breaker));
        let mut workspaces: Vec<_> = workspaces.collect();
        workspaces.sort_by(|a, b| a.workspace.cmp(&b.workspace));
        // A version that is suspended for every user is suspended: a host may have only one workspace.
        let is_suspended = |user: &String| workspaces.iter().any(|one| one.workspace == *user);
        let mildest = || workspaces.iter().min_by_key(|one| one.status).cloned();
        let all_suspended = users.iter().all(is_suspended);
        let version = report("", &state.version).or_else(|| mildest().filter(|_| all_suspended));
        HealthReport {
            status: version.as_ref().map_or(HealthStatus::Ok, |one| one.status),
            until: version.as_ref().and_then(|one| one.until),
            since: version.as_ref().and_then(|one| one.since),
            reason: version.map(|one| one.reason),
            workspaces,
            targets,
        }
    }
}

impl HealthReport {
    /// The part of the report about one workspace.
    #[must_use]
    pub fn of_workspace(mut self, name: &str) -> Self {
        self.workspaces.retain(|one| one.workspace == name);
        self.targets.retain(|one| one.workspace == name);
        self.reason = self.workspaces.first().map(|one| one.reason.clone());
        self
    }
}

/// What a fault changed.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    None,
    Target(Duration),
    Workspace(Trip),
    Version(Trip),
}

impl State {
    fn is_healthy(&self) -> bool {
        let is_healthy = |one: &Breaker| one.backoff.backoffs == 0 && one.quarantine.is_none();
        self.targets.is_empty()
            && is_healthy(&self.version)
            && self.workspaces.values().all(is_healthy)
    }

    fn record_success(&mut self, target: &TargetId) {
        if let Some(backoff) = self.targets.get_mut(&target.id)
            && backoff.record_success()
        {
            self.targets.remove(&target.id);
        }
        for (_, backoff) in self.targets.iter_mut().filter(|(id, _)| **id != target.id) {
            backoff.others_succeed = true;
        }
        if let Some(here) = self.workspaces.get_mut(&target.workspace) {
            here.backoff = Backoff::default();
        }
        self.version.backoff = Backoff::default();
        self.workspaces
            .retain(|_, one| one.quarantine.is_some() || one.backoff.backoffs > 0);
    }

    fn record_fault(
        &mut self,
        now: Instant,
        target: &TargetId,
        reason: &str,
        users: Users,
        faults: &FaultSettings,
    ) -> Change {
        self.targets.retain(|_, one| !one.is_expired(now, faults));
        if self.targets.len() >= MAX_TARGETS && !self.targets.contains_key(&target.id) {
            let quiet = self.targets.iter().min_by_key(|(_, one)| one.last);
            let quiet = quiet.map(|(id, _)| id.clone()).unwrap_or_default();
            self.targets.remove(&quiet);
        }
        let backoff = self.targets.entry(target.id.clone()).or_default();
        let Some(wait) = backoff.record_fault(now, target, reason, faults) else {
            return Change::None;
        };
        let suspended = || self.targets.values().filter(|one| one.is_suspended());
        let here = suspended().filter(|one| one.workspace == target.workspace);
        let trips_here = here.count() >= users.here.clamp(1, TRIP_COUNT);
        let workspaces: BTreeSet<&str> = suspended().map(|one| one.workspace.as_str()).collect();
        let trips_version = suspended().count() >= users.targets.clamp(1, TRIP_COUNT)
            && workspaces.len() >= users.workspaces.clamp(MIN_WORKSPACES, TRIP_COUNT);
        let version = trips_version.then(|| self.version.trip(now, reason, faults));
        let here = trips_here.then(|| {
            let here = self.workspaces.entry(target.workspace.clone()).or_default();
            here.trip(now, reason, faults)
        });
        match (version.flatten(), here.flatten()) {
            (Some(trip), _) => Change::Version(trip),
            (None, Some(trip)) => Change::Workspace(trip),
            (None, None) => Change::Target(wait),
        }
    }
}

#[cfg(test)]
mod tests;
