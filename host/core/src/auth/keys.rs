//! Making, listing and revoking keys.

use std::collections::HashSet;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;
use zeroize::Zeroizing;

use super::{Auth, Caller, Compat, Role, begin, hash, store, width::Width};
use crate::secrets::SecretKeys;
use mindhost_base::{
    error::{Code, Error, Result},
    names,
};
use mindhost_store::{ResourceKind, Store, Tx, now};

/// A key as it is listed: never its text.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = KeyFacts)]
pub struct Key {
    /// Id.
    pub id: String,
    /// Id of its workspace.
    #[serde(skip)]
    pub workspace: String,
    /// For people.
    pub name: String,
    /// The first characters, to recognise it by.
    pub prefix: String,
    /// What it may do.
    pub role: Role,
    /// Ids of the Minds that it is limited to; `None` means all. Shown as names.
    #[serde(skip)]
    pub minds: Option<Vec<String>>,
    /// Shapes of answers.
    #[schema(required = true)]
    pub compat: Option<Compat>,
    /// When it was made.
    pub created_at: jiff::Timestamp,
    /// Not valid from then on.
    #[schema(required = true)]
    pub expires_at: Option<jiff::Timestamp>,
    /// Not valid since then.
    #[schema(required = true)]
    pub revoked_at: Option<jiff::Timestamp>,
    /// Written at most once a minute.
    #[schema(required = true)]
    pub last_used_at: Option<jiff::Timestamp>,
}

/// What a new key shall be.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// For people; 1 to 100 characters.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// Ids of the Minds that it is limited to.
    pub minds: Option<Vec<String>>,
    /// Not valid from then on.
    pub expires_at: Option<jiff::Timestamp>,
    /// Shapes of answers.
    pub compat: Option<Compat>,
}

impl Key {
    /// Whether its end has passed.
    pub fn has_ended(&self) -> bool {
        self.expires_at
            .is_some_and(|at| at.as_microsecond() <= now())
    }
}

/// Minds that a key may be limited to; every request of the key looks through them.
pub const MINDS: usize = 256;

/// The text of a new key, which is shown once.
pub type KeyText = Zeroizing<String>;

impl Auth {
    /// Makes a key in the caller's workspace, no wider than the caller's own.
    ///
    /// # Errors
    /// `forbidden` when it would be wider in role, Minds or expiry.
    pub async fn create_key(&self, caller: &Caller, new: NewKey) -> Result<(Key, KeyText)> {
        caller.require(Role::Admin)?;
        caller.check_not_wider(Width::of(&new))?;
        let workspace = &caller.workspace;
        make(&self.store, &self.keys, Some(caller), workspace, new).await
    }

    /// Makes a key in any workspace, for an operator.
    ///
    /// # Errors
    /// `forbidden` below the role `operator`, or when the key would be wider than the caller's own.
    pub async fn create_key_in(
        &self,
        caller: &Caller,
        workspace: &str,
        new: NewKey,
    ) -> Result<(Key, KeyText)> {
        caller.require(Role::Operator)?;
        caller.check_not_wider(Width::of(&new))?;
        make(&self.store, &self.keys, Some(caller), workspace, new).await
    }

    /// Gives a key a new text; the old one ends at once. The key stays the same otherwise, so that what belongs to it
    /// is handed on. `expires_at` changes when it ends, if it is given.
    ///
    /// # Errors
    /// As [`rotate`]; `forbidden` for a key that is wider than the caller's own, since its text is in the answer.
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

    /// The keys of the caller's workspace; to a caller that is limited to some Minds, those that reach no other.
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
    /// `forbidden` below the role `admin`; `key_not_found`, also for one that reaches further than the caller sees.
    pub async fn find_key(&self, caller: &Caller, id: &str) -> Result<Key> {
        let keys = self.list_keys(caller).await?;
        let found = keys.into_iter().find(|key| key.id == id);
        found.ok_or_else(not_found)
    }

    /// Revokes a key, on this host at once.
    ///
    /// # Errors
    /// As [`revoke`]; `forbidden` for a key with a larger role.
    pub async fn revoke_key(&self, caller: &Caller, id: &str) -> Result<()> {
        caller.require(Role::Admin)?;
        revoke(&self.store, Some(caller), &caller.workspace, id).await?;
        self.cache.clear();
        Ok(())
    }
}

