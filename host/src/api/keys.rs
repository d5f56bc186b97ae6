//! `/keys`

use std::{collections::HashMap, sync::Arc};

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};

use super::extract::{Json, Path};
use crate::{
    auth::{
        Auth, Caller, Compat, Role,
        keys::{Key, NewKey},
    },
    error::Result,
    minds::Minds,
};

/// The body of `POST /keys`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    name: String,
    role: Role,
    /// Names; the key is bound to these Minds even when they are renamed.
    minds: Option<Vec<String>>,
    expires_at: Option<jiff::Timestamp>,
    compat: Option<Compat>,
}

/// A key as it is shown. `minds` are names, as they are now; a deleted Mind is left out.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    #[serde(flatten)]
    key: Key,
    minds: Option<Vec<String>>,
}

/// A key with its text, which no other answer ever holds.
#[derive(Debug, Serialize)]
pub(super) struct Created {
    key: String,
    #[serde(flatten)]
    shown: Shown,
}

/// `POST /keys`
pub(super) async fn create(
    caller: Caller,
    State(auth): State<Arc<Auth>>,
    State(minds): State<Arc<Minds>>,
    Json(body): Json<Create>,
) -> Result<(StatusCode, axum::Json<Created>)> {
    caller.require(Role::Admin)?;
    let new = NewKey {
        minds: match &body.minds {
            Some(names) => Some(ids(&caller, &minds, names).await?),
            None => None,
        },
        name: body.name,
        role: body.role,
        expires_at: body.expires_at,
        compat: body.compat,
    };
    let (key, text) = auth.create_key(&caller, new).await?;
    let shown = Shown {
        key,
        minds: body.minds,
    };
    let created = Created {
        key: text.to_string(),
        shown,
    };
    Ok((StatusCode::CREATED, axum::Json(created)))
}

/// `GET /keys`
pub(super) async fn list(
    caller: Caller,
    State(auth): State<Arc<Auth>>,
    State(minds): State<Arc<Minds>>,
) -> Result<axum::Json<Vec<Shown>>> {
    let keys = auth.list_keys(&caller).await?;
    let names: HashMap<_, _> = minds
        .list(&caller)
        .await?
        .into_iter()
        .map(|mind| (mind.id, mind.name))
        .collect();
    let shown = keys.into_iter().map(|key| Shown {
        minds: key
            .minds
            .as_ref()
            .map(|ids| ids.iter().filter_map(|id| names.get(id).cloned()).collect()),
        key,
    });
    Ok(axum::Json(shown.collect()))
}

async fn ids(caller: &Caller, minds: &Minds, names: &[String]) -> Result<Vec<String>> {
    let mut ids = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let mind = minds.get(caller, name).await;
        let mind = mind.map_err(|error| error.param(format!("minds[{index}]")))?;
        ids.push(mind.id);
    }
    Ok(ids)
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
