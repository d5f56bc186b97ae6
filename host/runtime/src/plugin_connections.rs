//! Code that both worlds of connectors share: a plugin that serves, and a connection in use.

use std::{
    sync::{Arc, Mutex, atomic},
    time::Duration,
};

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use wasmtime::{Store, component::ResourceAny};

use super::{
    bindings::types,
    code::VersionCode,
    connection_exports::{ConnectionExports, GuestResult},
    convert,
    engine::Runtime,
    errors::{self, Phase},
    grants::Grants,
    guest_log::GuestLog,
    host_errors::{blame_guest, cancelled, files_hang, replaced},
    instance::{Instance, OnStop, StartOptions},
    permits::{ConnectionPermit, PluginQuota},
    pool::{LiveConnection, Pool, Pools},
    rate_limits::Retries,
    refusals::Refusal,
    state::State,
    world::{GuestFuture, World},
};
use crate::meter::VersionMeter;
use mindhost_base::{
    error::{Code, Error, Result},
    locks::lock,
};
use mindhost_plugin_api::{
    Batch, Call, Manifest, Plugin, Retirement, ServerInfo, TableInfo, TableRef, Target,
};

/// Timeout of the end of a cursor.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A connector plugin of either world that is ready to serve.
pub struct WasmPlugin<W: World<Guest: ConnectionExports>>(pub(super) Arc<PluginConnections<W>>);

impl<W: World<Guest: ConnectionExports>> WasmPlugin<W> {
    /// A plugin over a linked component.
    pub fn new(
        runtime: &Arc<Runtime>,
        code: Arc<VersionCode<W>>,
        manifest: Manifest,
        digest: String,
    ) -> Self {
        Self(Arc::new(PluginConnections {
            runtime: Arc::clone(runtime),
            pools: Pools::new(runtime, &manifest.name),
            version: runtime.version(&manifest, &digest),
            quota: runtime.quota(&manifest),
            life: Retirement::default(),
            code,
            manifest,
            digest,
        }))
    }
}

impl<W: World<Guest: ConnectionExports>> Plugin for WasmPlugin<W> {
    fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    fn digest(&self) -> &str {
        &self.0.digest
    }

    /// Closes idle connections, now and when they are returned.
    fn retire(&self) -> Option<Retirement> {
        self.0.pools.retire();
        Some(self.0.life.clone())
    }
}

/// What the connections of one version of a plugin share.
pub struct PluginConnections<W: World<Guest: ConnectionExports>> {
    pub runtime: Arc<Runtime>,
    code: Arc<VersionCode<W>>,
    pub manifest: Manifest,
    pub digest: String,
    pub pools: Arc<Pools<W::Guest>>,
    pub version: Arc<VersionMeter>,
    /// The limits of the plugin.
    pub quota: PluginQuota,
    pub life: Retirement,
}

impl<W: World<Guest: ConnectionExports>> Drop for PluginConnections<W> {
    fn drop(&mut self) {
        self.life.gone.cancel();
    }
}

impl<W: World<Guest: ConnectionExports>> PluginConnections<W> {
    /// Takes a connection from the pool of a target, or opens one.
    pub async fn acquire(
        self: &Arc<Self>,
        target: &Target,
        call: &Call,
    ) -> Result<PooledConnection<W>> {
        let limited;
        let target = match target.max_connections > self.quota.max_connections {
            true => {
                limited = Target {
                    max_connections: self.quota.max_connections,
                    ..target.clone()
                };
                &limited
            }
            false => target,
        };
        let key_permit = self.runtime.permits.acquire_for_key(call).await?;
        let pool = self.pools.of(target);
        let permit = pool.acquire(target, call).await?;
        let threads = &self.runtime.file_threads;
        let pooled = pool.take(self.code.generation(), threads, call).await?;
        let reused = pooled.is_some();
        let live = match pooled {
            Some(live) => live,
            None => self.open(target, call).await?,
        };
        Ok(PooledConnection {
            plugin: Arc::clone(self),
            target: target.clone(),
            pool,
            live: Some(live),
            reused,
            permit: Arc::new(permit),
            _key_permit: key_permit,
        })
    }

    fn log(&self, target: &str, grants: &Grants) -> Arc<GuestLog> {
        GuestLog::new(
            &self.manifest.name,
            target,
            grants.redactor().clone(),
            self.quota.settings.log_lines_per_second,
        )
    }

