//! From a package to something that can be instantiated: compile once, keep the result, ask new code what it is.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use wasmtime::component::Component;

use super::{
    bindings::{model::ModelProviderPre, scan::ScannerConnectorPre, sql::SqlConnectorPre},
    cache::Cache,
    code::Compiled,
    compiler::{Compilers, Urgency},
    connector::WasmConnector,
    engine::{QUICK, Runtime, Stage},
    grants::Grants,
    instance::{Instance, Terms, World},
    model::WasmModel,
    scanner::WasmScanner,
    state::{GuestLog, State},
};
use crate::{
    metered::Metering,
    package::{Package, Refusal},
};
use mindhost_base::config::Compiler;
use mindhost_plugin_api::{
    Call, Connector, Manifest, Model, Plugin, PluginKind, intercept::Intercepted,
    manifest::SCANNER_WORLD, redact::Redactor, scanner::Scanner,
};
use mindhost_query::QueryEngine;

/// How long a plugin may take to say what it is.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(5);
/// How many components are compiled at once beside everything else. One that takes long leaves room for another.
const SPARE: usize = 2;

/// A plugin that serves, with pools of its own.
#[derive(Clone)]
pub enum Loaded {
    /// A connector.
    Connector(Arc<dyn Connector>),
    /// A model.
    Model(Arc<dyn Model>),
}

impl Loaded {
    /// The plugin, whatever its kind.
    pub fn plugin(&self) -> &dyn Plugin {
        match self {
            Self::Connector(connector) => &**connector,
            Self::Model(model) => &**model,
        }
    }
}

/// A plugin that is compiled and linked, or soon will be: calls wait for its first code. It can be made to serve any
/// number of times.
pub struct Ready {
    runtime: Arc<Runtime>,
    queries: Arc<QueryEngine>,
    code: Linked,
    manifest: Manifest,
    digest: String,
}

/// The code of a plugin, by the world that it exports.
enum Linked {
    Sql(Arc<Compiled<SqlConnectorPre<State>>>),
    Scanner(Arc<Compiled<ScannerConnectorPre<State>>>),
    Model(Arc<Compiled<ModelProviderPre<State>>>),
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

    /// Waits until there is code.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn made(&self) -> Result<(), Refusal> {
        match &self.code {
            Linked::Sql(code) => code.made().await,
            Linked::Scanner(code) => code.made().await,
            Linked::Model(code) => code.made().await,
        }
    }

    /// Whether it is known yet that there is code, or why there is none.
    pub fn is_made(&self) -> bool {
        match &self.code {
            Linked::Sql(code) => code.is_made(),
            Linked::Scanner(code) => code.is_made(),
            Linked::Model(code) => code.is_made(),
        }
    }

    /// A scanner without the SQL over it, which shares nothing with what serves; none of another world.
    pub fn scanner(&self) -> Option<Arc<dyn Scanner>> {
        let Linked::Scanner(code) = &self.code else {
            return None;
        };
        let (manifest, digest) = (self.manifest.clone(), self.digest.clone());
        Some(Arc::new(WasmScanner::new(
            &self.runtime,
            Arc::clone(code),
            manifest,
            digest,
        )))
    }

    /// A plugin that shares nothing with an earlier one of this but the code.
    pub fn serve(&self) -> Loaded {
        let (runtime, manifest) = (&self.runtime, self.manifest.clone());
        let digest = self.digest.clone();
        let metering = Metering(runtime.version(&manifest, &digest));
        match &self.code {
            Linked::Sql(code) => {
                let code = Arc::clone(code);
                let connector = WasmConnector::new(runtime, code, manifest, digest);
                Loaded::Connector(Intercepted::<dyn Connector, _>::new(
                    Arc::new(connector),
                    metering,
                ))
            }
            Linked::Scanner(code) => {
                let code = Arc::clone(code);
                let scanner = WasmScanner::new(runtime, code, manifest, digest);
                let connector = self.queries.connector(Arc::new(scanner));
                Loaded::Connector(Intercepted::<dyn Connector, _>::new(
                    Arc::new(connector),
                    metering,
                ))
            }
            Linked::Model(code) => {
                let code = Arc::clone(code);
                let model = WasmModel::new(runtime, code, manifest, digest);
                Loaded::Model(Intercepted::<dyn Model, _>::new(Arc::new(model), metering))
            }
        }
    }
}

