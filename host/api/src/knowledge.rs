//! `/minds/{name}/knowledge`

use crate::{
    error::ApiResult,
    extract::YamlBytes,
    routes::{ASKED, EDITOR, KeyHandler, Routes, SQL, STORING, Tag, USER},
};
use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;
use uuid::Uuid;

use super::{
    admission::CreatedName,
    extract::{Json, Path, Query},
    list::{Page, limit},
};
use mindhost_answers::knowledge::CheckedKnowledge;
use mindhost_base::error::{Code, Error, Result};
use mindhost_core::{
    auth::Caller,
    knowledge::{Entry, Imports, Kind, Knowledge, Mode, Status, yaml},
    minds::{Mind, Minds},
};

/// Entries of a page by default, and at most.
const PAGE: (u32, u32) = (20, 100);

/// Failures of what an entry names, besides those of its SQL.
const NAMES: &[Code] = &[
    Code::MindNotFound,
    Code::UnknownTable,
    Code::UnknownColumn,
    Code::AmbiguousTable,
];

/// The parameters of a link to an entry.
const ENTRY: &[(&str, &str)] = &[("name", "$request.path.name"), ("id", "$response.body#/id")];

/// `/minds/{name}/knowledge`
pub(super) fn routes() -> Routes {
    let checked = || EDITOR.fails(NAMES).fails(SQL).fails(ASKED).fails(STORING);
    let create = checked()
        .once(KeyHandler::Resource("/minds/{name}/knowledge"))
        .fails(&[Code::NameTaken])
        .leads_to(
            ENTRY,
            &["get_knowledge", "update_knowledge", "delete_knowledge"],
        );
    let one = [Code::MindNotFound, Code::KnowledgeNotFound];
    let update = checked().fails(&[Code::KnowledgeNotFound, Code::NameTaken]);
    Routes::of(Tag::Minds)
        .route(routes!(self::list), USER.fails(&[Code::MindNotFound]))
        .route(routes!(self::create), create)
        .route(routes!(self::export), USER.fails(&[Code::MindNotFound]))
        .route(routes!(self::import), checked().fails(&[Code::InvalidYaml]))
        .route(routes!(self::get), USER.fails(&one))
        .route(routes!(self::update), update)
        .route(routes!(self::delete), EDITOR.fails(&one))
}

/// An entry as it is shown.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KnowledgeEntry)]
pub(super) struct EntryBody {
    id: String,
    #[serde(flatten)]
    knowledge: Knowledge,
    status: Status,
    /// Why it is stale; null while it is valid.
    #[schema(required = true)]
    stale_reason: Option<String>,
    created_at: jiff::Timestamp,
    updated_at: jiff::Timestamp,
    /// When its status was last written.
    checked_at: jiff::Timestamp,
}

/// Why an entry is stale, for callers whose key has policies: the reason is that of a caller without them, and may name
/// columns that the key hides.
const WITHHELD: &str =
    "it does not fit the tables any more; the reason is withheld, because your key has policies";

impl EntryBody {
    pub fn new(caller: &Caller, entry: &Entry) -> Self {
        let stale_reason = match caller.policies.list().is_empty() {
            true => entry.stale_reason.clone(),
            false => entry.stale_reason.as_ref().map(|_| WITHHELD.to_owned()),
        };
        Self {
            stale_reason,
            id: entry.id.clone(),
            knowledge: entry.knowledge.clone(),
            status: entry.status,
            created_at: entry.created_at,
            updated_at: entry.updated_at,
            checked_at: entry.checked_at,
        }
    }
}

/// The parameters of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct List {
    /// Only this kind.
    #[param(inline)]
    kind: Option<Kind>,
    /// Id of an entry: only the entries after it.
    #[param(format = Uuid)]
    after: Option<String>,
    /// The maximum number of entries.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
}

/// `?mode=`
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct HowToImport {
    /// What happens to entries that the document does not have. Default: they stay.
    #[param(inline)]
    mode: Option<Mode>,
}

/// Lists what a Mind was taught
#[utoipa::path(get, path = "/minds/{name}/knowledge", operation_id = "list_knowledge",
    params(List),
    responses((status = 200, body = Page<EntryBody>, description = "A page, oldest first.")))]
pub(super) async fn list(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(knowledge): State<CheckedKnowledge>,
    Path(name): Path<String>,
    Query(list): Query<List>,
) -> ApiResult<axum::Json<Page<EntryBody>>> {
    let mind = minds.get(&caller, &name).await?;
    let limit = limit(list.limit, PAGE.0, PAGE.1)?;
    let after = after(list.after.as_deref())?.map(|id| id.to_string());
    let base = knowledge.base();
    let (some, has_more) = base.page(&mind, list.kind, after.as_deref(), limit).await?;
    let page = Page::new(
        &some,
        |entry| entry.id.clone(),
        |entry| EntryBody::new(&caller, entry),
        has_more,
    );
    Ok(axum::Json(page))
}

