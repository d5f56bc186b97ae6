//! Rotation of the secret key while servers run.
//!
//! The new key must be in the source of each server before any server seals with it. So the store first announces the
//! next key, and the rotation waits until every server has it. Then the store switches to it, and the rotation waits
//! until every server seals with it. Then the rows of older keys are sealed again, one by one. After an interruption at
//! any point every server can read the store, and the same command continues.

use std::{path::Path, time::Duration};

use tokio::time::{Instant, sleep};

use super::open;
use crate::{
    auth,
    datasources::Datasource,
    providers::Provider,
    secrets::{self, KeyError, KeyHost, KeyId, RotationLease, SecretKey, SecretKeys, Source},
    stored_connections::reseal_secrets,
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::Store;

/// How often the rotation checks the servers.
const POLL: Duration = Duration::from_millis(500);

/// How long it waits without a word.
const QUIET: Duration = Duration::from_secs(1);

/// What a rotation has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has done something.
    Done(String),
    /// It waits for something.
    Waiting(String),
}

/// Switches to the first key of a source, and seals again what other keys sealed. If the first key seals already, a new
/// one is generated, provided the source is a file. An interrupted rotation is finished first, with its own key. One
/// rotation runs at a time in the whole store. `wait` bounds each step of the servers, and the wait for another
/// rotation; `say` gets what was done, and what it waits for if that takes longer than a second.
///
/// # Errors
/// `wrong_state` when a server does not get the new key, another rotation does not end, or the source cannot be written; the
/// store is as it was then, or open to the old keys and the new one.
pub async fn rotate(
    source: &Source,
    store: &Store,
    wait: Duration,
    say: impl Fn(Progress),
) -> Result<(), KeyError> {
    let mut lease = take_lease(store, wait, &say).await?;
    let rotation = Rotation {
        source,
        store,
        wait,
        say,
    };
    let ended = tokio::select! {
        ended = rotation.run() => ended,
        error = keep_lease(&mut lease, store) => Err(error.into()),
    };
    if let Err(error) = lease.release(store).await {
        let cause = std::error::Error::source(&error);
        tracing::warn!(
            ?cause,
            "the next rotation of the secret key has to wait half a minute"
        );
    }
    ended
}

/// Waits until no other rotation runs.
async fn take_lease(
    store: &Store,
    wait: Duration,
    say: &impl Fn(Progress),
) -> Result<RotationLease> {
    let deadline = Instant::now() + wait;
    let mut has_said = false;
    loop {
        if let Some(lease) = RotationLease::take(store).await? {
            return Ok(lease);
        }
        if Instant::now() >= deadline {
            let message = "another rotation of the secret key is running; run this again when it has ended. One that was \
                           killed counts for half a minute";
            return Err(Error::new(Code::WrongState, message));
        }
        if !has_said {
            has_said = true;
            say(Progress::Waiting(
                "another rotation of the secret key is running, or was killed a moment ago: waiting for its end".to_owned(),
            ));
        }
        sleep(POLL).await;
    }
}

