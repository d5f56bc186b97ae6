//! Compiled code, sealed. It is loaded only under a seal that this host made, whether it lay in the cache or was made
//! just now.

use std::{
    ffi::OsStr,
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use wasmtime::{Engine, component::Component};

use crate::package::hex;

/// Length of the seal in front of a cached file.
const SEAL: usize = 32;

/// Age from which a temporary file is abandoned.
const TEMPORARY_MAX_AGE: Duration = Duration::from_secs(3_600);
/// Random bytes in the name of a temporary file, in hex.
const TEMPORARY_SUFFIX: usize = 8;

/// Where compiled code is kept.
#[derive(Clone, Debug, Default)]
pub enum CacheDir {
    /// Nowhere: it is compiled each time.
    #[default]
    Absent,
    /// Code in this directory is used, and none is added.
    ReadOnly(PathBuf),
    /// Code that is missing in this directory is added.
    ReadWrite(PathBuf),
}

impl CacheDir {
    fn readable(&self) -> Option<&Path> {
        match self {
            Self::Absent => None,
            Self::ReadOnly(dir) | Self::ReadWrite(dir) => Some(dir),
        }
    }

    fn writable(&self) -> Option<&Path> {
        match self {
            Self::Absent | Self::ReadOnly(_) => None,
            Self::ReadWrite(dir) => Some(dir),
        }
    }
}

/// The directory of compiled code, and the key that seals it.
#[derive(Clone)]
pub struct Cache {
    dir: CacheDir,
    key: [u8; 32],
}

/// Compiled code with the seal of this host.
pub struct SealedCode {
    name: String,
    seal: [u8; SEAL],
    code: Vec<u8>,
}

impl Cache {
    /// A cache in a directory; without one, nothing is stored.
    pub fn new(dir: CacheDir, key: [u8; 32]) -> Self {
        Self { dir, key }
    }

    /// Removes temporary files of [`Self::store`] that a killed process left. Younger ones may still be in use.
    pub fn sweep(&self) {
        let entries = self.dir.writable().and_then(|dir| fs::read_dir(dir).ok());
        for entry in entries.into_iter().flatten().flatten() {
            let modified = entry.metadata().and_then(|meta| meta.modified());
            let age = modified.ok().and_then(|time| time.elapsed().ok());
            let path = entry.path();
            if is_temporary(&path) && age.is_some_and(|age| age > TEMPORARY_MAX_AGE) {
                match fs::remove_file(&path) {
                    Ok(()) => {
                        tracing::info!(path = %path.display(), "removed an unfinished file of compiled code")
                    }
                    Err(error) => {
                        tracing::warn!(path = %path.display(), %error, "could not remove an unfinished file of compiled code")
                    }
                }
            }
        }
    }

    /// Seals code that this program compiled.
    pub fn seal(&self, engine: &Engine, digest: &str, code: Vec<u8>) -> Option<SealedCode> {
        let name = name(engine, digest);
        let seal = self.mac(&name, &code)?.finalize().into_bytes().into();
        Some(SealedCode { name, seal, code })
    }

    /// The cached code of a component, if its seal is valid.
    pub fn find(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let name = name(engine, digest);
        let file = fs::read(self.dir.readable()?.join(&name)).ok()?;
        let (seal, code) = file.split_at_checked(SEAL)?;
        self.load(engine, &name, seal, code)
            .inspect_err(
                |error| tracing::info!(%error, "compiled code does not match this build; compiling again"),
            )
            .ok()
    }

    /// Sealed code, to be run.
    ///
    /// # Errors
    /// When the engine cannot take it: for example a memory that begins larger than an instance may have.
    pub fn open(&self, engine: &Engine, sealed: &SealedCode) -> wasmtime::Result<Component> {
        self.load(engine, &sealed.name, &sealed.seal, &sealed.code)
    }

    fn load(
        &self,
        engine: &Engine,
        name: &str,
        seal: &[u8],
        code: &[u8],
    ) -> wasmtime::Result<Component> {
        let mac = self.mac(name, code);
        if mac.is_none_or(|mac| mac.verify_slice(seal).is_err()) {
            tracing::warn!(
                name,
                "compiled code with a wrong seal is thrown away, as after a rotation of the secret key; it is compiled again"
            );
            return Err(wasmtime::Error::msg("its seal is wrong"));
        }
        // SAFETY: `deserialize` runs whatever machine code it is given. These bytes came out of this
        // program: they carry a MAC under a key that only the host has, over them and over their name, which
        // holds the digest of the component and the configuration of the engine.
        #[allow(unsafe_code, reason = "the comment above says why")]
        let component = unsafe { Component::deserialize(engine, code) };
        component
    }

    fn mac(&self, name: &str, code: &[u8]) -> Option<Hmac<Sha256>> {
        let mut seal = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        seal.update(&Sha256::digest(name));
        seal.update(code);
        Some(seal)
    }

    /// Stores sealed code for the next start. Writes a temporary file first, so that a file is never incomplete.
    ///
    /// # Errors
    /// When the directory cannot be written; the error names it. Then the next start compiles again.
    pub fn store(&self, sealed: &SealedCode) -> io::Result<()> {
        let Some(dir) = self.dir.writable() else {
            return Ok(());
        };
        write(dir, sealed).map_err(|error| {
            let remedy = match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "; give the directory and its files to the user that runs this program"
                }
                _ => "",
            };
            io::Error::new(error.kind(), format!("{}: {error}{remedy}", dir.display()))
        })
    }
}

