//! The state of the secret keys in the store: the current one, the next one, and those that each server has.

mod rotation_lease;

use super::{KeyId, SecretKeys, check_value};
use mindhost_base::error::Result;
use mindhost_store::{Row, Store, Tx, now};

pub use rotation_lease::RotationLease;

/// The id of the next key. Servers that do not have it read their source again.
const NEXT: &str = "secret_key_next";

/// A server is running if it has reported within this time.
const ALIVE_MICROS: i64 = 45 * 1_000_000;

/// A server that uses the store.
#[derive(Clone, Debug)]
pub struct KeyHost {
    /// Where it runs, for people.
    pub name: String,
    /// Ids of the keys that it can open values with.
    pub key_ids: Vec<String>,
    /// Id of the key that it seals with.
    pub sealing: String,
}

impl KeyHost {
    /// Whether it has a key.
    pub fn has(&self, id: KeyId) -> bool {
        self.key_ids.contains(&id.to_string())
    }

    /// Whether it seals with a key.
    pub fn seals_with(&self, id: KeyId) -> bool {
        self.sealing == id.to_string()
    }
}

/// What proves that the store was written with a key, as far as the store has it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CheckValues {
    /// That of the current key.
    pub check: Option<Vec<u8>>,
    /// That of an earlier version.
    pub unbound: Option<Vec<u8>>,
}

pub(super) async fn known(store: &Store) -> Result<CheckValues> {
    Ok(CheckValues {
        check: store.fact(check_value::NAME).await?,
        unbound: store.fact(check_value::UNBOUND_NAME).await?,
    })
}

/// Whether the store has been upgraded: its keys are proven and its sealed values are bound.
///
/// # Errors
/// When the store fails.
pub async fn is_upgraded(tx: &mut Tx) -> Result<bool> {
    let found: Option<Vec<u8>> = sqlx::query_scalar("SELECT value FROM host_facts WHERE name = $1")
        .bind(check_value::NAME)
        .fetch_optional(&mut **tx)
        .await?;
    Ok(found.is_some())
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

/// Announces the next key to all servers, before any of them seals with it.
///
/// # Errors
/// When the store fails.
pub async fn announce(store: &Store, next: KeyId) -> Result<()> {
    set(store, NEXT, next.to_string().as_bytes()).await
}

/// The id of the announced key, while a rotation has not finished.
///
/// # Errors
/// When the store fails.
pub async fn announced(store: &Store) -> Result<Option<String>> {
    let next = store.fact(NEXT).await?;
    Ok(next.and_then(|text| String::from_utf8(text).ok()))
}

/// Switches all servers to the key that seals here.
///
/// # Errors
/// When the store fails.
pub async fn switch(store: &Store, keys: &SecretKeys) -> Result<()> {
    set(store, check_value::NAME, &check_value::seal(keys)?).await
}

/// Finishes a rotation.
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

/// The check value of the current key, and the id of the announced one.
pub(super) async fn target(store: &Store) -> Result<(Option<Vec<u8>>, Option<String>)> {
    let next = announced(store).await?;
    Ok((store.fact(check_value::NAME).await?, next))
}

/// Reports that a server is running, and which keys it has.
pub(super) async fn report(store: &Store, id: &str, name: &str, keys: &SecretKeys) -> Result<()> {
    let ids: Vec<_> = keys.ids().iter().map(ToString::to_string).collect();
    let gone = sqlx::query("DELETE FROM secret_key_hosts WHERE seen_at < $1");
    store.record(gone.bind(now() - ALIVE_MICROS)).await?;
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

/// Removes the report of a server that stops.
pub(super) async fn leave(store: &Store, id: &str) -> Result<()> {
    let gone = sqlx::query("DELETE FROM secret_key_hosts WHERE id = $1");
    store.record(gone.bind(id)).await?;
    Ok(())
}

/// The running servers.
///
/// # Errors
/// When the store fails.
pub async fn key_hosts(store: &Store) -> Result<Vec<KeyHost>> {
    let rows = sqlx::query(
        "SELECT name, key_ids, sealing FROM secret_key_hosts WHERE seen_at >= $1 ORDER BY name",
    )
    .bind(now() - ALIVE_MICROS)
    .fetch_all(store.pool())
    .await?;
    let key_host = |row: &mindhost_store::AnyRow| {
        let key_ids: String = row.try_get("key_ids")?;
        Ok(KeyHost {
            name: row.try_get("name")?,
            key_ids: key_ids.split(' ').map(str::to_owned).collect(),
            sealing: row.try_get("sealing")?,
        })
    };
    rows.iter().map(key_host).collect()
}
