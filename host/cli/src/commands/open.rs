//! Opens the store and the secret keys for commands.

use std::time::Duration;

use mindhost_base::config::Config;
use mindhost_core::{
    rekeying,
    secrets::{SecretKeys, Source},
};
use mindhost_store::{DEFAULT_WORKSPACE, OpenError, Store};

use crate::commands::say::aside;

/// How long the store may take without a word.
const QUIET: Duration = Duration::from_secs(1);

/// An open, migrated store.
pub(super) struct OpenStore {
    pub store: Store,
    /// Id of the workspace `default`.
    pub workspace: String,
}

pub(super) async fn store(config: &Config) -> anyhow::Result<OpenStore> {
    let store = reached(config).await?;
    store.migrate().await?;
    let workspace = store.ensure_workspace(DEFAULT_WORKSPACE).await?;
    Ok(OpenStore { store, workspace })
}

/// Opens the store, and says what is waited for if that takes longer than a moment.
pub(super) async fn reached(config: &Config) -> Result<Store, OpenError> {
    let opening = Store::open(config);
    tokio::pin!(opening);
    tokio::select! {
        opened = &mut opening => return opened,
        () = tokio::time::sleep(QUIET) => {}
    }
    let server = config.database_url.get().and_then(Store::server);
    let store = match server {
        Some((host, port)) => format!("the PostgreSQL server at {host}:{port} (database_url)"),
        None => "the store".to_owned(),
    };
    let at_most = config.store.acquire_timeout.as_secs();
    let text = format!("waiting up to {at_most} s for {store} (store.acquire_timeout)");
    // Only the server has a log.
    match tracing::dispatcher::has_been_set() {
        true => tracing::warn!("{text}"),
        false => aside!("{text}"),
    }
    opening.await
}

/// The secret keys, which create and verify API keys.
pub(super) async fn secret_keys(config: &Config, opened: &OpenStore) -> anyhow::Result<SecretKeys> {
    Ok(rekeying::open(&Source::of(config)?, &opened.store).await?)
}
