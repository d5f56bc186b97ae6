//! Makes catalogues: lists plugins in a file, signs it and pushes it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail, ensure};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use mindhost_base::config::Config;
use mindhost_plugins::{
    catalogue::{Catalogue, FORM, ListedVersion, Listing, MAX_DAYS, Pin},
    signatures::claims,
};
use mindhost_runtime::package::{Package, digest, version_order};

use super::super::{fetch, files::PluginFile, names, sign};
use crate::commands::say::say;

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The catalogue file; it is made if it does not exist. FILE.minisig goes beside it.
    file: PathBuf,
    /// Plugins: references such as oci://registry.example.com/plugins/connector:1.2.0, or files. None renews the
    /// catalogue alone.
    plugins: Vec<String>,
    /// The name of a new catalogue.
    #[arg(long)]
    name: Option<String>,
    /// Days until the catalogue ends and a newer one must be there.
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(i64).range(1..=MAX_DAYS))]
    days: i64,
    #[command(flatten)]
    key: sign::Key,
    #[command(flatten)]
    oci: fetch::Access,
}

#[derive(Debug, Args)]
pub(crate) struct Withdraw {
    /// The catalogue file.
    file: PathBuf,
    /// The plugin.
    name: String,
    /// The version.
    version: String,
    /// Why, for those who would install it.
    #[arg(long)]
    reason: String,
    /// Days until the catalogue ends and a newer one must be there.
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(i64).range(1..=MAX_DAYS))]
    days: i64,
    #[command(flatten)]
    key: sign::Key,
}

#[derive(Debug, Args)]
pub(crate) struct Push {
    /// The signed catalogue file. All plugins of it must be in registries.
    file: PathBuf,
    /// The reference to push to: oci://registry.example.com/plugins/catalogue:latest. A tag that is there moves.
    reference: String,
    #[command(flatten)]
    oci: fetch::Access,
}

pub(super) async fn add(add: &Add) -> anyhow::Result<()> {
    let mut catalogue = match (add.file.exists(), &add.name) {
        (true, _) => own(&add.file, &add.key)?,
        (false, Some(name)) => empty(names::name(name)?),
        (false, None) => bail!(
            "{} does not exist; name a new catalogue with --name",
            add.file.display()
        ),
    };
    let max_bytes = Config::load()?.plugins.limits.max_package_bytes;
    add.oci.name(add.plugins.iter().map(String::as_str))?;
    for source in &add.plugins {
        let parcel = match fetch::is_reference(source)? {
            true => fetch::pull(source, &add.oci, max_bytes).await?,
            false => PluginFile::read(Path::new(source), max_bytes)?,
        };
        list(&mut catalogue, &add.file, parcel).with_context(|| source.clone())?;
    }
    finish(catalogue, &add.file, add.days, &add.key)
}

pub(super) fn withdraw(withdraw: &Withdraw) -> anyhow::Result<()> {
    let mut catalogue = own(&withdraw.file, &withdraw.key)?;
    let plugins = catalogue.plugins.iter_mut();
    let versions = plugins
        .filter(|one| one.name == withdraw.name)
        .flat_map(|one| &mut one.versions);
    let mut fitting = versions.filter(|one| one.version == withdraw.version);
    let Some(listed) = fitting.next() else {
        bail!(
            "{} has no {} {}",
            withdraw.file.display(),
            withdraw.name,
            withdraw.version
        );
    };
    listed.withdrawn = Some(withdraw.reason.clone());
    finish(catalogue, &withdraw.file, withdraw.days, &withdraw.key)
}

pub(super) async fn push(push: &Push) -> anyhow::Result<()> {
    let (bytes, signature) = super::file(&push.file)?;
    let file = push.file.display();
    ensure!(
        claims(&bytes, &signature).is_ok(),
        "{file} is not what {file}.minisig was made for, so no reader would take it; restore the last signed file, and \
         change it with `mindhost plugin catalogue add` and `withdraw`"
    );
    let refused = |refusal| anyhow::anyhow!("{file} {refusal}");
    let catalogue = Catalogue::parse(&bytes).map_err(refused)?;
    for listed in catalogue.plugins.iter().flat_map(|plugin| &plugin.versions) {
        ensure!(
            fetch::is_reference(&listed.source)?,
            "{} is a file, which readers of a registry do not have; publish it, and add its reference",
            listed.source
        );
    }
    fetch::registry::push_catalogue(&push.reference, &push.oci, bytes, signature).await
}

