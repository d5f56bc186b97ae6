//! `mindhost plugin release`

use clap::Args;
use reqwest::Method;

use super::{super::remote::Remote, names, text};
use crate::commands::say::say;

#[derive(Debug, Args)]
pub(crate) struct Release {
    /// The plugin: connector-postgres.
    name: String,
    /// A version, or the first characters of a digest. Default: all versions.
    version: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

pub(super) async fn run(release: &Release) -> anyhow::Result<()> {
    let name = names::name(&release.name)?;
    let version = release.version.as_deref();
    let version = version.map(names::version).transpose()?;
    let server = release.remote.server()?;
    let mut request = server.request(Method::POST, &["plugins", name, "release"]);
    if let Some(version) = version {
        let plugin = server.request(Method::GET, &["plugins", name]);
        let plugin = server.send(plugin).await?;
        let digest = text::find(&plugin, version)?;
        request = request.query(&[("digest", digest)]);
    }
    let released = server.send(request).await?;
    let of = match released["workspace"].as_str() {
        Some(workspace) => format!(" for the workspace {workspace}"),
        None => String::new(),
    };
    for version in text::array(&released["versions"]) {
        let was = match version["was_in_trouble"].as_bool() {
            Some(true) => "is called again",
            _ => "was well",
        };
        say!("{name} {}: {was}{of}", text::version(version));
    }
    Ok(())
}
