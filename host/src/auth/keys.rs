//! Making, listing and revoking keys.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;
use zeroize::Zeroizing;

use super::{Auth, Caller, Compat, Role, hash, store};
use crate::{
    error::{Code, Error, Result},
    store::Store,
};

/// A key as it is listed: never its text.
#[derive(Clone, Debug, Serialize)]
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
    /// Ids of the Minds that it is limited to; null means all.
    pub minds: Option<Vec<String>>,
    /// Shapes of answers.
    pub compat: Option<Compat>,
    /// When it was made.
    pub created_at: jiff::Timestamp,
    /// Not valid from then on.
    pub expires_at: Option<jiff::Timestamp>,
    /// Not valid since then.
    pub revoked_at: Option<jiff::Timestamp>,
    /// Written at most once a minute.
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

/// The text of a new key, which is shown once.
pub type KeyText = Zeroizing<String>;

impl Auth {
    /// Makes a key in the caller's workspace, no wider than the caller's own.
    ///
    /// # Errors
    /// `forbidden` when it would be wider in role, Minds or expiry.
    pub async fn create_key(&self, caller: &Caller, new: NewKey) -> Result<(Key, KeyText)> {
        caller.require(Role::Admin)?;
        if new.role > caller.role {
            let message = format!(
                "a key with the role {} cannot make one with {}",
                caller.role.as_str(),
                new.role.as_str()
            );
            return Err(Error::new(Code::Forbidden, message).param("role"));
        }
        if let Some(own) = &caller.minds {
            let within = new
                .minds
                .as_ref()
                .is_some_and(|minds| minds.iter().all(|id| own.contains(id)));
            if !within {
                return Err(Error::new(
                    Code::Forbidden,
                    "your key is limited to some Minds; name Minds among them",
                )
                .param("minds"));
            }
        }
        create(&self.store, &caller.workspace, new).await
    }

    /// The keys of the caller's workspace.
    ///
    /// # Errors
    /// `forbidden` below the role `admin`.
    pub async fn list_keys(&self, caller: &Caller) -> Result<Vec<Key>> {
        caller.require(Role::Admin)?;
        store::list(&self.store, &caller.workspace).await
    }

    /// Revokes a key, on this host at once.
    ///
    /// # Errors
    /// `key_not_found`; `resource_in_use` for the last key that could make others.
    pub async fn revoke_key(&self, caller: &Caller, id: &str) -> Result<()> {
        caller.require(Role::Admin)?;
        revoke(&self.store, &caller.workspace, id, caller.role).await?;
        self.cache.clear();
        Ok(())
    }
}

/// Makes a key; the command line's way, which needs no caller.
///
/// # Errors
/// `invalid_parameter` for a name that is empty or too long.
pub async fn create(store: &Store, workspace: &str, new: NewKey) -> Result<(Key, KeyText)> {
    if new.name.trim().is_empty() || new.name.chars().count() > 100 {
        return Err(Error::invalid(
            "name",
            "a key needs a name of 1 to 100 characters",
        ));
    }
    let text = new_text()?;
    let key = store::insert(store.pool(), workspace, &new, prefix(&text), &hash(&text)).await?;
    Ok((key, text))
}

/// The keys of a workspace, oldest first.
///
/// # Errors
/// When the store fails.
pub async fn list(store: &Store, workspace: &str) -> Result<Vec<Key>> {
    store::list(store, workspace).await
}

/// Revokes a key on behalf of someone with the role `by`.
///
/// # Errors
/// As [`Auth::revoke_key`].
pub async fn revoke(store: &Store, workspace: &str, id: &str, by: Role) -> Result<()> {
    let mut tx = store.begin().await?;
    let key = store::get(&mut tx, workspace, id).await?.ok_or_else(|| {
        Error::new(
            Code::KeyNotFound,
            "there is no key with this id; `GET /keys` lists them",
        )
    })?;
    if key.role > by {
        return Err(Error::new(
            Code::Forbidden,
            format!(
                "only a key with the role {} can revoke this one",
                key.role.as_str()
            ),
        ));
    }
    if key.id == store::CONFIGURED_KEY {
        return Err(Error::new(
            Code::WrongState,
            "this key is set by MINDHOST_ADMIN_KEY; unset that and restart",
        ));
    }
    if key.revoked_at.is_some() {
        return Ok(());
    }
    if key.role >= Role::Admin && store::other_admins(&mut tx, workspace, id).await? == 0 {
        return Err(Error::new(
            Code::InUse,
            "this is the last key that can make others; make another one with the role admin first",
        ));
    }
    store::revoke(&mut tx, id).await?;
    Ok(tx.commit().await?)
}

/// On a store that never had a key, makes the first one, with the role `operator`. `hand_over` gets its text before
/// it becomes valid; when that fails there is no key, and the next start tries again.
///
/// # Errors
/// When the store or `hand_over` fails.
pub async fn first_key(
    store: &Store,
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
    store::insert(&mut *tx, workspace, &new, prefix(&text), &hash(&text)).await?;
    hand_over(&text).map_err(Error::internal)?;
    tx.commit().await?;
    Ok(true)
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
