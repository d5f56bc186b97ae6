//! Brings what the store holds under the secret key that seals now: once, when an earlier version of the program wrote it,
//! and whenever the secret key changes.
//!
//! A change of the key goes on beside servers that serve. The new key must be in the source of each of them before any
//! seals with it, so the store first says which key comes next, and waits until every server has it; then it says that
//! this one seals, and waits until every server does so; then what older keys sealed is sealed anew, row by row. Whatever
//! breaks off in between leaves a store that every server can read, and the same command goes on from there.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::{
    auth, datasources,
    error::{Code, Error, Result},
    providers,
    secrets::{self, Follower, KeyError, KeyId, SecretKey, SecretKeys, Source, Stage},
    store::Store,
};

/// How often the servers are looked at.
const LOOK: Duration = Duration::from_millis(500);

/// The secret keys of this server, and a store that they fit.
///
/// # Errors
/// When the keys are not those of the store.
pub async fn open(source: &Source, store: &Store) -> Result<SecretKeys, KeyError> {
    let loaded = SecretKeys::load(source, store).await?;
    if loaded.stage == Stage::Current {
        return Ok(loaded.keys);
    }
    settle(store, &loaded.keys, loaded.stage).await?;
    // Another host may have done the same at the same moment, with another key; what the store says now counts.
    let loaded = SecretKeys::load(source, store).await?;
    match loaded.stage {
        Stage::Current => Ok(loaded.keys),
        Stage::Unproven | Stage::Strange => {
            Err(Error::internal("the store forgot its secret key at once").into())
        }
    }
}

/// Binds sealed values to where they go and proves the keys, once in the life of a store: from then on a row without a
/// proof is one that another hand wrote.
async fn settle(store: &Store, keys: &SecretKeys, stage: Stage) -> Result<()> {
    datasources::bind_secrets(store, keys).await?;
    providers::bind_secrets(store, keys).await?;
    let mut tx = auth::begin(store, None).await?;
    if secrets::is_settled(&mut tx).await? {
        return Ok(());
    }
    if stage == Stage::Unproven {
        auth::proof::prove_all(&mut tx, keys).await?;
    }
    secrets::settle(&mut tx, keys).await?;
    Ok(tx.commit().await?)
}

/// Has the first key of a source seal, and seals with it whatever another one sealed. Where the first one seals already, a
/// new one is made if the source is a file. `wait` is how long the servers of the store may take for each step; `say` hears
/// what goes on.
///
/// # Errors
/// `wrong_state` when a server does not get the new key or the source cannot be written; the store is as it was then, or
/// open to the old keys and the new one.
pub async fn rotate(
    source: &Source,
    store: &Store,
    wait: Duration,
    say: impl Fn(String),
) -> Result<(), KeyError> {
    let keys = open(source, store).await?;
    let next = next(source, &keys).await?;
    say(format!(
        "the new secret key has the id {next}; the one in use is {}",
        keys.sealing()
    ));
    secrets::announce(store, next).await?;
    until(store, wait, |server| server.has(next), |waited_for| {
        format!(
            "these servers do not have the secret key {next} yet: {waited_for}. Put it first in the source of each of them \
             (a copy of {}), restart those that have it in their environment, and run this again; until then nothing changes",
            source.shown()
        )
    })
    .await?;
    if !keys.seal_with(next) {
        return Err(Error::internal("the new secret key is gone").into());
    }
    secrets::switch(store, &keys).await?;
    until(store, wait, |server| server.seals_with(next), |waited_for| {
        format!("these servers do not seal with the new key yet: {waited_for}. Run this again when they do")
    })
    .await?;
    let mut sealed = 0;
    let mut proven = 0;
    loop {
        let again = datasources::reseal_secrets(store, &keys).await?
            + providers::reseal_secrets(store, &keys).await?;
        let proofs = auth::proof::renew_proofs(store, &keys).await?;
        sealed += again;
        proven += proofs;
        if again + proofs == 0 {
            break;
        }
    }
    secrets::finish(store).await?;
    say(format!(
        "sealed {sealed} rows anew and proved {proven} keys anew"
    ));
    retire(source, &keys, next, say).await
}

