//! Creates, lists, rotates and revokes keys.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use super::{Auth, Caller, Hash, Role, begin, hash, policies, privileges::Privileges, store};
use crate::secrets::SecretKeys;
use mindhost_base::{
    error::{Code, Error, Result},
    names,
    policy::{self, Attributes},
};
use mindhost_store::{ResourceKind, Store, Tx, now};

pub use super::key::{Key, NewKey};

/// Most Minds that a key may be limited to, because every request of the key searches them.
pub const MINDS: usize = 256;

/// The text of a new key, which is shown once.
pub type KeyText = Zeroizing<String>;

impl Auth {
    /// Creates a key in the caller's workspace, with at most the caller's privileges.
    ///
    /// # Errors
    /// `forbidden` when its role, Minds or expiry exceed those of the caller.
    pub async fn create_key(&self, caller: &Caller, new: NewKey) -> Result<(Key, KeyText)> {
        caller.require(Role::Admin)?;
        caller.check_may_grant(Privileges::of(&new))?;
        let workspace = &caller.workspace;
        make(&self.store, &self.keys, Some(caller), workspace, new).await
    }

    /// Creates a key in any workspace, for an operator.
    ///
    /// # Errors
    /// `forbidden` below the role `operator`, or when its privileges exceed those of the caller.
    pub async fn create_key_in(
        &self,
        caller: &Caller,
        workspace: &str,
        new: NewKey,
    ) -> Result<(Key, KeyText)> {
        caller.require(Role::Operator)?;
        caller.check_may_grant(Privileges::of(&new))?;
        make(&self.store, &self.keys, Some(caller), workspace, new).await
    }

    /// Gives a key a new text; the old text is invalid at once. The id stays, so the key keeps its conversations.
    /// `expires_at` changes its expiry, if given.
    ///
    /// # Errors
    /// As [`rotate`]; `forbidden` for a key with more privileges than the caller, who gets its text.
    pub async fn rotate_key(
        &self,
        caller: &Caller,
        id: &str,
        expires_at: Option<Option<jiff::Timestamp>>,
    ) -> Result<(Key, KeyText)> {
        caller.require(Role::Admin)?;
        let workspace = &caller.workspace;
        let (store, keys) = (&self.store, &self.keys);
        let made = rotate(store, keys, Some(caller), workspace, id, expires_at).await?;
        self.cache.clear();
        Ok(made)
    }

    /// The keys of the caller's workspace; for a caller that is limited to some Minds, only keys that see no others.
    ///
    /// # Errors
    /// `forbidden` below the role `admin`.
    pub async fn list_keys(&self, caller: &Caller) -> Result<Vec<Key>> {
        caller.require(Role::Admin)?;
        let mut keys = store::list(&self.store, &caller.workspace).await?;
        keys.retain(|key| caller.sees_key(key.minds.as_deref()));
        Ok(keys)
    }

    /// A key of the caller's workspace.
    ///
    /// # Errors
    /// `forbidden` below the role `admin`; `key_not_found`, also for a key that the caller may not see.
    pub async fn find_key(&self, caller: &Caller, id: &str) -> Result<Key> {
        caller.require(Role::Admin)?;
        let found = store::get(self.store.pool(), &caller.workspace, id).await?;
        found
            .filter(|key| caller.sees_key(key.minds.as_deref()))
            .ok_or_else(not_found)
    }

    /// The caller's own key.
    ///
    /// # Errors
    /// `key_not_found` if it was deleted.
    pub async fn own_key(&self, caller: &Caller) -> Result<Key> {
        let found = store::get(self.store.pool(), &caller.workspace, &caller.key_id).await?;
        found.ok_or_else(not_found)
    }

    /// Revokes a key, on this host at once.
    ///
    /// # Errors
    /// As [`revoke`]; `forbidden` for a key with a higher role.
    pub async fn revoke_key(&self, caller: &Caller, id: &str) -> Result<()> {
        caller.require(Role::Admin)?;
        revoke(&self.store, Some(caller), &caller.workspace, id).await?;
        self.cache.clear();
        Ok(())
    }
}

/// A key, and the text of it that a request used. Work that began with an old text ends when the key is rotated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UsedKey {
    id: Arc<str>,
    /// `None` for the configured key.
    hash: Option<Hash>,
}

impl UsedKey {
    /// `valid` has the hashes of the valid keys by id.
    fn has_ended(&self, valid: &HashMap<String, Vec<u8>>) -> bool {
        // As in `invalid`.
        if *self.id == *store::CONFIGURED_KEY {
            return false;
        }
        match (valid.get(&*self.id), &self.hash) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(now), Some(used)) => now.as_slice() != used.as_slice(),
        }
    }
}

impl Caller {
    /// The key of the caller with the text that it sent.
    pub fn used_key(&self) -> UsedKey {
        UsedKey {
            id: self.key_id.clone(),
            hash: self.hash,
        }
    }

