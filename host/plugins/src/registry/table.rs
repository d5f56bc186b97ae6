//! The serving version of each slot. A table is immutable: a change replaces it.

use std::{collections::BTreeMap, sync::Arc};

use super::super::{
    slot::{Active, Slot},
    trial::{Side, Trial, Watch},
};
use mindhost_plugin_api::{Connector, Model};
use mindhost_runtime::LoadedPlugin;

/// The versions in one slot.
pub struct Holder<P: ?Sized> {
    /// The active version.
    pub active: Arc<P>,
    /// A newer version on trial: it gets a share of the calls, or is already active and is watched.
    pub trial: Option<Arc<Trial<P>>>,
}

impl<P: ?Sized> Clone for Holder<P> {
    fn clone(&self) -> Self {
        Self {
            active: Arc::clone(&self.active),
            trial: self.trial.clone(),
        }
    }
}

impl<P: ?Sized> Holder<P> {
    fn of(active: &Arc<P>) -> Self {
        Self {
            active: Arc::clone(active),
            trial: None,
        }
    }
}

/// What keeps a version in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It is on trial, or a rollback returns to it.
    Trial(Side),
    /// It serves.
    Serves,
    /// A datasource pins it.
    Pinned,
}

/// The serving versions.
#[derive(Clone, Default)]
pub struct Table {
    /// By every engine name, aliases included.
    pub connectors: BTreeMap<String, Holder<dyn Connector>>,
    /// By name of the plugin.
    pub models: BTreeMap<String, Holder<dyn Model>>,
    /// Versions that datasources pin, by digest.
    pub pinned: BTreeMap<String, Arc<dyn Connector>>,
}

impl Table {
    /// Gives a plugin its free slots that are `wanted`. Returns whether there was one.
    pub fn claim(&mut self, loaded: &LoadedPlugin, wanted: impl Fn(&Slot) -> bool) -> bool {
        let mut claimed = false;
        match loaded {
            LoadedPlugin::Connector(connector) => {
                for engine in &connector.manifest().engines {
                    if wanted(&Slot::Engine(engine.clone()))
                        && !self.connectors.contains_key(engine)
                    {
                        let holder = Holder::of(connector);
                        self.connectors.insert(engine.clone(), holder);
                        claimed = true;
                    }
                }
            }
            LoadedPlugin::Model(model) => {
                let name = &model.manifest().name;
                if wanted(&Slot::Model(name.clone())) && !self.models.contains_key(name) {
                    self.models.insert(name.clone(), Holder::of(model));
                    claimed = true;
                }
            }
        }
        claimed
    }

    /// Gives a plugin all of its slots, and removes its other versions from theirs. With a watch it is then on trial
    /// beside the versions that it replaced. Returns the plugins that serve nothing any more.
    pub fn replace(
        &mut self,
        loaded: &LoadedPlugin,
        watch: Option<&Arc<Watch>>,
    ) -> Vec<LoadedPlugin> {
        let before = self.serving();
        match watch {
            Some(watch) => self.put_on_trial(loaded, watch),
            None => self.end_trials_of(loaded),
        }
        match loaded {
            LoadedPlugin::Connector(connector) => {
                let manifest = connector.manifest();
                self.connectors.retain(|engine, holder| {
                    manifest.engines.contains(engine)
                        || holder.active.manifest().name != manifest.name
                });
                for engine in &manifest.engines {
                    let holder = self.connectors.entry(engine.clone());
                    let holder = holder.or_insert_with(|| Holder::of(connector));
                    holder.active = Arc::clone(connector);
                }
            }
            LoadedPlugin::Model(model) => {
                let holder = self.models.entry(model.manifest().name.clone());
                let holder = holder.or_insert_with(|| Holder::of(model));
                holder.active = Arc::clone(model);
            }
        }
        self.gone_since(before)
    }

    /// Removes a plugin from its slots, and gives them back to the versions that had them before. Returns the plugins
    /// that serve nothing any more.
    pub fn restore(
        &mut self,
        loaded: &LoadedPlugin,
        before: &BTreeMap<Slot, LoadedPlugin>,
    ) -> Vec<LoadedPlugin> {
        let serving = self.serving();
        self.end_trials_of(loaded);
        self.remove(loaded.plugin().digest());
        for (slot, old) in before {
            match (slot, old) {
                (Slot::Engine(engine), LoadedPlugin::Connector(old)) => {
                    self.connectors.insert(engine.clone(), Holder::of(old));
                }
                (Slot::Model(name), LoadedPlugin::Model(old)) => {
                    self.models.insert(name.clone(), Holder::of(old));
                }
                (Slot::Engine(_), LoadedPlugin::Model(_))
                | (Slot::Model(_), LoadedPlugin::Connector(_)) => {}
            }
        }
        self.gone_since(serving)
    }

    /// Removes a version from all slots.
    pub fn remove(&mut self, digest: &str) {
        self.connectors
            .retain(|_, holder| holder.active.digest() != digest);
        self.models
            .retain(|_, holder| holder.active.digest() != digest);
    }

