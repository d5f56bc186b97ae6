//! Loads packages: compiles them once, caches the code, and checks what new code says of itself.

use std::{path::Path, sync::Arc, time::Duration};

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;
use wasmtime::component::Component;

use super::{
    bindings::{scan::ScannerConnectorPre, sql::SqlConnectorPre},
    cache::{Cache, CacheDir},
    code::VersionCode,
    compiler::{Compilers, Priority},
    connector::WasmConnector,
    engine::{BASELINE, CodeEngine, Runtime},
    grants::Grants,
    guest_log::GuestLog,
    instance::{Instance, StartOptions},
    model::WasmModel,
    scanner::WasmScanner,
    state::State,
    world::{LinkedModel, World},
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

/// How long a plugin may take to describe itself; the answer must equal its manifest.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(5);
/// Components that compile concurrently in the background, so that a slow one does not block another.
const MAX_BACKGROUND_COMPILES: usize = 2;
/// Components whose first code is compiled concurrently while no call has asked for them. Those that a call waits for
/// do not count: on a small machine, nine at once would keep a first user waiting for those not needed yet.
const MAX_FIRST_COMPILES: usize = 2;

/// A plugin that serves, with its own pools.
#[derive(Clone)]
pub enum LoadedPlugin {
    /// Of SQL: a scanner has the query engine on top.
    Connector(Arc<dyn Connector>),
    /// Serves the models of a vendor.
    Model(Arc<dyn Model>),
}

impl LoadedPlugin {
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
    code: WorldCode,
    manifest: Manifest,
    digest: String,
}

/// The code of a plugin, by the world that it exports.
enum WorldCode {
    Sql(Arc<VersionCode<SqlConnectorPre<State>>>),
    Scanner(Arc<VersionCode<ScannerConnectorPre<State>>>),
    Model(Arc<VersionCode<LinkedModel>>),
}

impl Ready {
    /// As the file has it.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// SHA-256 of the component, in hex.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Waits for the first code.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn wait_until_compiled(&self) -> Result<(), Refusal> {
        match &self.code {
            WorldCode::Sql(code) => code.wait_until_compiled().await,
            WorldCode::Scanner(code) => code.wait_until_compiled().await,
            WorldCode::Model(code) => code.wait_until_compiled().await,
        }
    }

    /// Whether the first compilation has ended.
    pub fn is_compiled(&self) -> bool {
        match &self.code {
            WorldCode::Sql(code) => code.is_compiled(),
            WorldCode::Scanner(code) => code.is_compiled(),
            WorldCode::Model(code) => code.is_compiled(),
        }
    }

    /// A new scanner without the SQL on top; none for another world.
    pub fn scanner(&self) -> Option<Arc<dyn Scanner>> {
        let WorldCode::Scanner(code) = &self.code else {
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

    /// A new plugin, which shares only the code with other plugins of this version.
    pub fn serve(&self) -> LoadedPlugin {
        let (runtime, manifest) = (&self.runtime, self.manifest.clone());
        let digest = self.digest.clone();
        let metering = Metering(runtime.version(&manifest, &digest));
        match &self.code {
            WorldCode::Sql(code) => {
                let code = Arc::clone(code);
                let connector = WasmConnector::new(runtime, code, manifest, digest);
                LoadedPlugin::Connector(Intercepted::<dyn Connector, _>::new(
                    Arc::new(connector),
                    metering,
                ))
            }
            WorldCode::Scanner(code) => {
                let code = Arc::clone(code);
                let scanner = WasmScanner::new(runtime, code, manifest, digest);
                let connector = self.queries.connector(Arc::new(scanner));
                LoadedPlugin::Connector(Intercepted::<dyn Connector, _>::new(
                    Arc::new(connector),
                    metering,
                ))
            }
            WorldCode::Model(code) => {
                let code = Arc::clone(code);
                let model = WasmModel::new(runtime, code, manifest, digest);
                LoadedPlugin::Model(Intercepted::<dyn Model, _>::new(Arc::new(model), metering))
            }
        }
    }
}

/// Loads packages from the cache, or compiles them.
pub struct Loader {
    runtime: Arc<Runtime>,
    cache: Cache,
    compilers: Compilers,
    /// Permits to compile in the background.
    background: Semaphore,
    /// Permits to compile first code that no call waits for.
    first: Semaphore,
    /// The SQL engine for scanners.
    queries: Arc<QueryEngine>,
}

/// How a component is compiled.
#[derive(Clone, Copy)]
struct CompileJob {
    compiler: Compiler,
    priority: Priority,
    /// Whether the code is cached for the next start.
    cached: bool,
}

impl Loader {
    /// A loader that keeps compiled code in `cache`, sealed with `key`. Statements that need more than their memory continue in the directory `spill`; without one they are
    /// refused.
    pub fn new(
        runtime: Arc<Runtime>,
        cache: CacheDir,
        spill: Option<&Path>,
        key: [u8; 32],
        compilers: Compilers,
    ) -> Self {
        let queries = QueryEngine::new(&runtime.settings, spill, runtime.tasks.clone());
        Self {
            runtime,
            cache: Cache::new(cache, key),
            compilers,
            background: Semaphore::new(MAX_BACKGROUND_COMPILES),
            first: Semaphore::new(MAX_FIRST_COMPILES),
            queries,
        }
    }

    /// The SQL engine of this host.
    pub fn queries(&self) -> &Arc<QueryEngine> {
        &self.queries
    }

    /// Removes unfinished files of earlier processes from the cache. Blocks on the file system.
    pub fn sweep(&self) {
        self.cache.sweep();
    }

    /// Loads a package with optimized code. The description of new code must match its manifest.
    pub async fn load(self: &Arc<Self>, package: Arc<Package>) -> Result<Ready, Refusal> {
        let ready = self.begin(package, false);
        ready.wait_until_compiled().await?;
        Ok(ready)
    }

    /// Starts to load a package: first with baseline code, then with optimized code.
    pub fn load_in_background(self: &Arc<Self>, package: Arc<Package>) -> Ready {
        self.begin(package, true)
    }

    fn begin(self: &Arc<Self>, package: Arc<Package>, baseline_first: bool) -> Ready {
        let (manifest, digest) = (package.manifest.clone(), package.digest.clone());
        let code = match manifest.kind {
            PluginKind::Connector if manifest.world == SCANNER_WORLD => {
                WorldCode::Scanner(self.compile_in_background(package, baseline_first))
            }
            PluginKind::Connector => {
                WorldCode::Sql(self.compile_in_background(package, baseline_first))
            }
            PluginKind::Model => {
                WorldCode::Model(self.compile_in_background(package, baseline_first))
            }
        };
        Ready {
            runtime: Arc::clone(&self.runtime),
            queries: Arc::clone(&self.queries),
            code,
            manifest,
            digest,
        }
    }

    /// Starts the task that compiles a package. It continues if no caller waits for it.
    fn compile_in_background<W: World>(
        self: &Arc<Self>,
        package: Arc<Package>,
        baseline_first: bool,
    ) -> Arc<VersionCode<W>> {
        let code = Arc::new(VersionCode::pending());
        let (loader, guard) = (Arc::clone(self), CompileGuard(Arc::clone(&code)));
        tokio::spawn(async move {
            loader
                .compile_into(&package, baseline_first, &guard.0)
                .await
        });
        code
    }

    async fn compile_into<W: World>(
        &self,
        package: &Arc<Package>,
        baseline_first: bool,
        code: &VersionCode<W>,
    ) {
        let best = CompileJob {
            compiler: self.runtime.settings.compiler,
            priority: Priority::Foreground,
            cached: true,
        };
        if let Some(component) = self.cached(package).await {
            return code.put(link(&self.runtime.optimized, &component, package));
        }
        let turn = match baseline_first {
            true => self.turn(code).await,
            false => None,
        };
        if baseline_first && let Some(target) = self.runtime.baseline() {
            let quick = CompileJob {
                compiler: BASELINE,
                priority: Priority::Foreground,
                cached: false,
            };
            match self.compiled(package, &target, quick).await {
                Ok(world) => code.put(Ok(world)),
                // The other compiler may succeed, or reports why not.
                Err(refusal) => {
                    let plugin = &package.manifest.name;
                    tracing::info!(plugin, %refusal, "no baseline code");
                }
            }
        }
        if !code.is_compiled() {
            return code.put(self.compiled(package, &self.runtime.optimized, best).await);
        }
        drop(turn);
        let Ok(_one_of_few) = self.background.acquire().await else {
            return;
        };
        let background = CompileJob {
            priority: Priority::Background,
            ..best
        };
        let plugin = &package.manifest.name;
        match self
            .compiled(package, &self.runtime.optimized, background)
            .await
        {
            Ok(world) => {
                code.put(Ok(world));
                tracing::info!(plugin, "optimized code active");
            }
            Err(refusal) => {
                tracing::warn!(plugin, %refusal, "no optimized code; the baseline code stays active");
            }
        }
    }

    /// Waits until first code may be compiled: at once if a call asks for it. None when a call did.
    async fn turn<W: World>(&self, code: &VersionCode<W>) -> Option<SemaphorePermit<'_>> {
        tokio::select! {
            biased;
            () = code.wanted() => None,
            permit = self.first.acquire() => permit.ok(),
        }
    }

    async fn cached(&self, package: &Arc<Package>) -> Option<Component> {
        let (cache, engine) = (self.cache.clone(), self.runtime.optimized.engine.clone());
        let package = Arc::clone(package);
        tokio::task::spawn_blocking(move || cache.find(&engine, &package.digest))
            .await
            .ok()?
    }

    /// Compiles a package for an engine, seals the code and checks its description.
    async fn compiled<W: World>(
        &self,
        package: &Arc<Package>,
        target: &CodeEngine,
        job: CompileJob,
    ) -> Result<W, Refusal> {
        let (plugin, compiler) = (&package.manifest.name, job.compiler);
        tracing::info!(plugin, "compiling with {compiler:?}");
        let code = self
            .compilers
            .compile(package, compiler, job.priority)
            .await?;
        let (cache, engine) = (self.cache.clone(), target.engine.clone());
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
        let world: W = link(target, &component, package)?;
        self.check_description(&world, package).await?;
        if job.cached {
            let cache = self.cache.clone();
            let stored = tokio::task::spawn_blocking(move || cache.store(&sealed)).await;
            if let Ok(Err(error)) = stored {
                tracing::warn!(%error, "compiled code could not be cached");
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
        let permit = runtime.acquire_permit(None, &call).await.map_err(failed)?;
        let log = GuestLog::new(&package.manifest.name, "describe", Redactor::default(), 20);
        let version = runtime.version(&package.manifest, &package.digest);
        let options = StartOptions {
            grants: &Grants::none(),
            log: &log,
            permit,
            series: version.own(),
            settings: &runtime.settings,
        };
        let instance = Instance::start(runtime, world, options, &call)
            .await
            .map_err(failed)?;
        let (described, _) = instance.run(&call, None, W::describe).await;
        let described: Manifest =
            serde_json::from_str(&described.map_err(failed)?).map_err(|error| {
                Refusal::new(format!(
                    "returned a description that is not a manifest: {error}"
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

/// Fails the pending code if the task ends without a result, so that no call waits for ever.
struct CompileGuard<W: World>(Arc<VersionCode<W>>);

impl<W: World> Drop for CompileGuard<W> {
    fn drop(&mut self) {
        if !self.0.is_compiled() {
            self.0.put(Err(Refusal::new("could not be compiled")));
        }
    }
}

fn link<W: World>(
    target: &CodeEngine,
    component: &Component,
    package: &Package,
) -> Result<W, Refusal> {
    let linked = target.linker.instantiate_pre(component);
    let linked =
        linked.map_err(|error| Refusal::new(format!("does not fit this host: {error:#}")))?;
    let world = &package.manifest.world;
    let linked = W::of(linked)
        .map_err(|error| Refusal::new(format!("does not export its world `{world}`: {error:#}")))?;
    match linked.lacks(&package.manifest) {
        None => Ok(linked),
        Some(what) => Err(Refusal::new(format!(
            "does not export its world `{world}`: {what} is missing, or of other types"
        ))),
    }
}