    fn check_may_rotate(&self, key: &Key, expires_at: Option<jiff::Timestamp>) -> Result<()> {
        if !self.sees_key(key.minds.as_deref()) {
            return Err(not_found());
        }
        self.check_may_grant(Privileges {
            role: key.role,
            minds: key.minds.as_deref(),
            expires_at,
        })
    }

    fn check_may_revoke(&self, key: &Key) -> Result<()> {
        if !self.sees_key(key.minds.as_deref()) {
            return Err(not_found());
        }
        self.require(key.role)
    }
}

/// Creates a key for the command line, which has no caller.
///
/// # Errors
/// `invalid_parameter` for an invalid name, for more Minds than [`MINDS`], for an expiry in the past, and for policies
/// of a key whose role is not `user`.
pub async fn create(
    store: &Store,
    keys: &SecretKeys,
    workspace: &str,
    new: NewKey,
) -> Result<(Key, KeyText)> {
    make(store, keys, None, workspace, new).await
}

async fn make(
    store: &Store,
    keys: &SecretKeys,
    by: Option<&Caller>,
    workspace: &str,
    mut new: NewKey,
) -> Result<(Key, KeyText)> {
    names::check_display_name("key", &new.name)?;
    check_future(new.expires_at)?;
    policy::check_attributes(&new.attributes)?;
    policies::check_role(&new)?;
    if let Some(minds) = &mut new.minds {
        let mut seen = HashSet::new();
        minds.retain(|id| seen.insert(id.clone()));
        check_count(minds.len())?;
    }
    // The command line is not bound by the limit.
    if by.is_some() {
        store.check_quota(ResourceKind::Keys, workspace).await?;
    }
    let text = new_text()?;
    let mut tx = begin(store, by).await?;
    if by.is_some() {
        store
            .check_quota_in(&mut tx, ResourceKind::Keys, workspace)
            .await?;
    }
    let (prefix, hash) = (prefix(&text), hash(&text));
    let key = store::insert(&mut *tx, workspace, &new, prefix, &hash, keys).await?;
    tx.commit().await?;
    Ok((key, text))
}

/// Refuses a limit to more Minds than a key may be limited to.
///
/// # Errors
/// `invalid_parameter`
pub fn check_count(minds: usize) -> Result<()> {
    match minds <= MINDS {
        true => Ok(()),
        false => Err(Error::invalid(
            "minds",
            format!("a key is limited to {MINDS} Minds at most; leave `minds` out for all of them"),
        )),
    }
}

fn check_future(expires_at: Option<jiff::Timestamp>) -> Result<()> {
    match expires_at {
        Some(at) if at.as_microsecond() <= now() => Err(Error::invalid(
            "expires_at",
            format!("{at} is in the past; send a future time"),
        )),
        _ => Ok(()),
    }
}

/// The keys of a workspace, oldest first.
///
/// # Errors
/// When the store fails.
pub async fn list(store: &Store, workspace: &str) -> Result<Vec<Key>> {
    store::list(store, workspace).await
}

/// Revokes a key. `by` is the caller; `None` is the command line.
///
/// # Errors
/// `key_not_found`; `resource_in_use` for the last key that can create every other; `wrong_state` for the configured key;
/// `forbidden`.
pub async fn revoke(store: &Store, by: Option<&Caller>, workspace: &str, id: &str) -> Result<()> {
    let mut tx = begin(store, by).await?;
    let key = store::get(&mut *tx, workspace, id)
        .await?
        .ok_or_else(not_found)?;
    if let Some(caller) = by {
        caller.check_may_revoke(&key)?;
    }
    check_changeable(&key)?;
    if key.revoked_at.is_some() {
        return Ok(());
    }
    if !key.has_expired() {
        check_not_last(&mut tx, &key).await?;
    }
    store::revoke(&mut tx, id).await?;
    Ok(tx.commit().await?)
}

