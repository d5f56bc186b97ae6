//! A version of a plugin takes the place of another, step by step, and goes back when it is found wanting.
//!
//! Verify, compile, try it with the datasources that would use it, give it a share of the calls if that is wanted, switch,
//! and watch it for a while. Whatever goes wrong on the way leaves the old version serving, and the reason is kept. One
//! rollout of what an engine or a model is served by runs at a time, on whatever host of the store; what the operator sees
//! of it is stored at every step, and the other hosts follow it from there.

use mindhost_plugins::active::ActivePlugins;
mod check;
mod others;
mod run;
mod store;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use utoipa::ToSchema;
use uuid::Uuid;

use self::store::Told;
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
    registry::{About, Active, Registry, Slot},
    rights::{Incumbents, Right, listed},
    trial::{Figures, Thresholds, Watch},
};
use mindhost_store::Store;

pub use self::check::{Check, Outcome};

/// Rollouts of a plugin that are shown.
const SHOWN: i64 = 50;
/// How often a host looks what other hosts of the same store do.
const LOOK: Duration = Duration::from_secs(1);
/// How long the host of a rollout has to do what it is told. One that is dead by then counts as [lost](store::LOST).
const HEARD: Duration = Duration::from_secs(30);

/// Why a rollout went back that nothing was wrong with.
const BY_OPERATOR: &str = "an operator rolled back";

/// How a rollout stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The file is read, its digest and signature are checked, and it is compiled where it is new.
    Compiling,
    /// It is tried with the datasources or providers that would use it.
    Checking,
    /// It serves a share of the calls.
    Canary,
    /// It serves all calls and is watched.
    Probation,
    /// It serves.
    Completed,
    /// It served, and the old version serves again.
    RolledBack,
    /// It never served.
    Failed,
}

impl Stage {
    /// Whether nothing more happens.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::RolledBack | Self::Failed)
    }

    /// Whether the new version serves, or never will by this rollout.
    pub fn is_settled(self) -> bool {
        self.is_end() || self == Self::Probation
    }
}

/// One version on its way into the place of another.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Rollout {
    /// Id.
    pub id: Uuid,
    /// Name of the plugin.
    pub plugin: String,
    /// Digest of the version that served before; null where nobody did.
    #[schema(required = true)]
    pub from: Option<String>,
    /// Digest of the version that shall serve.
    pub to: String,
    /// Its version.
    pub version: String,
    /// How it stands.
    pub stage: Stage,
    /// Why it went back or failed, or that an operator rolled back.
    #[schema(required = true)]
    pub reason: Option<String>,
    /// What the version may do beyond the one before, and the operator accepted.
    #[serde(default)]
    pub accepted_rights: Vec<Right>,
    /// What the trial with datasources or providers showed.
    pub checks: Vec<Check>,
    /// Share of the calls in the canary, from 0.0 to 1.0; null without one.
    #[schema(required = true)]
    pub canary_share: Option<f64>,
    /// What was seen of the old version since the canary began.
    pub stable: Figures,
    /// What was seen of the new one.
    pub candidate: Figures,
    /// Whether it goes back to what served before.
    pub is_rollback: bool,
    /// Id of the key that began it.
    #[schema(required = true)]
    pub started_by: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    #[schema(required = true)]
    pub ended_at: Option<Timestamp>,
}

/// How a version shall be activated.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// A share of the calls first, from 0.0 to 1.0, for so long.
    pub canary: Option<(f64, Duration)>,
    /// Activate it even if it fails with datasources that work now.
    pub force: bool,
    /// Names of rights beyond those of the version before that it may have.
    pub accept_rights: Vec<String>,
}

/// The rollouts of this host.
#[derive(Clone)]
pub struct Rollouts(Arc<Inner>);

struct Inner {
    parts: Parts,
    /// Those under way, by name of the plugin.
    running: Mutex<HashMap<String, Running>>,
}

