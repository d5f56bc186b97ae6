//! The steps of one rollout.

use mindhost_plugins::active::ActivePlugins;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use tokio::sync::watch;
use tracing::Instrument;

use super::{
    ActivationOptions, BY_OPERATOR, Inner, POLL_INTERVAL, Rollout, RolloutTask, Stage,
    check::{self, Outcome},
    store::{self, HEARTBEAT, RemoteRequest},
};
use mindhost_base::{error::Result, locks::lock};
use mindhost_plugins::{
    active::PluginSwitch,
    registry::{Active, Hold, LoadedPlugin, Slot},
    trial::{Side, Watch},
};
use mindhost_store::Backend;

/// How often the figures of both versions are noted while they are watched.
const NOTED_EVERY: Duration = Duration::from_secs(1);

/// A rollout in progress.
pub struct Task {
    pub inner: Arc<Inner>,
    pub state: watch::Sender<Rollout>,
    pub running: RolloutTask,
    pub wish: ActivationOptions,
    /// When its state was last stored.
    pub kept: Mutex<Instant>,
    /// Keeps the version installed during the rollout.
    pub hold: Option<Hold>,
}

/// How a time of watching ended.
enum WatchOutcome {
    /// The time is over, or the next version came.
    Well,
    /// The version failed, or an operator rolls back.
    Badly(String),
}

impl Task {
    /// Runs the steps and reports their result. Its log lines name the request that started it.
    pub async fn run(self) {
        let span = {
            let rollout = self.state.borrow();
            tracing::info_span!(parent: None, "rollout", id = %rollout.id, request_id = rollout.request_id)
        };
        self.until_end().instrument(span).await;
    }

    async fn until_end(mut self) {
        let ended = {
            let steps = self.steps();
            tokio::pin!(steps);
            loop {
                tokio::select! {
                    ended = &mut steps => break ended,
                    () = tokio::time::sleep(POLL_INTERVAL) => self.beat().await,
                }
            }
        };
        let (stage, reason) = match ended {
            Ok((stage, reason)) => (stage, reason),
            Err(error) => {
                error.log();
                (Stage::Failed, Some(error.message().to_owned()))
            }
        };
        let mut rollout = self.state.borrow().clone();
        rollout.stage = stage;
        rollout.reason = reason.or(rollout.reason);
        rollout.ended_at = Some(Timestamp::now());
        let why = rollout.reason.as_deref().unwrap_or_default();
        tracing::info!(
            plugin = rollout.plugin,
            digest = rollout.to,
            ?stage,
            why,
            "a rollout ended"
        );
        // In this order: store, leave the map, notify. A client that sees the end can start the next rollout at once.
        self.persist_as(&rollout).await;
        self.hold = None;
        lock(&self.inner.running).remove(&rollout.plugin);
        self.state.send_replace(rollout);
    }

    async fn steps(&self) -> Result<(Stage, Option<String>)> {
        let registry = &self.inner.parts.registry;
        let to = self.state.borrow().to.clone();
        self.persist().await;
        let loaded = registry.serve(&to).await?;
        let is_rollback = self.state.borrow().is_rollback;
        if !is_rollback {
            self.enter(Stage::Checking).await;
            if let Some(failed) = self.check(&loaded).await? {
                return Ok((Stage::Failed, Some(failed)));
            }
        }
        let settings = &self.inner.parts.settings;
        let watch = self.inner.watch();
        if let Some((share, time)) = self.wish.canary {
            watch.set_share(share);
            registry.put_on_trial(&loaded, &watch);
            self.enter(Stage::Canary).await;
            let seen = self.watch(&watch, time, false).await;
            if let WatchOutcome::Badly(why) = seen {
                registry.end_trial(&loaded);
                return Ok((Stage::RolledBack, Some(why)));
            }
        }
        let before = self.before(&loaded);
        let is_watched = !is_rollback && !settings.probation.is_zero();
        watch.set_share(1.0);
        self.switch(&loaded, is_watched.then_some(&watch)).await?;
        if !is_watched {
            return Ok((Stage::Completed, None));
        }
        self.enter(Stage::Probation).await;
        let seen = self.watch(&watch, settings.probation, true).await;
        match seen {
            WatchOutcome::Well => {
                registry.end_trial(&loaded);
                Ok((Stage::Completed, None))
            }
            WatchOutcome::Badly(why) => {
                self.go_back(&loaded, &before).await?;
                Ok((Stage::RolledBack, Some(why)))
            }
        }
    }

    /// Why the version must not serve.
    async fn check(&self, loaded: &LoadedPlugin) -> Result<Option<String>> {
        let checks = check::all(&self.inner.parts, loaded, &self.running.abort).await?;
        let failed: Vec<String> = checks
            .iter()
            .filter(|check| check.outcome == Outcome::Failed)
            .map(|check| format!("{}/{}: {}", check.workspace, check.name, check.message))
            .collect();
        self.state.send_modify(|rollout| rollout.checks = checks);
        if self.running.abort.is_cancelled() {
            return Ok(Some("it was aborted".to_owned()));
        }
        Ok((!failed.is_empty() && !self.wish.force).then(|| {
            format!(
                "it fails where the active version works; activate it with `force` if that is meant. {}",
                failed.join("; ")
            )
        }))
    }

