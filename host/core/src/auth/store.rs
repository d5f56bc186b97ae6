//! The queries of keys.

pub mod proof;

use std::{collections::HashMap, sync::Arc};

use sqlx::Executor;

use self::proof::Claims;
use super::{
    Caller, Compat, Hash, Role,
    cache::CachedKey,
    key::{Key, NewKey},
    policies::KeyPolicies,
};
use crate::secrets::SecretKeys;
use mindhost_base::{
    error::{Code, Error, Result},
    names,
    policy::Attributes,
};
use mindhost_store::{
    AnyRow, Backend, CHUNK, DEFAULT_WORKSPACE, Row, Store, Tx, is_referenced, json, new_id, now,
    placeholders, timestamp, to_json,
};

/// The id of the row that stands for the configured admin key, so that what it makes has an owner.
pub(super) const CONFIGURED_KEY: &str = "00000000-0000-7000-8000-000000000001";

const COLUMNS: &str = "id, workspace_id, name, prefix, role, minds, compat, attributes, policies, \
     created_at, expires_at, revoked_at, last_used_at";

/// Writes the row of the configured admin key, with a hash that no key has.
pub(super) async fn configured_key(store: &Store, workspace: &str, set: bool) -> Result<()> {
    let insert = "INSERT INTO keys (id, workspace_id, name, prefix, hash, role, created_at) \
                  VALUES ($1, $2, $3, '', $4, 'operator', $5) ON CONFLICT (id) DO NOTHING";
    let mut tx = store.begin().await?;
    if set {
        sqlx::query(insert)
            .bind(CONFIGURED_KEY)
            .bind(workspace)
            .bind(names::CONFIGURED_KEY)
            .bind(b"configured".to_vec())
            .bind(now())
            .execute(&mut *tx)
            .await?;
    }
    sqlx::query("UPDATE keys SET revoked_at = $1 WHERE id = $2")
        .bind((!set).then(now))
        .bind(CONFIGURED_KEY)
        .execute(&mut *tx)
        .await?;
    Ok(tx.commit().await?)
}

/// Waits until no other transaction changes keys or workspaces.
pub(super) async fn wait_for_turn(store: &Store, tx: &mut Tx) -> Result<()> {
    // SQLite has one writer anyway.
    if store.backend() == Backend::Postgres {
        // The one row that is never deleted. References to it do not wait.
        sqlx::query("SELECT id FROM workspaces WHERE name = $1 FOR NO KEY UPDATE")
            .bind(DEFAULT_WORKSPACE)
            .execute(&mut **tx)
            .await?;
    }
    Ok(())
}

/// The row of a key that was found by its hash.
pub(super) struct KeyRow {
    pub found: CachedKey,
    /// The content of the row and its proof, not verified yet.
    pub claims: Claims,
    pub proof: Option<Vec<u8>>,
}

pub(super) async fn by_hash(
    executor: impl Executor<'_, Database = sqlx::Any>,
    hash: &Hash,
) -> Result<Option<KeyRow>> {
    let row = sqlx::query(
        "SELECT id, workspace_id, hash, role, minds, compat, attributes, policies, expires_at, proof, last_used_at \
         FROM keys \
         WHERE hash = $1 AND revoked_at IS NULL",
    )
    .bind(hash.to_vec())
    .fetch_optional(executor)
    .await?;
    row.map(|row| {
        let minds: Option<Vec<String>> = minds(&row)?;
        let expires_at: Option<i64> = row.try_get("expires_at")?;
        let (claims, proof) = proof::claimed(&row)?;
        let found = CachedKey {
            caller: Caller {
                workspace: row.try_get::<String, _>("workspace_id")?.into(),
                key_id: row.try_get::<String, _>("id")?.into(),
                role: role(&row)?,
                minds: minds.map(Into::into),
                expires_at: expires_at.map(timestamp),
                compat: compat(&row)?,
                hash: Some(*hash),
                tally: None,
                request_id: None,
                attributes: Arc::new(attributes(&row)?),
                policies: Arc::new(policies(&row)?),
            },
            last_used_at: row.try_get::<Option<i64>, _>("last_used_at")?.unwrap_or(0),
        };
        Ok(KeyRow {
            found,
            claims,
            proof,
        })
    })
    .transpose()
}

