//! The files below the directory.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

use mindhost_sdk::{Error, ErrorKind, Result, control};

/// Files and directories that are looked at, at most.
const MAX_ENTRIES: usize = 100_000;
/// Directories in each other, at most.
const MAX_DEPTH: usize = 16;
/// How often a directory is listed again because one of its entries vanished at that moment.
const MAX_TRIES: usize = 10;
/// Entries between two looks at whether the host still wants them.
const CHECK_ENTRIES: usize = 1_000;
/// Bytes of a file of lines by which it is told from another one in its place.
const BEGINNING: u64 = 4 << 10;

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
/// When a directory cannot be read, or has too many files. A part of the files is never all of them.
pub fn files(root: &str) -> Result<Vec<Entry>> {
    let mut walk = Walk {
        found: Vec::new(),
        seen: 0,
    };
    walk.directory(Path::new(root), "", 0)?;
    walk.found.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(walk.found)
}

struct Walk {
    found: Vec<Entry>,
    seen: usize,
}

impl Walk {
    fn directory(&mut self, path: &Path, prefix: &str, depth: usize) -> Result<()> {
        let mut tries = 0;
        let entries = loop {
            tries += 1;
            match self.list(path) {
                // An entry that vanishes between its name and its metadata ends the list with this error too.
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    if depth > 0 && is_gone(path) {
                        return Ok(());
                    }
                    if tries == MAX_TRIES {
                        return Err(error);
                    }
                }
                listed => break listed?,
            }
        };
        self.seen += entries.len();
        for entry in entries {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            self.entry(&entry, &format!("{prefix}{name}"), &name, depth)?;
        }
        Ok(())
    }

    /// What is in a directory. The sandbox gives no name that is not UTF-8.
    fn list(&self, path: &Path) -> Result<Vec<fs::DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(|error| unreadable(&error))? {
            entries.push(entry.map_err(|error| unreadable(&error))?);
            let seen = self.seen + entries.len();
            if seen > MAX_ENTRIES {
                return Err(too_many("files", MAX_ENTRIES));
            }
            if seen.is_multiple_of(CHECK_ENTRIES) {
                control::check()?;
            }
        }
        Ok(entries)
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
        // Follows a link, as far as the sandbox lets it.
        match fs::metadata(entry.path()) {
            Ok(metadata) if metadata.is_file() => self.found.push(Entry {
                path: path.to_owned(),
                state: state(&metadata),
            }),
            // A file that vanished since is none, unlike one whose metadata cannot be read.
            Err(error) if kind.is_file() && error.kind() != io::ErrorKind::NotFound => {
                return Err(unreadable(&error));
            }
            _ => {}
        }
        Ok(())
    }
}

fn state(metadata: &fs::Metadata) -> State {
    (metadata.len(), metadata.modified().ok())
}

/// Compares a file with its state when the directory was listed, from which its table has its columns.
///
/// # Errors
/// `Upstream` when it is another file now, or is gone.
pub fn check_unchanged(root: &str, path: &str, listed: State) -> Result<()> {
    check(root, path, |now| now == listed)
}

/// As [`check_unchanged`], for a file of lines, which may have grown: those that were added are read as the others.
///
/// # Errors
/// `Upstream` when it is shorter now, or is gone.
pub fn check_not_cut(root: &str, path: &str, (length, _): State) -> Result<()> {
    check(root, path, |(now, _)| now >= length)
}

fn check(root: &str, path: &str, is_as_listed: impl Fn(State) -> bool) -> Result<()> {
    match fs::metadata(Path::new(root).join(path)) {
        Ok(metadata) if is_as_listed(state(&metadata)) => Ok(()),
        _ => Err(changed(path)),
    }
}

/// A file of lines when its reading began. It may grow since, and may not become another one. A file that takes its name
/// is none of its business.
pub struct Beginning {
    file: File,
    state: State,
    bytes: Vec<u8>,
}

impl Beginning {
    /// Call before the file is opened for its rows.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(root: &str, path: &str) -> Result<Self> {
        let failed = |error: io::Error| unreadable(&error).context(format_args!("`{path}`"));
        let mut file = File::open(Path::new(root).join(path)).map_err(failed)?;
        Ok(Self {
            state: state(&file.metadata().map_err(failed)?),
            bytes: first_bytes(&mut file, BEGINNING).map_err(failed)?,
            file,
        })
    }

    /// Whether the rows that were read are those of this file: it was read to where it ended at first, and still
    /// begins as it did. `read` is how many bytes, if that is known.
    pub fn was_kept(&mut self, read: Option<u64>) -> bool {
        let (length, _) = self.state;
        let Ok(now) = self.file.metadata().map(|metadata| state(&metadata)) else {
            return false;
        };
        if now == self.state {
            return true;
        }
        let is_whole = now.0 >= length && read.is_none_or(|read| read >= length);
        let most = self.bytes.len() as u64;
        is_whole && first_bytes(&mut self.file, most).is_ok_and(|bytes| bytes == self.bytes)
    }
}

fn first_bytes(file: &mut File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The error of a file that became another one while it was read.
pub fn changed(path: &str) -> Error {
    let message = format!("`{path}` was changed while its table was read; ask again");
    Error::new(ErrorKind::Upstream, message)
}

fn is_gone(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
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
