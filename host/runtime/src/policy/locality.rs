//! Whether everybody who can ask is on this machine: what `egress.allow_loopback = "auto"` goes by.

use std::sync::atomic::{AtomicBool, Ordering};

/// What the server knows of who can reach it. Starts as what the settings say, and is corrected by what is seen.
#[derive(Debug)]
pub struct Locality {
    /// Whether there is one workspace at most: its owner is the owner of the machine.
    sole_workspace: AtomicBool,
    /// Set by the first request from elsewhere, and never reset: the way that it took is still there.
    remote: AtomicBool,
}

impl Locality {
    /// `local` is what the settings say, `sole_workspace` what the store says.
    pub fn new(local: bool, sole_workspace: bool) -> Self {
        Self {
            sole_workspace: AtomicBool::new(sole_workspace),
            remote: AtomicBool::new(!local),
        }
    }

    /// Whether everybody who can ask is on this machine, as far as can be told.
    pub fn is_local(&self) -> bool {
        !self.is_remote() && self.sole_workspace.load(Ordering::Relaxed)
    }

    /// Whether requests come from elsewhere too, or may by the settings.
    pub fn is_remote(&self) -> bool {
        self.remote.load(Ordering::Relaxed)
    }

    /// A request came from elsewhere. True for the first one.
    pub fn saw_remote(&self) -> bool {
        !self.remote.swap(true, Ordering::Relaxed)
    }

    /// Whether there is one workspace at most, from now on.
    pub fn set_sole_workspace(&self, sole: bool) {
        self.sole_workspace.store(sole, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_workspace_can_go_again_and_a_remote_request_cannot() {
        let locality = Locality::new(true, true);
        assert!(locality.is_local());
        locality.set_sole_workspace(false);
        assert!(!locality.is_local());
        locality.set_sole_workspace(true);
        assert!(locality.is_local());
        assert!(locality.saw_remote() && !locality.saw_remote());
        locality.set_sole_workspace(true);
        assert!(!locality.is_local());
        assert!(!Locality::new(false, true).is_local());
    }
}
