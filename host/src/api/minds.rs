//! `/minds`

mod entries;

use std::{sync::Arc, time::SystemTime};

use axum::{Extension, extract::State};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::entries::{Entry, Resolver};
use super::{
    admission::Made,
    extract::{Json, Path, Query},
};
use crate::{
    auth::{Caller, Compat, Role},
    catalog::{Catalog, Source, Statuses},
    error::Result,
    minds::{Changes, Mind, MindDatasource, Minds, NewMind},
};

/// The body of `POST /minds`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    name: String,
    datasources: Vec<Entry>,
    provider: Option<String>,
    model_name: Option<String>,
    parameters: Option<Map<String, Value>>,
}

/// The body of `PUT /minds/{name}`: what changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    name: Option<String>,
    datasources: Option<Vec<Entry>>,
    provider: Option<String>,
    model_name: Option<String>,
    parameters: Option<Map<String, Value>>,
}

/// `?is_demo=`
#[derive(Debug, Deserialize)]
pub(super) struct Filter {
    is_demo: Option<bool>,
}

/// A Mind as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    name: String,
    /// Names; for `minds-sdk` objects like those in `datasource_tables`.
    datasources: Vec<Value>,
    datasource_tables: Vec<Value>,
    provider: String,
    model_name: String,
    parameters: Map<String, Value>,
    created_at: String,
    updated_at: String,
    modified_at: String,
    /// How far the catalogs of its datasources have got; for `minds-sdk` the word alone.
    status: Value,
}

/// `POST /minds`
pub(super) async fn create(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(catalog): State<Arc<Catalog>>,
    State(resolver): State<Resolver>,
    Json(body): Json<Create>,
) -> Result<(Extension<Made>, axum::Json<Shown>)> {
    caller.require(Role::Editor)?;
    caller.require_all_minds("make another Mind")?;
    let new = NewMind {
        datasources: resolver.resolve(&caller, body.datasources).await?,
        name: body.name,
        provider: body.provider,
        model_name: body.model_name,
        parameters: body.parameters.unwrap_or_default(),
    };
    let mind = minds.create(&caller, new).await?;
    start_missing(&catalog, &mind).await?;
    let statuses = statuses(&catalog, std::slice::from_ref(&mind)).await?;
    let made = Extension(Made(mind.name.clone()));
    Ok((made, axum::Json(shown(&caller, mind, &statuses))))
}

/// `PUT /minds/{name}`
pub(super) async fn update(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(catalog): State<Arc<Catalog>>,
    State(resolver): State<Resolver>,
    Path(name): Path<String>,
    Json(body): Json<Update>,
) -> Result<axum::Json<Shown>> {
    caller.require(Role::Editor)?;
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
        start_missing(&catalog, &mind).await?;
    }
    let statuses = statuses(&catalog, std::slice::from_ref(&mind)).await?;
    Ok(axum::Json(shown(&caller, mind, &statuses)))
}

/// `GET /minds`
pub(super) async fn list(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(catalog): State<Arc<Catalog>>,
    Query(filter): Query<Filter>,
) -> Result<axum::Json<Vec<Shown>>> {
    let mut all = minds.list(&caller).await?;
    if let Some(is_demo) = filter.is_demo {
        all.retain(|mind| mind.is_demo() == is_demo);
    }
    let statuses = statuses(&catalog, &all).await?;
    let shown = all.into_iter().map(|mind| shown(&caller, mind, &statuses));
    Ok(axum::Json(shown.collect()))
}

/// `GET /minds/{name}`
pub(super) async fn get(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(catalog): State<Arc<Catalog>>,
    Path(name): Path<String>,
) -> Result<axum::Json<Shown>> {
    let mind = minds.get(&caller, &name).await?;
    let statuses = statuses(&catalog, std::slice::from_ref(&mind)).await?;
    Ok(axum::Json(shown(&caller, mind, &statuses)))
}

/// `DELETE /minds/{name}`. A body is ignored: some clients send `{}`.
pub(super) async fn delete(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    Path(name): Path<String>,
) -> Result<axum::Json<Value>> {
    minds.delete(&caller, &name).await?;
    Ok(axum::Json(json!({"name": name, "deleted": true})))
}

/// What was never loaded of the Mind's tables is loaded in the background.
async fn start_missing(catalog: &Catalog, mind: &Mind) -> Result<()> {
    for datasource in &mind.datasources {
        let source = Source {
            workspace: &mind.workspace_id,
            id: &datasource.id,
            seen: None,
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

fn shown(caller: &Caller, mind: Mind, statuses: &Statuses) -> Shown {
    let status = statuses.of(mind
        .datasources
        .iter()
        .map(|datasource| datasource.id.as_str()));
    let status = match caller.minds {
        None => status,
        Some(_) => status.without_names(),
    };
    let with_tables: Vec<Value> = mind.datasources.iter().map(with_tables).collect();
    let datasources = match caller.compat {
        Some(Compat::MindsSdk) => with_tables.clone(),
        None => mind.datasources.iter().map(|one| json!(one.name)).collect(),
    };
    let updated_at = http_date(mind.updated_at);
    Shown {
        name: mind.name,
        datasources,
        datasource_tables: with_tables,
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
            Some(Compat::MindsSdk) => json!(status.overall_status),
            None => json!(status),
        },
    }
}

fn with_tables(datasource: &MindDatasource) -> Value {
    let tables = datasource.tables.as_ref();
    let tables = tables.map(|tables| tables.iter().map(ToString::to_string).collect::<Vec<_>>());
    json!({"name": datasource.name, "tables": tables})
}

fn http_date(at: jiff::Timestamp) -> String {
    httpdate::fmt_http_date(SystemTime::from(at))
}
