//! `/minds`

mod entries;
mod policies;

use crate::{
    error::ApiResult,
    routes::{ASKED, EDITOR, KeyHandler, NAME, Routes, SQL, STORING, Tag, USER},
};
use std::{collections::HashSet, sync::Arc, time::SystemTime};

use axum::{Extension, extract::State};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use self::entries::{Entry, Resolver};
use super::{
    admission::CreatedName,
    extract::{Json, Path, Query, exact},
    policies::POLICIES,
};
use mindhost_base::error::{Code, Result};
use mindhost_catalog::{Catalog, RunStatus, Source, Status, Statuses};
use mindhost_core::{
    auth::{Caller, Compat, Role},
    minds::{Changes, Mind, MindDatasource, Minds, NewMind},
};

/// Failures of the entries of `datasources`, and of the provider beside them.
const ENTRIES: &[Code] = &[
    Code::UnknownDatasource,
    Code::UnknownTable,
    Code::AmbiguousTable,
    Code::UnknownProvider,
    Code::NameTaken,
];

/// `/minds`
pub(super) fn routes() -> Routes {
    let create = EDITOR
        .beyond_minds("make another Mind")
        .once(KeyHandler::Resource("/minds"))
        .fails(ENTRIES)
        .fails(ASKED)
        .fails(STORING)
        .leads_to(
            NAME,
            &["get_mind", "update_mind", "delete_mind", "get_model"],
        );
    let update = EDITOR
        .fails(ENTRIES)
        .fails(ASKED)
        .fails(&[Code::MindNotFound, Code::InUse]);
    let set_policies = EDITOR
        .fails(POLICIES)
        .fails(ASKED)
        .fails(&[Code::MindNotFound, Code::WrongState]);
    let preview = EDITOR
        .fails(POLICIES)
        .fails(&[Code::MindNotFound])
        .fails(ASKED)
        .fails(SQL);
    Routes::of(Tag::Minds)
        .route(routes!(self::list), USER)
        .route(routes!(self::create), create)
        .route(routes!(self::get), USER.fails(&[Code::MindNotFound]))
        .route(routes!(self::update), update)
        .route(routes!(policies::get), EDITOR.fails(&[Code::MindNotFound]))
        .route(routes!(policies::set), set_policies)
        .route(routes!(policies::preview), preview)
        .route(routes!(self::delete), EDITOR.fails(&[Code::MindNotFound]))
}

/// The body of `POST /minds`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewMind)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    /// Unique in the workspace.
    #[schema(pattern = "^[A-Za-z][A-Za-z0-9_-]{0,63}$", example = "sales")]
    name: String,
    /// Names of datasources, or objects that choose tables.
    datasources: Vec<Entry>,
    /// The model provider; the default one unless given.
    provider: Option<String>,
    /// The model that the provider is asked for; the provider's default unless given.
    #[schema(max_length = 256)]
    model_name: Option<String>,
    /// What guides the Mind, and whatever else the caller keeps here.
    #[schema(value_type = Option<Parameters>)]
    #[serde(default, deserialize_with = "exact::value")]
    parameters: Option<Map<String, Value>>,
}

/// The body of `PUT /minds/{name}`: what changes.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChangeMind)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    /// Another name, unique in the workspace; the conversations stay with the Mind.
    #[schema(pattern = "^[A-Za-z][A-Za-z0-9_-]{0,63}$", example = "sales")]
    name: Option<String>,
    /// Names of datasources, or objects that choose tables.
    datasources: Option<Vec<Entry>>,
    /// The model provider; its default model comes with it unless `model_name` is given too.
    provider: Option<String>,
    /// The model that the provider is asked for; empty for the provider's default.
    #[schema(max_length = 256)]
    model_name: Option<String>,
    /// Replaces all of them.
    #[schema(value_type = Option<Parameters>)]
    #[serde(default, deserialize_with = "exact::value")]
    parameters: Option<Map<String, Value>>,
}

/// The parameters that the server knows; others are the caller's own and kept as they are.
#[derive(ToSchema)]
#[schema(as = MindParameters)]
#[expect(
    dead_code,
    reason = "it describes a map, in which unknown names are kept"
)]
struct Parameters {
    /// Guides the answers.
    #[schema(max_length = 100_000)]
    system_prompt: Option<String>,
    /// In place of `system_prompt`: `{{question}}` becomes the question.
    #[schema(max_length = 100_000)]
    prompt_template: Option<String>,
    /// Marks a demo, for the filter of the list.
    is_demo: Option<bool>,
    /// Whether callers may send SQL with the tool `sql_query`.
    allow_direct_queries: Option<bool>,
}

/// `?is_demo=`
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Only demos, or only others.
    is_demo: Option<bool>,
}

