//! `/datasources/{datasource_name}/catalog`

use crate::{
    error::ApiResult,
    routes::{ASKED, EDITOR, Routes, Tag, USER},
};
use std::{sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{FromRef, State},
    http::StatusCode,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    AppState,
    admission::ClientLeft,
    extract::{Json, Path, Query, present},
};
use mindhost_answers::results::Results;
use mindhost_base::error::{Code, Error, Result};
use mindhost_catalog::{
    Catalog, Column, DescriptionSource, Filter, ForeignKey, Mode, PrimaryKeyColumn, Restrictions,
    Source, StartedRuns, Statistics, Status, StoredStatistics, Table, TableStatus,
};
use mindhost_core::{
    auth::{Caller, Role},
    datasources::{Datasource, Datasources},
    minds::Minds,
};
use mindhost_plugin_api::TableRef;
use mindhost_store::timestamp;

/// Failures of a run that loads tables.
const RUN: &[Code] = &[
    Code::DatasourceNotFound,
    Code::UnknownTable,
    Code::AmbiguousTable,
    Code::MindDatasourceRelationshipRequired,
    Code::RunActive,
    Code::StorageFull,
];

/// `/datasources/{name}/catalog`
pub(super) fn routes() -> Routes {
    let show = USER.fails(&[
        Code::DatasourceNotFound,
        Code::MindNotFound,
        Code::DatasourceNotInMind,
    ]);
    let change = || EDITOR.fails(&[Code::DatasourceNotFound]);
    let change_table = || change().fails(&[Code::TableNotFound, Code::AmbiguousTable]);
    Routes::of(Tag::Datasources)
        .route(routes!(get), show)
        .route(routes!(delete_all), change())
        .route(routes!(refresh), EDITOR.fails(RUN).fails(ASKED))
        .route(routes!(load), EDITOR.fails(RUN).fails(ASKED))
        .route(routes!(cancel), change())
        .route(routes!(describe_table), change_table())
        .route(routes!(delete_table), change_table())
        .route(
            routes!(describe_column),
            change_table().fails(&[Code::ColumnNotFound]),
        )
}

const MAX_DESCRIPTION: usize = 10_000;
const MAX_WAIT: u64 = 600;

/// `?mind=&search=`
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Show {
    /// Name of a Mind: only its tables of the datasource.
    mind: Option<String>,
    /// Only tables whose names and descriptions, those of their columns included, contain every word of this, in any
    /// order and case, also within a longer word.
    search: Option<String>,
}

/// `?wait=`: seconds.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Wait {
    /// Seconds to wait for the end of the run. Default 0.
    #[param(minimum = 0, maximum = 600, default = 0)]
    wait: Option<u64>,
}

/// The body of `POST …/refresh`. Without a body everything is refreshed.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = RefreshCatalog)]
#[serde(deny_unknown_fields)]
pub(super) struct Refresh {
    /// The tables. Default: all.
    #[schema(min_items = 1)]
    table_names: Option<Vec<String>>,
    /// Default `all`.
    mode: Option<Mode>,
}

/// The body of `POST …/tables`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = LoadTables)]
#[serde(deny_unknown_fields)]
pub(super) struct Load {
    /// Tables to load into the catalog.
    #[schema(min_items = 1)]
    table_names: Vec<String>,
}

/// The body of both `PATCH`: null clears, absent is refused.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Describe)]
#[serde(deny_unknown_fields)]
pub(super) struct Describe {
    /// The new text; null clears it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, required = true, max_length = 10_000, pattern = "^[^\\x00]*$")]
    description: Option<Option<String>>,
}

/// A catalog.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Catalog)]
pub(super) struct ShownCatalog {
    datasource: Summary,
    total_tables: usize,
    status: Status,
    tables: Vec<ShownTable>,
}

/// A datasource in a catalog, without its configuration.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DatasourceSummary)]
struct Summary {
    id: String,
    name: String,
    description: String,
    engine: String,
    created_at: jiff::Timestamp,
    modified_at: jiff::Timestamp,
}

