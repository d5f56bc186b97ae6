//! What handlers are given. Each takes only the part that it needs: `State<Arc<Auth>>`.

use std::sync::Arc;

use axum::extract::FromRef;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    auth::Auth, config::Config, datasources::Datasources, minds::Minds,
    plugins::registry::Registry, providers::Providers, secrets::SecretKey, store::Store,
};

/// The services of one server.
#[derive(Clone, FromRef)]
pub struct AppState {
    /// The settings.
    pub config: Arc<Config>,
    /// The store, for the health routes.
    pub store: Store,
    /// Keys.
    pub auth: Arc<Auth>,
    /// The active plugins.
    pub registry: Arc<Registry>,
    /// Datasources.
    pub datasources: Arc<Datasources>,
    /// Model providers.
    pub providers: Arc<Providers>,
    /// Minds.
    pub minds: Arc<Minds>,
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
        key: SecretKey,
        registry: Arc<Registry>,
        workspace: &str,
    ) -> crate::Result<Self> {
        let shutdown = Shutdown::default();
        let auth = Auth::new(store.clone(), config.admin_key.get(), workspace).await?;
        let datasources = Datasources::new(
            store.clone(),
            key.clone(),
            registry.clone(),
            &config,
            shutdown.token.clone(),
        );
        let providers = Arc::new(Providers::new(
            store.clone(),
            key,
            registry.clone(),
            &config,
            shutdown.token.clone(),
        ));
        providers.ensure_builtin(workspace).await?;
        Ok(Self {
            auth: Arc::new(auth),
            datasources: Arc::new(datasources),
            minds: Arc::new(Minds::new(store.clone(), providers.clone())),
            providers,
            registry,
            shutdown,
            config,
            store,
        })
    }
}
