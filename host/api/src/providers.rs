//! `/providers`

use crate::{
    error::ApiResult,
    routes::{ADMIN, ASKED, CONNECTED, NAME, Routes, STORING, Tag, USER},
};
use std::sync::Arc;

use axum::{Extension, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    admission::CreatedName,
    extract::{Json, Path, Query, exact, present},
};
use mindhost_base::error::Code;
use mindhost_core::{
    auth::{Caller, Role},
    providers::{Changes, NewProvider, Provider, Providers},
};

/// `/providers`
pub(super) fn routes() -> Routes {
    let create = ADMIN
        .beyond_minds("make a provider")
        .fails(CONNECTED)
        .fails(ASKED)
        .fails(STORING)
        .fails(&[Code::NameTaken, Code::UnknownPlugin])
        .leads_to(
            NAME,
            &[
                "get_provider",
                "update_provider",
                "patch_provider",
                "delete_provider",
            ],
        );
    let update = ADMIN
        .beyond_minds("change a provider: other Minds may use it too")
        .fails(CONNECTED)
        .fails(ASKED)
        .fails(&[
            Code::ProviderNotFound,
            Code::NameTaken,
            Code::UnknownPlugin,
            Code::WrongState,
        ]);
    let delete = ADMIN
        .beyond_minds("delete a provider: other Minds may use it too")
        .fails(&[Code::ProviderNotFound, Code::InUse, Code::WrongState]);
    Routes::of(Tag::Providers)
        .route(routes!(self::list), USER)
        .route(routes!(self::create), create)
        .route(routes!(self::get), USER.fails(&[Code::ProviderNotFound]))
        .route(routes!(self::update), update)
        .route(routes!(self::delete), delete)
}

/// The body of `POST /providers`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewProvider)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    /// Unique in the workspace.
    #[schema(pattern = "^[A-Za-z][A-Za-z0-9_-]{0,63}$", example = "vendor")]
    name: String,
    /// The plugin that speaks to the vendor.
    #[schema(example = "model-openai")]
    plugin: String,
    /// For people.
    description: Option<String>,
    /// As the plugin's schema says: base URL, key, default model.
    #[serde(default, deserialize_with = "exact::value")]
    #[schema(value_type = Object, required = false)]
    connection_data: Map<String, Value>,
    /// Whether new Minds use it that name no other.
    #[serde(default)]
    #[schema(required = false)]
    default: bool,
}

/// The body of `PUT` and `PATCH /providers/{name}`: what changes.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChangeProvider)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    /// Unique in the workspace.
    #[schema(pattern = "^[A-Za-z][A-Za-z0-9_-]{0,63}$", example = "vendor")]
    name: Option<String>,
    /// Another plugin; it gets none of the stored secrets.
    plugin: Option<String>,
    /// For people; null clears it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    description: Option<Option<String>>,
    /// What changes of it; a secret sent back as `********` stays as it is.
    #[serde(default, deserialize_with = "exact::value")]
    #[schema(value_type = Option<Object>)]
    connection_data: Option<Map<String, Value>>,
    /// `true` makes it the default in place of another.
    default: Option<bool>,
}

/// `?check_connection=`
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Check {
    /// Whether the vendor is asked first; nothing is stored if that fails.
    #[param(default = true)]
    check_connection: Option<bool>,
}

/// A provider as it is shown.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Provider)]
pub(super) struct ProviderBody {
    id: String,
    name: String,
    /// The plugin that speaks to the vendor.
    plugin: String,
    description: String,
    /// Whether new Minds use it that name no other.
    default: bool,
    created_at: jiff::Timestamp,
    modified_at: jiff::Timestamp,
    /// For admins whose keys see all Minds; every secret masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    connection_data: Option<Map<String, Value>>,
}

/// Makes a model provider
#[utoipa::path(post, path = "/providers", operation_id = "create_provider",
    params(Check),
    responses((status = 201, body = ProviderBody, description = "The new provider.")))]
pub(super) async fn create(
    caller: Caller,
    State(providers): State<Arc<Providers>>,
    Query(query): Query<Check>,
    Json(body): Json<Create>,
) -> ApiResult<(StatusCode, Extension<CreatedName>, axum::Json<ProviderBody>)> {
    let new = NewProvider {
        name: body.name,
        plugin: body.plugin,
        description: body.description.unwrap_or_default(),
        connection_data: body.connection_data,
        is_default: body.default,
    };
    let check = query.check_connection.unwrap_or(true);
    let provider = providers.create(&caller, new, check).await?;
    let made = Extension(CreatedName(provider.name.clone()));
    Ok((
        StatusCode::CREATED,
        made,
        axum::Json(shown(&caller, provider)),
    ))
}

/// Changes a model provider
///
/// Fields that are not sent stay as they are.
#[utoipa::path(method(put, patch), path = "/providers/{name}", operation_id = "update_provider",
    params(Check),
    responses((status = 200, body = ProviderBody, description = "The provider as it is now.")))]
pub(super) async fn update(
    caller: Caller,
    State(providers): State<Arc<Providers>>,
    Path(name): Path<String>,
    Query(query): Query<Check>,
    Json(body): Json<Update>,
) -> ApiResult<(Option<Extension<CreatedName>>, axum::Json<ProviderBody>)> {
    let is_renamed = body.name.is_some();
    let changes = Changes {
        name: body.name,
        plugin: body.plugin,
        description: body.description.map(Option::unwrap_or_default),
        connection_data: body.connection_data,
        is_default: body.default,
    };
    let check = query.check_connection.unwrap_or(true);
    let provider = providers.update(&caller, &name, changes, check).await?;
    let made = is_renamed.then(|| Extension(CreatedName(provider.name.clone())));
    Ok((made, axum::Json(shown(&caller, provider))))
}

/// Lists the model providers
#[utoipa::path(get, path = "/providers", operation_id = "list_providers",
    responses((status = 200, body = Vec<ProviderBody>, description = "By name.")))]
pub(super) async fn list(
    caller: Caller,
    State(providers): State<Arc<Providers>>,
) -> ApiResult<axum::Json<Vec<ProviderBody>>> {
    let all = providers.list(&caller).await?;
    Ok(axum::Json(
        all.into_iter().map(|one| shown(&caller, one)).collect(),
    ))
}

/// Gets a model provider
#[utoipa::path(get, path = "/providers/{name}", operation_id = "get_provider",
    responses((status = 200, body = ProviderBody, description = "The provider.")))]
pub(super) async fn get(
    caller: Caller,
    State(providers): State<Arc<Providers>>,
    Path(name): Path<String>,
) -> ApiResult<axum::Json<ProviderBody>> {
    let provider = providers.get(&caller, &name).await?;
    Ok(axum::Json(shown(&caller, provider)))
}

/// Deletes a model provider that no Mind uses
#[utoipa::path(delete, path = "/providers/{name}", operation_id = "delete_provider",
    responses((status = 204, description = "Deleted.")))]
pub(super) async fn delete(
    caller: Caller,
    State(providers): State<Arc<Providers>>,
    Path(name): Path<String>,
) -> ApiResult<StatusCode> {
    providers.delete(&caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn shown(caller: &Caller, provider: Provider) -> ProviderBody {
    // A provider serves other Minds too, and where it is concerns whoever may change it.
    let admin = caller.role >= Role::Admin && caller.minds.is_none();
    ProviderBody {
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
