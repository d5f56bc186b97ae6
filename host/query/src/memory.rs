//! Limits of memory and of disk: one for each statement, within one for all.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use datafusion::{
    common::{DataFusionError, Result},
    execution::memory_pool::{
        FairSpillPool, GreedyMemoryPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
    },
};

/// A limit in bytes and what is in use.
#[derive(Debug)]
pub struct Budget {
    max: usize,
    used: AtomicUsize,
}

impl Budget {
    /// A limit of `max` bytes.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            used: AtomicUsize::new(0),
        }
    }

    /// The limit in bytes.
    pub fn max(&self) -> usize {
        self.max
    }

    /// Takes so many bytes, if that many are left.
    pub fn try_reserve(&self, bytes: usize) -> bool {
        let grown = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.max);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown)
            .is_ok()
    }

    fn reserve(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Gives bytes back.
    pub fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes in use.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// The memory of all statements.
#[derive(Debug)]
pub struct HostMemory(Budget);

impl HostMemory {
    /// A limit of `max` bytes.
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self(Budget::new(max)))
    }

    /// Bytes in use.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.0.used()
    }
}

/// The memory of one statement. The drop releases the rest.
#[derive(Debug)]
pub struct StatementMemory {
    max: usize,
    /// Divides the memory among the operators of the statement.
    pool: Arc<dyn MemoryPool>,
    host: Arc<HostMemory>,
    host_limit_reached: AtomicBool,
}

impl StatementMemory {
    /// A limit of `max` bytes, within that of the host. Where operators can spill, each of them gets an equal part, so
    /// that the first one does not leave too little for the next to work with.
    pub fn new(max: usize, can_spill: bool, host: &Arc<HostMemory>) -> Arc<Self> {
        let pool: Arc<dyn MemoryPool> = match can_spill {
            true => Arc::new(FairSpillPool::new(max)),
            false => Arc::new(GreedyMemoryPool::new(max)),
        };
        Arc::new(Self {
            max,
            pool,
            host: Arc::clone(host),
            host_limit_reached: AtomicBool::new(false),
        })
    }

    /// The limit in bytes.
    pub fn max(&self) -> usize {
        self.max
    }

    /// Whether a reservation failed at the limit of the host.
    pub fn host_limit_reached(&self) -> bool {
        self.host_limit_reached.load(Ordering::Relaxed)
    }
}

impl MemoryPool for StatementMemory {
    fn name(&self) -> &str {
        "statement"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.pool.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.pool.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.pool.grow(reservation, additional);
        self.host.0.reserve(additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.pool.shrink(reservation, shrink);
        self.host.0.release(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.pool.try_grow(reservation, additional)?;
        if self.host.0.try_reserve(additional) {
            return Ok(());
        }
        self.pool.shrink(reservation, additional);
        self.host_limit_reached.store(true, Ordering::Relaxed);
        let name = reservation.consumer().name();
        Err(DataFusionError::ResourcesExhausted(format!(
            "{name} needs {additional} bytes more"
        )))
    }

    fn reserved(&self) -> usize {
        self.pool.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.max)
    }
}

impl fmt::Display for StatementMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.pool.reserved();
        write!(f, "statement({used} of {} bytes)", self.max)
    }
}

impl Drop for StatementMemory {
    fn drop(&mut self) {
        self.host.0.release(self.pool.reserved());
    }
}
