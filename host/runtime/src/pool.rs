//! Connection pools, by target.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use wasmtime::{Store, component::ResourceAny};

use super::{
    connection_exports::ConnectionExports,
    engine::Runtime,
    grants::Grants,
    host_errors::{cancelled, overloaded},
    idle_connections::IdleConnections,
    instance::{Instance, OnStop},
    limits::Scope,
    permits::{ConnectionPermit, ThreadPermits, Waiters},
    state::State,
};
use mindhost_base::{
    error::{Code, Error, Result},
    locks::lock,
};
use mindhost_plugin_api::{Call, Target};

/// How long a guest may take to close a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// An open connection in its own instance.
pub struct LiveConnection<G: ConnectionExports> {
    pub instance: Box<Instance<G>>,
    pub connection: ResourceAny,
    /// What `cancel` needs to stop what runs on it.
    pub key: Option<Vec<u8>>,
    /// The grants it was opened with; `cancel` gets the same.
    pub grants: Arc<Grants>,
    /// Generation of the code that its instance runs.
    pub generation: u64,
}

impl<G: ConnectionExports> LiveConnection<G> {
    /// Closes the connection in the background, so that the guest can end its session with the engine.
    pub fn retire(self) {
        self.close_in_background(Vec::new(), None);
    }

    /// As [`Self::retire`], for a connection with open cursors, which are closed first.
    pub fn close_in_background(self, cursors: Vec<ResourceAny>, on_stop: Option<OnStop>) {
        let Self {
            instance,
            connection,
            ..
        } = self;
        let tasks = instance.tasks();
        // Without a tokio runtime the connection is dropped.
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        tasks.spawn(async move {
            let call = Call::new(CLOSE_TIMEOUT, tokio_util::sync::CancellationToken::new());
            let ended = instance.run(&call, on_stop, move |store, guest| {
                Box::pin(close_connection(store, guest, connection, cursors))
            });
            let _ = ended.await;
        });
    }
}

async fn close_connection<G: ConnectionExports>(
    store: &mut Store<State>,
    guest: &G,
    connection: ResourceAny,
    cursors: Vec<ResourceAny>,
) -> wasmtime::Result<()> {
    for cursor in cursors {
        // The connection is closed, so its state does not matter.
        let _ = guest.close(&mut *store, cursor).await?;
        cursor.resource_drop_async(&mut *store).await?;
    }
    connection.resource_drop_async(store).await
}

/// The connections of one target with one configuration.
pub struct Pool<G: ConnectionExports> {
    fingerprint: [u8; 32],
    /// The last configuration that matched, so that it is not hashed for every call.
    seen: Mutex<Weak<Map<String, Value>>>,
    scopes: [Scope; 4],
    connections: Arc<Semaphore>,
    /// Half of the connections, at least one, for exports: clients that read slowly must not use up all.
    exports: Arc<Semaphore>,
    idle: Mutex<Vec<(Instant, LiveConnection<G>)>>,
    closed: AtomicBool,
    max_connections: u32,
    workspace: String,
    /// Calls of all plugins that wait for an instance permit.
    waiters: Arc<Waiters>,
}

impl<G: ConnectionExports> Pool<G> {
    fn new(
        fingerprint: [u8; 32],
        plugin: &str,
        target: &Target,
        waiters: Arc<Waiters>,
    ) -> Arc<Self> {
        Arc::new(Self {
            fingerprint,
            seen: Mutex::new(Arc::downgrade(&target.connection_data)),
            max_connections: target.max_connections,
            scopes: [
                Scope::Host,
                Scope::Workspace(target.workspace.clone()),
                Scope::Target(target.id.clone()),
                Scope::Plugin(plugin.to_owned()),
            ],
            connections: Arc::new(Semaphore::new(target.max_connections.max(1) as usize)),
            exports: Arc::new(Semaphore::new(max_exports(target) as usize)),
            idle: Mutex::default(),
            closed: AtomicBool::new(false),
            workspace: target.workspace.clone(),
            waiters,
        })
    }

