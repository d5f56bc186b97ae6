//! Testing a connection before anything relies on it.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::connection_data::refused;
use mindhost_base::error::Result;
use mindhost_plugin_api::{Call, Connector, TableRef, Target};

/// Connects, asks the engine for a sign of life and for its tables.
pub(super) async fn tables(
    connector: &Arc<dyn Connector>,
    target: &Target,
    timeout: Duration,
    ending: &CancellationToken,
) -> Result<Vec<TableRef>> {
    // Cancelled when the request is dropped, too: nobody wants the answer then.
    let cancel = ending.child_token();
    let _guard = cancel.clone().drop_guard();
    let call = Call::new(timeout, cancel);
    let seen = async {
        let mut connection = connector.connect(target, &call).await?;
        connection.check(&call).await?;
        connection.tables(&call).await
    };
    seen.await.map_err(refused)
}