/// The key that is to seal.
async fn next(source: &Source, keys: &SecretKeys) -> Result<KeyId, KeyError> {
    let mut all = source.read().await?;
    let first = all.first().map(SecretKey::id);
    if let Some(first) = first.filter(|first| *first != keys.sealing()) {
        return Ok(first);
    }
    let Some(path) = source.file() else {
        let message = format!(
            "{} begins with the secret key that is in use; put a new one before it, so that both are there \
             (`mindhost secrets generate` prints one), for every server of the store, and run this again",
            source.shown()
        );
        return Err(Error::new(Code::WrongState, message).into());
    };
    let new = SecretKey::generate()?;
    let id = new.id();
    all.insert(0, new);
    secrets::overwrite(path, &all)?;
    keys.replace(all);
    Ok(id)
}

/// Takes keys that open nothing any more out of the file, and keeps them beside it.
async fn retire(
    source: &Source,
    keys: &SecretKeys,
    in_use: KeyId,
    say: impl Fn(String),
) -> Result<(), KeyError> {
    let Some(path) = source.file() else {
        say(format!(
            "only {in_use} is in use: take the other keys out of {}, and keep them as long as you keep backups of the store",
            source.shown()
        ));
        return Ok(());
    };
    let all = source.read().await?;
    let (new, old): (Vec<_>, Vec<_>) = all.into_iter().partition(|key| key.id() == in_use);
    if !old.is_empty() {
        let retired = secrets::retire(path, &old)?;
        secrets::overwrite(path, &new)?;
        keys.replace(new);
        say(format!(
            "{} holds only the new key; the older ones are in {}: older backups of the store need them, nothing else does",
            path.display(),
            retired.display()
        ));
    }
    Ok(())
}