/// Teaches a Mind
///
/// Names and SQL are checked with the Mind's catalog and engines before the entry is stored.
#[utoipa::path(post, path = "/minds/{name}/knowledge", operation_id = "create_knowledge",
    responses((status = 201, body = EntryBody, description = "The new entry.")))]
pub(super) async fn create(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(knowledge): State<CheckedKnowledge>,
    Path(name): Path<String>,
    Json(body): Json<Knowledge>,
) -> ApiResult<(StatusCode, Extension<CreatedName>, axum::Json<EntryBody>)> {
    let mind = mind(&minds, &caller, &name).await?;
    let entry = knowledge.add(&caller, &mind, &body).await?;
    let made = Extension(CreatedName(entry.id.clone()));
    let shown = EntryBody::new(&caller, &entry);
    Ok((StatusCode::CREATED, made, axum::Json(shown)))
}

/// Gets one entry
#[utoipa::path(get, path = "/minds/{name}/knowledge/{id}", operation_id = "get_knowledge",
    responses((status = 200, body = EntryBody, description = "The entry.")))]
pub(super) async fn get(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(knowledge): State<CheckedKnowledge>,
    Path((name, id)): Path<(String, String)>,
) -> ApiResult<axum::Json<EntryBody>> {
    let mind = minds.get(&caller, &name).await?;
    let entry = knowledge.base().get(&mind, &id).await?;
    Ok(axum::Json(EntryBody::new(&caller, &entry)))
}

/// Replaces one entry
///
/// By another one of its kind, which is checked like a new one.
#[utoipa::path(put, path = "/minds/{name}/knowledge/{id}", operation_id = "update_knowledge",
    responses((status = 200, body = EntryBody, description = "The entry as it is now.")))]
pub(super) async fn update(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(knowledge): State<CheckedKnowledge>,
    Path((name, id)): Path<(String, String)>,
    Json(body): Json<Knowledge>,
) -> ApiResult<axum::Json<EntryBody>> {
    let mind = mind(&minds, &caller, &name).await?;
    let entry = knowledge.replace(&caller, &mind, &id, &body).await?;
    Ok(axum::Json(EntryBody::new(&caller, &entry)))
}

/// Deletes one entry
#[utoipa::path(delete, path = "/minds/{name}/knowledge/{id}", operation_id = "delete_knowledge",
    responses((status = 204, description = "Deleted.")))]
pub(super) async fn delete(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(knowledge): State<CheckedKnowledge>,
    Path((name, id)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let mind = minds.get(&caller, &name).await?;
    knowledge.base().delete(&caller, &mind, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Exports what a Mind was taught
///
/// As a YAML document that the import takes, of this Mind or another.
#[utoipa::path(get, path = "/minds/{name}/knowledge/export", operation_id = "export_knowledge",
    responses((status = 200, description = "One list for each kind.", body = serde_json::Value, content_type = "application/yaml")))]
pub(super) async fn export(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(knowledge): State<CheckedKnowledge>,
    Path(name): Path<String>,
) -> ApiResult<Response> {
    let mind = minds.get(&caller, &name).await?;
    let entries = knowledge.base().stored(&mind).await?;
    let yaml = yaml::write(entries.iter().map(|entry| &entry.knowledge))?;
    let headers = [
        (header::CONTENT_TYPE, "application/yaml".to_owned()),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{}.yaml\"", mind.name),
        ),
    ];
    Ok((headers, yaml).into_response())
}

/// Imports a document
///
/// Every entry is checked first. If one fails, nothing is stored, and the message names its line. An entry replaces the
/// one of the same kind and name.
#[utoipa::path(post, path = "/minds/{name}/knowledge/import", operation_id = "import_knowledge",
    params(HowToImport),
    request_body(content = serde_json::Value, content_type = "application/yaml", description = "As the export writes it."),
    responses((status = 200, body = Imports, description = "What changed.")))]
pub(super) async fn import(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(knowledge): State<CheckedKnowledge>,
    Path(name): Path<String>,
    Query(how): Query<HowToImport>,
    YamlBytes(body): YamlBytes,
) -> ApiResult<axum::Json<Imports>> {
    let mind = mind(&minds, &caller, &name).await?;
    let entries = tokio::task::spawn_blocking(move || yaml::read(&body));
    let entries = entries.await.map_err(Error::internal)??;
    let mode = how.mode.unwrap_or_default();
    let imports = knowledge.import(&caller, &mind, &entries, mode).await?;
    Ok(axum::Json(imports))
}

/// The Mind as checks need it.
pub(super) async fn mind(minds: &Minds, caller: &Caller, name: &str) -> Result<Arc<Mind>> {
    // By name past the cache, as all settings of Minds are read.
    let mind = minds.get(caller, name).await?;
    let current = minds.current_by_id(caller, &mind.id).await?;
    Ok(current.unwrap_or_else(|| Arc::new(mind)))
}

/// The id after which a page begins.
pub(super) fn after(text: Option<&str>) -> Result<Option<Uuid>> {
    let parse = |text: &str| {
        text.parse().map_err(|_| {
            let message = "`after` must be the id of an entry: `last_id` of the page before";
            Error::invalid("after", message)
        })
    };
    text.map(parse).transpose()
}
