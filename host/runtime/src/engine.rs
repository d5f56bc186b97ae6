//! The wasmtime engines: the pooling allocator, the clock that interrupts guests, the linker.
//!
//! All plugins share one. While code of another compiler serves, until the best is made, there is a second one for it.

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
    files, http,
    limits::Scope,
    place::{Place, Places, Room, Share},
    pool::{Connects, Idle, Pools},
    sockets,
    state::State,
};
use crate::{
    meter::{Meters, VersionId, VersionMeter},
    policy::Policy,
};
use mindhost_base::{
    config::{Compiler, PluginSettings},
    error::Result,
    locks::lock,
};
use mindhost_plugin_api::{Call, Manifest, Target};

/// How often a running guest is interrupted, so that deadlines are kept and neighbours get their turn.
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
/// The compiler whose code is there soon.
pub(super) const QUICK: Compiler = Compiler::Winch;
/// Instances above the configured number, kept for `cancel` and for trying out new plugins.
pub(super) const RESERVE: u32 = 32;

/// An engine, and what guests may import in it. Code of one compiler runs in the engine for that compiler alone.
pub(super) struct Stage {
    pub engine: Engine,
    pub linker: Linker<State>,
}

impl Stage {
    /// Reserves the address space of all instances and starts the clock.
    fn new(compiler: Compiler, settings: &PluginSettings) -> wasmtime::Result<Self> {
        let engine = Engine::new(&config(compiler, settings))?;
        start_clock(&engine)?;
        let linker = linker(&engine)?;
        Ok(Self { engine, linker })
    }
}

/// What all plugins of a host share.
pub struct Runtime {
    /// Where the code of the configured compiler runs.
    pub(super) best: Stage,
    /// Where code runs that was made quickly; there only while there is such code.
    quick: Mutex<Weak<Stage>>,
    pub(super) settings: PluginSettings,
    pub(super) policy: Arc<dyn Policy>,
    /// Where the use of plugins is counted.
    pub(super) meters: Arc<Meters>,
    /// Room for instances.
    pub(super) places: Places,
    /// Every task that runs guest code or winds a call up.
    pub(super) tasks: TaskTracker,
    /// Ends the waits for engines when the host stops.
    pub(super) closing: CancellationToken,
    /// Where idle connections lie that can give their place away.
    pools: Mutex<Vec<Weak<dyn Idle>>>,
}

impl Runtime {
    /// Reserves the address space of all instances and starts the clock. Call it inside a tokio runtime.
    pub fn new(settings: PluginSettings, policy: Arc<dyn Policy>) -> wasmtime::Result<Arc<Self>> {
        let runtime = Arc::new(Self {
            best: Stage::new(settings.compiler, &settings)?,
            quick: Mutex::default(),
            meters: Meters::new(settings.faults.clone()),
            places: Places::new(&settings),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            pools: Mutex::default(),
            settings,
            policy,
        });
        runtime.start_sweeping();
        Ok(runtime)
    }

    /// Where code runs that is made quickly; none where the configured compiler is the quick one, or this machine has no
    /// room for a second engine. It goes with the last code and the last instance in it.
    pub(super) fn quick(&self) -> Option<Arc<Stage>> {
        if self.settings.compiler == QUICK || !self.settings.quick_start {
            return None;
        }
        let mut quick = lock(&self.quick);
        if let Some(stage) = quick.upgrade() {
            return Some(stage);
        }
        let stage = Stage::new(QUICK, &self.settings);
        let stage = stage
            .inspect_err(|error| tracing::info!(%error, "no engine for code that is made quickly"));
        let stage = Arc::new(stage.ok()?);
        *quick = Arc::downgrade(&stage);
        Some(stage)
    }

    /// Where a version of a plugin is counted.
    pub(super) fn version(&self, manifest: &Manifest, digest: &str) -> Arc<VersionMeter> {
        self.meters.version(VersionId {
            plugin: manifest.name.clone(),
            version: manifest.version.clone(),
            digest: digest.to_owned(),
        })
    }

