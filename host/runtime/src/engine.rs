//! The wasmtime engines: the pooling allocator, the clock that interrupts guests, the linker.
//!
//! All plugins share one engine. A second one runs baseline code until the optimized code is ready.

use std::{
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use tokio_util::{sync::CancellationToken, task::TaskTracker};
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Strategy,
    component::Linker,
};

use super::{
    files,
    http::access_token::TokenStore,
    http_handler,
    idle_connections::IdleConnections,
    limits::Scope,
    permits::{
        InstancePermit, InstancePermits, InstanceUsage, PluginQuota, RESERVED_INSTANCES,
        ThreadPermits,
    },
    sockets,
    state::State,
    tcp,
};
use crate::{
    ids::VersionId,
    meter::{Meters, VersionMeter},
    policy::Policy,
};
use mindhost_base::{
    config::{Compiler, PluginSettings},
    error::Result,
    locks::lock,
};
use mindhost_plugin_api::{Call, Manifest, Target};

/// How often a running guest is interrupted, to check deadlines and let other tasks run.
const TICK: Duration = Duration::from_millis(10);
/// Core instances that one component may consist of; interpreters are split into several. The allocator only
/// counts them.
const CORE_INSTANCES: u32 = 24;
/// Linear memories of one component. Each reserves its whole address space for every instance, and one is usual.
const MEMORIES: u32 = 2;
/// Function tables of one component. They reserve little, and a component has one or two for each language in it.
const TABLES: u32 = 8;
/// Entries of one function table; an interpreter has some ten thousand functions.
const TABLE_ELEMENTS: usize = 100_000;
/// Threads that calls on files may hold at once: those of guests with files, and those that open the files. Far below
/// the 512 threads for blocking work that tokio has: when those are all held, nothing drives sockets and timers any
/// more, and no call ends.
const MAX_FILE_THREADS: u32 = 256;
/// The baseline compiler, which is fast and makes slower code.
pub(super) const BASELINE: Compiler = Compiler::Winch;
/// An engine with the linker of the guests' imports. It runs the code of one compiler only.
pub(super) struct CodeEngine {
    pub engine: Engine,
    pub linker: Linker<State>,
}

impl CodeEngine {
    /// Reserves the address space of all instances and starts the clock.
    fn new(compiler: Compiler, settings: &PluginSettings) -> wasmtime::Result<Self> {
        let engine = Engine::new(&config(compiler, settings))?;
        start_epoch_ticker(&engine)?;
        let linker = linker(&engine)?;
        Ok(Self { engine, linker })
    }
}

/// The state that all plugins of a host share.
pub struct Runtime {
    /// The engine for code of the configured compiler.
    pub(super) optimized: CodeEngine,
    /// The engine for baseline code, while there is any.
    baseline: Mutex<Weak<CodeEngine>>,
    pub(super) settings: PluginSettings,
    pub(super) policy: Arc<dyn Policy>,
    /// Access tokens for requests of plugins.
    pub(super) tokens: TokenStore,
    /// Meters of the use of plugins.
    pub(super) meters: Arc<Meters>,
    /// What limits instances and their memory, for all plugins together.
    pub(super) permits: InstancePermits,
    /// Threads that calls on files may hold.
    pub(super) file_threads: ThreadPermits,
    /// Tasks that run guest code or end a call.
    pub(super) tasks: TaskTracker,
    /// Ends waits for database engines when the host shuts down.
    pub(super) shutdown: CancellationToken,
    /// Pools whose idle connections can be evicted.
    pools: Mutex<Vec<Weak<dyn IdleConnections>>>,
}

impl Runtime {
    /// Reserves the address space of all instances and starts the clock. Call it inside a tokio runtime.
    pub fn new(settings: PluginSettings, policy: Arc<dyn Policy>) -> wasmtime::Result<Arc<Self>> {
        let runtime = Arc::new(Self {
            optimized: CodeEngine::new(settings.compiler, &settings)?,
            baseline: Mutex::default(),
            meters: Meters::new(settings.faults.clone()),
            permits: InstancePermits::new(&settings),
            file_threads: ThreadPermits::new(MAX_FILE_THREADS, "calls on files"),
            tasks: TaskTracker::new(),
            shutdown: CancellationToken::new(),
            pools: Mutex::default(),
            settings,
            tokens: TokenStore::default(),
            policy,
        });
        runtime.start_sweeping();
        Ok(runtime)
    }

