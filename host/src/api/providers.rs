//! `/providers`

use std::sync::Arc;

use axum::{Extension, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    admission::Made,
    extract::{Json, Path, Query, present},
};
use crate::{
    auth::{Caller, Role},
    error::Result,
    providers::{Changes, NewProvider, Provider, Providers},
};

/// The body of `POST /providers`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    name: String,
    plugin: String,
    description: Option<String>,
    #[serde(default)]
    connection_data: Map<String, Value>,
    #[serde(default)]
    default: bool,
}

/// The body of `PUT` and `PATCH /providers/{name}`: what changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    name: Option<String>,
    plugin: Option<String>,
    #[serde(default, deserialize_with = "present")]
    description: Option<Option<String>>,
    connection_data: Option<Map<String, Value>>,
    default: Option<bool>,
}

/// `?check_connection=`
#[derive(Debug, Deserialize)]
pub(super) struct Check {
    check_connection: Option<bool>,
}

/// A provider as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    id: String,
    name: String,
    plugin: String,
    description: String,
    default: bool,
    created_at: jiff::Timestamp,
    modified_at: jiff::Timestamp,
    /// For admins; every secret masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    connection_data: Option<Map<String, Value>>,
}

/// `POST /providers`
pub(super) async fn create(
    caller: Caller,
    State(providers): State<Arc<Providers>>,
    Query(query): Query<Check>,
    Json(body): Json<Create>,
) -> Result<(StatusCode, Extension<Made>, axum::Json<Shown>)> {
    let new = NewProvider {
        name: body.name,
        plugin: body.plugin,
        description: body.description.unwrap_or_default(),
        connection_data: body.connection_data,
        is_default: body.default,
    };
    let check = query.check_connection.unwrap_or(true);
    let provider = providers.create(&caller, new, check).await?;
    let made = Extension(Made(provider.name.clone()));
    Ok((
        StatusCode::CREATED,
        made,
        axum::Json(shown(&caller, provider)),
    ))
}

/// `PUT` and `PATCH /providers/{name}`
pub(super) async fn update(
    caller: Caller,
    State(providers): State<Arc<Providers>>,
    Path(name): Path<String>,
    Query(query): Query<Check>,
    Json(body): Json<Update>,
) -> Result<axum::Json<Shown>> {
    let changes = Changes {
        name: body.name,
        plugin: body.plugin,
        description: body.description.map(Option::unwrap_or_default),
        connection_data: body.connection_data,
        is_default: body.default,
    };
    let check = query.check_connection.unwrap_or(true);
    let provider = providers.update(&caller, &name, changes, check).await?;
    Ok(axum::Json(shown(&caller, provider)))
}

/// `GET /providers`
pub(super) async fn list(
    caller: Caller,
    State(providers): State<Arc<Providers>>,
) -> Result<axum::Json<Vec<Shown>>> {
    let all = providers.list(&caller).await?;
    Ok(axum::Json(
        all.into_iter().map(|one| shown(&caller, one)).collect(),
    ))
}

/// `GET /providers/{name}`
pub(super) async fn get(
    caller: Caller,
    State(providers): State<Arc<Providers>>,
    Path(name): Path<String>,
) -> Result<axum::Json<Shown>> {
    let provider = providers.get(&caller, &name).await?;
    Ok(axum::Json(shown(&caller, provider)))
}

/// `DELETE /providers/{name}`
pub(super) async fn delete(
    caller: Caller,
    State(providers): State<Arc<Providers>>,
    Path(name): Path<String>,
) -> Result<StatusCode> {
    providers.delete(&caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn shown(caller: &Caller, provider: Provider) -> Shown {
    let admin = caller.role >= Role::Admin;
    Shown {
        id: provider.id,
        name: provider.name,
        plugin: provider.plugin,
        description: provider.description,
        default: provider.is_default,
        created_at: provider.created_at,
        modified_at: provider.modified_at,
        connection_data: admin.then_some(provider.connection_data.shown),
    }
}
