//! `/audit`: who did what.

use crate::{
    error::ApiResult,
    routes::{ADMIN, Routes, Tag},
};
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;
use uuid::Uuid;

use super::{
    extract::Query,
    list::{Page, limit},
};
use mindhost_base::error::{Error, Result};
use mindhost_core::{
    audit::{Audit, AuditFilter, Entry},
    auth::Caller,
};

/// `/audit`
pub(super) fn routes() -> Routes {
    Routes::of(Tag::Records).route(routes!(list), ADMIN.beyond_minds("read the audit trail"))
}

/// Entries of a list, by default and at most.
const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 1000;

/// The parameters of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct List {
    /// Id of an entry: only those older than it.
    #[param(value_type = Option<Uuid>)]
    after: Option<String>,
    /// Only what this key did.
    key_id: Option<String>,
    /// How many at most.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000, default = 100)]
    limit: Option<i64>,
}

/// Lists who did what, newest first
///
/// Everything but reading is noted, refused attempts too; never a secret and never a row of data.
#[utoipa::path(get, path = "/audit", operation_id = "list_audit",
    params(List),
    responses((status = 200, body = Page<Entry>, description = "A page of the audit trail.")))]
pub(super) async fn list(
    caller: Caller,
    State(audit): State<Audit>,
    Query(list): Query<List>,
) -> ApiResult<axum::Json<Page<Entry>>> {
    caller.require_all_minds("read the audit trail")?;
    let wanted = AuditFilter {
        after: list.after.as_deref().map(cursor).transpose()?,
        key: list.key_id,
        limit: limit(list.limit, DEFAULT_LIMIT, MAX_LIMIT)?,
    };
    let (entries, has_more) = audit.read(&caller.workspace, &wanted).await?;
    Ok(axum::Json(Page::new(
        &entries,
        |entry| entry.id.clone(),
        Entry::clone,
        has_more,
    )))
}

/// Of an entry that may be too old to be there still, but not of anything else: the page would be the newest again.
fn cursor(text: &str) -> Result<String> {
    let id = text.parse::<Uuid>().map_err(|_| {
        Error::invalid(
            "after",
            "`after` must be the id of an entry, such as `last_id` of the page before",
        )
    })?;
    Ok(id.to_string())
}
