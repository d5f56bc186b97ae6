//! Which document of a catalogue is accepted: signed by its key, not over, and not older than one that was seen.

use std::{
    fs::{self, File},
    io::{self, Cursor, Write as _},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use minisign::{PublicKey, PublicKeyBox, SignatureBox};
use serde::{Deserialize, Serialize};

use super::document::{Catalogue, MAX_BYTES};
use crate::signatures::key_id;
use mindhost_runtime::package::{Refusal, digest, is_name, read_file};

/// Bytes of a note about what was seen.
const MAX_NOTE: u64 = 4 << 10;

/// A catalogue that an operator trusts: its name, and the key that must have signed it.
#[derive(Clone, Debug)]
pub struct Pin {
    name: String,
    key: PublicKey,
}

impl Pin {
    /// # Errors
    /// When the name or the key is malformed.
    pub fn new(name: &str, text: &str) -> Result<Self, String> {
        if !is_name(name) {
            return Err(format!(
                "plugins.catalogues: `{}` cannot be the name of a catalogue; use lower-case letters, digits and `-`",
                name.escape_debug().take(64).collect::<String>()
            ));
        }
        let key = key(text).ok_or_else(|| {
            format!("plugins.catalogues: the `key` of `{name}` is not a public key of minisign; `mindhost plugin keygen` creates a pair")
        })?;
        Ok(Self {
            name: name.to_owned(),
            key,
        })
    }

    /// The catalogue of these bytes, if this key signed them under this name. Nothing is parsed before that.
    ///
    /// # Errors
    /// What is wrong with the document or its signature.
    pub fn verify(&self, bytes: &[u8], signature: &str) -> Result<Catalogue, Refusal> {
        let id = key_id(self.key.keynum());
        let signature = SignatureBox::from_string(signature)
            .map_err(|_| Refusal::new("has a signature that is not in the format of minisign"))?;
        minisign::verify(
            &self.key,
            &signature,
            Cursor::new(bytes),
            true,
            false,
            false,
        )
        .map_err(|_| {
            Refusal::new(format!(
                "is not signed by the key {id}, which the settings pin for it"
            ))
        })?;
        let catalogue = Catalogue::parse(bytes)?;
        match catalogue.name == self.name {
            true => Ok(catalogue),
            false => Err(Refusal::new(format!(
                "is the catalogue `{}` of the key {id}, and not `{}`",
                catalogue.name, self.name
            ))),
        }
    }
}

/// A public key as text, with or without the comment line.
pub fn key(text: &str) -> Option<PublicKey> {
    let text = text.trim();
    let boxed = || PublicKeyBox::from_string(text).ok()?.into_public_key().ok();
    PublicKey::from_base64(text).ok().or_else(boxed)
}

/// What was seen of each catalogue, in a directory of this installation.
#[derive(Clone, Debug)]
pub struct SeenCatalogues {
    dir: PathBuf,
}

/// The newest document of a catalogue that was accepted.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LastDocument {
    sequence: u64,
    /// SHA-256 of the document, in hex.
    digest: String,
}

impl SeenCatalogues {
    /// Notes are kept in this directory, which is made when it is needed.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Accepts a document and remembers it: signed by the pinned key, of the pinned name, not over at `now`, and not
    /// older than one that was accepted before.
    ///
    /// # Errors
    /// Why it is not accepted, or why it could not be remembered.
    pub fn admit(
        &self,
        pin: &Pin,
        bytes: &[u8],
        signature: &str,
        now: Timestamp,
    ) -> Result<Catalogue, Refusal> {
        let catalogue = pin.verify(bytes, signature)?;
        if now >= catalogue.expires_at {
            return Err(Refusal::new(format!(
                "ended at {}; its owner must sign a newer one, or somebody holds the newer one back",
                catalogue.expires_at
            )));
        }
        let unkept = |error: io::Error| {
            Refusal::new(format!(
                "cannot be compared with what was seen: {}: {error}",
                self.dir.display()
            ))
        };
        fs::create_dir_all(&self.dir).map_err(unkept)?;
        // Two commands at a time: the later one compares with what the earlier one has seen.
        let lock = File::create(self.dir.join("lock")).map_err(unkept)?;
        lock.lock().map_err(unkept)?;
        let note = self
            .dir
            .join(format!("{}-{}.json", pin.name, key_id(pin.key.keynum())));
        let seen = read(&note).map_err(unkept)?;
        let new = LastDocument {
            sequence: catalogue.sequence,
            digest: digest(bytes),
        };
        new.may_follow(&seen)?;
        if new != seen {
            write(&note, &new).map_err(unkept)?;
        }
        Ok(catalogue)
    }
}

impl LastDocument {
    fn may_follow(&self, seen: &Self) -> Result<(), Refusal> {
        let (new, old) = (self.sequence, seen.sequence);
        if new < old {
            return Err(Refusal::new(format!(
                "is number {new}, and number {old} was seen here before: somebody serves an old one"
            )));
        }
        match new == old && !seen.digest.is_empty() && self.digest != seen.digest {
            false => Ok(()),
            true => Err(Refusal::new(format!(
                "is another document of the number {new} than the one that was seen before; its owner must raise the number"
            ))),
        }
    }
}

