//! Memory of statements: a share for each, within one for all.

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

/// A number of bytes that may be taken.
#[derive(Debug)]
struct Share {
    max: usize,
    used: AtomicUsize,
}

impl Share {
    fn new(max: usize) -> Self {
        Self {
            max,
            used: AtomicUsize::new(0),
        }
    }

    fn try_take(&self, bytes: usize) -> bool {
        let grown = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.max);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown)
            .is_ok()
    }

    fn take(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// What all statements use together.
#[derive(Debug)]
pub struct HostMemory(Share);

impl HostMemory {
    /// Room for so many bytes.
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self(Share::new(max)))
    }

    /// Bytes in use.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.0.used()
    }
}

/// What one statement uses. Its end gives back what is left.
#[derive(Debug)]
pub struct StatementMemory {
    own: Share,
    host: Arc<HostMemory>,
    host_was_full: AtomicBool,
}

impl StatementMemory {
    /// Room for so many bytes, within the host's.
    pub fn new(max: usize, host: &Arc<HostMemory>) -> Arc<Self> {
        Arc::new(Self {
            own: Share::new(max),
            host: Arc::clone(host),
            host_was_full: AtomicBool::new(false),
        })
    }

    /// Bytes that it may use at most.
    pub fn max(&self) -> usize {
        self.own.max
    }

    /// Whether it was the others who left no room.
    pub fn host_was_full(&self) -> bool {
        self.host_was_full.load(Ordering::Relaxed)
    }
}

impl MemoryPool for StatementMemory {
    fn name(&self) -> &str {
        "statement"
    }

    fn grow(&self, _: &MemoryReservation, additional: usize) {
        self.own.take(additional);
        self.host.0.take(additional);
    }

    fn shrink(&self, _: &MemoryReservation, shrink: usize) {
        self.own.give_back(shrink);
        self.host.0.give_back(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        if self.own.try_take(additional) {
            if self.host.0.try_take(additional) {
                return Ok(());
            }
            self.own.give_back(additional);
            self.host_was_full.store(true, Ordering::Relaxed);
        }
        let name = reservation.consumer().name();
        Err(DataFusionError::ResourcesExhausted(format!(
            "{name} needs {additional} bytes more"
        )))
    }

    fn reserved(&self) -> usize {
        self.own.used()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.own.max)
    }
}

impl fmt::Display for StatementMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "statement({} of {} bytes)",
            self.own.used(),
            self.own.max
        )
    }
}

impl Drop for StatementMemory {
    fn drop(&mut self) {
        self.host.0.give_back(self.own.used());
    }
}