    /// Watches both versions for a time.
    async fn watch(&self, watch: &Watch, time: Duration, may_settle: bool) -> WatchOutcome {
        let settle = async {
            match may_settle {
                true => self.running.settle.cancelled().await,
                false => std::future::pending().await,
            }
        };
        let noting = async {
            loop {
                tokio::time::sleep(NOTED_EVERY).await;
                self.note_figures(watch);
            }
        };
        let seen = tokio::select! {
            biased;
            why = watch.condemned() => WatchOutcome::Badly(why),
            // If the server shuts down, the new version stays active if it is.
            () = self.inner.parts.ending.cancelled(), if may_settle => WatchOutcome::Well,
            () = self.running.abort.cancelled() => {
                let why = self.running.why.get().map_or(BY_OPERATOR, String::as_str);
                WatchOutcome::Badly(why.to_owned())
            }
            () = settle => WatchOutcome::Well,
            () = tokio::time::sleep(time) => WatchOutcome::Well,
            never = noting => never,
        };
        self.note_figures(watch);
        seen
    }

    fn note_figures(&self, watch: &Watch) {
        self.state.send_modify(|rollout| {
            rollout.stable = watch.figures(Side::Stable);
            rollout.candidate = watch.figures(Side::Candidate);
        });
    }

    /// The serving versions in the slots of the new version, and in the other slots of the version that it replaces.
    fn before(&self, loaded: &LoadedPlugin) -> Active {
        let mine = Slot::of(loaded.plugin().manifest());
        let mut before = self.inner.parts.registry.active();
        let old = self.replaced();
        before.retain(|slot, digest| mine.contains(slot) || Some(&*digest) == old.as_ref());
        before
    }

    /// The version of the same plugin that served before.
    fn replaced(&self) -> Option<String> {
        let rollout = self.state.borrow();
        let from = rollout.from.clone()?;
        let about = self.inner.parts.registry.about(&from)?;
        (about.name == rollout.plugin).then_some(from)
    }

    /// Stores the switch first: a server that crashes in between starts with the new version.
    async fn switch(&self, loaded: &LoadedPlugin, watch: Option<&Arc<Watch>>) -> Result<()> {
        let parts = &self.inner.parts;
        let (digest, from) = {
            let rollout = self.state.borrow();
            let from = rollout.from.clone().filter(|_| rollout.is_rollback);
            (rollout.to.clone(), from)
        };
        let (old, rights) = (self.replaced(), parts.registry.rights(&digest));
        let switch = PluginSwitch {
            active: self.inner.places(&digest),
            old: old.as_deref(),
            switched_to: rights.as_ref().map(|rights| (&*digest, rights)),
            rolled_back: from.as_deref(),
        };
        ActivePlugins(&parts.store).switch(&switch).await?;
        parts.registry.activate(loaded, watch);
        Ok(())
    }

    /// Restores the version before in each slot, or empties the slot if there was none.
    async fn go_back(&self, loaded: &LoadedPlugin, before: &Active) -> Result<()> {
        let parts = &self.inner.parts;
        let mut serving: BTreeMap<&String, LoadedPlugin> = BTreeMap::new();
        for digest in before.values() {
            if !serving.contains_key(digest) {
                serving.insert(digest, parts.registry.serve(digest).await?);
            }
        }
        let to = self.state.borrow().to.clone();
        let switch = PluginSwitch {
            active: before.clone(),
            old: Some(&to),
            switched_to: None,
            rolled_back: Some(&to),
        };
        ActivePlugins(&parts.store).switch(&switch).await?;
        let old = before.iter();
        let old =
            old.filter_map(|(slot, digest)| Some((slot.clone(), serving.get(digest)?.clone())));
        parts.registry.restore(loaded, &old.collect());
        Ok(())
    }

    /// Sends the heartbeat, and reads the requests of other hosts.
    async fn beat(&self) {
        let (store, id) = (&self.inner.parts.store, self.state.borrow().id);
        if store.backend() == Backend::Postgres {
            match store::told(store, id).await {
                Ok(RemoteRequest::Settle) => self.running.settle.cancel(),
                Ok(RemoteRequest::Abort(why)) => {
                    self.running.why.get_or_init(|| why);
                    self.running.abort.cancel();
                }
                Ok(RemoteRequest::Nothing) => {}
                Err(error) => tracing::debug!(%error, "cannot read the requests of other hosts"),
            }
        }
        let is_due = lock(&self.kept).elapsed() >= HEARTBEAT;
        if is_due {
            self.persist().await;
        }
    }

    async fn enter(&self, stage: Stage) {
        let mut rollout = self.state.borrow().clone();
        rollout.stage = stage;
        // Stored before clients are notified, so that a crash loses nothing that was reported.
        self.persist_as(&rollout).await;
        self.state.send_modify(|rollout| rollout.stage = stage);
    }

    /// A short failure of the store does not stop the rollout.
    async fn persist(&self) {
        let rollout = self.state.borrow().clone();
        self.persist_as(&rollout).await;
    }

    async fn persist_as(&self, rollout: &Rollout) {
        *lock(&self.kept) = Instant::now();
        if let Err(error) = store::persist(&self.inner.parts.store, rollout).await {
            tracing::warn!(%error, plugin = rollout.plugin, "cannot store the state of a rollout");
        }
    }
}
