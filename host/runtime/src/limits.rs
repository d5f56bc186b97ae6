//! Memory limits of an instance, and of all together.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::ResourceLimiter;

/// Whose memory it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All plugins'.
    Host,
    /// That of one workspace's targets, by its name.
    Workspace(String),
    /// That of one plugin, by its name.
    Plugin(String),
    /// That of one datasource or provider, by its id.
    Target(String),
}

/// Linear memory that some instances hold together. A target's lies within its workspace's, and that within all.
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

    /// At most `max` bytes of each of these budgets, for some.
    pub fn within(budgets: Vec<Arc<Self>>, scope: Scope, max: u64) -> Arc<Self> {
        Arc::new(Self {
            scope,
            used: AtomicU64::new(0),
            max,
            within: budgets,
        })
    }

    /// Takes memory, or says whose is used up.
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

    /// Bytes that are taken now.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::AcqRel);
        self.within.iter().for_each(|within| within.give(bytes));
    }
}

/// Frees memory of a scope that only idle connections hold; false when there is none.
pub type Reclaim = Box<dyn Fn(&Scope) -> bool + Send + Sync>;

/// Handles of the operating system that one instance holds. Without a limit one guest could use up those of
/// the whole process.
#[derive(Debug)]
pub struct Handles {
    sockets: Arc<Semaphore>,
    files: AtomicU32,
    streams: Arc<Semaphore>,
}

/// The room that one handle takes, for as long as anything of the host holds it open.
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
    /// Sockets that an instance may have at once: one connection, tried at several addresses.
    const MAX_SOCKETS: usize = 64;
    /// Files that an instance may have open at once.
    const MAX_FILES: u32 = 64;
    /// Files that it may be reading from at once: one that it has closed stays open until its last reader is gone.
    const MAX_STREAMS: usize = 64;

    /// A permit for one more socket, if one is free.
    pub fn take_socket(&self) -> Option<HandlePermit> {
        Arc::clone(&self.sockets).try_acquire_owned().ok()
    }

    /// A permit for one more file reader, if one is free.
    pub fn take_stream(&self) -> Option<HandlePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }

    /// Whether one more file may be opened; [`Self::give_file`] gives it back.
    pub fn take_file(&self) -> bool {
        let more = |open: u32| (open < Self::MAX_FILES).then_some(open + 1);
        let taken = self
            .files
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok()
    }

    /// A file was closed.
    pub fn give_file(&self) {
        let less = |open: u32| Some(open.saturating_sub(1));
        let _ = self
            .files
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// Which limit a guest ran into. wasmtime's own error does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The memory of this instance.
    Instance,
    /// The memory of several instances.
    Shared(Scope),
    /// Elements of its tables.
    Table,
}

/// The limiter of one store. Gives back what it took when it is dropped.
pub struct Limiter {
    budget: Arc<MemoryBudget>,
    reclaim: Reclaim,
    max: u64,
    used: u64,
    exceeded: Option<Exceeded>,
}

impl Limiter {
    /// Most elements that the tables of one guest may have; a large program has some ten thousand functions.
    const MAX_TABLE: usize = 100_000;

    /// A limiter for at most `max` bytes, out of `budget`. Where that is used up, `reclaim` may help.
    pub fn new(budget: Arc<MemoryBudget>, max: u64, reclaim: Reclaim) -> Self {
        Self {
            budget,
            reclaim,
            max,
            used: 0,
            exceeded: None,
        }
    }

    /// Bytes that the guest has grown to.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Which limit was hit, if one was.
    pub fn exceeded(&self) -> Option<&Exceeded> {
        self.exceeded.as_ref()
    }

    fn refuse(&mut self, what: Exceeded) -> wasmtime::Result<bool> {
        self.exceeded = Some(what);
        // A trap rather than -1: hardly a guest handles a failed growth, and a trap tells the reason.
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
            return self.refuse(Exceeded::Instance);
        }
        // Ends: each time round an idle connection is gone.
        while let Err(scope) = self.budget.take(more) {
            if !(self.reclaim)(scope) {
                let scope = scope.clone();
                return self.refuse(Exceeded::Shared(scope));
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
            return self.refuse(Exceeded::Table);
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
            Some(Exceeded::Shared(scope)) => scope.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_dropped_instance_gives_its_memory_back() {
        let budget = MemoryBudget::new(100);
        let mut first = limiter(&budget);
        assert!(first.memory_growing(0, 70, None).is_ok());
        let mut second = limiter(&budget);
        assert!(second.memory_growing(0, 40, None).is_err());
        assert_eq!(shared(&second), Scope::Host);
        drop(first);
        assert!(second.memory_growing(0, 40, None).is_ok());
        assert!(second.memory_growing(40, 90, None).is_err());
        assert_eq!(second.exceeded(), Some(&Exceeded::Instance));
    }

    #[test]
    fn nobody_takes_more_than_his_share() {
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
        // What was refused was not taken.
        assert!(other.memory_growing(0, 1, None).is_err());
        drop((one, elsewhere));
        assert!(other.memory_growing(0, 50, None).is_ok());
    }

    #[test]
    fn what_one_of_several_budgets_refuses_the_others_get_back() {
        let (all, plugin) = (MemoryBudget::new(100), MemoryBudget::new(30));
        let both = vec![Arc::clone(&all), Arc::clone(&plugin)];
        let target = MemoryBudget::within(both, Scope::Target("t".into()), 100);
        let mut one = limiter(&target);
        assert!(one.memory_growing(0, 30, None).is_ok());
        assert!(one.memory_growing(30, 31, None).is_err());
        assert_eq!((all.used(), plugin.used(), target.used()), (30, 30, 30));
    }

    #[test]
    fn idle_memory_is_taken_back_first() {
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
