//! The secret keys of a server, and their match with the store.

use super::{KeyError, KeyId, Place, SecretKey, SecretKeys, Source, store};
use mindhost_base::error::Result;
use mindhost_store::{Store, Tx};

const CHECK: &[u8] = b"mindhost";
const PLACE: Place<'static> = Place {
    table: "host_facts",
    id: store::KEY,
    destination: "",
};

/// The keys of a server, and what the store makes of them.
#[derive(Debug)]
pub struct Loaded {
    /// The keys; the one that the store names seals.
    pub keys: SecretKeys,
    /// Whether the store must be brought up to them first.
    pub stage: Stage,
}

/// How far a store has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// What it holds is proven and bound.
    Current,
    /// Keys have no proofs yet, and sealed values are not bound to where they go: an earlier version wrote it.
    Unproven,
    /// It names no secret key. No server has used it yet, or another hand wrote whatever it has: nothing of it is proven.
    Strange,
}

impl SecretKeys {
    /// The keys of a source, proven to be the store's. An empty store gets a new key where the source is a file.
    ///
    /// # Errors
    /// A store that knows a key refuses every other one, and a missing file too.
    pub async fn load(source: &Source, store: &Store) -> Result<Loaded, KeyError> {
        let known = store::known(store).await?;
        let mut keys = source.read().await?;
        if keys.is_empty() && known == Known::default() {
            keys = source.create().await?;
        }
        let loaded = fitting(source, keys, &known)?;
        let loaded = loaded.ok_or_else(|| KeyError::Missing(source.shown()))?;
        taken_over_once(source, store, loaded).await
    }

    /// Whether the keys of a source are the store's. False when neither of them has one yet. Changes nothing.
    ///
    /// # Errors
    /// As [`SecretKeys::load`].
    pub async fn verify(source: &Source, store: &Store) -> Result<bool, KeyError> {
        let known = store::known(store).await?;
        let keys = source.read().await?;
        match fitting(source, keys, &known)? {
            Some(loaded) => taken_over_once(source, store, loaded).await.map(|_| true),
            None => Ok(false),
        }
    }
}

/// Refuses a store that looks as an earlier version left it, when one was taken over under the same key before.
async fn taken_over_once(
    source: &Source,
    store: &Store,
    loaded: Loaded,
) -> Result<Loaded, KeyError> {
    let key = loaded.keys.sealing();
    let Some(note) = source.note(key).filter(|_| loaded.stage == Stage::Unproven) else {
        return Ok(loaded);
    };
    // Another process may have done it at this moment; it writes the store before the note.
    let known = store::known(store).await?;
    match fitting(source, source.read().await?, &known)? {
        Some(loaded) if loaded.stage == Stage::Current => Ok(loaded),
        _ => Err(KeyError::Settled { key, note }),
    }
}

/// What a store says of its secret key.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// A value that the key that seals has sealed.
    pub check: Option<Vec<u8>>,
    /// The same of an earlier version.
    pub unbound: Option<Vec<u8>>,
}

fn fitting(
    source: &Source,
    keys: Vec<SecretKey>,
    known: &Known,
) -> Result<Option<Loaded>, KeyError> {
    let mismatch = |wanted| KeyError::Mismatch {
        place: source.shown(),
        wanted,
    };
    let (sealing, stage) = match known {
        Known {
            check: Some(check), ..
        } => {
            let wanted = super::split(check).map(|(id, _)| id);
            let key = keys.iter().find(|key| Some(key.id()) == wanted).cloned();
            let key = key.filter(|key| opens(key, check));
            (key.ok_or_else(|| mismatch(wanted))?, Stage::Current)
        }
        Known {
            unbound: Some(check),
            ..
        } => {
            let opens = |key: &&SecretKey| {
                let single = SecretKeys::single((*key).clone());
                single
                    .open_unbound(PLACE_UNBOUND.0, PLACE_UNBOUND.1, check)
                    .is_ok()
            };
            let key = keys.iter().find(opens).cloned();
            (key.ok_or_else(|| mismatch(None))?, Stage::Unproven)
        }
        Known { .. } => match keys.first().cloned() {
            Some(first) => (first, Stage::Strange),
            None => return Ok(None),
        },
    };
    let keys = SecretKeys::new(keys, sealing);
    Ok(Some(Loaded { keys, stage }))
}

