//! Files that callers put into the directory of a datasource.
//!
//! Only into the workspace's own directory (`files/<folder>` in the data directory): a directory that an operator
//! granted is for reading. The directory of a datasource is opened step by step without following links, and a file is
//! named by one plain name in it, so no name and no link leads elsewhere. What is being uploaded has a name of its own
//! until it is complete; readers leave it out.

mod place;

use std::{
    fs::File,
    io,
    os::fd::AsFd,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags},
    io::Errno,
};
use serde::Serialize;
use tokio::io::AsyncWriteExt as _;

use crate::auth::{Caller, Role};
use mindhost_base::{
    config,
    error::{Code, Error, Result},
};
use mindhost_plugin_api::manifest::{FileKind, Manifest};

use self::place::{Directory, Place, open, steps};
use super::{Datasource, Datasources};

/// Names of uploads that are not complete begin so. No reader takes a file of such a name for a table.
const PARTIAL: &str = ".upload-";
/// A server that ends an upload may take this long for its last step.
const LAST_STEP: Duration = Duration::from_secs(600);
/// Characters of a file's name, in bytes.
const MAX_NAME: usize = 200;
/// Files that are counted or listed, at most.
const MAX_FILES: usize = 100_000;
const MAX_DEPTH: usize = 32;
/// The disk keeps at least this much free.
const FREE_MARGIN: u64 = 64 << 20;

/// A file in the directory of a datasource.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct StoredFile {
    /// Its name in the directory.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// When it was last changed.
    pub modified_at: jiff::Timestamp,
}

/// The limits of uploads, and where they go.
#[derive(Clone, Debug)]
pub(super) struct UploadSettings {
    /// `files` in the data directory.
    root: PathBuf,
    /// Directories that an operator granted for reading.
    granted: Vec<PathBuf>,
    max_file: u64,
    max_workspace: u64,
    min_free: u64,
    /// An incomplete upload that was not written for so long never will be complete, whichever server received it.
    abandoned: Duration,
}

impl UploadSettings {
    pub(super) fn of(config: &config::Config) -> Self {
        Self {
            root: config.data_dir.join("files"),
            granted: config.files.roots.clone(),
            max_file: config.files.max_upload_bytes,
            max_workspace: config.files.max_workspace_bytes,
            min_free: config.store.min_free_bytes.max(FREE_MARGIN),
            abandoned: config.server.body_idle_timeout.saturating_add(LAST_STEP),
        }
    }

    /// What was last written before this is abandoned.
    fn abandoned_before(&self) -> Option<jiff::Timestamp> {
        let age = jiff::SignedDuration::try_from(self.abandoned).ok()?;
        jiff::Timestamp::now().checked_sub(age).ok()
    }

    /// Whether making a directory would hide one that an operator granted: the workspace's own are read first.
    fn would_hide(&self, own: &Path, steps: &[String]) -> bool {
        let mut path = PathBuf::new();
        let mut hides = |step: &str| {
            path.push(step);
            let is_absent = own.join(&path).symlink_metadata().is_err();
            is_absent && self.granted.iter().any(|root| root.join(&path).exists())
        };
        // Those above it are made too.
        match steps {
            [] => hides(""),
            steps => steps.iter().any(|step| hides(step)),
        }
    }
}

impl Datasources {
    /// The files of a datasource, by name; nothing of directories in it.
    ///
    /// # Errors
    /// `datasource_not_found`; `wrong_state` if it has no directory of the workspace's own; `forbidden` for a key that
    /// is limited to some Minds.
    pub async fn files(&self, caller: &Caller, name: &str) -> Result<Vec<StoredFile>> {
        caller.require(Role::Editor)?;
        let place = self.place(caller, name).await?;
        caller.require_all_minds("list files: they may hold tables of other Minds")?;
        let uploads = self.uploads.clone();
        blocking(move || match place.open(&uploads)? {
            Some(directory) => listed(&directory.dir),
            None => Ok(Vec::new()),
        })
        .await
    }

