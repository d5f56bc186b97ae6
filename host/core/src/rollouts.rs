//! Replaces a version of a plugin by another, step by step, and rolls back if the new one fails.
//!
//! The steps: verify, compile, try it with the datasources that would use it, optionally give it a share of the calls,
//! switch, and watch it for a while. If a step fails, the old version goes on serving, and the reason is stored. Each
//! slot has at most one rollout at a time, among all hosts of the store. Every step is stored, so that operators see it
//! and the other hosts follow.

use mindhost_plugins::active::ActivePlugins;
mod check;
mod other_hosts;
mod rejected;
mod run;
mod store;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, OnceLock},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use utoipa::ToSchema;
use uuid::Uuid;

use self::{rejected::rejected, store::RemoteRequest};
use crate::{
    auth::Caller,
    datasources::{self, Datasources},
    providers::Providers,
};
use mindhost_base::{
    config,
    error::{Code, Error, Result},
    locks::lock,
};
use mindhost_plugins::{
    active::PluginSwitch,
    registry::{Active, HeldFor, Registry, Slot, VersionFacts},
    rights::{Incumbents, Right, listed},
    trial::{Figures, Thresholds, Watch},
};
use mindhost_store::Store;

pub use self::check::{Check, Outcome};

/// How many rollouts of a plugin a list shows.
const SHOWN: i64 = 50;
/// How many rollouts of a plugin decide which of its versions were rejected.
const REMEMBERED: i64 = 1_000;
/// How often a host polls the store for changes by other hosts.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long the host of a rollout has to react to a request. After that a dead one counts as [lost](store::LOST).
const REACTION_TIMEOUT: Duration = Duration::from_secs(30);

/// The reason of a rollback by an operator.
const BY_OPERATOR: &str = "an operator rolled back";

/// The state of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The file is read, its digest and signature are checked, and it is compiled if necessary.
    Compiling,
    /// The version is tried with the datasources or providers that would use it.
    Checking,
    /// It serves a share of the calls.
    Canary,
    /// It serves all calls and is watched.
    Probation,
    /// It serves, and the rollout is complete.
    Completed,
    /// It was rolled back: the old version serves again.
    RolledBack,
    /// It failed before it served.
    Failed,
}

impl Stage {
    /// Whether the rollout is over.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::RolledBack | Self::Failed)
    }

    /// Whether the new version serves, or the rollout ended without it.
    pub fn is_settled(self) -> bool {
        self.is_end() || self == Self::Probation
    }
}

/// The replacement of a version.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Rollout {
    /// Id.
    pub id: Uuid,
    /// Name of the plugin.
    pub plugin: String,
    /// Digest of the version that served before; null if there was none.
    #[schema(required = true)]
    pub from: Option<String>,
    /// Digest of the new version.
    pub to: String,
    /// Number of the new version.
    pub version: String,
    /// Its state.
    pub stage: Stage,
    /// Why it failed or was rolled back.
    #[schema(required = true)]
    pub reason: Option<String>,
    /// The additional rights that the operator accepted.
    #[serde(default)]
    pub accepted_rights: Vec<Right>,
    /// The results of the check with datasources or providers.
    pub checks: Vec<Check>,
    /// Share of the calls in the canary, from 0.0 to 1.0; null without one.
    #[schema(required = true)]
    pub canary_share: Option<f64>,
    /// Figures of the old version since the canary began.
    pub stable: Figures,
    /// Figures of the new version.
    pub candidate: Figures,
    /// Whether it returns to the version before.
    pub is_rollback: bool,
    /// Id of the key that started it.
    #[schema(required = true)]
    pub started_by: Option<String>,
    /// The `X-Request-ID` of the request that started it: the log has it under that. Null where it was not kept.
    #[serde(default)]
    #[schema(required = true)]
    pub request_id: Option<String>,
    /// Its start.
    pub started_at: Timestamp,
    /// Its end.
    #[schema(required = true)]
    pub ended_at: Option<Timestamp>,
}

/// How to replace a version: by default at once, without new rights, and only if the checks pass.
#[derive(Clone, Debug, Default)]
pub struct ActivationOptions {
    /// The canary: a share of the calls, from 0.0 to 1.0, and its duration.
    pub canary: Option<(f64, Duration)>,
    /// Activate it even if it fails with datasources that the old version can use.
    pub force: bool,
    /// Names of additional rights that are accepted.
    pub accept_rights: Vec<String>,
}

