//! Encryption of secrets at rest, and proof that what is stored was written by this server.
//!
//! The secret keys are outside of the store: in a file, in the environment, or given by a command. One of them seals, the
//! others open what was sealed before it; the store says by its id which one seals. A secret is sealed with
//! XChaCha20-Poly1305 and bound to the row that holds it and to where it goes, so a sealed value that is copied to
//! another row, or whose row was changed by another hand, does not open. Other uses get keys of their own, derived
//! from these.

mod follow;
mod load;
mod settled;
mod source;
mod store;

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

pub use follow::follow;
pub use load::{Loaded, Stage};
pub use source::{KeyError, Source, overwrite, retire};
pub use store::{
    Claim, Follower, announce, announced, finish, followers, is_settled, settle, switch,
};

const NONCE: usize = 24;
const LENGTH: usize = 32;
const ID: usize = 8;

/// What sealed values begin with; the id of their key follows. Those without it were sealed before keys had ids.
const MARK: &[u8; 4] = b"mh2\0";

/// One secret key. Prints nothing of itself.
#[derive(Clone)]
pub struct SecretKey(Zeroizing<[u8; LENGTH]>);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey")
    }
}

/// What tells secret keys apart without telling anything of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyId([u8; ID]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A sealed value does not open: another key, another row or destination, or damage.
#[derive(Debug, thiserror::Error)]
#[error(
    "a sealed value does not open with the secret keys of this server, for this row and where it leads"
)]
pub struct Unsealable;

/// What a sealed value belongs to: it opens for nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Table of the row.
    pub table: &'a str,
    /// Id of the row.
    pub id: &'a str,
    /// Where the value goes, in the words of the caller.
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

    /// The key in base64, as sources have it.
    pub fn text(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(*self.0))
    }

    /// Its id.
    pub fn id(&self) -> KeyId {
        let mut id = [0; ID];
        id.copy_from_slice(&self.derive("id")[..ID]);
        KeyId(id)
    }

    /// A key for one other purpose, which tells nothing of this one.
    pub fn derive(&self, purpose: &str) -> [u8; LENGTH] {
        let mut derived = [0; LENGTH];
        // Fails only for outputs of more than 8160 bytes.
        let expanded = Hkdf::<Sha256>::new(None, &*self.0).expand(purpose.as_bytes(), &mut derived);
        debug_assert!(expanded.is_ok());
        derived
    }

    fn seal(&self, place: Place<'_>, plain: &[u8]) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(|e| Error::internal(e.to_string()))?;
        let text = self
            .cipher("sealed values")
            .encrypt(
                XNonce::from_slice(&nonce),
                Payload {
                    msg: plain,
                    aad: &place.bound(),
                },
            )
            .map_err(|e| Error::internal(e.to_string()))?;
        Ok([&MARK[..], &self.id().0, &nonce, &text].concat())
    }

    fn open(&self, cipher: &str, aad: &[u8], sealed: &[u8]) -> Result<Opened, Unsealable> {
        let (nonce, msg) = sealed.split_at_checked(NONCE).ok_or(Unsealable)?;
        self.cipher(cipher)
            .decrypt(XNonce::from_slice(nonce), Payload { msg, aad })
            .map(Zeroizing::new)
            .map_err(|_| Unsealable)
    }

    fn prove(&self, parts: &[&[u8]]) -> Result<Vec<u8>> {
        let mut mac = <Hmac<Sha256> as hmac::Mac>::new_from_slice(&self.derive("proofs"))
            .map_err(Error::internal)?;
        mac.update(&lengthened(parts));
        let code = mac.finalize().into_bytes();
        Ok([&self.id().0[..], code.as_slice()].concat())
    }

    fn cipher(&self, purpose: &str) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&self.derive(purpose)).into())
    }
}

/// A value in clear.
pub type Opened = Zeroizing<Vec<u8>>;

impl Place<'_> {
    fn bound(&self) -> Vec<u8> {
        lengthened(&[
            self.table.as_bytes(),
            self.id.as_bytes(),
            self.destination.as_bytes(),
        ])
    }
}

