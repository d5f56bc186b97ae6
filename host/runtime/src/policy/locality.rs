//! Whether all callers are on this machine, which decides `egress.allow_loopback = "auto"`.

use std::sync::atomic::{AtomicBool, Ordering};

/// What the server knows about its callers: first from the settings, then from requests.
#[derive(Debug)]
pub struct Locality {
    /// Whether there is at most one workspace, whose owner then owns the machine.
    sole_workspace: AtomicBool,
    /// Set by the first remote request, and never reset.
    remote: AtomicBool,
    /// Whether it was a request that set `remote`, not the settings.
    ended: AtomicBool,
}

impl Locality {
    /// `local` comes from the settings, `sole_workspace` from the store.
    pub fn new(local: bool, sole_workspace: bool) -> Self {
        Self {
            sole_workspace: AtomicBool::new(sole_workspace),
            remote: AtomicBool::new(!local),
            ended: AtomicBool::new(false),
        }
    }

    /// Whether all callers are on this machine, as far as the server knows.
    pub fn is_local(&self) -> bool {
        !self.is_remote() && self.sole_workspace.load(Ordering::Relaxed)
    }

    /// Whether there are remote requests, or the settings allow them.
    pub fn is_remote(&self) -> bool {
        self.remote.load(Ordering::Relaxed)
    }

    /// Records a remote request. True for the first one.
    pub fn saw_remote(&self) -> bool {
        let is_first = !self.remote.swap(true, Ordering::Relaxed);
        if is_first {
            self.ended.store(true, Ordering::Relaxed);
        }
        is_first
    }

    /// Whether all callers seemed to be on this machine until the first remote request.
    pub fn was_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Sets whether there is at most one workspace.
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
        assert!(locality.was_ended());
        let remote = Locality::new(false, true);
        assert!(!remote.is_local() && !remote.saw_remote() && !remote.was_ended());
    }
}
