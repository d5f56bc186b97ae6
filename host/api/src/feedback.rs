//! `/responses/{id}/feedback` and `/minds/{name}/feedback`

use crate::{
    error::ApiResult,
    routes::{ASKED, EDITOR, Routes, SQL, STORING, Tag, USER},
};
use std::sync::Arc;

use axum::{Extension, extract::State, http::StatusCode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;
use uuid::Uuid;

use super::{
    admission::CreatedName,
    extract::{Json, Path, Query},
    knowledge::{self, after},
    list::{Page, limit},
    responses::response_id,
};
use mindhost_answers::feedback::{Feedback, FeedbackBox, NewFeedback, Promotion, Rating};
use mindhost_base::error::Code;
use mindhost_core::{auth::Caller, minds::Minds};

/// Entries of a page by default, and at most.
const PAGE: (u32, u32) = (20, 100);

/// Of responses.
pub(super) fn of_responses() -> Routes {
    let give = USER.audited_after().fails(STORING).fails(&[
        Code::ResponseNotFound,
        Code::WrongState,
        Code::Forbidden,
    ]);
    Routes::of(Tag::Responses).route(routes!(self::give), give)
}

/// Of Minds.
pub(super) fn of_minds() -> Routes {
    let promote = EDITOR.fails(SQL).fails(ASKED).fails(STORING).fails(&[
        Code::MindNotFound,
        Code::FeedbackNotFound,
        Code::WrongState,
        Code::NameTaken,
    ]);
    Routes::of(Tag::Minds)
        .route(routes!(self::list), EDITOR.fails(&[Code::MindNotFound]))
        .route(routes!(self::promote), promote)
}

/// The body of `POST /responses/{id}/feedback`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewFeedback)]
#[serde(deny_unknown_fields)]
pub(super) struct FeedbackRequest {
    rating: Rating,
    /// Why.
    #[schema(max_length = 2000)]
    comment: Option<String>,
    /// The statement that would have been right.
    #[schema(max_length = 20_000)]
    corrected_sql: Option<String>,
}

/// The body of `POST /minds/{name}/feedback/{id}/promote`; what is missing comes from the feedback.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = PromoteFeedback)]
#[serde(deny_unknown_fields)]
pub(super) struct Promote {
    /// The question. Default: that of the response.
    #[schema(max_length = 2000)]
    question: Option<String>,
    /// The statement. Default: the corrected one, else that of the answer.
    #[schema(max_length = 20_000)]
    sql: Option<String>,
    /// What to know about it.
    #[schema(max_length = 2000)]
    notes: Option<String>,
}

/// Feedback as it is shown.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Feedback)]
pub(super) struct FeedbackBody {
    id: Uuid,
    /// Id of the rated response.
    response_id: Uuid,
    /// Id of the key that gave it.
    key_id: String,
    rating: Rating,
    #[schema(required = true)]
    comment: Option<String>,
    #[schema(required = true)]
    corrected_sql: Option<String>,
    /// The question, as long as its conversation is there.
    #[schema(required = true)]
    question: Option<String>,
    /// The statement of the answer, as long as its conversation is there.
    #[schema(required = true)]
    sql: Option<String>,
    /// The verified query that was made of it.
    #[schema(required = true)]
    knowledge_id: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<&Feedback> for FeedbackBody {
    fn from(feedback: &Feedback) -> Self {
        let feedback = feedback.clone();
        Self {
            id: feedback.id,
            response_id: feedback.response_id,
            key_id: feedback.key_id,
            rating: feedback.rating,
            comment: feedback.comment,
            corrected_sql: feedback.corrected_sql,
            question: feedback.question,
            sql: feedback.sql,
            knowledge_id: feedback.knowledge_id,
            created_at: feedback.created_at,
            updated_at: feedback.updated_at,
        }
    }
}

/// The parameters of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct List {
    /// Id of an entry: only the entries after it.
    #[param(format = Uuid)]
    after: Option<String>,
    /// The maximum number of entries.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
}

/// Says whether a response was right
///
/// Only the key that asked can. Editors of the Mind see the feedback, with the question and the statement of the
/// response. A second one replaces the first.
#[utoipa::path(post, path = "/responses/{id}/feedback", operation_id = "give_feedback",
    responses((status = 200, body = FeedbackBody, description = "The feedback.")))]
pub(super) async fn give(
    caller: Caller,
    State(feedback): State<FeedbackBox>,
    Path(id): Path<String>,
    Json(body): Json<FeedbackRequest>,
) -> ApiResult<(Extension<CreatedName>, axum::Json<FeedbackBody>)> {
    let new = NewFeedback {
        rating: body.rating,
        comment: body.comment,
        corrected_sql: body.corrected_sql,
    };
    let given = feedback.give(&caller, response_id(&id)?, &new).await?;
    let made = Extension(CreatedName(given.id.to_string()));
    Ok((made, axum::Json((&given).into())))
}

/// Lists what was said of a Mind's answers
#[utoipa::path(get, path = "/minds/{name}/feedback", operation_id = "list_feedback",
    params(List),
    responses((status = 200, body = Page<FeedbackBody>, description = "A page, oldest first.")))]
pub(super) async fn list(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(feedback): State<FeedbackBox>,
    Path(name): Path<String>,
    Query(list): Query<List>,
) -> ApiResult<axum::Json<Page<FeedbackBody>>> {
    let mind = minds.get(&caller, &name).await?;
    let limit = limit(list.limit, PAGE.0, PAGE.1)?;
    let after = after(list.after.as_deref())?;
    let (some, has_more) = feedback.page(&caller, &mind, after, limit).await?;
    let page = Page::new(&some, |one| one.id.to_string(), |one| one.into(), has_more);
    Ok(axum::Json(page))
}

/// Makes a verified query of feedback
///
/// It is checked like any other.
#[utoipa::path(post, path = "/minds/{name}/feedback/{id}/promote", operation_id = "promote_feedback",
    request_body = Option<Promote>,
    responses((status = 201, body = knowledge::EntryBody, description = "The verified query.")))]
pub(super) async fn promote(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(feedback): State<FeedbackBox>,
    Path((name, id)): Path<(String, String)>,
    body: Option<Json<Promote>>,
) -> ApiResult<(
    StatusCode,
    Extension<CreatedName>,
    axum::Json<knowledge::EntryBody>,
)> {
    let body = body.map(|Json(body)| body).unwrap_or_default();
    let mind = knowledge::mind(&minds, &caller, &name).await?;
    let promotion = Promotion {
        question: body.question,
        sql: body.sql,
        notes: body.notes,
    };
    let entry = feedback.promote(&caller, &mind, &id, promotion).await?;
    let made = Extension(CreatedName(entry.id.clone()));
    let shown = knowledge::EntryBody::new(&caller, &entry);
    Ok((StatusCode::CREATED, made, axum::Json(shown)))
}
