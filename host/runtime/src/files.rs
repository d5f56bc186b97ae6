//! Files for guests: only the granted file and its siblings, read-only.
//!
//! Every function of `wasi:filesystem` is implemented here, so that a new one does not compile without a decision.
//! Functions with a path are checked. Functions on an open file pass, because a guest gets open files only from here.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use wasmtime::component::{HasData, Linker, Resource};
use wasmtime_wasi::{
    filesystem::{Descriptor, WasiFilesystemCtxView, WasiFilesystemView},
    p2::{
        DynInputStream, DynOutputStream, FsError, FsResult, InputStream, Pollable, ReaddirIterator,
        StreamResult,
        bindings::filesystem::{
            preopens,
            types::{
                self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry,
                ErrorCode, Filesize, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue,
                NewTimestamp, OpenFlags, PathFlags,
            },
        },
    },
};

use super::{
    bindings::log::Level,
    file_grant::FileGrant,
    grants::Grants,
    limits::{HandlePermit, Handles},
    refusals::Refusals,
    state::State,
};

/// Replaces WASI's file system.
pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    types::add_to_linker::<State, Files>(linker, view)?;
    preopens::add_to_linker::<State, Files>(linker, view)
}

fn view(state: &mut State) -> FileView<'_> {
    FileView {
        grants: Arc::clone(&state.grants),
        refusals: Arc::clone(&state.refusals),
        handles: Arc::clone(&state.handles),
        inner: state.filesystem(),
    }
}

struct Files;

impl HasData for Files {
    type Data<'a> = FileView<'a>;
}

struct FileView<'a> {
    grants: Arc<Grants>,
    refusals: Arc<Refusals>,
    handles: Arc<Handles>,
    inner: WasiFilesystemCtxView<'a>,
}

/// The granted entries of a directory. WASI's type cannot be created outside its crate; the guest holds only a handle.
struct Listing {
    /// A descriptor of its own, because the guest may close the one that it listed.
    dir: Fd,
    entries: VecDeque<DirectoryEntry>,
    _permit: HandlePermit,
}

/// A reader of a file, which keeps the file open even if the guest closes it.
struct CountedStream {
    stream: DynInputStream,
    _permit: HandlePermit,
}

#[wasmtime_wasi::async_trait]
impl Pollable for CountedStream {
    async fn ready(&mut self) {
        self.stream.ready().await;
    }
}

#[wasmtime_wasi::async_trait]
impl InputStream for CountedStream {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.stream.read(size)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.stream.blocking_read(size).await
    }

    fn skip(&mut self, bytes: usize) -> StreamResult<usize> {
        self.stream.skip(bytes)
    }

    async fn blocking_skip(&mut self, bytes: usize) -> StreamResult<usize> {
        self.stream.blocking_skip(bytes).await
    }

    async fn cancel(&mut self) {
        self.stream.cancel().await;
    }
}

type Fd = Resource<Descriptor>;
type Entries = Resource<ReaddirIterator>;

fn listing(stream: &Entries) -> Resource<Listing> {
    match stream.owned() {
        true => Resource::new_own(stream.rep()),
        false => Resource::new_borrow(stream.rep()),
    }
}

/// A second handle to a descriptor, for a delegated call that consumes it.
fn same(fd: &Fd) -> Fd {
    Resource::new_borrow(fd.rep())
}

