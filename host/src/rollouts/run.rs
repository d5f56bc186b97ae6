//! The steps of one rollout, and those of other hosts.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::sync::watch;

use super::{
    Inner, Rollout, Running, Stage, Wish,
    check::{self, Outcome},
    store::{self, BEAT},
};
use crate::{
    error::Result,
    locks::lock,
    plugins::{
        registry::{Active, Loaded, slots},
        trial::{Side, Thresholds, Watch},
    },
    store::Backend,
};

/// How often a host looks whether another one of the same store has activated something.
const LOOK: Duration = Duration::from_secs(1);

/// A rollout under way.
pub struct Task {
    pub inner: Arc<Inner>,
    pub state: watch::Sender<Rollout>,
    pub running: Running,
    pub wish: Wish,
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
    pub async fn run(self) {
        let steps = self.steps();
        tokio::pin!(steps);
        let ended = loop {
            tokio::select! {
                ended = &mut steps => break ended,
                () = tokio::time::sleep(BEAT) => self.keep().await,
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
        lock(&self.inner.running).remove(&rollout.plugin);
        self.state.send_replace(rollout);
    }

    async fn steps(&self) -> Result<(Stage, Option<String>)> {
        let registry = &self.inner.parts.registry;
        let to = self.state.borrow().to.clone();
        self.keep().await;
        let loaded = registry.ready(&to).await?.serve();
        let is_rollback = self.state.borrow().is_rollback;
        if !is_rollback {
            self.enter(Stage::Checking).await;
            if let Some(failed) = self.check(&loaded).await? {
                return Ok((Stage::Failed, Some(failed)));
            }
        }
        let settings = &self.inner.parts.settings;
        let thresholds = Thresholds {
            fault_share: settings.fault_share,
            slower: settings.slower,
            slack: settings.slack,
        };
        let watch = Arc::new(Watch::new(1.0, thresholds));
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
        let before = registry.active();
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
            () = self.running.abort.cancelled() => Watched::Badly("an operator rolled back".to_owned()),
            () = settle => Watched::Well,
            () = tokio::time::sleep(time) => Watched::Well,
        };
        self.state.send_modify(|rollout| {
            rollout.stable = watch.figures(Side::Stable);
            rollout.candidate = watch.figures(Side::Candidate);
        });
        seen
    }

    /// Stored first: a server that stops in between starts with the new version.
    async fn switch(&self, loaded: &Loaded, watch: Option<&Arc<Watch>>) -> Result<()> {
        let parts = &self.inner.parts;
        let manifest = match loaded {
            Loaded::Connector(connector) => connector.manifest(),
            Loaded::Model(model) => model.manifest(),
        };
        let digest = self.state.borrow().to.clone();
        let mine = slots(manifest);
        let active: Active = mine
            .iter()
            .map(|slot| (slot.clone(), digest.clone()))
            .collect();
        let old = self.state.borrow().from.clone();
        parts.store.activate_plugin(&active, old.as_deref()).await?;
        parts.registry.activate(loaded, watch);
        Ok(())
    }

    /// What served before serves again.
    async fn go_back(&self, loaded: &Loaded, before: &Active) -> Result<()> {
        let parts = &self.inner.parts;
        let now = parts.registry.active();
        let changed = |(slot, digest): &(&String, &String)| now.get(*slot) != Some(*digest);
        let back: Active = before
            .iter()
            .filter(changed)
            .map(|(slot, digest)| (slot.clone(), digest.clone()))
            .collect();
        let to = self.state.borrow().to.clone();
        parts.store.activate_plugin(&back, Some(&to)).await?;
        let mut digests: Vec<&String> = back.values().collect();
        digests.sort();
        digests.dedup();
        for digest in digests {
            parts
                .registry
                .activate(&parts.registry.ready(digest).await?.serve(), None);
        }
        parts.registry.end_trial(loaded);
        Ok(())
    }

    async fn enter(&self, stage: Stage) {
        self.state.send_modify(|rollout| rollout.stage = stage);
        self.keep().await;
    }

    /// A store that fails for a moment is no reason to stop in the middle.
    async fn keep(&self) {
        let rollout = self.state.borrow().clone();
        self.keep_as(&rollout).await;
    }

    async fn keep_as(&self, rollout: &Rollout) {
        if let Err(error) = store::keep(&self.inner.parts.store, rollout).await {
            tracing::warn!(%error, plugin = rollout.plugin, "could not store how a rollout stands");
        }
    }
}

/// Activates here what another host of the same store activated there. A version whose file is missing here is named, and
/// what serves goes on.
pub async fn follow(inner: Arc<Inner>) {
    let parts = &inner.parts;
    if parts.store.backend() != Backend::Postgres {
        return;
    }
    let mut missing = Active::new();
    loop {
        tokio::select! {
            () = parts.ending.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        match parts.store.active_plugins().await {
            Ok(wanted) => catch_up(&inner, &wanted, &mut missing).await,
            Err(error) => tracing::debug!(%error, "could not look who serves"),
        }
    }
}

async fn catch_up(inner: &Inner, wanted: &Active, missing: &mut Active) {
    let registry = &inner.parts.registry;
    let here = registry.active();
    for (slot, digest) in wanted {
        if here.get(slot) == Some(digest) || missing.get(slot) == Some(digest) {
            continue;
        }
        let Some(manifest) = registry.manifest(digest) else {
            tracing::warn!(
                slot,
                digest,
                "another host activated a plugin that is not installed here; install the same file (`mindhost plugin install --locked`)"
            );
            missing.insert(slot.clone(), digest.clone());
            continue;
        };
        // A rollout of this host is on its way between the store and the registry.
        if lock(&inner.running).contains_key(&manifest.name) {
            continue;
        }
        match registry.ready(digest).await {
            Ok(ready) => registry.activate(&ready.serve(), None),
            Err(error) => {
                tracing::warn!(slot, digest, %error, "another host activated a plugin that does not work here");
                missing.insert(slot.clone(), digest.clone());
            }
        }
    }
}
