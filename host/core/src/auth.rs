//! Authentication and authorization: keys, roles, callers.
//!
//! A key is 32 random bytes, so its plain SHA-256 is as hard to invert as a slow hash, and can be looked up. A proof,
//! which takes the secret key to make, confirms its privileges. The text of a key is shown only once, when it is
//! created.

mod cache;
pub mod failed_logins;
mod key;
pub mod keys;
pub mod limits;
mod policies;
mod privileges;
pub mod sign_in_codes;
mod store;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio_util::task::TaskTracker;

use crate::{secrets::SecretKeys, usage::Tally};
use cache::{AcceptedHashes, Cache};
use keys::KeyText;
use mindhost_base::{
    error::{Code, Error, Result},
    policy::Attributes,
};
use mindhost_store::{Store, Tx, now};
use sign_in_codes::SignInCodes;
use zeroize::Zeroizing;

pub use policies::{KeyPolicies, KeyPolicy};
pub use store::proof;

/// `last_used_at` is written once a minute a key, in microseconds.
const USED_EVERY: i64 = 60 * 1_000_000;
/// How long keys are cached, the same as the other data that every request needs. `docs/access.md` promises it.
const CACHE_TTL: Duration = Duration::from_secs(1);

/// The SHA-256 of a key.
pub(crate) type Hash = [u8; 32];

/// The role of a key. Each role includes the ones before it.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    clap::ValueEnum,
    utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads and asks.
    User,
    /// Datasources, Minds, catalogs.
    Editor,
    /// Keys, providers, settings of the workspace.
    Admin,
    /// The host: plugins, workspaces, egress.
    Operator,
}

impl Role {
    /// Its name in the store and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Editor => "editor",
            Role::Admin => "admin",
            Role::Operator => "operator",
        }
    }
}

/// A client that needs responses of another shape.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum, utoipa::ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Compat {
    /// `minds-sdk` 2.0.1 for Python: a Mind has its datasources as objects and its status as one word.
    MindsSdk,
}

/// The caller of a request. It determines everything that the request may see.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Id of the workspace; every query names it.
    pub workspace: Arc<str>,
    /// Id of the key, which owns conversations and responses.
    pub key_id: Arc<str>,
    /// What it may do.
    pub role: Role,
    /// Ids of the Minds that it may see; `None` means all.
    pub minds: Option<Arc<[String]>>,
    /// When the key expires; `None` means never.
    pub expires_at: Option<jiff::Timestamp>,
    /// Shapes of answers.
    pub compat: Option<Compat>,
    /// What policies know of it.
    pub attributes: Arc<Attributes>,
    /// What it sees of tables. Each Mind that it asks for has them.
    pub policies: Arc<KeyPolicies>,
    /// The hash of the key, to look it up again; `None` for the configured key.
    pub(crate) hash: Option<Hash>,
    /// Counts the usage of the request; `None` outside of requests.
    pub tally: Option<Arc<Tally>>,
    /// Id of the request, under which the log has it; `None` outside of requests.
    pub request_id: Option<Arc<str>>,
}

impl Caller {
    /// The same caller with a tally.
    #[must_use]
    pub fn counted_in(mut self, tally: Tally) -> Self {
        self.tally = Some(Arc::new(tally));
        self
    }

    /// Counts usage of the request.
    pub fn count(&self, count: impl FnOnce(&Tally)) {
        if let Some(tally) = &self.tally {
            count(tally);
        }
    }

    /// Refuses a caller whose role is too small.
    ///
    /// # Errors
    /// `forbidden`
    pub fn require(&self, role: Role) -> Result<()> {
        if self.role >= role {
            return Ok(());
        }
        Err(Error::new(
            Code::Forbidden,
            format!(
                "this needs a key with the role {}; yours is {}",
                role.as_str(),
                self.role.as_str()
            ),
        ))
    }

    /// Refuses a caller that is limited to some Minds, for an action that affects others. `what` completes "your key
    /// cannot".
    ///
    /// # Errors
    /// `forbidden`
    pub fn require_all_minds(&self, what: &str) -> Result<()> {
        if self.minds.is_none() {
            return Ok(());
        }
        Err(Error::new(
            Code::Forbidden,
            format!("your key is limited to some Minds, so it cannot {what}; use one that is not"),
        ))
    }

    /// Requires an operator that is not limited to some Minds, for an action that affects the whole host. `what`
    /// completes "your key cannot".
    ///
    /// # Errors
    /// `forbidden`
    pub fn require_host(&self, what: &str) -> Result<()> {
        self.require(Role::Operator)?;
        self.require_all_minds(what)
    }

    /// Whether it may read a conversation or response of a key, with a Mind or before it has one: its own, and as an
    /// admin all of the workspace, but never those of a Mind that it does not see.
    pub fn may_read(&self, workspace: &str, key_id: &str, mind_id: Option<&str>) -> bool {
        let own = *self.key_id == *key_id;
        let visible = match mind_id {
            Some(mind_id) => self.sees_mind(mind_id),
            None => own || self.minds.is_none(),
        };
        *self.workspace == *workspace && visible && (own || self.role >= Role::Admin)
    }

