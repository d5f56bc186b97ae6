//! Memory and handle limits of instances.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::ResourceLimiter;

/// The scope of a memory budget.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All plugins.
    Host,
    /// All targets of one workspace, by its name.
    Workspace(String),
    /// All instances of one plugin, by its name.
    Plugin(String),
    /// One datasource or provider, by its id.
    Target(String),
}

/// The linear memory of some instances. The budget of a target lies within that of its workspace, which lies within
/// that of the host.
#[derive(Debug)]
pub struct MemoryBudget {
    scope: Scope,
    used: AtomicU64,
    max: u64,
    within: Vec<Arc<MemoryBudget>>,
}

impl MemoryBudget {
    /// A budget of `max` bytes for all.
    pub fn new(max: u64) -> Arc<Self> {
        Arc::new(Self {
            scope: Scope::Host,
            used: AtomicU64::new(0),
            max,
            within: Vec::new(),
        })
    }

    /// A budget of `max` bytes within other budgets.
    pub fn within(budgets: Vec<Arc<Self>>, scope: Scope, max: u64) -> Arc<Self> {
        Arc::new(Self {
            scope,
            used: AtomicU64::new(0),
            max,
            within: budgets,
        })
    }

    /// Reserves memory, or returns the exhausted scope.
    fn take(&self, bytes: u64) -> Result<(), &Scope> {
        let grown = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.max);
        self.used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, grown)
            .map_err(|_| &self.scope)?;
        for (taken, within) in self.within.iter().enumerate() {
            if let Err(scope) = within.take(bytes) {
                self.within
                    .iter()
                    .take(taken)
                    .for_each(|one| one.give(bytes));
                self.used.fetch_sub(bytes, Ordering::AcqRel);
                return Err(scope);
            }
        }
        Ok(())
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::AcqRel);
        self.within.iter().for_each(|within| within.give(bytes));
    }
}

/// Drops an idle connection of a scope to free its memory; false if there is none.
pub type Reclaim = Box<dyn Fn(&Scope) -> bool + Send + Sync>;

/// The file descriptors of one instance. Without a limit one guest could use up those of the process.
#[derive(Debug)]
pub struct Handles {
    sockets: Arc<Semaphore>,
    files: AtomicU32,
    streams: Arc<Semaphore>,
}

/// Counts one handle until the host closes it.
pub type HandlePermit = OwnedSemaphorePermit;

impl Default for Handles {
    fn default() -> Self {
        Self {
            sockets: Arc::new(Semaphore::new(Self::MAX_SOCKETS)),
            files: AtomicU32::new(0),
            streams: Arc::new(Semaphore::new(Self::MAX_STREAMS)),
        }
    }
}

impl Handles {
    /// Sockets per instance: one connection, tried at several addresses.
    const MAX_SOCKETS: usize = 64;
    /// Open files per instance.
    const MAX_FILES: u32 = 64;
    /// File readers and directory listings per instance. A closed file stays open until its last reader is dropped.
    const MAX_STREAMS: usize = 64;

    /// A permit for one more socket, if one is free.
    pub fn take_socket(&self) -> Option<HandlePermit> {
        Arc::clone(&self.sockets).try_acquire_owned().ok()
    }

    /// A permit for one more file reader, if one is free.
    pub fn take_stream(&self) -> Option<HandlePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }

    /// Counts one more open file, if allowed; [`Self::give_file`] releases it.
    pub fn take_file(&self) -> bool {
        let more = |open: u32| (open < Self::MAX_FILES).then_some(open + 1);
        let taken = self
            .files
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok()
    }

    /// Releases a closed file.
    pub fn give_file(&self) {
        let less = |open: u32| Some(open.saturating_sub(1));
        let _ = self
            .files
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// The limit that a guest exceeded, which wasmtime's error does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExceededLimit {
    /// The memory limit of the instance.
    Instance,
    /// A shared memory budget.
    Shared(Scope),
    /// The number of elements in the tables of the instance.
    Table,
}

/// The limiter of one store. Releases its memory on drop.
pub struct Limiter {
    budget: Arc<MemoryBudget>,
    reclaim: Reclaim,
    max: u64,
    used: u64,
    exceeded: Option<ExceededLimit>,
}

impl Limiter {
    /// Table elements of one guest. A large program has some ten thousand functions.
    const MAX_TABLE: usize = 100_000;

    /// A limiter of `max` bytes within `budget`. If that is exhausted, `reclaim` may free memory.
    pub fn new(budget: Arc<MemoryBudget>, max: u64, reclaim: Reclaim) -> Self {
        Self {
            budget,
            reclaim,
            max,
            used: 0,
            exceeded: None,
        }
    }

