//! `/datasources`

mod files;

use crate::{
    error::ApiResult,
    routes::{ASKED, CONNECTED, EDITOR, KeyHandler, NAME, Routes, STORING, Tag, USER},
};
use std::{sync::Arc, time::Duration};

use axum::{Extension, extract::State, http::StatusCode};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{
    IntoParams, ToSchema,
    openapi::{
        Object,
        schema::{Array, ArrayBuilder, SchemaType, Type},
    },
};
use utoipa_axum::routes;

use super::{
    admission::CreatedName,
    extract::{Json, Path, Query, exact, friendly, present},
};
use mindhost_base::error::{Code, Kind, Result};
use mindhost_catalog::Catalog;
use mindhost_core::{
    auth::{Caller, Role},
    datasources::{
        Changes, Datasource, Datasources, NewDatasource, SavedDatasource, Settings, SettingsChange,
    },
};

/// `/datasources`
pub(super) fn routes() -> Routes {
    let create = EDITOR
        .beyond_minds("connect another datasource")
        .once(KeyHandler::Resource("/datasources"))
        .fails(CONNECTED)
        .fails(ASKED)
        .fails(STORING)
        .fails(&[Code::EngineNotFound, Code::NameTaken])
        .leads_to(
            NAME,
            &[
                "get_datasource",
                "update_datasource",
                "patch_datasource",
                "delete_datasource",
                "get_catalog",
                "refresh_catalog",
                "cancel_catalog",
                "delete_catalog",
                "list_files",
                "upload_file",
            ],
        );
    let update = EDITOR
        .beyond_minds("change a datasource: other Minds may use it too")
        .fails(CONNECTED)
        .fails(ASKED)
        .fails(&[Code::DatasourceNotFound, Code::NameTaken, Code::WrongState]);
    let delete = EDITOR
        .beyond_minds("delete a datasource: other Minds may use it too")
        .fails(&[Code::DatasourceNotFound, Code::InUse]);
    Routes::of(Tag::Datasources)
        .route(routes!(self::list), USER)
        .route(routes!(self::create), create)
        .route(routes!(self::get), USER.fails(&[Code::DatasourceNotFound]))
        .route(routes!(self::update), update)
        .route(routes!(self::delete), delete)
        .and(files::routes())
}

/// How many connections one listing tests concurrently.
const CHECKS_AT_ONCE: usize = 4;

/// The message of a failed test for callers who may not see the connection data: an engine's own message can name
/// hosts, users and files.
const FAILED: &str = "the datasource cannot be reached; an editor can see why";

/// The body of `POST /datasources`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewDatasource)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    /// Unique in the workspace, and usable in SQL without quoting.
    #[schema(pattern = "^[A-Za-z][A-Za-z0-9_]{0,61}$", example = "shop")]
    name: String,
    /// `GET /engines` lists them.
    #[schema(example = "sqlite")]
    engine: String,
    /// A description for people and models.
    #[schema(max_length = 10_000)]
    description: Option<String>,
    /// By the schema of the engine.
    #[serde(deserialize_with = "exact::value")]
    #[schema(value_type = Object, example = json!({"path": "shop.db"}))]
    connection_data: Map<String, Value>,
    /// Maximum number of open connections. Default: the server's limit.
    #[schema(minimum = 1, maximum = 1000)]
    max_connections: Option<u32>,
    /// Timeout of a statement, from `1ms` to `24h`. Default: the server's limit.
    #[serde(default, deserialize_with = "friendly::option")]
    #[schema(value_type = Option<String>, pattern = "^([1-9][0-9]{0,4}(ms|s)|[1-9][0-9]{0,2}m|([1-9]|1[0-9]|2[0-4])h)$", example = "30s")]
    statement_timeout: Option<Duration>,
    /// Whether values from the statistics may go to a model vendor.
    send_values: Option<bool>,
    /// Whether rows of results may go to a model vendor.
    send_rows: Option<bool>,
    /// Schemas whose functions a statement may call.
    #[schema(schema_with = function_schemas)]
    function_schemas: Option<Vec<String>>,
    /// Digest of the plugin version that serves it. Default: the active one. Only operators may name a version that has
    /// never served.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    plugin_digest: Option<String>,
    /// Whether statements also run on a version on trial, to compare the results.
    shadow: Option<bool>,
}

