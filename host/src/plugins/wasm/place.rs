//! Room for one instance: its number among all, and its share of the memory.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    engine::RESERVE,
    instance,
    limits::{MemoryBudget, Scope},
};
use crate::{
    config::PluginSettings,
    error::Result,
    locks::lock,
    plugins::{Call, Target},
};

/// Room for one instance, given back when it is dropped.
pub struct Place {
    /// What its memory is taken from.
    pub memory: Arc<MemoryBudget>,
    _permit: OwnedSemaphorePermit,
}

/// What is taken of the room that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Instances that serve requests.
    pub instances: u64,
    /// As many as there may be.
    pub max_instances: u64,
    /// Linear memory of all instances, in bytes.
    pub memory_bytes: u64,
    /// As much as there may be.
    pub max_memory_bytes: u64,
    /// Calls that wait for room.
    pub waiting: u64,
}

/// What one plugin may take.
pub struct Share {
    /// The settings as they are for it.
    pub settings: PluginSettings,
    /// Connections of one datasource, at most.
    pub max_connections: u32,
    /// What its instances have together, where that is limited.
    memory: Option<Arc<MemoryBudget>>,
}

/// The room that there is.
pub struct Places {
    /// For instances that serve requests.
    serving: Arc<Semaphore>,
    /// For instances that cancel, so that a full house can still be emptied.
    cancelling: Arc<Semaphore>,
    memory: Arc<MemoryBudget>,
    /// Memory of single targets and workspaces, while they have instances.
    shares: Mutex<HashMap<Scope, Weak<MemoryBudget>>>,
    max_workspace: u64,
    max_instances: u64,
    max_memory: u64,
    /// Calls that wait for room: connections that become idle make it.
    waiting: Arc<AtomicUsize>,
}

impl Places {
    /// As many as the settings allow.
    pub fn new(settings: &PluginSettings) -> Self {
        Self {
            serving: Arc::new(Semaphore::new(settings.max_instances as usize)),
            cancelling: Arc::new(Semaphore::new(RESERVE as usize)),
            memory: MemoryBudget::new(settings.max_total_memory_bytes),
            shares: Mutex::default(),
            max_instances: u64::from(settings.max_instances),
            max_memory: settings.max_total_memory_bytes,
            max_workspace: settings.max_workspace_memory_bytes,
            waiting: Arc::default(),
        }
    }

    /// What a plugin may take; all its versions share it.
    pub fn share_of(&self, plugin: &str, settings: &PluginSettings) -> Share {
        let own = settings.by_plugin.get(plugin).cloned().unwrap_or_default();
        let memory = own.max_total_memory_bytes.map(|max| {
            let scope = Scope::Plugin(plugin.to_owned());
            let mut shares = lock(&self.shares);
            let known = shares.get(&scope).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let share = MemoryBudget::within(Vec::new(), scope.clone(), max);
                shares.insert(scope, Arc::downgrade(&share));
                share
            })
        });
        Share {
            settings: settings.of(plugin),
            max_connections: own.max_connections.unwrap_or(u32::MAX),
            memory,
        }
    }

    /// What is taken.
    pub fn room(&self) -> Room {
        let free = self.serving.available_permits() as u64;
        Room {
            instances: self.max_instances.saturating_sub(free),
            max_instances: self.max_instances,
            memory_bytes: self.memory.used(),
            max_memory_bytes: self.max_memory,
            waiting: self.waiting.load(Ordering::Relaxed) as u64,
        }
    }

    /// How many calls wait for room.
    pub fn waiting(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.waiting)
    }

    /// Room for an instance of `of`, a plugin for a target (of none when a plugin only describes itself). When there is none, `make_room`
    /// is asked for some, and the wait ends with the call.
    pub async fn take(
        &self,
        of: Option<(&Share, &Target)>,
        make_room: impl FnOnce(),
        call: &Call,
    ) -> Result<Place> {
        let memory = of.map_or_else(
            || Arc::clone(&self.memory),
            |(share, target)| self.share(share, target),
        );
        if let Ok(permit) = Arc::clone(&self.serving).try_acquire_owned() {
            return Ok(Place {
                memory,
                _permit: permit,
            });
        }
        // Counted before the idle connections are looked through: one that becomes idle afterwards sees it.
        let _waiting = Waiting::new(&self.waiting);
        make_room();
        Ok(Place {
            memory,
            _permit: instance::permit(&self.serving, call).await?,
        })
    }

    /// Room for an instance that cancels. Its memory is nobody's share: whoever used his up can still be stopped.
    pub async fn take_to_cancel(&self, call: &Call) -> Result<Place> {
        Ok(Place {
            memory: Arc::clone(&self.memory),
            _permit: instance::permit(&self.cancelling, call).await?,
        })
    }

    fn share(&self, of: &Share, target: &Target) -> Arc<MemoryBudget> {
        let mut shares = lock(&self.shares);
        shares.retain(|_, share| share.strong_count() > 0);
        let mut share = |scope: Scope, max, within: Vec<Arc<MemoryBudget>>| {
            let known = shares.get(&scope).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let share = MemoryBudget::within(within, scope.clone(), max);
                shares.insert(scope, Arc::downgrade(&share));
                share
            })
        };
        let workspace = Scope::Workspace(target.workspace.clone());
        let all = vec![Arc::clone(&self.memory)];
        let mut within = vec![share(workspace, self.max_workspace, all)];
        within.extend(of.memory.clone());
        share(
            Scope::Target(target.id.clone()),
            of.settings.max_target_memory_bytes,
            within,
        )
    }
}

struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
