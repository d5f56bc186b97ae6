//! Permits with a limit per owner: a workspace or a key.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::host_errors::{cancelled, overloaded};
use mindhost_base::{
    error::{Error, Result},
    locks::lock,
};
use mindhost_plugin_api::Call;

/// A semaphore of the same size for each owner. An unused one is removed.
pub struct KeyedPermits<K> {
    size: u32,
    by_owner: Mutex<HashMap<K, Weak<Semaphore>>>,
}

impl<K: Hash + Eq + Clone> KeyedPermits<K> {
    /// `size` permits for each owner.
    pub fn new(size: u32) -> Self {
        Self {
            size,
            by_owner: Mutex::default(),
        }
    }

    /// Acquires a permit of an owner. If none is free, calls `wait` and waits until the call ends, then fails with
    /// `refused`.
    pub async fn acquire<W>(
        &self,
        owner: &K,
        call: &Call,
        wait: impl FnOnce() -> W,
        refused: impl FnOnce(u32) -> Error,
    ) -> Result<OwnedSemaphorePermit> {
        let semaphore = self.of(owner);
        if let Ok(permit) = Arc::clone(&semaphore).try_acquire_owned() {
            return Ok(permit);
        }
        let _waiting = wait();
        tokio::select! {
            permit = semaphore.acquire_owned() => permit.map_err(Error::internal),
            () = call.cancel.cancelled() => Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => Err(refused(self.size)),
        }
    }

    fn of(&self, owner: &K) -> Arc<Semaphore> {
        let mut semaphores = lock(&self.by_owner);
        if let Some(semaphore) = semaphores.get(owner).and_then(Weak::upgrade) {
            return semaphore;
        }
        semaphores.retain(|_, semaphore| semaphore.strong_count() > 0);
        let semaphore = Arc::new(Semaphore::new(self.size as usize));
        semaphores.insert(owner.clone(), Arc::downgrade(&semaphore));
        semaphore
    }
}

/// Calls that wait for a permit. A connection that becomes idle is closed for them.
#[derive(Default)]
pub struct Waiters {
    /// Calls that wait for a permit of the host or of a workspace.
    all: AtomicUsize,
    of_workspaces: Mutex<HashMap<String, usize>>,
    of_host: AtomicUsize,
}

/// Counts a waiting call until it is dropped.
pub struct WaitGuard {
    waiters: Arc<Waiters>,
    workspace: Option<String>,
}

impl Waiters {
    /// The number of waiting calls.
    pub fn count(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// Whether a call waits for a permit that an idle connection of this workspace holds.
    pub fn wants_permit_in(&self, workspace: &str) -> bool {
        self.all.load(Ordering::SeqCst) > 0
            && (self.of_host.load(Ordering::SeqCst) > 0
                || lock(&self.of_workspaces).contains_key(workspace))
    }

    /// Counts a call that waits for a permit of a workspace, or of the host.
    pub fn add(self: &Arc<Self>, workspace: Option<&str>) -> WaitGuard {
        match workspace {
            None => _ = self.of_host.fetch_add(1, Ordering::SeqCst),
            Some(name) => {
                *lock(&self.of_workspaces)
                    .entry(name.to_owned())
                    .or_default() += 1
            }
        }
        self.all.fetch_add(1, Ordering::SeqCst);
        WaitGuard {
            waiters: Arc::clone(self),
            workspace: workspace.map(str::to_owned),
        }
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        self.waiters.all.fetch_sub(1, Ordering::SeqCst);
        let Some(name) = &self.workspace else {
            self.waiters.of_host.fetch_sub(1, Ordering::SeqCst);
            return;
        };
        let mut waiting = lock(&self.waiters.of_workspaces);
        if let Some(count) = waiting.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(name);
            }
        }
    }
}

/// The error of a workspace at its instance limit.
pub fn workspace_limit_reached(size: u32) -> Error {
    overloaded(format!(
        "all {size} plugin instances that one workspace may have are in use (plugins.max_workspace_instances); retry \
         when another call has finished"
    ))
}

/// The error of a workspace at its cancellation limit.
pub fn cancel_limit_reached(size: u32) -> Error {
    overloaded(format!(
        "limit of {size} concurrent cancellations of one workspace reached; try again"
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;

    use super::*;

    fn short_call() -> Call {
        Call::new(Duration::from_millis(20), CancellationToken::new())
    }

    #[tokio::test]
    async fn permit_belongs_to_one_owner_and_is_released_on_drop() {
        let semaphores = KeyedPermits::new(2);
        let take = async |owner: &str| {
            let owner = owner.to_owned();
            semaphores
                .acquire(&owner, &short_call(), || (), workspace_limit_reached)
                .await
        };
        let first = take("one").await.ok();
        let second = take("one").await.ok();
        assert!(first.is_some() && second.is_some());
        let refused = take("one").await.err().unwrap();
        assert!(
            refused
                .message()
                .contains("plugins.max_workspace_instances")
        );
        let other = take("other").await;
        assert!(other.is_ok());
        drop(first);
        assert!(take("one").await.is_ok());
        drop((second, other));
        assert!(take("third").await.is_ok());
        assert_eq!(lock(&semaphores.by_owner).len(), 1, "nothing is kept");
    }

    #[test]
    fn idle_connection_is_closed_for_a_call_that_can_use_its_permit() {
        let waiters = Arc::new(Waiters::default());
        let own = waiters.add(Some("crowded"));
        assert!(waiters.wants_permit_in("crowded"));
        assert!(!waiters.wants_permit_in("other"));
        let any = waiters.add(None);
        assert!(waiters.wants_permit_in("other"));
        assert_eq!(waiters.count(), 2);
        drop((own, any));
        assert!(!waiters.wants_permit_in("crowded"));
        assert!(lock(&waiters.of_workspaces).is_empty());
    }
}