/// A Mind as it is shown.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Mind)]
pub(super) struct MindBody {
    name: String,
    /// Names; for keys with `compat: minds-sdk` objects like those in `datasource_tables`.
    datasources: Vec<ShownDatasource>,
    /// Each of its datasources with the tables that the Mind has of it, for every key.
    datasource_tables: Vec<WithTables>,
    /// The model provider.
    provider: String,
    /// The language model in use.
    model_name: String,
    #[schema(value_type = Parameters)]
    parameters: Map<String, Value>,
    #[schema(example = "Sun, 06 Nov 1994 08:49:37 GMT")]
    created_at: String,
    #[schema(example = "Sun, 06 Nov 1994 08:49:37 GMT")]
    updated_at: String,
    /// The same as `updated_at`.
    #[schema(example = "Sun, 06 Nov 1994 08:49:37 GMT")]
    modified_at: String,
    /// How far the catalogs of its datasources have got; for keys with `compat: minds-sdk` the word alone.
    status: ShownStatus,
}

/// A datasource of a Mind, as the client needs it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = MindDatasource)]
#[serde(untagged)]
enum ShownDatasource {
    Name(String),
    WithTables(WithTables),
}

/// A datasource with the tables that the Mind has of it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = MindDatasourceTables)]
struct WithTables {
    name: String,
    /// `schema.table`; null for all.
    #[schema(required = true)]
    tables: Option<Vec<String>>,
}

/// How far catalogs have got, as the client needs it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MindStatus)]
#[serde(untagged)]
enum ShownStatus {
    Whole(Status),
    Word(RunStatus),
}

/// What is left of a Mind.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeletedMind)]
pub(super) struct DeletedMind {
    name: String,
    #[schema(example = true)]
    deleted: bool,
}

/// Makes a Mind
///
/// What was never loaded of its tables is loaded into the catalog in the background.
#[utoipa::path(post, path = "/minds", operation_id = "create_mind",
    responses((status = 200, body = MindBody, description = "The new Mind.")))]
pub(super) async fn create(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(catalog): State<Arc<Catalog>>,
    State(resolver): State<Resolver>,
    Json(body): Json<Create>,
) -> ApiResult<(Extension<CreatedName>, axum::Json<MindBody>)> {
    let new = NewMind {
        datasources: resolver.resolve(&caller, body.datasources).await?,
        name: body.name,
        provider: body.provider,
        model_name: body.model_name,
        parameters: body.parameters.unwrap_or_default(),
    };
    let mind = minds.create(&caller, new).await?;
    start_missing(&catalog, &caller, &mind).await?;
    let statuses = statuses(&catalog, std::slice::from_ref(&mind)).await?;
    let made = Extension(CreatedName(mind.name.clone()));
    let shown = shown(&caller, mind, &statuses, &HashSet::new());
    Ok((made, axum::Json(shown)))
}

/// Changes a Mind
///
/// Fields that are not sent stay as they are. Other fields that `GET` shows are refused: leave out `created_at`,
/// `updated_at`, `modified_at`, `status` and `datasource_tables`. In `datasources` a name alone means all tables; to
/// keep a choice of tables, leave the field out, or send the entries of `datasource_tables` in it. Leave out
/// `model_name` to keep the default of the provider.
#[utoipa::path(put, path = "/minds/{name}", operation_id = "update_mind",
    responses((status = 200, body = MindBody, description = "The Mind as it is now.")))]
pub(super) async fn update(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(catalog): State<Arc<Catalog>>,
    State(resolver): State<Resolver>,
    Path(name): Path<String>,
    Json(body): Json<Update>,
) -> ApiResult<(Option<Extension<CreatedName>>, axum::Json<MindBody>)> {
    let is_renamed = body.name.is_some();
    let datasources = match body.datasources {
        Some(entries) => Some(resolver.resolve(&caller, entries).await?),
        None => None,
    };
    let has_new_tables = datasources.is_some();
    let changes = Changes {
        name: body.name,
        datasources,
        provider: body.provider,
        model_name: body.model_name,
        parameters: body.parameters,
    };
    let mind = minds.update(&caller, &name, changes).await?;
    if has_new_tables {
        start_missing(&catalog, &caller, &mind).await?;
    }
    let statuses = statuses(&catalog, std::slice::from_ref(&mind)).await?;
    let made = is_renamed.then(|| Extension(CreatedName(mind.name.clone())));
    let shown = shown(&caller, mind, &statuses, &HashSet::new());
    Ok((made, axum::Json(shown)))
}

/// Lists the Minds
#[utoipa::path(get, path = "/minds", operation_id = "list_minds",
    params(Filter),
    responses((status = 200, body = Vec<MindBody>, description = "The Minds that the key sees, by name.")))]
pub(super) async fn list(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(catalog): State<Arc<Catalog>>,
    Query(filter): Query<Filter>,
) -> ApiResult<axum::Json<Vec<MindBody>>> {
    let mut all = minds.list(&caller).await?;
    let policed = policed(&caller, &all);
    if let Some(is_demo) = filter.is_demo {
        all.retain(|mind| mind.is_demo() == is_demo);
    }
    let statuses = statuses(&catalog, &all).await?;
    let shown = all
        .into_iter()
        .map(|mind| shown(&caller, mind, &statuses, &policed));
    Ok(axum::Json(shown.collect()))
}

