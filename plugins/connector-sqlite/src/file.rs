//! The database file as other programs leave it: what tells one state of it from the next.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use mindhost_sdk::{Error, ErrorKind, Result, control};
use rustix::io::pread;

use crate::wal;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// How long another program's transaction is waited for. One commit takes milliseconds.
const JOURNAL_WAIT: Duration = Duration::from_secs(2);
const JOURNAL_POLL: Duration = Duration::from_millis(20);

/// One state of the file. Its header carries a counter that each transaction moves; where several transactions
/// share one (a checkpoint), the time and the size do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    len: u64,
    modified: Option<SystemTime>,
    header: [u8; 100],
}

impl FileState {
    /// Whether a write-ahead log may belong to the file. The versions of the format in its header are 1 while it has
    /// none: a database enters and leaves WAL mode by a transaction that changes them, without a frame in a log.
    /// Source: sections 1.3.3 and 4 of "Database File Format" in SQLite's documentation.
    fn may_have_log(&self) -> bool {
        self.header[18..20] != [1, 1]
    }
}

/// The database file, and the paths of its siblings.
pub struct DatabaseFile {
    path: PathBuf,
    handle: File,
    journal: PathBuf,
    log: PathBuf,
    log_index: PathBuf,
}

impl DatabaseFile {
    pub fn open(path: PathBuf) -> Result<Self> {
        let kind = fs::metadata(&path).map_err(|error| unreadable(&path, &error))?;
        if !kind.is_file() {
            return Err(Error::invalid_config(format!(
                "`{}` is not a file",
                name(&path)
            )));
        }
        let handle = File::open(&path).map_err(|error| unreadable(&path, &error))?;
        Ok(Self {
            journal: sibling(&path, "-journal"),
            log: sibling(&path, "-wal"),
            log_index: sibling(&path, "-shm"),
            path,
            handle,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The state of the file that has this path now, once everything in it is whole.
    ///
    /// # Errors
    /// When another program is in the middle of a transaction, or a write-ahead log holds what the file lacks.
    pub fn settled_state(&self) -> Result<FileState> {
        let mut waiting_since = None;
        let state = loop {
            // The journal comes second: a transaction that begins later changes this state, and `state` will tell.
            let state = self.state_of(fs::metadata(&self.path))?;
            if !is_hot(&self.journal).map_err(|error| in_doubt(&self.journal, &error))? {
                break state;
            }
            if waiting_since.get_or_insert_with(Instant::now).elapsed() > JOURNAL_WAIT {
                return Err(busy(&self.path));
            }
            control::check()?;
            thread::sleep(JOURNAL_POLL);
        };
        if !state.may_have_log() {
            return Ok(state);
        }
        match wal::holds_changes(&self.log, &self.log_index) {
            Ok(false) => Ok(state),
            Ok(true) => Err(live_wal(&self.path)),
            Err(error) => Err(in_doubt(&self.log, &error)),
        }
    }

    /// The state of the open file, whatever it is, and whatever has its path now.
    pub fn state(&self) -> Result<FileState> {
        self.state_of(self.handle.metadata())
    }

    fn state_of(&self, metadata: io::Result<Metadata>) -> Result<FileState> {
        let failed = |error| unreadable(&self.path, &error);
        let metadata = metadata.map_err(failed)?;
        let mut header = [0; 100];
        if metadata.len() > 0 {
            let read = pread(&self.handle, &mut header, 0).map_err(|error| failed(error.into()))?;
            if read < header.len() || !header.starts_with(MAGIC) {
                return Err(not_a_database(&self.path));
            }
        }
        Ok(FileState {
            len: metadata.len(),
            modified: metadata.modified().ok(),
            header,
        })
    }
}

/// A file beside the database whose name has a suffix more.
fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut sibling = path.to_owned().into_os_string();
    sibling.push(suffix);
    sibling.into()
}

/// A journal with a header belongs to a transaction that is running, or that a crash left behind.
///
/// # Errors
/// When there is a journal that cannot be read.
fn is_hot(journal: &Path) -> io::Result<bool> {
    let mut magic = [0; 8];
    Ok(read_start(journal, &mut magic)?.is_some() && magic == JOURNAL_MAGIC)
}

/// The file, and its first bytes in `start`. `None` when there is no such file, or it is shorter; another error says
/// nothing of what the file holds.
pub fn read_start(path: &Path, start: &mut [u8]) -> io::Result<Option<File>> {
    let read = File::open(path).and_then(|mut file| file.read_exact(start).map(|()| file));
    match read {
        Ok(file) => Ok(Some(file)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    let name = name(path);
    match error.kind() {
        io::ErrorKind::NotFound => Error::not_found(format!(
            "the database file `{name}` does not exist; check `path`"
        )),
        io::ErrorKind::PermissionDenied => Error::new(
            ErrorKind::Permission,
            format!("the database file `{name}` may not be read"),
        ),
        _ => Error::new(
            ErrorKind::ConnectionLost,
            format!("the database file `{name}` cannot be read: {error}"),
        ),
    }
}

/// A journal or a log is there, and what it holds cannot be told.
fn in_doubt(sibling: &Path, error: &io::Error) -> Error {
    let message = format!(
        "`{}` is beside the database file and cannot be read, so that file may not be whole: {error}",
        name(sibling)
    );
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied => ErrorKind::Permission,
        _ => ErrorKind::Upstream,
    };
    Error::new(kind, message)
}

fn not_a_database(path: &Path) -> Error {
    let name = name(path);
    Error::invalid_config(format!(
        "`{name}` is not a SQLite database, or it is encrypted"
    ))
    .code("26")
}

fn busy(path: &Path) -> Error {
    let message = format!(
        "another program is writing to `{0}`, or a crash left `{0}-journal` behind; try again, or open the database once \
         with a program that may write to it",
        name(path)
    );
    Error::new(ErrorKind::Upstream, message)
        .code("5")
        .retry_after(JOURNAL_WAIT)
}

fn live_wal(path: &Path) -> Error {
    let message = format!(
        "`{0}-wal` holds changes that are not in `{0}` yet, and this connector reads that file alone; run `PRAGMA \
         wal_checkpoint(TRUNCATE)` in the program that writes the database, or leave WAL mode there with `PRAGMA \
         journal_mode=DELETE`, and try again",
        name(path)
    );
    Error::invalid_config(message)
}