/// Starts rollouts, follows them, and rolls them back. Each plugin has at most one at a time.
#[derive(Clone)]
pub struct Rollouts(Arc<Inner>);

struct Inner {
    parts: Services,
    /// The rollouts in progress, by name of the plugin.
    running: Mutex<HashMap<String, RolloutTask>>,
}

/// The parts that rollouts use.
pub struct Services {
    /// Holds all rollouts, so that other hosts see them and can stop them.
    pub store: Store,
    /// The installed and serving versions.
    pub registry: Arc<Registry>,
    /// The datasources, which use connectors.
    pub datasources: Arc<Datasources>,
    /// The providers, which use models.
    pub providers: Arc<Providers>,
    /// Limits and thresholds.
    pub settings: config::Rollouts,
    /// The tracker of the tasks of rollouts.
    pub tasks: TaskTracker,
    /// Cancelled when the server shuts down.
    pub ending: CancellationToken,
}

/// What steers the task of a rollout on this host.
#[derive(Clone)]
struct RolloutTask {
    state: watch::Receiver<Rollout>,
    /// Cancelled to roll back.
    abort: CancellationToken,
    /// The reason to roll back, if it was not an operator at this host.
    why: Arc<OnceLock<String>>,
    /// Cancelled when the next rollout starts: the probation ends as passed.
    settle: CancellationToken,
}

impl Rollouts {
    /// Starts the rollouts of a host: ends those that a lost host left unfinished, and follows changes by other hosts.
    pub fn new(parts: Services) -> Self {
        let rollouts = Self(Arc::new(Inner {
            parts,
            running: Mutex::default(),
        }));
        let parts = &rollouts.0.parts;
        parts.tasks.spawn(store::end_orphans(
            parts.store.clone(),
            parts.ending.clone(),
        ));
        parts
            .tasks
            .spawn(other_hosts::follow(Arc::clone(&rollouts.0)));
        rollouts
    }

    /// Starts to activate an installed version, named by its number or the start of its digest; without a name, the
    /// highest whose last rollout did not fail and was not rolled back.
    ///
    /// # Errors
    /// `plugin_not_found`, `plugin_ambiguous`; `wrong_state` if it serves already; `rollout_active`;
    /// `rights_not_accepted` if it has wider rights than the version before.
    pub async fn activate(
        &self,
        caller: &Caller,
        name: &str,
        version: Option<&str>,
        wish: ActivationOptions,
    ) -> Result<Rollout> {
        caller.require_host("activate plugins")?;
        let parts = &self.0.parts;
        let avoided = match version {
            Some(_) => BTreeSet::new(),
            None => rejected(&store::list(&parts.store, name, REMEMBERED).await?),
        };
        let about = parts.registry.find_except(name, version, &avoided)?;
        self.begin(caller, &about, wish, false).await
    }

    /// Rolls back at once: aborts a rollout in progress, else returns to the version before the newest rollout.
    ///
    /// # Errors
    /// `plugin_not_found`; `wrong_state` if there is no version before.
    pub async fn roll_back(&self, caller: &Caller, name: &str) -> Result<Rollout> {
        caller.require_host("roll plugins back")?;
        let parts = &self.0.parts;
        let running = lock(&self.0.running).get(name).cloned();
        if let Some(mut running) = running {
            running.abort.cancel();
            let ended = running.state.wait_for(|rollout| rollout.stage.is_end());
            return Ok(ended.await.map_err(Error::internal)?.clone());
        }
        let underway = store::in_progress(&parts.store).await?;
        if let Some(elsewhere) = underway.iter().find(|one| one.plugin == name) {
            let told = RemoteRequest::Abort(BY_OPERATOR.to_owned());
            let ended = self.0.tell(elsewhere, &told).await?;
            // Its host may be dead, or the rollout ended before the request arrived.
            if ended.stage != Stage::Completed {
                return Ok(ended);
            }
        }
        parts.registry.find(name, None)?;
        let previous = store::list(&parts.store, name, SHOWN).await?;
        let active = self.0.active(name);
        let last = previous.iter().find(|rollout| {
            rollout.stage == Stage::Completed
                && !rollout.is_rollback
                && Some(&rollout.to) == active.as_ref()
        });
        let digest = last.and_then(|rollout| rollout.from.as_deref());
        let digest = digest.ok_or_else(|| {
            Error::new(
                Code::WrongState,
                format!("nothing served before the active version of {name}, so there is nothing to go back to; to replace it, install and activate another version"),
            )
        })?;
        // The version before may belong to another plugin for the same engine.
        let about = match parts.registry.about(digest) {
            Some(about) => about,
            None => parts.registry.find(name, Some(digest))?,
        };
        let wish = ActivationOptions {
            force: true,
            ..ActivationOptions::default()
        };
        let rollout = self.begin(caller, &about, wish, true).await?;
        self.wait(&rollout, Duration::from_secs(60)).await
    }

