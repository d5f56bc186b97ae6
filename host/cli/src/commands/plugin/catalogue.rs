//! Catalogues of plugins: `mindhost plugin catalogue …`, and what other commands read of them.

mod write;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use mindhost_base::config::{CatalogueSource, Config};
use mindhost_plugins::catalogue::{Catalogue, ListedVersion, MAX_BYTES, Pin, SeenCatalogues};
use mindhost_runtime::package::{Package, version_order};

use super::{
    fetch,
    files::{self, PluginFile},
    names,
};
use crate::commands::say::{aside, plain, say};

#[derive(Debug, Subcommand)]
pub(crate) enum Commands {
    /// List plugins in a catalogue file, raise its number and sign it.
    Add(write::Add),
    /// Mark a version as withdrawn: it is not installed unless its number is named.
    Withdraw(write::Withdraw),
    /// Push a signed catalogue file to an OCI registry.
    Push(write::Push),
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// Words that the name, the title, the description or an engine must have; all plugins without one.
    words: Vec<String>,
    /// Only this catalogue of `plugins.catalogues`.
    #[arg(long, value_name = "NAME")]
    catalogue: Option<String>,
    /// Print JSON: what the catalogues list.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    oci: fetch::Access,
}

/// What a name of a plugin means in the catalogues of the settings.
#[derive(Debug)]
pub(super) struct Pick {
    /// The name of the catalogue.
    pub catalogue: String,
    pub name: String,
    pub listed: ListedVersion,
}

pub(super) async fn run(command: Commands) -> anyhow::Result<()> {
    match command {
        Commands::Add(add) => write::add(&add).await,
        Commands::Withdraw(withdraw) => write::withdraw(&withdraw),
        Commands::Push(push) => write::push(&push).await,
    }
}

pub(super) async fn search(search: &Search) -> anyhow::Result<()> {
    let config = Config::load()?;
    let (mut found, mut failed) = (Vec::new(), 0);
    let sources = chosen(&config, search.catalogue.as_deref())?;
    search
        .oci
        .name(sources.iter().map(|one| one.source.as_str()))?;
    for source in sources {
        match read(&config, source, &search.oci).await {
            Ok(catalogue) => found.push(catalogue),
            Err(error) => {
                aside!("mindhost: {error:#}");
                failed += 1;
            }
        }
    }
    for catalogue in &mut found {
        catalogue.plugins.retain(|plugin| {
            let engines = plugin.engines.join(" ");
            let text = [&plugin.name, &plugin.title, &plugin.description, &engines];
            let text = text.map(|text| text.to_lowercase()).join("\n");
            search
                .words
                .iter()
                .all(|word| text.contains(&word.to_lowercase()))
        });
    }
    match search.json {
        true => say!("{}", serde_json::to_string_pretty(&found)?),
        false => found.iter().for_each(show),
    }
    let is_empty = found.iter().all(|catalogue| catalogue.plugins.is_empty());
    if is_empty && failed == 0 {
        aside!("no plugin has all of these words");
    }
    match failed {
        0 => Ok(()),
        1 => bail!("a catalogue could not be read; plugins of it are missing here"),
        failed => bail!("{failed} catalogues could not be read; plugins of them are missing here"),
    }
}

fn show(catalogue: &Catalogue) {
    for plugin in &catalogue.plugins {
        let version = plugin
            .version(None)
            .map_or("(no release)", |one| one.version.as_str());
        let serves = match plugin.engines.is_empty() {
            true => "model".to_owned(),
            false => format!("connector for {}", plugin.engines.join(", ")),
        };
        say!("{} {version}  {serves}  [{}]", plugin.name, catalogue.name);
        if !plugin.description.is_empty() {
            say!("    {}", plain(&plugin.description));
        }
    }
}

/// Finds a plugin, given as `NAME` or `NAME@VERSION`, in the catalogues of the settings.
pub(super) async fn find(
    wanted: &str,
    catalogue: Option<&str>,
    oci: &fetch::Access,
) -> anyhow::Result<Pick> {
    let (name, version) = match wanted.split_once('@') {
        Some((name, version)) => (names::name(name)?, Some(names::version(version)?)),
        None => (names::name(wanted)?, None),
    };
    let config = Config::load()?;
    let mut picks = Vec::new();
    // All of them: if one is silent, another could offer a plugin of its own under the name.
    let sources = chosen(&config, catalogue)?;
    oci.name(sources.iter().map(|one| one.source.as_str()))?;
    for source in sources {
        let catalogue = read(&config, source, oci).await?;
        if let Some(listing) = catalogue.listing(name) {
            let listed = listing.version(version).cloned();
            let numbers: Vec<_> = listing
                .versions
                .iter()
                .map(|one| one.version.clone())
                .collect();
            picks.push((catalogue.name, listed, numbers));
        }
    }
    let (catalogue, listed, numbers) = match picks.len() {
        0 => bail!("no catalogue has `{name}`; `mindhost plugin search` lists what there is"),
        1 => picks.remove(0),
        _ => {
            let all: Vec<_> = picks.iter().map(|(name, ..)| name.as_str()).collect();
            bail!(
                "several catalogues have `{name}` ({}); name one with --catalogue",
                all.join(", ")
            )
        }
    };
    let listed = listed.with_context(|| match version {
        Some(version) => format!(
            "{catalogue} has no {name} {version}; it has {}",
            numbers.join(", ")
        ),
        None => format!(
            "{catalogue} has no release of {name} that was not withdrawn; it has {}",
            numbers.join(", ")
        ),
    })?;
    if let Some(why) = &listed.withdrawn {
        aside!("note: {name} {} was withdrawn: {why}", listed.version);
    }
    Ok(Pick {
        catalogue,
        name: name.to_owned(),
        listed,
    })
}