    async fn open(&self, target: &Target, call: &Call) -> Result<LiveConnection<W::Guest>> {
        let settings = &self.quota.settings;
        let (world, generation) = self.code.get(call).await?;
        let runtime = &self.runtime;
        let derive = Grants::derive(runtime, &self.manifest, target, settings, call);
        let grants = tokio::select! {
            biased;
            grants = derive => grants?,
            () = call.cancel.cancelled() => return Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => {
                return Err(not_granted_in_time(&self.manifest));
            }
        };
        let permit = self
            .runtime
            .acquire_permit(Some((&self.quota, target)), call)
            .await?;
        let log = self.log(&target.name, &grants);
        let options = StartOptions {
            grants: &grants,
            log: &log,
            permit,
            series: self.version.series(target),
            settings,
        };
        let instance = Instance::start(&self.runtime, &world, options, call).await?;
        let refusals = instance.refusals();
        let config = config(&grants);
        let (result, instance) = instance
            .run(call, None, move |store, guest| guest.open(store, config))
            .await;
        match (result?, instance) {
            (Ok((connection, key)), Some(instance)) => Ok(LiveConnection {
                instance,
                connection,
                key: convert::cancel_key(key)?,
                grants,
                generation,
            }),
            (Ok(_), None) => Err(gone()),
            (Err(error), _) => Err(self.error(error, Phase::Opening, &grants, refusals.take())),
        }
    }

    fn error(
        &self,
        error: types::Error,
        phase: Phase,
        grants: &Grants,
        refused: Option<Refusal>,
    ) -> Error {
        errors::convert(
            error,
            phase,
            grants,
            refused,
            self.quota.settings.max_message_bytes,
        )
    }

    /// A function that cancels a statement in the engine: `cancel` on another instance, in the background. A key that
    /// the call finds goes before the one that is known.
    pub fn canceller(
        self: &Arc<Self>,
        key: Option<&Vec<u8>>,
        found: Option<&FoundKey>,
        grants: &Arc<Grants>,
        permit: &Arc<ConnectionPermit>,
    ) -> Option<Box<dyn FnOnce() + Send>> {
        if !self.manifest.capabilities.cancel || (key.is_none() && found.is_none()) {
            return None;
        }
        let (key, found) = (key.cloned(), found.cloned());
        let connections = Arc::clone(self);
        let grants = Arc::clone(grants);
        let mut permit = Some(Arc::clone(permit));
        Some(Box::new(move || {
            let found = found.and_then(|found| lock(&found).take());
            let Some(key) = found.or(key) else {
                return;
            };
            let tasks = connections.runtime.tasks.clone();
            tasks.spawn(async move {
                // Some engines lose a cancellation that arrives before the statement starts, so it is sent twice. The
                // connection is not used again, so it cannot hit another statement.
                for key in [key.clone(), key] {
                    if let Err(error) = connections.cancel(&grants, key).await {
                        let plugin = connections.manifest.name.as_str();
                        tracing::warn!(plugin, %error, "a statement could not be cancelled");
                    }
                    // The permit is released after the first one.
                    drop(permit.take());
                    tokio::time::sleep(connections.quota.settings.cancel_grace).await;
                }
            });
        }))
    }

    async fn cancel(&self, grants: &Arc<Grants>, key: Vec<u8>) -> Result<()> {
        let call = Call::new(self.quota.settings.cancel_timeout, CancellationToken::new());
        let permit = self
            .runtime
            .permits
            .acquire_for_cancel(grants.workspace(), &call)
            .await?;
        let log = self.log("cancel", grants);
        let options = StartOptions {
            grants,
            log: &log,
            permit,
            series: self.version.own(),
            settings: &self.quota.settings,
        };
        let (world, _) = self.code.get(&call).await?;
        let instance = Instance::start(&self.runtime, &world, options, &call).await?;
        let refusals = instance.refusals();
        let config = config(grants);
        let (result, _) = instance
            .run(&call, None, move |store, guest| {
                guest.cancel(store, config, key)
            })
            .await;
        result?.map_err(|error| self.error(error, Phase::Using, grants, refusals.take()))
    }
}

/// A connection that was taken from its pool.
pub struct PooledConnection<W: World<Guest: ConnectionExports>> {
    pub plugin: Arc<PluginConnections<W>>,
    target: Target,
    pool: Arc<Pool<W::Guest>>,
    /// Absent while a call runs, and after a call that lost the connection.
    pub live: Option<LiveConnection<W::Guest>>,
    /// The connection comes from the pool and has not been used since: it may have broken there.
    pub reused: bool,
    /// The permit for its connection to the target.
    pub permit: Arc<ConnectionPermit>,
    _key_permit: Option<OwnedSemaphorePermit>,
}

/// What `cancel` needs to stop a statement, as soon as the call that starts it knows.
pub type FoundKey = Arc<Mutex<Option<Vec<u8>>>>;

/// Whether a new connection has taken the place of a dead one, for a call that is repeated on it.
pub type Replaced = Arc<atomic::AtomicBool>;

