//! Testing a connection before anything relies on it.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{
    error::{Code, Error, Result},
    plugins::{Call, Connector, TableRef, Target},
};

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
    seen.await.map_err(failed)
}

/// What the engine or the network says is the answer to the test. Our own faults and the plugin's stay what they are.
pub(crate) fn failed(error: Error) -> Error {
    let ours = [
        Code::PluginError,
        Code::NoPlugin,
        Code::Overloaded,
        Code::Internal,
        Code::Cancelled,
    ];
    if ours.contains(&error.code()) {
        return error;
    }
    let mut failed = Error::new(Code::ConnectionFailed, error.message())
        .param("connection_data")
        .with_engine_code(error.engine_code().unwrap_or_default());
    if let Some(blame) = error.blame() {
        failed = failed.blamed(blame);
    }
    failed.with_source(error)
}