/// Pieces one behind the other, so that no two lists of pieces are the same bytes.
fn lengthened(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend((part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

/// The secret keys of this server. Clones are the same keys, and hear of a change together.
#[derive(Clone, Debug)]
pub struct SecretKeys(Arc<RwLock<Ring>>);

#[derive(Debug)]
struct Ring {
    /// The one that its source names first is first.
    keys: Vec<SecretKey>,
    sealing: SecretKey,
}

impl SecretKeys {
    /// Those keys, of which `sealing` seals.
    pub fn new(keys: Vec<SecretKey>, sealing: SecretKey) -> Self {
        Self(Arc::new(RwLock::new(Ring { keys, sealing })))
    }

    /// A single key.
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

    /// Id of the one that seals.
    pub fn sealing(&self) -> KeyId {
        self.current().id()
    }

    /// Has another one seal. False when it is not there.
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

    /// What the source says now. The key that seals stays, whatever the source says of it.
    pub fn replace(&self, keys: Vec<SecretKey>) {
        locks::write(&self.0).keys = keys;
    }

    /// A key for one other purpose, from the key that seals.
    pub fn derive(&self, purpose: &str) -> [u8; LENGTH] {
        self.current().derive(purpose)
    }

    /// The same from every key, that of the one that seals first.
    pub fn derive_all(&self, purpose: &str) -> Vec<[u8; LENGTH]> {
        let ring = locks::read(&self.0);
        let sealing = ring.sealing.id();
        let others = ring.keys.iter().filter(|key| key.id() != sealing);
        std::iter::once(&ring.sealing)
            .chain(others)
            .map(|key| key.derive(purpose))
            .collect()
    }

    /// Seals `plain` for a place.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn seal(&self, place: Place<'_>, plain: &[u8]) -> Result<Vec<u8>> {
        self.current().seal(place, plain)
    }

    /// Opens what was sealed for the same place.
    ///
    /// # Errors
    /// With another key, another place, or a changed byte.
    pub fn open(&self, place: Place<'_>, sealed: &[u8]) -> Result<Opened, Unsealable> {
        let (id, rest) = split(sealed).ok_or(Unsealable)?;
        let key = self.find(id).ok_or(Unsealable)?;
        key.open("sealed values", &place.bound(), rest)
    }

    /// Opens what was sealed before values were bound to where they go.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_unbound(&self, table: &str, id: &str, sealed: &[u8]) -> Result<Opened, Unsealable> {
        let aad = [table.as_bytes(), b"\0", id.as_bytes()].concat();
        let ring = locks::read(&self.0);
        let opened = ring
            .keys
            .iter()
            .find_map(|key| key.open("secrets", &aad, sealed).ok());
        opened.ok_or(Unsealable)
    }

    /// Seals as earlier versions did, for tests of what they left.
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

    /// Whether a value is bound to where it goes; see [`Self::open_unbound`].
    pub fn is_bound(sealed: &[u8]) -> bool {
        split(sealed).is_some()
    }

    /// Whether the key that seals now has sealed a value.
    pub fn is_current(&self, sealed: &[u8]) -> bool {
        split(sealed).is_some_and(|(id, _)| id == self.sealing())
    }

    /// What shows that somebody with these keys wrote those parts.
    ///
    /// # Errors
    /// None that can happen.
    pub fn prove(&self, parts: &[&[u8]]) -> Result<Vec<u8>> {
        self.current().prove(parts)
    }

    /// Whether a proof is that of those parts.
    pub fn is_proven(&self, parts: &[&[u8]], proof: &[u8]) -> bool {
        use subtle::ConstantTimeEq as _;
        let key = proof_id(proof).and_then(|id| self.find(id));
        let expected = key.and_then(|key| key.prove(parts).ok());
        expected.is_some_and(|expected| bool::from(expected.as_slice().ct_eq(proof)))
    }

    /// Whether the key that seals now has made a proof.
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
    let rest = sealed.strip_prefix(MARK)?;
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

    const PLACE: Place<'static> = Place {
        table: "datasources",
        id: "a",
        destination: "db:5432",
    };

    #[test]
    fn a_sealed_secret_opens_for_its_own_row_and_destination_only() {
        let sealed = keys(&[1]).seal(PLACE, b"hunter2").unwrap();
        assert_eq!(&*keys(&[1]).open(PLACE, &sealed).unwrap(), b"hunter2");
        for other in [
            Place { id: "b", ..PLACE },
            Place {
                table: "providers",
                ..PLACE
            },
            Place {
                destination: "evil:5432",
                ..PLACE
            },
            Place {
                id: "adb:5432",
                destination: "",
                ..PLACE
            },
        ] {
            assert!(keys(&[1]).open(other, &sealed).is_err(), "{other:?}");
        }
        assert!(keys(&[2]).open(PLACE, &sealed).is_err());
    }

    #[test]
    fn a_changed_or_cut_value_does_not_open() {
        let sealed = keys(&[1]).seal(PLACE, b"hunter2").unwrap();
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert!(keys(&[1]).open(PLACE, &changed).is_err());
            assert!(keys(&[1]).open(PLACE, &sealed[..index]).is_err());
        }
    }

    #[test]
    fn what_an_older_key_sealed_and_proved_is_good_while_that_key_is_there() {
        let (old, new) = (keys(&[1]), keys(&[2, 1]));
        let sealed = old.seal(PLACE, b"hunter2").unwrap();
        let proof = old.prove(&[b"id", b"operator"]).unwrap();
        assert!(new.open(PLACE, &sealed).is_ok() && !new.is_current(&sealed));
        assert!(new.is_proven(&[b"id", b"operator"], &proof) && !new.is_current_proof(&proof));
        assert!(keys(&[2]).open(PLACE, &sealed).is_err());
        assert!(!keys(&[2]).is_proven(&[b"id", b"operator"], &proof));
        assert!(new.seal_with(key(1).id()) && new.is_current(&sealed));
        assert!(!new.seal_with(key(3).id()));
    }

    #[test]
    fn a_proof_is_of_its_parts_alone() {
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
    fn each_purpose_has_its_own_key_and_none_is_printed() {
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
