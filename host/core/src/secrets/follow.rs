//! A server that follows a change of the secret key while it serves.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::{SecretKeys, Source, load, store};
use mindhost_base::error::Result;
use mindhost_store::{Store, new_id};

/// How often a server looks whether another key is to seal.
const LOOK: Duration = Duration::from_secs(2);
/// How often it says that it is there, when nothing changes.
const WORD: Duration = Duration::from_secs(15);
/// How often a source is read that does not have the key yet.
const READ: Duration = Duration::from_secs(5);

/// Follows what the store says until `ending`: reads the source again when a key is to seal that is not here, and seals
/// with the key that the store names. `name` says to people where this server is.
pub async fn follow(
    keys: SecretKeys,
    source: Source,
    store: Store,
    name: String,
    ending: CancellationToken,
) {
    let mut server = Server {
        id: new_id(),
        name,
        keys,
        source,
        store,
        said: None,
        read: None,
    };
    let looking = async {
        loop {
            if let Err(error) = server.look().await {
                tracing::warn!(cause = ?std::error::Error::source(&error), "cannot look for a change of the secret key");
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    ending.run_until_cancelled(looking).await;
    // One that is not there any more is not waited for. Should this fail, it is forgotten within a minute.
    let _ = store::leave(&server.store, &server.id).await;
}

struct Server {
    id: String,
    name: String,
    keys: SecretKeys,
    source: Source,
    store: Store,
    /// When it said last what it has.
    said: Option<Instant>,
    /// When it read its source last.
    read: Option<Instant>,
}

impl Server {
    async fn look(&mut self) -> Result<()> {
        let (check, next) = store::wanted(&self.store).await?;
        let next_is_here = |keys: &SecretKeys| {
            next.as_ref()
                .is_none_or(|next| keys.ids().iter().any(|id| id.to_string() == *next))
        };
        let mut named = check
            .as_deref()
            .and_then(|check| load::names(&self.keys, check));
        if (named.is_none() || !next_is_here(&self.keys)) && due(self.read, READ) {
            self.read = Some(Instant::now());
            match self.source.read().await {
                Ok(keys) if !keys.is_empty() => {
                    self.keys.replace(keys);
                    self.said = None;
                }
                Ok(_) => {}
                Err(error) => tracing::error!(%error, "the secret key is to change"),
            }
            named = check
                .as_deref()
                .and_then(|check| load::names(&self.keys, check));
            if named.is_none() {
                let source = self.source.shown();
                tracing::error!(
                    source,
                    "the store uses a secret key that is not here: stored passwords do not open, and keys are not valid"
                );
            }
        }
        if let Some(named) = named
            && named != self.keys.sealing()
            && self.keys.seal_with(named)
        {
            tracing::info!(id = %named, "another secret key seals from now on");
            self.said = None;
        }
        if due(self.said, WORD) {
            store::note(&self.store, &self.id, &self.name, &self.keys).await?;
            self.said = Some(Instant::now());
        }
        Ok(())
    }
}

fn due(last: Option<Instant>, every: Duration) -> bool {
    last.is_none_or(|last| last.elapsed() >= every)
}
