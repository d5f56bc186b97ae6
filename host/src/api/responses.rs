//! `/responses`: asking a Mind.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    ask::{self, CreateResponse},
    events::{self, Wanted},
    extract::{JsonBytes, Path, Query},
    once::{self, Asked},
    response_object::ResponseObject,
};
use crate::{
    answering::{Answering, events::Event},
    auth::Caller,
    error::{Code, Error, Result},
    idempotency::Idempotency,
};

/// `POST /responses`
pub async fn create(
    State(answering): State<Answering>,
    State(idempotency): State<Arc<Idempotency>>,
    caller: Caller,
    headers: HeaderMap,
    JsonBytes(body, bytes): JsonBytes<CreateResponse>,
) -> Result<Response> {
    let is_stream = body.stream.unwrap_or(false);
    let background = body.background.unwrap_or(false);
    let asked = Asked {
        route: "/responses",
        headers: &headers,
        body: &bytes,
    };
    let reader = once::answer(&answering, &idempotency, &caller, asked, body.into_ask()?).await?;
    if is_stream {
        let wanted = wanted(&answering, &headers, 0);
        return Ok(events::stream(reader, wanted));
    }
    if background && let Some(record) = reader.log().record() {
        return Ok(axum::Json(ResponseObject::new(&record)).into_response());
    }
    match reader.last().await {
        Some(Event::Completed(record)) => {
            Ok(axum::Json(ResponseObject::new(&record)).into_response())
        }
        Some(Event::Failed(error, _)) => Err((*error).clone()),
        _ => Err(Error::internal("an answer ended without a last event")),
    }
}

/// The parameters of a response that is read.
#[derive(Debug, Deserialize)]
pub struct Read {
    /// Whether to send its events.
    stream: Option<bool>,
    /// The number of the last event that the client has.
    starting_after: Option<u64>,
}

/// `GET /responses/{id}`
pub async fn get(
    State(answering): State<Answering>,
    caller: Caller,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(read): Query<Read>,
) -> Result<Response> {
    let id = response_id(&id)?;
    if read.stream.unwrap_or(false) {
        let after = read.starting_after.unwrap_or(0);
        let reader = answering.follow(&caller, id, after > 0).await?;
        return Ok(events::stream(reader, wanted(&answering, &headers, after)));
    }
    if read.starting_after.is_some() {
        return Err(Error::invalid(
            "starting_after",
            "`starting_after` is for `stream=true`",
        ));
    }
    let record = answering.get_whole(&caller, id).await?;
    Ok(axum::Json(ResponseObject::new(&record)).into_response())
}

/// `POST /responses/{id}/cancel`
pub async fn cancel(
    State(answering): State<Answering>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response> {
    let record = answering.cancel(&caller, response_id(&id)?).await?;
    Ok(axum::Json(ResponseObject::new(&record)).into_response())
}

/// `DELETE /responses/{id}`
pub async fn delete(
    State(answering): State<Answering>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<(StatusCode, axum::Json<Value>)> {
    let id = response_id(&id)?;
    answering.delete(&caller, id).await?;
    Ok((
        StatusCode::OK,
        axum::Json(json!({"id": id, "object": "response", "deleted": true})),
    ))
}

fn wanted(answering: &Answering, headers: &HeaderMap, after: u64) -> Wanted {
    Wanted {
        minimal: headers
            .get("x-mindhost-events")
            .is_some_and(|value| value == "minimal"),
        after,
        keep_alive: answering.keep_alive(),
    }
}

fn response_id(text: &str) -> Result<Uuid> {
    ask::id(text, "resp_", "response_id", Code::ResponseNotFound)
}
