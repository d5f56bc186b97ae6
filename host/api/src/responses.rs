//! `/responses`: asking a Mind.

use crate::{
    error::ApiResult,
    routes::{ASKED, ASKING, ID, KeyHandler, Routes, SQL, STORING, Tag, USER},
};
use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;
use uuid::Uuid;

use super::{
    admission::CreatedName,
    ask::{self, CreateResponse},
    conversations::DeletedConversation,
    events::{self, EventFilter, SentEvent},
    extract::{JsonBytes, Path, Query},
    once::{self, KeyedRequest},
    response_object::ResponseObject,
};
use mindhost_answers::{
    answering::{Answering, events::Event, record::ResponseRecord},
    idempotency::Idempotency,
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_core::auth::Caller;

/// `/responses`
pub fn routes() -> Routes {
    let create = USER
        .audited_after()
        .once(KeyHandler::Answer)
        .fails(ASKING)
        .fails(ASKED)
        .fails(SQL)
        .fails(STORING)
        .fails(&[
            Code::DirectQueriesNotAllowed,
            Code::MindDeleted,
            Code::Forbidden,
        ])
        .leads_to(ID, &["get_response", "cancel_response", "delete_response"])
        .leads_to(
            &[
                ("id", "$response.body#/conversation/id"),
                ("item_id", "$response.body#/output/0/id"),
            ],
            &["get_item", "get_result", "export_result"],
        );
    let get = USER.fails(&[Code::ResponseNotFound, Code::WrongState]);
    let end = || {
        USER.audited_after()
            .fails(&[Code::ResponseNotFound, Code::WrongState, Code::Forbidden])
    };
    Routes::of(Tag::Responses)
        .route(routes!(self::create), create)
        .route(routes!(self::get), get)
        .route(routes!(self::delete), end())
        .route(routes!(self::cancel), end())
}

/// Asks a Mind
///
/// In words, or with SQL through the tool `sql_query` where the Mind allows it. With `stream` the answer is a stream of
/// server-sent events: `response.created`, `response.in_progress`, `response.output_item.added`,
/// `response.content_part.added`, `response.output_text.delta` (many), `response.output_text.done`,
/// `response.content_part.done`, `response.output_item.done`, `response.completed`; a failure after the stream began is
/// `error` and `response.failed`. With `background` the answer comes at once and goes on without the client.
#[utoipa::path(post, path = "/responses", operation_id = "create_response", request_body = CreateResponse,
    params(("x-mindhost-events" = Option<String>, Header, description = "`minimal` for the four kinds of events alone that carry the answer.", example = "minimal")),
    responses((status = 200, description = "The answer.",
        content((ResponseObject<'static> = "application/json"), (SentEvent = "text/event-stream")))))]
pub async fn create(
    State(answering): State<Answering>,
    State(idempotency): State<Arc<Idempotency>>,
    caller: Caller,
    headers: HeaderMap,
    JsonBytes(body, bytes): JsonBytes<CreateResponse>,
) -> ApiResult<Response> {
    let is_stream = body.stream.unwrap_or(false);
    let background = body.background.unwrap_or(false);
    let ask = body.into_ask()?;
    if !is_stream && !background && !once::is_named(&headers) {
        let record = answering.complete(&caller, ask).await?;
        return Ok(whole(&record));
    }
    let asked = KeyedRequest {
        route: "/responses",
        headers: &headers,
        body: &bytes,
    };
    let reader = once::answer(&answering, &idempotency, &caller, asked, ask).await?;
    if is_stream {
        let wanted = wanted(&answering, &headers, 0);
        let made = reader
            .log()
            .record()
            .map(|record| Extension(CreatedName(record.id.to_string())));
        return Ok((made, events::stream(reader, wanted)).into_response());
    }
    if background && let Some(record) = reader.log().record() {
        return Ok(whole(&record));
    }
    match reader.last().await {
        Some(Event::Completed(record)) => Ok(whole(&record)),
        Some(Event::Failed(error, _)) => Err((*error).clone().into()),
        _ => Err(Error::internal("an answer ended without a last event").into()),
    }
}

fn whole(record: &ResponseRecord) -> Response {
    let made = Extension(CreatedName(record.id.to_string()));
    (made, axum::Json(ResponseObject::new(record))).into_response()
}

/// The parameters of a response that is read.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ReadQuery {
    /// Whether to send its events.
    stream: Option<bool>,
    /// With `stream=true`: the number of the last event that the client has.
    starting_after: Option<u64>,
}

/// Gets a response, or picks up its stream of events
#[utoipa::path(get, path = "/responses/{id}", operation_id = "get_response",
    params(ReadQuery, ("x-mindhost-events" = Option<String>, Header, description = "`minimal` for the four kinds of events alone that carry the answer.", example = "minimal")),
    responses((status = 200, description = "The response as it is, or its events.",
        content((ResponseObject<'static> = "application/json"), (SentEvent = "text/event-stream")))))]
pub async fn get(
    State(answering): State<Answering>,
    caller: Caller,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(read): Query<ReadQuery>,
) -> ApiResult<Response> {
    let id = response_id(&id)?;
    if read.stream.unwrap_or(false) {
        let after = read.starting_after.unwrap_or(0);
        let reader = answering.events(&caller, id, after > 0).await?;
        return Ok(events::stream(reader, wanted(&answering, &headers, after)));
    }
    if read.starting_after.is_some() {
        return Err(
            Error::invalid("starting_after", "`starting_after` is for `stream=true`").into(),
        );
    }
    let record = answering.get_with_rows(&caller, id).await?;
    Ok(axum::Json(ResponseObject::new(&record)).into_response())
}

/// Cancels a response, down to the database
#[utoipa::path(post, path = "/responses/{id}/cancel", operation_id = "cancel_response",
    responses((status = 200, body = ResponseObject<'static>, description = "The response as it ended.")))]
pub async fn cancel(
    State(answering): State<Answering>,
    caller: Caller,
    Path(id): Path<String>,
) -> ApiResult<Response> {
    let record = answering.cancel(&caller, response_id(&id)?).await?;
    Ok(axum::Json(ResponseObject::new(&record)).into_response())
}

/// Deletes a response
#[utoipa::path(delete, path = "/responses/{id}", operation_id = "delete_response",
    responses((status = 200, body = DeletedConversation, description = "Deleted.")))]
pub async fn delete(
    State(answering): State<Answering>,
    caller: Caller,
    Path(id): Path<String>,
) -> ApiResult<axum::Json<DeletedConversation>> {
    let id = response_id(&id)?;
    answering.delete(&caller, id).await?;
    Ok(axum::Json(DeletedConversation {
        id,
        object: "response",
        deleted: true,
    }))
}

fn wanted(answering: &Answering, headers: &HeaderMap, after: u64) -> EventFilter {
    EventFilter {
        minimal: headers
            .get("x-mindhost-events")
            .is_some_and(|value| value == "minimal"),
        after,
        keep_alive: answering.keep_alive(),
    }
}

pub(super) fn response_id(text: &str) -> Result<Uuid> {
    ask::id(text, "resp_", "response_id", Code::ResponseNotFound)
}
