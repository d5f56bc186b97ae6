//! The traits `Scanner` and `Source` over components of the world `scanner-connector`.

mod source;

use async_trait::async_trait;

use self::source::WasmSource;
use super::{bindings::scan::ScannerConnectorPre, plugin_connections::WasmPlugin, state::State};
use mindhost_base::error::Result;
use mindhost_plugin_api::{
    Call, Target,
    scanner::{Scanner, Source},
};

/// A scanner plugin that is ready to serve.
pub type WasmScanner = WasmPlugin<ScannerConnectorPre<State>>;

#[async_trait]
impl Scanner for WasmScanner {
    async fn open(&self, target: &Target, call: &Call) -> Result<Box<dyn Source>> {
        let pooled = self.0.acquire(target, call).await?;
        Ok(Box::new(WasmSource::new(pooled)))
    }

    async fn forget(&self, target_id: &str) {
        self.0.pools.forget(target_id);
    }
}