fn write(dir: &Path, sealed: &SealedCode) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let path = dir.join(&sealed.name);
    let mut suffix = [0; TEMPORARY_SUFFIX];
    getrandom::fill(&mut suffix).map_err(|error| io::Error::other(error.to_string()))?;
    let temporary = path.with_extension(hex(&suffix));
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)?;
    let written = file
        .write_all(&sealed.seal)
        .and_then(|()| file.write_all(&sealed.code))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Whether a file has the name of a temporary file of [`Cache::store`].
fn is_temporary(path: &Path) -> bool {
    let suffix = path.extension().and_then(OsStr::to_str);
    suffix.is_some_and(|suffix| {
        suffix.len() == 2 * TEMPORARY_SUFFIX && suffix.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// The file name: the digest of the component and the configuration of the engine.
fn name(engine: &Engine, digest: &str) -> String {
    let mut hash = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hash);
    format!("{digest}-{:016x}.cwasm", hash.finish())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_old_temporary_files_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let hour = Duration::from_secs(3_600);
        let put = |name: &str, age: Duration| {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        };
        put("d-0.cwasm", 9 * hour);
        put("d-0.0123456789abcdef", 2 * hour);
        put("d-1.0123456789abcdef", hour / 2);
        put("notes.txt", 9 * hour);
        let cache = |dir| Cache::new(dir, [0; 32]);
        cache(CacheDir::ReadOnly(dir.path().to_path_buf())).sweep();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4);
        cache(CacheDir::ReadWrite(dir.path().to_path_buf())).sweep();
        let left = fs::read_dir(dir.path()).unwrap();
        let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["d-0.cwasm", "d-1.0123456789abcdef", "notes.txt"]);
        cache(CacheDir::Absent).sweep();
    }

    #[test]
    fn code_is_added_to_a_writable_directory_only() {
        let dir = tempfile::tempdir().unwrap();
        let cached = dir.path().join("cache");
        let sealed = SealedCode {
            name: "d-0.cwasm".to_owned(),
            seal: [0; SEAL],
            code: vec![1],
        };
        let cache = Cache::new(CacheDir::ReadOnly(cached.clone()), [0; 32]);
        cache.store(&sealed).unwrap();
        assert!(!cached.exists());
        let cache = Cache::new(CacheDir::ReadWrite(cached.clone()), [0; 32]);
        cache.store(&sealed).unwrap();
        assert!(cached.join("d-0.cwasm").exists());
    }

    #[test]
    fn directory_that_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let sealed = SealedCode {
            name: "d-0.cwasm".to_owned(),
            seal: [0; SEAL],
            code: Vec::new(),
        };
        let cache = Cache::new(CacheDir::ReadWrite(file.clone()), [0; 32]);
        let error = cache.store(&sealed).unwrap_err().to_string();
        assert!(error.contains(file.to_str().unwrap()), "{error}");
    }
}