/// Table and id for which an earlier version sealed its check.
const PLACE_UNBOUND: (&str, &str) = ("host_facts", store::UNBOUND);

fn opens(key: &SecretKey, check: &[u8]) -> bool {
    let opened = SecretKeys::single(key.clone()).open(PLACE, check);
    opened.is_ok_and(|plain| plain.as_slice() == CHECK)
}

/// Whether the key that a check names has really sealed it.
pub(super) fn names(keys: &SecretKeys, check: &[u8]) -> Option<KeyId> {
    let (id, _) = super::split(check)?;
    let opened = keys.open(PLACE, check).ok()?;
    (opened.as_slice() == CHECK).then_some(id)
}

/// What the store is to say of the key that seals now.
pub(super) fn check(keys: &SecretKeys) -> Result<Vec<u8>> {
    keys.seal(PLACE, CHECK)
}

/// Notes in a store that what it holds is proven and bound under these keys. False when it was so already.
pub(super) async fn settle(tx: &mut Tx, keys: &SecretKeys) -> Result<bool> {
    let check = check(keys)?;
    if !store::add(tx, store::KEY, &check).await? {
        return Ok(false);
    }
    store::remove(tx, store::UNBOUND).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_base::error::Error;
    use std::{fs, os::unix::fs::PermissionsExt};

    async fn load(path: &std::path::Path, store: &Store) -> Result<Loaded, KeyError> {
        let source = Source::at(path);
        let loaded = SecretKeys::load(&source, store).await?;
        let mut tx = store.begin().await?;
        settle(&mut tx, &loaded.keys).await?;
        tx.commit().await.map_err(Error::from)?;
        Ok(loaded)
    }

    #[tokio::test]
    async fn the_first_start_makes_a_private_key_and_later_ones_take_it() {
        let (dir, store, _) = mindhost_store::testing::temporary().await;
        let path = dir.path().join("keys/secrets.key");
        let made = load(&path, &store).await.unwrap();
        assert_eq!(made.stage, Stage::Strange);
        let taken = load(&path, &store).await.unwrap();
        assert_eq!(taken.stage, Stage::Current);
        assert_eq!(made.keys.derive("x"), taken.keys.derive("x"));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(path.parent().unwrap().read_dir().unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_store_refuses_every_other_key() {
        let (dir, store, _) = mindhost_store::testing::temporary().await;
        let path = dir.path().join("secrets.key");
        load(&path, &store).await.unwrap();

        fs::remove_file(&path).unwrap();
        let missing = load(&path, &store).await.unwrap_err();
        assert!(matches!(missing, KeyError::Mismatch { .. }), "{missing}");
        assert!(!path.exists(), "a lost key must not be replaced silently");

        fs::write(&path, SecretKey::new([9; 32]).text().as_bytes()).unwrap();
        let other = load(&path, &store).await.unwrap_err();
        assert!(matches!(other, KeyError::Mismatch { .. }), "{other}");

        fs::write(&path, "not a key").unwrap();
        let malformed = load(&path, &store).await.unwrap_err();
        assert!(matches!(malformed, KeyError::Malformed(_)), "{malformed}");
    }

    #[tokio::test]
    async fn a_store_that_lost_its_check_is_not_taken_for_an_old_one() {
        let (dir, store, _) = mindhost_store::testing::temporary().await;
        let path = dir.path().join("secrets.key");
        load(&path, &store).await.unwrap();
        let forget = sqlx::query("DELETE FROM host_facts");
        store.change(forget).await.unwrap();
        let loaded = SecretKeys::load(&Source::at(&path), &store).await.unwrap();
        assert_eq!(loaded.stage, Stage::Strange);
    }
}
