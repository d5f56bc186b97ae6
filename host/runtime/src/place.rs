//! Room for one instance: its number among all and among those of its workspace, and its share of the memory.

mod portion;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use self::portion::Waiters;
use self::portion::{Portions, cancelling_is_full, workspace_is_full};
use super::{
    engine::RESERVE,
    instance,
    limits::{MemoryBudget, Scope},
};
use mindhost_base::{
    config::PluginSettings,
    error::{Blame, Code, Error, Result},
    locks::lock,
};
use mindhost_plugin_api::{Call, Target};

/// Of the places to cancel, those that one workspace may have: a server of its databases that answers no `cancel` leaves
/// most of them to the others.
const CANCELLING_OF_WORKSPACE: u32 = RESERVE / 4;

/// Room for one instance, given back when it is dropped.
pub struct Place {
    /// What its memory is taken from.
    pub memory: Arc<MemoryBudget>,
    _of_workspace: Option<OwnedSemaphorePermit>,
    /// Of the key that it works for, where it works for one alone.
    pub of_key: Option<OwnedSemaphorePermit>,
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
    /// Those of them that one workspace has, by its name.
    cancelling_of: Portions<String>,
    memory: Arc<MemoryBudget>,
    /// Memory of single targets and workspaces, while they have instances.
    shares: Mutex<HashMap<Scope, Weak<MemoryBudget>>>,
    max_workspace: u64,
    max_instances: u64,
    max_memory: u64,
    /// Instances of one workspace, by its name.
    workspaces: Portions<String>,
    /// Instances that work for one key, by its id.
    keys: Portions<Arc<str>>,
    waiters: Arc<Waiters>,
}

impl Places {
    /// As many as the settings allow.
    pub fn new(settings: &PluginSettings) -> Self {
        Self {
            serving: Arc::new(Semaphore::new(settings.max_instances as usize)),
            cancelling: Arc::new(Semaphore::new(RESERVE as usize)),
            cancelling_of: Portions::new(CANCELLING_OF_WORKSPACE),
            memory: MemoryBudget::new(settings.max_total_memory_bytes),
            shares: Mutex::default(),
            max_instances: u64::from(settings.max_instances),
            max_memory: settings.max_total_memory_bytes,
            max_workspace: settings.max_workspace_memory_bytes,
            workspaces: Portions::new(settings.max_workspace_instances),
            keys: Portions::new(settings.max_key_instances),
            waiters: Arc::default(),
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
            waiting: self.waiters.count() as u64,
        }
    }

    /// The calls that wait for room.
    pub fn waiters(&self) -> Arc<Waiters> {
        Arc::clone(&self.waiters)
    }

    /// Room for an instance of `of`, a plugin for a target (of none when a plugin only describes itself). When its workspace
    /// has none left, or there is none at all, `make_room` is asked for some there, and the wait ends with the call.
    pub async fn take(
        &self,
        of: Option<(&Share, &Target)>,
        make_room: impl Fn(&Scope),
        call: &Call,
    ) -> Result<Place> {
        let Some((share, target)) = of else {
            return self
                .place(Arc::clone(&self.memory), None, make_room, call)
                .await;
        };
        // First what is the workspace's own: who waits for that must not hold what others could use.
        let wait = || {
            let waiting = self.waiters.add(Some(&target.workspace));
            make_room(&Scope::Workspace(target.workspace.clone()));
            waiting
        };
        let of_workspace = self
            .workspaces
            .take(&target.workspace, call, wait, workspace_is_full)
            .await?;
        let memory = self.share(share, target);
        self.place(memory, Some(of_workspace), make_room, call)
            .await
    }

    async fn place(
        &self,
        memory: Arc<MemoryBudget>,
        of_workspace: Option<OwnedSemaphorePermit>,
        make_room: impl Fn(&Scope),
        call: &Call,
    ) -> Result<Place> {
        let permit = match Arc::clone(&self.serving).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                // Counted before the idle connections are looked through: one that becomes idle afterwards sees it.
                let _waiting = self.waiters.add(None);
                make_room(&Scope::Host);
                instance::permit(&self.serving, call).await?
            }
        };
        Ok(Place {
            memory,
            _of_workspace: of_workspace,
            of_key: None,
            _permit: permit,
        })
    }

    /// The right of the call's key to have one more instance at work; none for the host's own calls.
    pub async fn take_of_key(&self, call: &Call) -> Result<Option<OwnedSemaphorePermit>> {
        let Some(key) = &call.key else {
            return Ok(None);
        };
        let refused = |size: u32| {
            Error::new(
                Code::RateLimited,
                format!(
                    "limit of {size} active plugin instances per key reached (plugins.max_key_instances); retry when \
                     another call has finished"
                ),
            )
            .blamed(Blame::Host)
            .with_retry_after(std::time::Duration::from_secs(1))
        };
        let taken = self.keys.take(key, call, || (), refused).await?;
        Ok(Some(taken))
    }

    /// Room for an instance that cancels for a workspace. Its memory is nobody's share: whoever used his up can still be
    /// stopped.
    pub async fn take_to_cancel(&self, workspace: Option<&str>, call: &Call) -> Result<Place> {
        // First what is the workspace's own, as in `take`. Where no server is asked, none can hold the place for long.
        let of_workspace = match workspace.map(str::to_owned) {
            None => None,
            Some(name) => {
                let portion = self
                    .cancelling_of
                    .take(&name, call, || (), cancelling_is_full);
                Some(portion.await?)
            }
        };
        Ok(Place {
            memory: Arc::clone(&self.memory),
            _of_workspace: of_workspace,
            of_key: None,
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use mindhost_base::config::Config;

    /// The databases of one workspace answer no `cancel`. Statements of the others are stopped all the same.
    #[tokio::test]
    async fn one_workspace_leaves_places_to_cancel_to_the_others() {
        let places = Places::new(&Config::defaults().unwrap().plugins.limits);
        let soon = || Call::new(Duration::from_millis(20), CancellationToken::new());
        let mut taken = Vec::new();
        for _ in 0..CANCELLING_OF_WORKSPACE {
            let place = places.take_to_cancel(Some("crowded"), &soon()).await;
            taken.push(place.ok().unwrap());
        }
        let refused = places.take_to_cancel(Some("crowded"), &soon()).await;
        let message = refused.err().unwrap().message().to_owned();
        assert!(message.contains("one workspace"), "{message}");
        for number in 0..RESERVE - CANCELLING_OF_WORKSPACE {
            let other = format!("other {}", number / CANCELLING_OF_WORKSPACE);
            let place = places.take_to_cancel(Some(&other), &soon()).await;
            taken.push(place.ok().unwrap());
        }
        taken.clear();
        assert!(
            places
                .take_to_cancel(Some("crowded"), &soon())
                .await
                .is_ok()
        );
    }
}
