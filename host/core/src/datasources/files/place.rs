//! Where the directory of a datasource is.

use std::{
    fs::File,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use super::{UploadSettings, failed};
use mindhost_base::error::{Code, Error, Result};

/// Where the directory of a datasource is.
pub(super) struct Place {
    /// The workspace's directory.
    pub own: PathBuf,
    /// The directories from the workspace's own on.
    pub steps: Vec<String>,
}

/// An open directory of a datasource.
pub(super) struct Directory {
    pub dir: File,
    /// The workspace's directory, for its quota.
    pub own: PathBuf,
}

impl Place {
    /// Opens the directory; none if it does not exist.
    ///
    /// # Errors
    /// `wrong_state` if it is a link or a file, or the datasource reads one that an operator granted.
    pub fn open(&self, uploads: &UploadSettings) -> Result<Option<Directory>> {
        match open(&self.own, &self.steps, false) {
            Err(Errno::NOENT) if uploads.would_hide(&self.own, &self.steps) => Err(elsewhere()),
            Err(Errno::NOENT) => Ok(None),
            opened => self.opened(opened).map(Some),
        }
    }

    /// Makes the directory, and opens it.
    pub fn make(&self) -> Result<Directory> {
        self.opened(open(&self.own, &self.steps, true))
    }

    fn opened(&self, opened: std::result::Result<File, Errno>) -> Result<Directory> {
        match opened {
            Ok(dir) => Ok(Directory {
                dir,
                own: self.own.clone(),
            }),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(Error::new(
                Code::WrongState,
                "the directory of the datasource is a link or a file; only a plain directory takes uploads",
            )),
            Err(errno) => Err(failed(errno)),
        }
    }
}

fn elsewhere() -> Error {
    Error::new(
        Code::WrongState,
        "the directory of the datasource is not one of the workspace's own; only those in \
         `files/<workspace>/` take uploads",
    )
}

/// The names of directories from the workspace's own on.
pub(super) fn steps(own: &Path, path: &str) -> Result<Vec<String>> {
    let path = Path::new(path);
    let relative = match path.is_absolute() {
        true => path.strip_prefix(own).map_err(|_| elsewhere())?,
        false => path,
    };
    let mut steps = Vec::new();
    for component in relative.components() {
        match component {
            Component::Normal(name) => steps.push(name.to_str().ok_or_else(elsewhere)?.to_owned()),
            Component::CurDir => {}
            _ => return Err(elsewhere()),
        }
    }
    Ok(steps)
}

/// Opens a directory from the workspace's own on, perhaps making what is absent.
pub(super) fn open(own: &Path, steps: &[String], make: bool) -> std::result::Result<File, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    let mode = Mode::from_raw_mode(0o755);
    if make && let Err(error) = std::fs::create_dir_all(own) {
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
    }
    let mut dir = rustix::fs::open(own, flags, Mode::empty())?;
    for step in steps {
        if make {
            match rustix::fs::mkdirat(&dir, step.as_str(), mode) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        dir = rustix::fs::openat(&dir, step.as_str(), flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(File::from(dir))
}