    fn gone_since(&self, before: Vec<LoadedPlugin>) -> Vec<LoadedPlugin> {
        let after = self.serving();
        let is_gone = |old: &LoadedPlugin| !after.iter().any(|new| is_same(old, new));
        before.into_iter().filter(is_gone).collect()
    }

    /// Gives a version a share of the calls in each of its slots.
    pub fn put_on_trial(&mut self, loaded: &LoadedPlugin, watch: &Arc<Watch>) {
        match loaded {
            LoadedPlugin::Connector(candidate) => {
                for engine in &candidate.manifest().engines {
                    if let Some(holder) = self.connectors.get_mut(engine) {
                        holder.trial = Some(Trial::new(candidate, &holder.active, watch));
                    }
                }
            }
            LoadedPlugin::Model(candidate) => {
                if let Some(holder) = self.models.get_mut(&candidate.manifest().name) {
                    holder.trial = Some(Trial::new(candidate, &holder.active, watch));
                }
            }
        }
    }

    /// Ends the trials in the slots of a plugin.
    pub fn end_trials_of(&mut self, loaded: &LoadedPlugin) {
        match loaded {
            LoadedPlugin::Connector(connector) => {
                for engine in &connector.manifest().engines {
                    if let Some(holder) = self.connectors.get_mut(engine) {
                        holder.trial = None;
                    }
                }
            }
            LoadedPlugin::Model(model) => {
                if let Some(holder) = self.models.get_mut(&model.manifest().name) {
                    holder.trial = None;
                }
            }
        }
    }

    /// Whether a slot has a version.
    pub fn has(&self, slot: &Slot) -> bool {
        match slot {
            Slot::Engine(engine) => self.connectors.contains_key(engine),
            Slot::Model(name) => self.models.contains_key(name),
        }
    }

    /// The active connector of an engine.
    pub fn active_connector(&self, engine: &str) -> Option<Arc<dyn Connector>> {
        let holder = self.connectors.get(engine)?;
        Some(Arc::clone(&holder.active))
    }

    /// The active connectors, each once, by the name of their first engine.
    pub fn connectors_by_engine(&self) -> Vec<Arc<dyn Connector>> {
        let is_main = |(engine, holder): &(&String, &Holder<dyn Connector>)| {
            let served = holder.active.manifest().engines.iter();
            let mine = served.into_iter().find(|name| {
                let one = self.connectors.get(*name);
                one.is_some_and(|one| Arc::ptr_eq(&one.active, &holder.active))
            });
            mine == Some(*engine)
        };
        let main = self.connectors.iter().filter(is_main);
        main.map(|(_, holder)| Arc::clone(&holder.active)).collect()
    }

    /// Whether a version is active.
    pub fn serves(&self, digest: &str) -> bool {
        self.serving()
            .iter()
            .any(|one| one.plugin().digest() == digest)
    }

    /// All plugins that serve, each once.
    pub fn serving(&self) -> Vec<LoadedPlugin> {
        let connectors = self.connectors.values();
        let connectors =
            connectors.map(|holder| LoadedPlugin::Connector(Arc::clone(&holder.active)));
        let models = self.models.values();
        let models = models.map(|holder| LoadedPlugin::Model(Arc::clone(&holder.active)));
        let mut all: Vec<LoadedPlugin> = Vec::new();
        for one in connectors.chain(models) {
            if !all.iter().any(|known| is_same(known, &one)) {
                all.push(one);
            }
        }
        all
    }

    /// The serving version of each slot, to store for the next start.
    pub fn active(&self) -> Active {
        let connectors = self.connectors.iter().map(|(engine, holder)| {
            let digest = holder.active.digest().to_owned();
            (Slot::Engine(engine.clone()), digest)
        });
        let models = self.models.iter().map(|(name, holder)| {
            let digest = holder.active.digest().to_owned();
            (Slot::Model(name.clone()), digest)
        });
        connectors.chain(models).collect()
    }

    /// What keeps a version in use. A pin comes first, since it outlasts a trial.
    pub fn use_of(&self, digest: &str) -> Option<Use> {
        if self.pinned.contains_key(digest) {
            return Some(Use::Pinned);
        }
        let connectors = self.connectors.values();
        let connectors = connectors.filter_map(|holder| holder.trial.as_ref()?.side_of(digest));
        let models = self.models.values();
        let models = models.filter_map(|holder| holder.trial.as_ref()?.side_of(digest));
        let side = connectors.chain(models).next();
        side.map(Use::Trial)
            .or_else(|| self.serves(digest).then_some(Use::Serves))
    }
}

fn is_same(one: &LoadedPlugin, other: &LoadedPlugin) -> bool {
    match (one, other) {
        (LoadedPlugin::Connector(one), LoadedPlugin::Connector(other)) => Arc::ptr_eq(one, other),
        (LoadedPlugin::Model(one), LoadedPlugin::Model(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}
