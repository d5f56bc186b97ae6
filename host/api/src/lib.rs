//! The HTTP API: one plain list of routes, and what every request passes through.

#![allow(
    unused_qualifications,
    reason = "what `utoipa::path` writes repeats the types of a handler's parameters"
)]

mod admission;
mod ask;
mod audit;
mod catalog;
mod chat;
mod conversations;
mod datasources;
mod engines;
pub mod error;
mod events;
pub mod extract;
mod head;
mod health;
mod keys;
mod list;
mod mcp;
mod metrics;
mod middleware;
mod minds;
mod models;
mod once;
mod openapi;
mod plugins;
mod providers;
mod remote;
mod response_object;
mod responses;
mod serving;
mod state;
mod usage;
mod workspaces;

use axum::{
    Extension, Router,
    middleware::from_fn_with_state,
    routing::{MethodRouter, delete, get, patch, post},
};
use tokio::net::TcpListener;
use tower::Layer;
use tower_http::normalize_path::{NormalizePath, NormalizePathLayer};

pub use self::state::{AppState, Shutdown};
use self::{extract::BodyLimit, serving::Bounds};

/// Connections to the listener for metrics: what watches a host is few.
const METRICS_CONNECTIONS: usize = 64;

/// Routes below a prefix that is still open.
#[derive(Default)]
struct Routes(Vec<(&'static str, MethodRouter<AppState>)>);

impl Routes {
    fn route(mut self, path: &'static str, methods: MethodRouter<AppState>) -> Self {
        self.0.push((path, methods));
        self
    }

    fn paths(self, prefix: &str) -> impl Iterator<Item = String> {
        self.0
            .into_iter()
            .map(move |(path, _)| format!("{prefix}{path}"))
    }

    fn below(self, prefix: &str) -> Router<AppState> {
        let routes = self.0.into_iter();
        routes.fold(Router::new(), |router, (path, methods)| {
            router.route(&format!("{prefix}{path}"), methods)
        })
    }
}

/// Every path, as it is in the documentation.
pub fn paths() -> Vec<String> {
    routes()
        .paths("/api/v1")
        .chain(open_routes().paths(""))
        .chain([mcp::PATH, metrics::PATH].map(str::to_owned))
        .collect()
}

/// Every route that needs no key.
fn open_routes() -> Routes {
    Routes::default()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/api/v1/openapi.json", get(openapi::document))
        .route("/docs", get(openapi::docs))
}

/// Every route below `/api/v1` and `/v1`; all of them need a key.
fn routes() -> Routes {
    Routes::default()
        .route("/engines", get(engines::list))
        .route("/engines/{engine}", get(engines::get))
        .route(
            "/datasources",
            get(datasources::list).post(datasources::create),
        )
        .route(
            "/datasources/{name}",
            get(datasources::get)
                .put(datasources::update)
                .patch(datasources::update)
                .delete(datasources::delete),
        )
        .route(
            "/datasources/{name}/catalog",
            get(catalog::get).delete(catalog::delete_all),
        )
        .route(
            "/datasources/{name}/catalog/refresh",
            post(catalog::refresh),
        )
        .route("/datasources/{name}/catalog/tables", post(catalog::load))
        .route("/datasources/{name}/catalog/cancel", post(catalog::cancel))
        .route(
            "/datasources/{name}/catalog/tables/{table_name}",
            patch(catalog::describe_table).delete(catalog::delete_table),
        )
        .route(
            "/datasources/{name}/catalog/tables/{table_name}/columns/{column_name}",
            patch(catalog::describe_column),
        )
        .route("/providers", get(providers::list).post(providers::create))
        .route(
            "/providers/{name}",
            get(providers::get)
                .put(providers::update)
                .patch(providers::update)
                .delete(providers::delete),
        )
        .route("/minds", get(minds::list).post(minds::create))
        .route(
            "/minds/{name}",
            get(minds::get).put(minds::update).delete(minds::delete),
        )
        .route("/models", get(models::list))
        .route("/models/{name}", get(models::get))
        .route("/chat/completions", post(chat::create))
        .route("/responses", post(responses::create))
        .route(
            "/responses/{id}",
            get(responses::get).delete(responses::delete),
        )
        .route("/responses/{id}/cancel", post(responses::cancel))
        .route(
            "/conversations",
            get(conversations::list).post(conversations::create),
        )
        .route(
            "/conversations/{id}",
            get(conversations::get)
                .post(conversations::update)
                .delete(conversations::delete),
        )
        .route(
            "/conversations/{id}/items",
            get(conversations::items).post(conversations::items_add),
        )
        .route(
            "/conversations/{id}/items/{item_id}",
            get(conversations::item_get).delete(conversations::item_delete),
        )
        .route(
            "/conversations/{id}/items/{item_id}/result",
            get(conversations::result),
        )
        .route(
            "/conversations/{id}/items/{item_id}/export",
            get(conversations::export),
        )
        .route("/keys", get(keys::list).post(keys::create))
        .route("/keys/{id}", delete(keys::revoke))
        .route("/keys/{id}/rotate", post(keys::rotate))
        .route(
            "/workspaces",
            get(workspaces::list).post(workspaces::create),
        )
        .route(
            "/workspaces/{name}",
            get(workspaces::get).delete(workspaces::delete),
        )
        .route("/workspaces/{name}/keys", post(workspaces::create_key))
        .route("/plugins", get(plugins::list).post(plugins::install))
        .route("/plugins/{name}", get(plugins::get))
        .route("/plugins/{name}/activate", post(plugins::activate))
        .route("/plugins/{name}/rollback", post(plugins::roll_back))
        .route("/plugins/{name}/rollouts/{id}", get(plugins::rollout))
        .route(
            "/plugins/{name}/versions/{version}",
            delete(plugins::remove),
        )
        .route("/audit", get(audit::list))
        .route("/usage", get(usage::list))
        .route("/plugins/{name}/usage", get(plugins::usage::get))
        .route("/plugins/{name}/release", post(plugins::release::release))
}

/// Serves until `ending` is done, then until the requests that are under way have ended. `open_files` is how many files
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
    // Whatever the handlers do: without a valid key none of them is reached.
    let admitted = from_fn_with_state(state.clone(), admission::admit);
    // Behind it, so that a request is noted and counted each time, and done once.
    let once = from_fn_with_state(once::Parts::of(&state), once::resource);
    let api = routes().below("/api/v1").merge(routes().below("/v1"));
    let api = api.route_layer(once).route_layer(admitted);
    let router = open_routes()
        .below("")
        .route("/v1/openapi.json", get(openapi::document))
        .merge(api)
        .merge(mcp::router(state.clone()))
        .merge(metrics::router(state.clone()))
        .fallback(error::route_not_found)
        .method_not_allowed_fallback(error::method_not_allowed)
        .layer(Extension(BodyLimit(config.server.body_limit)))
        .with_state(state.clone());
    let router = middleware::wrap(router, middleware::Observer::of(&state), &config.server);
    NormalizePathLayer::trim_trailing_slash().layer(router)
}
