//! SQL over scanners: DataFusion plans and runs a guarded statement over the tables of a plugin that only yields rows.
//! The same over several datasources at once ([`federation`]). Only this crate names DataFusion. It never parses
//! unguarded SQL, and writes to disk only what it has sealed ([`spill`]).
//!
//! Statements run on threads of their own ([`QueryEngine`]), so that long computations do not delay requests. A task
//! owns the source ([`reader`]) and reads one batch at a time. Memory is limited for each statement and for all
//! ([`memory`]).

mod cast_types;
mod catalog;
mod checked_arithmetic;
mod column_names;
mod connection;
mod decode;
mod distinct_names;
mod encode;
mod errors;
mod exact_functions;
mod execution;
mod federated_connection;
pub mod federation;
mod filters;
mod float_aggregates;
mod float_values;
mod functions;
mod growing_functions;
mod join_filters;
mod meaning;
mod memory;
mod moving_frames;
mod names;
mod null_safe_joins;
mod ordered_texts;
mod page_order;
mod pass_through;
mod percentiles;
mod places;
mod plan;
mod plan_rules;
mod plan_size;
mod reader;
mod scans;
mod scheduler;
mod sieve;
mod slow_functions;
mod spill;
mod splitter;
mod table;
mod table_names;
#[cfg(test)]
mod tests;
mod timestamps;

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use tokio::runtime::{Builder, Handle};
use tokio_util::task::TaskTracker;

use self::{
    connection::QueryConnection, federated_connection::FederatedConnection, memory::HostMemory,
    scheduler::Scheduler, spill::HostDisk,
};
use mindhost_base::{config::PluginSettings, error::Result};
use mindhost_plugin_api::{
    Call, Connection, Connector, Dialect, Manifest, Plugin, Retirement, Target, scanner::Scanner,
};

/// Stack of the threads that plan and run. Trees of statements are deep, and are walked by recursion; the pages are
/// touched only when they are needed.
const STACK_BYTES: usize = 64 << 20;
/// Statements that may be planned at once, or paused within a join. Both wait and do not compute, so these are many
/// more than the threads that run.
const MAX_WAITING: usize = 256;
/// More threads than this share too little work.
const MAX_THREADS: usize = 8;

/// Where statements over scanners run.
pub struct QueryEngine {
    /// Absent where the threads could not be started.
    runtime: Option<tokio::runtime::Runtime>,
    threads: usize,
    scheduler: Arc<Scheduler>,
    memory: Arc<HostMemory>,
    memory_of_one: usize,
    /// Absent where nothing is kept on disk.
    disk: Option<Arc<HostDisk>>,
    disk_of_one: usize,
    /// What one statement over several datasources may move.
    moved_rows: u64,
    moved_bytes: u64,
    column_types: Arc<federation::ColumnTypes>,
    tasks: TaskTracker,
}

impl QueryEngine {
    /// Starts the threads. `spill` is the folder for what statements keep on disk; without one they keep nothing there.
    /// `tasks` counts what uses plugins in the background.
    pub fn new(settings: &PluginSettings, spill: Option<&Path>, tasks: TaskTracker) -> Arc<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = match settings.query_threads as usize {
            0 => (cores - 1).max(1),
            threads => threads,
        };
        let threads = threads.min(MAX_THREADS);
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .max_blocking_threads(MAX_WAITING)
            .thread_stack_size(STACK_BYTES)
            .thread_name("query")
            // Those who wait for an answer go before those who wait for a computation.
            .on_thread_start(|| {
                // Without it they are as good as the others.
                let _ = rustix::process::nice(5);
            })
            .enable_time()
            .build()
            .inspect_err(|error| tracing::error!(%error, "no threads for statements over scanners"))
            .ok();
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let disk_of_one = bytes(settings.query_spill_bytes);
        let disk_of_all = bytes(settings.max_total_query_spill_bytes);
        Arc::new(Self {
            runtime,
            threads,
            scheduler: Arc::new(Scheduler::new(threads)),
            memory: HostMemory::new(bytes(settings.max_total_query_memory_bytes)),
            memory_of_one: bytes(settings.query_memory_bytes),
            disk: spill
                .filter(|_| disk_of_one > 0)
                .map(|folder| HostDisk::new(folder, disk_of_all)),
            disk_of_one,
            moved_rows: settings.query_moved_rows,
            moved_bytes: settings.query_moved_bytes,
            column_types: Arc::default(),
            tasks,
        })
    }

    /// A connector that answers SQL out of the rows of a scanner.
    pub fn connector(self: &Arc<Self>, scanner: Arc<dyn Scanner>) -> QueryConnector {
        let mut manifest = scanner.manifest().clone();
        manifest.dialect = Some(Dialect::Datafusion);
        QueryConnector {
            engine: Arc::clone(self),
            scanner,
            manifest,
        }
    }

    /// A connection to several datasources, which tells `recorder` what it does.
    pub fn federated(
        self: &Arc<Self>,
        sources: Vec<Arc<dyn federation::SqlSource>>,
        recorder: Arc<federation::Recorder>,
        keys: federation::Keys,
    ) -> Box<dyn Connection> {
        Box::new(FederatedConnection::new(self, sources, recorder, keys))
    }

    fn handle(&self) -> Result<&Handle> {
        let runtime = self.runtime.as_ref();
        runtime.map(tokio::runtime::Runtime::handle).ok_or_else(|| {
            mindhost_base::error::Error::internal(
                "the threads for statements over scanners could not be started",
            )
        })
    }
}

impl Drop for QueryEngine {
    /// Threads cannot be waited for where a task drops this.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A scanner that answers SQL.
pub struct QueryConnector {
    engine: Arc<QueryEngine>,
    scanner: Arc<dyn Scanner>,
    /// The scanner's, with the dialect of this host.
    manifest: Manifest,
}

impl Plugin for QueryConnector {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn digest(&self) -> &str {
        self.scanner.digest()
    }

    fn retire(&self) -> Option<Retirement> {
        self.scanner.retire()
    }
}

#[async_trait]
impl Connector for QueryConnector {
    async fn connect(&self, target: &Target, call: &Call) -> Result<Box<dyn Connection>> {
        let source = self.scanner.open(target, call).await?;
        Ok(Box::new(QueryConnection::new(
            &self.engine,
            &target.id,
            source,
        )))
    }

    async fn forget(&self, target_id: &str) {
        self.scanner.forget(target_id).await;
    }
}
