//! `mindhost plugin install`

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use base64::{Engine, prelude::BASE64_STANDARD};
use clap::Args;
use mindhost::plugins::{artifacts::signature_beside, package};
use reqwest13::Method;
use serde_json::{Value, json};

use super::{
    super::remote::{Remote, Server},
    activate::{self, Progress},
    fetch, lock, text,
};

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// A file, a directory with .wasm files, or a reference such as oci://registry.example.com/plugins/connector:1.2.0.
    /// A signature is taken from FILE.minisig beside it.
    #[arg(required_unless_present = "locked")]
    source: Option<String>,
    /// Only show what it is, who signed it and what it would reach.
    #[arg(long)]
    dry_run: bool,
    /// Let it serve at once.
    #[arg(long)]
    activate: bool,
    /// Write what was installed, with its digest and where it came from, into this file.
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// Install exactly what this file lists: the same bytes, from where they came from.
    #[arg(long, value_name = "FILE", conflicts_with = "source")]
    locked: Option<PathBuf>,
    #[command(flatten)]
    oci: fetch::Access,
    #[command(flatten)]
    remote: Remote,
}

/// A plugin file on its way to the server.
pub(super) struct Parcel {
    pub bytes: Vec<u8>,
    pub signature: Option<String>,
    /// Where it came from.
    pub source: String,
}

pub(super) async fn run(install: Install) -> anyhow::Result<()> {
    let server = install.remote.server()?;
    let parcels = match (&install.locked, &install.source) {
        (Some(file), _) => lock::parcels(file, &install.oci).await?,
        (None, Some(source)) => parcels(source, &install.oci).await?,
        (None, None) => bail!("name what to install"),
    };
    for parcel in parcels {
        let inspected = send(&server, &parcel, install.dry_run).await?;
        println!("{}", text::asks(&inspected));
        if install.dry_run {
            continue;
        }
        println!("installed");
        if let Some(file) = &install.lock {
            lock::add(file, &inspected, &parcel.source)?;
        }
        if install.activate {
            let name = inspected["name"].as_str().unwrap_or_default();
            let body = json!({"version": inspected["digest"]});
            activate::follow(&server, name, &body, Progress::stderr()).await?;
        }
    }
    Ok(())
}

async fn send(server: &Server, parcel: &Parcel, dry_run: bool) -> anyhow::Result<Value> {
    let mut request = server
        .request(Method::POST, "/plugins")
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

impl Parcel {
    /// Fails when the bytes are not those of a digest.
    pub(super) fn verify(&self, digest: &str) -> anyhow::Result<()> {
        let found = package::digest(&self.bytes);
        match found == digest {
            true => Ok(()),
            false => bail!(
                "{} has the digest {found} now, and {digest} was asked for; nothing was installed",
                self.source
            ),
        }
    }
}

/// The files behind a source.
pub(super) async fn parcels(source: &str, oci: &fetch::Access) -> anyhow::Result<Vec<Parcel>> {
    if source.starts_with(fetch::SCHEME) {
        return Ok(vec![fetch::pull(source, oci).await?]);
    }
    let path = Path::new(source);
    if !path.is_dir() {
        return Ok(vec![file(path)?]);
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(path)
        .with_context(|| format!("{}", path.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "wasm")
        })
        .collect();
    files.sort();
    match files.is_empty() {
        true => bail!("{} holds no .wasm file", path.display()),
        false => files.iter().map(|path| file(path)).collect(),
    }
}

fn file(path: &Path) -> anyhow::Result<Parcel> {
    let bytes = std::fs::read(path).with_context(|| format!("{}", path.display()))?;
    Ok(Parcel {
        bytes,
        signature: signature_beside(path),
        source: path.display().to_string(),
    })
}
