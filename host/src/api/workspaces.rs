//! `/workspaces`, for operators.

use std::sync::Arc;

use axum::{Extension, extract::State, http::StatusCode};
use serde::Deserialize;

use super::{
    admission::Made,
    extract::{Json, Path},
    keys::{Created, NewInWorkspace},
};
use crate::{
    auth::{Auth, Caller},
    error::Result,
    workspaces::{Workspace, Workspaces},
};

/// The body of `POST /workspaces`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    name: String,
}

/// `GET /workspaces`
pub(super) async fn list(
    caller: Caller,
    State(workspaces): State<Workspaces>,
) -> Result<axum::Json<Vec<Workspace>>> {
    Ok(axum::Json(workspaces.list(&caller).await?))
}

/// `POST /workspaces`
pub(super) async fn create(
    caller: Caller,
    State(workspaces): State<Workspaces>,
    Json(body): Json<Create>,
) -> Result<(StatusCode, Extension<Made>, axum::Json<Workspace>)> {
    let workspace = workspaces.create(&caller, &body.name).await?;
    let made = Extension(Made(workspace.name.clone()));
    Ok((StatusCode::CREATED, made, axum::Json(workspace)))
}

/// `GET /workspaces/{name}`
pub(super) async fn get(
    caller: Caller,
    State(workspaces): State<Workspaces>,
    Path(name): Path<String>,
) -> Result<axum::Json<Workspace>> {
    Ok(axum::Json(workspaces.get(&caller, &name).await?))
}

/// `DELETE /workspaces/{name}`
pub(super) async fn delete(
    caller: Caller,
    State(workspaces): State<Workspaces>,
    Path(name): Path<String>,
) -> Result<StatusCode> {
    workspaces.delete(&caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /workspaces/{name}/keys`: a key of that workspace, such as its first.
pub(super) async fn create_key(
    caller: Caller,
    State(workspaces): State<Workspaces>,
    State(auth): State<Arc<Auth>>,
    Path(name): Path<String>,
    Json(body): Json<NewInWorkspace>,
) -> Result<(StatusCode, Extension<Made>, axum::Json<Created>)> {
    let workspace = workspaces.get(&caller, &name).await?;
    let made = auth
        .create_key_in(&caller, &workspace.id, body.into())
        .await?;
    let created = Created::of_all_minds(made);
    Ok((StatusCode::CREATED, created.made(), axum::Json(created)))
}