/// Gets a Mind
#[utoipa::path(get, path = "/minds/{name}", operation_id = "get_mind",
    responses((status = 200, body = MindBody, description = "The Mind.")))]
pub(super) async fn get(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(catalog): State<Arc<Catalog>>,
    Path(name): Path<String>,
) -> ApiResult<axum::Json<MindBody>> {
    let mind = minds.get(&caller, &name).await?;
    let policed = match writes_policies(&caller) {
        true => HashSet::new(),
        false => policed(&caller, &minds.list(&caller).await?),
    };
    let statuses = statuses(&catalog, std::slice::from_ref(&mind)).await?;
    Ok(axum::Json(shown(&caller, mind, &statuses, &policed)))
}

/// Deletes a Mind
///
/// Its conversations can be read on. A body is ignored: some clients send `{}`.
#[utoipa::path(delete, path = "/minds/{name}", operation_id = "delete_mind",
    responses((status = 200, body = DeletedMind, description = "Deleted.")))]
pub(super) async fn delete(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    Path(name): Path<String>,
) -> ApiResult<axum::Json<DeletedMind>> {
    minds.delete(&caller, &name).await?;
    Ok(axum::Json(DeletedMind {
        name,
        deleted: true,
    }))
}

/// What was never loaded of the Mind's tables is loaded in the background.
async fn start_missing(catalog: &Catalog, caller: &Caller, mind: &Mind) -> Result<()> {
    for datasource in &mind.datasources {
        let source = Source {
            workspace: &mind.workspace_id,
            id: &datasource.id,
            seen: None,
            request_id: caller.request_id.as_deref(),
        };
        catalog
            .start_missing(source, datasource.tables.as_deref())
            .await?;
    }
    Ok(())
}

async fn statuses(catalog: &Catalog, minds: &[Mind]) -> Result<Statuses> {
    let mut ids: Vec<String> = minds
        .iter()
        .flat_map(|mind| {
            mind.datasources
                .iter()
                .map(|datasource| datasource.id.clone())
        })
        .collect();
    ids.sort_unstable();
    ids.dedup();
    catalog.statuses(&ids).await
}

/// Nothing is withheld from those who write policies.
fn writes_policies(caller: &Caller) -> bool {
    caller.role >= Role::Editor
}

/// The ids of the datasources of which policies of these Minds, which are all that the caller sees, withhold something.
fn policed(caller: &Caller, minds: &[Mind]) -> HashSet<String> {
    if writes_policies(caller) {
        return HashSet::new();
    }
    let policies = minds.iter().flat_map(|mind| &mind.policies);
    policies.map(|one| one.datasource_id.clone()).collect()
}

/// `policed` are ids of datasources of which policies of Minds withhold something from the caller.
fn shown(caller: &Caller, mind: Mind, statuses: &Statuses, policed: &HashSet<String>) -> MindBody {
    let ids = || mind.datasources.iter().map(|one| one.id.as_str());
    // A message names tables, and repeats errors of the engine, which may name columns and values.
    let is_limited = caller.minds.is_some()
        || !caller.policies.list().is_empty()
        || ids().any(|id| policed.contains(id));
    let status = statuses.of(ids());
    let status = match is_limited {
        true => status.without_names(),
        false => status,
    };
    let datasource_tables: Vec<_> = mind.datasources.iter().map(with_tables).collect();
    let datasources = datasource_tables.iter().map(|one| match caller.compat {
        Some(Compat::MindsSdk) => ShownDatasource::WithTables(one.clone()),
        None => ShownDatasource::Name(one.name.clone()),
    });
    let updated_at = http_date(mind.updated_at);
    MindBody {
        name: mind.name,
        datasources: datasources.collect(),
        datasource_tables,
        // A provider whose plugin decides has one model, and it goes by the provider's name.
        model_name: match mind.model_name.is_empty() {
            true => mind.provider.clone(),
            false => mind.model_name,
        },
        provider: mind.provider,
        parameters: mind.parameters,
        created_at: http_date(mind.created_at),
        modified_at: updated_at.clone(),
        updated_at,
        status: match caller.compat {
            Some(Compat::MindsSdk) => ShownStatus::Word(status.overall_status),
            None => ShownStatus::Whole(status),
        },
    }
}

fn with_tables(datasource: &MindDatasource) -> WithTables {
    let tables = datasource.tables.as_ref();
    WithTables {
        name: datasource.name.clone(),
        tables: tables.map(|tables| tables.iter().map(ToString::to_string).collect()),
    }
}

fn http_date(at: jiff::Timestamp) -> String {
    httpdate::fmt_http_date(SystemTime::from(at))
}
