//! The plugins of this host: which versions are installed, and which of them serve.
//!
//! The serving versions are one immutable table that is replaced as a whole. A call sees the table before or after a
//! change, and keeps the plugin that it took from it until it ends.

mod install;
mod soon;
mod swap;
mod table;
mod versions;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, RwLock},
    time::Duration,
};

use self::{
    table::Table,
    versions::{FoundFile, KnownVersion, found, newest},
};
use super::{
    artifacts::Artifacts,
    rights::{Incumbents, Rights, listed as listed_rights},
    signatures::{Signer, Trust},
    trial::Trial,
};
use futures_util::future::join_all;
use mindhost_base::{
    config::PluginSettings,
    error::{Code, Error, Result},
    locks,
};
use mindhost_plugin_api::{Connector, Manifest, Model};
use mindhost_query::QueryEngine;
use mindhost_runtime::{InstanceUsage, Loader, Ready, Runtime, meter::Meters, policy::Policy};

pub use self::{
    install::Inspection,
    versions::{Installed, Status, VersionFacts},
};
pub use super::{
    artifacts::{HeldFor, Hold},
    slot::{Active, Slot},
};
pub use mindhost_runtime::{CacheDir, Compilers, LoadedPlugin, compile};

/// Why one of two files of one plugin does not serve.
const SAME: &str = "another file has this plugin in a higher or the same version";

/// Why the newest of several files does not serve.
const OTHER: &str = "another version serves, and a start changes nothing; activate this one with `mindhost plugin activate`";

/// The files and settings of a registry.
pub struct Sources {
    /// Directory with `*.wasm`. A missing one counts as empty.
    pub plugins_dir: PathBuf,
    /// Directory of the installed versions, each under its digest.
    pub artifacts_dir: PathBuf,
    /// Whether the files of the plugins directory are installed. If not, nothing is written.
    pub import: bool,
    /// Directory for compiled code. Without it every start compiles.
    pub cache_dir: CacheDir,
    /// Directory for what statements of the host keep on disk. Without it they keep nothing there.
    pub spill_dir: Option<PathBuf>,
    /// The key that seals compiled code, derived from the host's secret for this purpose alone.
    pub seal_key: [u8; 32],
    /// How components are compiled.
    pub compilers: Compilers,
    /// Whether plugins may start with quickly compiled code, and become ready after the registry exists. For servers.
    pub soon: bool,
    /// Limits.
    pub settings: PluginSettings,
    /// The signatures that plugins need.
    pub trust: Trust,
    /// The egress rules of this host.
    pub policy: Arc<dyn Policy>,
    /// The versions that served before; see [`Registry::active`].
    pub active: Active,
    /// The rights of the versions that served. A start activates no version with wider rights.
    pub incumbents: Incumbents,
    /// Digests that datasources pin.
    pub pinned: Vec<String>,
}

/// The plugins of a host.
#[derive(Default)]
pub struct Registry {
    table: RwLock<Arc<Table>>,
    /// By digest.
    known: RwLock<BTreeMap<String, KnownVersion>>,
    /// The versions that the start compared its choices with.
    incumbents: RwLock<Incumbents>,
    /// Files of the plugins directory that cannot be used.
    unusable: Vec<Installed>,
    backend: Option<Backend>,
}

/// Turns files into plugins that can serve.
struct Backend {
    artifacts: Artifacts,
    trust: Trust,
    loader: Arc<Loader>,
    runtime: Arc<Runtime>,
    drain_timeout: Duration,
}

impl Sources {
    /// The plugins of one directory, to inspect or to try out. Writes nothing and requires no signature.
    pub fn of_dir(plugins_dir: PathBuf, settings: PluginSettings, policy: Arc<dyn Policy>) -> Self {
        Self {
            // A plugins directory has no such subdirectory.
            artifacts_dir: plugins_dir.join(".installed"),
            plugins_dir,
            import: false,
            cache_dir: CacheDir::Absent,
            spill_dir: None,
            seal_key: [0; 32],
            compilers: Compilers::InProcess,
            soon: false,
            settings,
            trust: Trust::default(),
            policy,
            active: Active::new(),
            incumbents: Incumbents::default(),
            pinned: Vec::new(),
        }
    }
}

