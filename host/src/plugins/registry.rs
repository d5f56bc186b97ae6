//! The plugins of this host: which are installed, and which of them serve.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

use futures_util::future::join_all;
use serde::Serialize;

use super::{
    Connector, Model, PluginKind,
    package::{self, Package, Refusal, version_order},
    policy::Policy,
    wasm::{Loaded, Loader, Runtime},
};
use crate::{
    config::PluginSettings,
    error::{Code, Error, Result},
};

/// Why one of two files of one plugin does not serve.
const SAME: &str = "another file has this plugin in a higher or the same version";

/// Why the newest of several files does not serve.
const OTHER: &str = "other plugins serve its engines already, and a start changes nothing; it serves when their files are gone";

/// Who serves: the digest of the component, by what it serves (`connector postgres`, `model offline`).
pub type Active = BTreeMap<String, String>;

/// Where plugins come from and what they run under.
pub struct Sources {
    /// Directory with `*.wasm`; one that does not exist is empty.
    pub plugins_dir: PathBuf,
    /// Directory for compiled code; none compiles at every start.
    pub cache_dir: Option<PathBuf>,
    /// The key that seals compiled code, derived from the host's secret for this purpose alone.
    pub seal_key: [u8; 32],
    /// Limits.
    pub settings: PluginSettings,
    /// What plugins may reach at all.
    pub policy: Arc<dyn Policy>,
    /// Who served before; see [`Registry::active`].
    pub active: Active,
}

/// One file of the plugins directory.
#[derive(Clone, Debug, Serialize)]
pub struct Installed {
    /// Path of the file.
    pub file: PathBuf,
    /// What the manifest says, when it could be read.
    #[serde(flatten)]
    pub about: Option<About>,
    /// Whether it serves.
    #[serde(flatten)]
    pub status: Status,
}

/// What there is to know of a plugin.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// `connector-sqlite`
    pub name: String,
    /// For people: `SQLite`.
    pub title: String,
    /// Version of the plugin.
    pub version: String,
    /// Connector or model.
    pub kind: PluginKind,
    /// Engines that it serves or would serve.
    pub engines: Vec<String>,
    /// SHA-256 of the file, in hex.
    pub digest: String,
}

/// Whether a plugin serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", content = "reason", rename_all = "lowercase")]
pub enum Status {
    /// It serves.
    Active,
    /// Another one serves in its place.
    Inactive(String),
    /// It cannot be used.
    Refused(String),
}

/// The plugins that serve, by engine and by name. Does not change while the host runs.
#[derive(Default)]
pub struct Registry {
    /// By every engine name, aliases included.
    connectors: BTreeMap<String, Arc<dyn Connector>>,
    models: BTreeMap<String, Arc<dyn Model>>,
    installed: Vec<Installed>,
    runtime: Option<Arc<Runtime>>,
}

impl Registry {
    /// Reads, verifies and loads every file of the plugins directory, in parallel. A file that cannot be used
    /// is reported in [`Registry::installed`] and harms nobody else.
    ///
    /// # Errors
    ///
    /// When the runtime itself cannot be set up, for example because the address space is limited.
    pub async fn load(sources: Sources) -> Result<Self> {
        let Sources {
            plugins_dir,
            cache_dir,
            seal_key,
            settings,
            policy,
            active,
        } = sources;
        let max_bytes = settings.max_package_bytes;
        let scan = tokio::task::spawn_blocking(move || package::scan(&plugins_dir, max_bytes));
        let runtime = Runtime::new(settings, policy).map_err(|error| {
            Error::new(
                Code::Internal,
                "the plugin runtime cannot be set up; lower plugins.max_instances, or lift the limit on the process's address space",
            )
            .with_source(format!("{error:#}"))
        })?;
        let loader = Arc::new(Loader::new(Arc::clone(&runtime), cache_dir, seal_key));
        let found = scan.await.map_err(Error::internal)?;
        let mut digests = HashSet::new();
        let loads = found.into_iter().map(|(file, package)| {
            let loader = Arc::clone(&loader);
            let digest = package.as_ref().ok().map(|package| package.digest.clone());
            let is_copy = digest.is_some_and(|digest| !digests.insert(digest));
            async move {
                let package = match package {
                    Ok(package) => Arc::new(package),
                    Err(refusal) => return Candidate::refused(file, None, &refusal),
                };
                let about = about(&package);
                if is_copy {
                    return Candidate {
                        file,
                        about: Some(about),
                        loaded: Err(Status::Inactive(SAME.to_owned())),
                    };
                }
                match loader.load(package).await {
                    Ok(loaded) => Candidate {
                        file,
                        about: Some(about),
                        loaded: Ok(loaded),
                    },
                    Err(refusal) => Candidate::refused(file, Some(about), &refusal),
                }
            }
        });
        let mut registry = Self::choose(join_all(loads).await, &active);
        registry.runtime = Some(runtime);
        registry.report();
        Ok(registry)
    }

