//! Loads the plugins by the settings.

use mindhost_plugins::active::ActivePlugins;
use std::{
    collections::HashSet,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context;
use mindhost_base::config::{Config, Switch};
use mindhost_core::{
    datasources,
    secrets::{SecretKeys, Source},
};
use mindhost_plugins::{
    registry::{Active, CacheDir, Compilers, Installed, Registry, Sources},
    rights::Incumbents,
    signatures::Trust,
};
use mindhost_runtime::policy::{
    EgressRules, FixedPolicy, Locality, Policy, RootCertificates, WhileLocal, root_certificates,
};
use mindhost_store::Store;

use super::finding::Finding;

/// The purpose of the key that seals compiled plugins.
pub(super) const CACHE: &str = "compiled plugins";

/// The settings that let other machines reach this server, which turns `egress.allow_loopback = "auto"` off. `listens`
/// is the address of the API.
pub(super) fn why_remote(config: &Config, listens: IpAddr) -> Option<&'static str> {
    if !listens.is_loopback() {
        return Some("the server listens on more than loopback");
    }
    let has_proxies = !config.server.trusted_proxies.is_empty();
    has_proxies.then_some("server.trusted_proxies is set")
}

/// Loads and verifies every plugin of the plugins directory. `own` are the listeners of this server, the API first;
/// `locality` tracks who can reach it.
pub(super) async fn load(
    config: &Config,
    store: &Store,
    keys: &SecretKeys,
    own: &[SocketAddr],
    locality: &Arc<Locality>,
) -> anyhow::Result<Registry> {
    let root_certificates = checked(config)?;
    let rules = FixedPolicy {
        egress: EgressRules {
            // With "auto", the locality decides.
            allow_loopback: config.egress.allow_loopback != Switch::Off,
            loopback_ended: false,
            allow_private: config.egress.allow_private,
            allow: config.egress.allow.clone(),
            deny: config.egress.deny.clone(),
            allow_ports: config.egress.allow_ports.clone(),
            root_certificates,
        },
        data_dir: config.data_dir.clone(),
        file_roots: config.files.roots.clone(),
        reserved: reserved(config, own).await?,
    };
    for (root, why) in unusable_roots(config, &rules) {
        let root = root.display();
        tracing::warn!(%root, "an entry of files.roots cannot be used: it {why}");
    }
    let policy: Arc<dyn Policy> = match config.egress.allow_loopback {
        Switch::Auto => Arc::new(WhileLocal {
            rules,
            locality: locality.clone(),
        }),
        Switch::On | Switch::Off => Arc::new(rules),
    };
    let registry = Registry::load(Sources {
        import: true,
        cache_dir: CacheDir::ReadWrite(config.cache_dir()),
        compilers: Compilers::of_this_program(),
        soon: true,
        active: ActivePlugins(store).all().await?,
        incumbents: ActivePlugins(store).incumbents().await?,
        pinned: datasources::pinned_digests(store).await?,
        ..sources(config, Some(keys.derive(CACHE)), policy)?
    });
    let registry = registry.await?;
    let rights = |digest: &str| registry.rights(digest);
    ActivePlugins(store)
        .add_first(&registry.active(), rights)
        .await?;
    Ok(registry)
}

/// Refuses settings with which no plugin could be loaded, and reads the certificates that one of them names. `doctor`
/// asks this too.
pub(super) fn checked(config: &Config) -> anyhow::Result<RootCertificates> {
    if is_same(&config.plugins_dir, &config.artifacts_dir()) {
        anyhow::bail!(
            "plugins_dir is {}, where the server itself keeps what is installed; set it to another directory",
            config.plugins_dir.display()
        );
    }
    own_authorities(&config.egress.root_certificates)
}

/// Whose signatures the settings trust.
pub(super) fn trust(config: &Config) -> anyhow::Result<Trust> {
    let plugins = &config.plugins;
    let trust = Trust::new(plugins.require_signature, &plugins.trusted_keys);
    trust.map_err(anyhow::Error::msg)
}

/// The entries of `files.roots` that no plugin can read, and why.
fn unusable_roots<'a>(config: &'a Config, rules: &'a FixedPolicy) -> Vec<(&'a Path, &'static str)> {
    let refused = rules.refused_roots();
    let mut unusable: Vec<_> = refused
        .map(|root| (root, "overlaps the data directory"))
        .collect();
    for root in &config.files.roots {
        let is_refused = unusable.iter().any(|(other, _)| *other == root);
        if !is_refused && !root.is_dir() {
            unusable.push((root.as_path(), "is no directory"));
        }
    }
    unusable
}

