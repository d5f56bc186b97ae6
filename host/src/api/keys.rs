//! `/keys`

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};

use super::extract::{Json, Path};
use crate::{
    auth::{
        Auth, Caller, Compat, Role,
        keys::{Key, NewKey},
    },
    error::Result,
};

/// The body of `POST /keys`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    name: String,
    role: Role,
    minds: Option<Vec<String>>,
    expires_at: Option<jiff::Timestamp>,
    compat: Option<Compat>,
}

/// A key with its text, which no other answer ever holds.
#[derive(Debug, Serialize)]
pub(super) struct Created {
    key: String,
    #[serde(flatten)]
    listed: Key,
}

/// `POST /keys`
pub(super) async fn create(
    caller: Caller,
    State(auth): State<Arc<Auth>>,
    Json(body): Json<Create>,
) -> Result<(StatusCode, axum::Json<Created>)> {
    let new = NewKey {
        name: body.name,
        role: body.role,
        minds: body.minds,
        expires_at: body.expires_at,
        compat: body.compat,
    };
    let (listed, text) = auth.create_key(&caller, new).await?;
    let created = Created {
        key: text.to_string(),
        listed,
    };
    Ok((StatusCode::CREATED, axum::Json(created)))
}

/// `GET /keys`
pub(super) async fn list(
    caller: Caller,
    State(auth): State<Arc<Auth>>,
) -> Result<axum::Json<Vec<Key>>> {
    Ok(axum::Json(auth.list_keys(&caller).await?))
}

/// `DELETE /keys/{id}`
pub(super) async fn revoke(
    caller: Caller,
    State(auth): State<Arc<Auth>>,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    auth.revoke_key(&caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
