//! `/keys`

pub(crate) mod policies;

use self::policies::{Policies, shown_new};
use crate::{
    error::ApiResult,
    policies::{POLICIES, PolicyEntry, ShownPolicy},
    routes::{ADMIN, ASKED, ID, Routes, STORING, Tag, USER},
};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use axum::{Extension, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    admission::CreatedName,
    extract::{Json, Path, exact, timestamp},
};
use mindhost_answers::answering::Answering;
use mindhost_base::{
    error::{Code, Result},
    policy::Attributes,
};
use mindhost_core::{
    auth::{
        Auth, Caller, Compat, Role,
        keys::{Key, KeyText, NewKey, check_count},
    },
    minds::Minds,
};
use mindhost_store::Store;

/// `/keys`
pub(super) fn routes() -> Routes {
    let create = ADMIN
        .fails(STORING)
        .fails(POLICIES)
        .fails(ASKED)
        .fails(&[Code::MindNotFound])
        .leads_to(ID, &["rotate_key", "revoke_key"]);
    let change = || ADMIN.fails(&[Code::KeyNotFound, Code::InUse, Code::WrongState]);
    Routes::of(Tag::Keys)
        .route(routes!(self::list), ADMIN)
        .route(routes!(self::current), USER)
        .route(routes!(self::create), create)
        .route(routes!(self::revoke), change())
        .route(routes!(self::rotate), change())
}

/// The body of `POST /keys`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewKey)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    /// A display name: one line of visible text, without letters that imitate those of another script.
    #[schema(
        min_length = 1,
        max_length = 100,
        pattern = "\\S",
        example = "dashboard"
    )]
    name: String,
    role: Role,
    /// Names of Minds. The key stays limited to these Minds even if they are renamed.
    #[schema(max_items = 256)]
    minds: Option<Vec<String>>,
    /// A future time at which the key expires. Default: never.
    #[serde(default, deserialize_with = "timestamp::option")]
    expires_at: Option<jiff::Timestamp>,
    /// The client whose shapes the key gets. With `minds-sdk`, a Mind has objects with name and tables in `datasources`,
    /// and one word as `status`. Default: the shapes of this document.
    compat: Option<Compat>,
    /// What policies know of the holder, by name: `{{caller.NAME}}` in a policy. They cannot be changed.
    #[serde(default, deserialize_with = "exact::attributes")]
    #[schema(value_type = HashMap<String, mindhost_base::policy::Attribute>)]
    attributes: Attributes,
    /// What the holder sees of tables, through every Mind and besides the policies of the Mind. For the role `user`
    /// only. They cannot be changed.
    #[serde(default)]
    #[schema(max_items = 100, required = false)]
    policies: Vec<PolicyEntry>,
}

/// The body of `POST /workspaces/{name}/keys`: as that of `POST /keys`, for all Minds and without policies.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewWorkspaceKey)]
#[serde(deny_unknown_fields)]
pub(super) struct NewInWorkspace {
    /// A display name: one line of visible text, without letters that imitate those of another script.
    #[schema(
        min_length = 1,
        max_length = 100,
        pattern = "\\S",
        example = "dashboard"
    )]
    name: String,
    role: Role,
    /// A future time at which the key expires. Default: never.
    #[serde(default, deserialize_with = "timestamp::option")]
    expires_at: Option<jiff::Timestamp>,
    /// The client whose shapes the key gets. With `minds-sdk`, a Mind has objects with name and tables in `datasources`,
    /// and one word as `status`. Default: the shapes of this document.
    compat: Option<Compat>,
    /// What policies know of the holder, by name: `{{caller.NAME}}` in a policy. They cannot be changed.
    #[serde(default, deserialize_with = "exact::attributes")]
    #[schema(value_type = HashMap<String, mindhost_base::policy::Attribute>)]
    attributes: Attributes,
}

