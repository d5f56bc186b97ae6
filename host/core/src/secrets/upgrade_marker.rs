//! Marker files, outside of the store, that a store was upgraded.
//!
//! The first start of a version with proofs proves the keys in the store and binds its passwords. The store itself
//! cannot record this safely, because an old copy of it looks as if it was never upgraded. So each server writes a
//! marker for each of its secret keys, and refuses to upgrade another store under that key.

use std::{fs, io, path::PathBuf};

use super::{KeyId, SecretKeys, Source};
use mindhost_base::owner_only;

const TEXT: &str = "A store was taken over under the secret key with this id: its keys are proven, its passwords bound. A store \
                    that looks as an earlier version left it is refused while this file is here.\n";

impl Source {
    /// The marker for a secret key, if there is one.
    pub(super) fn upgrade_marker(&self, key: KeyId) -> Option<PathBuf> {
        // A path that cannot be examined counts as a marker: a second upgrade is worse than a refusal.
        let is_there = |path: &PathBuf| match fs::symlink_metadata(path) {
            Ok(_) => true,
            Err(error) => !matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ),
        };
        self.marker_paths(key).into_iter().find(is_there)
    }

    /// Writes a marker for each of the keys.
    pub fn write_upgrade_markers(&self, keys: &SecretKeys) {
        for id in keys.ids() {
            if self.upgrade_marker(id).is_some() {
                continue;
            }
            let mut failure = None;
            for path in self.marker_paths(id) {
                match write(&path) {
                    Ok(()) => {
                        failure = None;
                        break;
                    }
                    Err(error) => failure = Some((path, error)),
                }
            }
            if let Some((path, error)) = failure {
                let path = path.display();
                tracing::warn!(
                    %path, %error,
                    "cannot write the marker of the upgrade: an old copy of the store would be upgraded again, with any keys in it"
                );
            }
        }
    }

    /// Where the marker may be: beside the key file, or in the data directory if that folder is not writable.
    fn marker_paths(&self, key: KeyId) -> Vec<PathBuf> {
        let beside = self.file().map(|file| {
            let mut name = file.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{key}.settled"));
            file.with_file_name(name)
        });
        let own = self.data_dir().join(format!("secrets.key.{key}.settled"));
        beside.into_iter().chain([own]).collect()
    }
}

fn write(path: &std::path::Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        owner_only::make_dir(parent)?;
    }
    match owner_only::write(path, TEXT.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        written => written,
    }
}
