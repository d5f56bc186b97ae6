//! One wasmtime engine for all plugins: the pooling allocator, the clock that interrupts guests, the linker.

use std::{
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, component::Linker,
};

use super::{files, instance, limits::MemoryBudget, pool::Pools, sockets, state::State};
use crate::{
    config::PluginSettings,
    error::Result,
    locks::lock,
    plugins::{Call, policy::Policy},
};

/// How often a running guest is interrupted, so that deadlines are kept and neighbours get their turn.
const TICK: Duration = Duration::from_millis(10);
/// Core instances that one component may consist of; interpreters are split into several.
const MODULES_PER_COMPONENT: u32 = 24;
/// Entries of one function table; an interpreter has some ten thousand functions.
const TABLE_ELEMENTS: usize = 100_000;
/// Instances above the configured number, kept for `cancel` and for trying out new plugins.
const RESERVE: u32 = 32;

/// What all plugins of a host share.
pub struct Runtime {
    pub(super) engine: Engine,
    pub(super) linker: Linker<State>,
    pub(super) settings: PluginSettings,
    pub(super) policy: Arc<dyn Policy>,
    pub(super) memory: Arc<MemoryBudget>,
    /// Places for instances that serve requests.
    pub(super) places: Arc<Semaphore>,
    /// Places for instances that cancel, so that a full house can still be emptied.
    pub(super) cancel_places: Arc<Semaphore>,
    /// Every task that runs guest code or winds a call up.
    pub(super) tasks: TaskTracker,
    /// Where idle connections lie that can give their place away.
    pools: Mutex<Vec<Weak<Pools>>>,
}

impl Runtime {
    /// Reserves the address space of all instances and starts the clock. Call it inside a tokio runtime.
    pub fn new(settings: PluginSettings, policy: Arc<dyn Policy>) -> wasmtime::Result<Arc<Self>> {
        let engine = Engine::new(&config(&settings))?;
        start_clock(&engine)?;
        let linker = linker(&engine)?;
        let runtime = Arc::new(Self {
            memory: MemoryBudget::new(settings.max_total_memory_bytes),
            places: Arc::new(Semaphore::new(settings.max_instances as usize)),
            cancel_places: Arc::new(Semaphore::new(RESERVE as usize)),
            tasks: TaskTracker::new(),
            pools: Mutex::default(),
            engine,
            linker,
            settings,
            policy,
        });
        runtime.start_sweeping();
        Ok(runtime)
    }

    /// A place for one more instance; an idle connection gives up its own when there is none.
    pub(super) async fn place(&self, call: &Call) -> Result<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(permit);
        }
        let idle = self.idle_pools().into_iter();
        let oldest = idle
            .filter_map(|pools| Some((pools.oldest()?, pools)))
            .min_by_key(|(oldest, _)| *oldest);
        if let Some((_, pools)) = oldest {
            pools.evict();
        }
        instance::place(&self.places, call).await
    }

    /// Lets the idle connections of a plugin be closed when they are old or in the way.
    pub(super) fn register(&self, pools: &Arc<Pools>) {
        lock(&self.pools).push(Arc::downgrade(pools));
    }

    fn idle_pools(&self) -> Vec<Arc<Pools>> {
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

    /// Waits until every guest call and every cancellation is over. New ones are not prevented.
    pub async fn drain(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

fn config(settings: &PluginSettings) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .epoch_interruption(true)
        .shared_memory(false)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pooling(settings)));
    config
}

/// Every count follows from the number of instances, which a semaphore hands out: the allocator itself never
/// runs dry, and if it did, it would fail rather than fall back to slower memory.
fn pooling(settings: &PluginSettings) -> PoolingAllocationConfig {
    let instances = settings.max_instances.saturating_add(RESERVE);
    let page = 64 << 10;
    let memory = settings.max_memory_bytes.div_ceil(page) * page;
    let mut pooling = PoolingAllocationConfig::new();
    pooling
        .total_component_instances(instances)
        .total_core_instances(instances.saturating_mul(8))
        .total_memories(instances.saturating_mul(2))
        .total_tables(instances.saturating_mul(4))
        .total_stacks(instances)
        .max_core_instances_per_component(MODULES_PER_COMPONENT)
        .max_memories_per_component(4)
        .max_tables_per_component(MODULES_PER_COMPONENT)
        .max_tables_per_module(8)
        .table_elements(TABLE_ELEMENTS)
        .max_component_instance_size(8 << 20)
        .max_core_instance_size(8 << 20)
        .max_memory_size(usize::try_from(memory).unwrap_or(usize::MAX))
        .linear_memory_keep_resident(256 << 10)
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
    linker.allow_shadowing(false);
    Ok(linker)
}
