//! The queries of idempotency keys. Stored outcomes count against the quota of their API keys, like conversations.

use sqlx::{AssertSqlSafe, Row};
use uuid::Uuid;

use super::{Outcome, Request, RequestKey};
use mindhost_base::error::{Error, Result};
use mindhost_store as store;
use mindhost_store::{ROW_BYTES, Store, Tx};

/// How long an outcome is kept.
const RETENTION_MICROS: i64 = 24 * 60 * 60 * 1_000_000;
/// Requests that are deleted in one transaction.
const DELETE_BATCH: usize = 1000;
/// The bytes that an outcome counts, in SQL, as [`bytes_of`] does.
const BYTES: &str = "CAST(octet_length(name) + octet_length(body) + 256 AS BIGINT)";

/// The bytes that an outcome counts for its key.
fn bytes_of(name: &str, body: &str) -> i64 {
    i64::try_from(ROW_BYTES + name.len() + body.len()).unwrap_or(i64::MAX)
}

/// The hash of a request and its outcome.
pub async fn find(store: &Store, key: &RequestKey) -> Result<Option<(Vec<u8>, Outcome)>> {
    let row = sqlx::query(
        "SELECT request, response_id, status, body FROM idempotency
         WHERE key_id = $1 AND route = $2 AND name = $3 AND created_at > $4",
    )
    .bind(&*key.key_id)
    .bind(key.route)
    .bind(&key.name)
    .bind(store::now() - RETENTION_MICROS)
    .fetch_optional(store.pool())
    .await?;
    let Some(row) = row else { return Ok(None) };
    let response: Option<String> = row.try_get("response_id")?;
    let outcome = match response {
        Some(id) => Outcome::Response(id.parse::<Uuid>().map_err(Error::internal)?),
        None => {
            let status: i64 = row.try_get("status")?;
            let status = u16::try_from(status).map_err(Error::internal)?;
            Outcome::Reply(status, row.try_get("body")?)
        }
    };
    Ok(Some((row.try_get("request")?, outcome)))
}

/// Stores the outcome of a request in place of an earlier one.
pub async fn put(store: &Store, request: &Request, outcome: &Outcome) -> Result<()> {
    let (response, status, body) = match outcome {
        Outcome::Response(id) => (Some(id.to_string()), 0, ""),
        Outcome::Reply(status, body) => (None, i64::from(*status), body.as_str()),
    };
    let (workspace, key) = (&request.workspace_id, &request.key);
    let mut tx = store.begin_records().await?;
    // First the key's sum, which makes other writers of its requests wait.
    let more = bytes_of(&key.name, body);
    store
        .count_stored(&mut tx, workspace, &key.key_id, more)
        .await?;
    let before = format!(
        "DELETE FROM idempotency WHERE key_id = $1 AND route = $2 AND name = $3 RETURNING {BYTES}"
    );
    let before = sqlx::query_scalar::<_, i64>(AssertSqlSafe(before))
        .bind(&*key.key_id)
        .bind(key.route)
        .bind(&key.name)
        .fetch_optional(&mut *tx)
        .await?;
    if let Some(before) = before {
        store::count(&mut tx, workspace, &key.key_id, -before).await?;
    }
    sqlx::query(
        "INSERT INTO idempotency (workspace_id, key_id, route, name, request, response_id, status, body, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(&**workspace)
    .bind(&*key.key_id)
    .bind(key.route)
    .bind(&key.name)
    .bind(request.hash.clone())
    .bind(response)
    .bind(status)
    .bind(body)
    .bind(store::now())
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}

/// Deletes outcomes that are older than a day.
pub async fn delete_expired(store: &Store) -> Result<()> {
    delete_before(store, store::now() - RETENTION_MICROS).await
}

/// Deletes in small transactions, so that no other writer waits long.
pub async fn delete_before(store: &Store, before: i64) -> Result<()> {
    let keys: Vec<(String, String)> = sqlx::query_as(
        "SELECT DISTINCT workspace_id, key_id FROM idempotency WHERE created_at <= $1",
    )
    .bind(before)
    .fetch_all(store.pool())
    .await?;
    for (workspace, key) in keys {
        loop {
            let mut tx = store.begin_records().await?;
            let deleted = delete_batch(&mut tx, &workspace, &key, before).await?;
            tx.commit().await?;
            if deleted < DELETE_BATCH {
                break;
            }
        }
    }
    Ok(())
}

async fn delete_batch(tx: &mut Tx, workspace: &str, key: &str, before: i64) -> Result<usize> {
    // The key's sum first, as in [`put`]: two that take rows and sum in other orders could wait for each other.
    store::count(tx, workspace, key, 0).await?;
    let sql = format!(
        "DELETE FROM idempotency WHERE key_id = $1 AND (route, name) IN (SELECT route, name FROM idempotency \
         WHERE key_id = $1 AND created_at <= $2 LIMIT {DELETE_BATCH}) RETURNING {BYTES}"
    );
    let deleted: Vec<i64> = sqlx::query_scalar(AssertSqlSafe(sql))
        .bind(key)
        .bind(before)
        .fetch_all(&mut **tx)
        .await?;
    store::count(tx, workspace, key, -deleted.iter().sum::<i64>()).await?;
    Ok(deleted.len())
}

/// What all keys have stored.
#[cfg(test)]
pub async fn stored_bytes(store: &Store) -> i64 {
    sqlx::query_scalar("SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM stored_bytes")
        .fetch_one(store.pool())
        .await
        .unwrap()
}
