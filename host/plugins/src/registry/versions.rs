//! The installed versions.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    artifacts::{Artifacts, signature_beside},
    signatures::{Signer, Trust},
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{Manifest, PluginKind};
use mindhost_runtime::{
    Ready,
    package::{self, Package, Refusal, version_order},
};

/// Hex digits of a digest that suffice to name a version.
const MIN_PREFIX: usize = 6;

/// A plugin file: in the plugins directory, or installed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Installed {
    /// Path, if it is in the plugins directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub file: Option<PathBuf>,
    /// From the manifest, if it could be read.
    #[serde(flatten)]
    pub about: Option<VersionFacts>,
    /// Whether it serves.
    #[serde(flatten)]
    pub status: Status,
}

/// The facts about a plugin version.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct VersionFacts {
    /// `connector-sqlite`
    #[schema(example = "connector-sqlite")]
    pub name: String,
    /// For people: `SQLite`.
    pub title: String,
    /// Version of the plugin.
    #[schema(example = "1.2.0")]
    pub version: String,
    /// Connector or model.
    pub kind: PluginKind,
    /// Engines that it serves or would serve.
    pub engines: Vec<String>,
    /// SHA-256 of the file, in hex.
    pub digest: String,
    /// Bytes of the file.
    pub size: u64,
    /// Id of the trusted key that signed it; null if no trusted key did.
    pub signer: Option<String>,
    /// World that it exports: `sql-connector`.
    pub world: String,
    /// Version of the contract that it was built against.
    pub wit: String,
}

/// Whether a plugin serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "status", content = "reason", rename_all = "lowercase")]
pub enum Status {
    /// It serves.
    Active,
    /// It is installed but does not serve.
    Inactive(String),
    /// It cannot be used.
    Refused(String),
}

/// Why a version that could serve does not: another one was activated, or none.
pub const INSTALLED: &str = "it serves once it is activated";

/// A version that the registry knows.
pub struct KnownVersion {
    pub about: VersionFacts,
    pub manifest: Manifest,
    pub file: Option<PathBuf>,
    /// Compiled, after its first use.
    pub ready: Option<Arc<Ready>>,
    /// Why it cannot be used, or does not serve although it could.
    pub status: Status,
}

/// A file that was found at the start.
pub struct FoundFile {
    pub file: Option<PathBuf>,
    pub package: Result<Arc<Package>, Refusal>,
    /// Its signer, or why the policy refuses it.
    pub signer: Result<Signer, Refusal>,
}

/// The files of the plugins directory by name, then the other installed versions. With `import` the files are
/// installed. Without it each gets the answer that a start would give.
pub fn found(
    plugins_dir: &std::path::Path,
    artifacts: &Artifacts,
    trust: &Trust,
    max_bytes: u64,
    import: bool,
) -> Vec<FoundFile> {
    let mut all = Vec::new();
    let mut taken = TakenVersions::by(artifacts);
    let installed = artifacts.digests();
    // A damaged file must not claim its version: the good one would be refused. What is installed was checked before.
    let validated = |package: Package| match installed.contains(&package.digest) {
        true => Ok(package),
        false => package.validate().map(|()| package),
    };
    for (file, package) in package::scan(plugins_dir, max_bytes) {
        let package = package.and_then(validated);
        let repeated = package.as_ref().ok();
        let repeated = repeated.and_then(|package| taken.take(package).err());
        if let Some(refusal) = repeated {
            all.push(FoundFile {
                file: Some(file),
                package: package.map(Arc::new),
                signer: Err(refusal),
            });
            continue;
        }
        let beside = signature_beside(&file);
        let signature = match &package {
            Ok(package) => artifacts.best_signature(package, beside, trust),
            Err(_) => beside,
        };
        let found = FoundFile::new(Some(file), package, signature.as_deref(), trust);
        if import && let (Ok(package), Ok(_)) = (&found.package, &found.signer) {
            // The host then serves from the plugins directory, and logs it.
            if let Err(error) = artifacts.put(package, signature.as_deref()) {
                tracing::warn!(%error, "a plugin could not be copied into the data directory");
            }
        }
        all.push(found);
    }
    for digest in artifacts.digests() {
        let is_known =
            |found: &FoundFile| matches!(&found.package, Ok(package) if package.digest == digest);
        if all.iter().any(is_known) {
            continue;
        }
        let signature = artifacts.signature(&digest);
        let package = artifacts.read(&digest);
        // An unreadable file has no name but its path.
        let file = package.is_err().then(|| artifacts.file(&digest));
        all.push(FoundFile::new(file, package, signature.as_deref(), trust));
    }
    all
}