impl Pick {
    /// Fetches the file, and compares it with what the catalogue says of it.
    pub(super) async fn fetch(
        &self,
        oci: &fetch::Access,
        max_bytes: u64,
    ) -> anyhow::Result<PluginFile> {
        let ListedVersion {
            source,
            digest,
            manifest,
            version,
            ..
        } = &self.listed;
        let parcel = match fetch::is_reference(source)? {
            true => {
                let pinned = fetch::LockedReference {
                    source,
                    digest,
                    manifest: manifest.as_deref(),
                };
                fetch::pull_locked(pinned, oci, max_bytes).await?
            }
            false => PluginFile::read(Path::new(source), max_bytes)?,
        };
        parcel.verify(digest)?;
        let refused = |refusal| anyhow::anyhow!("{source} {refusal}");
        let own = Package::parse(parcel.bytes.clone())
            .map_err(refused)?
            .manifest;
        ensure!(
            own.name == self.name && own.version == *version,
            "{source} is {} {}, and the catalogue {} lists it as {} {version}; it was not installed",
            own.name,
            own.version,
            self.catalogue,
            self.name
        );
        Ok(parcel)
    }

    /// Whether this version is lower than another.
    pub(super) fn is_lower_than(&self, version: &str) -> bool {
        version_order(&self.listed.version) < version_order(version)
    }
}

/// The catalogues of the settings, or the one of that name.
fn chosen<'a>(config: &'a Config, name: Option<&str>) -> anyhow::Result<Vec<&'a CatalogueSource>> {
    let all = &config.plugins.catalogues;
    for (at, one) in all.iter().enumerate() {
        let is_twice = all.iter().take(at).any(|other| other.name == one.name);
        ensure!(
            !is_twice,
            "plugins.catalogues has `{}` twice; give each a name of its own",
            one.name
        );
    }
    let chosen: Vec<_> = all
        .iter()
        .filter(|one| name.is_none_or(|name| name == one.name))
        .collect();
    match (chosen.is_empty(), name) {
        (false, _) => Ok(chosen),
        (true, Some(name)) => bail!("plugins.catalogues has no `{}`", name.escape_debug()),
        (true, None) => bail!(
            "there is no catalogue; name one in plugins.catalogues with its source and the key that signs it, or install a file or a reference"
        ),
    }
}

/// Fetches a catalogue and checks it before anything of it is believed.
async fn read(
    config: &Config,
    from: &CatalogueSource,
    oci: &fetch::Access,
) -> anyhow::Result<Catalogue> {
    let pin = Pin::new(&from.name, &from.key).map_err(anyhow::Error::msg)?;
    let is_reference = fetch::is_reference(&from.source)?;
    let (bytes, signature) = match is_reference {
        true => fetch::registry::pull_catalogue(&from.source, oci).await?,
        false => file(Path::new(&from.source))?,
    };
    let shelf = SeenCatalogues::new(config.data_dir.join("catalogues"));
    let admitted = shelf.admit(&pin, &bytes, &signature, Timestamp::now());
    let mut catalogue = admitted.map_err(|refusal| {
        anyhow::anyhow!("the catalogue {} ({}) {refusal}", from.name, from.source)
    })?;
    for listed in catalogue
        .plugins
        .iter_mut()
        .flat_map(|plugin| &mut plugin.versions)
    {
        if fetch::is_reference(&listed.source)? {
            continue;
        }
        // A document from elsewhere names no files of this machine.
        ensure!(
            !is_reference,
            "the catalogue {} is in a registry and lists a file: {}",
            from.name,
            listed.source
        );
        listed.source = beside(Path::new(&from.source), &listed.source)
            .display()
            .to_string();
    }
    Ok(catalogue)
}

/// A catalogue file and its signature.
fn file(path: &Path) -> anyhow::Result<(Vec<u8>, String)> {
    let bytes = files::read(path, MAX_BYTES)?;
    let signature = files::signature(path)?;
    let signature = signature.with_context(|| {
        format!(
            "{} has no signature beside it ({}.minisig)",
            path.display(),
            path.display()
        )
    })?;
    Ok((bytes, signature))
}

/// A path that is relative to a file.
fn beside(file: &Path, path: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(path)
}
