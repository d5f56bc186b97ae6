//! `/running`: what the server works on now.

use crate::{
    error::ApiResult,
    routes::{Routes, Tag, USER},
};
use axum::extract::State;
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{ask, extract::Path};
use mindhost_answers::{
    jobs::{Job, Kind},
    running::RunningWork,
};
use mindhost_base::error::Code;
use mindhost_core::auth::Caller;

/// `/running`
pub(super) fn routes() -> Routes {
    let stop = USER.fails(&[Code::NotRunning, Code::WrongState]);
    Routes::of(Tag::Records)
        .route(routes!(self::list), USER)
        .route(routes!(self::stop), stop)
}

/// An answer, page or export that is being made.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Running)]
pub(super) struct RunningBody {
    /// For an answer, the id of its response.
    #[schema(example = "0190e4c7-3f2a-7b1c-8d5e-6f708192a3b4")]
    id: String,
    kind: Kind,
    /// Id of the key that it runs for.
    key_id: String,
    /// Name of the Mind.
    mind: String,
    /// The start of the question or statement. Null if the response is not stored, or if another host makes it.
    #[schema(required = true)]
    text: Option<String>,
    /// Whether it goes on without its client.
    background: bool,
    /// Whether the host that answers this request does it. Pages and exports are only listed by their own host.
    on_this_host: bool,
    started_at: Timestamp,
}

impl From<Job> for RunningBody {
    fn from(running: Job) -> Self {
        Self {
            id: running.id.to_string(),
            kind: running.kind,
            key_id: running.key_id,
            mind: running.mind_name,
            text: running.text,
            background: running.background,
            on_this_host: running.is_here,
            started_at: running.started_at,
        }
    }
}

/// All that runs.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunningList)]
pub(super) struct All {
    #[schema(example = "list")]
    object: &'static str,
    data: Vec<RunningBody>,
}

/// Lists what runs now
///
/// Answers, pages and exports; for admins those of all keys of the workspace, for others their own.
#[utoipa::path(get, path = "/running", operation_id = "list_running",
    responses((status = 200, body = All, description = "The oldest first.")))]
pub(super) async fn list(
    caller: Caller,
    State(work): State<RunningWork>,
) -> ApiResult<axum::Json<All>> {
    let all = work.list(&caller).await?;
    Ok(axum::Json(All {
        object: "list",
        data: all.into_iter().map(RunningBody::from).collect(),
    }))
}

/// Stops what runs
///
/// Down to its statement in the database. The answer ends as `cancelled`, a page with the error `cancelled`, and an export
/// breaks off.
#[utoipa::path(post, path = "/running/{id}/cancel", operation_id = "stop_running",
    responses((status = 200, body = RunningBody, description = "What was stopped.")))]
pub(super) async fn stop(
    caller: Caller,
    State(work): State<RunningWork>,
    Path(id): Path<String>,
) -> ApiResult<axum::Json<RunningBody>> {
    let id = ask::id(&id, "resp_", "id", Code::NotRunning)?;
    Ok(axum::Json(work.stop(&caller, id).await?.into()))
}
