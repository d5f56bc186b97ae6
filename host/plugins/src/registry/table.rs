//! Who serves what at one moment. A table is never changed: another one takes its place.

use std::{collections::BTreeMap, sync::Arc};

use super::super::trial::{Trial, Watch};
use mindhost_plugin_api::{Connector, Manifest, Model, PluginKind};
use mindhost_runtime::Loaded;

/// Who serves: the digest of the component, by what it serves (`connector postgres`, `model offline`).
pub type Active = BTreeMap<String, String>;

/// What serves one engine or is one model.
pub struct Slot<P: ?Sized> {
    /// The active version.
    pub active: Arc<P>,
    /// A newer one, which gets a share of the calls or is already active, and is watched.
    pub trial: Option<Arc<Trial<P>>>,
}

impl<P: ?Sized> Clone for Slot<P> {
    fn clone(&self) -> Self {
        Self {
            active: Arc::clone(&self.active),
            trial: self.trial.clone(),
        }
    }
}

impl<P: ?Sized> Slot<P> {
    fn of(active: &Arc<P>) -> Self {
        Self {
            active: Arc::clone(active),
            trial: None,
        }
    }
}

/// Who serves what.
#[derive(Clone, Default)]
pub struct Table {
    /// By every engine name, aliases included.
    pub connectors: BTreeMap<String, Slot<dyn Connector>>,
    /// By name of the plugin.
    pub models: BTreeMap<String, Slot<dyn Model>>,
    /// Versions that some datasources keep, by digest.
    pub pinned: BTreeMap<String, Arc<dyn Connector>>,
}

impl Table {
    /// Gives a plugin those of its slots that are free and `wanted`; whether there was one.
    pub fn claim(&mut self, loaded: &Loaded, wanted: impl Fn(&str) -> bool) -> bool {
        let mut claimed = false;
        match loaded {
            Loaded::Connector(connector) => {
                for engine in &connector.manifest().engines {
                    if wanted(&connector_slot(engine)) && !self.connectors.contains_key(engine) {
                        let slot = Slot::of(connector);
                        self.connectors.insert(engine.clone(), slot);
                        claimed = true;
                    }
                }
            }
            Loaded::Model(model) => {
                let name = &model.manifest().name;
                if wanted(&model_slot(name)) && !self.models.contains_key(name) {
                    self.models.insert(name.clone(), Slot::of(model));
                    claimed = true;
                }
            }
        }
        claimed
    }

    /// Gives a plugin all of its slots, whoever has them, and takes away those that its other versions have beside them.
    /// With a watch it is on trial from then on, beside whoever it replaced. Returns whoever serves nothing any more.
    pub fn replace(&mut self, loaded: &Loaded, watch: Option<&Arc<Watch>>) -> Vec<Loaded> {
        let before = self.serving();
        match watch {
            Some(watch) => self.put_on_trial(loaded, watch),
            None => self.end_trials_of(loaded),
        }
        match loaded {
            Loaded::Connector(connector) => {
                let manifest = connector.manifest();
                self.connectors.retain(|engine, slot| {
                    manifest.engines.contains(engine)
                        || slot.active.manifest().name != manifest.name
                });
                for engine in &manifest.engines {
                    let slot = self.connectors.entry(engine.clone());
                    let slot = slot.or_insert_with(|| Slot::of(connector));
                    slot.active = Arc::clone(connector);
                }
            }
            Loaded::Model(model) => {
                let slot = self.models.entry(model.manifest().name.clone());
                let slot = slot.or_insert_with(|| Slot::of(model));
                slot.active = Arc::clone(model);
            }
        }
        self.gone_since(before)
    }

    /// Takes a plugin out of the slots that it serves, and gives those that others had before back to them. Returns whoever
    /// serves nothing any more.
    pub fn restore(&mut self, loaded: &Loaded, before: &BTreeMap<String, Loaded>) -> Vec<Loaded> {
        let serving = self.serving();
        self.end_trials_of(loaded);
        self.remove(digest_of(loaded));
        for (slot, old) in before {
            match (slot.split_once(' '), old) {
                (Some((_, engine)), Loaded::Connector(old)) => {
                    self.connectors.insert(engine.to_owned(), Slot::of(old));
                }
                (Some((_, name)), Loaded::Model(old)) => {
                    self.models.insert(name.to_owned(), Slot::of(old));
                }
                (None, _) => {}
            }
        }
        self.gone_since(serving)
    }

    /// Takes a version out of everything that it serves.
    pub fn remove(&mut self, digest: &str) {
        self.connectors
            .retain(|_, slot| slot.active.digest() != digest);
        self.models.retain(|_, slot| slot.active.digest() != digest);
    }

    fn gone_since(&self, before: Vec<Loaded>) -> Vec<Loaded> {
        let after = self.serving();
        let is_gone = |old: &Loaded| !after.iter().any(|new| is_same(old, new));
        before.into_iter().filter(is_gone).collect()
    }