impl Registry {
    /// Reads, verifies and loads every file of the plugins directory, in parallel, and the versions that served before.
    /// A file that cannot be used is listed in [`Registry::installed`] and affects no other plugin. With
    /// [`Sources::soon`] some code may become ready later; see [`Registry::follow`].
    ///
    /// # Errors
    ///
    /// When the runtime itself cannot be set up, for example because the address space is limited.
    pub async fn load(sources: Sources) -> Result<Self> {
        let settings = sources.settings.clone();
        let max_bytes = settings.max_package_bytes;
        let drain_timeout = settings.drain_timeout;
        let wait = sources.soon.then_some(settings.compile_wait);
        let artifacts = Artifacts::new(sources.artifacts_dir, max_bytes);
        let (dir, trust, import) = (sources.plugins_dir, sources.trust.clone(), sources.import);
        let shelf = artifacts.clone();
        let scan =
            tokio::task::spawn_blocking(move || found(&dir, &shelf, &trust, max_bytes, import));
        let runtime = Runtime::new(settings, sources.policy).map_err(|error| {
            Error::new(
                Code::Internal,
                "the plugin runtime cannot be set up; lower plugins.max_instances, or lift the limit on the process's address space",
            )
            .with_source(format!("{error:#}"))
        })?;
        let loader = Loader::new(
            Arc::clone(&runtime),
            sources.cache_dir,
            sources.spill_dir.as_deref(),
            sources.seal_key,
            sources.compilers,
        );
        let loader = Arc::new(loader);
        if sources.import {
            let loader = Arc::clone(&loader);
            tokio::task::spawn_blocking(move || loader.sweep());
        }
        let mut registry = Self {
            backend: Some(Backend {
                artifacts,
                trust: sources.trust,
                loader,
                runtime,
                drain_timeout,
            }),
            ..Self::default()
        };
        let found = scan.await.map_err(Error::internal)?;
        let is_wanted = |digest: &str| {
            sources.active.values().any(|one| one == digest)
                || sources.pinned.iter().any(|one| one == digest)
        };
        registry.take_in(found, is_wanted, wait).await;
        registry.choose(&sources.active, sources.incumbents).await;
        for digest in sources.pinned {
            let pinned = match registry.at_hand(&digest) {
                Some(ready) => registry.pin_ready(&ready),
                None => registry.pin(&digest).await,
            };
            if let Err(error) = pinned {
                tracing::warn!(digest, %error, "a datasource keeps a version that cannot serve");
            }
        }
        registry.report();
        Ok(registry)
    }

    /// A registry of loaded plugins, for tests and tools.
    pub fn of(connectors: Vec<Arc<dyn Connector>>, models: Vec<Arc<dyn Model>>) -> Self {
        let mut table = Table::default();
        let connectors = connectors.into_iter().map(LoadedPlugin::Connector);
        for one in connectors.chain(models.into_iter().map(LoadedPlugin::Model)) {
            table.claim(&one, |_| true);
        }
        Self {
            table: RwLock::new(Arc::new(table)),
            ..Self::default()
        }
    }

    /// Records everything that was found. Compiles the files of the plugins directory and the wanted versions; the
    /// others are compiled when they are activated.
    async fn take_in(
        &mut self,
        found: Vec<FoundFile>,
        is_wanted: impl Fn(&str) -> bool,
        wait: Option<Duration>,
    ) {
        let mut known = BTreeMap::new();
        let mut compiled = Vec::new();
        for FoundFile {
            file,
            package,
            signer,
        } in found
        {
            let package = match package {
                Ok(package) => package,
                Err(refusal) => {
                    self.unusable.push(Installed::unusable(file, &refusal));
                    continue;
                }
            };
            let digest = package.digest.clone();
            let mut one =
                KnownVersion::of(&package, signer.as_ref().unwrap_or(&Signer::Unsigned), file);
            if known.contains_key(&digest) {
                one.status = Status::Inactive(SAME.to_owned());
                self.unusable.push(one.shown());
                continue;
            }
            match signer {
                Err(refusal) => one.status = Status::Refused(refusal.to_string()),
                Ok(_) if one.file.is_some() || is_wanted(&digest) => compiled.push(package),
                Ok(_) => {}
            }
            known.insert(digest, one);
        }
        self.known = RwLock::new(known);
        match wait {
            None => {
                join_all(compiled.into_iter().map(|package| self.compile(package))).await;
            }
            Some(wait) => self.compile_soon(compiled, wait).await,
        }
    }