/// Waits until every server that is there is as wanted.
async fn until(
    store: &Store,
    wait: Duration,
    is_as_wanted: impl Fn(&Follower) -> bool,
    otherwise: impl FnOnce(String) -> String,
) -> Result<(), KeyError> {
    let deadline = Instant::now() + wait;
    loop {
        let servers = secrets::followers(store).await?;
        let missing: Vec<_> = servers
            .into_iter()
            .filter(|one| !is_as_wanted(one))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let names: Vec<_> = missing.into_iter().map(|one| one.name).collect();
            return Err(Error::new(Code::WrongState, otherwise(names.join(", "))).into());
        }
        sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Auth;

    async fn write(store: &Store, sql: &'static str, id: &str, workspace: &str, bytes: Vec<u8>) {
        let query = sqlx::query(sql).bind(id.to_owned());
        let query = query.bind(workspace.to_owned()).bind(bytes);
        store.change(query).await.unwrap();
    }

    async fn key_row(store: &Store, id: &str, workspace: &str, text: &str) {
        let sql = "INSERT INTO keys (id, workspace_id, name, prefix, hash, role, created_at) \
                   VALUES ($1, $2, 'x', '', $3, 'operator', 1)";
        write(store, sql, id, workspace, auth::hash(text).to_vec()).await;
    }

    async fn is_valid(store: &Store, keys: &SecretKeys, workspace: &str, text: &str) -> bool {
        let auth = Auth::new(store.clone(), keys.clone(), None, workspace);
        auth.await.unwrap().authenticate(text).await.is_ok()
    }

    async fn sealed(store: &Store) -> Vec<u8> {
        let query = sqlx::query_scalar("SELECT secrets FROM datasources");
        query.fetch_one(store.pool()).await.unwrap()
    }

    /// A store as an earlier version left it, with a key and a datasource, and the source of its secret key.
    async fn earlier() -> (tempfile::TempDir, Store, String, Source) {
        let (dir, store, workspace) = crate::store::temporary().await;
        let key = SecretKey::new([1; 32]);
        let path = dir.path().join("secrets.key");
        std::fs::write(&path, key.text().as_bytes()).unwrap();
        let keys = SecretKeys::single(key);
        let fact = "INSERT INTO host_facts (name, value) SELECT $1, $3 WHERE $2 <> ''";
        let check = keys.seal_unbound("host_facts", "secret_key_check", b"mindhost");
        write(&store, fact, "secret_key_check", &workspace, check).await;
        key_row(&store, "1", &workspace, "mh_earlier").await;
        let datasource = "INSERT INTO datasources (id, workspace_id, name, engine, description, connection_data, secrets, \
                          settings, created_at, modified_at) VALUES ($1, $2, 'shop', 'postgres', '', \
                          '{\"host\":\"db\",\"password\":\"********\"}', $3, '{}', 1, 1)";
        let secrets = keys.seal_unbound("datasources", "d", b"{\"password\":\"hunter2\"}");
        write(&store, datasource, "d", &workspace, secrets).await;
        (dir, store, workspace, Source::File(path))
    }

    #[tokio::test]
    async fn keys_of_an_earlier_version_stay_valid_and_rows_that_come_later_do_not_become_keys() {
        let (_dir, store, workspace, source) = earlier().await;
        let keys = open(&source, &store).await.unwrap();
        assert!(is_valid(&store, &keys, &workspace, "mh_earlier").await);
        assert!(keys.is_current(&sealed(&store).await));
        key_row(&store, "2", &workspace, "mh_later").await;
        let keys = open(&source, &store).await.unwrap();
        assert!(is_valid(&store, &keys, &workspace, "mh_earlier").await);
        assert!(!is_valid(&store, &keys, &workspace, "mh_later").await);
    }

    #[tokio::test]
    async fn a_rotation_leaves_nothing_that_the_old_key_opens_or_proves() {
        let (dir, store, workspace, source) = earlier().await;
        let old = open(&source, &store).await.unwrap();
        let said = std::sync::Mutex::new(Vec::new());
        let say = |line| said.lock().unwrap().push(line);
        rotate(&source, &store, Duration::ZERO, say).await.unwrap();
        assert!(
            said.lock()
                .unwrap()
                .contains(&"sealed 1 rows anew and proved 1 keys anew".to_owned())
        );
        let new = open(&source, &store).await.unwrap();
        assert_ne!(new.sealing(), old.sealing());
        assert_eq!(new.ids(), [new.sealing()]);
        assert!(new.is_current(&sealed(&store).await));
        assert!(is_valid(&store, &new, &workspace, "mh_earlier").await);
        assert!(!is_valid(&store, &old, &workspace, "mh_earlier").await);
        let retired = Source::File(dir.path().join("secrets.key.retired"));
        let refused = open(&retired, &store).await.unwrap_err();
        assert!(matches!(refused, KeyError::Mismatch { .. }), "{refused}");
        // Once more, from a file that has one key.
        rotate(&source, &store, Duration::ZERO, |_| {})
            .await
            .unwrap();
        let newest = open(&source, &store).await.unwrap();
        assert!(is_valid(&store, &newest, &workspace, "mh_earlier").await);
        assert_eq!(retired.read().await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn a_source_that_is_no_file_needs_its_new_key_first() {
        let (_dir, store, _, source) = earlier().await;
        let text = source.read().await.unwrap()[0].text();
        let vars = [("MINDHOST_SECRETS__KEY".to_owned(), text.to_string())];
        let config = crate::config::Config::from_env(vars).unwrap();
        let source = Source::of(&config).unwrap();
        let refused = rotate(&source, &store, Duration::ZERO, |_| {}).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("mindhost secrets generate"), "{refused}");
    }
}