    /// The engine for baseline code. None if that is the configured compiler, or if the machine has no memory for a
    /// second engine. It is dropped with the last code and instance in it.
    pub(super) fn baseline(&self) -> Option<Arc<CodeEngine>> {
        if self.settings.compiler == BASELINE || !self.settings.quick_start {
            return None;
        }
        let mut baseline = lock(&self.baseline);
        if let Some(engine) = baseline.upgrade() {
            return Some(engine);
        }
        let engine = CodeEngine::new(BASELINE, &self.settings);
        let engine =
            engine.inspect_err(|error| tracing::info!(%error, "no engine for baseline code"));
        let engine = Arc::new(engine.ok()?);
        *baseline = Arc::downgrade(&engine);
        Some(engine)
    }

    /// The meter of a plugin version.
    pub(super) fn version(&self, manifest: &Manifest, digest: &str) -> Arc<VersionMeter> {
        self.meters.version(VersionId {
            plugin: manifest.name.clone(),
            version: manifest.version.clone(),
            digest: digest.to_owned(),
        })
    }

    /// The limits of a plugin.
    pub(super) fn quota(&self, manifest: &Manifest) -> PluginQuota {
        self.permits.quota_of(&manifest.name, &self.settings)
    }

    /// What plugins have used since the start.
    pub fn meters(&self) -> &Arc<Meters> {
        &self.meters
    }

    /// The use of the instance and memory limits.
    pub fn usage(&self) -> InstanceUsage {
        self.permits.usage()
    }

    /// Acquires a permit for an instance. At a limit, closes an idle connection.
    pub(super) async fn acquire_permit(
        &self,
        of: Option<(&PluginQuota, &Target)>,
        call: &Call,
    ) -> Result<InstancePermit> {
        let evict_idle = |scope: &Scope| {
            if let Some(pools) = self.idle_longest(scope) {
                pools.retire_oldest(scope);
            }
        };
        self.permits.acquire(of, evict_idle, call).await
    }

    /// Drops the oldest idle connection of a scope at once; false when there is none.
    pub(super) fn reclaim(&self, scope: &Scope) -> bool {
        let pools = self.idle_longest(scope);
        pools.is_some_and(|pools| pools.drop_oldest(scope))
    }

    /// The pools with the oldest idle connection of a scope.
    fn idle_longest(&self, scope: &Scope) -> Option<Arc<dyn IdleConnections>> {
        let idle = self.idle_pools().into_iter();
        idle.filter_map(|pools| Some((pools.oldest(scope)?, pools)))
            .min_by_key(|(oldest, _)| *oldest)
            .map(|(_, pools)| pools)
    }

    /// Evicts idle connections of a plugin from now on.
    pub(super) fn evict_from(&self, pools: Weak<dyn IdleConnections>) {
        lock(&self.pools).push(pools);
    }

    fn idle_pools(&self) -> Vec<Arc<dyn IdleConnections>> {
        let mut pools = lock(&self.pools);
        pools.retain(|pools| pools.strong_count() > 0);
        pools.iter().filter_map(Weak::upgrade).collect()
    }

    /// Starts the task that closes idle connections at the idle timeout. Needs a tokio runtime.
    fn start_sweeping(self: &Arc<Self>) {
        let max_age = self.settings.idle_timeout;
        let runtime = Arc::downgrade(self);
        let every = (max_age / 4).max(Duration::from_millis(100));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(runtime) = runtime.upgrade() else {
                    return;
                };
                for pools in runtime.idle_pools() {
                    pools.sweep(max_age);
                }
            }
        });
    }

    /// The tracker of background tasks.
    pub fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Largest plugin file.
    pub fn max_package_bytes(&self) -> u64 {
        self.settings.max_package_bytes
    }

    /// Waits for all guest calls and cancellations to end. Does not prevent new ones.
    pub async fn drain(&self) {
        self.shutdown.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// The settings that compiled code depends on. The allocation strategy is not one of them.
pub(super) fn codegen_config(compiler: Compiler) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .epoch_interruption(true)
        .strategy(match compiler {
            Compiler::Cranelift => Strategy::Cranelift,
            Compiler::Winch => Strategy::Winch,
        })
        .shared_memory(false);
    config
}

