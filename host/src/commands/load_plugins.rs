//! Loads the plugins as the configuration says.

use std::{net::SocketAddr, sync::Arc};

use mindhost::{
    config::{Config, Switch},
    plugins::{
        policy::{EgressRules, FixedPolicy},
        registry::{Registry, Sources},
    },
    secrets::SecretKey,
    store::Store,
};

/// Every plugin of the plugins directory, verified and ready. `listener` is where this server listens.
pub(super) async fn load(
    config: &Config,
    store: &Store,
    key: &SecretKey,
    listener: SocketAddr,
) -> anyhow::Result<Registry> {
    let alone = listener.ip().is_loopback() && store.workspace_count().await? <= 1;
    let policy = FixedPolicy {
        egress: EgressRules {
            allow_loopback: match config.egress.allow_loopback {
                Switch::Auto => alone,
                Switch::On => true,
                Switch::Off => false,
            },
            allow_private: config.egress.allow_private,
            allow: config.egress.allow.clone(),
            deny: config.egress.deny.clone(),
        },
        data_dir: config.data_dir.clone(),
        file_roots: config.files.roots.clone(),
        reserved: reserved(config, listener).await,
    };
    Ok(Registry::load(sources(config, Some(key), policy)).await?)
}

/// Every plugin of the plugins directory, to look at: none of them may reach anything. Compiled code is kept only
/// where there is a key already that can seal it.
pub(super) async fn inspect(config: &Config) -> anyhow::Result<Registry> {
    let policy = FixedPolicy {
        egress: EgressRules::default(),
        data_dir: config.data_dir.clone(),
        file_roots: Vec::new(),
        reserved: Vec::new(),
    };
    let key = SecretKey::read(&config.key_file())?;
    Ok(Registry::load(sources(config, key.as_ref(), policy)).await?)
}

fn sources(config: &Config, key: Option<&SecretKey>, policy: FixedPolicy) -> Sources {
    Sources {
        plugins_dir: config.plugins_dir.clone(),
        cache_dir: key.is_some().then(|| config.cache_dir()),
        seal_key: key.map_or([0; 32], |key| key.derive("compiled plugins")),
        settings: config.plugins.limits.clone(),
        policy: Arc::new(policy),
    }
}

/// The server's own addresses, which no plugin may reach: its listener, and its store when that is a server.
async fn reserved(config: &Config, listener: SocketAddr) -> Vec<SocketAddr> {
    let mut reserved = vec![listener];
    let store = config
        .database_url
        .get()
        .and_then(|url| url::Url::parse(url).ok());
    if let Some(url) = store
        && let Some(host) = url.host_str()
    {
        let port = url.port().unwrap_or(5432);
        let bare = host.trim_matches(['[', ']']);
        match tokio::net::lookup_host((bare, port)).await {
            Ok(found) => reserved.extend(found),
            Err(error) => tracing::warn!(%error, "the store's host name cannot be resolved"),
        }
    }
    reserved
}
