//! The files of installed plugins, each named after the SHA-256 of its bytes.
//!
//! An installed file never changes: it is written once, under its digest, and its digest is checked at every read. So a
//! digest in the store, in a lock file or in a header always means the same bytes.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use uuid::Uuid;

use super::signatures::{Signer, Trust};
use mindhost_base::{locks::lock, owner_only};
use mindhost_runtime::package::{Package, Refusal};

/// Suffix of the file with a signature.
pub const SIGNATURE: &str = "minisig";
/// A minisign signature is four short lines.
pub const MAX_SIGNATURE: u64 = 4 << 10;

/// A directory of artifacts.
#[derive(Clone, Debug)]
pub struct Artifacts {
    dir: PathBuf,
    max_bytes: u64,
    /// The number of holds, by digest and reason.
    held: HoldCounts,
    /// One is installed or removed at a time; otherwise a removal could delete a file that was just written.
    changing: Arc<tokio::sync::Mutex<()>>,
}

type HoldCounts = Arc<Mutex<BTreeMap<(String, HeldFor), usize>>>;

/// What needs an artifact for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeldFor {
    /// A rollout of it.
    Rollout,
    /// A request that pins it in a datasource.
    Pin,
}

/// Keeps an artifact from being removed until this is dropped.
#[derive(Debug)]
pub struct Hold {
    held: HoldCounts,
    of: (String, HeldFor),
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        if let Some(holds) = held.get_mut(&self.of) {
            *holds -= 1;
            if *holds == 0 {
                held.remove(&self.of);
            }
        }
    }
}

impl Artifacts {
    /// The artifacts in `dir`, which is created with the first one. None may be larger than `max_bytes`.
    pub fn new(dir: PathBuf, max_bytes: u64) -> Self {
        Self {
            dir,
            max_bytes,
            held: HoldCounts::default(),
            changing: Arc::default(),
        }
    }

    /// Keeps an artifact from being removed while the hold exists.
    pub fn hold(&self, digest: &str, held_for: HeldFor) -> Hold {
        let of = (digest.to_owned(), held_for);
        *lock(&self.held).entry(of.clone()).or_default() += 1;
        Hold {
            held: Arc::clone(&self.held),
            of,
        }
    }

    /// What holds an artifact.
    pub fn held_for(&self, digest: &str) -> Option<HeldFor> {
        let held = lock(&self.held);
        let mut holds = held.keys().filter(|(one, _)| one == digest);
        holds.next().map(|(_, held_for)| *held_for)
    }

    /// Waits for the lock to install or remove.
    pub async fn change(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.changing.lock().await
    }

    /// The better of a new and a stored signature of a package: a trusted key before an unknown one, any signature
    /// before none, and the new one if both are equal.
    pub fn best_signature(
        &self,
        package: &Package,
        signature: Option<String>,
        trust: &Trust,
    ) -> Option<String> {
        let worth = |signature: &Option<String>| match trust.signer(package, signature.as_deref()) {
            Ok(Signer::Trusted(_)) => 3,
            Ok(Signer::Unknown(_)) => 2,
            // An invalid signature must not be lost either.
            Err(_) => 1,
            Ok(Signer::Unsigned) => 0,
        };
        let kept = self.signature(&package.digest);
        match worth(&signature) >= worth(&kept) {
            true => signature,
            false => kept,
        }
    }