    /// Whether the target has the configuration that matched last. Its workspace never changes.
    fn has_seen(&self, target: &Target) -> bool {
        let seen = lock(&self.seen);
        std::ptr::eq(seen.as_ptr(), Arc::as_ptr(&target.connection_data))
            && self.max_connections == target.max_connections
    }

    /// Acquires a permit for one of the target's connections. The wait ends with the call.
    pub async fn acquire(&self, target: &Target, call: &Call) -> Result<ConnectionPermit> {
        let export = match call.is_export {
            true => Some(
                wait(&self.exports, call, || {
                    format!(
                        "all {} connections of `{}` that exports may have are in use; try again, or raise its max_connections",
                        max_exports(target), target.name
                    )
                })
                .await?,
            ),
            false => None,
        };
        let connection = wait(&self.connections, call, || {
            format!(
                "all {} connections of `{}` are in use (one that was stopped counts until its engine has ended it); try \
                 again, or raise its max_connections",
                target.max_connections, target.name
            )
        });
        let connection = connection.await;
        let connection = connection.map_err(|error| self.mention_exports(error, target))?;
        Ok(ConnectionPermit::new(connection, export))
    }

    /// Adds to a failed wait how many connections exports hold.
    fn mention_exports(&self, error: Error, target: &Target) -> Error {
        let free = self.exports.available_permits();
        match (max_exports(target) as usize).saturating_sub(free) {
            0 => error,
            _ if error.code() != Code::Overloaded => error,
            held => overloaded(format!(
                "{}; {held} of them may be held by exports until their clients have read them",
                error.message()
            )),
        }
    }

    /// Takes the connection that was used last, so that the others reach the idle timeout. Closes connections of older
    /// code or grants.
    pub async fn take(
        &self,
        generation: u64,
        threads: &ThreadPermits,
        call: &Call,
    ) -> Result<Option<LiveConnection<G>>> {
        loop {
            let idle = lock(&self.idle).pop();
            let Some((_, live)) = idle else {
                return Ok(None);
            };
            let is_current = match live.generation == generation {
                true => live.grants.is_current(threads, call).await,
                false => Ok(false),
            };
            match is_current {
                Ok(true) => return Ok(Some(live)),
                Ok(false) => live.retire(),
                Err(error) => {
                    self.put(live);
                    return Err(error);
                }
            }
        }
    }

    /// Returns a connection to the pool, or closes one if a call waits for its instance permit.
    pub fn put(&self, live: LiveConnection<G>) {
        if self.closed.load(Ordering::Acquire) {
            return live.retire();
        }
        lock(&self.idle).push((Instant::now(), live));
        // The pool may have been closed in between.
        if self.closed.load(Ordering::Acquire) {
            self.close();
        }
        // Checked last: an earlier waiter found this connection idle, and a later one is counted.
        if self.waiters.wants_permit_in(&self.workspace)
            && let Some(live) = self.take_oldest()
        {
            live.retire();
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for (_, live) in std::mem::take(&mut *lock(&self.idle)) {
            live.retire();
        }
    }

    fn sweep(&self, max_age: Duration) {
        let old: Vec<_> = lock(&self.idle)
            .extract_if(.., |(since, _)| since.elapsed() >= max_age)
            .collect();
        old.into_iter().for_each(|(_, live)| live.retire());
    }

    fn oldest(&self) -> Option<Instant> {
        lock(&self.idle).first().map(|(since, _)| *since)
    }

    fn take_oldest(&self) -> Option<LiveConnection<G>> {
        let mut idle = lock(&self.idle);
        (!idle.is_empty()).then(|| idle.remove(0).1)
    }

    fn is_unused(&self) -> bool {
        lock(&self.idle).is_empty() && Arc::strong_count(&self.connections) == 1
    }
}

fn max_exports(target: &Target) -> u32 {
    (target.max_connections / 2).max(1)
}

async fn wait(
    connections: &Arc<Semaphore>,
    call: &Call,
    all_in_use: impl FnOnce() -> String,
) -> Result<OwnedSemaphorePermit> {
    tokio::select! {
        biased;
        permit = Arc::clone(connections).acquire_owned() => permit.map_err(Error::internal),
        () = call.cancel.cancelled() => Err(cancelled()),
        () = tokio::time::sleep_until(call.deadline) => Err(overloaded(all_in_use())),
    }
}

/// The pools of one plugin, by target.
pub struct Pools<G: ConnectionExports> {
    plugin: String,
    by_target: Mutex<HashMap<String, Arc<Pool<G>>>>,
    waiters: Arc<Waiters>,
    retired: AtomicBool,
}

impl<G: ConnectionExports> Pools<G> {
    /// The pools of a plugin. Their idle connections are closed at the idle timeout or at a limit.
    pub fn new(runtime: &Runtime, plugin: &str) -> Arc<Self> {
        let pools = Arc::new(Self {
            plugin: plugin.to_owned(),
            by_target: Mutex::default(),
            waiters: runtime.permits.waiters(),
            retired: AtomicBool::new(false),
        });
        let idle: Arc<dyn IdleConnections> = pools.clone();
        runtime.evict_from(Arc::downgrade(&idle));
        pools
    }