/// The body of `POST /keys/{id}/rotate`. Without a body the expiry stays.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = RotateKey)]
#[serde(deny_unknown_fields)]
pub(super) struct Rotate {
    /// A new expiry in the future; null for none, absent to keep it.
    #[serde(default, deserialize_with = "timestamp::present")]
    #[schema(value_type = Option<jiff::Timestamp>)]
    expires_at: Option<Option<jiff::Timestamp>>,
}

/// A key. `minds` are current names; deleted Minds are left out.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Key)]
pub(super) struct KeyBody {
    #[serde(flatten)]
    key: Key,
    /// Names of the Minds that it is limited to; null for all Minds.
    #[schema(required = true)]
    minds: Option<Vec<String>>,
    /// What its holder sees of tables, besides the policies of Minds.
    policies: Vec<ShownPolicy>,
}

/// A new key with its text. No other answer contains the text.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CreatedKey)]
pub(super) struct CreatedKey {
    /// The text to send as `Authorization: Bearer …`.
    #[schema(example = "mh_4QxK…")]
    key: String,
    #[serde(flatten)]
    shown: KeyBody,
}

/// The caller's own key. It does not show its policies, which may name hidden columns.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CurrentKey)]
pub(super) struct Current {
    #[serde(flatten)]
    key: Key,
    /// Names of the Minds that it is limited to; null for all Minds.
    #[schema(required = true)]
    minds: Option<Vec<String>>,
    /// Name of its workspace.
    #[schema(example = "default")]
    workspace: String,
}

/// Creates a key, no wider than the caller's own
#[utoipa::path(post, path = "/keys", operation_id = "create_key",
    responses((status = 201, body = CreatedKey, description = "The new key, with its text: this once.")))]
pub(super) async fn create(
    caller: Caller,
    State(auth): State<Arc<Auth>>,
    State(minds): State<Arc<Minds>>,
    State(policies): State<Policies>,
    Json(mut body): Json<Create>,
) -> ApiResult<(StatusCode, Extension<CreatedName>, axum::Json<CreatedKey>)> {
    if let Some(names) = &mut body.minds {
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
    }
    let minds = match &body.minds {
        Some(names) => Some(ids(&caller, &minds, names).await?),
        None => None,
    };
    let policies = policies.checked(&caller, body.policies, &body.attributes);
    let policies = policies.await?;
    let new = NewKey {
        minds,
        name: body.name,
        role: body.role,
        expires_at: body.expires_at,
        compat: body.compat,
        attributes: body.attributes,
        policies,
    };
    // Nothing may fail after this: the text of the key is told this once.
    let made = auth.create_key(&caller, new).await?;
    let shown = shown_new(&made.0.policies);
    let created = CreatedKey::new(made, body.minds, shown);
    Ok((StatusCode::CREATED, created.made(), axum::Json(created)))
}

/// Gives a key a new text
///
/// The old text is invalid at once, and answers that it began are cancelled. The key keeps its conversations and
/// everything else.
#[utoipa::path(post, path = "/keys/{id}/rotate", operation_id = "rotate_key", request_body = Option<Rotate>,
    responses((status = 200, body = CreatedKey, description = "The key, with its new text: this once.")))]
pub(super) async fn rotate(
    caller: Caller,
    State(auth): State<Arc<Auth>>,
    State(minds): State<Arc<Minds>>,
    State(policies): State<Policies>,
    State(answering): State<Answering>,
    Path(id): Path<String>,
    body: Option<Json<Rotate>>,
) -> ApiResult<axum::Json<CreatedKey>> {
    let body = body.map(|Json(body)| body).unwrap_or_default();
    let key = auth.find_key(&caller, &id).await?;
    let minds = named(&key, &names(&caller, &minds).await?);
    let shown = policies.shown(&caller, std::slice::from_ref(&key));
    let shown = shown.await?.into_iter().flatten().collect();
    // Nothing may fail after this: the old text is invalid, and the new one is told this once.
    let made = auth.rotate_key(&caller, &id, body.expires_at).await?;
    if let Err(error) = answering.stop_answers_of_ended_keys().await {
        // The host looks for such answers every second anyway.
        error.log();
    }
    Ok(axum::Json(CreatedKey::new(made, minds, shown)))
}

