//! What handlers are given. Each takes only the part that it needs: `State<Arc<Auth>>`.

use std::sync::Arc;

use axum::extract::FromRef;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{auth::Auth, config::Config, secrets::SecretKey, store::Store};

/// The services of one server.
#[derive(Clone, FromRef)]
pub struct AppState {
    /// The settings.
    pub config: Arc<Config>,
    /// The store, for the health routes.
    pub store: Store,
    /// Keys.
    pub auth: Arc<Auth>,
    /// The end of the server.
    pub shutdown: Shutdown,
}

/// Tells background work that the server ends, and waits for it.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// Cancelled when the server shall end.
    pub token: CancellationToken,
    /// Everything that runs beside the requests: answers, catalog runs.
    pub tasks: TaskTracker,
}

impl AppState {
    /// Builds the services over an open, migrated store. `workspace` is the one that the configured admin key
    /// administers.
    ///
    /// # Errors
    /// When the store fails or a setting cannot be used.
    pub async fn new(
        config: Arc<Config>,
        store: Store,
        _key: SecretKey,
        workspace: &str,
    ) -> crate::Result<Self> {
        let auth = Auth::new(store.clone(), config.admin_key.get(), workspace).await?;
        Ok(Self {
            auth: Arc::new(auth),
            shutdown: Shutdown::default(),
            config,
            store,
        })
    }
}