    /// Whether the key is not limited to other Minds.
    pub fn sees_mind(&self, mind_id: &str) -> bool {
        self.minds
            .as_ref()
            .is_none_or(|minds| minds.iter().any(|id| id == mind_id))
    }
}

/// Tells whose key a request has, and makes, rotates and revokes keys.
#[derive(Debug)]
pub struct Auth {
    store: Store,
    keys: SecretKeys,
    configured: Option<(Hash, Caller)>,
    /// When the last use of the configured key was written, in microseconds; 0 for not since the start.
    configured_used_at: AtomicI64,
    cache: Cache,
    accepted: AcceptedHashes,
    sign_in_codes: SignInCodes,
    tracker: TaskTracker,
}

impl Auth {
    /// Accepts the keys of the store that `keys` prove, and the configured admin key, which belongs to `workspace`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn new(
        store: Store,
        keys: SecretKeys,
        configured: Option<&str>,
        workspace: &str,
    ) -> Result<Self> {
        store::configured_key(&store, workspace, configured.is_some()).await?;
        let configured = configured.map(|key| {
            let caller = Caller {
                workspace: workspace.into(),
                key_id: store::CONFIGURED_KEY.into(),
                role: Role::Operator,
                minds: None,
                expires_at: None,
                compat: None,
                hash: None,
                tally: None,
                request_id: None,
                attributes: Arc::default(),
                policies: Arc::default(),
            };
            (hash(key), caller)
        });
        Ok(Self {
            store,
            keys,
            configured,
            configured_used_at: AtomicI64::new(0),
            cache: Cache::new(CACHE_TTL),
            accepted: AcceptedHashes::default(),
            sign_in_codes: SignInCodes::default(),
            tracker: TaskTracker::new(),
        })
    }

    /// The caller with this key.
    ///
    /// Keys are cached for a second: a key that is revoked on this host is invalid at once, on another host within that
    /// time.
    ///
    /// # Errors
    /// `invalid_api_key` when it is unknown, revoked or expired.
    pub async fn authenticate(&self, key: &str) -> Result<Caller> {
        let hash = hash(key);
        let caller = self.find(hash).await;
        match &caller {
            Ok(_) => self.accepted.insert(hash),
            Err(error) if error.code() == Code::InvalidApiKey => self.accepted.remove(&hash),
            Err(_) => {}
        }
        caller
    }

    /// Whether this server has accepted the key before and not refused it since. Does not query the store.
    pub fn has_accepted(&self, key: &str) -> bool {
        self.accepted.contains(&hash(key))
    }

    async fn find(&self, hash: Hash) -> Result<Caller> {
        if let Some((configured, caller)) = &self.configured
            && bool::from(configured.ct_eq(&hash))
        {
            self.mark_configured_used(caller);
            return Ok(caller.clone());
        }
        let found = match self.cache.get(&hash) {
            Some(found) => found,
            None => {
                let asked = self.cache.generation();
                let row = store::by_hash(self.store.pool(), &hash)
                    .await?
                    .ok_or_else(unknown_key)?;
                let store::KeyRow {
                    found,
                    claims,
                    proof,
                } = row;
                if !claims.is_proven(&self.keys, proof.as_deref()) {
                    tracing::warn!(
                        key = claims.id,
                        "a key was refused: its row in the store was not written, or was changed, without the secret key; if a \
                         server of an earlier version made it, stop that server and create the key again"
                    );
                    return Err(unknown_key());
                }
                self.cache.put(asked, hash, found.clone());
                found
            }
        };
        check_not_expired(&found.caller)?;
        if self.cache.mark_used(&hash, now(), USED_EVERY) {
            self.write_last_used(found.caller.key_id.clone());
        }
        Ok(found.caller)
    }

    /// Checks in the store, past the cache, that the caller's key is still valid: before an action with a wide effect,
    /// and after a slow one.
    ///
    /// # Errors
    /// `invalid_api_key`
    pub async fn confirm(&self, caller: &Caller) -> Result<()> {
        match &caller.hash {
            Some(hash) => check_found(store::by_hash(self.store.pool(), hash).await?),
            None => Ok(()),
        }
    }

    /// Makes a one-time code that hands the caller's key, whose text is `key`, to a browser.
    ///
    /// # Errors
    /// `invalid_parameter` when `key` is not the caller's, `rate_limit_exceeded` when too many keys have a code.
    pub async fn create_sign_in_code(
        &self,
        caller: &Caller,
        key: &str,
    ) -> Result<Zeroizing<String>> {
        let found = self.find(hash(key)).await;
        if !found.is_ok_and(|found| found.key_id == caller.key_id) {
            let message = "`key` is not the key of this request; send the same one";
            return Err(Error::invalid("key", message));
        }
        self.sign_in_codes.create(&caller.key_id, key)
    }

    /// The key behind a one-time code, which ends with this, and its caller.
    ///
    /// # Errors
    /// `invalid_api_key` when the code is unknown, used or too old, or its key is no longer valid.
    pub async fn take_sign_in_code(&self, code: &str) -> Result<(Caller, KeyText)> {
        let key = self.sign_in_codes.take(code).ok_or_else(|| {
            let message = "this link was used already or is older than 10 minutes; make another with `mindhost console`";
            Error::new(Code::InvalidApiKey, message)
        })?;
        Ok((self.authenticate(&key).await?, key))
    }

    /// Clears the cache of keys.
    pub fn forget(&self) {
        self.cache.clear();
    }

    /// Waits for the writes in the background.
    pub async fn close(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }

    /// The cache, which marks the last use of the other keys, does not have the configured key.
    fn mark_configured_used(&self, configured: &Caller) {
        let (now, last) = (now(), self.configured_used_at.load(Ordering::Relaxed));
        if now - last < USED_EVERY {
            return;
        }
        let marked = self.configured_used_at.compare_exchange(
            last,
            now,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        // Of requests at the same time one writes.
        if marked.is_ok() {
            self.write_last_used(configured.key_id.clone());
        }
    }

    fn write_last_used(&self, key_id: Arc<str>) {
        let store = self.store.clone();
        self.tracker.spawn(async move {
            if let Err(error) = store::used(&store, &key_id).await {
                tracing::warn!(%error, cause = ?std::error::Error::source(&error), "last_used_at was not written");
            }
        });
    }
}