    /// Stores a package. An intact file stays as it is; a signature replaces the stored one.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn put(&self, package: &Package, signature: Option<&str>) -> io::Result<()> {
        owner_only::make_dir(&self.dir)?;
        if let Some(signature) = signature {
            self.replace(&self.path(&package.digest, SIGNATURE), signature.as_bytes())?;
        }
        let path = self.path(&package.digest, "wasm");
        match self.is_intact(&path, package) {
            true => Ok(()),
            false => self.replace(&path, &package.bytes),
        }
    }

    /// Whether the file exists with these bytes.
    fn is_intact(&self, path: &Path, package: &Package) -> bool {
        Package::read(path, self.max_bytes).is_ok_and(|kept| kept.digest == package.digest)
    }

    /// Writes a temporary file and renames it, so that a partial file never has the final name.
    fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let temporary = self.dir.join(format!(".{}", Uuid::now_v7()));
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        let written = file
            .write_all(content)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// The package with this digest.
    ///
    /// # Errors
    /// When it is missing or was changed.
    pub fn read(&self, digest: &str) -> Result<Package, Refusal> {
        if !is_digest(digest) {
            return Err(Refusal::new("is not named by a SHA-256"));
        }
        let package = Package::read(&self.path(digest, "wasm"), self.max_bytes)?;
        match package.digest == digest {
            true => Ok(package),
            false => Err(Refusal::new(
                "was changed after it was installed; install it again from where it came from",
            )),
        }
    }

    /// The signature that came with it.
    pub fn signature(&self, digest: &str) -> Option<String> {
        is_digest(digest)
            .then(|| read_signature(&self.path(digest, SIGNATURE)))
            .flatten()
    }

    /// The digests of all artifacts.
    pub fn digests(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return Vec::new();
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut digests: Vec<String> = names
            .filter_map(|name| Some(name.strip_suffix(".wasm")?.to_owned()))
            .filter(|digest| is_digest(digest))
            .collect();
        digests.sort();
        digests
    }

    /// Deletes an artifact with its signature.
    ///
    /// # Errors
    /// When it cannot be deleted. A missing file is no error.
    pub fn remove(&self, digest: &str) -> io::Result<()> {
        if !is_digest(digest) {
            return Ok(());
        }
        for suffix in ["wasm", SIGNATURE] {
            match fs::remove_file(self.path(digest, suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Where a version lies, or would.
    pub fn file(&self, digest: &str) -> PathBuf {
        self.path(digest, "wasm")
    }

    fn path(&self, digest: &str, suffix: &str) -> PathBuf {
        self.dir.join(format!("{digest}.{suffix}"))
    }
}

/// The signature beside a file that is no artifact yet: `connector.wasm.minisig`.
pub fn signature_beside(file: &Path) -> Option<String> {
    let mut name = file.file_name()?.to_os_string();
    name.push(format!(".{SIGNATURE}"));
    read_signature(&file.with_file_name(name))
}

fn read_signature(path: &Path) -> Option<String> {
    let size = path.metadata().ok()?.len();
    (size <= MAX_SIGNATURE)
        .then(|| fs::read_to_string(path).ok())
        .flatten()
}

/// Whether a text is a SHA-256 in lower-case hexadecimal, and so safe as the name of a file.
pub fn is_digest(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::packed;

    fn artifacts() -> (tempfile::TempDir, Artifacts) {
        let dir = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::new(dir.path().join("plugins"), 1 << 20);
        (dir, artifacts)
    }

    #[test]
    fn what_was_put_comes_back_under_its_digest() {
        let (_dir, artifacts) = artifacts();
        let package = packed("1.0.0");
        artifacts.put(&package, Some("signature")).unwrap();
        assert_eq!(artifacts.digests(), std::slice::from_ref(&package.digest));
        let kept = artifacts.read(&package.digest).unwrap();
        assert_eq!(kept.bytes, package.bytes);
        assert_eq!(artifacts.signature(&package.digest).unwrap(), "signature");
        artifacts.remove(&package.digest).unwrap();
        assert!(artifacts.digests().is_empty());
    }

    #[test]
    fn a_changed_file_is_refused_and_mended_by_installing_again() {
        let (_dir, artifacts) = artifacts();
        let (package, other) = (packed("1.0.0"), packed("1.0.1"));
        artifacts.put(&package, None).unwrap();
        fs::write(artifacts.path(&package.digest, "wasm"), &other.bytes).unwrap();
        let refusal = artifacts.read(&package.digest).err().unwrap();
        assert!(refusal.to_string().contains("was changed"), "{refusal}");
        artifacts.put(&package, None).unwrap();
        assert!(artifacts.read(&package.digest).is_ok());
    }

    #[test]
    fn a_signature_gives_way_to_one_that_is_worth_as_much() {
        use minisign::KeyPair;
        let (_dir, artifacts) = artifacts();
        let package = packed("1.0.0");
        let sign = |key: &KeyPair| {
            let signed = minisign::sign(Some(&key.pk), &key.sk, &package.bytes[..], None, None);
            Some(signed.unwrap().into_string())
        };
        let [ours, stranger] = [(); 2].map(|()| KeyPair::generate_unencrypted_keypair().unwrap());
        let trust = Trust::new(false, &[ours.pk.to_base64().into()]).unwrap();
        let best = |sent: &Option<String>| artifacts.best_signature(&package, sent.clone(), &trust);
        let (trusted, unknown) = (sign(&ours), sign(&stranger));
        assert_eq!(best(&unknown), unknown);
        artifacts.put(&package, unknown.as_deref()).unwrap();
        assert_eq!(best(&None), unknown);
        assert_eq!(best(&trusted), trusted);
        artifacts.put(&package, trusted.as_deref()).unwrap();
        assert_eq!(best(&None), trusted);
        assert_eq!(best(&unknown), trusted);
        let newer = sign(&ours);
        assert_eq!(best(&newer), newer);
    }

    #[test]
    fn artifact_is_held_until_the_last_hold_is_dropped() {
        let (_dir, artifacts) = artifacts();
        let pin = artifacts.hold("d", HeldFor::Pin);
        let rollouts = [(); 2].map(|()| artifacts.clone().hold("d", HeldFor::Rollout));
        for rollout in rollouts {
            assert_eq!(artifacts.held_for("d"), Some(HeldFor::Rollout));
            drop(rollout);
        }
        assert_eq!(artifacts.held_for("d"), Some(HeldFor::Pin));
        assert_eq!(artifacts.held_for("e"), None);
        drop(pin);
        assert_eq!(artifacts.held_for("d"), None);
    }

    #[test]
    fn path_is_not_a_digest() {
        let (_dir, artifacts) = artifacts();
        assert!(artifacts.read("../../etc/passwd").is_err());
        assert!(!is_digest(&"A".repeat(64)));
    }
}
