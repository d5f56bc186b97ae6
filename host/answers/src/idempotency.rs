//! Requests that are sent twice because the client did not see the first answer.
//!
//! A request with an `Idempotency-Key` is remembered for a day by the key of its caller, its route and that name. The
//! same request again waits for the first while that runs on this host, and then has its outcome. Of the body only a
//! keyed hash is kept: it may hold a password.

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

/// Longest name.
const NAME: usize = 255;
/// How often requests are looked for that are older than a day.
const TIDY: Duration = Duration::from_secs(10 * 60);

/// A request that may come again.
#[derive(Clone, Debug)]
pub struct Request {
    place: Place,
    workspace_id: Arc<str>,
    /// Keyed hash of what was sent.
    hash: Vec<u8>,
    /// The same with other secret keys: one of them may have been in use when it came for the first time.
    other_hashes: Vec<Vec<u8>>,
}

/// Where a request is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    key_id: Arc<str>,
    route: &'static str,
    name: String,
}

/// What a request came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A response, which is stored by itself.
    Response(Uuid),
    /// A status and a JSON body.
    Reply(u16, String),
}

/// Remembers requests.
pub struct Idempotency {
    store: Store,
    keys: SecretKeys,
    busy: Mutex<HashMap<Place, Arc<AsyncMutex<()>>>>,
}

impl Idempotency {
    /// Over a store; hashes with a key derived from the secret key.
    pub fn new(store: Store, keys: SecretKeys) -> Arc<Self> {
        Arc::new(Self {
            store,
            keys,
            busy: Mutex::default(),
        })
    }

    /// For as long as the future is polled: forgets requests that are older than a day.
    pub async fn forget(&self) {
        loop {
            if let Err(error) = store::forget_old(&self.store).await {
                tracing::warn!(cause = ?std::error::Error::source(&error), "old requests with an Idempotency-Key cannot be deleted");
            }
            tokio::time::sleep(TIDY).await;
        }
    }

    /// A request by the name in its `Idempotency-Key` and what was sent, in pieces.
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
        if name.is_empty() || name.len() > NAME {
            return Err(Error::invalid(
                "Idempotency-Key",
                format!(
                    "the header Idempotency-Key has 1 to {NAME} visible ASCII characters; a UUID will do"
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
            place: Place {
                key_id: caller.key_id.clone(),
                route,
                name: name.to_owned(),
            },
            workspace_id: caller.workspace.clone(),
            hash,
            other_hashes,
        })
    }

    /// Waits until nobody else on this host works on the same request, and gives what it came to before, if it did.
    ///
    /// # Errors
    /// `idempotency_key_reused` when the name was sent with another request.
    pub async fn begin(self: &Arc<Self>, request: Request) -> Result<(Claim, Option<Outcome>)> {
        let mutex = lock(&self.busy)
            .entry(request.place.clone())
            .or_default()
            .clone();
        let guard = mutex.lock_owned().await;
        let claim = Claim {
            idempotency: self.clone(),
            request,
            guard: Some(guard),
        };
        let place = &claim.request.place;
        let outcome = match store::find(&self.store, place).await? {
            Some((hash, _)) if !claim.request.is_of(&hash) => return Err(reused(&place.name)),
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

/// The right to work on a request. Nobody else on this host has it until it is dropped.
pub struct Claim {
    idempotency: Arc<Idempotency>,
    request: Request,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Claim {
    /// Refuses a key that has stored as much as it may, before anything is done of which a reply would be kept.
    ///
    /// # Errors
    /// `quota_exceeded`, `storage_full`
    pub async fn require_room(&self) -> Result<()> {
        let Request {
            workspace_id,
            place,
            ..
        } = &self.request;
        let store = &self.idempotency.store;
        store.check_byte_quota(workspace_id, &place.key_id).await
    }

    /// Remembers what the request came to, in place of what it came to before.
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
        let mut busy = lock(&self.idempotency.busy);
        // Whoever waits holds the mutex too.
        if busy
            .get(&self.request.place)
            .is_some_and(|mutex| Arc::strong_count(mutex) == 1)
        {
            busy.remove(&self.request.place);
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
    async fn the_same_request_has_the_same_outcome_and_another_is_refused() {
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
        assert!(lock(&idempotency.busy).is_empty());
    }

    #[tokio::test]
    async fn what_is_kept_counts_for_its_key_until_it_goes() {
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
        store::forget_old(&idempotency.store).await.unwrap();
        assert_eq!(
            store::stored_bytes(&idempotency.store).await,
            2 * 256 + 2 + 8
        );
        let all = mindhost_store::now() + 1;
        store::forget_before(&idempotency.store, all).await.unwrap();
        assert_eq!(store::stored_bytes(&idempotency.store).await, 0);
        let request = idempotency.request(&caller, "/minds", "a", &[b"two"]);
        let (_, known) = idempotency.begin(request.unwrap()).await.unwrap();
        assert_eq!(known, None, "it is forgotten");
    }

    #[tokio::test]
    async fn a_second_waits_for_the_first() {
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
