//! What one workspace, or one key, may take of the room for instances.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::instance::{self, cancelled};
use mindhost_base::{
    error::{Error, Result},
    locks::lock,
};
use mindhost_plugin_api::Call;

/// Portions of one size, by whose they are. One of which nothing is taken is forgotten.
pub struct Portions<K> {
    size: u32,
    by_owner: Mutex<HashMap<K, Weak<Semaphore>>>,
}

impl<K: Hash + Eq + Clone> Portions<K> {
    /// Portions of `size`.
    pub fn new(size: u32) -> Self {
        Self {
            size,
            by_owner: Mutex::default(),
        }
    }

    /// Takes a part of the owner's portion. Where nothing is left of it, `wait` is told, and the wait ends with the call,
    /// with what `refused` says.
    pub async fn take<W>(
        &self,
        owner: &K,
        call: &Call,
        wait: impl FnOnce() -> W,
        refused: impl FnOnce(u32) -> Error,
    ) -> Result<OwnedSemaphorePermit> {
        let portion = self.of(owner);
        if let Ok(permit) = Arc::clone(&portion).try_acquire_owned() {
            return Ok(permit);
        }
        let _waiting = wait();
        tokio::select! {
            permit = portion.acquire_owned() => permit.map_err(Error::internal),
            () = call.cancel.cancelled() => Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => Err(refused(self.size)),
        }
    }

    fn of(&self, owner: &K) -> Arc<Semaphore> {
        let mut portions = lock(&self.by_owner);
        if let Some(portion) = portions.get(owner).and_then(Weak::upgrade) {
            return portion;
        }
        portions.retain(|_, portion| portion.strong_count() > 0);
        let portion = Arc::new(Semaphore::new(self.size as usize));
        portions.insert(owner.clone(), Arc::downgrade(&portion));
        portion
    }
}

/// Calls that wait for room: connections that become idle make it.
#[derive(Default)]
pub struct Waiters {
    /// Those that wait for the room of all, and those that wait for their workspace's.
    all: AtomicUsize,
    of_workspaces: Mutex<HashMap<String, usize>>,
    of_all: AtomicUsize,
}

/// A call that waits, until it is dropped.
pub struct Waiting {
    waiters: Arc<Waiters>,
    workspace: Option<String>,
}

impl Waiters {
    /// Calls that wait.
    pub fn count(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// Whether room is wanted that an idle connection of this workspace takes.
    pub fn want_room_of(&self, workspace: &str) -> bool {
        self.all.load(Ordering::SeqCst) > 0
            && (self.of_all.load(Ordering::SeqCst) > 0
                || lock(&self.of_workspaces).contains_key(workspace))
    }

    /// One more that waits, for the room of its workspace or for that of all.
    pub fn add(self: &Arc<Self>, workspace: Option<&str>) -> Waiting {
        match workspace {
            None => _ = self.of_all.fetch_add(1, Ordering::SeqCst),
            Some(name) => {
                *lock(&self.of_workspaces)
                    .entry(name.to_owned())
                    .or_default() += 1
            }
        }
        self.all.fetch_add(1, Ordering::SeqCst);
        Waiting {
            waiters: Arc::clone(self),
            workspace: workspace.map(str::to_owned),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.waiters.all.fetch_sub(1, Ordering::SeqCst);
        let Some(name) = &self.workspace else {
            self.waiters.of_all.fetch_sub(1, Ordering::SeqCst);
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

/// The workspace has as many instances as it may have.
pub fn workspace_is_full(size: u32) -> Error {
    instance::overloaded(format!(
        "all {size} plugin instances that one workspace may have are in use (plugins.max_workspace_instances); retry \
         when another call has finished"
    ))
}

/// The workspace cancels as many statements as it may at a time.
pub fn cancelling_is_full(size: u32) -> Error {
    instance::overloaded(format!(
        "{size} statements of one workspace are being cancelled, as many as may at a time"
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;

    use super::*;

    fn soon() -> Call {
        Call::new(Duration::from_millis(20), CancellationToken::new())
    }

    #[tokio::test]
    async fn a_portion_is_for_its_owner_alone_and_comes_back() {
        let portions = Portions::new(2);
        let take = async |owner: &str| {
            let owner = owner.to_owned();
            portions
                .take(&owner, &soon(), || (), workspace_is_full)
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
        assert_eq!(lock(&portions.by_owner).len(), 1, "nothing is kept");
    }

    #[test]
    fn idle_connections_make_room_for_those_who_can_use_it() {
        let waiters = Arc::new(Waiters::default());
        let own = waiters.add(Some("crowded"));
        assert!(waiters.want_room_of("crowded"));
        assert!(!waiters.want_room_of("other"));
        let any = waiters.add(None);
        assert!(waiters.want_room_of("other"));
        assert_eq!(waiters.count(), 2);
        drop((own, any));
        assert!(!waiters.want_room_of("crowded"));
        assert!(lock(&waiters.of_workspaces).is_empty());
    }
}
