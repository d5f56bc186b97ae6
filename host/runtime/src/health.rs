//! How a version of a plugin is: whether it may be called, or rests because it failed too often.
//!
//! A *fault* is a failure that the plugin alone is to blame for: it trapped, or broke its contract. Each target has a
//! budget of them, which good uses restore. A target whose budget is used up is *backed off*: its calls fail at once, for
//! a time that doubles with each round. When nothing goes well any more for several targets of a workspace (or for all
//! that it has), the version is backed off for that workspace, and after some rounds it is in *quarantine* there until
//! somebody releases it. Only when that is so in several workspaces is the version backed off as a whole. So the data of
//! one datasource cannot take the others down, and one workspace cannot take a version from another.

mod trouble;

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

use self::trouble::{Sentence, Trouble, Verdict};
use super::meter::{TargetId, VersionId};
use mindhost_base::{
    config::FaultSettings,
    error::{Blame, Code, Error, Result},
    locks::lock,
};

/// So many targets in trouble are no coincidence of their data, and so many workspaces none of their makers.
const SEVERAL: usize = 3;
/// Workspaces that must be in trouble before a version as a whole is.
const WORKSPACES: usize = 2;
/// Targets in trouble that are remembered; the one that was quiet for the longest time goes first.
const MAX_TARGETS: usize = 1_000;

/// Who uses a version, as far as is known.
#[derive(Clone, Copy, Debug)]
pub struct Users {
    /// Targets of the workspace in which the fault was.
    pub here: usize,
    /// Targets of all workspaces.
    pub targets: usize,
    /// Workspaces with a target.
    pub workspaces: usize,
}

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
    /// By name.
    workspaces: HashMap<String, Verdict>,
    whole: Verdict,
}

/// Whether a version may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PluginHealthStatus)]
pub enum HealthStatus {
    /// It may.
    Ok,
    /// Not for a while.
    BackingOff,
    /// Not until it is released or another version is activated.
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
    /// Of the version as a whole, and also where it is so for every workspace that uses it.
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
    pub workspaces: Vec<WorkspaceInTrouble>,
    /// The datasources and providers that are backed off by themselves.
    pub targets: Vec<TargetInTrouble>,
}