/// An open cursor of a guest.
#[derive(Clone)]
pub struct Cursor {
    pub handle: ResourceAny,
    /// What `cancel` needs to stop its statement.
    pub key: Option<Vec<u8>>,
    pub schema: convert::Schema,
}

/// The columns of a cursor that a guest just opened. Closes one without a schema.
pub async fn schema_or_close<G: ConnectionExports>(
    store: &mut Store<State>,
    guest: &G,
    cursor: ResourceAny,
) -> wasmtime::Result<GuestResult<Vec<types::Column>>> {
    match guest.schema(&mut *store, cursor).await? {
        Ok(columns) => Ok(Ok(columns)),
        Err(mut error) => {
            let closed = guest.close(&mut *store, cursor).await?;
            cursor.resource_drop_async(store).await?;
            error.connection_usable &= matches!(closed, Ok(true));
            Ok(Err(error))
        }
    }
}

/// An error that the guest reported, with the context to convert it.
pub struct Fault {
    error: types::Error,
    grants: Arc<Grants>,
    refused: Option<Refusal>,
}

impl<W: World<Guest: ConnectionExports>> PooledConnection<W> {
    /// Calls the guest once and keeps the connection if it is usable. `key` cancels the statement of the call, or the one
    /// that the call finds.
    pub async fn once<R, F>(
        &mut self,
        call: &Call,
        key: Option<&Vec<u8>>,
        found: Option<&FoundKey>,
        f: F,
    ) -> Result<std::result::Result<R, Fault>>
    where
        R: Send + 'static,
        F: for<'a> FnOnce(
                &'a mut Store<State>,
                &'a W::Guest,
                ResourceAny,
            ) -> GuestFuture<'a, GuestResult<R>>
            + Send
            + 'static,
    {
        let live = self.live.take().ok_or_else(gone)?;
        let cancel_engine =
            self.plugin
                .canceller(key.or(live.key.as_ref()), found, &live.grants, &self.permit);
        let on_stop = OnStop {
            waits: cancel_engine.is_some(),
            cancel_engine,
            permit: Arc::clone(&self.permit),
        };
        let LiveConnection {
            instance,
            connection,
            key,
            grants,
            generation,
        } = live;
        let refusals = instance.refusals();
        let ran = instance.run(call, Some(on_stop), move |store, guest| {
            f(store, guest, connection)
        });
        let (result, instance) = tokio::select! {
            biased;
            ended = ran => ended,
            () = self.plugin.life.cut.cancelled() => (Err(replaced()), None),
        };
        // An instance is returned with an error only if the call ended before it began.
        let usable = !matches!(&result, Ok(Err(error)) if !error.connection_usable);
        if let Some(instance) = instance.filter(|_| usable) {
            self.live = Some(LiveConnection {
                instance,
                connection,
                key,
                grants: Arc::clone(&grants),
                generation,
            });
        }
        Ok(result?.map_err(|error| Fault {
            error,
            grants,
            refused: refusals.take(),
        }))
    }

    /// Calls the guest, again on a new connection if the pooled one is dead, and again after a pause if the source
    /// limits the rate. For calls without a partial result.
    pub async fn call<R, F>(&mut self, call: &Call, f: F) -> Result<R>
    where
        R: Send + 'static,
        F: for<'a> Fn(
                &'a mut Store<State>,
                &'a W::Guest,
                ResourceAny,
            ) -> GuestFuture<'a, GuestResult<R>>
            + Clone
            + Send
            + 'static,
    {
        self.call_with_key(call, None, &Replaced::default(), f)
            .await
    }

    /// The same for a call that finds a key, and that does more on a new connection.
    pub async fn call_with_key<R, F>(
        &mut self,
        call: &Call,
        found: Option<&FoundKey>,
        replaced: &Replaced,
        f: F,
    ) -> Result<R>
    where
        R: Send + 'static,
        F: for<'a> Fn(
                &'a mut Store<State>,
                &'a W::Guest,
                ResourceAny,
            ) -> GuestFuture<'a, GuestResult<R>>
            + Clone
            + Send
            + 'static,
    {
        let mut repeats = Retries::of_source();
        loop {
            let reused = std::mem::take(&mut self.reused);
            let fault = match self.once(call, None, found, f.clone()).await? {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            };
            if reused && fault.error.kind == types::ErrorKind::ConnectionLost {
                self.live = Some(self.plugin.open(&self.target, call).await?);
                replaced.store(true, atomic::Ordering::Relaxed);
                continue;
            }
            let error = self.fault(fault);
            // A new connection would not be in the snapshot of the old one.
            if self.live.is_none() {
                return Err(error);
            }
            repeats.pause(error, call).await?;
        }
    }

    /// Converts an error that the guest reported.
    pub fn fault(&self, fault: Fault) -> Error {
        let Fault {
            error,
            grants,
            refused,
        } = fault;
        self.plugin.error(error, Phase::Using, &grants, refused)
    }

    /// Drops the instance if the guest broke the contract.
    pub fn accept<R>(&mut self, checked: Result<R>) -> Result<R> {
        if checked.is_err() {
            self.live = None;
        }
        checked
    }

    /// Describes the server.
    pub async fn check(&mut self, call: &Call) -> Result<ServerInfo> {
        let info = self
            .call(call, |store, guest: &W::Guest, connection| {
                guest.check(store, connection)
            })
            .await?;
        Ok(convert::server_info(info, &self.grants()))
    }

    /// Every table in reach; an error if there are more than `plugins.max_tables`.
    pub async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>> {
        let tables = self
            .call(call, |store, guest: &W::Guest, connection| {
                guest.tables(store, connection)
            })
            .await?;
        let checked = convert::table_refs(tables, &self.plugin.quota.settings);
        self.accept(checked)
    }

    /// Columns, keys and comments of those tables that the guest still finds; never of others.
    pub async fn describe_tables(
        &mut self,
        tables: &[TableRef],
        call: &Call,
    ) -> Result<Vec<TableInfo>> {
        let asked: Vec<_> = tables.iter().map(convert::to_table_ref).collect();
        let infos = self
            .call(call, move |store, guest: &W::Guest, connection| {
                guest.describe_tables(store, connection, asked.clone())
            })
            .await?;
        let checked = convert::tables(infos, tables, &self.plugin.quota.settings);
        self.accept(checked)
    }

    /// The next rows of a cursor, or the error that the guest reports; the cursor is closed then.
    pub async fn next(
        &mut self,
        cursor: &Cursor,
        max_rows: u32,
        call: &Call,
    ) -> Result<std::result::Result<Option<Batch>, Error>> {
        let connections = Arc::clone(&self.plugin);
        let settings = &connections.quota.settings;
        let (handle, max_bytes) = (cursor.handle, settings.batch_bytes);
        let mut is_again = false;
        loop {
            let reported = self
                .once(
                    call,
                    cursor.key.as_ref(),
                    None,
                    move |store, guest: &W::Guest, _| {
                        guest.next(store, handle, max_rows, max_bytes)
                    },
                )
                .await
                .map_err(|error| if is_again { blame_guest(error) } else { error })?;
            is_again = true;
            let batch = match reported {
                Ok(Some(batch)) => batch,
                Ok(None) => return Ok(Ok(None)),
                Err(fault) => return Ok(Err(self.fault(fault))),
            };
            let checked = convert::batch(batch, &cursor.schema, max_rows, settings);
            let batch = self.accept(checked)?;
            // An empty batch means that there are no rows yet. The deadline of the call limits the repetitions.
            if batch.rows() > 0 {
                return Ok(Ok(Some(batch)));
            }
        }
    }

    /// Closes a cursor. Returns whether the connection can be used again.
    pub async fn close(&mut self, cursor: &Cursor, call: &Call) -> bool {
        if self.live.is_none() {
            return false;
        }
        let soon = call.within(CLOSE_TIMEOUT);
        let handle = cursor.handle;
        let closed = self
            .once(
                &soon,
                cursor.key.as_ref(),
                None,
                move |store, guest: &W::Guest, _| {
                    Box::pin(async move {
                        let closed = guest.close(&mut *store, handle).await?;
                        handle.resource_drop_async(store).await?;
                        Ok(closed)
                    })
                },
            )
            .await;
        matches!(closed, Ok(Ok(true)))
    }

    /// The grants of the connection; none if it is lost.
    pub fn grants(&self) -> Arc<Grants> {
        let live = self.live.as_ref();
        live.map_or_else(Grants::none, |live| Arc::clone(&live.grants))
    }

    /// Returns the connection to the pool.
    pub fn give_back(&mut self) {
        if let Some(live) = self.live.take() {
            self.pool.put(live);
        }
    }
}

fn config(grants: &Grants) -> types::Config {
    types::Config {
        json: grants.config().to_owned(),
        extra: Vec::new(),
    }
}

/// The error of a connection that an earlier call lost.
pub fn gone() -> Error {
    Error::internal("the connection is gone: an earlier call on it was cancelled or failed")
}

fn not_granted_in_time(manifest: &Manifest) -> Error {
    match manifest.network.is_empty() {
        true => files_hang(),
        false => Error::new(
            Code::Timeout,
            "the host name could not be resolved within the time limit; check the server's name service",
        ),
    }
}
