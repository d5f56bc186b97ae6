//! The traits `Connector` and `Connection` over components of the world `sql-connector`.

mod connection;
mod first_rows;

use async_trait::async_trait;

use self::connection::WasmConnection;
use super::{bindings::sql::SqlConnectorPre, plugin_connections::WasmPlugin, state::State};
use mindhost_base::error::Result;
use mindhost_plugin_api::{Call, Connection, Connector, Target};

/// A connector plugin that is ready to serve.
pub type WasmConnector = WasmPlugin<SqlConnectorPre<State>>;

#[async_trait]
impl Connector for WasmConnector {
    async fn connect(&self, target: &Target, call: &Call) -> Result<Box<dyn Connection>> {
        let pooled = self.0.acquire(target, call).await?;
        Ok(Box::new(WasmConnection::new(pooled)))
    }

    async fn forget(&self, target_id: &str) {
        self.0.pools.forget(target_id);
    }
}
