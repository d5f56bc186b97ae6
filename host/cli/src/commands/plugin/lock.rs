//! The lock file: the exact plugins and their sources.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{fetch, files::PluginFile};

/// The version of the file's format.
const FORM: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lock {
    form: u32,
    plugins: Vec<Locked>,
}

/// One plugin.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Locked {
    name: String,
    version: String,
    /// SHA-256, in hex.
    digest: String,
    /// The source that `mindhost plugin install` got; a relative path is relative to the lock file.
    source: String,
    /// For a registry, the digest of its manifest, which identifies it even if the tag moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    manifest: Option<String>,
}

/// An entry of a lock file to install.
pub(super) struct LockedFile {
    locked: Locked,
    file: PathBuf,
}

/// Adds an installed plugin, replacing an older version of it.
pub(super) fn add(file: &Path, inspected: &Value, parcel: &PluginFile) -> anyhow::Result<()> {
    let mut lock = match file.exists() {
        true => read(file)?,
        false => Lock {
            form: FORM,
            plugins: Vec::new(),
        },
    };
    let text = |name: &str| inspected[name].as_str().unwrap_or_default().to_owned();
    let name = text("name");
    lock.plugins.retain(|one| one.name != name);
    let source = match fetch::is_reference(&parcel.source)? {
        true => parcel.source.clone(),
        false => from(folder(file), Path::new(&parcel.source))?,
    };
    lock.plugins.push(Locked {
        name,
        version: text("version"),
        digest: text("digest"),
        source,
        manifest: parcel.manifest.clone(),
    });
    lock.plugins.sort_by(|one, other| one.name.cmp(&other.name));
    let content = serde_json::to_string_pretty(&lock)? + "\n";
    fs::write(file, content).with_context(|| format!("{}", file.display()))
}

/// The plugins that the file lists.
pub(super) fn files(file: &Path) -> anyhow::Result<Vec<LockedFile>> {
    let locked = |locked| LockedFile {
        locked,
        file: file.to_owned(),
    };
    Ok(read(file)?.plugins.into_iter().map(locked).collect())
}

impl LockedFile {
    /// Fetches it from its source. Fails if the bytes differ.
    pub(super) async fn fetch(
        &self,
        oci: &fetch::Access,
        max_bytes: u64,
    ) -> anyhow::Result<PluginFile> {
        let locked = &self.locked;
        let parcel = async {
            let parcel = match fetch::is_reference(&locked.source)? {
                true => fetch::pull_locked(locked.into(), oci, max_bytes).await?,
                false => PluginFile::read(&folder(&self.file).join(&locked.source), max_bytes)?,
            };
            parcel.verify(&locked.digest)?;
            anyhow::Ok(parcel)
        };
        parcel.await.with_context(|| {
            format!(
                "{} {} of {}",
                locked.name,
                locked.version,
                self.file.display()
            )
        })
    }
}

impl<'a> From<&'a Locked> for fetch::LockedReference<'a> {
    fn from(locked: &'a Locked) -> Self {
        Self {
            source: &locked.source,
            digest: &locked.digest,
            manifest: locked.manifest.as_deref(),
        }
    }
}

fn read(file: &Path) -> anyhow::Result<Lock> {
    let text = fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
    let lock: Lock = serde_json::from_str(&text).with_context(|| format!("{}", file.display()))?;
    match lock.form {
        FORM => Ok(lock),
        form => bail!(
            "{} has the form {form}, and this program knows form {FORM}; use a newer one",
            file.display()
        ),
    }
}

fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Resolves a path against a folder. An absolute path stays.
fn from(folder: &Path, path: &Path) -> io::Result<String> {
    if path.is_absolute() {
        return Ok(path.display().to_string());
    }
    let place = self::folder(path).canonicalize()?;
    let place = place.join(path.file_name().unwrap_or(OsStr::new(".")));
    let folder = folder.canonicalize()?;
    let shared = folder.components().zip(place.components());
    let shared = shared.take_while(|(one, other)| one == other).count();
    let up = folder
        .components()
        .skip(shared)
        .map(|_| Component::ParentDir);
    let down = place.components().skip(shared);
    Ok(up.chain(down).collect::<PathBuf>().display().to_string())
}
