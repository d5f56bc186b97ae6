//! What statements keep on disk when their memory is used up: encrypted, in files without a name.
//!
//! Each file has a key of its own, which is only in memory. A file has no name from its first byte on, so nothing of it
//! is left after a crash either. Sorts, groups and windows spill; the smaller side of a join does not.
//!
//! A file is a sequence of frames: the length of the text in four bytes (little endian), then the text sealed with
//! ChaCha20-Poly1305 (RFC 8439). The nonce is the number of the frame.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt as _, FileExt as _},
    path::{Path, PathBuf},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use chacha20poly1305::{
    ChaCha20Poly1305, Nonce,
    aead::{AeadInPlace as _, KeyInit as _, OsRng},
};
use datafusion::{
    common::{DataFusionError, Result},
    execution::{SpillFile, SpillWriter, TempFileFactory},
};
use futures_util::{Stream, stream};

use super::memory::Budget;

/// Text of one frame, in bytes. It is sealed and opened as a whole.
const FRAME: usize = 64 << 10;
/// Bytes in front of a frame.
const HEAD: usize = 4;
/// Bytes that sealing adds to a frame.
const TAG: usize = 16;

/// The disk of all statements.
#[derive(Debug)]
pub struct HostDisk {
    folder: PathBuf,
    used: Budget,
}

impl HostDisk {
    /// At most `max` bytes in a folder, which is made when it is needed.
    pub fn new(folder: &Path, max: usize) -> Arc<Self> {
        Arc::new(Self {
            folder: folder.to_owned(),
            used: Budget::new(max),
        })
    }

    /// Bytes in use.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.used.used()
    }

    /// A file without a name, which ends with its last handle.
    fn file(&self) -> io::Result<File> {
        let made = tempfile::tempfile_in(&self.folder);
        match made {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut builder = fs::DirBuilder::new();
                builder.recursive(true).mode(0o700).create(&self.folder)?;
                tempfile::tempfile_in(&self.folder)
            }
            made => made,
        }
    }
}

/// Why a statement could not write to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpillError {
    /// The limit of one statement is reached.
    Statement,
    /// The limit of all statements is reached.
    Host,
    /// The disk is full, or cannot be written.
    Disk,
}

/// The disk of one statement.
#[derive(Debug)]
pub struct StatementDisk {
    used: Budget,
    host: Arc<HostDisk>,
    /// All bytes that were written, also to files that are gone.
    written: AtomicUsize,
    /// The first failure.
    failure: Mutex<Option<SpillError>>,
    reported: AtomicBool,
}

impl StatementDisk {
    /// At most `max` bytes, within those of the host.
    pub fn new(max: usize, host: &Arc<HostDisk>) -> Arc<Self> {
        Arc::new(Self {
            used: Budget::new(max),
            host: Arc::clone(host),
            written: AtomicUsize::new(0),
            failure: Mutex::new(None),
            reported: AtomicBool::new(false),
        })
    }

    /// The limit in bytes.
    pub fn max(&self) -> usize {
        self.used.max()
    }

    /// Bytes that were written so far.
    pub fn written(&self) -> usize {
        self.written.load(Ordering::Relaxed)
    }

