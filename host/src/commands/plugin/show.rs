//! `mindhost plugin show` and `mindhost plugin remove`

use std::path::{Path, PathBuf};

use clap::Args;
use mindhost::{
    config::Config,
    plugins::{artifacts::signature_beside, package::Package, registry::About, signatures::Trust},
};
use reqwest13::Method;
use serde_json::json;

use super::{super::remote::Remote, text};

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A plugin of the server (connector-postgres), or a file that was not installed yet (./connector.wasm).
    plugin: PathBuf,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// The plugin: connector-postgres.
    name: String,
    /// A version, or the beginning of a digest.
    version: String,
    #[command(flatten)]
    remote: Remote,
}

pub(super) async fn run(show: &Show) -> anyhow::Result<()> {
    if show.plugin.is_file() {
        return file(&show.plugin);
    }
    let path = format!("/plugins/{}", show.plugin.display());
    let server = show.remote.server()?;
    let plugin = server.send(server.request(Method::GET, &path)).await?;
    println!("{}", text::plugin(&plugin));
    Ok(())
}

/// What a file is and asks for, without any server: nothing of it runs.
fn file(path: &Path) -> anyhow::Result<()> {
    let package = Package::read(path, u64::MAX)
        .map_err(|refusal| anyhow::anyhow!("{} {refusal}", path.display()))?;
    let plugins = Config::load()?.plugins;
    // Whom this host trusts; what it requires is asked when it is installed.
    let trust = Trust::new(false, &plugins.trusted_keys).map_err(anyhow::Error::msg)?;
    let signer = trust
        .judge(&package.bytes, signature_beside(path).as_deref())
        .map_err(|refusal| anyhow::anyhow!("{} {refusal}", path.display()))?;
    let mut shown = serde_json::to_value(About::of(&package, &signer))?;
    shown["manifest"] = json!(package.manifest);
    println!("{}", text::asks(&shown));
    Ok(())
}

pub(super) async fn remove(remove: &Remove) -> anyhow::Result<()> {
    let server = remove.remote.server()?;
    let path = format!("/plugins/{}/versions/{}", remove.name, remove.version);
    server.send(server.request(Method::DELETE, &path)).await?;
    println!("removed");
    Ok(())
}
