//! From a package to something that can be instantiated: compile once, keep the result, trust it only when
//! its seal is ours.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use wasmtime::component::Component;

use super::{
    bindings::{model::ModelProviderPre, scan::ScannerConnectorPre, sql::SqlConnectorPre},
    connector::WasmConnector,
    engine::Runtime,
    grants::Grants,
    instance::{GuestFuture, Instance, Terms, World},
    model::WasmModel,
    scanner::WasmScanner,
    state::{GuestLog, State},
};
use crate::plugins::{
    Call, Connector, Manifest, Model, PluginKind,
    manifest::SCANNER_WORLD,
    metered::{MeteredConnector, MeteredModel},
    package::{Package, Refusal, hex},
    query::QueryEngine,
    redact::Redactor,
    scanner::Scanner,
};

/// How long a plugin may take to say what it is.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(5);
/// Length of the seal in front of a cached file.
const SEAL: usize = 32;

/// A plugin that serves, with pools of its own.
#[derive(Clone)]
pub enum Loaded {
    /// A connector.
    Connector(Arc<dyn Connector>),
    /// A model.
    Model(Arc<dyn Model>),
}

/// A plugin that is compiled and linked. It can be made to serve any number of times.
pub struct Ready {
    runtime: Arc<Runtime>,
    queries: Arc<QueryEngine>,
    world: Linked,
    manifest: Manifest,
    digest: String,
}

/// The code of a plugin, by the world that it exports.
enum Linked {
    Sql(SqlConnectorPre<State>),
    Scanner(ScannerConnectorPre<State>),
    Model(ModelProviderPre<State>),
}

impl Ready {
    /// What it says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// SHA-256 of the component, in hex.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// A scanner without the SQL over it, which shares nothing with what serves; none of another world.
    pub fn scanner(&self) -> Option<Arc<dyn Scanner>> {
        let Linked::Scanner(world) = &self.world else {
            return None;
        };
        let (manifest, digest) = (self.manifest.clone(), self.digest.clone());
        Some(Arc::new(WasmScanner::new(
            &self.runtime,
            world.clone(),
            manifest,
            digest,
        )))
    }

    /// A plugin that shares nothing with an earlier one of this but the code.
    pub fn serve(&self) -> Loaded {
        let (runtime, manifest) = (&self.runtime, self.manifest.clone());
        let digest = self.digest.clone();
        let version = runtime.version(&manifest, &digest);
        match &self.world {
            Linked::Sql(world) => {
                let world = world.clone();
                let connector = WasmConnector::new(runtime, world, manifest, digest);
                Loaded::Connector(MeteredConnector::new(Arc::new(connector), version))
            }
            Linked::Scanner(world) => {
                let world = world.clone();
                let scanner = WasmScanner::new(runtime, world, manifest, digest);
                let connector = self.queries.connector(Arc::new(scanner));
                Loaded::Connector(MeteredConnector::new(Arc::new(connector), version))
            }
            Linked::Model(world) => {
                let world = world.clone();
                let model = WasmModel::new(runtime, world, manifest, digest);
                Loaded::Model(MeteredModel::new(Arc::new(model), version))
            }
        }
    }
}

/// Compiles packages, or takes them from the cache.
pub struct Loader {
    runtime: Arc<Runtime>,
    cache: Option<PathBuf>,
    key: [u8; 32],
    /// Gives SQL to scanners.
    queries: Arc<QueryEngine>,
}

impl Loader {
    /// A loader that keeps compiled code in `cache`, sealed with `key`. Without a directory everything is
    /// compiled anew.
    pub fn new(runtime: Arc<Runtime>, cache: Option<PathBuf>, key: [u8; 32]) -> Self {
        let queries = QueryEngine::new(&runtime.settings, runtime.tasks.clone());
        Self {
            runtime,
            cache,
            key,
            queries,
        }
    }

    /// Makes a package ready to serve. New code is asked to describe itself first, and what it says must be
    /// what its manifest says.
    pub async fn load(self: &Arc<Self>, package: Arc<Package>) -> Result<Ready, Refusal> {
        let loader = Arc::clone(self);
        let taken = Arc::clone(&package);
        let compiled = tokio::task::spawn_blocking(move || loader.component(&taken))
            .await
            .map_err(|_| Refusal::new("could not be compiled"))??;
        let pre = self
            .runtime
            .linker
            .instantiate_pre(&compiled.component)
            .map_err(|error| Refusal::new(format!("does not fit this host: {error:#}")))?;
        let misfit = |error: wasmtime::Error| {
            Refusal::new(format!(
                "does not export its world `{}`: {error:#}",
                package.manifest.world
            ))
        };
        let world = match package.manifest.kind {
            PluginKind::Connector if package.manifest.world == SCANNER_WORLD => {
                let world = ScannerConnectorPre::new(pre).map_err(misfit)?;
                if compiled.fresh {
                    self.check_description(&world, &package, |store, guest| {
                        let scanner = guest.mindhost_plugin_scanner();
                        Box::pin(async move { scanner.call_describe(store).await })
                    })
                    .await?;
                }
                Linked::Scanner(world)
            }
            PluginKind::Connector => {
                let world = SqlConnectorPre::new(pre).map_err(misfit)?;
                if compiled.fresh {
                    self.check_description(&world, &package, |store, guest| {
                        let connector = guest.mindhost_plugin_connector();
                        Box::pin(async move { connector.call_describe(store).await })
                    })
                    .await?;
                }
                Linked::Sql(world)
            }
            PluginKind::Model => {
                let world = ModelProviderPre::new(pre).map_err(misfit)?;
                if compiled.fresh {
                    self.check_description(&world, &package, |store, guest| {
                        let model = guest.mindhost_plugin_model();
                        Box::pin(async move { model.call_describe(store).await })
                    })
                    .await?;
                }
                Linked::Model(world)
            }
        };
        if compiled.fresh {
            self.keep(compiled.component, &package.digest).await;
        }
        Ok(Ready {
            runtime: Arc::clone(&self.runtime),
            queries: Arc::clone(&self.queries),
            world,
            manifest: package.manifest.clone(),
            digest: package.digest.clone(),
        })
    }

