//! Memory limits: one for each statement, within one for all.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use datafusion::{
    common::{DataFusionError, Result},
    execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation},
};

/// A limit in bytes and what is in use.
#[derive(Debug)]
struct Budget {
    max: usize,
    used: AtomicUsize,
}

impl Budget {
    fn new(max: usize) -> Self {
        Self {
            max,
            used: AtomicUsize::new(0),
        }
    }

    fn try_reserve(&self, bytes: usize) -> bool {
        let grown = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.max);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown)
            .is_ok()
    }

    fn reserve(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn used(&self) -> usize {
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
    statement: Budget,
    host: Arc<HostMemory>,
    host_limit_reached: AtomicBool,
}

impl StatementMemory {
    /// A limit of `max` bytes, within that of the host.
    pub fn new(max: usize, host: &Arc<HostMemory>) -> Arc<Self> {
        Arc::new(Self {
            statement: Budget::new(max),
            host: Arc::clone(host),
            host_limit_reached: AtomicBool::new(false),
        })
    }

    /// The limit in bytes.
    pub fn max(&self) -> usize {
        self.statement.max
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

    fn grow(&self, _: &MemoryReservation, additional: usize) {
        self.statement.reserve(additional);
        self.host.0.reserve(additional);
    }

    fn shrink(&self, _: &MemoryReservation, shrink: usize) {
        self.statement.release(shrink);
        self.host.0.release(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        if self.statement.try_reserve(additional) {
            if self.host.0.try_reserve(additional) {
                return Ok(());
            }
            self.statement.release(additional);
            self.host_limit_reached.store(true, Ordering::Relaxed);
        }
        let name = reservation.consumer().name();
        Err(DataFusionError::ResourcesExhausted(format!(
            "{name} needs {additional} bytes more"
        )))
    }

    fn reserved(&self) -> usize {
        self.statement.used()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.statement.max)
    }
}

impl fmt::Display for StatementMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "statement({} of {} bytes)",
            self.statement.used(),
            self.statement.max
        )
    }
}

impl Drop for StatementMemory {
    fn drop(&mut self) {
        self.host.0.release(self.statement.used());
    }
}
