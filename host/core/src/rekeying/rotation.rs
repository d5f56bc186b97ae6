//! Another secret key takes the place of the one that seals, beside servers that serve.
//!
//! The new key must be in the source of each server before any seals with it, so the store first says which key comes next,
//! and the rotation waits until every server has it. Then the store says that this one seals, and the rotation waits until
//! every server does so. Then what older keys sealed is sealed anew, row by row. Whatever breaks off in between leaves a store
//! that every server can read, and the same command goes on from there.

use std::{path::Path, time::Duration};

use tokio::time::{Instant, sleep};

use super::open;
use crate::{
    auth,
    datasources::Datasource,
    providers::Provider,
    secrets::{self, Claim, Follower, KeyError, KeyId, SecretKey, SecretKeys, Source},
    stored_connections::reseal_secrets,
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::Store;

/// How often the servers are looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Has the first key of a source seal, and seals with it whatever another one sealed. Where the first one seals already, a
/// new one is made if the source is a file. A rotation that was broken off is ended instead, under the key that it began
/// with. One at a time in the whole store. `wait` is how long the servers of the store may take for each step, and another
/// rotation to end; `say` hears what goes on.
///
/// # Errors
/// `wrong_state` when a server does not get the new key, another rotation does not end, or the source cannot be written; the
/// store is as it was then, or open to the old keys and the new one.
pub async fn rotate(
    source: &Source,
    store: &Store,
    wait: Duration,
    say: impl Fn(String),
) -> Result<(), KeyError> {
    let mut claim = claimed(store, wait, &say).await?;
    let rotation = Rotation {
        source,
        store,
        wait,
        say,
    };
    let ended = tokio::select! {
        ended = rotation.run() => ended,
        error = lost(&mut claim, store) => Err(error.into()),
    };
    if let Err(error) = claim.release(store).await {
        let cause = std::error::Error::source(&error);
        tracing::warn!(
            ?cause,
            "the next rotation of the secret key has to wait half a minute"
        );
    }
    ended
}

/// Waits until no other rotation is running.
async fn claimed(store: &Store, wait: Duration, say: &impl Fn(String)) -> Result<Claim> {
    let deadline = Instant::now() + wait;
    let mut has_said = false;
    loop {
        if let Some(claim) = Claim::take(store).await? {
            return Ok(claim);
        }
        if Instant::now() >= deadline {
            let message = "another rotation of the secret key is running; run this again when it has ended. One that was \
                           killed counts for half a minute";
            return Err(Error::new(Code::WrongState, message));
        }
        if !has_said {
            has_said = true;
            say("another rotation of the secret key is running, or was killed a moment ago: waiting for its end".to_owned());
        }
        sleep(LOOK).await;
    }
}

/// Keeps the claim until it is lost; says why.
async fn lost(claim: &mut Claim, store: &Store) -> Error {
    loop {
        sleep(Claim::RENEW).await;
        match claim.renew(store).await {
            Ok(true) => {}
            Err(_) if !claim.has_ended() => {}
            Err(error) => return error,
            Ok(false) => {
                let message =
                    "this rotation stood still for so long that another one began; run this again";
                return Error::new(Code::WrongState, message);
            }
        }
    }
}

struct Rotation<'a, S> {
    source: &'a Source,
    store: &'a Store,
    wait: Duration,
    say: S,
}

/// What there is to do.
enum Step {
    /// Another key is to seal.
    Switch(KeyId),
    /// The key that is to seal does so already, but older ones are in use too.
    Reseal,
}

