//! Idempotency keys: a client that did not receive a response sends the same request again.
//!
//! The outcome of a request with an `Idempotency-Key` is kept for a day, by the API key, the route and that name. A
//! retry waits while the first request runs on this host, and then gets its outcome. Only a keyed hash of the body is
//! stored, because the body may contain a password.

mod store;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use uuid::Uuid;

use mindhost_base::{
    error::{Code, Error, Result},
    locks::lock,
};
use mindhost_core::{auth::Caller, secrets::SecretKeys};
use mindhost_store::Store;

/// Longest `Idempotency-Key`.
const MAX_NAME_BYTES: usize = 255;
/// How often expired outcomes are deleted.
const SWEEP_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// A request with an `Idempotency-Key`.
#[derive(Clone, Debug)]
pub struct Request {
    key: RequestKey,
    workspace_id: Arc<str>,
    /// Keyed hash of the request.
    hash: Vec<u8>,
    /// The hashes with the other secret keys, one of which may have been current at the first request.
    other_hashes: Vec<Vec<u8>>,
}

/// The same name from another key, or for another route, is another request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RequestKey {
    key_id: Arc<str>,
    route: &'static str,
    name: String,
}

/// What a retry of the request gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A response, which has its own row.
    Response(Uuid),
    /// A status and a JSON body.
    Reply(u16, String),
}

/// The outcomes of requests.
pub struct Idempotency {
    store: Store,
    keys: SecretKeys,
    in_progress: Mutex<HashMap<RequestKey, Arc<AsyncMutex<()>>>>,
}

impl Idempotency {
    /// Over a store; hashes with a key derived from the secret key.
    pub fn new(store: Store, keys: SecretKeys) -> Arc<Self> {
        Arc::new(Self {
            store,
            keys,
            in_progress: Mutex::default(),
        })
    }

    /// Deletes expired outcomes, until the future is dropped.
    pub async fn sweep(&self) {
        loop {
            if let Err(error) = store::delete_expired(&self.store).await {
                tracing::warn!(cause = ?std::error::Error::source(&error), "old requests with an Idempotency-Key cannot be deleted");
            }
            tokio::time::sleep(SWEEP_INTERVAL).await;
        }
    }

    /// A request with this `Idempotency-Key`. `sent` are the parts that a retry must repeat.
    ///
    /// # Errors
    /// `invalid_parameter` for a name that is empty or too long.
    pub fn request(
        &self,
        caller: &Caller,
        route: &'static str,
        name: &str,
        sent: &[&[u8]],
    ) -> Result<Request> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return Err(Error::invalid(
                "Idempotency-Key",
                format!(
                    "the header Idempotency-Key must have 1 to {MAX_NAME_BYTES} visible ASCII characters; a UUID works"
                ),
            ));
        }
        let secrets = self.keys.derive_all("idempotency");
        let mut hashes = secrets.iter().map(|secret| keyed_hash(secret, sent));
        let hash = hashes
            .next()
            .unwrap_or_else(|| Err(Error::internal("there is no secret key")))?;
        let other_hashes = hashes.collect::<Result<_>>()?;
        Ok(Request {
            key: RequestKey {
                key_id: caller.key_id.clone(),
                route,
                name: name.to_owned(),
            },
            workspace_id: caller.workspace.clone(),
            hash,
            other_hashes,
        })
    }

    /// Waits until no one else on this host handles the same request, and returns its earlier outcome, if any.
    ///
    /// # Errors
    /// `idempotency_key_reused` when the name was sent with another request.
    pub async fn begin(self: &Arc<Self>, request: Request) -> Result<(Claim, Option<Outcome>)> {
        let mutex = lock(&self.in_progress)
            .entry(request.key.clone())
            .or_default()
            .clone();
        let guard = mutex.lock_owned().await;
        let claim = Claim {
            idempotency: self.clone(),
            request,
            guard: Some(guard),
        };
        let key = &claim.request.key;
        let outcome = match store::find(&self.store, key).await? {
            Some((hash, _)) if !claim.request.is_of(&hash) => return Err(reused(&key.name)),
            found => found.map(|(_, outcome)| outcome),
        };
        Ok((claim, outcome))
    }
}

impl Request {
    fn is_of(&self, hash: &Vec<u8>) -> bool {
        self.hash == *hash || self.other_hashes.contains(hash)
    }
}

fn keyed_hash(secret: &[u8], sent: &[&[u8]]) -> Result<Vec<u8>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).map_err(Error::internal)?;
    for piece in sent {
        mac.update(&piece.len().to_le_bytes());
        mac.update(piece);
    }
    Ok(mac.finalize().into_bytes().to_vec())
}

fn reused(name: &str) -> Error {
    Error::new(
        Code::IdempotencyKeyReused,
        format!("the Idempotency-Key '{name}' was sent with another request within the last day; send a new one"),
    )
    .param("Idempotency-Key")
}

