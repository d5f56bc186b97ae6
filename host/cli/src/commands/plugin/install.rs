//! `mindhost plugin install`

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use base64::{Engine, prelude::BASE64_STANDARD};
use clap::Args;
use mindhost_base::config::Config;
use mindhost_runtime::package;
use reqwest::Method;
use serde_json::Value;

use super::{
    super::remote::{Failure, Remote, Server},
    activate, catalogue, fetch,
    files::PluginFile,
    lock, text,
};
use crate::commands::say::{aside, say};

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// A file, a directory with .wasm files, a reference such as oci://registry.example.com/plugins/connector:1.2.0, or
    /// NAME or NAME@VERSION of a catalogue. The signature is read from FILE.minisig beside the file.
    #[arg(required_unless_present = "locked")]
    source: Option<String>,
    /// Only show the plugin, its signer and its rights.
    #[arg(long)]
    dry_run: bool,
    /// Activate it too, unless it serves already.
    #[arg(long)]
    activate: bool,
    #[command(flatten)]
    accept: activate::Accept,
    /// Write the name, digest and source of what was installed into this lock file.
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// Install exactly what this lock file lists: the same bytes from the same source.
    #[arg(long, value_name = "FILE", conflicts_with = "source")]
    locked: Option<PathBuf>,
    /// The catalogue of `plugins.catalogues` that has the name. Needed if several have it.
    #[arg(long, value_name = "NAME")]
    catalogue: Option<String>,
    #[command(flatten)]
    oci: fetch::Access,
    #[command(flatten)]
    remote: Remote,
}

/// The location of a plugin file.
pub(super) enum PluginSource {
    File(PathBuf),
    Reference(String),
    Locked(lock::LockedFile),
    Listed(catalogue::Pick),
}

pub(super) async fn run(install: Install) -> anyhow::Result<()> {
    let server = install.remote.server()?;
    let max_bytes = Config::load()?.plugins.limits.max_package_bytes;
    let all = match (&install.locked, &install.source) {
        (Some(file), _) => {
            let locked = lock::files(file)?.into_iter();
            locked.map(PluginSource::Locked).collect()
        }
        (None, Some(source)) if install.catalogue.is_some() || is_listed(source) => {
            let pick = catalogue::find(source, install.catalogue.as_deref(), &install.oci).await?;
            if install.activate
                && !source.contains('@')
                && let Some(plugin) = installed(&server, &pick.name).await?
            {
                not_lower(&plugin, &pick)?;
                not_rejected(&plugin, &pick)?;
            }
            vec![PluginSource::Listed(pick)]
        }
        (None, Some(source)) => sources(source)?,
        (None, None) => bail!("name what to install"),
    };
    let (count, mut failed) = (all.len(), 0);
    for one in all {
        let done = async {
            let parcel = one.fetch(&install.oci, max_bytes).await?;
            deliver(&server, &install, &parcel, count > 1).await
        };
        let Err(error) = done.await else { continue };
        // An error of the server or the key would repeat for the next file.
        if count == 1 || is_of_server(&error) {
            return Err(error);
        }
        aside!("mindhost: {error:#}");
        failed += 1;
    }
    match failed {
        0 => Ok(()),
        failed => bail!("{failed} of {count} failed; the others are as they were asked for"),
    }
}

/// Installs one file, and activates and locks it as requested.
async fn deliver(
    server: &Server,
    install: &Install,
    parcel: &PluginFile,
    is_one_of_many: bool,
) -> anyhow::Result<()> {
    let inspected = send(server, parcel, install.dry_run).await?;
    if is_one_of_many {
        say!("{}:", parcel.source);
    }
    say!("{}", text::asks(&inspected));
    if install.dry_run {
        return Ok(());
    }
    say!("installed");
    if let Some(file) = &install.lock {
        lock::add(file, &inspected, parcel)?;
    }
    if install.activate {
        let text = |name: &str| inspected[name].as_str().unwrap_or_default();
        let (name, digest) = (text("name"), text("digest"));
        let served = activate::serve(server, name, digest, &install.accept).await;
        served.with_context(|| format!("{} is installed and does not serve", parcel.source))?;
    }
    Ok(())
}

