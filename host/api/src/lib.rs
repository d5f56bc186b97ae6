//! The HTTP API: its routes, and what every request passes through.

#![allow(
    unused_qualifications,
    reason = "what `utoipa::path` writes repeats the types of a handler's parameters"
)]

mod admission;
mod ask;
mod audit;
mod catalog;
mod chat;
mod console;
mod conversations;
mod datasources;
mod engines;
pub mod error;
mod evaluations;
mod events;
pub mod extract;
mod feedback;
mod head;
mod health;
mod http_meter;
mod keys;
mod knowledge;
mod list;
mod mcp;
mod metrics;
mod middleware;
mod minds;
mod models;
mod once;
mod openapi;
mod plugins;
mod policies;
mod providers;
mod remote;
mod response_object;
mod responses;
mod router;
mod routes;
mod running;
mod serving;
mod state;
mod usage;
mod workspaces;

use axum::{Extension, Router, routing::get};
use tokio::net::TcpListener;
use tower::Layer;
use tower_http::normalize_path::{NormalizePath, NormalizePathLayer};

pub use self::state::{AppState, Shutdown};
use self::{extract::BodyLimit, routes::Routes, serving::Bounds};

/// Connections to the listener for metrics: what watches a host is few.
const METRICS_CONNECTIONS: usize = 64;

/// Where the API is, in the document and everywhere.
const PREFIX: &str = "/api/v1";

/// Where it is too, for clients of OpenAI's API.
const ALIAS: &str = "/v1";

/// Every path, as it is in the documentation.
pub fn paths() -> Vec<String> {
    let routes = documented_routes();
    routes.iter().map(|route| route.path.clone()).collect()
}

/// Every route, where the document shows it.
fn documented_routes() -> Routes {
    server_routes()
        .and(mcp::routes())
        .and(api_routes().below(PREFIX))
}

/// Routes of the server itself; [`mcp::router`] adds its own.
fn server_routes() -> Routes {
    health::routes()
        .and(openapi::routes())
        .and(metrics::routes())
}

/// Every route below [`PREFIX`] and [`ALIAS`].
fn api_routes() -> Routes {
    engines::routes()
        .and(datasources::routes())
        .and(catalog::routes())
        .and(providers::routes())
        .and(minds::routes())
        .and(knowledge::routes())
        .and(feedback::of_minds())
        .and(evaluations::routes())
        .and(models::routes())
        .and(chat::routes())
        .and(responses::routes())
        .and(feedback::of_responses())
        .and(conversations::routes())
        .and(keys::routes())
        .and(console::routes())
        .and(workspaces::routes())
        .and(plugins::routes())
        .and(audit::routes())
        .and(usage::routes())
        .and(running::routes())
}

/// Serves until `ending` is done, then until the running requests have ended. `open_files` is how many files
/// the process may have open.
pub async fn serve(
    listener: TcpListener,
    state: AppState,
    open_files: u64,
    ending: impl Future<Output = ()>,
) {
    let bounds = Bounds::of(&state.config, open_files);
    tracing::debug!(?bounds, "connections are served");
    serving::serve(listener, service(state), bounds, ending).await;
}

/// Serves the figures alone, without keys: who reaches this listener may see them. It has connections of its own, so that
/// a server whose clients take all of theirs can still be watched. Until `ending` is done.
pub async fn serve_metrics(
    listener: TcpListener,
    state: AppState,
    ending: impl Future<Output = ()>,
) {
    let bounds = Bounds {
        connections: METRICS_CONNECTIONS,
        ..Bounds::of(&state.config, u64::MAX)
    };
    serving::serve(listener, metrics::open_router(state), bounds, ending).await;
}

/// The whole server as a service: the API under both of its prefixes, with and without a trailing slash.
fn service(state: AppState) -> NormalizePath<Router> {
    let config = state.config.clone();
    let api = api_routes();
    let routes = server_routes()
        .and(api.clone().below(PREFIX))
        .and(api.below(ALIAS));
    let router = router::of(routes, &state)
        .route("/v1/openapi.json", get(openapi::document))
        .merge(mcp::router(state.clone()))
        .merge(console::router())
        .fallback(error::route_not_found)
        .method_not_allowed_fallback(error::method_not_allowed)
        .layer(Extension(BodyLimit(config.server.body_limit)))
        .with_state(state.clone());
    let router = middleware::wrap(router, middleware::Observer::of(&state), &config.server);
    NormalizePathLayer::trim_trailing_slash().layer(router)
}