/// A workspace for which a version is not called.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct WorkspaceInTrouble {
    /// Its name.
    pub workspace: String,
    /// How the version is for it.
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
pub struct TargetInTrouble {
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
    /// `plugin_suspended` while the version rests: for this target, for its workspace or as a whole.
    pub fn admit(&self, target: &TargetId) -> Result<()> {
        if !self.in_trouble.load(Ordering::Acquire) {
            return Ok(());
        }
        let now = self.now();
        let state = lock(&self.state);
        self.admitted(now, &state.whole, false)?;
        if let Some(here) = state.workspaces.get(&target.workspace) {
            self.admitted(now, here, true)?;
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

    /// Whether a verdict lets a use begin. What failed is not said: it may be another's.
    fn admitted(&self, now: Instant, verdict: &Verdict, is_here: bool) -> Result<()> {
        let (of, who) = match is_here {
            true => (" for this workspace", "an admin of the workspace"),
            false => ("", "an operator"),
        };
        if let Some((since, _)) = &verdict.quarantine {
            let since = since.strftime("%FT%TZ");
            let why = format!(
                "is in quarantine{of} since {since} because it kept failing; let {who} release it, or an operator activate another version"
            );
            return Err(self.refused(why, None));
        }
        match verdict.trouble.wait(now) {
            Some(wait) => {
                let why = format!(
                    "failed for too many datasources or providers and rests{of} for a while"
                );
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

    /// A use of a target went well.
    pub fn went_well(&self, target: &TargetId) {
        if !self.in_trouble.load(Ordering::Acquire) {
            return;
        }
        let mut state = lock(&self.state);
        state.went_well(target);
        self.keep_in_mind(&state);
    }

    /// A use of a target ended by a fault.
    pub fn fault(&self, target: &TargetId, reason: &str, users: Users) {
        let mut state = lock(&self.state);
        let change = state.fault(self.now(), target, reason, users, &self.faults);
        self.keep_in_mind(&state);
        drop(state);
        let VersionId {
            plugin,
            version,
            digest,
        } = &self.id;
        let (name, workspace) = (target.name.as_str(), target.workspace.as_str());
        let (what, seconds) = match change {
            Change::None => return,
            Change::Target(wait) => ("failed too often for this target and rests", wait),
            Change::Workspace(Sentence::Rest(wait)) => (
                "failed too often for several targets of a workspace and rests for it",
                wait,
            ),
            Change::Whole(Sentence::Rest(wait)) => (
                "failed too often for targets of several workspaces and rests",
                wait,
            ),
            Change::Workspace(Sentence::Quarantine) => {
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
            Change::Whole(Sentence::Quarantine) => {
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

    /// An admin wants it to be called again for a workspace. Whether it was not well there. What it is as a whole stays.
    pub fn release_workspace(&self, workspace: &str) -> bool {
        let mut state = lock(&self.state);
        let was_here = state.workspaces.remove(workspace).is_some();
        let before = state.targets.len();
        state.targets.retain(|_, one| one.workspace != workspace);
        self.keep_in_mind(&state);
        was_here || state.targets.len() < before
    }

    fn keep_in_mind(&self, state: &State) {
        self.in_trouble.store(!state.is_well(), Ordering::Release);
    }

    /// How it is; `users` are the names of the workspaces that use it.
    pub fn report(&self, users: &BTreeSet<String>) -> HealthReport {
        let state = lock(&self.state);
        let now = self.now();
        let at = |wait: Duration| Timestamp::now().saturating_add(wait).unwrap_or_default();
        let rests = |(id, trouble): (&String, &Trouble)| {
            Some(TargetInTrouble {
                id: id.clone(),
                name: trouble.name.clone(),
                workspace: trouble.workspace.clone(),
                until: at(trouble.wait(now)?),
                reason: trouble.reason.clone(),
            })
        };
        let mut targets: Vec<_> = state.targets.iter().filter_map(rests).collect();
        targets.sort_by(|a, b| (&a.workspace, &a.name).cmp(&(&b.workspace, &b.name)));
        let shown = |workspace: &str, verdict: &Verdict| {
            let (status, until, since, reason) =
                match (&verdict.quarantine, verdict.trouble.wait(now)) {
                    (Some((since, reason)), _) => {
                        (HealthStatus::Quarantined, None, Some(*since), reason)
                    }
                    (None, Some(wait)) => {
                        let reason = &verdict.trouble.reason;
                        (HealthStatus::BackingOff, Some(at(wait)), None, reason)
                    }
                    (None, None) => return None,
                };
            Some(WorkspaceInTrouble {
                workspace: workspace.to_owned(),
                status,
                until,
                since,
                reason: reason.clone(),
            })
        };
        let workspaces = state.workspaces.iter();
        let workspaces = workspaces.filter_map(|(name, verdict)| shown(name, verdict));
        let mut workspaces: Vec<_> = workspaces.collect();
        workspaces.sort_by(|a, b| a.workspace.cmp(&b.workspace));
        // Where it is so for all who use it, it is so for the version: a host may have one workspace alone.
        let is_in_trouble = |user: &String| workspaces.iter().any(|one| one.workspace == *user);
        let mildest = || workspaces.iter().min_by_key(|one| one.status).cloned();
        let everybody = users.iter().all(is_in_trouble);
        let whole = shown("", &state.whole).or_else(|| mildest().filter(|_| everybody));
        HealthReport {
            status: whole.as_ref().map_or(HealthStatus::Ok, |one| one.status),
            until: whole.as_ref().and_then(|one| one.until),
            since: whole.as_ref().and_then(|one| one.since),
            reason: whole.map(|one| one.reason),
            workspaces,
            targets,
        }
    }
}

impl HealthReport {
    /// The part of it that is of one workspace.
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
    Workspace(Sentence),
    Whole(Sentence),
}

impl State {
    fn is_well(&self) -> bool {
        let is_well = |one: &Verdict| one.trouble.rounds == 0 && one.quarantine.is_none();
        self.targets.is_empty() && is_well(&self.whole) && self.workspaces.values().all(is_well)
    }

    fn went_well(&mut self, target: &TargetId) {
        if let Some(trouble) = self.targets.get_mut(&target.id)
            && trouble.went_well()
        {
            self.targets.remove(&target.id);
        }
        for (_, trouble) in self.targets.iter_mut().filter(|(id, _)| **id != target.id) {
            trouble.others_do_well = true;
        }
        if let Some(here) = self.workspaces.get_mut(&target.workspace) {
            here.trouble = Trouble::default();
        }
        self.whole.trouble = Trouble::default();
        self.workspaces
            .retain(|_, one| one.quarantine.is_some() || one.trouble.rounds > 0);
    }

    fn fault(
        &mut self,
        now: Instant,
        target: &TargetId,
        reason: &str,
        users: Users,
        faults: &FaultSettings,
    ) -> Change {
        self.targets.retain(|_, one| !one.is_over(now, faults));
        if self.targets.len() >= MAX_TARGETS && !self.targets.contains_key(&target.id) {
            let quiet = self.targets.iter().min_by_key(|(_, one)| one.last);
            let quiet = quiet.map(|(id, _)| id.clone()).unwrap_or_default();
            self.targets.remove(&quiet);
        }
        let trouble = self.targets.entry(target.id.clone()).or_default();
        let Some(wait) = trouble.fault(now, target, reason, faults) else {
            return Change::None;
        };
        let troubled = || self.targets.values().filter(|one| one.counts());
        let here = troubled().filter(|one| one.workspace == target.workspace);
        let is_here = here.count() >= users.here.clamp(1, SEVERAL);
        let workspaces: BTreeSet<&str> = troubled().map(|one| one.workspace.as_str()).collect();
        let is_whole = troubled().count() >= users.targets.clamp(1, SEVERAL)
            && workspaces.len() >= users.workspaces.clamp(WORKSPACES, SEVERAL);
        let whole = is_whole.then(|| self.whole.fails(now, reason, faults));
        let here = is_here.then(|| {
            let here = self.workspaces.entry(target.workspace.clone()).or_default();
            here.fails(now, reason, faults)
        });
        match (whole.flatten(), here.flatten()) {
            (Some(sentence), _) => Change::Whole(sentence),
            (None, Some(sentence)) => Change::Workspace(sentence),
            (None, None) => Change::Target(wait),
        }
    }
}

#[cfg(test)]
mod tests;
