//! The traits `Scanner` and `Source` over components of the world `scanner-connector`.

mod source;

use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::{
    Engine, Store,
    component::{InstancePre, ResourceAny},
};

use self::source::WasmSource;
use super::{
    bindings::{
        scan::{ScannerConnector, ScannerConnectorPre},
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
use mindhost_plugin_api::{
    Call, Life, Manifest, Plugin, Target,
    scanner::{Scanner, Source},
};

impl World for ScannerConnectorPre<State> {
    type Guest = ScannerConnector;

    fn of(linked: InstancePre<State>) -> wasmtime::Result<Self> {
        Self::new(linked)
    }

    fn engine(&self) -> &Engine {
        self.engine()
    }

    fn describe<'a>(
        store: &'a mut Store<State>,
        guest: &'a ScannerConnector,
    ) -> GuestFuture<'a, String> {
        let exports = guest.mindhost_plugin_scanner();
        Box::pin(async move { exports.call_describe(store).await })
    }

    fn instantiate<'a>(&'a self, store: &'a mut Store<State>) -> GuestFuture<'a, ScannerConnector> {
        Box::pin(self.instantiate_async(store))
    }
}

impl Connects for ScannerConnector {
    fn open<'a>(
        &'a self,
        store: &'a mut Store<State>,
        config: types::Config,
    ) -> GuestFuture<'a, Reported<Opened>> {
        let source = self.mindhost_plugin_scanner().source();
        Box::pin(async move {
            let opened = source.call_open(store, &config).await?;
            Ok(opened.map(|handle| (handle, None)))
        })
    }

    fn close<'a>(
        &'a self,
        store: &'a mut Store<State>,
        cursor: ResourceAny,
    ) -> GuestFuture<'a, Reported<bool>> {
        let exports = self.mindhost_plugin_scanner();
        Box::pin(async move { exports.cursor().call_close(store, cursor).await })
    }

    /// Does nothing: a scanner sees a cancellation through `control` only, and its sources have no cancel key.
    fn cancel<'a>(
        &'a self,
        _: &'a mut Store<State>,
        _: types::Config,
        _: Vec<u8>,
    ) -> GuestFuture<'a, Reported<()>> {
        Box::pin(async { Ok(Ok(())) })
    }
}

/// A scanner plugin that is ready to serve.
pub struct WasmScanner(Arc<Shared<ScannerConnectorPre<State>>>);

impl WasmScanner {
    /// A scanner over a linked component.
    pub fn new(
        runtime: &Arc<Runtime>,
        code: Arc<VersionCode<ScannerConnectorPre<State>>>,
        manifest: Manifest,
        digest: String,
    ) -> Self {
        Self(Shared::new(runtime, code, manifest, digest))
    }
}

impl Plugin for WasmScanner {
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
impl Scanner for WasmScanner {
    async fn open(&self, target: &Target, call: &Call) -> Result<Box<dyn Source>> {
        let held = self.0.hold(target, call).await?;
        Ok(Box::new(WasmSource::new(held)))
    }

    async fn forget(&self, target_id: &str) {
        self.0.pools.forget(target_id);
    }
}
