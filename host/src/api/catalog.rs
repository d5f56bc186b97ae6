//! `/datasources/{datasource_name}/catalog`

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use serde::{Deserialize, Serialize};

use super::{
    AppState,
    extract::{Json, Path, Query, present},
};
use crate::{
    auth::{Caller, Role},
    catalog::{
        Catalog, Column, DescriptionSource, Filter, ForeignKey, Mode, PrimaryKeyColumn, Source,
        Started, Status, StoredStatistics, Table, TableStatus,
    },
    datasources::{Datasource, Datasources},
    error::{Code, Error, Result},
    minds::Minds,
    plugins::TableRef,
    store::timestamp,
};

const MAX_DESCRIPTION: usize = 10_000;
const MAX_WAIT: u64 = 600;

/// `?mind=&search=`
#[derive(Debug, Deserialize)]
pub(super) struct Show {
    mind: Option<String>,
    search: Option<String>,
}

/// `?wait=`: seconds.
#[derive(Debug, Deserialize)]
pub(super) struct Wait {
    wait: Option<u64>,
}

/// The body of `POST …/refresh`; none at all refreshes everything.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Refresh {
    table_names: Option<Vec<String>>,
    mode: Option<Mode>,
}

/// The body of `POST …/tables`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Load {
    table_names: Vec<String>,
}

/// The body of both `PATCH`: null clears, absent is refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Describe {
    #[serde(default, deserialize_with = "present")]
    description: Option<Option<String>>,
}

/// A catalog.
#[derive(Debug, Serialize)]
pub(super) struct ShownCatalog {
    datasource: Summary,
    total_tables: usize,
    status: Status,
    tables: Vec<ShownTable>,
}

/// A datasource in a catalog: without what it is configured with.
#[derive(Debug, Serialize)]
struct Summary {
    id: String,
    name: String,
    description: String,
    engine: String,
    created_at: jiff::Timestamp,
    modified_at: jiff::Timestamp,
}

/// A table of a catalog.
#[derive(Debug, Serialize)]
pub(super) struct ShownTable {
    name: String,
    schema: String,
    description: Option<String>,
    source_description: Option<String>,
    description_source: DescriptionSource,
    #[serde(rename = "type")]
    kind: String,
    row_count: u64,
    row_count_known: bool,
    status: TableStatus,
    /// Why the last load failed.
    error: Option<String>,
    /// Whether it vanished from the source.
    missing: bool,
    loaded_at: Option<jiff::Timestamp>,
    columns: Vec<ShownColumn>,
    primary_key_constraints: Vec<PrimaryKeyColumn>,
    foreign_key_constraints: Vec<ForeignKey>,
}

/// A column of a table.
#[derive(Debug, Serialize)]
pub(super) struct ShownColumn {
    name: String,
    data_type: String,
    description: Option<String>,
    source_description: Option<String>,
    description_source: DescriptionSource,
    default_value: Option<String>,
    is_nullable: bool,
    statistics: StoredStatistics,
}

/// What every handler here needs.
#[derive(Clone)]
pub(super) struct Parts {
    catalog: Arc<Catalog>,
    datasources: Arc<Datasources>,
    minds: Arc<Minds>,
}

impl FromRef<AppState> for Parts {
    fn from_ref(state: &AppState) -> Self {
        Self {
            catalog: state.catalog.clone(),
            datasources: state.datasources.clone(),
            minds: state.minds.clone(),
        }
    }
}

/// `GET …/catalog`
pub(super) async fn get(
    caller: Caller,
    State(parts): State<Parts>,
    Path(name): Path<String>,
    Query(query): Query<Show>,
) -> Result<axum::Json<ShownCatalog>> {
    let reach = parts.reach(&caller, &name).await?;
    let selection = match &query.mind {
        Some(mind) => parts.of_mind(&caller, &reach.datasource, mind).await?,
        None => None,
    };
    let filter = Filter {
        selection: selection.as_deref(),
        search: query.search.as_deref(),
    };
    parts.show(reach, filter).await
}

/// `POST …/catalog/refresh`
pub(super) async fn refresh(
    caller: Caller,
    State(parts): State<Parts>,
    Path(name): Path<String>,
    Query(query): Query<Wait>,
    body: Option<Json<Refresh>>,
) -> Result<axum::Json<ShownCatalog>> {
    caller.require(Role::Editor)?;
    let patience = patience(query.wait)?;
    let body = body.map(|Json(body)| body).unwrap_or_default();
    check_names(body.table_names.as_deref())?;
    let reach = parts.reach(&caller, &name).await?;
    let mode = body.mode.unwrap_or(Mode::All);
    let names = body.table_names.as_deref();
    let started = parts.catalog.refresh(reach.source(), mode, names).await?;
    parts.show_after(reach, &started, patience).await
}

