//! What the two worlds of connectors have in common: a plugin that serves, and one of its connections in use.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use wasmtime::{Store, component::ResourceAny};

use super::{
    bindings::types,
    code::Compiled,
    convert,
    engine::Runtime,
    errors::{self, Phase},
    grants::Grants,
    instance::{GuestFuture, Instance, OnStop, Terms, World, cancelled, cut_off},
    place::Share,
    pool::{Connects, Live, Pool, Pools, Reported, Slot},
    state::{GuestLog, State},
};
use crate::meter::VersionMeter;
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{Call, Life, Manifest, Target};

/// A connector plugin of either world, that serves.
pub struct Shared<W: World<Guest: Connects>> {
    pub runtime: Arc<Runtime>,
    code: Arc<Compiled<W>>,
    pub manifest: Manifest,
    pub digest: String,
    pub pools: Arc<Pools<W::Guest>>,
    pub version: Arc<VersionMeter>,
    /// What the plugin may take.
    pub share: Share,
    pub life: Life,
}

impl<W: World<Guest: Connects>> Drop for Shared<W> {
    fn drop(&mut self) {
        self.life.gone.cancel();
    }
}

impl<W: World<Guest: Connects>> Shared<W> {
    /// A connector over a linked component.
    pub fn new(
        runtime: &Arc<Runtime>,
        code: Arc<Compiled<W>>,
        manifest: Manifest,
        digest: String,
    ) -> Arc<Self> {
        Arc::new(Self {
            runtime: Arc::clone(runtime),
            pools: runtime.pools(&manifest.name),
            version: runtime.version(&manifest, &digest),
            share: runtime.share(&manifest),
            life: Life::default(),
            code,
            manifest,
            digest,
        })
    }

    /// Keeps nothing idle any more.
    pub fn retire(&self) -> Life {
        self.pools.retire();
        self.life.clone()
    }

    /// A connection from the pool of a target, opened if none is idle.
    pub async fn hold(self: &Arc<Self>, target: &Target, call: &Call) -> Result<Held<W>> {
        let limited;
        let target = match target.max_connections > self.share.max_connections {
            true => {
                limited = Target {
                    max_connections: self.share.max_connections,
                    ..target.clone()
                };
                &limited
            }
            false => target,
        };
        let of_key = self.runtime.places.take_of_key(call).await?;
        let pool = self.pools.of(target);
        let place = pool.place(target, call).await?;
        let pooled = pool.take(self.code.generation());
        let reused = pooled.is_some();
        let live = match pooled {
            Some(live) => live,
            None => self.open(target, call).await?,
        };
        Ok(Held {
            shared: Arc::clone(self),
            target: target.clone(),
            pool,
            live: Some(live),
            reused,
            slot: Arc::new(place),
            _of_key: of_key,
        })
    }

    fn log(&self, target: &str, grants: &Grants) -> Arc<GuestLog> {
        GuestLog::new(
            &self.manifest.name,
            target,
            grants.redactor().clone(),
            self.share.settings.log_lines_per_second,
        )
    }