/// A transaction that changes keys or workspaces. One runs at a time in the whole store, so that two admins who revoke
/// each other at the same moment leave one. The key of `by` must be valid in it; `None` is the command line.
///
/// # Errors
/// `invalid_api_key`
pub(crate) async fn begin(store: &Store, by: Option<&Caller>) -> Result<Tx> {
    let mut tx = store.begin().await?;
    store::wait_for_turn(store, &mut tx).await?;
    if let Some(hash) = by.and_then(|caller| caller.hash.as_ref()) {
        check_found(store::by_hash(&mut *tx, hash).await?)?;
    }
    Ok(tx)
}

fn check_found(row: Option<store::KeyRow>) -> Result<()> {
    check_not_expired(&row.ok_or_else(unknown_key)?.found.caller)
}

fn check_not_expired(caller: &Caller) -> Result<()> {
    match caller.expires_at {
        Some(at) if at.as_microsecond() <= now() => Err(unknown_key()),
        _ => Ok(()),
    }
}

fn unknown_key() -> Error {
    Error::new(
        Code::InvalidApiKey,
        "the API key is unknown, revoked or expired; send a valid one as `Authorization: Bearer <key>`",
    )
}

pub(crate) fn hash(key: &str) -> Hash {
    Sha256::digest(key.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_includes_lower_roles() {
        let caller = Caller {
            workspace: "w".into(),
            key_id: "k".into(),
            role: Role::Editor,
            minds: Some(vec!["m1".to_owned()].into()),
            expires_at: None,
            compat: None,
            hash: None,
            tally: None,
            request_id: None,
            attributes: Arc::default(),
            policies: Arc::default(),
        };
        assert!(caller.require(Role::User).is_ok());
        assert!(caller.require(Role::Editor).is_ok());
        assert_eq!(
            caller.require(Role::Admin).unwrap_err().code(),
            Code::Forbidden
        );
        assert!(caller.sees_mind("m1") && !caller.sees_mind("m2"));
    }

    #[test]
    fn admin_reads_the_content_of_others_in_visible_minds_only() {
        let all = Caller {
            workspace: "w".into(),
            key_id: "k".into(),
            role: Role::Admin,
            minds: None,
            expires_at: None,
            compat: None,
            hash: None,
            tally: None,
            request_id: None,
            attributes: Arc::default(),
            policies: Arc::default(),
        };
        let some = Caller {
            minds: Some(vec!["m1".to_owned()].into()),
            ..all.clone()
        };
        let user = Caller {
            role: Role::User,
            ..all.clone()
        };
        let check = |caller: &Caller, owner: &str, mind: Option<&str>, expected: bool| {
            let found = caller.may_read("w", owner, mind);
            assert_eq!(found, expected, "{caller:?} {owner} {mind:?}");
            assert!(!caller.may_read("another", owner, mind));
        };
        for (owner, mind) in [
            ("k", None),
            ("k", Some("m2")),
            ("x", None),
            ("x", Some("m2")),
        ] {
            check(&all, owner, mind, true);
            check(&user, owner, mind, owner == "k");
        }
        check(&some, "x", Some("m1"), true);
        check(&some, "x", Some("m2"), false);
        check(&some, "x", None, false);
        check(&some, "k", None, true);
        check(&some, "k", Some("m2"), false);
    }
}