fn empty(name: &str) -> Catalogue {
    Catalogue {
        form: FORM,
        name: name.to_owned(),
        sequence: 0,
        made_at: Timestamp::now(),
        expires_at: Timestamp::now(),
        plugins: Vec::new(),
    }
}

/// A catalogue file of this key. One that was changed by hand is not signed anew.
fn own(file: &Path, key: &sign::Key) -> anyhow::Result<Catalogue> {
    let (bytes, signature) = super::file(file)?;
    let refused = |refusal| anyhow::anyhow!("{} {refusal}", file.display());
    let named = Catalogue::parse(&bytes).map_err(refused)?;
    let pin = Pin::new(&named.name, &key.public()?).map_err(anyhow::Error::msg)?;
    pin.verify(&bytes, &signature).map_err(refused)
}

fn list(catalogue: &mut Catalogue, file: &Path, parcel: PluginFile) -> anyhow::Result<()> {
    let source = match fetch::is_reference(&parcel.source)? {
        true => parcel.source.clone(),
        false => place(file, Path::new(&parcel.source))?,
    };
    let package =
        Package::parse(parcel.bytes).map_err(|refusal| anyhow::anyhow!("it {refusal}"))?;
    let own = package.manifest;
    let listed = ListedVersion {
        version: own.version,
        digest: package.digest,
        size: package.bytes.len() as u64,
        source,
        manifest: parcel.manifest,
        withdrawn: None,
    };
    let listing = match catalogue
        .plugins
        .iter_mut()
        .find(|one| one.name == own.name)
    {
        Some(listing) => listing,
        None => {
            catalogue.plugins.push(Listing {
                name: own.name.clone(),
                title: String::new(),
                description: String::new(),
                kind: own.kind,
                engines: Vec::new(),
                versions: Vec::new(),
            });
            catalogue.plugins.last_mut().context("it was just listed")?
        }
    };
    if let Some(same) = listing
        .versions
        .iter()
        .find(|one| one.version == listed.version)
    {
        ensure!(
            same.digest == listed.digest,
            "{} {} is listed with the digest {}; another file needs a version of its own",
            own.name,
            listed.version,
            same.digest
        );
        return Ok(());
    }
    let highest = listing
        .versions
        .iter()
        .map(|one| version_order(&one.version))
        .max();
    // The words of the highest version are those of the plugin.
    if highest.is_none_or(|highest| highest < version_order(&listed.version)) {
        listing.title = own.title;
        listing.description = own.description;
        listing.engines = own.engines;
    }
    say!("{} {}  sha256:{}", own.name, listed.version, listed.digest);
    listing.versions.push(listed);
    listing
        .versions
        .sort_by_key(|one| std::cmp::Reverse(version_order(&one.version)));
    Ok(())
}

/// The path of a plugin: relative if it lies in or below the catalogue's folder.
fn place(file: &Path, plugin: &Path) -> anyhow::Result<String> {
    let plugin = plugin.canonicalize()?;
    let folder = std::path::absolute(file)?;
    let folder = folder
        .parent()
        .context("the catalogue has no folder")?
        .canonicalize()?;
    Ok(plugin
        .strip_prefix(&folder)
        .unwrap_or(&plugin)
        .display()
        .to_string())
}

/// Raises the number, signs and writes.
fn finish(mut catalogue: Catalogue, file: &Path, days: i64, key: &sign::Key) -> anyhow::Result<()> {
    catalogue.sequence = catalogue
        .sequence
        .checked_add(1)
        .context("its number is the last one")?;
    // Whole seconds, which everybody can read.
    catalogue.made_at = Timestamp::from_second(Timestamp::now().as_second())?;
    catalogue.expires_at = catalogue
        .made_at
        .checked_add(SignedDuration::from_hours(days * 24))?;
    catalogue
        .plugins
        .sort_by(|one, other| one.name.cmp(&other.name));
    let text = serde_json::to_string_pretty(&catalogue)? + "\n";
    // What readers would refuse is not signed.
    Catalogue::parse(text.as_bytes())
        .map_err(|refusal| anyhow::anyhow!("the catalogue {refusal}"))?;
    // `push` compares the digest, since it may not know the key.
    let comment = format!(
        "catalogue {} {} sha256:{}",
        catalogue.name,
        catalogue.sequence,
        digest(text.as_bytes())
    );
    let signature = key.sign(text.as_bytes(), &comment)?;
    fs::write(file, text).with_context(|| file.display().to_string())?;
    sign::write(file, &signature)?;
    say!(
        "{} is number {} of {}, until {}",
        file.display(),
        catalogue.sequence,
        catalogue.name,
        catalogue.expires_at
    );
    Ok(())
}