    /// Gives a version a share of the calls of whoever serves what it serves.
    pub fn put_on_trial(&mut self, loaded: &Loaded, watch: &Arc<Watch>) {
        match loaded {
            Loaded::Connector(candidate) => {
                for engine in &candidate.manifest().engines {
                    if let Some(slot) = self.connectors.get_mut(engine) {
                        slot.trial = Some(Trial::new(candidate, &slot.active, watch));
                    }
                }
            }
            Loaded::Model(candidate) => {
                if let Some(slot) = self.models.get_mut(&candidate.manifest().name) {
                    slot.trial = Some(Trial::new(candidate, &slot.active, watch));
                }
            }
        }
    }

    /// Ends the trials of what a plugin serves.
    pub fn end_trials_of(&mut self, loaded: &Loaded) {
        match loaded {
            Loaded::Connector(connector) => {
                for engine in &connector.manifest().engines {
                    if let Some(slot) = self.connectors.get_mut(engine) {
                        slot.trial = None;
                    }
                }
            }
            Loaded::Model(model) => {
                if let Some(slot) = self.models.get_mut(&model.manifest().name) {
                    slot.trial = None;
                }
            }
        }
    }

    /// Whether somebody serves this.
    pub fn has(&self, slot: &str) -> bool {
        match slot.split_once(' ') {
            Some(("connector", engine)) => self.connectors.contains_key(engine),
            Some((_, name)) => self.models.contains_key(name),
            None => false,
        }
    }

    /// The active connector of an engine.
    pub fn active_connector(&self, engine: &str) -> Option<Arc<dyn Connector>> {
        let slot = self.connectors.get(engine)?;
        Some(Arc::clone(&slot.active))
    }

    /// The active connectors, each once, by the name of their first engine.
    pub fn connectors_by_engine(&self) -> Vec<Arc<dyn Connector>> {
        let is_main = |(engine, slot): &(&String, &Slot<dyn Connector>)| {
            let served = slot.active.manifest().engines.iter();
            let mine = served.into_iter().find(|name| {
                let one = self.connectors.get(*name);
                one.is_some_and(|one| Arc::ptr_eq(&one.active, &slot.active))
            });
            mine == Some(*engine)
        };
        let main = self.connectors.iter().filter(is_main);
        main.map(|(_, slot)| Arc::clone(&slot.active)).collect()
    }

    /// Whether a version is active.
    pub fn serves(&self, digest: &str) -> bool {
        self.serving().iter().any(|one| digest_of(one) == digest)
    }

    /// Everyone who serves something, each once.
    pub fn serving(&self) -> Vec<Loaded> {
        let connectors = self.connectors.values();
        let connectors = connectors.map(|slot| Loaded::Connector(Arc::clone(&slot.active)));
        let models = self.models.values();
        let models = models.map(|slot| Loaded::Model(Arc::clone(&slot.active)));
        let mut all: Vec<Loaded> = Vec::new();
        for one in connectors.chain(models) {
            if !all.iter().any(|known| is_same(known, &one)) {
                all.push(one);
            }
        }
        all
    }

    /// Who serves what, to be remembered for the next start.
    pub fn active(&self) -> Active {
        let connectors = self.connectors.iter();
        let connectors = connectors
            .map(|(engine, slot)| (connector_slot(engine), slot.active.digest().to_owned()));
        let models = self.models.iter();
        let models = models.map(|(name, slot)| (model_slot(name), slot.active.digest().to_owned()));
        connectors.chain(models).collect()
    }

    /// Whether a version serves something, is kept by a datasource, or takes part in a trial.
    pub fn is_used(&self, digest: &str) -> bool {
        let connectors = self.connectors.values();
        let connectors = connectors.filter_map(|slot| slot.trial.as_ref());
        let models = self.models.values();
        let models = models.filter_map(|slot| slot.trial.as_ref());
        connectors.into_iter().any(|trial| trial.has(digest))
            || models.into_iter().any(|trial| trial.has(digest))
            || self.pinned.contains_key(digest)
            || self.serves(digest)
    }
}

/// What a plugin would serve.
pub fn slots(manifest: &Manifest) -> Vec<String> {
    match manifest.kind {
        PluginKind::Connector => manifest
            .engines
            .iter()
            .map(|engine| connector_slot(engine))
            .collect(),
        PluginKind::Model => vec![model_slot(&manifest.name)],
    }
}

pub fn connector_slot(engine: &str) -> String {
    format!("connector {engine}")
}

pub fn model_slot(name: &str) -> String {
    format!("model {name}")
}

/// The digest of a plugin that serves.
pub fn digest_of(loaded: &Loaded) -> &str {
    match loaded {
        Loaded::Connector(connector) => connector.digest(),
        Loaded::Model(model) => model.digest(),
    }
}

fn is_same(one: &Loaded, other: &Loaded) -> bool {
    match (one, other) {
        (Loaded::Connector(one), Loaded::Connector(other)) => Arc::ptr_eq(one, other),
        (Loaded::Model(one), Loaded::Model(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}