/// Compiles packages, or takes them from the cache.
pub struct Loader {
    runtime: Arc<Runtime>,
    cache: Cache,
    compilers: Compilers,
    /// The right to compile beside everything else.
    spare: Semaphore,
    /// Gives SQL to scanners.
    queries: Arc<QueryEngine>,
}

/// How a component is compiled.
#[derive(Clone, Copy)]
struct Making {
    compiler: Compiler,
    urgency: Urgency,
    /// Whether the code is kept for the next start.
    kept: bool,
}

impl Loader {
    /// A loader that keeps compiled code in `cache`, sealed with `key`. Without a directory everything is
    /// compiled anew.
    pub fn new(
        runtime: Arc<Runtime>,
        cache: Option<PathBuf>,
        key: [u8; 32],
        compilers: Compilers,
    ) -> Self {
        let queries = QueryEngine::new(&runtime.settings, runtime.tasks.clone());
        Self {
            runtime,
            cache: Cache::new(cache, key),
            compilers,
            spare: Semaphore::new(SPARE),
            queries,
        }
    }

    /// Removes what earlier processes left unfinished in the cache. Reads a directory, so not for a thread that serves.
    pub fn sweep(&self) {
        self.cache.sweep();
    }

    /// Makes a package ready to serve, with the best code. New code is asked to describe itself first, and what it says
    /// must be what its manifest says.
    pub async fn load(self: &Arc<Self>, package: Arc<Package>) -> Result<Ready, Refusal> {
        let ready = self.begin(package, false);
        ready.made().await?;
        Ok(ready)
    }

    /// Makes a package ready to serve soon: with code that is made quickly, which better code then takes the place of.
    pub fn load_soon(self: &Arc<Self>, package: Arc<Package>) -> Ready {
        self.begin(package, true)
    }

    fn begin(self: &Arc<Self>, package: Arc<Package>, soon: bool) -> Ready {
        let (manifest, digest) = (package.manifest.clone(), package.digest.clone());
        let code = match manifest.kind {
            PluginKind::Connector if manifest.world == SCANNER_WORLD => {
                Linked::Scanner(self.make(package, soon))
            }
            PluginKind::Connector => Linked::Sql(self.make(package, soon)),
            PluginKind::Model => Linked::Model(self.make(package, soon)),
        };
        Ready {
            runtime: Arc::clone(&self.runtime),
            queries: Arc::clone(&self.queries),
            code,
            manifest,
            digest,
        }
    }

    /// Starts the task that makes the code of a package. It goes on when no caller waits for it.
    fn make<W: World>(self: &Arc<Self>, package: Arc<Package>, soon: bool) -> Arc<Compiled<W>> {
        let code = Arc::new(Compiled::awaited());
        let (loader, awaited) = (Arc::clone(self), Awaited(Arc::clone(&code)));
        tokio::spawn(async move { loader.supply(&package, soon, &awaited.0).await });
        code
    }

