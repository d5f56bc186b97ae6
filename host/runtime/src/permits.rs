//! Permits for instances: limits on their number (host, workspace, key) and their memory budgets.

mod keyed;
mod threads;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::keyed::{KeyedPermits, cancel_limit_reached, workspace_limit_reached};
pub use self::{
    keyed::Waiters,
    threads::{Hangs, ThreadPermits},
};
use super::{
    host_errors::{cancelled, overloaded},
    limits::{MemoryBudget, Scope},
};
use mindhost_base::{
    config::PluginSettings,
    error::{Blame, Code, Error, Result},
    locks::lock,
};
use mindhost_plugin_api::{Call, Target};

/// Instances above the configured number, for `cancel` and for checks of new plugins.
pub const RESERVED_INSTANCES: u32 = 32;
/// Cancellations that one workspace may run. A database of it that does not answer `cancel` leaves the rest to the
/// others.
const CANCELS_PER_WORKSPACE: u32 = RESERVED_INSTANCES / 4;

/// A permit for one instance, released on drop.
pub struct InstancePermit {
    /// The budget that its memory counts against.
    pub memory: Arc<MemoryBudget>,
    _workspace_permit: Option<OwnedSemaphorePermit>,
    /// The permit of the key, if the instance works for one key.
    pub key_permit: Option<OwnedSemaphorePermit>,
    _permit: OwnedSemaphorePermit,
}

/// A permit for one connection, released on drop. A statement and its cancellation share it.
pub struct ConnectionPermit {
    _connection: OwnedSemaphorePermit,
    _export: Option<OwnedSemaphorePermit>,
}

impl ConnectionPermit {
    /// `export` is the second permit of an export, of which a target has fewer.
    pub fn new(connection: OwnedSemaphorePermit, export: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            _connection: connection,
            _export: export,
        }
    }
}

/// The use of the instance and memory limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceUsage {
    /// Instances that serve requests.
    pub instances: u64,
    /// `plugins.max_instances`
    pub max_instances: u64,
    /// Linear memory of all instances, in bytes.
    pub memory_bytes: u64,
    /// `plugins.max_total_memory_bytes`
    pub max_memory_bytes: u64,
    /// Calls that wait for a permit.
    pub waiting: u64,
}

/// What the instances of one plugin may use, each and together.
pub struct PluginQuota {
    /// The general settings, with what the operator set for this plugin.
    pub settings: PluginSettings,
    /// Connections to one datasource at most; a datasource may set fewer.
    pub max_connections: u32,
    /// The memory budget of all its instances, if it has one.
    memory: Option<Arc<MemoryBudget>>,
}

/// Who may start an instance, and how much memory instances get, by host, workspace, plugin, target and key.
pub struct InstancePermits {
    /// For instances that serve requests.
    serving: Arc<Semaphore>,
    /// For instances that cancel, so that a host at its limit can still stop statements.
    cancels: Arc<Semaphore>,
    /// Cancellations of one workspace, by its name: one workspace cannot hold them all.
    cancels_by_workspace: KeyedPermits<String>,
    memory: Arc<MemoryBudget>,
    /// Memory budgets of targets and workspaces that have instances.
    budgets: Mutex<HashMap<Scope, Weak<MemoryBudget>>>,
    max_workspace: u64,
    max_instances: u64,
    max_memory: u64,
    /// Instances of one workspace, by its name.
    workspaces: KeyedPermits<String>,
    /// Instances that work for one key, by its id.
    keys: KeyedPermits<Arc<str>>,
    waiters: Arc<Waiters>,
}

impl InstancePermits {
    /// Permits with the limits of the settings.
    pub fn new(settings: &PluginSettings) -> Self {
        Self {
            serving: Arc::new(Semaphore::new(settings.max_instances as usize)),
            cancels: Arc::new(Semaphore::new(RESERVED_INSTANCES as usize)),
            cancels_by_workspace: KeyedPermits::new(CANCELS_PER_WORKSPACE),
            memory: MemoryBudget::new(settings.max_total_memory_bytes),
            budgets: Mutex::default(),
            max_instances: u64::from(settings.max_instances),
            max_memory: settings.max_total_memory_bytes,
            max_workspace: settings.max_workspace_memory_bytes,
            workspaces: KeyedPermits::new(settings.max_workspace_instances),
            keys: KeyedPermits::new(settings.max_key_instances),
            waiters: Arc::default(),
        }
    }