/// A table of a catalog.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Table)]
pub(super) struct ShownTable {
    name: String,
    schema: String,
    /// The caller's description, else the comment in the source.
    #[schema(required = true)]
    description: Option<String>,
    /// The comment in the source.
    #[schema(required = true)]
    source_description: Option<String>,
    /// Where `description` comes from.
    description_source: DescriptionSource,
    /// `TABLE`, `VIEW`, …; `UNKNOWN` until loaded.
    #[serde(rename = "type")]
    #[schema(example = "TABLE")]
    kind: String,
    /// 0 if unknown.
    row_count: u64,
    /// Whether `row_count` is known: if not, its 0 says nothing.
    row_count_known: bool,
    status: TableStatus,
    /// Why the last load failed; or, of a table that is loaded, of which columns there are no statistics, and why.
    #[schema(required = true)]
    error: Option<String>,
    /// The `X-Request-ID` of the request that began that load, under which the server's log has it. Null without an
    /// error, and where it is not known any more.
    #[schema(required = true)]
    error_request_id: Option<String>,
    /// Whether it vanished from the source.
    missing: bool,
    /// When its columns were loaded.
    #[schema(required = true)]
    loaded_at: Option<jiff::Timestamp>,
    columns: Vec<ShownColumn>,
    primary_key_constraints: Vec<PrimaryKeyColumn>,
    foreign_key_constraints: Vec<ForeignKey>,
}

/// A column of a table.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Column)]
pub(super) struct ShownColumn {
    name: String,
    /// The engine's own type.
    #[schema(example = "numeric(12,2)")]
    data_type: String,
    /// The caller's description, else the comment in the source.
    #[schema(required = true)]
    description: Option<String>,
    /// The comment in the source.
    #[schema(required = true)]
    source_description: Option<String>,
    /// Where `description` comes from.
    description_source: DescriptionSource,
    /// As SQL text.
    #[schema(required = true)]
    default_value: Option<String>,
    is_nullable: bool,
    #[schema(value_type = Statistics)]
    statistics: StoredStatistics,
}

/// The services of these handlers.
#[derive(Clone)]
pub(super) struct Services {
    catalog: Arc<Catalog>,
    datasources: Arc<Datasources>,
    minds: Arc<Minds>,
    results: Results,
}

impl FromRef<AppState> for Services {
    fn from_ref(state: &AppState) -> Self {
        Self {
            catalog: state.catalog.clone(),
            datasources: state.datasources.clone(),
            minds: state.minds.clone(),
            results: state.results.clone(),
        }
    }
}

/// Gets the catalog of a datasource
///
/// Returns the stored catalog and never waits for the engine. Tables that are not loaded are `NOT_CATALOGED` and have
/// no columns.
#[utoipa::path(get, path = "/datasources/{name}/catalog", operation_id = "get_catalog",
    params(Show),
    responses((status = 200, body = ShownCatalog, description = "The catalog.")))]
pub(super) async fn get(
    caller: Caller,
    State(parts): State<Services>,
    Path(name): Path<String>,
    Query(query): Query<Show>,
) -> ApiResult<axum::Json<ShownCatalog>> {
    let reach = parts.reach(&caller, &name).await?;
    let selection = match &query.mind {
        Some(mind) => parts.of_mind(&caller, &reach.datasource, mind).await?,
        None => None,
    };
    let restrictions = parts.restrictions(&caller, &reach.datasource).await?;
    let filter = Filter {
        selection: selection.as_deref(),
        search: query.search.as_deref(),
        restrictions: Some(&restrictions),
    };
    Ok(parts.show(reach, filter).await?)
}

/// Loads the catalog, or its missing parts, in the background
#[utoipa::path(post, path = "/datasources/{name}/catalog/refresh", operation_id = "refresh_catalog",
    params(Wait), request_body = Option<Refresh>,
    responses((status = 200, body = ShownCatalog, description = "The catalog as it is; its status tells of the run.")))]
pub(super) async fn refresh(
    caller: Caller,
    Extension(client): Extension<ClientLeft>,
    State(parts): State<Services>,
    Path(name): Path<String>,
    Query(query): Query<Wait>,
    body: Option<Json<Refresh>>,
) -> ApiResult<axum::Json<ShownCatalog>> {
    let patience = patience(query.wait)?;
    let body = body.map(|Json(body)| body).unwrap_or_default();
    check_names(body.table_names.as_deref())?;
    let reach = parts.reach(&caller, &name).await?;
    let mode = body.mode.unwrap_or(Mode::All);
    let names = body.table_names.as_deref();
    let started = parts.catalog.refresh(reach.source(), mode, names).await?;
    Ok(parts.show_after(reach, &started, patience, &client).await?)
}

/// Loads some tables into the catalog, in the background
#[utoipa::path(post, path = "/datasources/{name}/catalog/tables", operation_id = "load_tables",
    params(Wait),
    responses((status = 200, body = ShownCatalog, description = "The catalog as it is; its status tells of the run.")))]
