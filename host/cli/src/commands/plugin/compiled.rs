//! Compiled code of an author's plugins: compiling takes seconds, and nothing changes between two runs of one file.
//!
//! A server seals what it compiles with its secret key. An author has no server, so the key is a file beside the code,
//! in the user's own folder for caches.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use mindhost_base::owner_only;
use mindhost_runtime::standalone::Cache;

use crate::commands::say::aside;

/// Bytes that are kept, besides those of the next run: a plugin in Rust has 2 to 15 MB of machine code, one in Python 60.
const MAX_BYTES: u64 = 512 << 20;
const KEY_BYTES: usize = 32;

/// The cache below a folder for caches; without one, or if it cannot be used, none. Says why.
pub(super) fn cache(folder: Option<PathBuf>) -> Option<Cache> {
    let Some(folder) = folder else {
        warn("neither HOME nor XDG_CACHE_HOME is set");
        return None;
    };
    let folder = folder.join("mindhost");
    let opened = open(&folder);
    opened
        .inspect_err(|error| warn(&format!("{}: {error}", folder.display())))
        .ok()
}

/// Says that the next run compiles again.
pub(super) fn warn(why: &str) {
    aside!(
        "cache    compiled code is not kept, so each run compiles again: {why}; let XDG_CACHE_HOME name a folder that \
         only you can write"
    );
}

fn open(folder: &Path) -> io::Result<Cache> {
    let code = folder.join("compiled");
    owner_only::make_dir(&code)?;
    let key = key(&folder.join("compiled.key"))?;
    for path in [folder, &code] {
        check_owner(path)?;
    }
    remove_oldest(&code, MAX_BYTES)?;
    Ok((code, key))
}

/// Reads the key that seals the code, or makes it.
fn key(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    // After a crash of the machine a file may be empty. Code under another key is compiled again.
    if fs::metadata(path).is_ok_and(|found| found.len() != KEY_BYTES as u64) {
        check_owner(path)?;
        fs::remove_file(path)?;
    }
    if !path.exists() {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        match owner_only::write(path, &key) {
            // Another command made it at the same moment.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            written => written?,
        }
    }
    check_owner(path)?;
    let key = fs::read(path)?;
    key.try_into()
        .map_err(|_| io::Error::other("the key has another length"))
}

/// A user who can write the key and the code can make this program run anything.
fn check_owner(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    match is_ours && found.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "others may write {}",
            path.display()
        ))),
    }
}

fn remove_oldest(folder: &Path, max: u64) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf, u64)> = fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| {
            let found = entry.metadata().ok()?;
            Some((found.modified().ok()?, entry.path(), found.len()))
        })
        .collect();
    files.sort();
    let mut kept = 0;
    for (_, path, bytes) in files.iter().rev() {
        kept += bytes;
        if kept <= max {
            continue;
        }
        match fs::remove_file(path) {
            // Another command removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt as _, time::Duration};

    use super::*;

    #[test]
    fn code_of_authors_is_sealed_by_a_key_that_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (code, key) = cache(Some(folder.path().into())).unwrap();
        assert_eq!(cache(Some(folder.path().into())), Some((code.clone(), key)));
    }

    #[test]
    fn oldest_code_is_removed_when_there_is_too_much() {
        let folder = tempfile::tempdir().unwrap();
        let at = |age| SystemTime::UNIX_EPOCH + Duration::from_secs(age);
        for (name, age) in [("second", 2), ("third", 3), ("first", 1)] {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_len(10).unwrap();
            file.set_modified(at(age)).unwrap();
        }
        remove_oldest(folder.path(), 20).unwrap();
        let exists = ["first", "second", "third"].map(|name| folder.path().join(name).exists());
        assert_eq!(exists, [false, true, true]);
    }

    #[test]
    fn key_that_a_crash_left_empty_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let (code, key) = cache(Some(folder.path().into())).unwrap();
        fs::write(folder.path().join("mindhost/compiled.key"), "").unwrap();
        let (again, other) = cache(Some(folder.path().into())).unwrap();
        assert_eq!(again, code);
        assert_ne!(other, key);
        assert_eq!(cache(Some(folder.path().into())), Some((code, other)));
    }

    #[test]
    fn code_that_others_may_write_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let (code, _) = cache(Some(folder.path().into())).unwrap();
        fs::set_permissions(&code, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(cache(Some(folder.path().into())), None);
        assert_eq!(cache(None), None);
    }
}