/// The body of `PUT` and `PATCH /datasources/{name}`: the fields to change.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChangeDatasource)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    /// Unique in the workspace, and usable in SQL without quoting.
    #[schema(pattern = "^[A-Za-z][A-Za-z0-9_]{0,61}$", example = "shop")]
    name: Option<String>,
    /// The engine. It cannot change.
    engine: Option<String>,
    /// A description for people and models; null clears it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 10_000)]
    description: Option<Option<String>>,
    /// The properties to change. A secret sent back as `********` is kept, unless its destination changed.
    #[serde(default, deserialize_with = "exact::value")]
    #[schema(value_type = Option<Object>)]
    connection_data: Option<Map<String, Value>>,
    /// Maximum number of open connections; null for the server's limit.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    max_connections: Option<Option<u32>>,
    /// Timeout of a statement, from `1ms` to `24h`; null for the server's limit.
    #[serde(default, deserialize_with = "friendly::present")]
    #[schema(value_type = Option<String>, pattern = "^([1-9][0-9]{0,4}(ms|s)|[1-9][0-9]{0,2}m|([1-9]|1[0-9]|2[0-4])h)$", example = "30s")]
    statement_timeout: Option<Option<Duration>>,
    /// Whether values from the statistics may go to a model vendor.
    send_values: Option<bool>,
    /// Whether rows of results may go to a model vendor.
    send_rows: Option<bool>,
    /// Schemas whose functions a statement may call.
    #[schema(schema_with = function_schemas)]
    function_schemas: Option<Vec<String>>,
    /// Digest of the plugin version that serves it; null for the active one. A different one is a different
    /// destination, so secrets must be sent again. Only operators may name a version that has never served.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, pattern = "^[0-9a-f]{64}$")]
    plugin_digest: Option<Option<String>>,
    /// Whether statements also run on a version on trial, to compare the results.
    shadow: Option<bool>,
}

/// Names of schemas, or null.
fn function_schemas() -> Array {
    let name = Object::builder()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(128));
    ArrayBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .items(name)
        .max_items(Some(100))
        .build()
}

/// `?check_connection=`
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Check {
    /// Whether to test the connection. Default: yes when a datasource is created or changed (nothing is stored if the
    /// test fails), no when it is read.
    check_connection: Option<bool>,
}

/// `?cascade=`
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Cascade {
    /// Whether to remove it from the Minds that use it, with their policies for it. Otherwise a datasource in use is
    /// not deleted.
    #[serde(default)]
    #[param(required = false, default = false)]
    cascade: bool,
}

/// A datasource.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Datasource)]
pub(super) struct DatasourceBody {
    id: String,
    name: String,
    description: String,
    engine: String,
    created_at: jiff::Timestamp,
    modified_at: jiff::Timestamp,
    /// Only for editors and above. Every secret is masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    connection_data: Option<Map<String, Value>>,
    /// Maximum number of open connections; null for the server's limit.
    #[schema(required = true)]
    max_connections: Option<u32>,
    /// Timeout of a statement; null for the server's limit.
    #[schema(required = true, example = "30s")]
    statement_timeout: Option<String>,
    /// Whether values from the statistics may go to a model vendor.
    send_values: bool,
    /// Whether rows of results may go to a model vendor.
    send_rows: bool,
    /// Schemas whose functions a statement may call.
    function_schemas: Vec<String>,
    /// Digest of the pinned plugin version; null for the active one.
    #[schema(required = true)]
    plugin_digest: Option<String>,
    /// Whether statements also run on a version on trial.
    shadow: bool,
    /// The result of the connection test; only with `check_connection=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    connection_status: Option<ConnectionStatus>,
}