pub(super) async fn load(
    caller: Caller,
    Extension(client): Extension<ClientLeft>,
    State(parts): State<Services>,
    Path(name): Path<String>,
    Query(query): Query<Wait>,
    Json(body): Json<Load>,
) -> ApiResult<axum::Json<ShownCatalog>> {
    let patience = patience(query.wait)?;
    check_names(Some(&body.table_names))?;
    let reach = parts.reach(&caller, &name).await?;
    let started = parts
        .catalog
        .load_tables(reach.source(), &body.table_names)
        .await?;
    Ok(parts.show_after(reach, &started, patience, &client).await?)
}

/// Stops the runs that load the catalog
#[utoipa::path(post, path = "/datasources/{name}/catalog/cancel", operation_id = "cancel_catalog",
    params(Wait),
    responses((status = 200, body = ShownCatalog, description = "The catalog as it is.")))]
pub(super) async fn cancel(
    caller: Caller,
    Extension(client): Extension<ClientLeft>,
    State(parts): State<Services>,
    Path(name): Path<String>,
    Query(query): Query<Wait>,
) -> ApiResult<axum::Json<ShownCatalog>> {
    let patience = patience(query.wait)?;
    let reach = parts.reach(&caller, &name).await?;
    let stopped = parts.catalog.cancel(reach.source()).await?;
    Ok(parts.show_after(reach, &stopped, patience, &client).await?)
}

/// Describes a table
#[utoipa::path(patch, path = "/datasources/{name}/catalog/tables/{table_name}", operation_id = "describe_table",
    responses((status = 200, body = ShownTable, description = "The table as it is now.")))]
pub(super) async fn describe_table(
    caller: Caller,
    State(parts): State<Services>,
    Path((name, table)): Path<(String, String)>,
    Json(body): Json<Describe>,
) -> ApiResult<axum::Json<ShownTable>> {
    let text = description(body)?;
    let reach = parts.reach(&caller, &name).await?;
    let table = parts
        .catalog
        .describe_table(reach.source(), &table, text.as_deref())
        .await?;
    Ok(axum::Json(table.into()))
}

/// Describes a column
#[utoipa::path(patch, path = "/datasources/{name}/catalog/tables/{table_name}/columns/{column_name}", operation_id = "describe_column",
    responses((status = 200, body = ShownColumn, description = "The column as it is now.")))]
pub(super) async fn describe_column(
    caller: Caller,
    State(parts): State<Services>,
    Path((name, table, column)): Path<(String, String, String)>,
    Json(body): Json<Describe>,
) -> ApiResult<axum::Json<ShownColumn>> {
    let text = description(body)?;
    let reach = parts.reach(&caller, &name).await?;
    let column = parts
        .catalog
        .describe_column(reach.source(), &table, &column, text.as_deref())
        .await?;
    Ok(axum::Json(column.into()))
}

/// Deletes a table's entry in the catalog
#[utoipa::path(delete, path = "/datasources/{name}/catalog/tables/{table_name}", operation_id = "delete_table",
    responses((status = 204, description = "Deleted; the table itself is untouched.")))]
pub(super) async fn delete_table(
    caller: Caller,
    State(parts): State<Services>,
    Path((name, table)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let reach = parts.reach(&caller, &name).await?;
    parts.catalog.delete_table(reach.source(), &table).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes the catalog of a datasource
#[utoipa::path(delete, path = "/datasources/{name}/catalog", operation_id = "delete_catalog",
    responses((status = 204, description = "Deleted; the tables themselves are untouched.")))]