    /// Begins to receive a file. `length` is what the caller says, `overwrite` whether it may replace another.
    ///
    /// # Errors
    /// `datasource_not_found`, `invalid_parameter` for the name, `wrong_state` as for [`Self::files`], `name_taken`,
    /// `body_too_large`, `quota_exceeded`, `storage_full`; `forbidden` for a key that is limited to some Minds.
    pub async fn begin_upload(
        &self,
        caller: &Caller,
        name: &str,
        file: &str,
        overwrite: bool,
        length: Option<u64>,
    ) -> Result<Upload> {
        caller.require(Role::Editor)?;
        check_name(file)?;
        let uploads = self.uploads.clone();
        if length.is_some_and(|length| length > uploads.max_file) {
            self.get(caller, name).await?;
            return Err(too_large(&uploads));
        }
        let place = self.place(caller, name).await?;
        caller.require_all_minds("upload files: other Minds may use the datasource too")?;
        let file = file.to_owned();
        blocking(move || {
            let directory = match place.open(&uploads)? {
                Some(directory) => directory,
                None => place.make()?,
            };
            begin(directory, uploads, file, overwrite)
        })
        .await
    }

    /// Removes what servers that were killed received and did not complete, in all workspaces. `is_alone` if no other
    /// server uses this data directory, so that all that was there before this start is such. Called once, at the
    /// start.
    pub fn remove_abandoned_uploads(&self, is_alone: bool) -> impl Future<Output = ()> + use<> {
        let root = self.uploads.root.clone();
        let before = match is_alone {
            true => Some(jiff::Timestamp::now()),
            false => self.uploads.abandoned_before(),
        };
        async move {
            match blocking(move || Ok(remove_everywhere(&root, before))).await {
                Ok(0) => {}
                Ok(files) => tracing::info!(files, "removed uploads that were never completed"),
                Err(error) => error.log(),
            }
        }
    }

    /// Deletes a file of a datasource.
    ///
    /// # Errors
    /// `datasource_not_found`, `file_not_found`, `wrong_state` as for [`Self::files`]; `forbidden` for a key that is
    /// limited to some Minds.
    pub async fn delete_file(&self, caller: &Caller, name: &str, file: &str) -> Result<()> {
        caller.require(Role::Editor)?;
        let place = self.place(caller, name).await?;
        caller.require_all_minds("delete files: other Minds may use the datasource too")?;
        let uploads = self.uploads.clone();
        let file = file.to_owned();
        blocking(move || {
            let absent = || {
                Error::new(
                    Code::FileNotFound,
                    "the datasource has no such file; list its files",
                )
            };
            let directory = place
                .open(&uploads)?
                .filter(|_| is_plain(&file))
                .ok_or_else(absent)?;
            match rustix::fs::unlinkat(&directory.dir, file.as_str(), AtFlags::empty()) {
                Ok(()) => Ok(()),
                Err(Errno::NOENT | Errno::ISDIR | Errno::PERM) => Err(absent()),
                Err(errno) => Err(failed(errno)),
            }
        })
        .await
    }

    /// Makes the directory of a new datasource if nothing is there, so that files can be uploaded into it.
    pub(super) async fn prepare_directory(
        &self,
        manifest: &Manifest,
        datasource: &Datasource,
        clear: &super::ClearData,
    ) -> Result<()> {
        let Some(path) = directory_of(manifest, clear) else {
            return Ok(());
        };
        let folder = self
            .rows
            .store
            .workspace(&datasource.workspace_id)
            .await?
            .folder
            .clone();
        let uploads = self.uploads.clone();
        blocking(move || {
            let own = uploads.root.join(&folder);
            // What is wrong with a path, the test of the connection says.
            if let Ok(steps) = steps(&own, &path)
                && !uploads.would_hide(&own, &steps)
                && own.join(&path).symlink_metadata().is_err()
            {
                drop(open(&own, &steps, true));
            }
            Ok(())
        })
        .await
    }

    /// Where the directory of a datasource is.
    async fn place(&self, caller: &Caller, name: &str) -> Result<Place> {
        let datasource = self.get(caller, name).await?;
        let pin = datasource.settings.plugin_digest.as_deref();
        let connector = self.registry.serving(&datasource.engine, pin).await?;
        let target = self.target(&datasource).await?;
        let path =
            directory_of(connector.manifest(), &target.connection_data).ok_or_else(|| {
                let message = format!(
                    "the engine '{}' does not read a directory of files",
                    datasource.engine
                );
                Error::new(Code::WrongState, message)
            })?;
        let own = self.uploads.root.join(&target.folder);
        let steps = steps(&own, &path)?;
        Ok(Place { own, steps })
    }
}

/// A file that is being received. Dropped before [`Upload::finish`], it leaves nothing behind.
pub struct Upload {
    directory: Option<Directory>,
    uploads: UploadSettings,
    file: tokio::fs::File,
    partial: String,
    name: String,
    overwrite: bool,
    written: u64,
    /// Bytes that the workspace and the disk have room for.
    room: u64,
    room_of_disk: u64,
}

