//! Whether the server lives, and whether it can work.

use crate::{
    error::ApiResult,
    routes::{OPEN, Routes, Tag},
};
use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::Shutdown;
use mindhost_base::error::{Blame, Code, Error};
use mindhost_plugins::registry::Registry;
use mindhost_store::Store;

/// `/healthz` and `/readyz`
pub(super) fn routes() -> Routes {
    Routes::of(Tag::Server)
        .route(routes!(healthz), OPEN)
        .route(routes!(readyz), OPEN.fails(&[Code::Overloaded]))
}

/// How the server is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok`
    #[schema(example = "ok")]
    status: &'static str,
}

/// Whether the server can work.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Readiness {
    /// `ready`
    #[schema(example = "ready")]
    status: &'static str,
    /// Names of the plugins that have no code yet because it is still being compiled. Calls to them wait.
    compiling: Vec<String>,
}

/// Says that the process answers
#[utoipa::path(get, path = "/healthz", operation_id = "get_health",
    responses((status = 200, body = Health, description = "It lives.")))]
pub(super) async fn healthz() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Says whether the server can work: the store answers, and the server is not ending
#[utoipa::path(get, path = "/readyz", operation_id = "get_readiness",
    responses((status = 200, body = Readiness, description = "It can work.")))]
pub(super) async fn readyz(
    State(store): State<Store>,
    State(shutdown): State<Shutdown>,
    State(registry): State<Arc<Registry>>,
) -> ApiResult<Json<Readiness>> {
    if shutdown.ending.is_cancelled() {
        return Err(Error::new(Code::Overloaded, "the server is shutting down")
            .blamed(Blame::Host)
            .into());
    }
    store.ping().await.map_err(|error| {
        Error::new(
            Code::Overloaded,
            "the store does not answer; see the server's log",
        )
        .blamed(Blame::Host)
        .with_source(error)
    })?;
    Ok(Json(Readiness {
        status: "ready",
        compiling: registry.compiling(),
    }))
}
