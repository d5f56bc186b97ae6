//! The file that holds the key, and its match with the store.

use std::{fs, io, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

use super::{LENGTH, SecretKey};
use crate::{error::Result, private, store::Store};

const FACT: &str = "secret_key_check";
const CHECK: &[u8] = b"mindhost";

/// Why the key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file cannot be read or made.
    #[error("the secret key {path}: {source}; check its rights, or set secrets.key_file")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The file holds something else.
    #[error(
        "{path} is not a secret key: it must hold 32 bytes as base64, as the first start wrote them"
    )]
    Malformed {
        /// The file.
        path: String,
    },
    /// The store was written with another key.
    #[error(
        "the secret key {path} is not the one this store was written with: put the right file back in its place, \
         or name it in secrets.key_file. Without it the stored passwords cannot be read"
    )]
    Mismatch {
        /// The file.
        path: String,
    },
    /// The store cannot be asked.
    #[error("the store cannot say which secret key it needs")]
    Store(#[source] crate::Error),
}

impl SecretKey {
    /// The key in `path`, proven to be the store's. An empty store gets a new key, made readable for its owner only.
    ///
    /// # Errors
    /// A store that knows a key refuses every other one, and a missing file too.
    pub async fn load(path: &Path, store: &Store) -> Result<Self, KeyFileError> {
        let shown = || path.display().to_string();
        let check = store.fact(FACT).await.map_err(KeyFileError::Store)?;
        let key = match Self::read(path)? {
            Some(key) => key,
            None if check.is_some() => return Err(KeyFileError::Mismatch { path: shown() }),
            None => Self::create(path)?,
        };
        // Another host may have stored its check meanwhile, so what counts is what the store says afterwards.
        let check = match check {
            Some(check) => check,
            None => {
                let check = key
                    .seal("host_facts", FACT, CHECK)
                    .map_err(KeyFileError::Store)?;
                store
                    .add_fact(FACT, &check)
                    .await
                    .map_err(KeyFileError::Store)?
            }
        };
        match key.open("host_facts", FACT, &check) {
            Ok(plain) if plain.as_slice() == CHECK => Ok(key),
            _ => Err(KeyFileError::Mismatch { path: shown() }),
        }
    }

    /// Whether the key in `path` is the store's. False when neither of them has one yet. Changes nothing.
    ///
    /// # Errors
    /// As [`SecretKey::load`].
    pub async fn verify(path: &Path, store: &Store) -> Result<bool, KeyFileError> {
        let check = store.fact(FACT).await.map_err(KeyFileError::Store)?;
        let fits = |key: &Self, check: &[u8]| key.open("host_facts", FACT, check).is_ok();
        match (Self::read(path)?, check) {
            (key, None) => Ok(key.is_some()),
            (Some(key), Some(check)) if fits(&key, &check) => Ok(true),
            (_, Some(_)) => Err(KeyFileError::Mismatch {
                path: path.display().to_string(),
            }),
        }
    }

    /// The key in `path`, if there is one.
    ///
    /// # Errors
    /// A file that cannot be read or is no key.
    pub fn read(path: &Path) -> Result<Option<Self>, KeyFileError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => Zeroizing::new(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                let path = path.display().to_string();
                return Err(KeyFileError::File { path, source });
            }
        };
        let bytes = STANDARD.decode(text.trim()).map(Zeroizing::new).ok();
        let key = bytes.and_then(|bytes| <[u8; LENGTH]>::try_from(bytes.as_slice()).ok());
        match key {
            Some(key) => Ok(Some(Self::new(key))),
            None => Err(KeyFileError::Malformed {
                path: path.display().to_string(),
            }),
        }
    }

    fn create(path: &Path) -> Result<Self, KeyFileError> {
        let failed = |source| KeyFileError::File {
            path: path.display().to_string(),
            source,
        };
        let mut bytes = Zeroizing::new([0; LENGTH]);
        getrandom::fill(&mut *bytes).map_err(|e| failed(io::Error::other(e.to_string())))?;
        if let Some(parent) = path.parent() {
            private::make_dir(parent).map_err(failed)?;
        }
        let text = Zeroizing::new(STANDARD.encode(*bytes) + "\n");
        match private::write(path, text.as_bytes()) {
            Ok(()) => Ok(Self::new(*bytes)),
            // Another host made it at the same moment; that one counts.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Self::read(path)?.ok_or_else(|| failed(error))
            }
            Err(error) => Err(failed(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    async fn the_first_start_makes_a_private_key_and_later_ones_take_it() {
        let (dir, store, _) = crate::store::temporary().await;
        let path = dir.path().join("keys/secrets.key");
        let made = SecretKey::load(&path, &store).await.unwrap();
        let taken = SecretKey::load(&path, &store).await.unwrap();
        assert_eq!(made.derive("x"), taken.derive("x"));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(path.parent().unwrap().read_dir().unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_store_refuses_every_other_key() {
        let (dir, store, _) = crate::store::temporary().await;
        let path = dir.path().join("secrets.key");
        SecretKey::load(&path, &store).await.unwrap();

        fs::remove_file(&path).unwrap();
        let missing = SecretKey::load(&path, &store).await.unwrap_err();
        assert!(
            matches!(missing, KeyFileError::Mismatch { .. }),
            "{missing}"
        );
        assert!(!path.exists(), "a lost key must not be replaced silently");

        fs::write(&path, STANDARD.encode([9; LENGTH])).unwrap();
        let other = SecretKey::load(&path, &store).await.unwrap_err();
        assert!(matches!(other, KeyFileError::Mismatch { .. }), "{other}");

        fs::write(&path, "not a key").unwrap();
        let malformed = SecretKey::load(&path, &store).await.unwrap_err();
        assert!(
            matches!(malformed, KeyFileError::Malformed { .. }),
            "{malformed}"
        );
    }
}
