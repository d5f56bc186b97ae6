//! Watches the store for a rotation of the secret key while the server runs.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::{SecretKeys, Source, check_value, store};
use mindhost_base::error::Result;
use mindhost_store::{Store, new_id};

/// How often a server checks for a rotation.
const POLL: Duration = Duration::from_secs(2);
/// How often it reports itself when nothing changes.
const REPORT: Duration = Duration::from_secs(15);
/// How often it reads a source that does not have the new key yet.
const REREAD: Duration = Duration::from_secs(5);

/// Runs until `ending`: reads the source again when the announced key is missing, and seals with the key that the store
/// names. `name` tells people where this server runs.
pub async fn watch(
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
        reported_at: None,
        read_at: None,
    };
    let watching = async {
        loop {
            if let Err(error) = server.check().await {
                tracing::warn!(cause = ?std::error::Error::source(&error), "cannot check for a rotation of the secret key");
            }
            tokio::time::sleep(POLL).await;
        }
    };
    ending.run_until_cancelled(watching).await;
    // So that no rotation waits for this server. If it fails, the report expires within a minute.
    let _ = store::leave(&server.store, &server.id).await;
}

struct Server {
    id: String,
    name: String,
    keys: SecretKeys,
    source: Source,
    store: Store,
    /// When it last reported its keys.
    reported_at: Option<Instant>,
    /// When it last read its source.
    read_at: Option<Instant>,
}

impl Server {
    async fn check(&mut self) -> Result<()> {
        let (value, next) = store::target(&self.store).await?;
        let next_is_here = |keys: &SecretKeys| {
            next.as_ref()
                .is_none_or(|next| keys.ids().iter().any(|id| id.to_string() == *next))
        };
        let mut current = value
            .as_deref()
            .and_then(|value| check_value::sealing_key(&self.keys, value));
        if (current.is_none() || !next_is_here(&self.keys)) && due(self.read_at, REREAD) {
            self.read_at = Some(Instant::now());
            match self.source.read().await {
                Ok(keys) if !keys.is_empty() => {
                    self.keys.replace(keys);
                    self.reported_at = None;
                }
                Ok(_) => {}
                Err(error) => tracing::error!(%error, "cannot switch to the new secret key"),
            }
            current = value
                .as_deref()
                .and_then(|value| check_value::sealing_key(&self.keys, value));
            if current.is_none() {
                let source = self.source.shown();
                tracing::error!(
                    source,
                    "this server does not have the secret key of the store: stored passwords do not open, and keys are not valid"
                );
            }
        }
        if let Some(current) = current
            && current != self.keys.sealing()
            && self.keys.seal_with(current)
        {
            tracing::info!(id = %current, "another secret key seals from now on");
            self.reported_at = None;
        }
        if due(self.reported_at, REPORT) {
            store::report(&self.store, &self.id, &self.name, &self.keys).await?;
            self.reported_at = Some(Instant::now());
        }
        Ok(())
    }
}

fn due(last: Option<Instant>, every: Duration) -> bool {
    last.is_none_or(|last| last.elapsed() >= every)
}
