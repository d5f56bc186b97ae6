//! Plugin files and signatures, as the commands read them: whole, within their bounds, and never from a pipe.

use std::path::{Path, PathBuf};

use anyhow::Context;
use mindhost_base::config::Config;
use mindhost_plugins::artifacts::{MAX_SIGNATURE, SIGNATURE};
use mindhost_runtime::package::{self, Package};

/// The bytes of a plugin file.
pub(super) fn read(path: &Path, max_bytes: u64) -> anyhow::Result<Vec<u8>> {
    package::read_file(path, max_bytes).with_context(|| path.display().to_string())
}

/// A plugin file that any host would take. How large it may be the settings say.
pub(super) fn package(path: &Path) -> anyhow::Result<Package> {
    let max_bytes = Config::load()?.plugins.limits.max_package_bytes;
    Package::read(path, max_bytes).with_context(|| path.display().to_string())
}

/// The text of FILE.minisig. One that is there and cannot be a signature is an error: to take the file for one that nobody
/// signed would hide that somebody wanted it signed.
pub(super) fn signature(path: &Path) -> anyhow::Result<Option<String>> {
    let beside = with_suffix(path, SIGNATURE);
    // A link that leads nowhere is there as well.
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
        String::from_utf8(bytes).context("is no signature: it is not text")
    };
    read()
        .map(Some)
        .with_context(|| beside.display().to_string())
}

/// The path with something more at the end of its name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{suffix}"));
    path.with_file_name(name)
}