/// The result of a connection test.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ConnectionStatus {
    success: bool,
    /// The error.
    #[schema(required = true)]
    error_message: Option<String>,
}

/// Creates a datasource
///
/// Tests the connection and stores the list of tables. If the test fails, nothing is stored.
#[utoipa::path(post, path = "/datasources", operation_id = "create_datasource",
    params(Check),
    responses((status = 201, body = DatasourceBody, description = "The new datasource.")))]
pub(super) async fn create(
    caller: Caller,
    State(datasources): State<Arc<Datasources>>,
    State(catalog): State<Arc<Catalog>>,
    Query(query): Query<Check>,
    Json(body): Json<Create>,
) -> ApiResult<(
    StatusCode,
    Option<Extension<CreatedName>>,
    axum::Json<DatasourceBody>,
)> {
    let settings = SettingsChange {
        max_connections: Some(body.max_connections),
        statement_timeout: Some(body.statement_timeout),
        send_values: body.send_values,
        send_rows: body.send_rows,
        function_schemas: body.function_schemas,
        plugin_digest: Some(body.plugin_digest),
        shadow: body.shadow,
    };
    let new = NewDatasource {
        name: body.name,
        engine: body.engine,
        description: body.description.unwrap_or_default(),
        connection_data: body.connection_data,
        settings: settings.apply(&Settings::default()),
    };
    let check = query.check_connection.unwrap_or(true);
    let saved = datasources.create(&caller, new, check).await?;
    keep_tables(&catalog, &saved).await?;
    let is_pinned = saved.datasource.settings.plugin_digest.is_some();
    let made = made(&saved.datasource, true, is_pinned);
    let shown = axum::Json(shown(&caller, saved.datasource));
    Ok((StatusCode::CREATED, made.map(Extension), shown))
}

/// Changes a datasource
///
/// Fields that are not sent keep their values.
#[utoipa::path(method(put, patch), path = "/datasources/{name}", operation_id = "update_datasource",
    params(Check),
    responses((status = 200, body = DatasourceBody, description = "The datasource as it is now.")))]
pub(super) async fn update(
    caller: Caller,
    State(datasources): State<Arc<Datasources>>,
    State(catalog): State<Arc<Catalog>>,
    Path(name): Path<String>,
    Query(query): Query<Check>,
    Json(body): Json<Update>,
) -> ApiResult<(Option<Extension<CreatedName>>, axum::Json<DatasourceBody>)> {
    let is_renamed = body.name.is_some();
    let is_moved = body.plugin_digest.is_some();
    let changes = Changes {
        name: body.name,
        engine: body.engine,
        description: body.description.map(Option::unwrap_or_default),
        connection_data: body.connection_data,
        settings: SettingsChange {
            max_connections: body.max_connections,
            statement_timeout: body.statement_timeout,
            send_values: body.send_values,
            send_rows: body.send_rows,
            function_schemas: body.function_schemas,
            plugin_digest: body.plugin_digest,
            shadow: body.shadow,
        },
    };
    let check = query.check_connection.unwrap_or(true);
    let saved = datasources.update(&caller, &name, changes, check).await?;
    keep_tables(&catalog, &saved).await?;
    let made = made(&saved.datasource, is_renamed, is_moved);
    Ok((
        made.map(Extension),
        axum::Json(shown(&caller, saved.datasource)),
    ))
}

/// What the audit entry of a datasource names besides its path: a new name, and a newly pinned version.
fn made(datasource: &Datasource, is_named: bool, is_pinned: bool) -> Option<CreatedName> {
    let name = is_named.then(|| datasource.name.clone());
    let digest = datasource.settings.plugin_digest.as_deref();
    let pin = is_pinned.then(|| format!("plugin_digest={}", digest.unwrap_or("null")));
    let parts: Vec<String> = name.into_iter().chain(pin).collect();
    (!parts.is_empty()).then(|| CreatedName(parts.join(" ")))
}