    /// The limits of a plugin, which all its versions share.
    pub fn quota_of(&self, plugin: &str, settings: &PluginSettings) -> PluginQuota {
        let own = settings.by_plugin.get(plugin).cloned().unwrap_or_default();
        let memory = own.max_total_memory_bytes.map(|max| {
            let scope = Scope::Plugin(plugin.to_owned());
            let mut budgets = lock(&self.budgets);
            let known = budgets.get(&scope).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let budget = MemoryBudget::within(Vec::new(), scope.clone(), max);
                budgets.insert(scope, Arc::downgrade(&budget));
                budget
            })
        });
        PluginQuota {
            settings: settings.of(plugin),
            max_connections: own.max_connections.unwrap_or(u32::MAX),
            memory,
        }
    }

    /// The current use.
    pub fn usage(&self) -> InstanceUsage {
        let free = self.serving.available_permits() as u64;
        InstanceUsage {
            instances: self.max_instances.saturating_sub(free),
            max_instances: self.max_instances,
            memory_bytes: self.memory.used(),
            max_memory_bytes: self.max_memory,
            waiting: self.waiters.count() as u64,
        }
    }

    /// The calls that wait for a permit.
    pub fn waiters(&self) -> Arc<Waiters> {
        Arc::clone(&self.waiters)
    }

    /// Acquires a permit for an instance of a plugin for a target, or of a plugin that only describes itself. At a
    /// limit, `evict_idle` closes an idle connection in that scope. The wait ends with the call.
    pub async fn acquire(
        &self,
        of: Option<(&PluginQuota, &Target)>,
        evict_idle: impl Fn(&Scope),
        call: &Call,
    ) -> Result<InstancePermit> {
        let Some((quota, target)) = of else {
            return self
                .permit(Arc::clone(&self.memory), None, evict_idle, call)
                .await;
        };
        // First the limit of the workspace: a call that waits for it must not hold a permit of the host.
        let wait = || {
            let waiting = self.waiters.add(Some(&target.workspace));
            evict_idle(&Scope::Workspace(target.workspace.clone()));
            waiting
        };
        let workspace_permit = self
            .workspaces
            .acquire(&target.workspace, call, wait, workspace_limit_reached)
            .await?;
        let memory = self.memory_of(quota, target);
        self.permit(memory, Some(workspace_permit), evict_idle, call)
            .await
    }

    async fn permit(
        &self,
        memory: Arc<MemoryBudget>,
        workspace_permit: Option<OwnedSemaphorePermit>,
        evict_idle: impl Fn(&Scope),
        call: &Call,
    ) -> Result<InstancePermit> {
        let permit = match Arc::clone(&self.serving).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                // Counted before the eviction: a connection that becomes idle afterwards sees the waiter.
                let _waiting = self.waiters.add(None);
                evict_idle(&Scope::Host);
                wait_for_permit(&self.serving, call).await?
            }
        };
        Ok(InstancePermit {
            memory,
            _workspace_permit: workspace_permit,
            key_permit: None,
            _permit: permit,
        })
    }

    /// Acquires a permit of the call's key; none for calls of the host itself.
    pub async fn acquire_for_key(&self, call: &Call) -> Result<Option<OwnedSemaphorePermit>> {
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
        let permit = self.keys.acquire(key, call, || (), refused).await?;
        Ok(Some(permit))
    }

    /// Acquires a permit for an instance that cancels a statement. Its memory counts for the host only, so that
    /// statements of a workspace without memory can still be cancelled.
    pub async fn acquire_for_cancel(
        &self,
        workspace: Option<&str>,
        call: &Call,
    ) -> Result<InstancePermit> {
        // First the limit of the workspace, as in `acquire`. Without a workspace no database can block the permit for
        // long.
        let workspace_permit = match workspace.map(str::to_owned) {
            None => None,
            Some(name) => {
                let permit =
                    self.cancels_by_workspace
                        .acquire(&name, call, || (), cancel_limit_reached);
                Some(permit.await?)
            }
        };
        Ok(InstancePermit {
            memory: Arc::clone(&self.memory),
            _workspace_permit: workspace_permit,
            key_permit: None,
            _permit: wait_for_permit(&self.cancels, call).await?,
        })
    }

    fn memory_of(&self, quota: &PluginQuota, target: &Target) -> Arc<MemoryBudget> {
        let mut budgets = lock(&self.budgets);
        budgets.retain(|_, budget| budget.strong_count() > 0);
        let mut budget = |scope: Scope, max, within: Vec<Arc<MemoryBudget>>| {
            let known = budgets.get(&scope).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let budget = MemoryBudget::within(within, scope.clone(), max);
                budgets.insert(scope, Arc::downgrade(&budget));
                budget
            })
        };
        let workspace = Scope::Workspace(target.workspace.clone());
        let all = vec![Arc::clone(&self.memory)];
        let mut within = vec![budget(workspace, self.max_workspace, all)];
        within.extend(quota.memory.clone());
        budget(
            Scope::Target(target.id.clone()),
            quota.settings.max_target_memory_bytes,
            within,
        )
    }
}

/// Acquires a permit for an instance. The wait ends with the call.
async fn wait_for_permit(permits: &Arc<Semaphore>, call: &Call) -> Result<OwnedSemaphorePermit> {
    let wait = Arc::clone(permits).acquire_owned();
    tokio::select! {
        permit = wait => permit.map_err(Error::internal),
        () = call.cancel.cancelled() => Err(cancelled()),
        () = tokio::time::sleep_until(call.deadline) => Err(overloaded(
            "all plugin instances of this server are busy; try again, or let the operator raise plugins.max_instances",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use mindhost_base::config::Config;

    /// The databases of one workspace do not answer `cancel`. Statements of other workspaces are still cancelled.
    #[tokio::test]
    async fn one_workspace_cannot_use_up_the_cancel_permits() {
        let permits = InstancePermits::new(&Config::defaults().unwrap().plugins.limits);
        let call = |time| Call::new(time, CancellationToken::new());
        let (short, long) = (
            || call(Duration::from_millis(20)),
            || call(Duration::from_secs(60)),
        );
        let mut taken = Vec::new();
        for _ in 0..CANCELS_PER_WORKSPACE {
            let permit = permits.acquire_for_cancel(Some("crowded"), &long()).await;
            taken.push(permit.ok().unwrap());
        }
        let refused = permits.acquire_for_cancel(Some("crowded"), &short()).await;
        let message = refused.err().unwrap().message().to_owned();
        assert!(message.contains("one workspace"), "{message}");
        for number in 0..RESERVED_INSTANCES - CANCELS_PER_WORKSPACE {
            let other = format!("other {}", number / CANCELS_PER_WORKSPACE);
            let permit = permits.acquire_for_cancel(Some(&other), &long()).await;
            taken.push(permit.ok().unwrap());
        }
        taken.clear();
        assert!(
            permits
                .acquire_for_cancel(Some("crowded"), &long())
                .await
                .is_ok()
        );
    }
}