pub(super) async fn used(store: &Store, key_id: &str) -> Result<()> {
    let used = sqlx::query("UPDATE keys SET last_used_at = $1 WHERE id = $2")
        .bind(now())
        .bind(key_id);
    store.record(used).await?;
    Ok(())
}

/// Records that the first key exists. False if this or another host recorded it before.
pub(super) async fn claim_first_key(tx: &mut Tx) -> Result<bool> {
    let claimed = sqlx::query(
        "INSERT INTO host_facts (name, value) VALUES ('first_key', $1) ON CONFLICT (name) DO NOTHING",
    )
    .bind(vec![1_u8])
    .execute(&mut **tx)
    .await?;
    Ok(claimed.rows_affected() == 1)
}

pub(super) async fn insert(
    executor: impl Executor<'_, Database = sqlx::Any>,
    workspace: &str,
    new: &NewKey,
    prefix: &str,
    hash: &Hash,
    keys: &SecretKeys,
) -> Result<Key> {
    let (id, created_at) = (new_id(), now());
    let claims = Claims {
        id: id.clone(),
        workspace: workspace.to_owned(),
        hash: hash.to_vec(),
        role: new.role.as_str().to_owned(),
        minds: new.minds.as_ref().map(to_json).transpose()?,
        compat: new.compat.map(|Compat::MindsSdk| "minds-sdk".to_owned()),
        expires_at: new.expires_at.map(|at| at.as_microsecond()),
        attributes: match new.attributes.is_empty() {
            true => None,
            false => Some(to_json(&new.attributes)?),
        },
        policies: new.policies.text()?,
    };
    let proof = claims.prove(keys)?;
    sqlx::query(
        "INSERT INTO keys (id, workspace_id, name, prefix, hash, role, minds, compat, created_at, expires_at, proof, \
         attributes, policies) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    )
    .bind(claims.id)
    .bind(claims.workspace)
    .bind(&new.name)
    .bind(prefix)
    .bind(claims.hash)
    .bind(claims.role)
    .bind(claims.minds)
    .bind(claims.compat)
    .bind(created_at)
    .bind(claims.expires_at)
    .bind(proof)
    .bind(claims.attributes)
    .bind(claims.policies)
    .execute(executor)
    .await
    .map_err(|error| match is_referenced(&error) {
        true => Error::new(
            Code::WorkspaceNotFound,
            "the workspace of the new key no longer exists",
        ),
        false => error.into(),
    })?;
    Ok(Key {
        id,
        workspace: workspace.to_owned(),
        name: new.name.clone(),
        prefix: prefix.to_owned(),
        role: new.role,
        minds: new.minds.clone(),
        compat: new.compat,
        attributes: new.attributes.clone(),
        policies: Arc::clone(&new.policies),
        created_at: timestamp(created_at),
        expires_at: new.expires_at,
        revoked_at: None,
        last_used_at: None,
    })
}

/// Every key of the workspace, oldest first. Operator keys belong to one workspace too.
pub(super) async fn list(store: &Store, workspace: &str) -> Result<Vec<Key>> {
    let sql = format!("SELECT {COLUMNS} FROM keys WHERE workspace_id = $1 ORDER BY created_at, id");
    sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(workspace)
        .fetch_all(store.pool())
        .await?
        .iter()
        .map(key)
        .collect()
}

pub(super) async fn get(
    executor: impl Executor<'_, Database = sqlx::Any>,
    workspace: &str,
    id: &str,
) -> Result<Option<Key>> {
    let sql = format!("SELECT {COLUMNS} FROM keys WHERE workspace_id = $1 AND id = $2");
    let row = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(workspace)
        .bind(id)
        .fetch_optional(executor)
        .await?;
    row.as_ref().map(key).transpose()
}

/// The claims of a key and their proof.
pub(super) async fn claimed(tx: &mut Tx, id: &str) -> Result<(Claims, Option<Vec<u8>>)> {
    let sql = format!("SELECT {} FROM keys WHERE id = $1", proof::COLUMNS);
    let row = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(id)
        .fetch_one(&mut **tx)
        .await?;
    proof::claimed(&row)
}

/// How many other keys can replace an admin key: in its workspace, for all Minds, and for as long.
pub(super) async fn other_admins(tx: &mut Tx, key: &Key) -> Result<i64> {
    Ok(sqlx::query_scalar(
        "SELECT count(*) FROM keys WHERE workspace_id = $1 AND id <> $2 AND role IN ('admin', 'operator') \
         AND minds IS NULL AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at >= $3)",
    )
    .bind(&key.workspace)
    .bind(&key.id)
    .bind(ends(key))
    .fetch_one(&mut **tx)
    .await?)
}

/// How many other keys can replace an operator key: in any workspace, for all Minds, and for as long.
pub(super) async fn other_operators(tx: &mut Tx, key: &Key) -> Result<i64> {
    Ok(sqlx::query_scalar(
        "SELECT count(*) FROM keys WHERE id <> $1 AND role = 'operator' \
         AND minds IS NULL AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at >= $2)",
    )
    .bind(&key.id)
    .bind(ends(key))
    .fetch_one(&mut **tx)
    .await?)
}

fn ends(key: &Key) -> i64 {
    key.expires_at.map_or(i64::MAX, |at| at.as_microsecond())
}

/// Those of some keys that are still valid, with the hashes of their texts.
pub(super) async fn valid(store: &Store, ids: &[String]) -> Result<HashMap<String, Vec<u8>>> {
    let mut valid = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(CHUNK) {
        let sql = format!(
            "SELECT id, hash FROM keys WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) AND id IN ({})",
            placeholders(2, ids.len())
        );
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(now());
        for id in ids {
            query = query.bind(id);
        }
        for row in query.fetch_all(store.pool()).await? {
            valid.insert(row.try_get("id")?, row.try_get("hash")?);
        }
    }
    Ok(valid)
}

pub(super) async fn revoke(tx: &mut Tx, id: &str) -> Result<()> {
    sqlx::query("UPDATE keys SET revoked_at = $1, proof = NULL WHERE id = $2")
        .bind(now())
        .bind(id)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Stores a new text and expiry of a key, with their proof.
pub(super) async fn replace_text(
    tx: &mut Tx,
    prefix: &str,
    claims: Claims,
    proof: Vec<u8>,
) -> Result<()> {
    sqlx::query(
        "UPDATE keys SET hash = $1, prefix = $2, expires_at = $3, proof = $4 WHERE id = $5",
    )
    .bind(claims.hash)
    .bind(prefix)
    .bind(claims.expires_at)
    .bind(proof)
    .bind(claims.id)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

fn key(row: &AnyRow) -> Result<Key> {
    let at = |name| -> Result<Option<jiff::Timestamp>> {
        Ok(row.try_get::<Option<i64>, _>(name)?.map(timestamp))
    };
    Ok(Key {
        id: row.try_get("id")?,
        workspace: row.try_get("workspace_id")?,
        name: row.try_get("name")?,
        prefix: row.try_get("prefix")?,
        role: role(row)?,
        minds: minds(row)?,
        compat: compat(row)?,
        attributes: attributes(row)?,
        policies: Arc::new(policies(row)?),
        created_at: timestamp(row.try_get("created_at")?),
        expires_at: at("expires_at")?,
        revoked_at: at("revoked_at")?,
        last_used_at: at("last_used_at")?,
    })
}

fn minds(row: &AnyRow) -> Result<Option<Vec<String>>> {
    let text: Option<String> = row.try_get("minds")?;
    text.as_deref().map(json).transpose()
}

fn attributes(row: &AnyRow) -> Result<Attributes> {
    let text: Option<String> = row.try_get("attributes")?;
    let attributes = text.as_deref().map(json).transpose()?;
    Ok(attributes.unwrap_or_default())
}

fn policies(row: &AnyRow) -> Result<KeyPolicies> {
    let text: Option<String> = row.try_get("policies")?;
    KeyPolicies::read(text.as_deref())
}

fn role(row: &AnyRow) -> Result<Role> {
    match row.try_get::<String, _>("role")?.as_str() {
        "user" => Ok(Role::User),
        "editor" => Ok(Role::Editor),
        "admin" => Ok(Role::Admin),
        "operator" => Ok(Role::Operator),
        other => Err(Error::internal(format!("unknown role {other}"))),
    }
}

fn compat(row: &AnyRow) -> Result<Option<Compat>> {
    match row.try_get::<Option<String>, _>("compat")?.as_deref() {
        None => Ok(None),
        Some("minds-sdk") => Ok(Some(Compat::MindsSdk)),
        Some(other) => Err(Error::internal(format!("unknown compat {other}"))),
    }
}