/// The exclusive right on this host to handle a request, until it is dropped.
pub struct Claim {
    idempotency: Arc<Idempotency>,
    request: Request,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Claim {
    /// Refuses a key that has used up its storage, before the request has an effect.
    ///
    /// # Errors
    /// `quota_exceeded`, `storage_full`
    pub async fn require_room(&self) -> Result<()> {
        let Request {
            workspace_id, key, ..
        } = &self.request;
        let store = &self.idempotency.store;
        store.check_byte_quota(workspace_id, &key.key_id).await
    }

    /// Stores the outcome, in place of an earlier one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn finish(self, outcome: &Outcome) -> Result<()> {
        store::put(&self.idempotency.store, &self.request, outcome).await
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.guard = None;
        let mut in_progress = lock(&self.idempotency.in_progress);
        // Those that wait hold the mutex too.
        if in_progress
            .get(&self.request.key)
            .is_some_and(|mutex| Arc::strong_count(mutex) == 1)
        {
            in_progress.remove(&self.request.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_core::{auth::Auth, secrets::SecretKey};

    const KEY: &str = "a key that is long enough to be one";

    async fn fixture() -> (tempfile::TempDir, Arc<Idempotency>, Caller) {
        let (dir, store, workspace) = mindhost_store::testing::temporary().await;
        let keys = SecretKeys::single(SecretKey::new([7; 32]));
        let auth = Auth::new(store.clone(), keys.clone(), Some(KEY), &workspace)
            .await
            .unwrap();
        let caller = auth.authenticate(KEY).await.unwrap();
        (dir, Idempotency::new(store, keys), caller)
    }

    #[tokio::test]
    async fn retry_has_the_same_outcome_and_another_request_is_refused() {
        let (_dir, idempotency, caller) = fixture().await;
        let request = |body: &[u8]| {
            idempotency
                .request(&caller, "/minds", "a", &[body])
                .unwrap()
        };
        let (claim, known) = idempotency.begin(request(b"one")).await.unwrap();
        assert_eq!(known, None);
        let outcome = Outcome::Reply(200, "{}".into());
        claim.finish(&outcome).await.unwrap();
        let (_, known) = idempotency.begin(request(b"one")).await.unwrap();
        assert_eq!(known, Some(outcome));
        let Err(error) = idempotency.begin(request(b"two")).await else {
            panic!("another request under the same name");
        };
        assert_eq!(error.code(), Code::IdempotencyKeyReused);
        assert!(lock(&idempotency.in_progress).is_empty());
    }

    #[tokio::test]
    async fn stored_outcome_counts_for_its_key_until_deleted() {
        let (_dir, idempotency, caller) = fixture().await;
        let keep = async |name: &str, body: &str| {
            let request = idempotency.request(&caller, "/minds", name, &[b"one"]);
            let (claim, _) = idempotency.begin(request.unwrap()).await.unwrap();
            claim
                .finish(&Outcome::Reply(200, body.to_owned()))
                .await
                .unwrap();
        };
        keep("a", "four").await;
        assert_eq!(store::stored_bytes(&idempotency.store).await, 256 + 1 + 4);
        // In place of the first one, of which nothing is left.
        keep("a", "größer").await;
        assert_eq!(store::stored_bytes(&idempotency.store).await, 256 + 1 + 8);
        keep("b", "").await;
        assert_eq!(
            store::stored_bytes(&idempotency.store).await,
            2 * 256 + 2 + 8
        );
        store::delete_expired(&idempotency.store).await.unwrap();
        assert_eq!(
            store::stored_bytes(&idempotency.store).await,
            2 * 256 + 2 + 8
        );
        let all = mindhost_store::now() + 1;
        store::delete_before(&idempotency.store, all).await.unwrap();
        assert_eq!(store::stored_bytes(&idempotency.store).await, 0);
        let request = idempotency.request(&caller, "/minds", "a", &[b"two"]);
        let (_, known) = idempotency.begin(request.unwrap()).await.unwrap();
        assert_eq!(known, None, "it is forgotten");
    }

    #[tokio::test]
    async fn retry_waits_for_the_first_request() {
        let (_dir, idempotency, caller) = fixture().await;
        let request = idempotency
            .request(&caller, "/minds", "a", &[b"one"])
            .unwrap();
        let (claim, _) = idempotency.begin(request.clone()).await.unwrap();
        let second = tokio::spawn({
            let idempotency = idempotency.clone();
            async move { idempotency.begin(request).await.unwrap().1 }
        });
        let outcome = Outcome::Response(Uuid::now_v7());
        claim.finish(&outcome).await.unwrap();
        assert_eq!(second.await.unwrap(), Some(outcome));
    }
}
