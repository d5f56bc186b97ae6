//! Follows activations by other hosts of the same store.

use mindhost_plugins::active::ActivePlugins;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Inner, POLL_INTERVAL, Rollout, Stage,
    store::{self, RemoteRequest},
};
use mindhost_base::{error::Result, locks::lock};
use mindhost_plugins::{
    registry::{Active, LoadedPlugin, Slot},
    trial::Watch,
};
use mindhost_store::Backend;

/// What a host remembers between two polls.
#[derive(Default)]
struct PollState {
    /// The serving versions at the last poll.
    wanted: Active,
    /// Digests that were logged as missing or unusable here.
    told: BTreeSet<String>,
}

/// Activates what another host activated. If the file of a version is missing here, logs it, and the old version serves
/// until the file arrives.
pub async fn follow(inner: Arc<Inner>) {
    let parts = &inner.parts;
    if parts.store.backend() != Backend::Postgres {
        return;
    }
    let mut seen = PollState::default();
    loop {
        tokio::select! {
            () = parts.ending.cancelled() => return,
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
        if let Err(error) = look(&inner, &mut seen).await {
            tracing::debug!(%error, "cannot read which versions are active");
        }
    }
}

async fn look(inner: &Arc<Inner>, seen: &mut PollState) -> Result<()> {
    let parts = &inner.parts;
    let wanted = ActivePlugins(&parts.store).all().await?;
    let here = parts.registry.active();
    let is_new = |(slot, digest): &(&Slot, &String)| here.get(*slot) != Some(*digest);
    let new: BTreeSet<&String> = wanted
        .iter()
        .filter(is_new)
        .map(|(_, digest)| digest)
        .collect();
    if !new.is_empty() {
        let underway = store::in_progress(&parts.store).await?;
        for digest in new {
            let on_probation = |one: &&Rollout| one.to == *digest && one.stage == Stage::Probation;
            catch_up(inner, digest, underway.iter().find(on_probation), seen).await;
        }
    }
    // Versions that were rolled back elsewhere with none before them.
    for (slot, digest) in &seen.wanted {
        if !wanted.contains_key(slot) && here.get(slot) == Some(digest) && !inner.is_at_work(digest)
        {
            let loaded = parts.registry.serve(digest).await?;
            parts.registry.restore(&loaded, &BTreeMap::new());
        }
    }
    seen.wanted = wanted;
    Ok(())
}

/// Activates a version that serves elsewhere. If it is on probation there, it is on probation here too.
async fn catch_up(
    inner: &Arc<Inner>,
    digest: &str,
    probation: Option<&Rollout>,
    seen: &mut PollState,
) {
    let registry = &inner.parts.registry;
    // A rollout of this host is between the store and the registry.
    if inner.is_at_work(digest) {
        return;
    }
    if registry.manifest(digest).is_none() {
        if seen.told.insert(digest.to_owned()) {
            tracing::warn!(
                digest,
                "another host activated a plugin that is not installed here; install the same file (`mindhost plugin install --locked`)"
            );
        }
        return;
    }
    if registry.is_refused(digest) && seen.told.contains(digest) {
        return;
    }
    match registry.serve(digest).await {
        Ok(loaded) => {
            seen.told.remove(digest);
            let watch = probation.map(|_| inner.watch());
            registry.activate(&loaded, watch.as_ref());
            if let (Some(rollout), Some(watch)) = (probation, watch) {
                let along = watch_along(Arc::clone(inner), loaded, watch, rollout.clone());
                inner.parts.tasks.spawn(along);
            }
        }
        Err(error) => {
            seen.told.insert(digest.to_owned());
            tracing::warn!(digest, %error, "another host activated a plugin that does not work here");
        }
    }
}

/// Watches a version while its rollout at another host does. If it fails here, it is rolled back everywhere.
async fn watch_along(inner: Arc<Inner>, loaded: LoadedPlugin, watch: Arc<Watch>, rollout: Rollout) {
    let parts = &inner.parts;
    let report = async {
        let told = RemoteRequest::Abort(watch.condemned().await);
        // The host of the rollout may be gone. Then nothing is rolled back, as for the request of an operator.
        if let Err(error) = store::tell(&parts.store, rollout.id, &told).await {
            tracing::warn!(%error, plugin = rollout.plugin, "cannot report that a version failed its probation");
        }
        std::future::pending().await
    };
    let ended = async {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            // Another host ends a rollout that lost its host. A short failure of the store is ignored.
            if let Ok(now) = store::get(&parts.store, rollout.id).await
                && now.is_none_or(|one| one.ended_at.is_some())
            {
                return;
            }
        }
    };
    tokio::select! {
        () = report => {}
        () = ended => {}
        () = parts.ending.cancelled() => {}
    }
    parts.registry.end_trial(&loaded);
}

impl Inner {
    /// Whether a rollout of this host is changing the plugin with this digest.
    fn is_at_work(&self, digest: &str) -> bool {
        let manifest = self.parts.registry.manifest(digest);
        manifest.is_some_and(|one| lock(&self.running).contains_key(&one.name))
    }
}