    /// For plugin development: activates a file at once, without checks or probation, and removes the versions that it
    /// replaces.
    ///
    /// # Errors
    /// `plugin_refused`; then the old version goes on serving.
    pub async fn develop(&self, bytes: Vec<u8>, signature: Option<&str>) -> Result<VersionFacts> {
        let parts = &self.0.parts;
        let installed = parts.registry.install_again(bytes, signature).await?;
        let about = installed.about;
        let loaded = parts.registry.serve(&about.digest).await?;
        let old = self.0.active(&about.name);
        if old.as_ref() == Some(&about.digest) {
            return Ok(about);
        }
        let rights = parts.registry.rights(&about.digest);
        let switch = PluginSwitch {
            active: self.0.places(&about.digest),
            old: old.as_deref(),
            switched_to: rights.as_ref().map(|rights| (&*about.digest, rights)),
            rolled_back: None,
        };
        ActivePlugins(&parts.store).switch(&switch).await?;
        parts.registry.activate(&loaded, None);
        if let Some(old) = old {
            // A datasource may pin it.
            let _ = self.remove(&about.name, &old).await;
        }
        Ok(about)
    }

    /// Removes an installed version and its file. A version that is also in the plugins directory returns at the next
    /// start.
    ///
    /// # Errors
    /// `plugin_not_found`; `resource_in_use` with what keeps it.
    pub async fn remove(&self, name: &str, version: &str) -> Result<VersionFacts> {
        let parts = &self.0.parts;
        // A pin may have been set or removed at another host.
        let kept = datasources::pinned_digests(&parts.store).await?;
        parts.registry.unpin_all_but(&kept);
        let about = parts.registry.find(name, Some(version))?;
        if kept.contains(&about.digest) {
            parts.registry.pin(&about.digest).await?;
        }
        parts.registry.remove(name, version).await
    }

    async fn begin(
        &self,
        caller: &Caller,
        about: &VersionFacts,
        wish: ActivationOptions,
        is_rollback: bool,
    ) -> Result<Rollout> {
        let inner = &self.0;
        // Its rights were accepted when it served.
        let accepted_rights = match is_rollback {
            true => Vec::new(),
            false => self.accepted(about, &wish).await?,
        };
        inner.end_probations(about).await?;
        let from = inner.predecessor(about);
        if from.as_ref() == Some(&about.digest) {
            return Err(inner.serves_already(about));
        }
        let hold = inner.parts.registry.hold(&about.digest, HeldFor::Rollout)?;
        let rollout = Rollout {
            id: Uuid::now_v7(),
            plugin: about.name.clone(),
            from,
            to: about.digest.clone(),
            version: about.version.clone(),
            stage: Stage::Compiling,
            reason: is_rollback.then(|| BY_OPERATOR.to_owned()),
            accepted_rights,
            checks: Vec::new(),
            canary_share: wish.canary.map(|(share, _)| share),
            stable: Figures::default(),
            candidate: Figures::default(),
            is_rollback,
            started_by: Some(caller.key_id.to_string()),
            request_id: caller.request_id.as_deref().map(str::to_owned),
            started_at: Timestamp::now(),
            ended_at: None,
        };
        let (state, seen) = watch::channel(rollout.clone());
        let running = RolloutTask {
            state: seen,
            abort: inner.parts.ending.child_token(),
            why: Arc::default(),
            settle: CancellationToken::new(),
        };
        if !store::begin(&inner.parts.store, &rollout).await? {
            return Err(active(&about.name));
        }
        lock(&inner.running).insert(about.name.clone(), running.clone());
        let task = run::Task {
            inner: Arc::clone(inner),
            state,
            running,
            wish,
            kept: Mutex::new(Instant::now()),
            hold: Some(hold),
        };
        inner.parts.tasks.spawn(task.run());
        Ok(rollout)
    }