    /// What a plugin may take.
    pub(super) fn share(&self, manifest: &Manifest) -> Share {
        self.places.share_of(&manifest.name, &self.settings)
    }

    /// What plugins have used since the start.
    pub fn meters(&self) -> &Arc<Meters> {
        &self.meters
    }

    /// What is taken of the room for instances.
    pub fn room(&self) -> Room {
        self.places.room()
    }

    /// Room for one more instance; an idle connection gives up its own when there is none.
    pub(super) async fn place(&self, of: Option<(&Share, &Target)>, call: &Call) -> Result<Place> {
        let make_room = |scope: &Scope| {
            if let Some(pools) = self.idle_longest(scope) {
                pools.retire_oldest(scope);
            }
        };
        self.places.take(of, make_room, call).await
    }

    /// Drops the oldest idle connection of a scope at once; false when there is none.
    pub(super) fn reclaim(&self, scope: &Scope) -> bool {
        let pools = self.idle_longest(scope);
        pools.is_some_and(|pools| pools.drop_oldest(scope))
    }

    /// The pools with the connection of a scope that is idle for the longest time.
    fn idle_longest(&self, scope: &Scope) -> Option<Arc<dyn Idle>> {
        let idle = self.idle_pools().into_iter();
        idle.filter_map(|pools| Some((pools.oldest(scope)?, pools)))
            .min_by_key(|(oldest, _)| *oldest)
            .map(|(_, pools)| pools)
    }

    /// The pools of one more plugin, whose idle connections are closed when they are old or in the way.
    pub(super) fn pools<G: Connects>(&self, plugin: &str) -> Arc<Pools<G>> {
        let pools = Arc::new(Pools::new(plugin, self.places.waiters()));
        let idle: Arc<dyn Idle> = pools.clone();
        lock(&self.pools).push(Arc::downgrade(&idle));
        pools
    }

    fn idle_pools(&self) -> Vec<Arc<dyn Idle>> {
        let mut pools = lock(&self.pools);
        pools.retain(|pools| pools.strong_count() > 0);
        pools.iter().filter_map(Weak::upgrade).collect()
    }

    /// Closes idle connections as they grow old, for as long as the runtime lives. Needs a tokio runtime.
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

    /// Where background work is counted.
    pub fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Largest plugin file.
    pub fn max_package_bytes(&self) -> u64 {
        self.settings.max_package_bytes
    }

    /// Waits until every guest call and every cancellation is over. New ones are not prevented.
    pub async fn drain(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// What code depends on. How instances are allocated is no part of it.
pub(super) fn compiling(compiler: Compiler) -> Config {
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
    let mut config = compiling(compiler);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pooling(settings)));
    config
}

/// Every total is what one component may have, times the instances that a semaphore hands out: each of them may be
/// as large as allowed and the allocator never runs dry. If it did, it would fail rather than fall back to slower
/// memory.
fn pooling(settings: &PluginSettings) -> PoolingAllocationConfig {
    let instances = settings.max_instances.saturating_add(RESERVE);
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
        // What an instance leaves behind is given back at once. Keeping the lowest part of a memory would mean to write
        // zeros to it, which is the stack that most guests hardly touch: memory that nobody had used, for each place.
        .linear_memory_keep_resident(0)
        .table_keep_resident(16 << 10);
    pooling
}

/// A thread of its own: under full load a task might tick late exactly when it matters. It ends with the engine.
fn start_clock(engine: &Engine) -> std::io::Result<()> {
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

/// The same imports for every world. What reaches the network or files goes through `sockets`, `files` and
/// `http`, which ask the grants; the rest of WASI cannot reach anything.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    super::state::add_to_linker(&mut linker)?;
    linker.allow_shadowing(true);
    files::add_to_linker(&mut linker)?;
    sockets::add_to_linker(&mut linker)?;
    http::add_to_linker(&mut linker)?;
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
    async fn all_instances_together_may_be_as_large_as_each() {
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
        for _ in 0..settings.max_instances + RESERVE {
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