pub(super) async fn delete_all(
    caller: Caller,
    State(parts): State<Services>,
    Path(name): Path<String>,
) -> ApiResult<StatusCode> {
    let reach = parts.reach(&caller, &name).await?;
    parts.catalog.delete_all(reach.source()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A datasource, and the tables of it that the caller may see and change.
struct Reach {
    datasource: Datasource,
    seen: Option<Vec<TableRef>>,
    request_id: Option<Arc<str>>,
}

impl Reach {
    fn source(&self) -> Source<'_> {
        Source {
            request_id: self.request_id.as_deref(),
            ..Source::from(&self.datasource).limited_to(self.seen.as_deref())
        }
    }
}

impl Services {
    async fn reach(&self, caller: &Caller, name: &str) -> Result<Reach> {
        let datasource = self.datasources.get(caller, name).await?;
        let seen = self.minds.visible_tables(caller, &datasource.id).await?;
        Ok(Reach {
            datasource,
            seen,
            request_id: caller.request_id.clone(),
        })
    }

    /// What the policies of the caller's key and of the Minds that it sees withhold of the datasource. Editors write
    /// policies, so nothing is withheld from them.
    async fn restrictions(&self, caller: &Caller, datasource: &Datasource) -> Result<Restrictions> {
        if caller.role >= Role::Editor {
            return Ok(Restrictions::default());
        }
        let minds = self.minds.list(caller).await?;
        let results = &self.results;
        results.restrictions(caller, &minds, datasource).await
    }

    /// The Mind's tables of the datasource; `None` means all.
    async fn of_mind(
        &self,
        caller: &Caller,
        datasource: &Datasource,
        mind: &str,
    ) -> Result<Option<Vec<TableRef>>> {
        let found = self.minds.get(caller, mind).await;
        let mind = found.map_err(|error| error.param("mind"))?;
        let entry = mind
            .datasources
            .into_iter()
            .find(|one| one.id == datasource.id);
        let missing = || {
            let message = format!(
                "the Mind '{}' has no datasource '{}'",
                mind.name, datasource.name
            );
            Error::new(Code::DatasourceNotInMind, message).param("mind")
        };
        Ok(entry.ok_or_else(missing)?.tables)
    }

    async fn show_after(
        &self,
        reach: Reach,
        started: &StartedRuns,
        patience: Duration,
        client: &ClientLeft,
    ) -> Result<axum::Json<ShownCatalog>> {
        let ended = client.or(self.catalog.wait(started, patience)).await;
        ended.unwrap_or(Ok(()))?;
        self.show(reach, Filter::default()).await
    }

    async fn show(&self, reach: Reach, filter: Filter<'_>) -> Result<axum::Json<ShownCatalog>> {
        let shown = self.catalog.show(reach.source(), filter).await?;
        Ok(axum::Json(ShownCatalog {
            total_tables: shown.tables.len(),
            tables: shown.tables.into_iter().map(ShownTable::from).collect(),
            status: shown.status,
            datasource: reach.datasource.into(),
        }))
    }
}

fn patience(wait: Option<u64>) -> Result<Duration> {
    match wait.unwrap_or(0) {
        seconds @ 0..=MAX_WAIT => Ok(Duration::from_secs(seconds)),
        _ => Err(Error::invalid(
            "wait",
            format!("`wait` may be at most {MAX_WAIT} seconds"),
        )),
    }
}

fn check_names(names: Option<&[String]>) -> Result<()> {
    match names {
        Some([]) => Err(Error::invalid(
            "table_names",
            "`table_names` is empty; name at least one table (POST …/catalog/refresh without it takes all)",
        )),
        _ => Ok(()),
    }
}

fn description(body: Describe) -> Result<Option<String>> {
    let absent = "`description` is missing; send a text, or null to clear it";
    let text = body
        .description
        .ok_or_else(|| Error::invalid("description", absent))?;
    let Some(text) = text else { return Ok(None) };
    if text.chars().count() > MAX_DESCRIPTION {
        let message = "`description` may have at most 10,000 characters";
        return Err(Error::invalid("description", message));
    }
    Ok(Some(text))
}

impl From<Datasource> for Summary {
    fn from(datasource: Datasource) -> Self {
        Self {
            id: datasource.id,
            name: datasource.name,
            description: datasource.description,
            engine: datasource.engine,
            created_at: datasource.created_at,
            modified_at: datasource.modified_at,
        }
    }
}

impl From<Table> for ShownTable {
    fn from(table: Table) -> Self {
        Self {
            name: table.table.name,
            schema: table.table.schema,
            description: table.description.text,
            source_description: table.description.in_source,
            description_source: table.description.source,
            kind: table.kind,
            row_count: table.row_count.unwrap_or(0),
            row_count_known: table.row_count.is_some(),
            status: table.status,
            error: table.error,
            error_request_id: table.error_request_id,
            missing: table.missing,
            loaded_at: table.loaded_at.map(timestamp),
            columns: table.columns.into_iter().map(ShownColumn::from).collect(),
            primary_key_constraints: table.primary_key,
            foreign_key_constraints: table.foreign_keys,
        }
    }
}

impl From<Column> for ShownColumn {
    fn from(column: Column) -> Self {
        Self {
            name: column.name,
            data_type: column.data_type,
            description: column.description.text,
            source_description: column.description.in_source,
            description_source: column.description.source,
            default_value: column.default_value,
            is_nullable: column.nullable,
            statistics: column.statistics,
        }
    }
}
