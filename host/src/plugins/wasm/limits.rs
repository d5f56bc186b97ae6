//! Memory limits of an instance, and of all together.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use wasmtime::ResourceLimiter;

/// Linear memory that all instances hold together.
#[derive(Debug)]
pub struct MemoryBudget {
    used: AtomicU64,
    max: u64,
}

impl MemoryBudget {
    /// A budget of `max` bytes.
    pub fn new(max: u64) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicU64::new(0),
            max,
        })
    }

    fn take(&self, bytes: u64) -> bool {
        let grown = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.max);
        self.used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, grown)
            .is_ok()
    }
}

/// Handles of the operating system that one instance holds. Without a limit one guest could use up those of
/// the whole process.
#[derive(Debug, Default)]
pub struct Handles {
    sockets: AtomicU32,
    files: AtomicU32,
}

impl Handles {
    /// Sockets that an instance may make in its life: one connection, tried at several addresses.
    const MAX_SOCKETS: u32 = 64;
    /// Files that an instance may have open at once.
    const MAX_FILES: u32 = 64;

    /// Whether one more socket may be made.
    pub fn take_socket(&self) -> bool {
        self.sockets.fetch_add(1, Ordering::Relaxed) < Self::MAX_SOCKETS
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The memory of this instance.
    Instance,
    /// The memory of all instances.
    Total,
    /// Elements of its tables.
    Table,
}

/// The limiter of one store. Gives back what it took when it is dropped.
#[derive(Debug)]
pub struct Limiter {
    budget: Arc<MemoryBudget>,
    max: u64,
    used: u64,
    exceeded: Option<Exceeded>,
}

impl Limiter {
    /// Most elements that the tables of one guest may have; a large program has some ten thousand functions.
    const MAX_TABLE: usize = 100_000;

    /// A limiter for at most `max` bytes, out of `budget`.
    pub fn new(budget: Arc<MemoryBudget>, max: u64) -> Self {
        Self {
            budget,
            max,
            used: 0,
            exceeded: None,
        }
    }

    /// Which limit was hit, if one was.
    pub fn exceeded(&self) -> Option<Exceeded> {
        self.exceeded
    }

    fn refuse(&mut self, what: Exceeded) -> wasmtime::Result<bool> {
        self.exceeded = Some(what);
        // A trap rather than -1: hardly a guest handles a failed growth, and a trap tells the reason.
        Err(wasmtime::Error::msg("memory limit reached"))
    }
}

impl Drop for Limiter {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.used, Ordering::AcqRel);
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
        if !self.budget.take(more) {
            return self.refuse(Exceeded::Total);
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

    #[test]
    fn a_dropped_instance_gives_its_memory_back() {
        let budget = MemoryBudget::new(100);
        let mut first = Limiter::new(Arc::clone(&budget), 80);
        assert!(first.memory_growing(0, 70, None).is_ok());
        let mut second = Limiter::new(Arc::clone(&budget), 80);
        assert!(second.memory_growing(0, 40, None).is_err());
        assert_eq!(second.exceeded(), Some(Exceeded::Total));
        drop(first);
        assert!(second.memory_growing(0, 40, None).is_ok());
        assert!(second.memory_growing(40, 90, None).is_err());
        assert_eq!(second.exceeded(), Some(Exceeded::Instance));
    }
}
