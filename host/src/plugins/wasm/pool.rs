//! Live connections that wait for their next use, by target.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use wasmtime::component::ResourceAny;

use super::{
    bindings::sql::SqlConnector,
    grants::Grants,
    instance::{Instance, cancelled, overloaded},
};
use crate::{
    error::{Error, Result},
    locks::lock,
    plugins::{Call, Target},
};

/// How long a connection may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(1);

/// An open connection in its own instance.
pub struct Live {
    pub instance: Box<Instance<SqlConnector>>,
    pub connection: ResourceAny,
    /// What `cancel` needs to stop what runs on it.
    pub key: Option<Vec<u8>>,
    /// The rights it was opened with; `cancel` gets the same.
    pub grants: Arc<Grants>,
}

impl Live {
    /// Closes the connection in the background: the guest may take leave of the engine first.
    pub fn retire(self) {
        let Self {
            instance,
            connection,
            ..
        } = self;
        let tasks = instance.tasks();
        // Outside a runtime there is nobody to wait; the connection just breaks off.
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        tasks.spawn(async move {
            let call = Call::new(FAREWELL, tokio_util::sync::CancellationToken::new());
            let ended = instance.run(&call, None, move |store, _| {
                Box::pin(connection.resource_drop_async(store))
            });
            let _ = ended.await;
        });
    }
}

/// The connections of one target with one configuration.
pub struct Pool {
    fingerprint: [u8; 32],
    places: Arc<Semaphore>,
    idle: Mutex<Vec<(Instant, Live)>>,
    closed: AtomicBool,
}

impl Pool {
    fn new(fingerprint: [u8; 32], max_connections: u32) -> Arc<Self> {
        Arc::new(Self {
            fingerprint,
            places: Arc::new(Semaphore::new(max_connections.max(1) as usize)),
            idle: Mutex::default(),
            closed: AtomicBool::new(false),
        })
    }

    /// The right to hold one of the target's connections, waited for until the call ends.
    pub async fn place(&self, target: &Target, call: &Call) -> Result<OwnedSemaphorePermit> {
        let wait = Arc::clone(&self.places).acquire_owned();
        tokio::select! {
            biased;
            permit = wait => permit.map_err(Error::internal),
            () = call.cancel.cancelled() => Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => Err(overloaded(format!(
                "all {} connections of `{}` are in use; try again, or raise its max_connections",
                target.max_connections, target.name
            ))),
        }
    }

    /// The connection that was used last: the others may then grow old and be closed.
    pub fn take(&self) -> Option<Live> {
        loop {
            let (_, live) = lock(&self.idle).pop()?;
            match live.grants.is_current() {
                true => return Some(live),
                false => live.retire(),
            }
        }
    }

    /// Gives a connection back for the next use.
    pub fn put(&self, live: Live) {
        if self.closed.load(Ordering::Acquire) {
            return live.retire();
        }
        lock(&self.idle).push((Instant::now(), live));
        // A pool that was closed in between must not keep it.
        if self.closed.load(Ordering::Acquire) {
            self.close();
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

    fn is_unused(&self) -> bool {
        lock(&self.idle).is_empty() && Arc::strong_count(&self.places) == 1
    }
}

/// The pools of one plugin, by target.
#[derive(Default)]
pub struct Pools(Mutex<HashMap<String, Arc<Pool>>>);

impl Pools {
    /// The pool of a target as it is configured now; connections of an older configuration are closed.
    pub fn of(&self, target: &Target) -> Arc<Pool> {
        let fingerprint = fingerprint(target);
        let mut pools = lock(&self.0);
        if let Some(pool) = pools.get(&target.id)
            && pool.fingerprint == fingerprint
        {
            return Arc::clone(pool);
        }
        let pool = Pool::new(fingerprint, target.max_connections);
        if let Some(old) = pools.insert(target.id.clone(), Arc::clone(&pool)) {
            old.close();
        }
        pool
    }

    /// Closes what is idle for a target; what is in use is closed when it comes back.
    pub fn forget(&self, target_id: &str) {
        if let Some(pool) = lock(&self.0).remove(target_id) {
            pool.close();
        }
    }

    /// Closes connections that were idle for too long, and forgets targets that nobody uses.
    pub fn sweep(&self, max_age: Duration) {
        lock(&self.0).retain(|_, pool| {
            pool.sweep(max_age);
            Arc::strong_count(pool) > 1 || !pool.is_unused()
        });
    }

    /// When the oldest idle connection was given back.
    pub fn oldest(&self) -> Option<Instant> {
        lock(&self.0)
            .values()
            .filter_map(|pool| pool.oldest())
            .min()
    }

    /// Drops the oldest idle connection at once, to make room for another instance.
    pub fn evict(&self) {
        let pools = lock(&self.0);
        let oldest = pools.values().min_by_key(|pool| {
            let oldest = pool.oldest();
            (oldest.is_none(), oldest)
        });
        if let Some(pool) = oldest {
            let mut idle = lock(&pool.idle);
            if !idle.is_empty() {
                drop(idle.remove(0));
            }
        }
    }
}

/// Tells two configurations apart without keeping their secrets.
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