    /// Fills the table at a start. The versions that served before serve again: neither a restart nor a new file
    /// changes what is active. A slot without a version, or whose version is missing or unusable, goes to the plugins
    /// directory: to the highest version of a plugin, and among several plugins for one engine to the first by name. A
    /// version with wider rights than those before it waits until an operator accepts them.
    async fn choose(&self, before: &Active, mut incumbents: Incumbents) {
        let mut table = Table::default();
        for (slot, digest) in before {
            incumbents.add(slot, || self.rights(digest));
        }
        for (digest, ready) in self.compiled() {
            table.claim(&ready.serve(), |slot| before.get(slot) == Some(&digest));
        }
        let (newest, waiting) = self.fill(&mut table, &incumbents).await;
        *locks::write(&self.incumbents) = incumbents;
        for (slot, digest) in before {
            if table.active().get(slot) != Some(digest) {
                tracing::warn!(
                    %slot,
                    digest,
                    instead = table.active().get(slot),
                    "the active version is not here or cannot be used; install the same file again, or activate another version"
                );
            }
        }
        for one in locks::write(&self.known).values_mut() {
            if one.file.is_some() && matches!(one.status, Status::Inactive(_)) {
                let is_newest = newest.contains(&one.about.digest);
                let why = if is_newest { OTHER } else { SAME };
                let why = match waiting.get(&one.about.digest) {
                    Some(wider) => format!(
                        "it may do more than the version before it; accept that with `mindhost plugin activate {} --accept-rights {wider}`",
                        one.about.name
                    ),
                    None => why.to_owned(),
                };
                one.status = Status::Inactive(why);
            }
        }
        *locks::write(&self.table) = Arc::new(table);
    }

    /// Gives the free slots to the newest versions. Returns those, and the versions that an operator has to accept,
    /// with their additional rights.
    async fn fill(
        &self,
        table: &mut Table,
        incumbents: &Incumbents,
    ) -> (Vec<String>, BTreeMap<String, String>) {
        let wider = |digest: &str| {
            let rights = self.rights(digest)?;
            let wider = incumbents.wider(&rights);
            (!wider.is_empty()).then(|| listed_rights(&wider))
        };
        let mut waiting = BTreeMap::new();
        // If it turns out to be unusable, the next one gets the slot.
        let mut newest = self.newest(&waiting);
        loop {
            for digest in &newest {
                let is_free = |slot: &Slot| !table.has(slot);
                let wanted = self.slots_of(digest).iter().any(is_free);
                if wanted && let Some(wider) = wider(digest) {
                    waiting.insert(digest.clone(), wider);
                } else if wanted && let Some(ready) = self.begun(digest).await {
                    table.claim(&ready.serve(), |_| true);
                }
            }
            let again = self.newest(&waiting);
            if again == newest {
                return (newest, waiting);
            }
            newest = again;
        }
    }

    /// The serving version of each slot, to store for the next start.
    pub fn active(&self) -> Active {
        self.table().active()
    }

    fn report(&self) {
        for (plugin, reason) in self.outdated() {
            tracing::warn!(
                plugin,
                reason,
                "a plugin is still active but can no longer be installed"
            );
        }
        for plugin in self.installed() {
            let file = plugin.file.as_ref().map(|file| file.display().to_string());
            let name = plugin.about.as_ref().map(|about| about.name.as_str());
            match &plugin.status {
                Status::Active => tracing::info!(name, file, "plugin active"),
                Status::Inactive(reason) => tracing::info!(name, file, reason, "plugin inactive"),
                Status::Refused(reason) => tracing::warn!(name, file, reason, "plugin refused"),
            }
        }
    }