    /// The memory of the guest in bytes.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The limit that was exceeded, if any.
    pub fn exceeded(&self) -> Option<&ExceededLimit> {
        self.exceeded.as_ref()
    }

    fn refuse(&mut self, what: ExceededLimit) -> wasmtime::Result<bool> {
        self.exceeded = Some(what);
        // A trap rather than -1: few guests handle a failed growth, and a trap gives the reason.
        Err(wasmtime::Error::msg("memory limit reached"))
    }
}

impl Drop for Limiter {
    fn drop(&mut self) {
        self.budget.give(self.used);
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current) as u64;
        if self.used.saturating_add(more) > self.max {
            return self.refuse(ExceededLimit::Instance);
        }
        // The loop ends, because each round drops an idle connection.
        while let Err(scope) = self.budget.take(more) {
            if !(self.reclaim)(scope) {
                let scope = scope.clone();
                return self.refuse(ExceededLimit::Shared(scope));
            }
        }
        self.used += more;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > Self::MAX_TABLE {
            return self.refuse(ExceededLimit::Table);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(budget: &Arc<MemoryBudget>) -> Limiter {
        Limiter::new(Arc::clone(budget), 80, Box::new(|_| false))
    }

    fn share(of: &Arc<MemoryBudget>, scope: Scope, max: u64) -> Arc<MemoryBudget> {
        MemoryBudget::within(vec![Arc::clone(of)], scope, max)
    }

    fn shared(limiter: &Limiter) -> Scope {
        match limiter.exceeded() {
            Some(ExceededLimit::Shared(scope)) => scope.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn dropped_instance_releases_its_memory() {
        let budget = MemoryBudget::new(100);
        let mut first = limiter(&budget);
        assert!(first.memory_growing(0, 70, None).is_ok());
        let mut second = limiter(&budget);
        assert!(second.memory_growing(0, 40, None).is_err());
        assert_eq!(shared(&second), Scope::Host);
        drop(first);
        assert!(second.memory_growing(0, 40, None).is_ok());
        assert!(second.memory_growing(40, 90, None).is_err());
        assert_eq!(second.exceeded(), Some(&ExceededLimit::Instance));
    }

    #[test]
    fn budget_of_a_scope_is_not_exceeded() {
        let all = MemoryBudget::new(100);
        let workspace = share(&all, Scope::Workspace("w".into()), 70);
        let target = share(&workspace, Scope::Target("t".into()), 50);
        let mut one = limiter(&target);
        assert!(one.memory_growing(0, 50, None).is_ok());
        assert!(one.memory_growing(50, 51, None).is_err());
        assert_eq!(shared(&one), Scope::Target("t".into()));
        let mut other = limiter(&share(&workspace, Scope::Target("u".into()), 50));
        assert!(other.memory_growing(0, 21, None).is_err());
        assert_eq!(shared(&other), Scope::Workspace("w".into()));
        let mut elsewhere = limiter(&share(&all, Scope::Workspace("x".into()), 70));
        assert!(elsewhere.memory_growing(0, 50, None).is_ok());
        // A refused reservation takes nothing.
        assert!(other.memory_growing(0, 1, None).is_err());
        drop((one, elsewhere));
        assert!(other.memory_growing(0, 50, None).is_ok());
    }

    #[test]
    fn refusal_of_one_budget_releases_the_others() {
        let (all, plugin) = (MemoryBudget::new(100), MemoryBudget::new(30));
        let both = vec![Arc::clone(&all), Arc::clone(&plugin)];
        let target = MemoryBudget::within(both, Scope::Target("t".into()), 100);
        let mut one = limiter(&target);
        assert!(one.memory_growing(0, 30, None).is_ok());
        assert!(one.memory_growing(30, 31, None).is_err());
        assert_eq!((all.used(), plugin.used(), target.used()), (30, 30, 30));
    }

    #[test]
    fn idle_memory_is_reclaimed_first() {
        let budget = MemoryBudget::new(100);
        let mut idle = limiter(&budget);
        assert!(idle.memory_growing(0, 80, None).is_ok());
        let idle = std::sync::Mutex::new(Some(idle));
        let reclaim = Box::new(move |_: &Scope| idle.lock().unwrap().take().is_some());
        let mut busy = Limiter::new(Arc::clone(&budget), 80, reclaim);
        assert!(busy.memory_growing(0, 60, None).is_ok());
        assert!(busy.memory_growing(60, 80, None).is_ok());
    }
}