/// Stores the tables that the connection test found, so that the catalog lists them at once.
async fn keep_tables(catalog: &Catalog, saved: &SavedDatasource) -> Result<()> {
    match &saved.tables {
        Some(tables) => {
            catalog
                .table_list_stored((&saved.datasource).into(), tables)
                .await
        }
        None => Ok(()),
    }
}

/// Lists the datasources
#[utoipa::path(get, path = "/datasources", operation_id = "list_datasources",
    params(Check),
    responses((status = 200, body = Vec<DatasourceBody>, description = "By name.")))]
pub(super) async fn list(
    caller: Caller,
    State(datasources): State<Arc<Datasources>>,
    Query(query): Query<Check>,
) -> ApiResult<axum::Json<Vec<DatasourceBody>>> {
    let all = datasources.list(&caller).await?;
    let check = query.check_connection.unwrap_or(false);
    let listed = stream::iter(all)
        .map(|datasource| describe(&caller, &datasources, datasource, check))
        .buffered(CHECKS_AT_ONCE)
        .try_collect()
        .await?;
    Ok(axum::Json(listed))
}

/// Gets a datasource
#[utoipa::path(get, path = "/datasources/{name}", operation_id = "get_datasource",
    params(Check),
    responses((status = 200, body = DatasourceBody, description = "The datasource.")))]
pub(super) async fn get(
    caller: Caller,
    State(datasources): State<Arc<Datasources>>,
    Path(name): Path<String>,
    Query(query): Query<Check>,
) -> ApiResult<axum::Json<DatasourceBody>> {
    let datasource = datasources.get(&caller, &name).await?;
    let check = query.check_connection.unwrap_or(false);
    let shown = describe(&caller, &datasources, datasource, check).await?;
    Ok(axum::Json(shown))
}

/// Deletes a datasource with its catalog
#[utoipa::path(delete, path = "/datasources/{name}", operation_id = "delete_datasource",
    params(Cascade),
    responses((status = 204, description = "Deleted.")))]
pub(super) async fn delete(
    caller: Caller,
    State(datasources): State<Arc<Datasources>>,
    Path(name): Path<String>,
    Query(query): Query<Cascade>,
) -> ApiResult<StatusCode> {
    datasources.delete(&caller, &name, query.cascade).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The API form, with the connection tested if requested. A failed test is part of the answer; an internal error is
/// not.
async fn describe(
    caller: &Caller,
    datasources: &Datasources,
    datasource: Datasource,
    check: bool,
) -> Result<DatasourceBody> {
    let connection_status = match check {
        false => None,
        true => match datasources.check(&datasource).await {
            Ok(()) => Some(ConnectionStatus {
                success: true,
                error_message: None,
            }),
            Err(error) if error.kind() == Kind::Internal => return Err(error),
            Err(error) => Some(ConnectionStatus {
                success: false,
                error_message: Some(match caller.role >= Role::Editor {
                    true => error.message().to_owned(),
                    false => FAILED.to_owned(),
                }),
            }),
        },
    };
    Ok(DatasourceBody {
        connection_status,
        ..shown(caller, datasource)
    })
}

fn shown(caller: &Caller, datasource: Datasource) -> DatasourceBody {
    let editor = caller.role >= Role::Editor;
    let settings = datasource.settings;
    DatasourceBody {
        id: datasource.id,
        name: datasource.name,
        description: datasource.description,
        engine: datasource.engine,
        created_at: datasource.created_at,
        modified_at: datasource.modified_at,
        connection_data: editor.then_some(datasource.connection_data.shown),
        statement_timeout: settings.statement_timeout().map(friendly::text),
        max_connections: settings.max_connections,
        send_values: settings.send_values,
        send_rows: settings.send_rows,
        function_schemas: settings.function_schemas,
        plugin_digest: settings.plugin_digest,
        shadow: settings.shadow,
        connection_status: None,
    }
}