    async fn check_description<W: World>(
        &self,
        world: &W,
        package: &Package,
        describe: impl for<'a> FnOnce(
            &'a mut wasmtime::Store<State>,
            &'a W::Guest,
        ) -> GuestFuture<'a, String>
        + Send
        + 'static,
    ) -> Result<(), Refusal> {
        let failed =
            |error: crate::error::Error| Refusal::new(format!("cannot describe itself: {error}"));
        let call = Call::new(DESCRIBE_TIMEOUT, CancellationToken::new());
        let runtime = &self.runtime;
        let place = runtime.place(None, &call).await.map_err(failed)?;
        let log = GuestLog::new(&package.manifest.name, "describe", Redactor::default(), 20);
        let version = runtime.version(&package.manifest, &package.digest);
        let terms = Terms {
            grants: &Grants::none(),
            log: &log,
            place,
            series: version.own(),
            settings: &runtime.settings,
        };
        let instance = Instance::start(runtime, world, terms, &call)
            .await
            .map_err(failed)?;
        let (described, _) = instance.run(&call, None, describe).await;
        let described: Manifest =
            serde_json::from_str(&described.map_err(failed)?).map_err(|error| {
                Refusal::new(format!(
                    "describes itself in a way that cannot be read: {error}"
                ))
            })?;
        match described == package.manifest {
            true => Ok(()),
            false => Err(Refusal::new(
                "describes itself differently than its manifest does; pack the manifest that it was built with",
            )),
        }
    }

    fn component(&self, package: &Package) -> Result<Compiled, Refusal> {
        if let Some(component) = self.cached(&package.digest) {
            return Ok(Compiled {
                component,
                fresh: false,
            });
        }
        tracing::info!(plugin = package.manifest.name, "compiling");
        let component = Component::from_binary(&self.runtime.engine, &package.bytes)
            .map_err(|error| Refusal::new(format!("cannot be compiled: {error:#}")))?;
        Ok(Compiled {
            component,
            fresh: true,
        })
    }

    /// The name says what the code was made from, with what and for what: none of it can be mixed up.
    fn path(&self, digest: &str) -> Option<PathBuf> {
        use std::hash::{Hash as _, Hasher as _};
        let mut engine = std::collections::hash_map::DefaultHasher::new();
        self.runtime
            .engine
            .precompile_compatibility_hash()
            .hash(&mut engine);
        let name = format!("{digest}-{:016x}.cwasm", engine.finish());
        Some(self.cache.as_ref()?.join(name))
    }

    fn cached(&self, digest: &str) -> Option<Component> {
        let path = self.path(digest)?;
        let file = fs::read(&path).ok()?;
        let (seal, code) = file.split_at_checked(SEAL)?;
        let sealed = self.seal(&path, code)?.verify_slice(seal).is_ok();
        if !sealed {
            tracing::warn!(path = %path.display(), "compiled code with a wrong seal is thrown away");
            return None;
        }
        // SAFETY: `deserialize` runs whatever machine code it is given. These bytes came out of this
        // program: they carry a MAC under a key that only the host has, over them and over their name, which
        // holds the digest of the component and the configuration of the engine.
        #[allow(unsafe_code, reason = "the one place; see the comment above")]
        let component = unsafe { Component::deserialize(&self.runtime.engine, code) };
        component
            .inspect_err(
                |error| tracing::info!(%error, "compiled code does not fit and is made anew"),
            )
            .ok()
    }

    fn seal(&self, path: &Path, code: &[u8]) -> Option<Hmac<Sha256>> {
        let mut seal = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        let name = Sha256::digest(path.file_name()?.as_encoded_bytes());
        seal.update(&name);
        seal.update(code);
        Some(seal)
    }

    /// Writes compiled code beside its final name first: a half-written file is never taken for a whole one.
    /// A cache that cannot be written costs time at the next start and nothing else.
    async fn keep(self: &Arc<Self>, component: Component, digest: &str) {
        let Some(path) = self.path(digest) else {
            return;
        };
        let loader = Arc::clone(self);
        let written = tokio::task::spawn_blocking(move || loader.write(&component, &path)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(%error, "compiled code could not be kept");
        }
    }

    fn write(
        &self,
        component: &Component,
        path: &Path,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let code = component.serialize()?;
        let seal = self
            .seal(path, &code)
            .ok_or("no seal")?
            .finalize()
            .into_bytes();
        let dir = path.parent().ok_or("no directory")?;
        fs::create_dir_all(dir)?;
        let mut suffix = [0; 8];
        getrandom::fill(&mut suffix).map_err(|error| error.to_string())?;
        let draft = path.with_extension(hex(&suffix));
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        let written = file
            .write_all(&seal)
            .and_then(|()| file.write_all(&code))
            .and_then(|()| fs::rename(&draft, path));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        Ok(written?)
    }
}

struct Compiled {
    component: Component,
    /// Made just now: the plugin was never asked to describe itself.
    fresh: bool,
}