/// What rollouts are made with.
pub struct Parts {
    /// The store.
    pub store: Store,
    /// Who serves.
    pub registry: Arc<Registry>,
    /// Those that use a connector.
    pub datasources: Arc<Datasources>,
    /// Those that use a model.
    pub providers: Arc<Providers>,
    /// Bounds and thresholds.
    pub settings: config::Rollouts,
    /// Where rollouts run.
    pub tasks: TaskTracker,
    /// The end of the server.
    pub ending: CancellationToken,
}

/// A rollout under way.
#[derive(Clone)]
struct Running {
    state: watch::Receiver<Rollout>,
    /// Go back.
    abort: CancellationToken,
    /// Why, where it was not an operator who said so here.
    why: Arc<OnceLock<String>>,
    /// Another one comes: end the probation well.
    settle: CancellationToken,
}

impl Rollouts {
    /// The rollouts of a host. Those that a host left unfinished are ended, and changes by other hosts followed.
    pub fn new(parts: Parts) -> Self {
        let rollouts = Self(Arc::new(Inner {
            parts,
            running: Mutex::default(),
        }));
        let parts = &rollouts.0.parts;
        parts.tasks.spawn(store::end_orphans(
            parts.store.clone(),
            parts.ending.clone(),
        ));
        parts.tasks.spawn(others::follow(Arc::clone(&rollouts.0)));
        rollouts
    }

    /// Begins to put an installed version into the place of the one that serves. The version is named by its number or
    /// the beginning of its digest; without a name it is the highest.
    ///
    /// # Errors
    /// `plugin_not_found`, `plugin_ambiguous`; `wrong_state` when it serves already; `rollout_active`;
    /// `rights_not_accepted` when it may do more than the version before.
    pub async fn activate(
        &self,
        caller: &Caller,
        name: &str,
        version: Option<&str>,
        wish: Wish,
    ) -> Result<Rollout> {
        caller.require_host("activate plugins")?;
        let about = self.0.parts.registry.find(name, version)?;
        self.begin(caller, &about, wish, false).await
    }