impl Upload {
    /// Appends to the file.
    ///
    /// # Errors
    /// `body_too_large`, `quota_exceeded`, `storage_full`
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.written = self.written.saturating_add(bytes.len() as u64);
        if self.written > self.uploads.max_file {
            return Err(too_large(&self.uploads));
        }
        if self.written > self.room {
            return Err(over_quota(&self.uploads));
        }
        if self.written > self.room_of_disk {
            return Err(full());
        }
        self.file.write_all(bytes).await.map_err(not_written)
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// `name_taken`, `quota_exceeded`
    pub async fn finish(mut self) -> Result<StoredFile> {
        self.file.flush().await.map_err(not_written)?;
        self.file.sync_all().await.map_err(not_written)?;
        blocking(move || self.publish()).await
    }

    fn publish(&mut self) -> Result<StoredFile> {
        let Some(directory) = &self.directory else {
            return Err(Error::internal("the directory is gone"));
        };
        // All uploads in progress count, so several at once cannot exceed it together.
        if used(&directory.own)? > self.uploads.max_workspace {
            return Err(over_quota(&self.uploads));
        }
        let (dir, partial, name) = (&directory.dir, self.partial.as_str(), self.name.as_str());
        let renamed = match self.overwrite {
            true => match kind(dir, name) {
                Some(FileType::Directory) => Err(Errno::EXIST),
                _ => rustix::fs::renameat(dir, partial, dir, name),
            },
            false => rustix::fs::renameat_with(dir, partial, dir, name, RenameFlags::NOREPLACE),
        };
        match renamed {
            Ok(()) => {}
            Err(Errno::EXIST | Errno::ISDIR) => return Err(taken(name)),
            Err(errno) => return Err(failed(errno)),
        }
        let _ = rustix::fs::fsync(dir);
        let stored =
            stored(dir, name).ok_or_else(|| Error::internal("the file is gone already"))?;
        self.directory = None;
        Ok(stored)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(directory) = &self.directory {
            let _ = rustix::fs::unlinkat(&directory.dir, self.partial.as_str(), AtFlags::empty());
        }
    }
}

/// The value of the property that names a directory; none if the engine has none.
fn directory_of(manifest: &Manifest, clear: &super::ClearData) -> Option<String> {
    let rule = manifest
        .files
        .iter()
        .find(|rule| rule.kind == FileKind::Directory)?;
    clear
        .get(&rule.path)?
        .as_str()
        .map(|path| path.trim().to_owned())
}

/// A name that is one file in one directory, on every system, and is shown as it is.
fn check_name(name: &str) -> Result<()> {
    match is_plain(name) && name.trim() == name && !name.contains(is_invisible) {
        true => Ok(()),
        false => Err(Error::invalid(
            "name",
            format!(
                "`name` must be a plain file name such as `orders.csv`: 1 to {MAX_NAME} bytes, without `/`, `\\`, \
                 invisible and other special characters, and not beginning with `.` or `_`"
            ),
        )),
    }
}

/// Whether a name is one file in one directory, on every system.
fn is_plain(name: &str) -> bool {
    let is_odd = |c: char| {
        c.is_control() || matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
    };
    !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.starts_with(['.', '_', ' '])
        && !name.ends_with(['.', ' '])
        && !name.contains(is_odd)
}

/// Whether a character is not seen, or turns those around it. The two that join and part letters belong to words.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

fn begin(
    directory: Directory,
    uploads: UploadSettings,
    name: String,
    overwrite: bool,
) -> Result<Upload> {
    match kind(&directory.dir, &name) {
        Some(FileType::RegularFile | FileType::Symlink) if overwrite => {}
        None => {}
        Some(_) => return Err(taken(&name)),
    }
    remove_partial(&directory.dir, uploads.abandoned_before());
    let room = uploads.max_workspace.saturating_sub(used(&directory.own)?);
    if room == 0 {
        return Err(over_quota(&uploads));
    }
    let disk = rustix::fs::fstatvfs(&directory.dir).map_err(failed)?;
    let room_of_disk = disk
        .f_bavail
        .saturating_mul(disk.f_frsize)
        .saturating_sub(uploads.min_free);
    if room_of_disk == 0 {
        return Err(full());
    }
    let partial = format!("{PARTIAL}{}", mindhost_store::new_id());
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::openat(
        &directory.dir,
        partial.as_str(),
        flags,
        Mode::from_raw_mode(0o644),
    );
    let file = tokio::fs::File::from_std(File::from(file.map_err(failed)?));
    Ok(Upload {
        directory: Some(directory),
        uploads,
        file,
        partial,
        name,
        overwrite,
        written: 0,
        room,
        room_of_disk,
    })
}

