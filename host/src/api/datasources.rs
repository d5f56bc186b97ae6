//! `/datasources`

use std::{sync::Arc, time::Duration};

use axum::{Extension, extract::State, http::StatusCode};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    admission::Made,
    extract::{Json, Path, Query, friendly, present},
};
use crate::{
    auth::{Caller, Role},
    catalog::Catalog,
    datasources::{
        Changes, Datasource, Datasources, NewDatasource, Saved, Settings, SettingsChange,
    },
    error::{Kind, Result},
};

/// Connections that one listing tests at the same time.
const CHECKS_AT_ONCE: usize = 4;

/// What a caller reads about a failed test who may not see how the datasource is connected: an engine's own message
/// can name hosts, users and files.
const FAILED: &str = "the datasource cannot be reached; an editor can see why";

/// The body of `POST /datasources`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    name: String,
    engine: String,
    description: Option<String>,
    connection_data: Map<String, Value>,
    max_connections: Option<u32>,
    #[serde(default, deserialize_with = "friendly::option")]
    statement_timeout: Option<Duration>,
    send_values: Option<bool>,
    send_rows: Option<bool>,
    function_schemas: Option<Vec<String>>,
}

/// The body of `PUT` and `PATCH /datasources/{name}`: what changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    name: Option<String>,
    engine: Option<String>,
    #[serde(default, deserialize_with = "present")]
    description: Option<Option<String>>,
    connection_data: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "present")]
    max_connections: Option<Option<u32>>,
    #[serde(default, deserialize_with = "friendly::present")]
    statement_timeout: Option<Option<Duration>>,
    send_values: Option<bool>,
    send_rows: Option<bool>,
    function_schemas: Option<Vec<String>>,
}

/// `?check_connection=`
#[derive(Debug, Deserialize)]
pub(super) struct Check {
    check_connection: Option<bool>,
}

/// `?cascade=`
#[derive(Debug, Deserialize)]
pub(super) struct Cascade {
    #[serde(default)]
    cascade: bool,
}

/// A datasource as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    id: String,
    name: String,
    description: String,
    engine: String,
    created_at: jiff::Timestamp,
    modified_at: jiff::Timestamp,
    /// For editors and above; every secret masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    connection_data: Option<Map<String, Value>>,
    max_connections: Option<u32>,
    statement_timeout: Option<String>,
    send_values: bool,
    send_rows: bool,
    function_schemas: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection_status: Option<ConnectionStatus>,
}

/// How the test of a connection ended.
#[derive(Debug, Serialize)]
pub(super) struct ConnectionStatus {
    success: bool,
    error_message: Option<String>,
}

/// `POST /datasources`
pub(super) async fn create(
    caller: Caller,
    State(datasources): State<Arc<Datasources>>,
    State(catalog): State<Arc<Catalog>>,
    Query(query): Query<Check>,
    Json(body): Json<Create>,
) -> Result<(StatusCode, Extension<Made>, axum::Json<Shown>)> {
    let settings = SettingsChange {
        max_connections: Some(body.max_connections),
        statement_timeout: Some(body.statement_timeout),
        send_values: body.send_values,
        send_rows: body.send_rows,
        function_schemas: body.function_schemas,
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
    let made = Extension(Made(saved.datasource.name.clone()));
    let shown = axum::Json(shown(&caller, saved.datasource));
    Ok((StatusCode::CREATED, made, shown))
}

/// `PUT` and `PATCH /datasources/{name}`
pub(super) async fn update(
    caller: Caller,
    State(datasources): State<Arc<Datasources>>,
    State(catalog): State<Arc<Catalog>>,
    Path(name): Path<String>,
    Query(query): Query<Check>,
    Json(body): Json<Update>,
) -> Result<axum::Json<Shown>> {
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
        },
    };
    let check = query.check_connection.unwrap_or(true);
    let saved = datasources.update(&caller, &name, changes, check).await?;
    keep_tables(&catalog, &saved).await?;
    Ok(axum::Json(shown(&caller, saved.datasource)))
}

/// The test of the connection saw the tables: the catalog shows them from the beginning.
async fn keep_tables(catalog: &Catalog, saved: &Saved) -> Result<()> {
    match &saved.tables {
        Some(tables) => {
            catalog
                .table_list_stored((&saved.datasource).into(), tables)
                .await
        }
        None => Ok(()),
    }
}

/// `GET /datasources`
pub(super) async fn list(
    caller: Caller,
    State(datasources): State<Arc<Datasources>>,
    Query(query): Query<Check>,
) -> Result<axum::Json<Vec<Shown>>> {
    let all = datasources.list(&caller).await?;
    let check = query.check_connection.unwrap_or(false);
    let listed = stream::iter(all)
        .map(|datasource| describe(&caller, &datasources, datasource, check))
        .buffered(CHECKS_AT_ONCE)
        .try_collect()
        .await?;
    Ok(axum::Json(listed))
}

/// `GET /datasources/{name}`
pub(super) async fn get(
    caller: Caller,
    State(datasources): State<Arc<Datasources>>,
    Path(name): Path<String>,
    Query(query): Query<Check>,
) -> Result<axum::Json<Shown>> {
    let datasource = datasources.get(&caller, &name).await?;
    let check = query.check_connection.unwrap_or(false);
    let shown = describe(&caller, &datasources, datasource, check).await?;
    Ok(axum::Json(shown))
}

/// `DELETE /datasources/{name}`
pub(super) async fn delete(
    caller: Caller,
    State(datasources): State<Arc<Datasources>>,
    Path(name): Path<String>,
    Query(query): Query<Cascade>,
) -> Result<StatusCode> {
    datasources.delete(&caller, &name, query.cascade).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The shown form, its connection tested where that is wanted. A failed test is part of the answer; a fault of ours
/// is not.
async fn describe(
    caller: &Caller,
    datasources: &Datasources,
    datasource: Datasource,
    check: bool,
) -> Result<Shown> {
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
    Ok(Shown {
        connection_status,
        ..shown(caller, datasource)
    })
}

fn shown(caller: &Caller, datasource: Datasource) -> Shown {
    let editor = caller.role >= Role::Editor;
    let settings = datasource.settings;
    Shown {
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
        connection_status: None,
    }
}
