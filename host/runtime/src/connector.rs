//! The traits `Connector` and `Connection` over components of the world `sql-connector`.

mod connection;

use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::{
    Engine, Store,
    component::{InstancePre, ResourceAny},
};

use self::connection::WasmConnection;
use super::{
    bindings::{
        sql::{SqlConnector, SqlConnectorPre},
        types,
    },
    code::VersionCode,
    engine::Runtime,
    instance::{GuestFuture, World},
    pool::{Connects, Opened, Reported},
    shared::Shared,
    state::State,
};
use mindhost_base::error::Result;
use mindhost_plugin_api::{Call, Connection, Connector, Life, Manifest, Plugin, Target};

impl World for SqlConnectorPre<State> {
    type Guest = SqlConnector;

    fn of(linked: InstancePre<State>) -> wasmtime::Result<Self> {
        Self::new(linked)
    }

    fn engine(&self) -> &Engine {
        self.engine()
    }

    fn describe<'a>(
        store: &'a mut Store<State>,
        guest: &'a SqlConnector,
    ) -> GuestFuture<'a, String> {
        let exports = guest.mindhost_plugin_connector();
        Box::pin(async move { exports.call_describe(store).await })
    }

    fn instantiate<'a>(&'a self, store: &'a mut Store<State>) -> GuestFuture<'a, SqlConnector> {
        Box::pin(self.instantiate_async(store))
    }
}

impl Connects for SqlConnector {
    fn open<'a>(
        &'a self,
        store: &'a mut Store<State>,
        config: types::Config,
    ) -> GuestFuture<'a, Reported<Opened>> {
        Box::pin(async move {
            let connection = self.mindhost_plugin_connector().connection();
            match connection.call_open(&mut *store, &config).await? {
                Ok(handle) => {
                    let key = connection.call_cancel_key(&mut *store, handle).await?;
                    Ok(Ok((handle, key)))
                }
                Err(error) => Ok(Err(error)),
            }
        })
    }

    fn close<'a>(
        &'a self,
        store: &'a mut Store<State>,
        cursor: ResourceAny,
    ) -> GuestFuture<'a, Reported<bool>> {
        let exports = self.mindhost_plugin_connector();
        Box::pin(async move { exports.cursor().call_close(store, cursor).await })
    }

    fn cancel<'a>(
        &'a self,
        store: &'a mut Store<State>,
        config: types::Config,
        key: Vec<u8>,
    ) -> GuestFuture<'a, Reported<()>> {
        let exports = self.mindhost_plugin_connector();
        Box::pin(async move { exports.call_cancel(store, &config, &key).await })
    }
}

/// A connector plugin that is ready to serve.
pub struct WasmConnector(Arc<Shared<SqlConnectorPre<State>>>);

impl WasmConnector {
    /// A connector over a linked component.
    pub fn new(
        runtime: &Arc<Runtime>,
        code: Arc<VersionCode<SqlConnectorPre<State>>>,
        manifest: Manifest,
        digest: String,
    ) -> Self {
        Self(Shared::new(runtime, code, manifest, digest))
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
        Some(self.0.retire())
    }
}

#[async_trait]
impl Connector for WasmConnector {
    async fn connect(&self, target: &Target, call: &Call) -> Result<Box<dyn Connection>> {
        let held = self.0.hold(target, call).await?;
        Ok(Box::new(WasmConnection::new(held)))
    }

    async fn forget(&self, target_id: &str) {
        self.0.pools.forget(target_id);
    }
}
