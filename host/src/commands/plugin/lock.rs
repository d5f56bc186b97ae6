//! The lock file: which plugins, byte for byte, and where they came from.

use std::{fs, path::Path};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    fetch,
    install::{self, Parcel},
};

/// The form of the file.
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
    /// What `mindhost plugin install` was given.
    source: String,
}

/// Adds what was installed, in the place of an older version of it.
pub(super) fn add(file: &Path, inspected: &Value, source: &str) -> anyhow::Result<()> {
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
    lock.plugins.push(Locked {
        name,
        version: text("version"),
        digest: text("digest"),
        source: source.to_owned(),
    });
    lock.plugins.sort_by(|one, other| one.name.cmp(&other.name));
    let content = serde_json::to_string_pretty(&lock)? + "\n";
    fs::write(file, content).with_context(|| format!("{}", file.display()))
}

/// What the file lists, fetched from where it came from. Fails where the bytes are other ones.
pub(super) async fn parcels(file: &Path, oci: &fetch::Access) -> anyhow::Result<Vec<Parcel>> {
    let lock = read(file)?;
    let mut all = Vec::with_capacity(lock.plugins.len());
    for locked in lock.plugins {
        let mut parcels = install::parcels(&locked.source, oci).await?;
        let (Some(parcel), true) = (parcels.pop(), parcels.is_empty()) else {
            bail!("{} is not one file any more", locked.source);
        };
        parcel
            .verify(&locked.digest)
            .with_context(|| format!("{} {} of {}", locked.name, locked.version, file.display()))?;
        all.push(parcel);
    }
    Ok(all)
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
