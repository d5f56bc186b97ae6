//! The traits `Connector` and `Connection` over components of the world `sql-connector`.

mod connection;

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use wasmtime::Store;

use self::connection::WasmConnection;
use super::{
    bindings::{
        sql::{SqlConnector, SqlConnectorPre},
        types,
    },
    engine::Runtime,
    errors::{self, Phase},
    grants::Grants,
    instance::{GuestFuture, Instance, OnStop, Terms, World, cancelled},
    place::Share,
    pool::{Live, Pools},
    state::{GuestLog, State},
};
use crate::{
    error::{Code, Error, Result},
    plugins::{Call, Connection, Connector, Life, Manifest, Plugin, Target, meter::VersionMeter},
};

impl World for SqlConnectorPre<State> {
    type Guest = SqlConnector;

    fn instantiate<'a>(&'a self, store: &'a mut Store<State>) -> GuestFuture<'a, SqlConnector> {
        Box::pin(self.instantiate_async(store))
    }
}

/// A connector plugin that is ready to serve.
pub struct WasmConnector(Arc<Shared>);

struct Shared {
    runtime: Arc<Runtime>,
    world: SqlConnectorPre<State>,
    manifest: Manifest,
    digest: String,
    pools: Arc<Pools>,
    version: Arc<VersionMeter>,
    share: Share,
    life: Life,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.life.gone.cancel();
    }
}

impl WasmConnector {
    /// A connector over a linked component.
    pub fn new(
        runtime: &Arc<Runtime>,
        world: SqlConnectorPre<State>,
        manifest: Manifest,
        digest: String,
    ) -> Self {
        let pools = runtime.pools(&manifest.name);
        Self(Arc::new(Shared {
            runtime: Arc::clone(runtime),
            version: runtime.version(&manifest, &digest),
            share: runtime.share(&manifest),
            world,
            manifest,
            digest,
            pools,
            life: Life::default(),
        }))
    }
}

impl Plugin for WasmConnector {
    fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    fn digest(&self) -> &str {
        &self.0.digest
    }

    fn retire(&self) -> Option<Life> {
        self.0.pools.retire();
        Some(self.0.life.clone())
    }
}

#[async_trait]
impl Connector for WasmConnector {
    async fn connect(&self, target: &Target, call: &Call) -> Result<Box<dyn Connection>> {
        let limited;
        let target = match target.max_connections > self.0.share.max_connections {
            true => {
                limited = Target {
                    max_connections: self.0.share.max_connections,
                    ..target.clone()
                };
                &limited
            }
            false => target,
        };
        let pool = self.0.pools.of(target);
        let place = pool.place(target, call).await?;
        let pooled = pool.take();
        let reused = pooled.is_some();
        let live = match pooled {
            Some(live) => live,
            None => self.0.open(target, call).await?,
        };
        Ok(Box::new(WasmConnection::new(
            &self.0, target, pool, live, reused, place,
        )))
    }

    async fn forget(&self, target_id: &str) {
        self.0.pools.forget(target_id);
    }
}

impl Shared {
    fn log(&self, target: &str, grants: &Grants) -> Arc<GuestLog> {
        GuestLog::new(
            &self.manifest.name,
            target,
            grants.redactor().clone(),
            self.share.settings.log_lines_per_second,
        )
    }

    async fn open(&self, target: &Target, call: &Call) -> Result<Live> {
        let settings = &self.share.settings;
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
        let instance = Instance::start(&self.runtime, &self.world, terms, call).await?;
        let refusals = instance.refusals();
        let config = config(&grants);
        let (result, instance) = instance
            .run(call, None, move |store, guest| {
                Box::pin(async move {
                    let connection = guest.mindhost_plugin_connector().connection();
                    match connection.call_open(&mut *store, &config).await? {
                        Ok(handle) => {
                            let key = connection.call_cancel_key(&mut *store, handle).await?;
                            Ok(Ok((handle, key)))
                        }
                        Err(error) => Ok(Err(error)),
                    }
                })
            })
            .await;
        match (result?, instance) {
            (Ok((connection, key)), Some(instance)) => Ok(Live {
                instance,
                connection,
                key,
                grants,
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
    fn canceller(self: &Arc<Self>, key: Option<&Vec<u8>>, grants: &Arc<Grants>) -> Option<OnStop> {
        let key = key.filter(|_| self.manifest.capabilities.cancel)?.clone();
        let shared = Arc::clone(self);
        let grants = Arc::clone(grants);
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
                    tokio::time::sleep(shared.share.settings.cancel_grace).await;
                }
            });
        }))
    }

    async fn cancel(&self, grants: &Arc<Grants>, key: Vec<u8>) -> Result<()> {
        let call = Call::new(self.share.settings.cancel_timeout, CancellationToken::new());
        let place = self.runtime.places.take_to_cancel(&call).await?;
        let log = self.log("cancel", grants);
        let terms = Terms {
            grants,
            log: &log,
            place,
            series: self.version.own(),
            settings: &self.share.settings,
        };
        let instance = Instance::start(&self.runtime, &self.world, terms, &call).await?;
        let refusals = instance.refusals();
        let config = config(grants);
        let (result, _) = instance
            .run(&call, None, move |store, guest| {
                Box::pin(async move {
                    let connector = guest.mindhost_plugin_connector();
                    connector.call_cancel(store, &config, &key).await
                })
            })
            .await;
        result?.map_err(|error| self.error(error, Phase::Using, grants, refusals.take()))
    }
}

fn config(grants: &Grants) -> types::Config {
    types::Config {
        json: grants.config().to_owned(),
        extra: Vec::new(),
    }
}

fn gone() -> Error {
    Error::internal("the connection is gone: an earlier call on it was cancelled or failed")
}

fn unresolved_in_time() -> Error {
    Error::new(
        Code::Timeout,
        "the host name could not be resolved within the time limit; check the server's name service",
    )
}