    async fn open(&self, target: &Target, call: &Call) -> Result<Live<W::Guest>> {
        let settings = &self.share.settings;
        let (world, generation) = self.code.get(call).await?;
        let derive = Grants::derive(&self.manifest, target, &self.runtime.policy, settings);
        let grants = tokio::select! {
            grants = derive => grants?,
            () = call.cancel.cancelled() => return Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => return Err(unresolved_in_time()),
        };
        let place = self
            .runtime
            .place(Some((&self.share, target)), call)
            .await?;
        let log = self.log(&target.name, &grants);
        let terms = Terms {
            grants: &grants,
            log: &log,
            place,
            series: self.version.series(target),
            settings,
        };
        let instance = Instance::start(&self.runtime, &world, terms, call).await?;
        let refusals = instance.refusals();
        let config = config(&grants);
        let (result, instance) = instance
            .run(call, None, move |store, guest| guest.open(store, config))
            .await;
        match (result?, instance) {
            (Ok((connection, key)), Some(instance)) => Ok(Live {
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
        refused: Option<String>,
    ) -> Error {
        errors::convert(
            error,
            phase,
            grants,
            refused,
            self.share.settings.max_message_bytes,
        )
    }

    /// What stops a statement in the engine: `cancel` on an instance of its own, in the background.
    pub fn canceller(
        self: &Arc<Self>,
        key: Option<&Vec<u8>>,
        grants: &Arc<Grants>,
        slot: &Slot,
    ) -> Option<Box<dyn FnOnce() + Send>> {
        let key = key.filter(|_| self.manifest.capabilities.cancel)?.clone();
        let shared = Arc::clone(self);
        let grants = Arc::clone(grants);
        let mut slot = Some(Arc::clone(slot));
        Some(Box::new(move || {
            let tasks = shared.runtime.tasks.clone();
            tasks.spawn(async move {
                // Some engines forget what comes before a statement has really begun, so they are told once more. The
                // connection serves nobody any more, so no other statement can be hit.
                for key in [key.clone(), key] {
                    if let Err(error) = shared.cancel(&grants, key).await {
                        let plugin = shared.manifest.name.as_str();
                        tracing::warn!(plugin, %error, "a statement could not be cancelled");
                    }
                    // The first word counts; the second is for engines that forget.
                    drop(slot.take());
                    tokio::time::sleep(shared.share.settings.cancel_grace).await;
                }
            });
        }))
    }

    async fn cancel(&self, grants: &Arc<Grants>, key: Vec<u8>) -> Result<()> {
        let call = Call::new(self.share.settings.cancel_timeout, CancellationToken::new());
        let place = self
            .runtime
            .places
            .take_to_cancel(grants.workspace(), &call)
            .await?;
        let log = self.log("cancel", grants);
        let terms = Terms {
            grants,
            log: &log,
            place,
            series: self.version.own(),
            settings: &self.share.settings,
        };
        let (world, _) = self.code.get(&call).await?;
        let instance = Instance::start(&self.runtime, &world, terms, &call).await?;
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
pub struct Held<W: World<Guest: Connects>> {
    pub shared: Arc<Shared<W>>,
    target: Target,
    pool: Arc<Pool<W::Guest>>,
    /// Absent while a call runs and after one that did not come back.
    pub live: Option<Live<W::Guest>>,
    /// Came from the pool and was not used since: it may have broken while it lay there.
    reused: bool,
    /// One of the target's connections; free when nothing runs on it any more.
    pub slot: Slot,
    _of_key: Option<OwnedSemaphorePermit>,
}

/// An error that the guest reported, with what it takes to tell it to a caller.
pub struct Fault {
    error: types::Error,
    grants: Arc<Grants>,
    refused: Option<String>,
}

impl<W: World<Guest: Connects>> Held<W> {
    /// Calls the guest once; keeps the connection if it can be used again. `key` stops what the call runs in the engine.
    pub async fn once<R, F>(
        &mut self,
        call: &Call,
        key: Option<&Vec<u8>>,
        f: F,
    ) -> Result<std::result::Result<R, Fault>>
    where
        R: Send + 'static,
        F: for<'a> FnOnce(
                &'a mut Store<State>,
                &'a W::Guest,
                ResourceAny,
            ) -> GuestFuture<'a, Reported<R>>
            + Send
            + 'static,
    {
        let live = self.live.take().ok_or_else(gone)?;
        let tell = self
            .shared
            .canceller(key.or(live.key.as_ref()), &live.grants, &self.slot);
        let on_stop = OnStop {
            waits: tell.is_some(),
            tell,
            slot: Arc::clone(&self.slot),
        };
        let Live {
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
            () = self.shared.life.cut.cancelled() => (Err(cut_off()), None),
        };
        // An instance comes back with an error only from a call that had ended before it began.
        let usable = !matches!(&result, Ok(Err(error)) if !error.connection_usable);
        if let Some(instance) = instance.filter(|_| usable) {
            self.live = Some(Live {
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

    /// A call that delivers nothing before it succeeds, so that it may be repeated on a new connection when
    /// the pooled one turns out to be dead.
    pub async fn call<R, F>(&mut self, call: &Call, f: F) -> Result<R>
    where
        R: Send + 'static,
        F: for<'a> Fn(
                &'a mut Store<State>,
                &'a W::Guest,
                ResourceAny,
            ) -> GuestFuture<'a, Reported<R>>
            + Clone
            + Send
            + 'static,
    {
        let reused = std::mem::take(&mut self.reused);
        let fault = match self.once(call, None, f.clone()).await? {
            Ok(value) => return Ok(value),
            Err(fault) => fault,
        };
        let stale = reused && fault.error.kind == types::ErrorKind::ConnectionLost;
        if !stale {
            return Err(self.fault(fault));
        }
        self.live = Some(self.shared.open(&self.target, call).await?);
        let again = self.once(call, None, f).await?;
        again.map_err(|fault| self.fault(fault))
    }

    /// What a caller is told of an error that the guest reported.
    pub fn fault(&self, fault: Fault) -> Error {
        let Fault {
            error,
            grants,
            refused,
        } = fault;
        self.shared.error(error, Phase::Using, &grants, refused)
    }

    /// The rights of the connection; none when it is gone.
    pub fn grants(&self) -> Arc<Grants> {
        let live = self.live.as_ref();
        live.map_or_else(Grants::none, |live| Arc::clone(&live.grants))
    }

    /// Gives the connection back for its next use.
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

/// An earlier call cost the connection.
pub fn gone() -> Error {
    Error::internal("the connection is gone: an earlier call on it was cancelled or failed")
}

fn unresolved_in_time() -> Error {
    Error::new(
        Code::Timeout,
        "the host name could not be resolved within the time limit; check the server's name service",
    )
}
