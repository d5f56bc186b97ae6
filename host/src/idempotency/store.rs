//! The queries of remembered requests.

use sqlx::Row;
use uuid::Uuid;

use super::{Outcome, Place, Request};
use crate::{
    error::{Error, Result},
    store::{self, Store},
};

/// How long a request is remembered, in microseconds.
const REMEMBERED: i64 = 24 * 60 * 60 * 1_000_000;

/// The hash of a remembered request and what it came to.
pub async fn find(store: &Store, place: &Place) -> Result<Option<(Vec<u8>, Outcome)>> {
    let row = sqlx::query(
        "SELECT request, response_id, status, body FROM idempotency
         WHERE key_id = $1 AND route = $2 AND name = $3 AND created_at > $4",
    )
    .bind(&*place.key_id)
    .bind(place.route)
    .bind(&place.name)
    .bind(store::now() - REMEMBERED)
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

/// Remembers a request, and forgets what is older than a day.
pub async fn put(store: &Store, request: &Request, outcome: &Outcome) -> Result<()> {
    let (response, status, body) = match outcome {
        Outcome::Response(id) => (Some(id.to_string()), 0, ""),
        Outcome::Reply(status, body) => (None, i64::from(*status), body.as_str()),
    };
    let mut tx = store.begin_records().await?;
    sqlx::query("DELETE FROM idempotency WHERE created_at <= $1")
        .bind(store::now() - REMEMBERED)
        .execute(&mut *tx)
        .await?;
    sqlx::query(
        "INSERT INTO idempotency (workspace_id, key_id, route, name, request, response_id, status, body, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (key_id, route, name) DO UPDATE SET request = excluded.request,
             response_id = excluded.response_id, status = excluded.status, body = excluded.body,
             created_at = excluded.created_at",
    )
    .bind(&*request.workspace_id)
    .bind(&*request.place.key_id)
    .bind(request.place.route)
    .bind(&request.place.name)
    .bind(request.hash.clone())
    .bind(response)
    .bind(status)
    .bind(body)
    .bind(store::now())
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}
