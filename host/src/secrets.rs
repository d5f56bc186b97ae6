//! Encryption of secrets at rest.
//!
//! One key, in a file outside the database, made at the first start. A secret is sealed with
//! XChaCha20-Poly1305 and bound to the row that holds it, so a sealed value that is copied to another row does
//! not open. Other uses get keys of their own, derived from this one.

mod file;

use std::fmt;

use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead, KeyInit, Payload},
};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

pub use file::KeyFileError;

const NONCE: usize = 24;
const LENGTH: usize = 32;

/// The key of this installation. Prints nothing of itself.
#[derive(Clone)]
pub struct SecretKey(Zeroizing<[u8; LENGTH]>);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey")
    }
}

/// A sealed value does not open: another key, another row, or damage.
#[derive(Debug, thiserror::Error)]
#[error("a sealed value does not open with this key and for this row")]
pub struct Unsealable;

impl SecretKey {
    /// A key from its bytes.
    pub fn new(bytes: [u8; LENGTH]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// A key for one other purpose, which tells nothing of this one.
    pub fn derive(&self, purpose: &str) -> [u8; LENGTH] {
        let mut derived = [0; LENGTH];
        // Fails only for outputs of more than 8160 bytes.
        let expanded = Hkdf::<Sha256>::new(None, &*self.0).expand(purpose.as_bytes(), &mut derived);
        debug_assert!(expanded.is_ok());
        derived
    }

    /// Seals `plain` for the row `id` of `table`.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn seal(&self, table: &str, id: &str, plain: &[u8]) -> crate::error::Result<Vec<u8>> {
        let mut sealed = vec![0; NONCE];
        getrandom::fill(&mut sealed).map_err(|e| crate::Error::internal(e.to_string()))?;
        let aad = aad(table, id);
        let payload = Payload {
            msg: plain,
            aad: &aad,
        };
        let text = self
            .cipher()
            .encrypt(XNonce::from_slice(&sealed), payload)
            .map_err(|e| crate::Error::internal(e.to_string()))?;
        sealed.extend(text);
        Ok(sealed)
    }

    /// Opens what [`SecretKey::seal`] made for the same row.
    ///
    /// # Errors
    /// With another key, another row, or a changed byte.
    pub fn open(
        &self,
        table: &str,
        id: &str,
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Unsealable> {
        let (nonce, text) = sealed.split_at_checked(NONCE).ok_or(Unsealable)?;
        let aad = aad(table, id);
        self.cipher()
            .decrypt(
                XNonce::from_slice(nonce),
                Payload {
                    msg: text,
                    aad: &aad,
                },
            )
            .map(Zeroizing::new)
            .map_err(|_| Unsealable)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&self.derive("secrets")).into())
    }
}

fn aad(table: &str, id: &str) -> Vec<u8> {
    [table.as_bytes(), b"\0", id.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SecretKey {
        SecretKey::new([byte; LENGTH])
    }

    #[test]
    fn a_sealed_secret_opens_for_its_own_row_only() {
        let sealed = key(1).seal("datasources", "a", b"hunter2").unwrap();
        assert_eq!(
            &*key(1).open("datasources", "a", &sealed).unwrap(),
            b"hunter2"
        );
        assert!(key(1).open("datasources", "b", &sealed).is_err());
        assert!(key(1).open("providers", "a", &sealed).is_err());
        assert!(key(2).open("datasources", "a", &sealed).is_err());
    }

    #[test]
    fn a_changed_or_cut_value_does_not_open() {
        let sealed = key(1).seal("datasources", "a", b"hunter2").unwrap();
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert!(key(1).open("datasources", "a", &changed).is_err());
            assert!(key(1).open("datasources", "a", &sealed[..index]).is_err());
        }
    }

    #[test]
    fn each_purpose_has_its_own_key() {
        assert_ne!(key(1).derive("plugin-cache"), key(1).derive("secrets"));
        assert_eq!(key(1).derive("plugin-cache"), key(1).derive("plugin-cache"));
        assert_eq!(format!("{:?}", key(1)), "SecretKey");
    }
}