impl FileView<'_> {
    /// The grant of a mounted directory. A directory below a mount has none: it comes from a grant for everything
    /// below.
    fn grant(&self, fd: &Fd) -> FsResult<Option<&FileGrant>> {
        let Descriptor::Dir(dir) = self.inner.table.get(fd)? else {
            return Ok(None);
        };
        let is_mount = |grant: &&FileGrant| Arc::ptr_eq(&grant.dir.dir, &dir.dir);
        Ok(self.grants.files().iter().find(is_mount))
    }

    fn check(&self, fd: &Fd, path: &str) -> FsResult<()> {
        let Some(grant) = self.grant(fd)? else {
            return Ok(());
        };
        if grant.allows(path) {
            return Ok(());
        }
        if path.contains('/') || path == ".." {
            self.refusals.note(&format!(
                "the plugin asked for the file `{}`, which its configuration does not name",
                self.refusals.quoted(path)
            ));
            return Err(ErrorCode::NotPermitted.into());
        }
        Err(ErrorCode::NoEntry.into())
    }

    /// As [`Self::check`], for metadata, which the mount itself allows.
    fn check_look(&self, fd: &Fd, path: &str) -> FsResult<()> {
        match path {
            "" | "." => Ok(()),
            _ => self.check(fd, path),
        }
    }

    /// Opens a file or directory below a granted directory. Refuses anything that could block.
    async fn open_below(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        let stat = self.inner.stat_at(same(&fd), path_flags, path.clone());
        match stat.await?.type_ {
            DescriptorType::RegularFile
            | DescriptorType::Directory
            | DescriptorType::SymbolicLink => {
                self.inner.open_at(fd, path_flags, path, how, flags).await
            }
            _ => Err(ErrorCode::NotPermitted.into()),
        }
    }

    /// The files of these names that are there.
    async fn entries_of(&mut self, fd: &Fd, names: Vec<String>) -> VecDeque<DirectoryEntry> {
        let mut entries = VecDeque::new();
        for name in names {
            let stat = self
                .inner
                .stat_at(same(fd), PathFlags::empty(), name.clone());
            if let Ok(stat) = stat.await {
                let type_ = stat.type_;
                entries.push_back(DirectoryEntry { type_, name });
            }
        }
        entries
    }

    /// What is in a directory. WASI gives an error in place of an entry that vanished after its name was read, and of
    /// one whose name is not UTF-8. A guest would take that error for the end of the directory, so neither is an entry.
    async fn entries_below(&mut self, fd: Fd) -> FsResult<VecDeque<DirectoryEntry>> {
        let stream = self.inner.read_directory(fd).await?;
        let mut entries = VecDeque::new();
        let mut unnamed = 0u32;
        for entry in self.inner.table.delete(stream)? {
            match entry {
                Ok(entry) => entries.push_back(entry),
                Err(error) => match error.downcast_ref() {
                    Some(ErrorCode::NoEntry) => {}
                    Some(ErrorCode::IllegalByteSequence) => unnamed += 1,
                    _ => return Err(error),
                },
            }
        }
        if unnamed > 0 {
            let what = format!("names in a directory that are not UTF-8 were ignored: {unnamed}");
            self.refusals.log().line(Level::Warn, &what);
        }
        Ok(entries)
    }

    /// Does not follow links in a mount of single files: the grant is for the file, not for the target of a link.
    fn follow(&self, fd: &Fd, flags: PathFlags) -> FsResult<PathFlags> {
        Ok(match self.grant(fd)? {
            Some(grant) if grant.names.is_some() => PathFlags::empty(),
            _ => flags,
        })
    }
}

fn read_only<T>() -> FsResult<T> {
    Err(ErrorCode::ReadOnly.into())
}

impl preopens::Host for FileView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        let grants = Arc::clone(&self.grants);
        grants
            .files()
            .iter()
            .map(|grant| {
                let fd = self.inner.table.push(Descriptor::Dir(grant.dir.clone()))?;
                Ok((fd, grant.mount.clone()))
            })
            .collect()
    }
}

impl types::Host for FileView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.inner.convert_error_code(error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.inner.filesystem_error_code(error)
    }
}

