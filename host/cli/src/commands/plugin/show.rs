//! `mindhost plugin show` and `mindhost plugin remove`

use std::path::Path;

use clap::Args;
use mindhost_base::config::Config;
use mindhost_plugins::{
    registry::VersionFacts,
    signatures::{Signer, Trust},
};
use mindhost_runtime::package::Package;
use reqwest::Method;
use serde_json::json;

use super::{super::remote::Remote, fetch, files::PluginFile, health, names, text};
use crate::commands::say::say;

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A plugin of the server (connector-postgres), a file (./connector.wasm), or a reference
    /// (oci://registry.example.com/plugins/connector:1.2.0).
    plugin: String,
    #[command(flatten)]
    oci: fetch::Access,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// The plugin: connector-postgres.
    name: String,
    /// A version, or the first characters of a digest.
    version: String,
    #[command(flatten)]
    remote: Remote,
}

pub(super) async fn run(show: &Show) -> anyhow::Result<()> {
    let max_bytes = Config::load()?.plugins.limits.max_package_bytes;
    if fetch::is_reference(&show.plugin)? {
        let parcel = fetch::pull(&show.plugin, &show.oci, max_bytes).await?;
        return about(parcel);
    }
    let path = Path::new(&show.plugin);
    let is_name = names::name(&show.plugin).is_ok();
    if path.is_file() || !is_name {
        return about(PluginFile::read(path, max_bytes)?);
    }
    let server = show.remote.server()?;
    let request = server.request(Method::GET, &["plugins", &show.plugin]);
    let plugin = server.send(request).await?;
    let health = health::of(&server, &show.plugin).await?;
    say!("{}", text::plugin(&plugin, &health));
    Ok(())
}

/// Shows a file and its rights without a server. None of its code runs.
fn about(parcel: PluginFile) -> anyhow::Result<()> {
    let refused = |refusal| anyhow::anyhow!("{} {refusal}", parcel.source);
    let package = Package::parse(parcel.bytes).map_err(refused)?;
    let plugins = Config::load()?.plugins;
    // With the trusted keys of this host; required signatures are checked at the installation.
    let trust = Trust::new(false, &plugins.trusted_keys).map_err(anyhow::Error::msg)?;
    let signer = trust
        .judge(&package, parcel.signature.as_deref())
        .map_err(refused)?;
    let mut shown = serde_json::to_value(VersionFacts::of(&package, &signer))?;
    shown["manifest"] = json!(package.manifest);
    if let Signer::Trusted(key) = &signer {
        shown["signer_limits"] = json!(trust.limits(key));
    }
    say!("{}", text::asks(&shown));
    Ok(())
}

pub(super) async fn remove(remove: &Remove) -> anyhow::Result<()> {
    let (name, version) = (names::name(&remove.name)?, names::version(&remove.version)?);
    let server = remove.remote.server()?;
    let path = ["plugins", name, "versions", version];
    server.send(server.request(Method::DELETE, &path)).await?;
    say!("removed");
    Ok(())
}
