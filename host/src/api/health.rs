//! Whether the server lives, and whether it can work.

use axum::{Json, extract::State};
use serde_json::{Value, json};

use super::Shutdown;
use crate::{
    error::{Blame, Code, Error, Result},
    store::Store,
};

/// `GET /healthz`: the process answers.
pub(super) async fn healthz() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// `GET /readyz`: the store answers and the server is not ending.
pub(super) async fn readyz(
    State(store): State<Store>,
    State(shutdown): State<Shutdown>,
) -> Result<Json<Value>> {
    if shutdown.ending.is_cancelled() {
        return Err(Error::new(Code::Overloaded, "the server is shutting down").blamed(Blame::Host));
    }
    store.ping().await.map_err(|error| {
        Error::new(
            Code::Overloaded,
            "the store does not answer; see the server's log",
        )
        .blamed(Blame::Host)
        .with_source(error)
    })?;
    Ok(Json(json!({"status": "ready"})))
}