fn kind(dir: &File, name: &str) -> Option<FileType> {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

fn stored(dir: &File, name: &str) -> Option<StoredFile> {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    Some(StoredFile {
        name: name.to_owned(),
        bytes: u64::try_from(stat.st_size).unwrap_or_default(),
        modified_at: jiff::Timestamp::from_second(stat.st_mtime).unwrap_or_default(),
    })
}

/// The names in a directory; one that is not UTF-8 is left out.
fn names(dir: impl AsFd) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir).map_err(failed)?.take(MAX_FILES) {
        let entry = entry.map_err(failed)?;
        if let Ok(name) = entry.file_name().to_str()
            && !matches!(name, "." | "..")
        {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn listed(dir: &File) -> Result<Vec<StoredFile>> {
    let mut names = names(dir)?;
    names.retain(|name| !name.starts_with(PARTIAL));
    names.sort();
    Ok(names.iter().filter_map(|name| stored(dir, name)).collect())
}

/// Removes incomplete uploads of a directory that were last written in a second before this one. Gives their number.
fn remove_partial(dir: &File, before: Option<jiff::Timestamp>) -> usize {
    let Some(before) = before.map(jiff::Timestamp::as_second) else {
        return 0;
    };
    let mut names = names(dir).unwrap_or_default();
    names.retain(|name| {
        name.starts_with(PARTIAL)
            && stored(dir, name).is_some_and(|file| file.modified_at.as_second() < before)
            && rustix::fs::unlinkat(dir, name.as_str(), AtFlags::empty()).is_ok()
    });
    names.len()
}

/// The same in a directory and all below it. Follows no link.
fn remove_everywhere(root: &Path, before: Option<jiff::Timestamp>) -> usize {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY | OFlags::NOFOLLOW;
    let mut removed = 0;
    let mut rest = vec![(root.to_path_buf(), 0)];
    while let Some((path, depth)) = rest.pop() {
        if let Ok(dir) = rustix::fs::open(&path, flags, Mode::empty()) {
            removed += remove_partial(&File::from(dir), before);
        }
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            if depth < MAX_DEPTH && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                rest.push((entry.path(), depth + 1));
            }
        }
    }
    removed
}

/// Bytes of all files of a workspace, those included that are being received.
fn used(own: &Path) -> Result<u64> {
    let mut sum = 0u64;
    let mut seen = 0usize;
    let mut left = vec![(own.to_path_buf(), 0)];
    while let Some((path, depth)) = left.pop() {
        // A directory that went away, or cannot be read, has no files.
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MAX_FILES {
                let message = format!("the workspace has more than {MAX_FILES} files; delete some");
                return Err(Error::new(Code::QuotaExceeded, message));
            }
            // Does not follow links.
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() && depth < MAX_DEPTH => {
                    left.push((entry.path(), depth + 1))
                }
                Ok(metadata) if metadata.is_file() => sum = sum.saturating_add(metadata.len()),
                _ => {}
            }
        }
    }
    Ok(sum)
}

fn too_large(uploads: &UploadSettings) -> Error {
    let message = format!(
        "the file is larger than files.max_upload_bytes allows ({} bytes)",
        uploads.max_file
    );
    Error::new(Code::BodyTooLarge, message)
}

fn over_quota(uploads: &UploadSettings) -> Error {
    let message = format!(
        "the files of the workspace would take more than files.max_workspace_bytes allows ({} bytes); delete some",
        uploads.max_workspace
    );
    Error::new(Code::QuotaExceeded, message)
}

fn full() -> Error {
    Error::new(
        Code::StorageFull,
        "the disk for files is nearly full; nothing was stored",
    )
}

fn taken(name: &str) -> Error {
    let message = format!("there is a file `{name}` already; send `overwrite=true` to replace it");
    Error::new(Code::NameTaken, message).param("name")
}

fn failed(errno: Errno) -> Error {
    match errno {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => full(),
        _ => Error::internal("the files of the datasource cannot be used").with_source(errno),
    }
}

fn not_written(error: io::Error) -> Error {
    failed(Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(Error::internal)?
}

#[cfg(test)]
mod tests;