/// What `doctor` says of `files.roots`.
pub(super) fn examine_roots(config: &Config) -> Vec<Finding> {
    let rules = without_grants(config, config.files.roots.clone());
    let unusable = unusable_roots(config, &rules).into_iter();
    let bad = unusable.map(|(root, why)| {
        Finding::bad(
            format!(
                "files.roots: {} {why}, so no plugin can read it",
                root.display()
            ),
            "make the directory, or correct the setting",
        )
    });
    bad.collect()
}

/// The names of the sections `[plugins.limits.<name>]` whose plugin is not installed.
pub(super) fn limits_of_missing_plugins<'a>(
    config: &'a Config,
    installed: &[Installed],
) -> Vec<&'a str> {
    let known: HashSet<&str> = installed
        .iter()
        .filter_map(|one| Some(one.about.as_ref()?.name.as_str()))
        .collect();
    let limited = config.plugins.limits.by_plugin.keys().map(String::as_str);
    limited.filter(|name| !known.contains(name)).collect()
}

/// The certificates of `egress.root_certificates`.
fn own_authorities(path: &Path) -> anyhow::Result<RootCertificates> {
    if path.as_os_str().is_empty() {
        return Ok(RootCertificates::default());
    }
    let read = std::fs::read(path).map_err(|error| error.to_string());
    let found = read.and_then(|pem| root_certificates(&pem));
    found.map_err(|why| anyhow::anyhow!("egress.root_certificates is {}: {why}", path.display()))
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Loads every plugin of the plugins directory for inspection, without any grants. Writes nothing: code that the cache
/// lacks is compiled for this inspection alone, because a file of another user would be in the server's way.
pub(super) async fn inspect(config: &Config) -> anyhow::Result<Registry> {
    let policy = without_grants(config, Vec::new());
    let key = Source::read_file(config).await?;
    let key = key.first().map(|key| key.derive(CACHE));
    Ok(Registry::load(Sources {
        // Without the key, nothing in the cache can be trusted.
        cache_dir: match key {
            Some(_) => CacheDir::ReadOnly(config.cache_dir()),
            None => CacheDir::Absent,
        },
        active: remembered(config).await,
        ..sources(config, key, Arc::new(policy))?
    })
    .await?)
}

fn without_grants(config: &Config, file_roots: Vec<PathBuf>) -> FixedPolicy {
    FixedPolicy {
        egress: EgressRules::default(),
        data_dir: config.data_dir.clone(),
        file_roots,
        reserved: Vec::new(),
    }
}

/// The serving versions of the last start, empty if there was none. Errors of the store are reported elsewhere.
pub(super) async fn remembered(config: &Config) -> Active {
    let is_there =
        config.database_url.get().is_some() || config.data_dir.join("mindhost.db").exists();
    if !is_there {
        return Active::new();
    }
    match Store::open(config).await {
        Ok(store) => ActivePlugins(&store).all().await.unwrap_or_default(),
        Err(_) => Active::new(),
    }
}

fn sources(
    config: &Config,
    seal_key: Option<[u8; 32]>,
    policy: Arc<dyn Policy>,
) -> anyhow::Result<Sources> {
    let plugins = &config.plugins;
    Ok(Sources {
        plugins_dir: config.plugins_dir.clone(),
        artifacts_dir: config.artifacts_dir(),
        import: false,
        compilers: Compilers::InProcess,
        soon: false,
        cache_dir: CacheDir::Absent,
        spill_dir: Some(config.spill_dir()),
        seal_key: seal_key.unwrap_or_default(),
        settings: plugins.limits.clone(),
        trust: trust(config)?,
        policy,
        active: Active::new(),
        incumbents: Incumbents::default(),
        pinned: Vec::new(),
    })
}

/// The server's own addresses, which no plugin may reach: its listeners, and its store if that is a server. An unknown
/// address could not be refused, so an error stops the start.
async fn reserved(config: &Config, own: &[SocketAddr]) -> anyhow::Result<Vec<SocketAddr>> {
    let mut reserved = own.to_vec();
    let url = config.database_url.get();
    if let Some((host, port)) = url.and_then(Store::server) {
        let found = tokio::net::lookup_host((host.as_str(), port));
        let found = found.await.with_context(|| {
            format!(
                "the store's host `{host}` cannot be resolved, so plugins could not be kept away from it; check database_url and the name service"
            )
        })?;
        reserved.extend(found);
    }
    Ok(reserved)
}