/// The digest of each installed version, by plugin and number.
struct TakenVersions {
    installed: BTreeMap<(String, String), String>,
    digests: Vec<String>,
}

impl TakenVersions {
    fn by(artifacts: &Artifacts) -> Self {
        let digests: Vec<String> = artifacts.digests().into_iter().collect();
        let read = |digest: &String| artifacts.read(digest).ok();
        let installed = digests.iter().filter_map(read).map(|package| {
            let Package {
                manifest, digest, ..
            } = package;
            ((manifest.name, manifest.version), digest)
        });
        Self {
            installed: installed.collect(),
            digests,
        }
    }

    /// Claims the version of a file. Refused if another file has it.
    fn take(&mut self, package: &Package) -> Result<(), Refusal> {
        // What is installed stays so, whatever else is.
        if self.digests.contains(&package.digest) {
            return Ok(());
        }
        let manifest = &package.manifest;
        let version = (manifest.name.clone(), manifest.version.clone());
        let holder = self.installed.entry(version);
        let holder = holder.or_insert_with(|| package.digest.clone());
        match *holder == package.digest {
            true => Ok(()),
            false => Err(Refusal::new(format!(
                "is another file of {} {} than the one that is installed ({}), and was not installed; give it a version of its own",
                manifest.name,
                manifest.version,
                holder.get(..12).unwrap_or_default()
            ))),
        }
    }
}

impl FoundFile {
    fn new(
        file: Option<PathBuf>,
        package: Result<Package, Refusal>,
        signature: Option<&str>,
        trust: &Trust,
    ) -> Self {
        let signer = match &package {
            Ok(package) => trust.judge(package, signature),
            Err(refusal) => Err(refusal.clone()),
        };
        Self {
            file,
            package: package.map(Arc::new),
            signer,
        }
    }
}

impl VersionFacts {
    /// The facts about a package and its signer.
    pub fn of(package: &Package, signer: &Signer) -> Self {
        let manifest = &package.manifest;
        Self {
            name: manifest.name.clone(),
            title: manifest.title.clone(),
            version: manifest.version.clone(),
            kind: manifest.kind,
            engines: manifest.engines.clone(),
            digest: package.digest.clone(),
            size: package.bytes.len() as u64,
            signer: match signer {
                Signer::Trusted(key) => Some(key.clone()),
                Signer::Unsigned | Signer::Unknown(_) => None,
            },
            world: manifest.world.clone(),
            wit: manifest.wit.clone(),
        }
    }
}

impl Installed {
    /// A file that is not a plugin.
    pub fn unusable(file: Option<PathBuf>, refusal: &Refusal) -> Self {
        Self {
            file,
            about: None,
            status: Status::Refused(refusal.to_string()),
        }
    }

    /// By name and version; files without either come last.
    pub fn order(&self) -> impl Ord + use<'_> {
        let about = self.about.as_ref();
        (
            about.is_none(),
            about.map(|about| (&about.name, version_order(&about.version), &about.digest)),
            &self.file,
        )
    }
}

impl KnownVersion {
    /// A version that is not compiled yet.
    pub fn of(package: &Package, signer: &Signer, file: Option<PathBuf>) -> Self {
        Self {
            about: VersionFacts::of(package, signer),
            manifest: package.manifest.clone(),
            file,
            ready: None,
            status: Status::Inactive(INSTALLED.to_owned()),
        }
    }

