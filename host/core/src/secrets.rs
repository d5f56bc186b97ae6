//! Encryption of secrets at rest, and proof that a row was written by this server.
//!
//! The secret keys are outside of the store: in a file, in the environment, or printed by a command. One of them seals;
//! the others open older values. The store has the id of the key that seals. A secret is sealed with XChaCha20-Poly1305
//! and bound to its row and its destination, so a sealed value does not open after it was copied to another row, or
//! after its row was modified outside Mindhost. For other purposes, keys are derived from these.

mod check_value;
mod load;
mod source;
mod store;
mod upgrade_marker;
mod watch;

use std::{
    fmt,
    sync::{Arc, RwLock},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead, KeyInit, Payload},
};
use hkdf::Hkdf;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use mindhost_base::{
    error::{Error, Result},
    locks,
};

pub use load::{LoadedKeys, Stage, mark_upgraded};
pub use source::{KeyError, Source, overwrite, retire};
pub use store::{
    KeyHost, RotationLease, announce, announced, finish, is_upgraded, key_hosts, switch,
};
pub use watch::watch;

const NONCE: usize = 24;
const LENGTH: usize = 32;
const ID: usize = 8;

/// Sealed values start with this and the id of their key. Values without it were sealed before keys had ids.
const MAGIC: &[u8; 4] = b"mh2\0";

/// One secret key. `Debug` does not show it.
#[derive(Clone)]
pub struct SecretKey(Zeroizing<[u8; LENGTH]>);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey")
    }
}

/// Identifies a secret key without revealing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyId([u8; ID]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A sealed value does not open: the key, the row or the destination differs, or the value is damaged.
#[derive(Debug, thiserror::Error)]
#[error(
    "a sealed value does not open with the secret keys of this server for this row and destination"
)]
pub struct Unsealable;

/// The row and destination that a sealed value is bound to. It opens for nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// Table of the store that has the row.
    pub table: &'a str,
    /// Id of the row in that table.
    pub id: &'a str,
    /// Where the value goes, in a form that the caller defines.
    pub destination: &'a str,
}

impl SecretKey {
    /// A key from its bytes.
    pub fn new(bytes: [u8; LENGTH]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// A new key.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn generate() -> Result<Self> {
        let mut bytes = Zeroizing::new([0; LENGTH]);
        getrandom::fill(&mut *bytes).map_err(|e| Error::internal(e.to_string()))?;
        Ok(Self(bytes))
    }

    /// The key in base64, the form that sources have.
    pub fn text(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(*self.0))
    }

    /// Derived from the key, and reveals nothing of it. Marks what the key sealed.
    pub fn id(&self) -> KeyId {
        let mut id = [0; ID];
        id.copy_from_slice(&self.derive("id")[..ID]);
        KeyId(id)
    }

    /// A key for one purpose, which reveals nothing of this one.
    pub fn derive(&self, purpose: &str) -> [u8; LENGTH] {
        let mut derived = [0; LENGTH];
        // Fails only for outputs of more than 8160 bytes.
        let expanded = Hkdf::<Sha256>::new(None, &*self.0).expand(purpose.as_bytes(), &mut derived);
        debug_assert!(expanded.is_ok());
        derived
    }

    fn seal(&self, binding: Binding<'_>, plain: &[u8]) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(|e| Error::internal(e.to_string()))?;
        let text = self
            .cipher("sealed values")
            .encrypt(
                XNonce::from_slice(&nonce),
                Payload {
                    msg: plain,
                    aad: &binding.associated_data(),
                },
            )
            .map_err(|e| Error::internal(e.to_string()))?;
        Ok([&MAGIC[..], &self.id().0, &nonce, &text].concat())
    }

    fn open(&self, cipher: &str, aad: &[u8], sealed: &[u8]) -> Result<OpenedSecret, Unsealable> {
        let (nonce, msg) = sealed.split_at_checked(NONCE).ok_or(Unsealable)?;
        self.cipher(cipher)
            .decrypt(XNonce::from_slice(nonce), Payload { msg, aad })
            .map(Zeroizing::new)
            .map_err(|_| Unsealable)
    }

    fn prove(&self, parts: &[&[u8]]) -> Result<Vec<u8>> {
        let mut mac = <Hmac<Sha256> as hmac::Mac>::new_from_slice(&self.derive("proofs"))
            .map_err(Error::internal)?;
        mac.update(&length_prefixed(parts));
        let code = mac.finalize().into_bytes();
        Ok([&self.id().0[..], code.as_slice()].concat())
    }

    fn cipher(&self, purpose: &str) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&self.derive(purpose)).into())
    }
}

/// The plain bytes of a sealed value. They are overwritten when dropped.
pub type OpenedSecret = Zeroizing<Vec<u8>>;