    /// Why it could not write, if it could not.
    pub fn failure(&self) -> Option<SpillError> {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reserve(&self, bytes: usize) -> io::Result<()> {
        if !self.used.try_reserve(bytes) {
            return Err(self.failed(SpillError::Statement, "no more disk for this statement"));
        }
        if !self.host.used.try_reserve(bytes) {
            self.used.release(bytes);
            return Err(self.failed(SpillError::Host, "no more disk for statements"));
        }
        self.written.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn release(&self, bytes: usize) {
        self.used.release(bytes);
        self.host.used.release(bytes);
    }

    fn failed(&self, failure: SpillError, what: &str) -> io::Error {
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(failure);
        io::Error::other(what.to_owned())
    }

    fn broken(&self, error: &io::Error) -> io::Error {
        if !self.reported.swap(true, Ordering::Relaxed) {
            let folder = self.host.folder.display();
            tracing::error!(%error, %folder, "a statement could not write to disk");
        }
        self.failed(SpillError::Disk, "the disk cannot be written")
    }
}

/// Makes the files of one statement.
pub struct SpillFiles(pub Arc<StatementDisk>);

impl TempFileFactory for SpillFiles {
    fn create_temp_file(&self, _: &str) -> Result<Arc<dyn SpillFile>> {
        let disk = Arc::clone(&self.0);
        let file = disk.host.file().map_err(|error| disk.broken(&error))?;
        Ok(Arc::new(SealedFile(Arc::new(Contents {
            file,
            cipher: ChaCha20Poly1305::new(&ChaCha20Poly1305::generate_key(&mut OsRng)),
            end: Mutex::new(Position::default()),
            disk,
        }))))
    }
}

/// A place between two frames.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    frames: u64,
    bytes: u64,
}

struct Contents {
    file: File,
    cipher: ChaCha20Poly1305,
    /// Where the next frame is written.
    end: Mutex<Position>,
    disk: Arc<StatementDisk>,
}

impl Drop for Contents {
    fn drop(&mut self) {
        let end = self.end.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.disk
            .release(usize::try_from(end.bytes).unwrap_or(usize::MAX));
    }
}

fn nonce(frames: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&frames.to_le_bytes());
    bytes.into()
}

impl Contents {
    fn end(&self) -> Position {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seals a text and adds it to the file.
    fn append(&self, text: &[u8]) -> io::Result<()> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let length = u32::try_from(text.len()).map_err(io::Error::other)?;
        let mut frame = Vec::with_capacity(HEAD + text.len() + TAG);
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(text);
        let (head, sealed) = frame.split_at_mut(HEAD);
        let tag = self
            .cipher
            .encrypt_in_place_detached(&nonce(end.frames), head, sealed)
            .map_err(io::Error::other)?;
        frame.extend_from_slice(&tag);
        self.disk.reserve(frame.len())?;
        if let Err(error) = self.file.write_all_at(&frame, end.bytes) {
            self.disk.release(frame.len());
            return Err(self.disk.broken(&error));
        }
        *end = Position {
            frames: end.frames + 1,
            bytes: end.bytes + frame.len() as u64,
        };
        Ok(())
    }

    /// The text of the frame at a position, and where the next one is; none at the end.
    fn read(&self, at: Position) -> io::Result<Option<(Vec<u8>, Position)>> {
        if at.frames == self.end().frames {
            return Ok(None);
        }
        let mut head = [0; HEAD];
        self.file.read_exact_at(&mut head, at.bytes)?;
        let length = u32::from_le_bytes(head) as usize;
        if length > FRAME {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        let mut text = vec![0; length + TAG];
        self.file.read_exact_at(&mut text, at.bytes + HEAD as u64)?;
        let (sealed, tag) = text.split_at_mut(length);
        self.cipher
            .decrypt_in_place_detached(&nonce(at.frames), &head, sealed, (&*tag).into())
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        let next = Position {
            frames: at.frames + 1,
            bytes: at.bytes + (HEAD + text.len()) as u64,
        };
        text.truncate(length);
        Ok(Some((text, next)))
    }
}

/// A file of one operator.
struct SealedFile(Arc<Contents>);

impl SpillFile for SealedFile {
    fn size(&self) -> Option<u64> {
        Some(self.0.end().bytes)
    }

