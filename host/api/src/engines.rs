//! `/engines`: what can be connected.

use crate::{
    error::ApiResult,
    routes::{Routes, Tag, USER},
};
use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::extract::Path;
use mindhost_base::error::Code;
use mindhost_core::auth::Caller;
use mindhost_plugin_api::{Connector, Dialect, manifest::Capabilities};
use mindhost_plugins::registry::Registry;

/// `/engines`
pub(super) fn routes() -> Routes {
    Routes::of(Tag::Engines)
        .route(routes!(list), USER)
        .route(routes!(get), USER.fails(&[Code::EngineNotFound]))
}

/// An engine as it is shown.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Engine)]
pub(super) struct EngineBody {
    /// Name: `engine` of a datasource.
    #[schema(example = "postgres")]
    engine: String,
    /// Other names of the same engine.
    aliases: Vec<String>,
    /// For people.
    #[schema(example = "PostgreSQL")]
    title: String,
    /// For people.
    description: String,
    /// What SQL its datasources take; null where the host gives the engine its SQL.
    #[schema(required = true)]
    dialect: Option<Dialect>,
    /// What its connector can do.
    capabilities: Capabilities,
    /// JSON schema of `connection_data` of a datasource; `x-secret` and `x-destination` mark properties.
    #[schema(value_type = Object)]
    connection_data: Value,
    /// The plugin that serves it.
    #[schema(example = "connector-postgres")]
    plugin: String,
    /// Version of the plugin.
    version: String,
    /// SHA-256 of the plugin's file.
    digest: String,
}

/// Lists the engines that can be connected
#[utoipa::path(get, path = "/engines", operation_id = "list_engines",
    responses((status = 200, body = Vec<EngineBody>, description = "Engines that a plugin serves.")))]
pub(super) async fn list(
    _: Caller,
    State(registry): State<Arc<Registry>>,
) -> Json<Vec<EngineBody>> {
    let connectors = registry.connectors();
    let usual = |connector: &Arc<dyn Connector>| {
        let engine = connector.manifest().engines.first()?;
        Some(shown(engine, &**connector))
    };
    Json(connectors.iter().filter_map(usual).collect())
}

/// Gets an engine, by its name or an alias
#[utoipa::path(get, path = "/engines/{engine}", operation_id = "get_engine",
    responses((status = 200, body = EngineBody, description = "The engine.")))]
pub(super) async fn get(
    _: Caller,
    State(registry): State<Arc<Registry>>,
    Path(engine): Path<String>,
) -> ApiResult<Json<EngineBody>> {
    let connector = registry.engine(&engine)?;
    Ok(Json(shown(&engine, &*connector)))
}

fn shown(engine: &str, connector: &dyn Connector) -> EngineBody {
    let manifest = connector.manifest();
    let aliases = manifest.engines.iter().filter(|other| *other != engine);
    EngineBody {
        engine: engine.to_owned(),
        aliases: aliases.cloned().collect(),
        title: manifest.title.clone(),
        description: manifest.description.clone(),
        dialect: manifest.dialect,
        capabilities: manifest.capabilities.clone(),
        connection_data: manifest.connection_data.clone(),
        plugin: manifest.name.clone(),
        version: manifest.version.clone(),
        digest: connector.digest().to_owned(),
    }
}
