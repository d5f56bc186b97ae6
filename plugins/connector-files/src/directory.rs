//! The files below the directory.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use mindhost_sdk::{Error, ErrorKind, Result, control};

/// Files and directories that are looked at, at most.
const MAX_ENTRIES: usize = 100_000;
/// Directories in each other, at most.
const MAX_DEPTH: usize = 16;
/// Names that cannot be read, at most: such as are not UTF-8.
const MAX_UNREADABLE: usize = 10_000;
/// Entries between two looks at whether the host still wants them.
const CHECK_ENTRIES: usize = 1_000;

/// A regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the directory, with `/` between its parts.
    pub path: String,
    /// What tells one state of the file from the next.
    pub state: State,
}

/// Length in bytes and time of the last change.
pub type State = (u64, Option<SystemTime>);

/// All regular files, by path. A link to a file counts as one, a link to a directory is not followed. Below the
/// first level, names that begin with `.` or `_` are left out, as other readers do (`_SUCCESS`, `.part.crc`).
///
/// # Errors
/// When the directory cannot be read, or has too many files.
pub fn files(root: &str) -> Result<Vec<Entry>> {
    let mut walk = Walk {
        found: Vec::new(),
        seen: 0,
        unreadable: 0,
    };
    walk.directory(Path::new(root), "", 0)?;
    walk.found.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(walk.found)
}

struct Walk {
    found: Vec<Entry>,
    seen: usize,
    unreadable: usize,
}

impl Walk {
    fn directory(&mut self, path: &Path, prefix: &str, depth: usize) -> Result<()> {
        for entry in fs::read_dir(path).map_err(|error| unreadable(&error))? {
            let Ok(entry) = entry else {
                // The sandbox gives no name that is not UTF-8.
                self.unreadable += 1;
                if self.unreadable > MAX_UNREADABLE {
                    return Err(too_many("names that cannot be read", MAX_UNREADABLE));
                }
                continue;
            };
            self.seen += 1;
            if self.seen > MAX_ENTRIES {
                return Err(too_many("files", MAX_ENTRIES));
            }
            if self.seen.is_multiple_of(CHECK_ENTRIES) {
                control::check()?;
            }
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            self.entry(&entry, &format!("{prefix}{name}"), &name, depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, entry: &fs::DirEntry, path: &str, name: &str, depth: usize) -> Result<()> {
        let hidden = name.starts_with(['.', '_']);
        let Ok(kind) = entry.file_type() else {
            return Ok(());
        };
        if kind.is_dir() {
            return match hidden || depth >= MAX_DEPTH {
                true => Ok(()),
                false => self.directory(&entry.path(), &format!("{path}/"), depth + 1),
            };
        }
        if hidden && depth > 0 {
            return Ok(());
        }
        // Follows a link, as far as the sandbox lets it. A file that went away meanwhile is none.
        if let Ok(metadata) = fs::metadata(entry.path())
            && metadata.is_file()
        {
            self.found.push(Entry {
                path: path.to_owned(),
                state: (metadata.len(), metadata.modified().ok()),
            });
        }
        Ok(())
    }
}

fn too_many(what: &str, most: usize) -> Error {
    let message = format!("the directory has more than {most} {what}; give a directory with fewer");
    Error::new(ErrorKind::TooLarge, message)
}

/// The error of a directory or file that cannot be read.
pub fn unreadable(error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied => ErrorKind::Denied,
        io::ErrorKind::NotADirectory => ErrorKind::InvalidConfig,
        _ => ErrorKind::Upstream,
    };
    Error::new(kind, format!("the files cannot be read: {error}"))
}
