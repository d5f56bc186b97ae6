//! Opens the store and the secret keys for commands.

use mindhost_base::config::Config;
use mindhost_core::{
    rekeying,
    secrets::{SecretKeys, Source},
};
use mindhost_store::{DEFAULT_WORKSPACE, Store};

/// An open, migrated store.
pub(super) struct OpenStore {
    pub store: Store,
    /// Id of the workspace `default`.
    pub workspace: String,
}

pub(super) async fn store(config: &Config) -> anyhow::Result<OpenStore> {
    let store = Store::open(config).await?;
    store.migrate().await?;
    let workspace = store.ensure_workspace(DEFAULT_WORKSPACE).await?;
    Ok(OpenStore { store, workspace })
}

/// The secret keys, which create and verify API keys.
pub(super) async fn secret_keys(config: &Config, opened: &OpenStore) -> anyhow::Result<SecretKeys> {
    Ok(rekeying::open(&Source::of(config)?, &opened.store).await?)
}