    /// All installed versions and all files of the plugins directory.
    pub fn installed(&self) -> Vec<Installed> {
        let table = self.table();
        let known = locks::read(&self.known);
        let shown = known
            .values()
            .map(|one| match table.serves(&one.about.digest) {
                true => Installed {
                    status: Status::Active,
                    ..one.shown()
                },
                false => one.shown(),
            });
        let mut all: Vec<Installed> = shown.chain(self.unusable.iter().cloned()).collect();
        all.sort_by(|one, other| one.order().cmp(&other.order()));
        all
    }

    /// Finds an installed version by its version number or the start of its digest; without either, the highest.
    ///
    /// # Errors
    /// `plugin_not_found`, which lists the versions; `plugin_ambiguous` if several match.
    pub fn find(&self, name: &str, version: Option<&str>) -> Result<VersionFacts> {
        self.find_except(name, version, &BTreeSet::new())
    }

    /// An installed version.
    pub fn about(&self, digest: &str) -> Option<VersionFacts> {
        let known = locks::read(&self.known);
        known.get(digest).map(|one| one.about.clone())
    }

    /// Whether an installed version is unusable.
    pub fn is_refused(&self, digest: &str) -> bool {
        let known = locks::read(&self.known);
        let one = known.get(digest);
        one.is_some_and(|one| matches!(one.status, Status::Refused(_)))
    }

    /// The manifest of an installed version.
    pub fn manifest(&self, digest: &str) -> Option<Manifest> {
        let known = locks::read(&self.known);
        known.get(digest).map(|one| one.manifest.clone())
    }

    /// The rights of an installed version.
    pub fn rights(&self, digest: &str) -> Option<Rights> {
        let known = locks::read(&self.known);
        let one = known.get(digest)?;
        Some(Rights::of(&one.manifest, one.about.signer.as_deref()))
    }

    /// The active connectors, each once, by the name of their first engine.
    pub fn connectors(&self) -> Vec<Arc<dyn Connector>> {
        self.table().connectors_by_engine()
    }

    /// The active models, by name.
    pub fn models(&self) -> Vec<Arc<dyn Model>> {
        let table = self.table();
        let models = table.models.values();
        models.map(|holder| Arc::clone(&holder.active)).collect()
    }

    /// The connector of an engine that a caller names. If there is none, it is the caller's error: `engine_not_found`,
    /// which lists the engines.
    pub fn engine(&self, engine: &str) -> Result<Arc<dyn Connector>> {
        let table = self.table();
        table.active_connector(engine).ok_or_else(|| {
            Error::new(
                Code::EngineNotFound,
                format!(
                    "there is no engine `{}`; there are: {}",
                    shown(engine),
                    listed(table.connectors.keys())
                ),
            )
            .param("engine")
        })
    }

    /// The active connector of an existing datasource, for its manifest and for connection tests. If there is none, it
    /// is the server's error, because the datasource was served before: `no_plugin`.
    pub async fn connector(&self, engine: &str, pin: Option<&str>) -> Result<Arc<dyn Connector>> {
        if let Some(digest) = pin {
            // The pin may have been set at another host of this store.
            return self.pin(digest).await.map_err(|_| not_kept(digest));
        }
        let table = self.table();
        let active = table.active_connector(engine);
        active.ok_or_else(|| no_connector(engine, &table))
    }

    /// The connector for the next call of an existing datasource: the pinned version, else the active one or the one on
    /// trial.
    ///
    /// # Errors
    /// `no_plugin`
    pub async fn serving(&self, engine: &str, pin: Option<&str>) -> Result<Arc<dyn Connector>> {
        let table = self.table();
        let Some(holder) = table.connectors.get(engine).filter(|_| pin.is_none()) else {
            return self.connector(engine, pin).await;
        };
        Ok(match &holder.trial {
            None => Arc::clone(&holder.active),
            Some(trial) => trial.choose(),
        })
    }

