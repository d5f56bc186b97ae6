//! `mindhost plugin publish`: checks a plugin as its readers would wish, signs it and pushes it under a tag of its own.

mod checks;

use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::Args;

use super::{fetch, files, sign, test};
use crate::commands::say::{aside, say};

#[derive(Debug, Args)]
pub(crate) struct Publish {
    /// The plugin: a component with its manifest.
    file: PathBuf,
    /// Where it goes: oci://registry.example.com/plugins/NAME, with or without `:VERSION`. Name and version must be
    /// those of the manifest.
    reference: String,
    /// Connection data and `tests` for the conformance kit, as `plugin test` takes them. Default: test.json beside the
    /// plugin, if there is one.
    #[arg(long, short, value_name = "FILE|JSON")]
    config: Option<String>,
    /// The changelog, with a heading for the version: `## 1.2.0`. Default: CHANGELOG.md beside the plugin.
    #[arg(long, value_name = "FILE")]
    changelog: Option<PathBuf>,
    /// The licence of the plugin. Default: LICENSE beside the plugin.
    #[arg(long, value_name = "FILE")]
    licence: Option<PathBuf>,
    /// Check everything; sign and push nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    key: sign::Key,
    #[command(flatten)]
    access: fetch::Access,
}

pub(super) async fn run(publish: &Publish) -> anyhow::Result<()> {
    let package = files::package(&publish.file)?;
    let manifest = &package.manifest;
    let folder = checks::folder(&publish.file);
    let reference = checks::reference(&publish.reference, manifest)?;
    checks::manifest_beside(folder, manifest)?;
    let licence = publish
        .licence
        .clone()
        .unwrap_or_else(|| folder.join("LICENSE"));
    checks::licence(&licence)?;
    let changelog = publish
        .changelog
        .clone()
        .unwrap_or_else(|| folder.join("CHANGELOG.md"));
    let changes = checks::changes(&changelog, &manifest.version)?;
    // Before the minutes of the kit: a key that cannot be read, and a version that is there.
    publish.key.public()?;
    let tags = fetch::registry::tags(&reference, &publish.access).await?;
    checks::grew(&manifest.version, &tags)?;
    let highest = checks::highest(&tags).map_or("nothing yet".to_owned(), |one| one.to_string());
    aside!(
        "published before: {highest}; now {} {}; running the kit",
        manifest.name,
        manifest.version
    );
    kit_passes(publish, folder).await?;
    if publish.dry_run {
        say!(
            "{} {} may be published as {reference}",
            manifest.name,
            manifest.version
        );
        return Ok(());
    }
    let signature = sign::sign_package(&publish.key, &package, &publish.file)?;
    // Somebody may have published in the meantime.
    if fetch::registry::manifest(&reference, &publish.access)
        .await?
        .is_some()
    {
        bail!(
            "{reference} is there already; a published version never changes, so give this one a higher number"
        );
    }
    let digest = package.digest.clone();
    fetch::upload(
        package,
        Some(signature),
        &reference,
        &publish.access,
        Some(changes),
    )
    .await?;
    let there = fetch::pull_digest(&reference, &publish.access).await?;
    ensure!(
        there == format!("sha256:{digest}"),
        "{reference} now has a different file ({there}): another push came first; look at the registry"
    );
    say!("{reference} is sha256:{digest}");
    Ok(())
}

async fn kit_passes(publish: &Publish, folder: &std::path::Path) -> anyhow::Result<()> {
    let beside = folder.join("test.json");
    let config = match &publish.config {
        Some(config) => Some(config.clone()),
        None => beside.exists().then(|| beside.display().to_string()),
    };
    let report = test::whole_kit(publish.file.clone(), config).await?;
    say!("{}", report.summary());
    match report.is_success() {
        true => Ok(()),
        false => bail!("the conformance kit fails, so nothing was published"),
    }
}