/// Lists the keys of the workspace, never their texts
#[utoipa::path(get, path = "/keys", operation_id = "list_keys",
    responses((status = 200, body = Vec<KeyBody>, description = "Oldest first.")))]
pub(super) async fn list(
    caller: Caller,
    State(auth): State<Arc<Auth>>,
    State(minds): State<Arc<Minds>>,
    State(policies): State<Policies>,
) -> ApiResult<axum::Json<Vec<KeyBody>>> {
    let keys = auth.list_keys(&caller).await?;
    let names = names(&caller, &minds).await?;
    let policies = policies.shown(&caller, &keys).await?;
    let shown = keys.into_iter().zip(policies);
    let shown = shown.map(|(key, policies)| KeyBody {
        minds: named(&key, &names),
        key,
        policies,
    });
    Ok(axum::Json(shown.collect()))
}

/// Gets the key of this request, never its text
#[utoipa::path(get, path = "/keys/current", operation_id = "get_current_key",
    responses((status = 200, body = Current, description = "Who is asking, and what it may do.")))]
pub(super) async fn current(
    caller: Caller,
    State(auth): State<Arc<Auth>>,
    State(minds): State<Arc<Minds>>,
    State(store): State<Store>,
) -> ApiResult<axum::Json<Current>> {
    let key = auth.own_key(&caller).await?;
    let names = names(&caller, &minds).await?;
    let workspace = store.workspace(&caller.workspace).await?.name.clone();
    let minds = named(&key, &names);
    Ok(axum::Json(Current {
        key,
        minds,
        workspace,
    }))
}

impl From<NewInWorkspace> for NewKey {
    fn from(body: NewInWorkspace) -> Self {
        Self {
            name: body.name,
            role: body.role,
            minds: None,
            expires_at: body.expires_at,
            compat: body.compat,
            attributes: body.attributes,
            policies: Arc::default(),
        }
    }
}

impl CreatedKey {
    fn new(
        (key, text): (Key, KeyText),
        minds: Option<Vec<String>>,
        policies: Vec<ShownPolicy>,
    ) -> Self {
        Self {
            key: text.to_string(),
            shown: KeyBody {
                key,
                minds,
                policies,
            },
        }
    }

    /// For the audit trail.
    pub(super) fn made(&self) -> Extension<CreatedName> {
        Extension(CreatedName(self.shown.key.id.clone()))
    }

    /// A key without a limit to some Minds, and without policies.
    pub(super) fn of_all_minds(made: (Key, KeyText)) -> Self {
        Self::new(made, None, Vec::new())
    }
}

/// The names of the Minds that the caller sees, by id.
async fn names(caller: &Caller, minds: &Minds) -> Result<HashMap<String, String>> {
    let all = minds.list(caller).await?;
    Ok(all.into_iter().map(|mind| (mind.id, mind.name)).collect())
}

fn named(key: &Key, names: &HashMap<String, String>) -> Option<Vec<String>> {
    let ids = key.minds.as_ref()?;
    Some(ids.iter().filter_map(|id| names.get(id).cloned()).collect())
}

async fn ids(caller: &Caller, minds: &Minds, names: &[String]) -> Result<Vec<String>> {
    check_count(names.len())?;
    let mut ids = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let mind = minds.get(caller, name).await;
        let mind = mind.map_err(|error| error.param(format!("minds[{index}]")))?;
        ids.push(mind.id);
    }
    Ok(ids)
}

/// Revokes a key
#[utoipa::path(delete, path = "/keys/{id}", operation_id = "revoke_key",
    responses((status = 204, description = "Revoked, or was already.")))]
pub(super) async fn revoke(
    caller: Caller,
    State(auth): State<Arc<Auth>>,
    State(answering): State<Answering>,
    Path(id): Path<String>,
) -> ApiResult<StatusCode> {
    auth.revoke_key(&caller, &id).await?;
    answering.stop_answers_of_ended_keys().await?;
    Ok(StatusCode::NO_CONTENT)
}