impl Binding<'_> {
    fn associated_data(&self) -> Vec<u8> {
        length_prefixed(&[
            self.table.as_bytes(),
            self.id.as_bytes(),
            self.destination.as_bytes(),
        ])
    }
}

/// The parts with their lengths, so that different lists of parts never give the same bytes.
fn length_prefixed(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend((part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

/// The secret keys of this server. Clones share them, so all see a change.
#[derive(Clone, Debug)]
pub struct SecretKeys(Arc<RwLock<Ring>>);

#[derive(Debug)]
struct Ring {
    /// In the order of their source.
    keys: Vec<SecretKey>,
    sealing: SecretKey,
}

impl SecretKeys {
    /// Those keys, of which `sealing` seals.
    pub fn new(keys: Vec<SecretKey>, sealing: SecretKey) -> Self {
        Self(Arc::new(RwLock::new(Ring { keys, sealing })))
    }

    /// One key that seals and opens.
    pub fn single(key: SecretKey) -> Self {
        Self::new(vec![key.clone()], key)
    }

    /// Ids of all of them, in the order of their source.
    pub fn ids(&self) -> Vec<KeyId> {
        locks::read(&self.0)
            .keys
            .iter()
            .map(SecretKey::id)
            .collect()
    }

    /// The id of the key that seals.
    pub fn sealing(&self) -> KeyId {
        self.current().id()
    }

    /// Seals with another key from now on. False when there is no such key.
    pub fn seal_with(&self, id: KeyId) -> bool {
        let mut ring = locks::write(&self.0);
        match ring.keys.iter().find(|key| key.id() == id).cloned() {
            Some(key) => {
                ring.sealing = key;
                true
            }
            None => false,
        }
    }

    /// Replaces the keys by those that the source has now. The key that seals does not change.
    pub fn replace(&self, keys: Vec<SecretKey>) {
        locks::write(&self.0).keys = keys;
    }

    /// A key for one purpose, derived from the key that seals.
    pub fn derive(&self, purpose: &str) -> [u8; LENGTH] {
        self.current().derive(purpose)
    }

    /// As [`Self::derive`], from every key. The key that seals comes first.
    pub fn derive_all(&self, purpose: &str) -> Vec<[u8; LENGTH]> {
        let ring = locks::read(&self.0);
        let sealing = ring.sealing.id();
        let others = ring.keys.iter().filter(|key| key.id() != sealing);
        std::iter::once(&ring.sealing)
            .chain(others)
            .map(|key| key.derive(purpose))
            .collect()
    }

    /// Seals `plain` for a row and destination.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn seal(&self, binding: Binding<'_>, plain: &[u8]) -> Result<Vec<u8>> {
        self.current().seal(binding, plain)
    }

    /// Opens a value that was sealed for the same row and destination.
    ///
    /// # Errors
    /// With another key or binding, or when a byte was changed.
    pub fn open(&self, binding: Binding<'_>, sealed: &[u8]) -> Result<OpenedSecret, Unsealable> {
        let (id, rest) = split(sealed).ok_or(Unsealable)?;
        let key = self.find(id).ok_or(Unsealable)?;
        key.open("sealed values", &binding.associated_data(), rest)
    }

    /// Opens a value that was sealed before values were bound to their destination.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_unbound(
        &self,
        table: &str,
        id: &str,
        sealed: &[u8],
    ) -> Result<OpenedSecret, Unsealable> {
        let aad = [table.as_bytes(), b"\0", id.as_bytes()].concat();
        let ring = locks::read(&self.0);
        let opened = ring
            .keys
            .iter()
            .find_map(|key| key.open("secrets", &aad, sealed).ok());
        opened.ok_or(Unsealable)
    }

    /// Seals as earlier versions did.
    #[cfg(test)]
    pub fn seal_unbound(&self, table: &str, id: &str, plain: &[u8]) -> Vec<u8> {
        let aad = [table.as_bytes(), b"\0", id.as_bytes()].concat();
        let payload = Payload {
            msg: plain,
            aad: &aad,
        };
        let nonce = [7; NONCE];
        let cipher = self.current().cipher("secrets");
        let text = cipher.encrypt(XNonce::from_slice(&nonce), payload).unwrap();
        [&nonce[..], &text].concat()
    }

    /// Whether a value is bound to its destination; see [`Self::open_unbound`].
    pub fn is_bound(sealed: &[u8]) -> bool {
        split(sealed).is_some()
    }

    /// Whether a value was sealed with the current key.
    pub fn is_current(&self, sealed: &[u8]) -> bool {
        split(sealed).is_some_and(|(id, _)| id == self.sealing())
    }

    /// A proof (HMAC) that a holder of these keys wrote those parts.
    ///
    /// # Errors
    /// Never: HMAC accepts keys of any length.
    pub fn prove(&self, parts: &[&[u8]]) -> Result<Vec<u8>> {
        self.current().prove(parts)
    }

    /// Whether a proof is valid for those parts.
    pub fn is_proven(&self, parts: &[&[u8]], proof: &[u8]) -> bool {
        use subtle::ConstantTimeEq as _;
        let key = proof_id(proof).and_then(|id| self.find(id));
        let expected = key.and_then(|key| key.prove(parts).ok());
        expected.is_some_and(|expected| bool::from(expected.as_slice().ct_eq(proof)))
    }

    /// Whether a proof was made with the current key.
    pub fn is_current_proof(&self, proof: &[u8]) -> bool {
        proof_id(proof) == Some(self.sealing())
    }

    fn current(&self) -> SecretKey {
        locks::read(&self.0).sealing.clone()
    }

    fn find(&self, id: KeyId) -> Option<SecretKey> {
        let ring = locks::read(&self.0);
        let mut keys = std::iter::once(&ring.sealing).chain(&ring.keys);
        keys.find(|key| key.id() == id).cloned()
    }
}

/// The id of a sealed value's key, and the rest.
fn split(sealed: &[u8]) -> Option<(KeyId, &[u8])> {
    let rest = sealed.strip_prefix(MAGIC)?;
    let (id, rest) = rest.split_first_chunk::<ID>()?;
    Some((KeyId(*id), rest))
}

fn proof_id(proof: &[u8]) -> Option<KeyId> {
    proof.first_chunk::<ID>().map(|id| KeyId(*id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SecretKey {
        SecretKey::new([byte; LENGTH])
    }

    fn keys(bytes: &[u8]) -> SecretKeys {
        SecretKeys::new(bytes.iter().map(|byte| key(*byte)).collect(), key(bytes[0]))
    }

    const BINDING: Binding<'static> = Binding {
        table: "datasources",
        id: "a",
        destination: "db:5432",
    };

    #[test]
    fn sealed_value_opens_for_its_binding_only() {
        let sealed = keys(&[1]).seal(BINDING, b"hunter2").unwrap();
        assert_eq!(&*keys(&[1]).open(BINDING, &sealed).unwrap(), b"hunter2");
        for other in [
            Binding { id: "b", ..BINDING },
            Binding {
                table: "providers",
                ..BINDING
            },
            Binding {
                destination: "evil:5432",
                ..BINDING
            },
            Binding {
                id: "adb:5432",
                destination: "",
                ..BINDING
            },
        ] {
            assert!(keys(&[1]).open(other, &sealed).is_err(), "{other:?}");
        }
        assert!(keys(&[2]).open(BINDING, &sealed).is_err());
    }

    #[test]
    fn changed_or_truncated_value_does_not_open() {
        let sealed = keys(&[1]).seal(BINDING, b"hunter2").unwrap();
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert!(keys(&[1]).open(BINDING, &changed).is_err());
            assert!(keys(&[1]).open(BINDING, &sealed[..index]).is_err());
        }
    }

    #[test]
    fn older_key_opens_and_verifies_while_present() {
        let (old, new) = (keys(&[1]), keys(&[2, 1]));
        let sealed = old.seal(BINDING, b"hunter2").unwrap();
        let proof = old.prove(&[b"id", b"operator"]).unwrap();
        assert!(new.open(BINDING, &sealed).is_ok() && !new.is_current(&sealed));
        assert!(new.is_proven(&[b"id", b"operator"], &proof) && !new.is_current_proof(&proof));
        assert!(keys(&[2]).open(BINDING, &sealed).is_err());
        assert!(!keys(&[2]).is_proven(&[b"id", b"operator"], &proof));
        assert!(new.seal_with(key(1).id()) && new.is_current(&sealed));
        assert!(!new.seal_with(key(3).id()));
    }

    #[test]
    fn proof_is_valid_for_its_parts_only() {
        let keys = keys(&[1]);
        let proof = keys.prove(&[b"id", b"user"]).unwrap();
        assert!(keys.is_proven(&[b"id", b"user"], &proof));
        for parts in [
            &[&b"id"[..], b"operator"][..],
            &[b"idu", b"ser"],
            &[b"id"],
            &[],
        ] {
            assert!(!keys.is_proven(parts, &proof));
        }
        for proof in [&b""[..], b"1234567", &proof[..20]] {
            assert!(!keys.is_proven(&[b"id", b"user"], proof));
        }
    }

    #[test]
    fn purposes_have_own_keys_and_debug_shows_none() {
        assert_ne!(key(1).derive("plugin-cache"), key(1).derive("secrets"));
        assert_eq!(key(1).derive("plugin-cache"), key(1).derive("plugin-cache"));
        assert_eq!(format!("{:?}", key(1)), "SecretKey");
        assert_eq!(key(1).id().to_string().len(), 2 * ID);
        assert_eq!(
            keys(&[1, 2]).derive_all("x"),
            [key(1).derive("x"), key(2).derive("x")]
        );
    }
}