    /// A registry of plugins that are already there; for tests and tools.
    pub fn of(connectors: Vec<Arc<dyn Connector>>, models: Vec<Arc<dyn Model>>) -> Self {
        let mut registry = Self::default();
        for connector in connectors {
            let engines = connector.manifest().engines.clone();
            registry.claim_engines(&connector, engines);
        }
        for model in models {
            registry.models.insert(model.manifest().name.clone(), model);
        }
        registry
    }

    /// Who served before serves on, as long as its file is there: neither a restart nor a new file changes what is
    /// active. What nobody serves goes to the highest version of a plugin, and among several plugins for one
    /// engine to the first by file name.
    fn choose(candidates: Vec<Candidate>, before: &Active) -> Self {
        let newest = newest(&candidates);
        let mut registry = Self::default();
        let mut serving = vec![false; candidates.len()];
        for (candidate, serving) in candidates.iter().zip(&mut serving) {
            let was_active = |slot: &String| before.get(slot) == Some(candidate.digest());
            *serving = registry.claim(candidate, was_active);
        }
        for (index, candidate) in candidates.iter().enumerate() {
            if newest.contains(&index) {
                let is_serving = registry.claim(candidate, |_| true);
                serving[index] |= is_serving;
            }
        }
        for (index, candidate) in candidates.into_iter().enumerate() {
            let status = match candidate.loaded {
                Err(status) => status,
                Ok(_) if serving[index] => Status::Active,
                Ok(_) if !newest.contains(&index) => Status::Inactive(SAME.to_owned()),
                Ok(_) => Status::Inactive(OTHER.to_owned()),
            };
            registry.installed.push(Installed {
                file: candidate.file,
                about: candidate.about,
                status,
            });
        }
        registry
    }

    /// Gives a candidate those of its slots that are free and `wanted`; whether there was one.
    fn claim(&mut self, candidate: &Candidate, wanted: impl Fn(&String) -> bool) -> bool {
        match &candidate.loaded {
            Err(_) => false,
            Ok(Loaded::Connector(connector)) => {
                let engines = &connector.manifest().engines;
                let mine = engines
                    .iter()
                    .filter(|engine| wanted(&connector_slot(engine)));
                let mine: Vec<String> = mine.cloned().collect();
                self.claim_engines(connector, mine)
            }
            Ok(Loaded::Model(model)) => {
                let name = &model.manifest().name;
                let is_free = wanted(&model_slot(name)) && !self.models.contains_key(name);
                if is_free {
                    self.models.insert(name.clone(), Arc::clone(model));
                }
                is_free
            }
        }
    }

    /// Takes the engines that nobody serves yet; whether there was one.
    fn claim_engines(&mut self, connector: &Arc<dyn Connector>, engines: Vec<String>) -> bool {
        let mut claimed = false;
        for engine in engines {
            self.connectors.entry(engine).or_insert_with(|| {
                claimed = true;
                Arc::clone(connector)
            });
        }
        claimed
    }

    /// Who serves what now, to be remembered for the next start.
    pub fn active(&self) -> Active {
        let connectors = self.connectors.iter();
        let connectors = connectors
            .map(|(engine, connector)| (connector_slot(engine), connector.digest().to_owned()));
        let models = self.models.iter();
        let models = models.map(|(name, model)| (model_slot(name), model.digest().to_owned()));
        connectors.chain(models).collect()
    }

    fn report(&self) {
        for plugin in &self.installed {
            let file = plugin.file.display();
            match &plugin.status {
                Status::Active => tracing::info!(%file, "plugin active"),
                Status::Inactive(reason) => tracing::info!(%file, reason, "plugin inactive"),
                Status::Refused(reason) => tracing::warn!(%file, reason, "plugin refused"),
            }
        }
    }

    /// Every file of the plugins directory, by name.
    pub fn installed(&self) -> &[Installed] {
        &self.installed
    }

