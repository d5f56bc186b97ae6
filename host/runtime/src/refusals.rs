//! What one instance was refused: for its log, and for the error that its caller gets.

use std::sync::{Arc, Mutex};

use super::state::GuestLog;
use mindhost_base::locks::lock;

/// Longest reason that is kept, in bytes.
const MAX_REASON: usize = 512;
/// Longest piece of a guest's text in a reason, in bytes.
const MAX_QUOTE: usize = 200;

/// The refusals of one instance. A reason may hold text of the guest, so it is cleaned before it is kept.
pub struct Refusals {
    log: Arc<GuestLog>,
    first: Mutex<Option<String>>,
}

impl Refusals {
    /// Refusals that go to `log` as well.
    pub fn new(log: Arc<GuestLog>) -> Arc<Self> {
        Arc::new(Self {
            log,
            first: Mutex::default(),
        })
    }

    /// Forgets what an earlier call was refused: it explains nothing of the next one.
    pub fn begin(&self) {
        *lock(&self.first) = None;
    }

    /// Remembers why something was refused. Of several reasons of one call the first counts: the others mostly
    /// follow from it.
    pub fn note(&self, why: &str) {
        let why = self.log.clean(why, MAX_REASON);
        self.log.refused(&why);
        lock(&self.first).get_or_insert(why);
    }

    /// A guest's text as it can stand in a reason.
    pub fn quoted(&self, text: &str) -> String {
        self.log.redacted(text, MAX_QUOTE)
    }

    /// Takes the reason of this call's first refusal.
    pub fn take(&self) -> Option<String> {
        lock(&self.first).take()
    }
}