/// Renews the lease until it is lost, and returns the reason.
async fn keep_lease(lease: &mut RotationLease, store: &Store) -> Error {
    loop {
        sleep(RotationLease::RENEW).await;
        match lease.renew(store).await {
            Ok(true) => {}
            Err(_) if !lease.has_expired() => {}
            Err(error) => return error,
            Ok(false) => {
                let message =
                    "this rotation stalled for so long that another one began; run this again";
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

/// The first step of a rotation.
enum Step {
    /// Switch to another key.
    Switch(KeyId),
    /// The servers have switched, but rows of older keys remain.
    Reseal,
}

impl<S: Fn(Progress)> Rotation<'_, S> {
    fn done(&self, what: String) {
        (self.say)(Progress::Done(what));
    }

    fn waiting(&self, what: String) {
        (self.say)(Progress::Waiting(what));
    }

    async fn run(&self) -> Result<(), KeyError> {
        let keys = open(self.source, self.store).await?;
        match self.first_step(&keys).await? {
            Step::Switch(next) => self.switch(&keys, next).await?,
            Step::Reseal => self.done(format!(
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
        if self.reseal(keys).await? != RotationCounts::default() {
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
        self.done(format!(
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
        // The key must not be lost, and the source may have changed during the wait.
        let all = self.source.read().await?;
        if !all.iter().any(|key| key.id() == next) {
            let message = format!(
                "{shown} no longer has the new secret key {next}; put it back, or run this again for another one. \
                 Nothing has changed"
            );
            return Err(Error::new(Code::WrongState, message).into());
        }
        keys.replace(all);
        if !keys.seal_with(next) {
            return Err(Error::internal("the new secret key is missing").into());
        }
        Ok(secrets::switch(self.store, keys).await?)
    }

    /// Seals and proves again until nothing is left. A server may have sealed a row just before the switch and still
    /// wait to store it, so the rows are checked once more after that timeout.
    async fn reseal_all(&self, keys: &SecretKeys) -> Result<()> {
        let mut renewed = RotationCounts::default();
        loop {
            loop {
                let again = self.reseal(keys).await?;
                if again == RotationCounts::default() {
                    break;
                }
                renewed.rows += again.rows;
                renewed.keys += again.keys;
            }
            if secrets::key_hosts(self.store).await?.is_empty() {
                break;
            }
            let time = self.store.write_timeout();
            if time >= QUIET {
                self.waiting(format!(
                    "waiting {} s for rows that a server is still writing with the old key",
                    time.as_secs()
                ));
            }
            sleep(time).await;
            let late = self.reseal(keys).await?;
            renewed.rows += late.rows;
            renewed.keys += late.keys;
            if late == RotationCounts::default() {
                break;
            }
        }
        self.done(format!(
            "sealed {} rows again and renewed the proofs of {} keys",
            renewed.rows, renewed.keys
        ));
        Ok(())
    }

    async fn reseal(&self, keys: &SecretKeys) -> Result<RotationCounts> {
        Ok(RotationCounts {
            rows: reseal_secrets::<Datasource>(self.store, keys).await?
                + reseal_secrets::<Provider>(self.store, keys).await?,
            keys: auth::proof::renew_proofs(self.store, keys).await?,
        })
    }

    /// Moves the keys that are no longer in use to a file beside the key file.
    async fn retire(&self, keys: &SecretKeys, in_use: KeyId) -> Result<(), KeyError> {
        let Some(path) = self.source.file() else {
            self.done(format!(
                "only {in_use} is in use: take the other keys out of {}, and keep them as long as you keep backups of the \
                 store",
                self.source.shown()
            ));
            return Ok(());
        };
        let all = self.source.read().await?;
        if let Some((kept, retired)) = retire(path, all, in_use)? {
            keys.replace(kept);
            self.done(format!(
                "{} holds only the new key; the older ones are in {}: older backups of the store need them, nothing else does",
                path.display(),
                retired.display()
            ));
        }
        Ok(())
    }

    /// Waits until every running server meets the condition.
    async fn until(
        &self,
        is_ready: impl Fn(&KeyHost) -> bool,
        otherwise: impl FnOnce(String) -> String,
    ) -> Result<(), KeyError> {
        let begun = Instant::now();
        let deadline = begun + self.wait;
        let mut told = String::new();
        loop {
            let servers = secrets::key_hosts(self.store).await?;
            let missing: Vec<_> = servers.into_iter().filter(|one| !is_ready(one)).collect();
            if missing.is_empty() {
                return Ok(());
            }
            let names: Vec<_> = missing.into_iter().map(|one| one.name).collect();
            let names = names.join(", ");
            if Instant::now() >= deadline {
                return Err(Error::new(Code::WrongState, otherwise(names)).into());
            }
            // Again whenever the list gets shorter.
            if begun.elapsed() >= QUIET && names != told {
                self.waiting(format!(
                    "waiting up to {} s for these servers: {names}",
                    deadline.duration_since(Instant::now()).as_secs()
                ));
                told = names;
            }
            sleep(POLL).await;
        }
    }
}

/// The rows and keys that were renewed.
#[derive(Debug, Default, PartialEq, Eq)]
struct RotationCounts {
    rows: u64,
    keys: u64,
}

/// Leaves only the current key in a file and moves the others to one beside it. Returns the kept keys and the path of
/// the others, if there were any.
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