    /// The versions that rights of new ones are compared with.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn incumbents(&self) -> Result<Incumbents> {
        let parts = &self.0.parts;
        let mut incumbents = ActivePlugins(&parts.store).incumbents().await?;
        for (slot, digest) in parts.registry.active() {
            incumbents.add(&slot, || parts.registry.rights(&digest));
        }
        Ok(incumbents)
    }

    /// The additional rights of a version. None of its code runs before they are accepted.
    async fn accepted(&self, about: &VersionFacts, wish: &ActivationOptions) -> Result<Vec<Right>> {
        let rights = self.0.parts.registry.rights(&about.digest);
        let incumbents = self.incumbents().await?;
        let wider = rights.map_or_else(Vec::new, |rights| incumbents.wider(&rights));
        let is_accepted = |right: &Right| wish.accept_rights.contains(&right.name);
        let open: Vec<Right> = wider
            .iter()
            .filter(|right| !is_accepted(right))
            .cloned()
            .collect();
        if open.is_empty() {
            return Ok(wider);
        }
        let each = |right: &Right| format!("{} ({})", right.name, right.description);
        let each: Vec<String> = open.iter().map(each).collect();
        let (name, version) = (&about.name, &about.version);
        let message = format!(
            "{name} {version} may do more than the version before it: {}; accept that with `accept_rights`, or with `mindhost plugin activate {name} {version} --accept-rights {}`",
            each.join("; "),
            listed(&open)
        );
        Err(Error::new(Code::RightsNotAccepted, message)
            .param("accept_rights")
            .with_rights(open))
    }

    /// Waits until the new version serves or the rollout ended without it, with a timeout.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn wait(&self, rollout: &Rollout, at_most: Duration) -> Result<Rollout> {
        let running = lock(&self.0.running).get(&rollout.plugin).cloned();
        let Some(mut running) = running.filter(|one| one.state.borrow().id == rollout.id) else {
            return self.get(&rollout.plugin, rollout.id).await;
        };
        let settled = running.state.wait_for(|rollout| rollout.stage.is_settled());
        let _ = tokio::time::timeout(at_most, settled).await;
        let rollout = running.state.borrow().clone();
        Ok(rollout)
    }

    /// The newest rollouts of a plugin, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, name: &str) -> Result<Vec<Rollout>> {
        let mut all = store::list(&self.0.parts.store, name, SHOWN).await?;
        // For rollouts of this host, memory is newer than the store.
        if let Some(running) = lock(&self.0.running).get(name) {
            let rollout = running.state.borrow().clone();
            all.retain(|one| one.id != rollout.id);
            all.insert(0, rollout);
        }
        Ok(all)
    }

    /// A rollout of a plugin.
    ///
    /// # Errors
    /// `rollout_not_found`
    pub async fn get(&self, name: &str, id: Uuid) -> Result<Rollout> {
        let all = self.list(name).await?;
        all.into_iter().find(|one| one.id == id).ok_or_else(|| {
            Error::new(
                Code::RolloutNotFound,
                format!("`{name}` has no rollout {id}; `GET /plugins/{name}` lists the newest"),
            )
        })
    }
}

impl Inner {
    /// A watch on a version and the one that it replaces.
    fn watch(&self) -> Arc<Watch> {
        let settings = &self.parts.settings;
        let thresholds = Thresholds {
            fault_share: settings.fault_share,
            slower: settings.slower,
            slack: settings.slack,
        };
        Arc::new(Watch::new(1.0, thresholds))
    }

