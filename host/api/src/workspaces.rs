//! `/workspaces`, for operators.

use crate::{
    error::ApiResult,
    routes::{NAME, OPERATOR, Routes, STORING, Tag},
};
use std::sync::Arc;

use axum::{Extension, extract::State, http::StatusCode};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    admission::{CreatedIn, CreatedName},
    extract::{Json, Path},
    keys::{CreatedKey, NewInWorkspace},
};
use mindhost_answers::answering::Answering;
use mindhost_base::error::Code;
use mindhost_core::{
    auth::{Auth, Caller},
    workspaces::{Workspace, Workspaces},
};

/// `/workspaces`
pub(super) fn routes() -> Routes {
    let create = OPERATOR
        .beyond_minds("make a workspace")
        .fails(&[Code::NameTaken])
        .leads_to(
            NAME,
            &["get_workspace", "create_workspace_key", "delete_workspace"],
        );
    let known = |what| {
        OPERATOR
            .beyond_minds(what)
            .fails(&[Code::WorkspaceNotFound])
    };
    let create_key = known("make keys of other workspaces").fails(STORING);
    let delete = known("delete a workspace").fails(&[Code::InUse, Code::WrongState]);
    Routes::of(Tag::Workspaces)
        .route(
            routes!(self::list),
            OPERATOR.beyond_minds("list workspaces"),
        )
        .route(routes!(self::create), create)
        .route(routes!(self::get), known("look into workspaces"))
        .route(routes!(self::delete), delete)
        .route(routes!(self::create_key), create_key)
}

/// The body of `POST /workspaces`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewWorkspace)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    /// Unique in the store.
    #[schema(pattern = "^[A-Za-z][A-Za-z0-9_-]{0,63}$", example = "team")]
    name: String,
}

/// Lists the workspaces
#[utoipa::path(get, path = "/workspaces", operation_id = "list_workspaces",
    responses((status = 200, body = Vec<Workspace>, description = "All of them, by name.")))]
pub(super) async fn list(
    caller: Caller,
    State(workspaces): State<Workspaces>,
) -> ApiResult<axum::Json<Vec<Workspace>>> {
    Ok(axum::Json(workspaces.list(&caller).await?))
}

/// Makes a workspace
#[utoipa::path(post, path = "/workspaces", operation_id = "create_workspace",
    responses((status = 201, body = Workspace, description = "The new workspace.")))]
pub(super) async fn create(
    caller: Caller,
    State(workspaces): State<Workspaces>,
    Json(body): Json<Create>,
) -> ApiResult<(StatusCode, Extension<CreatedName>, axum::Json<Workspace>)> {
    let workspace = workspaces.create(&caller, &body.name).await?;
    let made = Extension(CreatedName(workspace.name.clone()));
    Ok((StatusCode::CREATED, made, axum::Json(workspace)))
}

/// Gets a workspace
#[utoipa::path(get, path = "/workspaces/{name}", operation_id = "get_workspace",
    responses((status = 200, body = Workspace, description = "The workspace.")))]
pub(super) async fn get(
    caller: Caller,
    State(workspaces): State<Workspaces>,
    Path(name): Path<String>,
) -> ApiResult<axum::Json<Workspace>> {
    Ok(axum::Json(workspaces.get(&caller, &name).await?))
}

/// Deletes a workspace with its keys, conversations and providers
///
/// Refused while it has datasources or Minds, and for `default` and the workspace of the caller's key.
#[utoipa::path(delete, path = "/workspaces/{name}", operation_id = "delete_workspace",
    responses((status = 204, description = "Deleted.")))]
pub(super) async fn delete(
    caller: Caller,
    State(workspaces): State<Workspaces>,
    State(answering): State<Answering>,
    Path(name): Path<String>,
) -> ApiResult<StatusCode> {
    workspaces.delete(&caller, &name).await?;
    answering.stop_answers_of_ended_keys().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes a key of a workspace, such as its first
#[utoipa::path(post, path = "/workspaces/{name}/keys", operation_id = "create_workspace_key",
    responses((status = 201, body = CreatedKey, description = "The new key, with its text: this once.")))]
pub(super) async fn create_key(
    caller: Caller,
    State(workspaces): State<Workspaces>,
    State(auth): State<Arc<Auth>>,
    Path(name): Path<String>,
    Json(body): Json<NewInWorkspace>,
) -> ApiResult<(
    StatusCode,
    Extension<CreatedIn>,
    Extension<CreatedName>,
    axum::Json<CreatedKey>,
)> {
    let workspace = workspaces.get(&caller, &name).await?;
    let made = auth
        .create_key_in(&caller, &workspace.id, body.into())
        .await?;
    let created = CreatedKey::of_all_minds(made);
    let there = Extension(CreatedIn(workspace.id));
    Ok((
        StatusCode::CREATED,
        there,
        created.made(),
        axum::Json(created),
    ))
}