fn config(compiler: Compiler, settings: &PluginSettings) -> Config {
    let mut config = codegen_config(compiler);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pooling(settings)));
    config
}

/// The pooling allocator. Each total is the maximum of one component times the number of permits, so the pool never
/// runs empty.
fn pooling(settings: &PluginSettings) -> PoolingAllocationConfig {
    let instances = settings.max_instances.saturating_add(RESERVED_INSTANCES);
    let page = 64 << 10;
    let memory = settings.largest_memory_bytes().div_ceil(page) * page;
    let mut pooling = PoolingAllocationConfig::new();
    pooling
        .total_component_instances(instances)
        .total_core_instances(instances.saturating_mul(CORE_INSTANCES))
        .total_memories(instances.saturating_mul(MEMORIES))
        .total_tables(instances.saturating_mul(TABLES))
        .total_stacks(instances)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_memories_per_module(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_tables_per_module(TABLES)
        .table_elements(TABLE_ELEMENTS)
        .max_component_instance_size(8 << 20)
        .max_core_instance_size(8 << 20)
        .max_memory_size(usize::try_from(memory).unwrap_or(usize::MAX))
        // Memory of a finished instance is returned at once. To keep its lowest part resident, the pool would write
        // zeros to the stack, which most guests hardly touch.
        .linear_memory_keep_resident(0)
        .table_keep_resident(16 << 10);
    pooling
}

/// Starts the thread that advances the epoch. A task could tick late under full load. The thread ends with the engine.
fn start_epoch_ticker(engine: &Engine) -> std::io::Result<()> {
    let engine = engine.weak();
    std::thread::Builder::new()
        .name("plugin-clock".to_owned())
        .spawn(move || {
            while let Some(engine) = engine.upgrade() {
                engine.increment_epoch();
                drop(engine);
                std::thread::sleep(TICK);
            }
        })
        .map(drop)
}

/// The same imports for every world. What reaches the network or files goes through `sockets`, `tcp`, `files` and
/// `http_hooks`, which ask the grants; the rest of WASI cannot reach anything.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    super::state::add_to_linker(&mut linker)?;
    linker.allow_shadowing(true);
    files::add_to_linker(&mut linker)?;
    sockets::add_to_linker(&mut linker)?;
    tcp::add_to_linker(&mut linker)?;
    http_handler::add_to_linker(&mut linker)?;
    linker.allow_shadowing(false);
    Ok(linker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_base::config::Config;
    use wasmtime::{Store, component::Component};

    /// A component with as many core instances, memories and tables as one may have.
    fn largest() -> String {
        let part = |index: u32| {
            let memory = if index < MEMORIES { "(memory 1)" } else { "" };
            let table = if index < TABLES {
                "(table 10 funcref)"
            } else {
                ""
            };
            format!(
                "(core module $m{index} {memory} {table}) (core instance (instantiate $m{index}))"
            )
        };
        let parts: String = (0..CORE_INSTANCES).map(part).collect();
        format!("(component {parts})")
    }

    #[tokio::test]
    async fn every_instance_may_have_the_maximum_size_at_once() {
        let settings = PluginSettings {
            max_instances: 2,
            max_memory_bytes: 1 << 20,
            ..Config::defaults().unwrap().plugins.limits
        };
        let engine = Engine::new(&config(Compiler::Cranelift, &settings)).unwrap();
        let component = wat::parse_str(largest()).unwrap();
        let component = Component::from_binary(&engine, &component).unwrap();
        let linker: Linker<()> = Linker::new(&engine);
        let mut stores = Vec::new();
        for _ in 0..settings.max_instances + RESERVED_INSTANCES {
            let mut store = Store::new(&engine, ());
            store.set_epoch_deadline(1_000_000);
            linker
                .instantiate_async(&mut store, &component)
                .await
                .unwrap();
            stores.push(store);
        }
    }
}
