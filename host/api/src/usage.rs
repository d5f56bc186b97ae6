//! `/usage`: what keys have used.

use crate::{
    error::ApiResult,
    routes::{Routes, Tag, USER},
};
use axum::extract::State;
use jiff::{ToSpan, civil::Date, tz::TimeZone};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{extract::Query, list::limit};
use mindhost_base::error::Error;
use mindhost_core::{
    auth::{Caller, Role},
    usage::{Group, Line, Span, Usage},
};

/// `/usage`
pub(super) fn routes() -> Routes {
    Routes::of(Tag::Records).route(routes!(list), USER)
}

/// Lines of a list, by default and at most.
const DEFAULT_LIMIT: u32 = 1000;
const MAX_LIMIT: u32 = 10_000;

/// The parameters of a list; days in UTC, the last 30 unless asked otherwise.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct List {
    /// The first day, in UTC; 29 days before the last one unless given.
    #[param(example = "2026-01-01")]
    from: Option<Date>,
    /// The last day, in UTC; today unless given.
    #[param(example = "2026-01-31")]
    until: Option<Date>,
    /// What one key used; for admins, others see their own key alone.
    key_id: Option<String>,
    /// Sums by `key`, `mind` or `day`; unless given, there is a line for each key, Mind and day.
    #[param(inline)]
    group: Option<Group>,
    /// How many lines at most.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 10_000, default = 1000)]
    limit: Option<i64>,
}

/// What keys used: a line for each key, Mind and day, or sums.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Usage)]
pub(super) struct Account {
    #[schema(example = "list")]
    object: &'static str,
    /// The first day, in UTC.
    from: Date,
    /// The last day, in UTC.
    until: Date,
    data: Vec<Line>,
    /// Whether there are more lines than asked for.
    has_more: bool,
}

/// Lists what keys used
///
/// For admins all keys of the workspace, for others their own.
#[utoipa::path(get, path = "/usage", operation_id = "list_usage",
    params(List),
    responses((status = 200, body = Account, description = "Newest day first; sums of keys and Minds with most requests first.")))]
pub(super) async fn list(
    caller: Caller,
    State(usage): State<Usage>,
    Query(list): Query<List>,
) -> ApiResult<axum::Json<Account>> {
    let until = list
        .until
        .unwrap_or_else(|| jiff::Timestamp::now().to_zoned(TimeZone::UTC).date());
    let from = list.from.unwrap_or(until.saturating_sub(29.days()));
    if from > until {
        return Err(Error::invalid("from", "`from` is later than `until`").into());
    }
    let sees_all = caller.role >= Role::Admin && caller.minds.is_none();
    let span = Span {
        from,
        until,
        key: match sees_all {
            true => list.key_id,
            false => Some(caller.key_id.to_string()),
        },
        group: list.group,
        limit: limit(list.limit, DEFAULT_LIMIT, MAX_LIMIT)?,
    };
    let (lines, has_more) = usage.read(&caller.workspace, &span).await?;
    Ok(axum::Json(Account {
        object: "list",
        from,
        until,
        data: lines,
        has_more,
    }))
}
