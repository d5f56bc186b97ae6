//! Reads plugin files and signatures: whole, within size limits, and only regular files.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use mindhost_base::config::Config;
use mindhost_plugins::artifacts::{MAX_SIGNATURE, SIGNATURE};
use mindhost_runtime::package::{self, Package};

/// A plugin file to install, with what came with it.
pub(super) struct PluginFile {
    pub bytes: Vec<u8>,
    pub signature: Option<String>,
    /// Its source.
    pub source: String,
    /// Digest of its manifest in a registry.
    pub manifest: Option<String>,
}

impl PluginFile {
    /// Reads a file and the signature beside it.
    pub fn read(path: &Path, max_bytes: u64) -> anyhow::Result<Self> {
        Ok(Self {
            bytes: read(path, max_bytes)?,
            signature: signature(path)?,
            source: path.display().to_string(),
            manifest: None,
        })
    }

    /// Checks bytes against a digest.
    pub fn verify(&self, digest: &str) -> anyhow::Result<()> {
        let found = package::digest(&self.bytes);
        match found == digest {
            true => Ok(()),
            false => bail!(
                "{} has the digest {found} now, and {digest} was asked for; it was not installed",
                self.source
            ),
        }
    }
}

/// Reads a plugin file.
pub(super) fn read(path: &Path, max_bytes: u64) -> anyhow::Result<Vec<u8>> {
    package::read_file(path, max_bytes).with_context(|| path.display().to_string())
}

/// Reads and checks a plugin file within the size limit of the settings.
pub(super) fn package(path: &Path) -> anyhow::Result<Package> {
    let max_bytes = Config::load()?.plugins.limits.max_package_bytes;
    Package::read(path, max_bytes).with_context(|| path.display().to_string())
}

/// Reads FILE.minisig. A file that cannot be a signature is an error, because ignoring it would treat a signed plugin
/// as unsigned.
pub(super) fn signature(path: &Path) -> anyhow::Result<Option<String>> {
    let beside = with_suffix(path, SIGNATURE);
    // A dangling link counts as existing.
    if beside.symlink_metadata().is_err() {
        return Ok(None);
    }
    let read = || {
        let size = beside.metadata()?.len();
        anyhow::ensure!(
            size <= MAX_SIGNATURE,
            "is {size} bytes; a signature has at most {MAX_SIGNATURE}"
        );
        let bytes = package::read_file(&beside, MAX_SIGNATURE)?;
        String::from_utf8(bytes).context("is not a signature: it is not UTF-8")
    };
    read()
        .map(Some)
        .with_context(|| beside.display().to_string())
}

/// The path with a suffix appended to its name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{suffix}"));
    path.with_file_name(name)
}