/// Gives a key a new text, and a new expiry if given. `by` is the caller; `None` is the command line.
///
/// # Errors
/// `key_not_found`; `resource_in_use` when the last key that can create every other would expire; `wrong_state` for a key
/// that is revoked, expired without a new expiry, configured, or not written with these secret keys; `invalid_parameter` for
/// an expiry in the past; `forbidden`.
pub async fn rotate(
    store: &Store,
    keys: &SecretKeys,
    by: Option<&Caller>,
    workspace: &str,
    id: &str,
    expires_at: Option<Option<jiff::Timestamp>>,
) -> Result<(Key, KeyText)> {
    check_future(expires_at.flatten())?;
    let mut tx = begin(store, by).await?;
    let mut key = store::get(&mut *tx, workspace, id)
        .await?
        .ok_or_else(not_found)?;
    let ends = expires_at.unwrap_or(key.expires_at);
    if let Some(caller) = by {
        caller.check_may_rotate(&key, ends)?;
    }
    check_changeable(&key)?;
    if key.revoked_at.is_some() {
        let message = "this key is revoked; create another one";
        return Err(Error::new(Code::WrongState, message));
    }
    if key.has_expired() && expires_at.is_none() {
        let message = "this key has expired, and so would its new text; send a new `expires_at`";
        return Err(Error::new(Code::WrongState, message).param("expires_at"));
    }
    // A key that expires anyway was not such a key.
    if key.expires_at.is_none() && ends.is_some() {
        check_not_last(&mut tx, &key).await?;
    }
    let (claims, proof) = store::claimed(&mut tx, id).await?;
    if !claims.is_proven(keys, proof.as_deref()) {
        let message = "this key was modified outside Mindhost; create another one";
        return Err(Error::new(Code::WrongState, message));
    }
    let text = new_text()?;
    key.prefix = prefix(&text).to_owned();
    key.expires_at = ends;
    let claims = claims.with_text(&hash(&text), ends.map(|at| at.as_microsecond()));
    let proof = claims.prove(keys)?;
    store::replace_text(&mut tx, &key.prefix, claims, proof).await?;
    tx.commit().await?;
    Ok((key, text))
}

fn check_changeable(key: &Key) -> Result<()> {
    match key.id == store::CONFIGURED_KEY {
        false => Ok(()),
        true => Err(Error::new(
            Code::WrongState,
            "this key is set by MINDHOST_ADMIN_KEY; change or unset that and restart",
        )),
    }
}

/// Refuses to end the last admin key of a workspace and the last operator key of all, after which no one could create
/// keys.
async fn check_not_last(tx: &mut Tx, key: &Key) -> Result<()> {
    if key.role < Role::Admin || key.minds.is_some() {
        return Ok(());
    }
    let role = if key.role == Role::Operator && store::other_operators(tx, key).await? == 0 {
        "operator"
    } else if store::other_admins(tx, key).await? == 0 {
        "admin"
    } else {
        return Ok(());
    };
    let message = format!(
        "this is the last key that can create every other; first create another one with the role {role}, for all Minds \
         and with an expiry no earlier than this one's"
    );
    Err(Error::new(Code::InUse, message))
}

/// Those of some keys that are revoked, expired or deleted with their workspace.
///
/// # Errors
/// When the store fails.
pub async fn invalid(store: &Store, mut ids: Vec<String>) -> Result<Vec<String>> {
    let valid = store::valid(store, &ids).await?;
    // The configured key is valid on the host where it is set, whatever another host wrote about it.
    ids.retain(|id| id != store::CONFIGURED_KEY && !valid.contains_key(id));
    Ok(ids)
}

/// Those of some keys that are invalid as in [`invalid`], or that were rotated after the use.
///
/// # Errors
/// When the store fails.
pub async fn ended(store: &Store, mut used: Vec<UsedKey>) -> Result<Vec<UsedKey>> {
    let ids: Vec<String> = used.iter().map(|key| key.id.to_string()).collect();
    let valid = store::valid(store, &ids).await?;
    used.retain(|key| key.has_ended(&valid));
    Ok(used)
}

/// Creates the first key of a store, with the role `operator`. `hand_over` gets its text before it becomes valid; if
/// that fails there is no key, and the next start tries again.
///
/// # Errors
/// When the store or `hand_over` fails.
pub async fn first_key(
    store: &Store,
    keys: &SecretKeys,
    workspace: &str,
    hand_over: impl FnOnce(&str) -> std::io::Result<()>,
) -> Result<bool> {
    let mut tx = store.begin().await?;
    if !store::claim_first_key(&mut tx).await? {
        return Ok(false);
    }
    let new = NewKey {
        name: "first key".to_owned(),
        role: Role::Operator,
        minds: None,
        expires_at: None,
        compat: None,
        attributes: Attributes::new(),
        policies: Arc::default(),
    };
    let text = new_text()?;
    let (prefix, hash) = (prefix(&text), hash(&text));
    store::insert(&mut *tx, workspace, &new, prefix, &hash, keys).await?;
    hand_over(&text).map_err(Error::internal)?;
    tx.commit().await?;
    Ok(true)
}

fn not_found() -> Error {
    Error::new(
        Code::KeyNotFound,
        "there is no key with this id; `GET /keys` lists them",
    )
}

fn new_text() -> Result<KeyText> {
    let mut bytes = Zeroizing::new([0_u8; 32]);
    getrandom::fill(&mut *bytes).map_err(|e| Error::internal(e.to_string()))?;
    Ok(Zeroizing::new(format!(
        "mh_{}",
        URL_SAFE_NO_PAD.encode(*bytes)
    )))
}

/// Eight characters of 43: enough to tell keys apart, too few to help guessing.
fn prefix(text: &str) -> &str {
    text.get(..11).unwrap_or(text)
}

#[cfg(test)]
mod tests;