    /// The pool for a target's current configuration. Closes the pool of an older one.
    pub fn of(&self, target: &Target) -> Arc<Pool<G>> {
        let mut pools = lock(&self.by_target);
        let known = pools.get(&target.id);
        if let Some(pool) = known.filter(|pool| pool.has_seen(target)) {
            return Arc::clone(pool);
        }
        let fingerprint = fingerprint(target);
        if let Some(pool) = known.filter(|pool| pool.fingerprint == fingerprint) {
            *lock(&pool.seen) = Arc::downgrade(&target.connection_data);
            return Arc::clone(pool);
        }
        let pool = Pool::new(fingerprint, &self.plugin, target, Arc::clone(&self.waiters));
        if self.retired.load(Ordering::Acquire) {
            pool.close();
        }
        if let Some(old) = pools.insert(target.id.clone(), Arc::clone(&pool)) {
            old.close();
        }
        pool
    }

    /// Removes the pool of a target. Connections in use are closed when they are returned.
    pub fn forget(&self, target_id: &str) {
        if let Some(pool) = lock(&self.by_target).remove(target_id) {
            pool.close();
        }
    }

    /// Closes all idle connections, and from now on every returned one.
    pub fn retire(&self) {
        self.retired.store(true, Ordering::Release);
        for pool in lock(&self.by_target).values() {
            pool.close();
        }
    }

    fn take_oldest(&self, scope: &Scope) -> Option<LiveConnection<G>> {
        let pools = lock(&self.by_target);
        let within = pools.values().filter(|pool| pool.scopes.contains(scope));
        let oldest = within.filter_map(|pool| Some((pool.oldest()?, pool)));
        let (_, pool) = oldest.min_by_key(|(oldest, _)| *oldest)?;
        pool.take_oldest()
    }
}

impl<G: ConnectionExports> IdleConnections for Pools<G> {
    fn oldest(&self, scope: &Scope) -> Option<Instant> {
        let pools = lock(&self.by_target);
        let within = pools.values().filter(|pool| pool.scopes.contains(scope));
        within.filter_map(|pool| pool.oldest()).min()
    }

    fn retire_oldest(&self, scope: &Scope) -> bool {
        self.take_oldest(scope)
            .map(LiveConnection::retire)
            .is_some()
    }

    fn drop_oldest(&self, scope: &Scope) -> bool {
        self.take_oldest(scope).is_some()
    }

    fn sweep(&self, max_age: Duration) {
        lock(&self.by_target).retain(|_, pool| {
            pool.sweep(max_age);
            Arc::strong_count(pool) > 1 || !pool.is_unused()
        });
    }
}

/// A hash of the configuration, to compare it without storing its secrets.
pub fn fingerprint(target: &Target) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(target.workspace.as_bytes());
    hash.update([0]);
    hash.update(target.max_connections.to_le_bytes());
    for (name, value) in target.connection_data.iter() {
        hash.update(serde_json::json!([name, value]).to_string());
    }
    hash.finalize().into()
}
