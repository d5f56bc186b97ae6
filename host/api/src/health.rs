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
use mindhost_plugins::{
    active::{ActivePlugins, MissingVersion},
    registry::Registry,
};
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
    /// Active versions of plugins that this host does not serve, because it lacks the file or cannot use it.
    missing: Vec<MissingVersion>,
}

/// Refuses from the moment when the server is asked to end, which is before it refuses connections.
fn staying(shutdown: &Shutdown) -> Result<(), Error> {
    match shutdown.leaving.is_cancelled() || shutdown.ending.is_cancelled() {
        true => {
            let error = Error::new(Code::Overloaded, "the server is shutting down");
            Err(error.blamed(Blame::Host))
        }
        false => Ok(()),
    }
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
    staying(&shutdown)?;
    // The query is the check that the store answers.
    let missing = ActivePlugins(&store).missing(&registry).await;
    let missing = missing.map_err(|error| {
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
        missing,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_that_was_asked_to_end_is_not_ready_while_it_still_serves() {
        let shutdown = Shutdown::default();
        assert!(staying(&shutdown).is_ok());
        shutdown.leaving.cancel();
        let refused = staying(&shutdown).unwrap_err();
        assert_eq!(refused.code(), Code::Overloaded);
        assert!(!shutdown.ending.is_cancelled());
    }
}