    /// Its entry in the list while it does not serve.
    pub fn shown(&self) -> Installed {
        Installed {
            file: self.file.clone(),
            about: Some(self.about.clone()),
            status: self.status.clone(),
        }
    }
}

/// For each plugin of the plugins directory, the digest of its highest usable version; of two files with one version,
/// the first by digest. Other installed versions wait to be activated.
pub fn newest(
    known: &BTreeMap<String, KnownVersion>,
    may_serve: impl Fn(&String) -> bool,
) -> Vec<String> {
    let mut newest: BTreeMap<&str, (&String, _)> = BTreeMap::new();
    for (digest, one) in known {
        let is_usable = !matches!(one.status, Status::Refused(_)) && one.file.is_some();
        if !is_usable || !may_serve(digest) {
            continue;
        }
        let order = version_order(&one.about.version);
        let best = newest.get(one.about.name.as_str());
        if best.is_none_or(|(_, highest)| order > *highest) {
            newest.insert(&one.about.name, (digest, order));
        }
    }
    newest
        .into_values()
        .map(|(digest, _)| digest.clone())
        .collect()
}

/// Finds a version by its version number or the start of its digest; without either, the highest that is usable and
/// not among `avoided`.
///
/// # Errors
/// `plugin_not_found`, which lists the versions; `plugin_ambiguous` if several match; `wrong_state` if all versions are
/// avoided.
pub fn find<'a>(
    known: &'a BTreeMap<String, KnownVersion>,
    name: &str,
    version: Option<&str>,
    avoided: &BTreeSet<String>,
) -> Result<&'a KnownVersion> {
    let mut mine: Vec<&KnownVersion> = known
        .values()
        .filter(|one| one.about.name == name)
        .collect();
    mine.sort_by_key(|one| std::cmp::Reverse(version_order(&one.about.version)));
    if mine.is_empty() {
        return Err(Error::new(
            Code::PluginNotFound,
            format!(
                "there is no plugin `{}`; `GET /plugins` lists those there are",
                super::shown(name)
            ),
        ));
    }
    let Some(version) = version else {
        let is_usable = |one: &&&KnownVersion| !matches!(one.status, Status::Refused(_));
        let is_free = |one: &&&KnownVersion| !avoided.contains(&one.about.digest);
        let best = mine.iter().filter(is_free).find(is_usable);
        // The refusal of the highest says what is wrong with it.
        let best = best.or(mine.iter().find(is_free));
        return best.copied().ok_or_else(|| {
            Error::new(
                Code::WrongState,
                format!("every installed version of `{name}` was rolled back or failed; name one with `version` to try it again"),
            )
        });
    };
    let version = version.strip_prefix("sha256:").unwrap_or(version);
    let by_digest = version.len() >= MIN_PREFIX;
    let fitting: Vec<&KnownVersion> = mine
        .iter()
        .filter(|one| {
            one.about.version == version || by_digest && one.about.digest.starts_with(version)
        })
        .copied()
        .collect();
    let listed = |some: &[&KnownVersion]| {
        let each = |one: &&KnownVersion| {
            let digest = one.about.digest.get(..12).unwrap_or_default();
            format!("{} ({digest})", one.about.version)
        };
        some.iter().map(each).collect::<Vec<_>>().join(", ")
    };
    match fitting[..] {
        [one] => Ok(one),
        [] => Err(Error::new(
            Code::PluginNotFound,
            format!(
                "`{name}` has no version `{}`; installed are {}",
                super::shown(version),
                listed(&mine)
            ),
        )),
        _ => Err(Error::new(
            Code::PluginAmbiguous,
            format!(
                "several files are `{name}` {}; name one by the beginning of its digest: {}",
                super::shown(version),
                listed(&fitting)
            ),
        )),
    }
}
