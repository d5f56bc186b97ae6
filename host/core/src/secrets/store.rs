//! What the store knows of secret keys: which one seals, which one is to, and which ones its servers have.

mod claim;

use super::{KeyId, SecretKeys, load};
use mindhost_base::error::Result;
use mindhost_store::{Row, Store, Tx, now};

pub use claim::Claim;

/// A value that the key that seals has sealed.
pub(super) const KEY: &str = "secret_key";
/// The same of versions that did not bind values to where they go.
pub(super) const UNBOUND: &str = "secret_key_check";
/// The id of the key that is to seal next: servers that do not have it look into their source again.
const NEXT: &str = "secret_key_next";

/// A server that was heard of less long ago than this is there.
const THERE: i64 = 45 * 1_000_000;

/// A server of the store.
#[derive(Clone, Debug)]
pub struct Follower {
    /// For people: where it is.
    pub name: String,
    /// Ids of the keys that it has.
    pub key_ids: Vec<String>,
    /// Id of the one that it seals with.
    pub sealing: String,
}

impl Follower {
    /// Whether it has a key.
    pub fn has(&self, id: KeyId) -> bool {
        self.key_ids.contains(&id.to_string())
    }

    /// Whether it seals with a key.
    pub fn seals_with(&self, id: KeyId) -> bool {
        self.sealing == id.to_string()
    }
}

pub(super) async fn known(store: &Store) -> Result<load::Known> {
    Ok(load::Known {
        check: store.fact(KEY).await?,
        unbound: store.fact(UNBOUND).await?,
    })
}

/// Whether what the store holds is proven and bound.
///
/// # Errors
/// When the store fails.
pub async fn is_settled(tx: &mut Tx) -> Result<bool> {
    let found: Option<Vec<u8>> = sqlx::query_scalar("SELECT value FROM host_facts WHERE name = $1")
        .bind(KEY)
        .fetch_optional(&mut **tx)
        .await?;
    Ok(found.is_some())
}

/// Notes that what the store holds is proven and bound under these keys. False when that was noted already.
///
/// # Errors
/// When the store fails.
pub async fn settle(tx: &mut Tx, keys: &SecretKeys) -> Result<bool> {
    load::settle(tx, keys).await
}

pub(super) async fn add(tx: &mut Tx, name: &str, value: &[u8]) -> Result<bool> {
    let added = sqlx::query(
        "INSERT INTO host_facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
    )
    .bind(name)
    .bind(value.to_vec())
    .execute(&mut **tx)
    .await?;
    Ok(added.rows_affected() == 1)
}

pub(super) async fn remove(tx: &mut Tx, name: &str) -> Result<()> {
    sqlx::query("DELETE FROM host_facts WHERE name = $1")
        .bind(name)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Tells all servers which key is to seal next, before any does.
///
/// # Errors
/// When the store fails.
pub async fn announce(store: &Store, next: KeyId) -> Result<()> {
    set(store, NEXT, next.to_string().as_bytes()).await
}

/// The id of the key that is or was to seal next, when a change of the key has not ended.
///
/// # Errors
/// When the store fails.
pub async fn announced(store: &Store) -> Result<Option<String>> {
    let next = store.fact(NEXT).await?;
    Ok(next.and_then(|text| String::from_utf8(text).ok()))
}

/// Has all servers seal with the key that seals here.
///
/// # Errors
/// When the store fails.
pub async fn switch(store: &Store, keys: &SecretKeys) -> Result<()> {
    set(store, KEY, &load::check(keys)?).await
}

/// Ends a change of the key.
///
/// # Errors
/// When the store fails.
pub async fn finish(store: &Store) -> Result<()> {
    let mut tx = store.begin().await?;
    remove(&mut tx, NEXT).await?;
    Ok(tx.commit().await?)
}

async fn set(store: &Store, name: &str, value: &[u8]) -> Result<()> {
    let set = sqlx::query(
        "INSERT INTO host_facts (name, value) VALUES ($1, $2) \
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    );
    store.change(set.bind(name).bind(value.to_vec())).await?;
    Ok(())
}

/// The check of the key that seals, and the id of the next one, if there is to be another.
pub(super) async fn wanted(store: &Store) -> Result<(Option<Vec<u8>>, Option<String>)> {
    let next = announced(store).await?;
    Ok((store.fact(KEY).await?, next))
}

/// Notes that a server is there, and what it has.
pub(super) async fn note(store: &Store, id: &str, name: &str, keys: &SecretKeys) -> Result<()> {
    let ids: Vec<_> = keys.ids().iter().map(ToString::to_string).collect();
    let gone = sqlx::query("DELETE FROM secret_key_hosts WHERE seen_at < $1");
    store.record(gone.bind(now() - THERE)).await?;
    let here = sqlx::query(
        "INSERT INTO secret_key_hosts (id, name, key_ids, sealing, seen_at) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (id) DO UPDATE SET key_ids = excluded.key_ids, sealing = excluded.sealing, seen_at = excluded.seen_at",
    )
    .bind(id)
    .bind(name)
    .bind(ids.join(" "))
    .bind(keys.sealing().to_string())
    .bind(now());
    store.record(here).await?;
    Ok(())
}

/// Notes that a server is not there any more.
pub(super) async fn leave(store: &Store, id: &str) -> Result<()> {
    let gone = sqlx::query("DELETE FROM secret_key_hosts WHERE id = $1");
    store.record(gone.bind(id)).await?;
    Ok(())
}

/// The servers that are there.
///
/// # Errors
/// When the store fails.
pub async fn followers(store: &Store) -> Result<Vec<Follower>> {
    let rows = sqlx::query(
        "SELECT name, key_ids, sealing FROM secret_key_hosts WHERE seen_at >= $1 ORDER BY name",
    )
    .bind(now() - THERE)
    .fetch_all(store.pool())
    .await?;
    let follower = |row: &mindhost_store::AnyRow| {
        let key_ids: String = row.try_get("key_ids")?;
        Ok(Follower {
            name: row.try_get("name")?,
            key_ids: key_ids.split(' ').map(str::to_owned).collect(),
            sealing: row.try_get("sealing")?,
        })
    };
    rows.iter().map(follower).collect()
}
