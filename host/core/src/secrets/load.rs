//! The secret keys of a server, and their match with the store.

use super::{KeyError, SecretKey, SecretKeys, Source, check_value, store};
use mindhost_base::error::Result;
use mindhost_store::{Store, Tx};

/// The keys of a server, and the state of the store that they fit.
#[derive(Debug)]
pub struct LoadedKeys {
    /// The keys; the one that the store names seals.
    pub keys: SecretKeys,
    /// Whether the store must be upgraded first.
    pub stage: Stage,
}

/// The state of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its keys are proven and its sealed values are bound.
    Current,
    /// An earlier version wrote it: its keys have no proofs, and its sealed values are not bound to their destination.
    Unproven,
    /// It names no secret key: no server has used it yet, or its rows were written outside Mindhost. Nothing in it is
    /// proven.
    Unclaimed,
}

impl SecretKeys {
    /// The keys of a source, checked against the store. For an empty store a new key is generated if the source is a
    /// file.
    ///
    /// # Errors
    /// When the store has another key, or the source has none.
    pub async fn load(source: &Source, store: &Store) -> Result<LoadedKeys, KeyError> {
        let known = store::known(store).await?;
        let mut keys = source.read().await?;
        if keys.is_empty() && known == store::CheckValues::default() {
            keys = source.create().await?;
        }
        let loaded = fitting(source, keys, &known)?;
        let loaded = loaded.ok_or_else(|| KeyError::Missing(source.shown()))?;
        refuse_second_upgrade(source, store, loaded).await
    }

    /// Whether the keys of a source are those of the store, without a change. False when neither has one yet.
    ///
    /// # Errors
    /// As [`SecretKeys::load`].
    pub async fn verify(source: &Source, store: &Store) -> Result<bool, KeyError> {
        let known = store::known(store).await?;
        let keys = source.read().await?;
        match fitting(source, keys, &known)? {
            Some(loaded) => refuse_second_upgrade(source, store, loaded)
                .await
                .map(|_| true),
            None => Ok(false),
        }
    }
}

/// Refuses a store of an earlier version if a store was already upgraded under the same key.
async fn refuse_second_upgrade(
    source: &Source,
    store: &Store,
    loaded: LoadedKeys,
) -> Result<LoadedKeys, KeyError> {
    let key = loaded.keys.sealing();
    let Some(marker) = source
        .upgrade_marker(key)
        .filter(|_| loaded.stage == Stage::Unproven)
    else {
        return Ok(loaded);
    };
    // Another process may be upgrading it now; it writes the store before the marker.
    let known = store::known(store).await?;
    match fitting(source, source.read().await?, &known)? {
        Some(loaded) if loaded.stage == Stage::Current => Ok(loaded),
        _ => Err(KeyError::AlreadyUpgraded { key, marker }),
    }
}

fn fitting(
    source: &Source,
    keys: Vec<SecretKey>,
    known: &store::CheckValues,
) -> Result<Option<LoadedKeys>, KeyError> {
    let mismatch = |wanted| KeyError::Mismatch {
        place: source.shown(),
        wanted,
    };
    let (sealing, stage) = match known {
        store::CheckValues {
            check: Some(check), ..
        } => {
            let wanted = check_value::claimed_key(check);
            let key = keys.iter().find(|key| Some(key.id()) == wanted).cloned();
            let opens = |key: &SecretKey| {
                let keys = SecretKeys::single(key.clone());
                check_value::sealing_key(&keys, check).is_some()
            };
            let key = key.filter(opens);
            (key.ok_or_else(|| mismatch(wanted))?, Stage::Current)
        }
        store::CheckValues {
            unbound: Some(check),
            ..
        } => {
            let opens = |key: &&SecretKey| check_value::opens_unbound(key, check);
            let key = keys.iter().find(opens).cloned();
            (key.ok_or_else(|| mismatch(None))?, Stage::Unproven)
        }
        store::CheckValues { .. } => match keys.first().cloned() {
            Some(first) => (first, Stage::Unclaimed),
            None => return Ok(None),
        },
    };
    let keys = SecretKeys::new(keys, sealing);
    Ok(Some(LoadedKeys { keys, stage }))
}

/// Marks in the store that its keys are proven and its values bound under these keys. False when it was marked already.
///
/// # Errors
/// When the store fails.
pub async fn mark_upgraded(tx: &mut Tx, keys: &SecretKeys) -> Result<bool> {
    let check = check_value::seal(keys)?;
    if !store::add(tx, check_value::NAME, &check).await? {
        return Ok(false);
    }
    store::remove(tx, check_value::UNBOUND_NAME).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_base::error::Error;
    use std::{fs, os::unix::fs::PermissionsExt};

    async fn load(path: &std::path::Path, store: &Store) -> Result<LoadedKeys, KeyError> {
        let source = Source::at(path);
        let loaded = SecretKeys::load(&source, store).await?;
        let mut tx = store.begin().await?;
        mark_upgraded(&mut tx, &loaded.keys).await?;
        tx.commit().await.map_err(Error::from)?;
        Ok(loaded)
    }

    #[tokio::test]
    async fn first_start_creates_a_private_key_file() {
        let (dir, store, _) = mindhost_store::testing::temporary().await;
        let path = dir.path().join("keys/secrets.key");
        let made = load(&path, &store).await.unwrap();
        assert_eq!(made.stage, Stage::Unclaimed);
        let taken = load(&path, &store).await.unwrap();
        assert_eq!(taken.stage, Stage::Current);
        assert_eq!(made.keys.derive("x"), taken.keys.derive("x"));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(path.parent().unwrap().read_dir().unwrap().count(), 1);
    }

    #[tokio::test]
    async fn store_refuses_another_key() {
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
    async fn store_without_check_value_is_not_upgraded() {
        let (dir, store, _) = mindhost_store::testing::temporary().await;
        let path = dir.path().join("secrets.key");
        load(&path, &store).await.unwrap();
        let forget = sqlx::query("DELETE FROM host_facts");
        store.change(forget).await.unwrap();
        let loaded = SecretKeys::load(&Source::at(&path), &store).await.unwrap();
        assert_eq!(loaded.stage, Stage::Unclaimed);
    }
}