    /// Goes back: a rollout under way is aborted, else what served before the newest one serves again, at once.
    ///
    /// # Errors
    /// `plugin_not_found`; `wrong_state` when nothing served before.
    pub async fn roll_back(&self, caller: &Caller, name: &str) -> Result<Rollout> {
        caller.require_host("roll plugins back")?;
        let parts = &self.0.parts;
        let running = lock(&self.0.running).get(name).cloned();
        if let Some(mut running) = running {
            running.abort.cancel();
            let ended = running.state.wait_for(|rollout| rollout.stage.is_end());
            return Ok(ended.await.map_err(Error::internal)?.clone());
        }
        let underway = store::under_way(&parts.store).await?;
        if let Some(elsewhere) = underway.iter().find(|one| one.plugin == name) {
            let told = Told::Abort(BY_OPERATOR.to_owned());
            let ended = self.0.tell(elsewhere, &told).await?;
            // Its host may be dead, or was done before it heard.
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
                format!("nothing served before the active version of {name}; activate another one with `version`"),
            )
        })?;
        // It may be a version of another plugin, that served the same engine.
        let about = match parts.registry.about(digest) {
            Some(about) => about,
            None => parts.registry.find(name, Some(digest))?,
        };
        let wish = Wish {
            force: true,
            ..Wish::default()
        };
        let rollout = self.begin(caller, &about, wish, true).await?;
        self.wait(&rollout, Duration::from_secs(60)).await
    }

    /// For whoever writes a plugin: a file serves at once, in the place of the last one, without any trial. The versions
    /// that it replaces are removed.
    ///
    /// # Errors
    /// `plugin_refused`; what serves goes on then.
    pub async fn develop(&self, bytes: Vec<u8>, signature: Option<&str>) -> Result<About> {
        let parts = &self.0.parts;
        let about = parts.registry.install(bytes, signature).await?.about;
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
            // A datasource may keep it.
            let _ = self.remove(&about.name, &old).await;
        }
        Ok(about)
    }

    /// Takes an installed version away, with its file. One of the plugins directory comes back at the next start.
    ///
    /// # Errors
    /// `plugin_not_found`; `resource_in_use` while it serves, is on trial, or some datasource keeps it.
    pub async fn remove(&self, name: &str, version: &str) -> Result<About> {
        let parts = &self.0.parts;
        // Another host may have been told that a datasource keeps it, or that none does any more.
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
        about: &About,
        wish: Wish,
        is_rollback: bool,
    ) -> Result<Rollout> {
        let inner = &self.0;
        // What serves again was accepted when it served.
        let accepted_rights = match is_rollback {
            true => Vec::new(),
            false => self.accepted(about, &wish).await?,
        };
        inner.make_way(about).await?;
        let from = inner.predecessor(about);
        if from.as_ref() == Some(&about.digest) {
            return Err(Error::new(
                Code::WrongState,
                format!("{} {} serves already", about.name, about.version),
            ));
        }
        let hold = inner.parts.registry.hold(&about.digest)?;
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
            started_at: Timestamp::now(),
            ended_at: None,
        };
        let (state, seen) = watch::channel(rollout.clone());
        let running = Running {
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

    /// What the rights of new versions are compared with.
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

    /// What a version may do beyond those whose places it takes. Nothing of it runs before that was accepted.
    async fn accepted(&self, about: &About, wish: &Wish) -> Result<Vec<Right>> {
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

    /// Waits until the new version serves or never will, at most for so long.
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
        // What runs here is known better than it is stored.
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
    /// Eyes on a version beside the one that it replaces.
    fn watch(&self) -> Arc<Watch> {
        let settings = &self.parts.settings;
        let thresholds = Thresholds {
            fault_share: settings.fault_share,
            slower: settings.slower,
            slack: settings.slack,
        };
        Arc::new(Watch::new(1.0, thresholds))
    }

    /// The digest that serves under that name.
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

    /// What a version would serve.
    fn places(&self, digest: &str) -> Active {
        let manifest = self.parts.registry.manifest(digest);
        let slots = manifest.map_or_else(Vec::new, |one| Slot::of(&one));
        let slots = slots.into_iter();
        slots.map(|slot| (slot, digest.to_owned())).collect()
    }

    /// Who serves what a version would serve: the version of the same plugin, else whoever has its first place.
    fn predecessor(&self, about: &About) -> Option<String> {
        self.active(&about.name).or_else(|| {
            let mine = Slot::of(&self.parts.registry.manifest(&about.digest)?);
            let serving = self.parts.registry.active();
            mine.iter().find_map(|slot| serving.get(slot).cloned())
        })
    }

    /// A version on probation stays when the next one comes; anything else must end first. In the way is what is of the
    /// same plugin, and what would serve the same.
    async fn make_way(&self, about: &About) -> Result<()> {
        let registry = &self.parts.registry;
        let slots_of = |digest: &str| {
            registry
                .manifest(digest)
                .map_or_else(Vec::new, |one| Slot::of(&one))
        };
        let mine = slots_of(&about.digest);
        let is_in_the_way = |one: &Rollout| {
            one.plugin == about.name || slots_of(&one.to).iter().any(|slot| mine.contains(slot))
        };
        let underway = store::under_way(&self.parts.store).await?;
        for other in underway.iter().filter(|one| is_in_the_way(one)) {
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
                    // Its sender is gone once it has left its place.
                    while running.state.changed().await.is_ok() {}
                }
                None => self.tell(other, &Told::Settle).await.map(drop)?,
            }
        }
        Ok(())
    }

    /// Says something to the host of a rollout and waits until that has ended.
    async fn tell(&self, rollout: &Rollout, told: &Told) -> Result<Rollout> {
        let store = &self.parts.store;
        store::tell(store, rollout.id, told).await?;
        let ended = async {
            loop {
                let now = store::get(store, rollout.id).await?;
                if let Some(now) = now.filter(|one| one.ended_at.is_some()) {
                    return Ok(now);
                }
                tokio::time::sleep(LOOK / 4).await;
            }
        };
        let ended = tokio::time::timeout(HEARD, ended).await;
        ended.unwrap_or_else(|_| Err(active(&rollout.plugin)))
    }
}

fn active(name: &str) -> Error {
    Error::new(
        Code::RolloutActive,
        format!(
            "a rollout of {name} is under way; wait for its end, or abort it with `POST /plugins/{name}/rollback`"
        ),
    )
}