impl Caller {
    fn check_may_rotate(&self, key: &Key, expires_at: Option<jiff::Timestamp>) -> Result<()> {
        if !self.sees_key(key.minds.as_deref()) {
            return Err(not_found());
        }
        self.check_not_wider(Width {
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

/// Makes a key; the command line's way, which needs no caller.
///
/// # Errors
/// `invalid_parameter` for a name that nobody could read, for more Minds than [`MINDS`], and for an end that has passed.
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
    check_to_come(new.expires_at)?;
    if let Some(minds) = &mut new.minds {
        let mut seen = HashSet::new();
        minds.retain(|id| seen.insert(id.clone()));
        check_count(minds.len())?;
    }
    // Who is at the command line decides about the limit too.
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

fn check_to_come(expires_at: Option<jiff::Timestamp>) -> Result<()> {
    match expires_at {
        Some(at) if at.as_microsecond() <= now() => Err(Error::invalid(
            "expires_at",
            format!("{at} has passed; name a time to come"),
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

/// Revokes a key; `by` is who does it, and `None` the command line.
///
/// # Errors
/// `key_not_found`; `resource_in_use` for the last key that could make every other; `wrong_state` for one that is set
/// by the configuration; and where `by` may not.
pub async fn revoke(store: &Store, by: Option<&Caller>, workspace: &str, id: &str) -> Result<()> {
    let mut tx = begin(store, by).await?;
    let key = store::get(&mut tx, workspace, id)
        .await?
        .ok_or_else(not_found)?;
    if let Some(caller) = by {
        caller.check_may_revoke(&key)?;
    }
    check_changeable(&key)?;
    if key.revoked_at.is_some() {
        return Ok(());
    }
    if !key.has_ended() {
        check_not_last(&mut tx, &key).await?;
    }
    store::revoke(&mut tx, id).await?;
    Ok(tx.commit().await?)
}

/// Gives a key a new text, and another end if one is given; `by` is who does it, and `None` the command line.
///
/// # Errors
/// `key_not_found`; `resource_in_use` when the last key that could make every other would end; `wrong_state` for one
/// that is revoked, has ended and would stay so, is set by the configuration, or was not made by a server with these secret keys; `invalid_parameter` for an end that has
/// passed; and where `by` may not.
pub async fn rotate(
    store: &Store,
    keys: &SecretKeys,
    by: Option<&Caller>,
    workspace: &str,
    id: &str,
    expires_at: Option<Option<jiff::Timestamp>>,
) -> Result<(Key, KeyText)> {
    check_to_come(expires_at.flatten())?;
    let mut tx = begin(store, by).await?;
    let mut key = store::get(&mut tx, workspace, id)
        .await?
        .ok_or_else(not_found)?;
    let ends = expires_at.unwrap_or(key.expires_at);
    if let Some(caller) = by {
        caller.check_may_rotate(&key, ends)?;
    }
    check_changeable(&key)?;
    if key.revoked_at.is_some() {
        let message = "this key was revoked; make another one";
        return Err(Error::new(Code::WrongState, message));
    }
    if key.has_ended() && expires_at.is_none() {
        let message = "this key has ended, and so would its new text; give it another `expires_at`";
        return Err(Error::new(Code::WrongState, message).param("expires_at"));
    }
    // One that ends anyway loses nothing that it did not lack.
    if key.expires_at.is_none() && ends.is_some() {
        check_not_last(&mut tx, &key).await?;
    }
    let (claims, proof) = store::claimed(&mut tx, id).await?;
    if !claims.is_proven(keys, proof.as_deref()) {
        let message = "this key was modified outside Mindhost; make another one";
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

/// Refuses to end the last admin key of a workspace, and the last operator key of all: nobody could make another.
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
        "this is the last key that can make every other; first make another one with the role {role}, for all Minds and \
         with an end no sooner than this one's"
    );
    Err(Error::new(Code::InUse, message))
}

/// Those of some keys that are revoked, have ended or went with their workspace.
///
/// # Errors
/// When the store fails.
pub async fn ended(store: &Store, mut ids: Vec<String>) -> Result<Vec<String>> {
    let valid = store::valid(store, &ids).await?;
    // The configured one is valid where it is set, whatever another host says of it.
    ids.retain(|id| id != store::CONFIGURED_KEY && !valid.contains(id));
    Ok(ids)
}

/// On a store that never had a key, makes the first one, with the role `operator`. `hand_over` gets its text before
/// it becomes valid; when that fails there is no key, and the next start tries again.
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