fn read(note: &Path) -> io::Result<LastDocument> {
    if !note.exists() {
        return Ok(LastDocument::default());
    }
    let bytes = read_file(note, MAX_NOTE).map_err(|error| io::Error::other(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(io::Error::other)
}

/// Writes beside the old note and renames, so that a crash leaves one of both.
fn write(note: &Path, seen: &LastDocument) -> io::Result<()> {
    let half = note.with_extension("half");
    let mut file = File::create(&half)?;
    file.write_all(&serde_json::to_vec(seen).map_err(io::Error::other)?)?;
    file.sync_all()?;
    fs::rename(half, note)
}

/// The largest document is read whole.
const _: () = assert!(MAX_BYTES < usize::MAX as u64);

#[cfg(test)]
mod tests {
    use minisign::KeyPair;
    use serde_json::{Value, json};

    use super::*;

    fn document(sequence: u64) -> Value {
        json!({
            "form": 1, "name": "ours", "sequence": sequence,
            "made_at": "2026-01-01T00:00:00Z", "expires_at": "2026-03-01T00:00:00Z",
            "plugins": [{
                "name": "connector-x", "title": "X", "kind": "connector", "engines": ["x"],
                "versions": [
                    {"version": "1.0.0", "digest": "0".repeat(64), "size": 1, "source": "x.wasm"},
                    {"version": "1.1.0", "digest": "1".repeat(64), "size": 1, "source": "x.wasm", "withdrawn": "leaks"},
                    {"version": "2.0.0-rc.1", "digest": "2".repeat(64), "size": 1, "source": "x.wasm"},
                ],
            }],
        })
    }

    fn signed(by: &KeyPair, document: &Value) -> (Vec<u8>, String) {
        let bytes = document.to_string().into_bytes();
        let signature = minisign::sign(Some(&by.pk), &by.sk, Cursor::new(&bytes), None, None);
        (bytes, signature.unwrap().into_string())
    }

    struct Reader {
        key: KeyPair,
        dir: tempfile::TempDir,
    }

    impl Reader {
        fn new() -> Self {
            Self {
                key: KeyPair::generate_unencrypted_keypair().unwrap(),
                dir: tempfile::tempdir().unwrap(),
            }
        }

        fn admit(&self, by: &KeyPair, document: &Value, now: &str) -> Result<Catalogue, String> {
            let (bytes, signature) = signed(by, document);
            let pin = Pin::new("ours", &self.key.pk.to_base64()).unwrap();
            let shelf = SeenCatalogues::new(self.dir.path().join("catalogues"));
            let admitted = shelf.admit(&pin, &bytes, &signature, now.parse().unwrap());
            admitted.map_err(|refusal| refusal.to_string())
        }
    }

    const NOW: &str = "2026-02-01T00:00:00Z";

    #[test]
    fn an_older_catalogue_is_refused_after_a_newer_one() {
        let reader = Reader::new();
        let key = &reader.key;
        assert!(reader.admit(key, &document(2), NOW).is_ok());
        assert!(
            reader.admit(key, &document(2), NOW).is_ok(),
            "the same again"
        );
        assert!(reader.admit(key, &document(3), NOW).is_ok());
        let old = reader.admit(key, &document(2), NOW).unwrap_err();
        assert!(old.contains("number 3 was seen"), "{old}");
        let mut other = document(3);
        other["plugins"] = json!([]);
        let other = reader.admit(key, &other, NOW).unwrap_err();
        assert!(
            other.contains("another document of the number 3"),
            "{other}"
        );
    }

    #[test]
    fn only_the_pinned_key_counts_and_only_under_its_name() {
        let reader = Reader::new();
        let stranger = KeyPair::generate_unencrypted_keypair().unwrap();
        let refused = reader.admit(&stranger, &document(9), NOW).unwrap_err();
        assert!(refused.contains("is not signed by the key"), "{refused}");
        // It was not remembered either.
        assert!(reader.admit(&reader.key, &document(1), NOW).is_ok());
        let mut other = document(2);
        other["name"] = json!("theirs");
        let other = reader.admit(&reader.key, &other, NOW).unwrap_err();
        assert!(other.contains("`theirs`"), "{other}");
        let over = reader.admit(&reader.key, &document(2), "2026-03-01T00:00:00Z");
        assert!(over.unwrap_err().contains("ended at"));
    }

    #[test]
    fn malformed_entries_are_refused() {
        let reader = Reader::new();
        for (pointer, value, words) in [
            ("/form", json!(2), "form 2"),
            ("/expires_at", json!("2036-01-01T00:00:00Z"), "400 days"),
            ("/plugins/0/name", json!("../x"), "entry `../x`"),
            ("/plugins/0/title", json!("\u{1b}[2J"), "entry"),
            ("/plugins/0/versions/0/digest", json!("00"), "entry"),
            ("/plugins/0/versions/0/version", json!("1.1.0"), "entry"),
            ("/plugins/0/kind", json!("virus"), "is no catalogue"),
        ] {
            let mut document = document(1);
            *document.pointer_mut(pointer).unwrap() = value;
            let refused = reader.admit(&reader.key, &document, NOW).unwrap_err();
            assert!(refused.contains(words), "{pointer}: {refused}");
        }
    }

    #[test]
    fn a_bare_name_means_the_highest_release_that_was_not_withdrawn() {
        let reader = Reader::new();
        let catalogue = reader.admit(&reader.key, &document(1), NOW).unwrap();
        let listing = catalogue.listing("connector-x").unwrap();
        assert_eq!(listing.version(None).unwrap().version, "1.0.0");
        assert_eq!(
            listing.version(Some("2.0.0-rc.1")).unwrap().digest,
            "2".repeat(64)
        );
        assert!(listing.version(Some("3.0.0")).is_none());
    }
}