    /// The digest of the serving version of that plugin.
    fn active(&self, name: &str) -> Option<String> {
        let registry = &self.parts.registry;
        let connectors = registry.connectors().into_iter();
        let connectors =
            connectors.map(|one| (one.manifest().name.clone(), one.digest().to_owned()));
        let models = registry.models().into_iter();
        let models = models.map(|one| (one.manifest().name.clone(), one.digest().to_owned()));
        let mut all = connectors.chain(models);
        all.find(|(one, _)| one == name).map(|(_, digest)| digest)
    }

    /// The slots of a version.
    fn places(&self, digest: &str) -> Active {
        let manifest = self.parts.registry.manifest(digest);
        let slots = manifest.map_or_else(Vec::new, |one| Slot::of(&one));
        let slots = slots.into_iter();
        slots.map(|slot| (slot, digest.to_owned())).collect()
    }

    /// The version that a new one replaces: the serving version of the same plugin, else the one in its first slot.
    fn predecessor(&self, about: &VersionFacts) -> Option<String> {
        self.active(&about.name).or_else(|| {
            let mine = Slot::of(&self.parts.registry.manifest(&about.digest)?);
            let serving = self.parts.registry.active();
            mine.iter().find_map(|slot| serving.get(slot).cloned())
        })
    }

    /// The error of an activation that changes nothing: what to do for another version, such as one that was rolled back.
    fn serves_already(&self, about: &VersionFacts) -> Error {
        let (name, version) = (&about.name, &about.version);
        let newest = self.parts.registry.find(name, None).ok();
        let advice = match newest.filter(|newest| newest.digest != about.digest) {
            Some(newest) => {
                let (other, digest) = (newest.version, newest.digest.get(..12));
                let named = digest.filter(|_| other == *version).unwrap_or(&other);
                format!(
                    "to activate {other}, name it, also if it was rolled back: `mindhost plugin activate {name} {named}`"
                )
            }
            None => format!(
                "no higher version is installed; `mindhost plugin show {name}` lists those that are"
            ),
        };
        let message = format!("{name} {version} serves already; {advice}");
        Error::new(Code::WrongState, message)
    }

    /// Ends the probation of rollouts of the same plugin or for the same slots, as passed. Any other rollout of them
    /// must end first.
    async fn end_probations(&self, about: &VersionFacts) -> Result<()> {
        let registry = &self.parts.registry;
        let slots_of = |digest: &str| {
            registry
                .manifest(digest)
                .map_or_else(Vec::new, |one| Slot::of(&one))
        };
        let mine = slots_of(&about.digest);
        let conflicts = |one: &Rollout| {
            one.plugin == about.name || slots_of(&one.to).iter().any(|slot| mine.contains(slot))
        };
        let underway = store::in_progress(&self.parts.store).await?;
        for other in underway.iter().filter(|one| conflicts(one)) {
            let running = lock(&self.running).get(&other.plugin).cloned();
            let stage = running
                .as_ref()
                .map_or(other.stage, |one| one.state.borrow().stage);
            if stage != Stage::Probation {
                return Err(active(&other.plugin));
            }
            match running {
                Some(mut running) => {
                    running.settle.cancel();
                    // The sender is dropped when the rollout has left the map.
                    while running.state.changed().await.is_ok() {}
                }
                None => self.tell(other, &RemoteRequest::Settle).await.map(drop)?,
            }
        }
        Ok(())
    }

    /// Sends a request to the host of a rollout, and waits for its end.
    async fn tell(&self, rollout: &Rollout, told: &RemoteRequest) -> Result<Rollout> {
        let store = &self.parts.store;
        store::tell(store, rollout.id, told).await?;
        let ended = async {
            loop {
                let now = store::get(store, rollout.id).await?;
                if let Some(now) = now.filter(|one| one.ended_at.is_some()) {
                    return Ok(now);
                }
                tokio::time::sleep(POLL_INTERVAL / 4).await;
            }
        };
        let ended = tokio::time::timeout(REACTION_TIMEOUT, ended).await;
        ended.unwrap_or_else(|_| Err(active(&rollout.plugin)))
    }
}

fn active(name: &str) -> Error {
    Error::new(
        Code::RolloutActive,
        format!(
            "a rollout of {name} is in progress; wait for its end, or abort it with `POST /plugins/{name}/rollback`"
        ),
    )
}