async fn send(server: &Server, parcel: &PluginFile, dry_run: bool) -> anyhow::Result<Value> {
    let mut request = server
        .request(Method::POST, &["plugins"])
        .query(&[("dry_run", dry_run)])
        .header("content-type", "application/wasm")
        .body(parcel.bytes.clone());
    if let Some(signature) = &parcel.signature {
        request = request.header("x-mindhost-signature", BASE64_STANDARD.encode(signature));
    }
    server
        .send(request)
        .await
        .with_context(|| parcel.source.clone())
}

fn is_of_server(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<Failure>() {
        Some(Failure::Answered { status, .. }) => matches!(status, 401 | 403),
        Some(Failure::Unreachable(_) | Failure::NotConnected(_)) => true,
        None => false,
    }
}

impl PluginSource {
    /// Reads the file and its signature.
    pub(super) async fn fetch(
        &self,
        oci: &fetch::Access,
        max_bytes: u64,
    ) -> anyhow::Result<PluginFile> {
        match self {
            Self::File(path) => PluginFile::read(path, max_bytes),
            Self::Reference(source) => fetch::pull(source, oci, max_bytes).await,
            Self::Locked(locked) => locked.fetch(oci, max_bytes).await,
            Self::Listed(pick) => pick.fetch(oci, max_bytes).await,
        }
    }
}

/// Whether a source is a name of a catalogue. A file or directory of that name comes first.
fn is_listed(source: &str) -> bool {
    let name = source.split_once('@').map_or(source, |(name, _)| name);
    package::is_name(name) && !Path::new(source).exists()
}

/// A plugin as the server has it, if it has it.
async fn installed(server: &Server, name: &str) -> anyhow::Result<Option<Value>> {
    let request = server.request(Method::GET, &["plugins", name]);
    match server.send(request).await {
        Err(error) if error.is("plugin_not_found") => Ok(None),
        sent => Ok(Some(sent?)),
    }
}

/// A name without a version never activates the version that failed or was rolled back when it was last activated.
fn not_rejected(plugin: &Value, pick: &catalogue::Pick) -> anyhow::Result<()> {
    let digest = pick.listed.digest.as_str();
    // The newest rollouts come first, and a rollback judges the version that it leaves.
    let ended = text::array(&plugin["rollouts"]).iter().find_map(|one| {
        let is_left =
            one["is_rollback"] == true && one["from"] == digest && one["stage"] == "completed";
        match one["stage"].as_str() {
            _ if is_left => Some("was rolled back"),
            Some("rolled_back") if one["to"] == digest => Some("was rolled back"),
            Some("failed") if one["to"] == digest => Some("failed"),
            Some("completed") if one["to"] == digest => Some(""),
            _ => None,
        }
    });
    match ended {
        None | Some("") => Ok(()),
        Some(how) => bail!(
            "{name} {version} {how} when it was last activated here; to try it again, name it: {name}@{version}",
            name = pick.name,
            version = pick.listed.version
        ),
    }
}

/// A name without a version never replaces the serving version by a lower one.
fn not_lower(plugin: &Value, pick: &catalogue::Pick) -> anyhow::Result<()> {
    let versions = text::array(&plugin["versions"]).iter();
    let serving = versions.filter(|one| one["status"] == "active");
    let lower = |version: &&str| pick.is_lower_than(version);
    let mut higher = serving
        .filter_map(|one| one["version"].as_str())
        .filter(lower);
    match higher.next() {
        None => Ok(()),
        Some(higher) => bail!(
            "{} {higher} serves, and the catalogue {} has {} at most; to go back to that, name it: {}@{}",
            pick.name,
            pick.catalogue,
            pick.listed.version,
            pick.name,
            pick.listed.version
        ),
    }
}

/// The files of a source.
fn sources(source: &str) -> anyhow::Result<Vec<PluginSource>> {
    if fetch::is_reference(source)? {
        return Ok(vec![PluginSource::Reference(source.to_owned())]);
    }
    let path = Path::new(source);
    if !path.is_dir() {
        return Ok(vec![PluginSource::File(path.to_owned())]);
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(path)
        .with_context(|| format!("{}", path.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "wasm")
        })
        // Subdirectories are skipped silently; any other file that is not a plugin is reported.
        .filter(|path| !path.is_dir())
        .collect();
    files.sort();
    match files.is_empty() {
        true => bail!("{} holds no .wasm file", path.display()),
        false => Ok(files.into_iter().map(PluginSource::File).collect()),
    }
}
