//! `/audit`: who did what.

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::Query;
use crate::{
    audit::{Audit, Wanted},
    auth::{Caller, Role},
    error::{Error, Result},
};

/// Entries of a list, by default and at most.
const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 1000;

/// The parameters of a list.
#[derive(Debug, Deserialize)]
pub(super) struct List {
    after: Option<String>,
    key_id: Option<String>,
    limit: Option<u32>,
}

/// `GET /audit`: newest first.
pub(super) async fn list(
    caller: Caller,
    State(audit): State<Audit>,
    Query(list): Query<List>,
) -> Result<axum::Json<Value>> {
    caller.require(Role::Admin)?;
    caller.require_all_minds("read the audit trail")?;
    let wanted = Wanted {
        after: list.after,
        key: list.key_id,
        limit: limit(list.limit, DEFAULT_LIMIT, MAX_LIMIT)?,
    };
    let (entries, has_more) = audit.read(&caller.workspace, &wanted).await?;
    Ok(axum::Json(json!({
        "object": "list",
        "first_id": entries.first().map(|entry| &entry.id),
        "last_id": entries.last().map(|entry| &entry.id),
        "data": entries,
        "has_more": has_more,
    })))
}

/// How many entries to list.
///
/// # Errors
/// `invalid_parameter` outside of 1 to `most`.
pub(super) fn limit(asked: Option<u32>, usual: u32, most: u32) -> Result<u32> {
    let limit = asked.unwrap_or(usual);
    match (1..=most).contains(&limit) {
        true => Ok(limit),
        false => Err(Error::invalid(
            "limit",
            format!("`limit` is a whole number from 1 to {most}"),
        )),
    }
}
