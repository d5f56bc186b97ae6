//! `/engines`: what can be connected.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use serde_json::Value;

use super::extract::Path;
use crate::{
    auth::Caller,
    error::Result,
    plugins::{Connector, Dialect, manifest::Capabilities, registry::Registry},
};

/// An engine as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    engine: String,
    /// Other names of the same engine.
    aliases: Vec<String>,
    title: String,
    description: String,
    dialect: Option<Dialect>,
    capabilities: Capabilities,
    /// JSON schema.
    connection_data: Value,
    plugin: String,
    version: String,
    digest: String,
}

/// `GET /engines`
pub(super) async fn list(_: Caller, State(registry): State<Arc<Registry>>) -> Json<Vec<Shown>> {
    let connectors = registry.connectors();
    let usual = |connector: &Arc<dyn Connector>| {
        let engine = connector.manifest().engines.first()?;
        Some(shown(engine, &**connector))
    };
    Json(connectors.iter().filter_map(usual).collect())
}

/// `GET /engines/{engine}`
pub(super) async fn get(
    _: Caller,
    State(registry): State<Arc<Registry>>,
    Path(engine): Path<String>,
) -> Result<Json<Shown>> {
    let connector = registry.engine(&engine)?;
    Ok(Json(shown(&engine, &*connector)))
}

fn shown(engine: &str, connector: &dyn Connector) -> Shown {
    let manifest = connector.manifest();
    let aliases = manifest.engines.iter().filter(|other| *other != engine);
    Shown {
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
