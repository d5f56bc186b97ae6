//! `/responses`: asking a Mind.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    ask::{self, CreateResponse},
    events::{self, Wanted},
    extract::{Json, Path},
    response_object::ResponseObject,
};
use crate::{
    answering::{Answering, events::Event},
    auth::Caller,
    error::{Code, Error, Result},
};

/// `POST /responses`
pub async fn create(
    State(answering): State<Answering>,
    caller: Caller,
    headers: HeaderMap,
    Json(body): Json<CreateResponse>,
) -> Result<Response> {
    let is_stream = body.stream.unwrap_or(false);
    let wanted = Wanted {
        minimal: headers
            .get("x-mindhost-events")
            .is_some_and(|value| value == "minimal"),
        steps: body.wants_steps(),
    };
    let reader = answering.start(&caller, body.into_ask()?).await?;
    if is_stream {
        return Ok(events::stream(reader, wanted));
    }
    match reader.last().await {
        Some(Event::Completed(record)) => {
            Ok(axum::Json(ResponseObject::new(&record)).into_response())
        }
        Some(Event::Failed(error, _)) => Err((*error).clone()),
        _ => Err(Error::internal("an answer ended without a last event")),
    }
}

/// `GET /responses/{id}`
pub async fn get(
    State(answering): State<Answering>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response> {
    let record = answering.get_whole(&caller, response_id(&id)?).await?;
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

fn response_id(text: &str) -> Result<Uuid> {
    ask::id(text, "resp_", "response_id", Code::ResponseNotFound)
}