impl HostDescriptor for FileView<'_> {
    async fn open_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        if let ("" | ".", Some(grant)) = (path.as_str(), self.grant(&fd)?)
            && grant.names.is_some()
        {
            // The mount itself keeps its handle: another one would have no grant to check.
            let writes = DescriptorFlags::WRITE | DescriptorFlags::MUTATE_DIRECTORY;
            if open_flags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE)
                || flags.intersects(writes)
            {
                return read_only();
            }
            let again = Descriptor::Dir(grant.dir.clone());
            return Ok(self.inner.table.push(again)?);
        }
        self.check(&fd, &path)?;
        if !self.handles.take_file() {
            return Err(ErrorCode::InsufficientMemory.into());
        }
        let opened = match self.grant(&fd)? {
            Some(grant) if grant.names.is_some() => {
                let opened = grant.open(&path, open_flags, flags, &self.refusals);
                opened.and_then(|file| Ok(self.inner.table.push(Descriptor::File(file))?))
            }
            _ => {
                self.open_below(fd, path_flags, path, open_flags, flags)
                    .await
            }
        };
        if opened.is_err() {
            self.handles.give_file();
        }
        opened
    }

    async fn stat_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        self.check_look(&fd, &path)?;
        let path_flags = self.follow(&fd, path_flags)?;
        self.inner.stat_at(fd, path_flags, path).await
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        self.check_look(&fd, &path)?;
        let path_flags = self.follow(&fd, path_flags)?;
        self.inner.metadata_hash_at(fd, path_flags, path).await
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        self.check(&fd, &path)?;
        self.inner.readlink_at(fd, path).await
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Entries> {
        let dir = match self.inner.table.get(&fd)? {
            Descriptor::Dir(dir) => dir.clone(),
            Descriptor::File(_) => return Err(ErrorCode::NotDirectory.into()),
        };
        let permit = self.handles.take_stream();
        let permit = permit.ok_or(FsError::from(ErrorCode::InsufficientMemory))?;
        let entries = match self.grant(&fd)?.and_then(|grant| grant.names.clone()) {
            Some(names) => self.entries_of(&fd, names).await,
            None => self.entries_below(fd).await?,
        };
        let dir = self.inner.table.push(Descriptor::Dir(dir))?;
        let stream = self.inner.table.push(Listing {
            dir,
            entries,
            _permit: permit,
        })?;
        Ok(Resource::new_own(stream.rep()))
    }

    async fn create_directory_at(&mut self, _: Fd, _: String) -> FsResult<()> {
        read_only()
    }

    async fn set_times_at(
        &mut self,
        _: Fd,
        _: PathFlags,
        _: String,
        _: NewTimestamp,
        _: NewTimestamp,
    ) -> FsResult<()> {
        read_only()
    }

    async fn link_at(&mut self, _: Fd, _: PathFlags, _: String, _: Fd, _: String) -> FsResult<()> {
        read_only()
    }

    async fn remove_directory_at(&mut self, _: Fd, _: String) -> FsResult<()> {
        read_only()
    }

    async fn rename_at(&mut self, _: Fd, _: String, _: Fd, _: String) -> FsResult<()> {
        read_only()
    }

    async fn symlink_at(&mut self, _: Fd, _: String, _: String) -> FsResult<()> {
        read_only()
    }

    async fn unlink_file_at(&mut self, _: Fd, _: String) -> FsResult<()> {
        read_only()
    }

    async fn set_size(&mut self, _: Fd, _: Filesize) -> FsResult<()> {
        read_only()
    }

    async fn set_times(&mut self, _: Fd, _: NewTimestamp, _: NewTimestamp) -> FsResult<()> {
        read_only()
    }

    async fn write(&mut self, _: Fd, _: Vec<u8>, _: Filesize) -> FsResult<Filesize> {
        read_only()
    }

    fn write_via_stream(&mut self, _: Fd, _: Filesize) -> FsResult<Resource<DynOutputStream>> {
        read_only()
    }

    fn append_via_stream(&mut self, _: Fd) -> FsResult<Resource<DynOutputStream>> {
        read_only()
    }

    fn read_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        let permit = self.handles.take_stream();
        let permit = permit.ok_or(FsError::from(ErrorCode::InsufficientMemory))?;
        let stream = self.inner.read_via_stream(fd, offset)?;
        let stream = self.inner.table.delete(stream)?;
        let counted: DynInputStream = Box::new(CountedStream {
            stream,
            _permit: permit,
        });
        Ok(self.inner.table.push(counted)?)
    }

    async fn read(&mut self, fd: Fd, len: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)> {
        self.inner.read(fd, len, offset).await
    }

    async fn advise(
        &mut self,
        fd: Fd,
        offset: Filesize,
        len: Filesize,
        how: Advice,
    ) -> FsResult<()> {
        self.inner.advise(fd, offset, len, how).await
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.inner.sync_data(fd).await
    }

    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        self.inner.sync(fd).await
    }

    async fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        self.inner.get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Fd) -> FsResult<DescriptorType> {
        self.inner.get_type(fd).await
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<DescriptorStat> {
        self.inner.stat(fd).await
    }

    async fn is_same_object(&mut self, a: Fd, b: Fd) -> wasmtime::Result<bool> {
        self.inner.is_same_object(a, b).await
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<MetadataHashValue> {
        self.inner.metadata_hash(fd).await
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        // Mounts are not counted.
        let counted = match self.inner.table.get(&fd)? {
            Descriptor::File(_) => true,
            Descriptor::Dir(_) => matches!(self.grant(&fd), Ok(None)),
        };
        HostDescriptor::drop(&mut self.inner, fd)?;
        if counted {
            self.handles.give_file();
        }
        Ok(())
    }
}

impl HostDirectoryEntryStream for FileView<'_> {
    async fn read_directory_entry(&mut self, stream: Entries) -> FsResult<Option<DirectoryEntry>> {
        loop {
            let listing = self.inner.table.get_mut(&listing(&stream))?;
            let Some(entry) = listing.entries.pop_front() else {
                return Ok(None);
            };
            // The C library of guests asks for the metadata of each entry next, and ends the directory at one that
            // vanished since it was listed.
            let dir = same(&listing.dir);
            let stat = self
                .inner
                .stat_at(dir, PathFlags::empty(), entry.name.clone());
            match stat.await {
                Err(error) if matches!(error.downcast_ref(), Some(ErrorCode::NoEntry)) => {}
                _ => return Ok(Some(entry)),
            }
        }
    }

    fn drop(&mut self, stream: Entries) -> wasmtime::Result<()> {
        let listing = self.inner.table.delete(listing(&stream))?;
        self.inner.table.delete(listing.dir)?;
        Ok(())
    }
}