    /// Reads on the thread of the statement, as the operators write: these threads serve statements alone.
    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<bytes::Bytes>> + Send>>> {
        let contents = Arc::clone(&self.0);
        let mut at = Position::default();
        let frames = std::iter::from_fn(move || match contents.read(at) {
            Ok(Some((text, next))) => {
                at = next;
                Some(Ok(text.into()))
            }
            Ok(None) => None,
            Err(error) => Some(Err(DataFusionError::IoError(contents.disk.broken(&error)))),
        });
        Ok(Box::pin(stream::iter(frames)))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        Ok(Box::new(SealingWriter {
            contents: Arc::clone(&self.0),
            text: Vec::with_capacity(FRAME),
        }))
    }
}

/// Collects the text of a frame.
struct SealingWriter {
    contents: Arc<Contents>,
    text: Vec<u8>,
}

impl Write for SealingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(FRAME - self.text.len());
        self.text.extend_from_slice(&bytes[..taken]);
        if self.text.len() == FRAME {
            self.flush()?;
        }
        Ok(taken)
    }

    /// Ends the frame, so that it can be read.
    fn flush(&mut self) -> io::Result<()> {
        if !self.text.is_empty() {
            self.contents.append(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}

impl SpillWriter for SealingWriter {
    fn finish(&mut self) -> Result<()> {
        Ok(self.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt as _;

    use super::*;

    fn disk(folder: &Path, one: usize, all: usize) -> Arc<StatementDisk> {
        StatementDisk::new(one, &HostDisk::new(folder, all))
    }

    async fn read(file: &Arc<dyn SpillFile>) -> Vec<u8> {
        let pieces: Vec<bytes::Bytes> = file.read_stream().unwrap().try_collect().await.unwrap();
        pieces.concat()
    }

    #[tokio::test]
    async fn what_is_written_is_read_again_and_leaves_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let disk = disk(&folder.path().join("spill"), 1 << 30, 1 << 30);
        let file = SpillFiles(Arc::clone(&disk))
            .create_temp_file("a sort")
            .unwrap();
        let mut writer = file.open_writer().unwrap();
        let text: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        writer.write_all(&text[..100]).unwrap();
        writer.flush().unwrap();
        assert_eq!(read(&file).await, &text[..100], "before the end");
        writer.write_all(&text[100..]).unwrap();
        writer.finish().unwrap();
        assert_eq!(read(&file).await, text);
        assert_eq!(file.size(), Some(disk.host.used() as u64));
        assert_eq!(
            fs::read_dir(&disk.host.folder).unwrap().count(),
            0,
            "it has no name"
        );
        drop((file, writer));
        assert_eq!(disk.host.used(), 0);
        assert!(disk.written() > text.len());
    }

    #[tokio::test]
    async fn bytes_on_disk_are_sealed_and_bound_to_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let disk = disk(folder.path(), 1 << 20, 1 << 20);
        let contents = Contents {
            file: disk.host.file().unwrap(),
            cipher: ChaCha20Poly1305::new(&ChaCha20Poly1305::generate_key(&mut OsRng)),
            end: Mutex::default(),
            disk: Arc::clone(&disk),
        };
        for _ in 0..2 {
            contents.append(b"a secret row").unwrap();
        }
        let length = usize::try_from(contents.end().bytes).unwrap();
        let mut raw = vec![0; length];
        contents.file.read_exact_at(&mut raw, 0).unwrap();
        assert!(!raw.windows(6).any(|piece| piece == b"secret"));
        let (first, second) = raw.split_at(length / 2);
        assert_ne!(first, second, "each frame has a nonce of its own");
        // The frames change places, then one bit turns.
        contents.file.write_all_at(second, 0).unwrap();
        assert!(contents.read(Position::default()).is_err());
        contents.file.write_all_at(first, 0).unwrap();
        contents
            .file
            .write_all_at(&[raw[HEAD] ^ 1], HEAD as u64)
            .unwrap();
        assert!(contents.read(Position::default()).is_err());
    }

    #[tokio::test]
    async fn limits_of_a_statement_and_of_all_hold() {
        let folder = tempfile::tempdir().unwrap();
        for (one, all, failure) in [
            (FRAME, 1 << 30, SpillError::Statement),
            (1 << 30, FRAME, SpillError::Host),
        ] {
            let disk = disk(folder.path(), one, all);
            let file = SpillFiles(Arc::clone(&disk))
                .create_temp_file("a sort")
                .unwrap();
            let mut writer = file.open_writer().unwrap();
            assert!(writer.write_all(&vec![0; 3 * FRAME]).is_err());
            assert_eq!(disk.failure(), Some(failure));
            drop((file, writer));
            assert_eq!(disk.host.used(), 0);
        }
    }

    #[tokio::test]
    async fn folder_that_cannot_be_made_is_a_failure_of_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        fs::write(&taken, "").unwrap();
        let disk = disk(&taken.join("spill"), 1 << 20, 1 << 20);
        assert!(
            SpillFiles(Arc::clone(&disk))
                .create_temp_file("a sort")
                .is_err()
        );
        assert_eq!(disk.failure(), Some(SpillError::Disk));
    }
}
