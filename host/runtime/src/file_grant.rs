//! A granted directory: which names in it a guest may open.

use wasmtime_wasi::{
    filesystem::{Dir, File, FsPerms, OpenMode},
    p2::{
        FsResult,
        bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags},
    },
};

use super::{
    refusals::Refusals,
    roots::{self, Identity},
};

/// One directory that a guest sees.
pub struct FileGrant {
    /// Its path in the guest: `/data`.
    pub mount: String,
    /// The open directory, which is never looked up again.
    pub dir: Dir,
    /// The granted names in it, first that of the file; if absent, everything below it.
    pub names: Option<Vec<String>>,
    /// The identity of the file at the time of the grant.
    pub identity: Option<Identity>,
    /// Whether the directory is on a disk of this machine.
    pub is_local: bool,
}

impl FileGrant {
    /// Whether the name still refers to the granted file.
    pub fn is_current(&self) -> bool {
        let name = self.names.as_ref().and_then(|names| names.first());
        name.is_none_or(|name| roots::identity(&self.dir.dir, name) == self.identity)
    }

    /// Whether no access can hang: the granted files are regular ones, which are opened without waiting, and no file
    /// server is behind them.
    pub fn is_prompt(&self) -> bool {
        self.is_local && self.names.is_some()
    }

    /// Whether a path in the directory is granted.
    pub fn allows(&self, path: &str) -> bool {
        let path = plain(path);
        self.names
            .as_ref()
            .is_none_or(|names| names.iter().any(|name| name == path))
    }

    /// Opens a file that is granted by name, if it is a regular file. Another user of the directory could put a pipe
    /// there, which would block the guest.
    pub fn open(
        &self,
        path: &str,
        how: OpenFlags,
        flags: DescriptorFlags,
        refusals: &Refusals,
    ) -> FsResult<File> {
        let writes = DescriptorFlags::WRITE | DescriptorFlags::MUTATE_DIRECTORY;
        if how.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE) || flags.intersects(writes) {
            return Err(ErrorCode::ReadOnly.into());
        }
        if how.contains(OpenFlags::DIRECTORY) {
            return Err(ErrorCode::NotDirectory.into());
        }
        let file = roots::open_regular(&self.dir.dir, plain(path));
        let file = file.inspect_err(|error| refusals.note_out_of_files(error))?;
        Ok(File::new(file, FsPerms::ReadOnly, OpenMode::READ, true))
    }
}

fn plain(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}
