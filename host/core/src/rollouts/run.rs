//! The steps of one rollout.

use mindhost_plugins::active::ActivePlugins;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use tokio::sync::watch;

use super::{
    BY_OPERATOR, Inner, LOOK, Rollout, Running, Stage, Wish,
    check::{self, Outcome},
    store::{self, BEAT, Told},
};
use mindhost_base::{error::Result, locks::lock};
use mindhost_plugins::{
    active::PluginSwitch,
    registry::{Active, Hold, Loaded, Slot},
    trial::{Side, Watch},
};
use mindhost_store::Backend;

/// A rollout under way.
pub struct Task {
    pub inner: Arc<Inner>,
    pub state: watch::Sender<Rollout>,
    pub running: Running,
    pub wish: Wish,
    /// When it was stored last how it stands.
    pub kept: Mutex<Instant>,
    /// The version stays installed on its way.
    pub hold: Option<Hold>,
}

/// What ended a time of watching.
enum Watched {
    /// The time, or the next version came.
    Well,
    /// The version was found wanting, or an operator wants to go back.
    Badly(String),
}

impl Task {
    /// Runs the steps, and says how they went.
    pub async fn run(mut self) {
        let ended = {
            let steps = self.steps();
            tokio::pin!(steps);
            loop {
                tokio::select! {
                    ended = &mut steps => break ended,
                    () = tokio::time::sleep(LOOK) => self.beat().await,
                }
            }
        };
        let (stage, reason) = match ended {
            Ok((stage, reason)) => (stage, reason),
            Err(error) => (Stage::Failed, Some(error.message().to_owned())),
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
        // Stored, then out of the way, then told: whoever hears of the end can begin the next one.
        self.keep_as(&rollout).await;
        self.hold = None;
        lock(&self.inner.running).remove(&rollout.plugin);
        self.state.send_replace(rollout);
    }

    async fn steps(&self) -> Result<(Stage, Option<String>)> {
        let registry = &self.inner.parts.registry;
        let to = self.state.borrow().to.clone();
        self.keep().await;
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
            if let Watched::Badly(why) = seen {
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
            Watched::Well => {
                registry.end_trial(&loaded);
                Ok((Stage::Completed, None))
            }
            Watched::Badly(why) => {
                self.go_back(&loaded, &before).await?;
                Ok((Stage::RolledBack, Some(why)))
            }
        }
    }

    /// Why the version shall not serve.
    async fn check(&self, loaded: &Loaded) -> Result<Option<String>> {
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
    async fn watch(&self, watch: &Watch, time: Duration, may_settle: bool) -> Watched {
        let settle = async {
            match may_settle {
                true => self.running.settle.cancelled().await,
                false => std::future::pending().await,
            }
        };
        let seen = tokio::select! {
            biased;
            why = watch.condemned() => Watched::Badly(why),
            // A server that ends leaves the new version active if it is.
            () = self.inner.parts.ending.cancelled(), if may_settle => Watched::Well,
            () = self.running.abort.cancelled() => {
                let why = self.running.why.get().map_or(BY_OPERATOR, String::as_str);
                Watched::Badly(why.to_owned())
            }
            () = settle => Watched::Well,
            () = tokio::time::sleep(time) => Watched::Well,
        };
        self.state.send_modify(|rollout| {
            rollout.stable = watch.figures(Side::Stable);
            rollout.candidate = watch.figures(Side::Candidate);
        });
        seen
    }

    /// Who serves now what the version will serve, and what the version that it replaces serves beside that.
    fn before(&self, loaded: &Loaded) -> Active {
        let mine = Slot::of(loaded.plugin().manifest());
        let mut before = self.inner.parts.registry.active();
        let old = self.replaced();
        before.retain(|slot, digest| mine.contains(slot) || Some(&*digest) == old.as_ref());
        before
    }

    /// The version of the same plugin that served.
    fn replaced(&self) -> Option<String> {
        let rollout = self.state.borrow();
        let from = rollout.from.clone()?;
        let about = self.inner.parts.registry.about(&from)?;
        (about.name == rollout.plugin).then_some(from)
    }

    /// Stored first: a server that stops in between starts with the new version.
    async fn switch(&self, loaded: &Loaded, watch: Option<&Arc<Watch>>) -> Result<()> {
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

    /// What served before serves again, and nothing where nothing did.
    async fn go_back(&self, loaded: &Loaded, before: &Active) -> Result<()> {
        let parts = &self.inner.parts;
        let mut serving: BTreeMap<&String, Loaded> = BTreeMap::new();
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

    /// Says that it is still under way, and hears what other hosts want.
    async fn beat(&self) {
        let (store, id) = (&self.inner.parts.store, self.state.borrow().id);
        if store.backend() == Backend::Postgres {
            match store::told(store, id).await {
                Ok(Told::Settle) => self.running.settle.cancel(),
                Ok(Told::Abort(why)) => {
                    self.running.why.get_or_init(|| why);
                    self.running.abort.cancel();
                }
                Ok(Told::Nothing) => {}
                Err(error) => tracing::debug!(%error, "could not look what other hosts want"),
            }
        }
        let is_due = lock(&self.kept).elapsed() >= BEAT;
        if is_due {
            self.keep().await;
        }
    }

    async fn enter(&self, stage: Stage) {
        let mut rollout = self.state.borrow().clone();
        rollout.stage = stage;
        // Stored before anybody here is told: a server that stops then has not forgotten what it said.
        self.keep_as(&rollout).await;
        self.state.send_modify(|rollout| rollout.stage = stage);
    }

    /// A store that fails for a moment is no reason to stop in the middle.
    async fn keep(&self) {
        let rollout = self.state.borrow().clone();
        self.keep_as(&rollout).await;
    }

    async fn keep_as(&self, rollout: &Rollout) {
        *lock(&self.kept) = Instant::now();
        if let Err(error) = store::keep(&self.inner.parts.store, rollout).await {
            tracing::warn!(%error, plugin = rollout.plugin, "could not store how a rollout stands");
        }
    }
}
