//! `/usage`: what keys have used.

use axum::extract::State;
use jiff::{ToSpan, civil::Date, tz::TimeZone};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{audit::limit, extract::Query};
use crate::{
    auth::{Caller, Role},
    error::{Error, Result},
    usage::{Span, Usage},
};

/// Lines of a list, by default and at most.
const DEFAULT_LIMIT: u32 = 1000;
const MAX_LIMIT: u32 = 10_000;

/// The parameters of a list; days in UTC, the last 30 unless asked otherwise.
#[derive(Debug, Deserialize)]
pub(super) struct List {
    from: Option<Date>,
    until: Option<Date>,
    key_id: Option<String>,
    limit: Option<u32>,
}

/// `GET /usage`: for admins what all keys of the workspace used, for others what their own did.
pub(super) async fn list(
    caller: Caller,
    State(usage): State<Usage>,
    Query(list): Query<List>,
) -> Result<axum::Json<Value>> {
    let until = list
        .until
        .unwrap_or_else(|| jiff::Timestamp::now().to_zoned(TimeZone::UTC).date());
    let from = list.from.unwrap_or(until.saturating_sub(29.days()));
    if from > until {
        return Err(Error::invalid("from", "`from` is later than `until`"));
    }
    let sees_all = caller.role >= Role::Admin && caller.minds.is_none();
    let span = Span {
        from,
        until,
        key: match sees_all {
            true => list.key_id,
            false => Some(caller.key_id.to_string()),
        },
        limit: limit(list.limit, DEFAULT_LIMIT, MAX_LIMIT)?,
    };
    let (lines, has_more) = usage.read(&caller.workspace, &span).await?;
    Ok(axum::Json(json!({
        "object": "list",
        "from": from,
        "until": until,
        "data": lines,
        "has_more": has_more,
    })))
}