impl<S: Fn(String)> Rotation<'_, S> {
    async fn run(&self) -> Result<(), KeyError> {
        let keys = open(self.source, self.store).await?;
        match self.first_step(&keys).await? {
            Step::Switch(next) => self.switch(&keys, next).await?,
            Step::Reseal => (self.say)(format!(
                "going on with the change to the secret key {}, which was broken off; to replace that one too, run this again",
                keys.sealing()
            )),
        }
        let sealing = keys.sealing();
        self.until(|server| server.seals_with(sealing), |waited_for| {
            format!("these servers do not seal with the new key yet: {waited_for}. Run this again when they do")
        })
        .await?;
        self.reseal_all(&keys).await?;
        secrets::finish(self.store).await?;
        self.retire(&keys, sealing).await
    }

    async fn first_step(&self, keys: &SecretKeys) -> Result<Step, KeyError> {
        let sealing = keys.sealing();
        let announced = secrets::announced(self.store).await?;
        if announced == Some(sealing.to_string()) {
            return Ok(Step::Reseal);
        }
        let mut all = self.source.read().await?;
        let first = all.first().map(SecretKey::id);
        if let Some(first) = first.filter(|first| *first != sealing) {
            return Ok(Step::Switch(first));
        }
        if let Some(announced) = announced {
            let begun = all.iter().map(SecretKey::id);
            let mut begun = begun.filter(|id| id.to_string() == announced);
            return begun.next().map(Step::Switch).ok_or_else(|| {
                let source = self.source.shown();
                let message = format!(
                    "a change to the secret key {announced} was begun, and {source} does not have that key: put it there from \
                     the server where it is, or put another new key first (`mindhost secrets generate` prints one), and run \
                     this again"
                );
                Error::new(Code::WrongState, message).into()
            });
        }
        if self.reseal(keys).await? != Renewed::default() {
            return Ok(Step::Reseal);
        }
        let Some(path) = self.source.file() else {
            let message = format!(
                "{} begins with the secret key that is in use; put a new one before it, so that both are there \
                 (`mindhost secrets generate` prints one), for every server of the store, and run this again",
                self.source.shown()
            );
            return Err(Error::new(Code::WrongState, message).into());
        };
        let new = SecretKey::generate()?;
        let id = new.id();
        all.insert(0, new);
        secrets::overwrite(path, &all)?;
        keys.replace(all);
        Ok(Step::Switch(id))
    }

    async fn switch(&self, keys: &SecretKeys, next: KeyId) -> Result<(), KeyError> {
        (self.say)(format!(
            "the new secret key has the id {next}; the one in use is {}",
            keys.sealing()
        ));
        secrets::announce(self.store, next).await?;
        let shown = self.source.shown();
        self.until(|server| server.has(next), |waited_for| {
            format!(
                "these servers do not have the secret key {next} yet: {waited_for}. Put it first in the source of each of \
                 them (a copy of {shown}), restart those that have it in their environment, and run this again; until then \
                 nothing changes"
            )
        })
        .await?;
        // What seals must not be lost: somebody may have changed the source while the servers were waited for.
        let all = self.source.read().await?;
        if !all.iter().any(|key| key.id() == next) {
            let message = format!(
                "{shown} does not have the new secret key {next} any more; put it back, or run this again for another one. \
                 Nothing has changed"
            );
            return Err(Error::new(Code::WrongState, message).into());
        }
        keys.replace(all);
        if !keys.seal_with(next) {
            return Err(Error::internal("the new secret key is gone").into());
        }
        Ok(secrets::switch(self.store, keys).await?)
    }

    /// Seals and proves anew until nothing is left. A server may have sealed a row just before it heard of the new key, and
    /// still wait for its turn to store it: so it is looked for once more after that time.
    async fn reseal_all(&self, keys: &SecretKeys) -> Result<()> {
        let mut renewed = Renewed::default();
        loop {
            loop {
                let again = self.reseal(keys).await?;
                if again == Renewed::default() {
                    break;
                }
                renewed.rows += again.rows;
                renewed.keys += again.keys;
            }
            if secrets::followers(self.store).await?.is_empty() {
                break;
            }
            sleep(self.store.write_timeout()).await;
            let late = self.reseal(keys).await?;
            renewed.rows += late.rows;
            renewed.keys += late.keys;
            if late == Renewed::default() {
                break;
            }
        }
        (self.say)(format!(
            "sealed {} rows anew and proved {} keys anew",
            renewed.rows, renewed.keys
        ));
        Ok(())
    }

    async fn reseal(&self, keys: &SecretKeys) -> Result<Renewed> {
        Ok(Renewed {
            rows: reseal_secrets::<Datasource>(self.store, keys).await?
                + reseal_secrets::<Provider>(self.store, keys).await?,
            keys: auth::proof::renew_proofs(self.store, keys).await?,
        })
    }

    /// Takes keys that open nothing any more out of the file, and keeps them beside it.
    async fn retire(&self, keys: &SecretKeys, in_use: KeyId) -> Result<(), KeyError> {
        let Some(path) = self.source.file() else {
            (self.say)(format!(
                "only {in_use} is in use: take the other keys out of {}, and keep them as long as you keep backups of the \
                 store",
                self.source.shown()
            ));
            return Ok(());
        };
        let all = self.source.read().await?;
        if let Some((kept, retired)) = retire(path, all, in_use)? {
            keys.replace(kept);
            (self.say)(format!(
                "{} holds only the new key; the older ones are in {}: older backups of the store need them, nothing else does",
                path.display(),
                retired.display()
            ));
        }
        Ok(())
    }

    /// Waits until every server that is there is as wanted.
    async fn until(
        &self,
        is_as_wanted: impl Fn(&Follower) -> bool,
        otherwise: impl FnOnce(String) -> String,
    ) -> Result<(), KeyError> {
        let deadline = Instant::now() + self.wait;
        loop {
            let servers = secrets::followers(self.store).await?;
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
}

/// What was sealed and proven anew.
#[derive(Debug, Default, PartialEq, Eq)]
struct Renewed {
    rows: u64,
    keys: u64,
}

/// Leaves a file with the key that is in use, and puts the others beside it. Says what it holds then and where they are, if
/// there were others.
fn retire(
    path: &Path,
    all: Vec<SecretKey>,
    in_use: KeyId,
) -> Result<Option<(Vec<SecretKey>, std::path::PathBuf)>, KeyError> {
    let (kept, old): (Vec<_>, Vec<_>) = all.into_iter().partition(|key| key.id() == in_use);
    if kept.is_empty() {
        let message = format!(
            "{} does not have the secret key {in_use}, which is the one in use; put it back before anything else. The file is \
             left as it is",
            path.display()
        );
        return Err(Error::new(Code::WrongState, message).into());
    }
    if old.is_empty() {
        return Ok(None);
    }
    let retired = secrets::retire(path, &old)?;
    secrets::overwrite(path, &kept)?;
    Ok(Some((kept, retired)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_without_the_key_in_use_is_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secrets.key");
        let (old, new) = (SecretKey::new([1; 32]), SecretKey::new([2; 32]));
        std::fs::write(&path, old.text().as_bytes()).unwrap();
        let refused = retire(&path, vec![old.clone()], new.id()).unwrap_err();
        assert!(refused.to_string().contains("put it back"), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), *old.text());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