    /// The active connectors, each once, by the name of their first engine.
    pub fn connectors(&self) -> Vec<Arc<dyn Connector>> {
        let is_main = |(engine, connector): &(&String, &Arc<dyn Connector>)| {
            let served = connector.manifest().engines.iter();
            let mine = served.into_iter().find(|name| {
                self.connectors
                    .get(*name)
                    .is_some_and(|one| Arc::ptr_eq(one, connector))
            });
            mine == Some(engine)
        };
        self.connectors
            .iter()
            .filter(is_main)
            .map(|(_, connector)| Arc::clone(connector))
            .collect()
    }

    /// The active models, by name.
    pub fn models(&self) -> Vec<Arc<dyn Model>> {
        self.models.values().cloned().collect()
    }

    /// The connector of an engine that a caller names, which is the caller's mistake when there is none:
    /// `engine_not_found` lists those there are.
    pub fn engine(&self, engine: &str) -> Result<Arc<dyn Connector>> {
        self.connectors.get(engine).cloned().ok_or_else(|| {
            Error::new(
                Code::EngineNotFound,
                format!(
                    "there is no engine `{}`; there are: {}",
                    shown(engine),
                    self.engine_names()
                ),
            )
            .param("engine")
        })
    }

    /// The connector of an existing datasource. It was served once, so it is the server that lacks something:
    /// `no_plugin`.
    pub fn connector(&self, engine: &str) -> Result<Arc<dyn Connector>> {
        self.connectors.get(engine).cloned().ok_or_else(|| {
            Error::new(
                Code::NoPlugin,
                format!(
                    "no plugin serves the engine `{}`; put one into the plugins directory; served are: {}",
                    shown(engine),
                    self.engine_names()
                ),
            )
        })
    }

    /// The model plugin of that name; `no_plugin` lists those there are.
    pub fn model(&self, name: &str) -> Result<Arc<dyn Model>> {
        self.models.get(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = self.models.keys().map(String::as_str).collect();
            Error::new(
                Code::NoPlugin,
                format!(
                    "there is no model plugin `{}`; put it into the plugins directory; there are: {}",
                    shown(name),
                    listed(&names)
                ),
            )
        })
    }

    /// Waits until every guest call and every cancellation under way is over.
    pub async fn drain(&self) {
        if let Some(runtime) = &self.runtime {
            runtime.drain().await;
        }
    }

    fn engine_names(&self) -> String {
        let names: Vec<&str> = self.connectors.keys().map(String::as_str).collect();
        listed(&names)
    }
}

fn connector_slot(engine: &str) -> String {
    format!("connector {engine}")
}

fn model_slot(name: &str) -> String {
    format!("model {name}")
}

/// Of each plugin, the file with the highest version; of several such files the first.
fn newest(candidates: &[Candidate]) -> HashSet<usize> {
    let mut newest: HashMap<&str, (usize, _)> = HashMap::new();
    for (index, candidate) in candidates.iter().enumerate() {
        if let (Some(about), Ok(_)) = (&candidate.about, &candidate.loaded) {
            let order = version_order(&about.version);
            let known = newest.get(about.name.as_str());
            if known.is_none_or(|(_, highest)| order > *highest) {
                newest.insert(&about.name, (index, order));
            }
        }
    }
    newest.into_values().map(|(index, _)| index).collect()
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => String::from("none"),
        names => names.join(", "),
    }
}

fn shown(name: &str) -> String {
    name.escape_debug().take(64).collect()
}

fn about(package: &Package) -> About {
    let manifest = &package.manifest;
    About {
        name: manifest.name.clone(),
        title: manifest.title.clone(),
        version: manifest.version.clone(),
        kind: manifest.kind,
        engines: manifest.engines.clone(),
        digest: package.digest.clone(),
    }
}

/// A file on its way into the registry.
struct Candidate {
    file: PathBuf,
    about: Option<About>,
    /// The plugin, or what became of it.
    loaded: Result<Loaded, Status>,
}

impl Candidate {
    /// Empty when nobody could read the file.
    fn digest(&self) -> &String {
        const NONE: &String = &String::new();
        self.about.as_ref().map_or(NONE, |about| &about.digest)
    }

    fn refused(file: PathBuf, about: Option<About>, refusal: &Refusal) -> Self {
        Self {
            file,
            about,
            loaded: Err(Status::Refused(refusal.to_string())),
        }
    }
}