    /// The SQL engine of this host, for statements over several datasources.
    ///
    /// # Errors
    /// If there is no runtime.
    pub fn queries(&self) -> Result<Arc<QueryEngine>> {
        let backend = self.backend.as_ref();
        let queries = backend.map(|backend| Arc::clone(backend.loader.queries()));
        queries.ok_or_else(|| Error::internal("this registry has no SQL engine"))
    }

    /// The running trial of a connector of this engine.
    pub fn trial(&self, engine: &str) -> Option<Arc<Trial<dyn Connector>>> {
        self.table().connectors.get(engine)?.trial.clone()
    }

    /// The active model plugin of that name, or `no_plugin`, which lists the models.
    pub fn model(&self, name: &str) -> Result<Arc<dyn Model>> {
        let table = self.table();
        let holder = table.models.get(name);
        holder
            .map(|holder| Arc::clone(&holder.active))
            .ok_or_else(|| no_model(name, &table))
    }

    /// The model plugin for the next answer: the active one, or the one on trial.
    ///
    /// # Errors
    /// `no_plugin`
    pub fn serving_model(&self, name: &str) -> Result<Arc<dyn Model>> {
        let table = self.table();
        match table.models.get(name) {
            None => Err(no_model(name, &table)),
            Some(holder) => Ok(match &holder.trial {
                None => Arc::clone(&holder.active),
                Some(trial) => trial.choose(),
            }),
        }
    }

    /// Usage since the start and the health of each version. `None` without a runtime.
    pub fn meters(&self) -> Option<&Arc<Meters>> {
        self.backend.as_ref().map(|one| one.runtime.meters())
    }

    /// How many instances run, and their limit. `None` without a runtime.
    pub fn instance_usage(&self) -> Option<InstanceUsage> {
        self.backend.as_ref().map(|one| one.runtime.usage())
    }

    /// Waits for all guest calls and cancellations in progress. Calls on replaced versions are cut off, because the
    /// server ends.
    pub async fn drain(&self) {
        if let Some(backend) = &self.backend {
            backend.runtime.drain().await;
        }
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&locks::read(&self.table))
    }

    fn backend(&self) -> Result<&Backend> {
        let none = || Error::internal("this registry has no runtime");
        self.backend.as_ref().ok_or_else(none)
    }

    /// The versions that may get slots, without those that wait to be activated.
    fn newest(&self, waiting: &BTreeMap<String, String>) -> Vec<String> {
        newest(&locks::read(&self.known), |digest| {
            !waiting.contains_key(digest)
        })
    }

    fn slots_of(&self, digest: &str) -> Vec<Slot> {
        let known = locks::read(&self.known);
        known
            .get(digest)
            .map_or_else(Vec::new, |one| Slot::of(&one.manifest))
    }

    fn compiled(&self) -> Vec<(String, Arc<Ready>)> {
        let known = locks::read(&self.known);
        let ready = known
            .iter()
            .map(|(digest, one)| (digest.clone(), one.ready.clone()));
        ready
            .filter_map(|(digest, ready)| Some((digest, ready?)))
            .collect()
    }
}

fn not_kept(digest: &str) -> Error {
    Error::new(
        Code::NoPlugin,
        format!(
            "this datasource keeps the plugin version {}, which is not installed here; install it, or set `plugin_digest` to null",
            shown(digest)
        ),
    )
}

fn no_connector(engine: &str, table: &Table) -> Error {
    Error::new(
        Code::NoPlugin,
        format!(
            "no plugin serves the engine `{}`; install one, or put it into the plugins directory; served are: {}",
            shown(engine),
            listed(table.connectors.keys())
        ),
    )
}

fn no_model(name: &str, table: &Table) -> Error {
    Error::new(
        Code::NoPlugin,
        format!(
            "there is no model plugin `{}`; install it, or put it into the plugins directory; there are: {}",
            shown(name),
            listed(table.models.keys())
        ),
    )
}

fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    match names[..] {
        [] => String::from("none"),
        _ => names.join(", "),
    }
}

fn shown(name: &str) -> String {
    name.escape_debug().take(64).collect()
}