/// `POST …/catalog/tables`
pub(super) async fn load(
    caller: Caller,
    State(parts): State<Parts>,
    Path(name): Path<String>,
    Query(query): Query<Wait>,
    Json(body): Json<Load>,
) -> Result<axum::Json<ShownCatalog>> {
    caller.require(Role::Editor)?;
    let patience = patience(query.wait)?;
    check_names(Some(&body.table_names))?;
    let reach = parts.reach(&caller, &name).await?;
    let started = parts
        .catalog
        .load_tables(reach.source(), &body.table_names)
        .await?;
    parts.show_after(reach, &started, patience).await
}

/// `POST …/catalog/cancel`
pub(super) async fn cancel(
    caller: Caller,
    State(parts): State<Parts>,
    Path(name): Path<String>,
    Query(query): Query<Wait>,
) -> Result<axum::Json<ShownCatalog>> {
    caller.require(Role::Editor)?;
    let patience = patience(query.wait)?;
    let reach = parts.reach(&caller, &name).await?;
    let stopped = parts.catalog.cancel(reach.source()).await?;
    parts.show_after(reach, &stopped, patience).await
}

/// `PATCH …/catalog/tables/{table_name}`
pub(super) async fn describe_table(
    caller: Caller,
    State(parts): State<Parts>,
    Path((name, table)): Path<(String, String)>,
    Json(body): Json<Describe>,
) -> Result<axum::Json<ShownTable>> {
    caller.require(Role::Editor)?;
    let text = description(body)?;
    let reach = parts.reach(&caller, &name).await?;
    let table = parts
        .catalog
        .describe_table(reach.source(), &table, text.as_deref())
        .await?;
    Ok(axum::Json(table.into()))
}

/// `PATCH …/catalog/tables/{table_name}/columns/{column_name}`
pub(super) async fn describe_column(
    caller: Caller,
    State(parts): State<Parts>,
    Path((name, table, column)): Path<(String, String, String)>,
    Json(body): Json<Describe>,
) -> Result<axum::Json<ShownColumn>> {
    caller.require(Role::Editor)?;
    let text = description(body)?;
    let reach = parts.reach(&caller, &name).await?;
    let column = parts
        .catalog
        .describe_column(reach.source(), &table, &column, text.as_deref())
        .await?;
    Ok(axum::Json(column.into()))
}

/// `DELETE …/catalog/tables/{table_name}`
pub(super) async fn delete_table(
    caller: Caller,
    State(parts): State<Parts>,
    Path((name, table)): Path<(String, String)>,
) -> Result<StatusCode> {
    caller.require(Role::Editor)?;
    let reach = parts.reach(&caller, &name).await?;
    parts.catalog.delete_table(reach.source(), &table).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE …/catalog`
pub(super) async fn delete_all(
    caller: Caller,
    State(parts): State<Parts>,
    Path(name): Path<String>,
) -> Result<StatusCode> {
    caller.require(Role::Editor)?;
    let reach = parts.reach(&caller, &name).await?;
    parts.catalog.delete_all(reach.source()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A datasource, and which of its tables the caller may see and change.
struct Reach {
    datasource: Datasource,
    seen: Option<Vec<TableRef>>,
}

impl Reach {
    fn source(&self) -> Source<'_> {
        Source::from(&self.datasource).limited_to(self.seen.as_deref())
    }
}

impl Parts {
    async fn reach(&self, caller: &Caller, name: &str) -> Result<Reach> {
        let datasource = self.datasources.get(caller, name).await?;
        let seen = self.minds.tables_seen(caller, &datasource.id).await?;
        Ok(Reach { datasource, seen })
    }

    /// The tables that a Mind has of the datasource; `None` means all.
    async fn of_mind(
        &self,
        caller: &Caller,
        datasource: &Datasource,
        mind: &str,
    ) -> Result<Option<Vec<TableRef>>> {
        let mind = self.minds.get(caller, mind).await?;
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
        started: &Started,
        patience: Duration,
    ) -> Result<axum::Json<ShownCatalog>> {
        self.catalog.wait(started, patience).await?;
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
    if text.contains('\0') {
        return Err(Error::invalid(
            "description",
            "`description` must not contain NUL",
        ));
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