    async fn supply<W: World>(&self, package: &Arc<Package>, soon: bool, code: &Compiled<W>) {
        let best = Making {
            compiler: self.runtime.settings.compiler,
            urgency: Urgency::Urgent,
            kept: true,
        };
        if let Some(component) = self.cached(package).await {
            return code.put(link(&self.runtime.best, &component, package));
        }
        if soon && let Some(stage) = self.runtime.quick() {
            let quick = Making {
                compiler: QUICK,
                urgency: Urgency::Urgent,
                kept: false,
            };
            match self.compiled(package, &stage, quick).await {
                Ok(world) => code.put(Ok(world)),
                // What this compiler cannot, the other can, or says why not.
                Err(refusal) => {
                    let plugin = &package.manifest.name;
                    tracing::info!(plugin, %refusal, "no code was made quickly");
                }
            }
        }
        if !code.is_made() {
            return code.put(self.compiled(package, &self.runtime.best, best).await);
        }
        let Ok(_one_of_few) = self.spare.acquire().await else {
            return;
        };
        let spare = Making {
            urgency: Urgency::Spare,
            ..best
        };
        let plugin = &package.manifest.name;
        match self.compiled(package, &self.runtime.best, spare).await {
            Ok(world) => {
                code.put(Ok(world));
                tracing::info!(plugin, "optimized code active");
            }
            Err(refusal) => {
                tracing::warn!(plugin, %refusal, "no better code could be made; what was made quickly serves on");
            }
        }
    }

    async fn cached(&self, package: &Arc<Package>) -> Option<Component> {
        let (cache, engine) = (self.cache.clone(), self.runtime.best.engine.clone());
        let package = Arc::clone(package);
        tokio::task::spawn_blocking(move || cache.find(&engine, &package.digest))
            .await
            .ok()?
    }

    /// Compiles a package for an engine, seals the code and asks it what it is.
    async fn compiled<W: World>(
        &self,
        package: &Arc<Package>,
        stage: &Stage,
        making: Making,
    ) -> Result<W, Refusal> {
        let (plugin, compiler) = (&package.manifest.name, making.compiler);
        tracing::info!(plugin, "compiling with {compiler:?}");
        let code = self
            .compilers
            .compile(package, compiler, making.urgency)
            .await?;
        let (cache, engine) = (self.cache.clone(), stage.engine.clone());
        let digest = package.digest.clone();
        let unfit = || Refusal::new("could not be compiled for this machine");
        let load = move || {
            let sealed = cache.seal(&engine, &digest, code).ok_or_else(unfit)?;
            let component = cache
                .open(&engine, &sealed)
                .map_err(|error| Refusal::new(format!("does not fit this host: {error:#}")))?;
            Ok::<_, Refusal>((component, sealed))
        };
        let loaded = tokio::task::spawn_blocking(load).await;
        let (component, sealed) = loaded.map_err(|_| unfit())??;
        let world: W = link(stage, &component, package)?;
        self.check_description(&world, package).await?;
        if making.kept {
            let cache = self.cache.clone();
            let kept = tokio::task::spawn_blocking(move || cache.keep(&sealed)).await;
            if let Ok(Err(error)) = kept {
                tracing::warn!(%error, "compiled code could not be kept");
            }
        }
        Ok(world)
    }

    async fn check_description<W: World>(
        &self,
        world: &W,
        package: &Package,
    ) -> Result<(), Refusal> {
        let failed = |error: mindhost_base::error::Error| {
            Refusal::new(format!("cannot describe itself: {error}"))
        };
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
        let (described, _) = instance.run(&call, None, W::describe).await;
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
}

/// Code that somebody may wait for. However the task ends that makes it, they hear of it.
struct Awaited<W: World>(Arc<Compiled<W>>);

impl<W: World> Drop for Awaited<W> {
    fn drop(&mut self) {
        if !self.0.is_made() {
            self.0.put(Err(Refusal::new("could not be compiled")));
        }
    }
}

fn link<W: World>(stage: &Stage, component: &Component, package: &Package) -> Result<W, Refusal> {
    let linked = stage.linker.instantiate_pre(component);
    let linked =
        linked.map_err(|error| Refusal::new(format!("does not fit this host: {error:#}")))?;
    W::of(linked).map_err(|error| {
        Refusal::new(format!(
            "does not export its world `{}`: {error:#}",
            package.manifest.world
        ))
    })
}
