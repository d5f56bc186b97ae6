//! Notes, outside of the store, that what a store held was taken over.
//!
//! The first start of a version with proofs proves the keys that it finds and binds the passwords. The store itself cannot
//! remember that this was done: an old copy of it has all that is needed to make it look as before. So each server notes for
//! each of its secret keys that it has seen a store that was taken over under it, and does not do so again.

use std::{fs, io, path::PathBuf};

use super::{KeyId, SecretKeys, Source};
use mindhost_base::owner_only;

const TEXT: &str = "A store was taken over under the secret key with this id: its keys are proven, its passwords bound. A store \
                    that looks as an earlier version left it is refused while this file is here.\n";

impl Source {
    /// The note for a secret key, if there is one.
    pub(super) fn note(&self, key: KeyId) -> Option<PathBuf> {
        // One that cannot be looked for counts: to prove once more is worse than to refuse.
        let is_there = |path: &PathBuf| match fs::symlink_metadata(path) {
            Ok(_) => true,
            Err(error) => !matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ),
        };
        self.notes(key).into_iter().find(is_there)
    }

    /// Notes for each of the keys that it has seen a store that was taken over.
    pub fn note_settled(&self, keys: &SecretKeys) {
        for id in keys.ids() {
            if self.note(id).is_some() {
                continue;
            }
            let mut failure = None;
            for path in self.notes(id) {
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
                    "cannot note that the store was taken over: who puts an old copy of it back could have its keys proven again"
                );
            }
        }
    }

    /// Where the note may be: beside the file of the keys, or in the data directory when nothing can be written there.
    fn notes(&self, key: KeyId) -> Vec<PathBuf> {
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
