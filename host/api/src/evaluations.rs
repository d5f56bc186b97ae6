//! `/minds/{name}/evaluations`

use crate::{
    error::ApiResult,
    routes::{EDITOR, Routes, STORING, Tag},
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
    ask,
    extract::{Json, Path, Query},
};
use mindhost_answers::evaluations::{Evaluation, Evaluations, MAX_JOBS, NewEvaluation, Status};
use mindhost_base::error::{Code, Error, Result};
use mindhost_core::{
    auth::Caller,
    minds::{Mind, Minds},
};
use mindhost_evaluation::{difference::Difference, figures::Figures, judged::Judged};

/// Questions at the same time by default.
const JOBS: usize = 4;

/// `/minds/{name}/evaluations`
pub(super) fn routes() -> Routes {
    let one = || EDITOR.fails(&[Code::MindNotFound, Code::EvaluationNotFound]);
    let start = EDITOR
        .fails(STORING)
        .fails(&[Code::MindNotFound, Code::WrongState])
        .leads_to(
            &[("id", "$response.body#/id")],
            &["get_evaluation", "cancel_evaluation", "delete_evaluation"],
        );
    Routes::of(Tag::Minds)
        .route(routes!(self::start), start)
        .route(routes!(self::list), EDITOR.fails(&[Code::MindNotFound]))
        .route(routes!(self::get), one())
        .route(routes!(self::cancel), one().fails(&[Code::WrongState]))
        .route(routes!(self::delete), one())
}

/// The body of `POST /minds/{name}/evaluations`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewEvaluation)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    /// The text of a suite: YAML or JSON lines, as `mindhost eval` reads it. At most 2 MiB and 1,000 questions.
    #[schema(
        max_length = 2_097_152,
        example = "questions:\n  - question: How many customers are there?\n    sql: SELECT count(*) FROM customers\n"
    )]
    suite: String,
    /// Questions at the same time.
    #[schema(minimum = 1, maximum = 16, default = 4)]
    jobs: Option<usize>,
    /// Only the first so many questions.
    #[schema(minimum = 1)]
    limit: Option<usize>,
}

/// An evaluation without its questions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Evaluation)]
pub(super) struct EvaluationBody {
    id: Uuid,
    /// Name of the suite; empty if it has none.
    suite: String,
    status: Status,
    /// Why it failed.
    #[schema(required = true)]
    error: Option<String>,
    /// The `X-Request-ID` of the request that started it, under which the server's log has it and its answers. Null
    /// where it was not kept.
    #[schema(required = true)]
    request_id: Option<String>,
    /// How many questions it has.
    questions_count: usize,
    /// How many were judged so far.
    judged_count: usize,
    figures: Figures,
    /// What `figures.cost` is in; empty if the suite has no prices.
    currency: String,
    /// Id of the key that it asks with.
    key_id: String,
    started_at: Timestamp,
    #[schema(required = true)]
    ended_at: Option<Timestamp>,
}

impl From<Evaluation> for EvaluationBody {
    fn from(evaluation: Evaluation) -> Self {
        Self {
            id: evaluation.id,
            suite: evaluation.suite,
            status: evaluation.status,
            error: evaluation.error,
            request_id: evaluation.request_id,
            questions_count: evaluation.questions,
            judged_count: evaluation.judged,
            figures: evaluation.figures,
            currency: evaluation.currency,
            key_id: evaluation.key_id,
            started_at: evaluation.started_at,
            ended_at: evaluation.ended_at,
        }
    }
}

/// The evaluations of a Mind.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EvaluationList)]
pub(super) struct All {
    #[schema(example = "list")]
    object: &'static str,
    data: Vec<EvaluationBody>,
}

/// An evaluation with its questions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EvaluationReport)]
pub(super) struct EvaluationReport {
    #[serde(flatten)]
    evaluation: EvaluationBody,
    /// The questions that were judged so far, in the order of the suite.
    questions: Vec<Judged>,
    /// What changed since the baseline; null without one.
    #[schema(required = true)]
    difference: Option<Difference>,
}

/// The parameters of one evaluation.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Compare {
    /// Id of an earlier evaluation of the Mind, to show what changed since. Questions are compared by their ids.
    #[param(format = Uuid)]
    baseline: Option<String>,
}

/// Starts an evaluation
///
/// It asks the Mind each question of a suite and judges the answers, in the background, with the rights, policies and
/// limits of the key. One evaluation of a Mind runs at a time; the newest 50 are kept. Conversations that it makes are
/// deleted again.
#[utoipa::path(post, path = "/minds/{name}/evaluations", operation_id = "start_evaluation",
    responses((status = 202, body = EvaluationBody, description = "It runs.")))]
pub(super) async fn start(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(evaluations): State<Evaluations>,
    Path(name): Path<String>,
    Json(body): Json<Start>,
) -> ApiResult<(
    StatusCode,
    Extension<CreatedName>,
    axum::Json<EvaluationBody>,
)> {
    let mind = minds.get(&caller, &name).await?;
    let jobs = body.jobs.unwrap_or(JOBS);
    if !(1..=MAX_JOBS).contains(&jobs) {
        let message = format!("`jobs` must be an integer from 1 to {MAX_JOBS}");
        return Err(Error::invalid("jobs", message).into());
    }
    if body.limit == Some(0) {
        return Err(Error::invalid("limit", "`limit` must be an integer from 1").into());
    }
    let new = NewEvaluation {
        suite: body.suite,
        jobs,
        limit: body.limit,
    };
    let evaluation = evaluations.start(&caller, &mind, new).await?;
    let made = Extension(CreatedName(evaluation.id.to_string()));
    Ok((StatusCode::ACCEPTED, made, axum::Json(evaluation.into())))
}

/// Lists the evaluations of a Mind
#[utoipa::path(get, path = "/minds/{name}/evaluations", operation_id = "list_evaluations",
    responses((status = 200, body = All, description = "The newest first.")))]
pub(super) async fn list(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(evaluations): State<Evaluations>,
    Path(name): Path<String>,
) -> ApiResult<axum::Json<All>> {
    let mind = minds.get(&caller, &name).await?;
    let all = evaluations.list(&mind).await?;
    Ok(axum::Json(All {
        object: "list",
        data: all.into_iter().map(EvaluationBody::from).collect(),
    }))
}

/// Gets an evaluation with its questions
#[utoipa::path(get, path = "/minds/{name}/evaluations/{id}", operation_id = "get_evaluation",
    params(Compare),
    responses((status = 200, body = EvaluationReport, description = "What was judged so far.")))]
pub(super) async fn get(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(evaluations): State<Evaluations>,
    Path((name, id)): Path<(String, String)>,
    Query(compare): Query<Compare>,
) -> ApiResult<axum::Json<EvaluationReport>> {
    let (mind, id) = found(&minds, &caller, &name, &id).await?;
    let (evaluation, questions) = evaluations.get(&mind, id).await?;
    let difference = match compare.baseline {
        Some(baseline) => {
            let baseline = ask::id(&baseline, "", "baseline", Code::EvaluationNotFound)?;
            let (_, earlier) = evaluations.get(&mind, baseline).await?;
            Some(Difference::between(&earlier, &questions))
        }
        None => None,
    };
    Ok(axum::Json(EvaluationReport {
        evaluation: evaluation.into(),
        questions,
        difference,
    }))
}

/// Cancels an evaluation
///
/// What it asks at that moment is cancelled, down to the database.
#[utoipa::path(post, path = "/minds/{name}/evaluations/{id}/cancel", operation_id = "cancel_evaluation",
    responses((status = 200, body = EvaluationBody, description = "The evaluation as it ended.")))]
pub(super) async fn cancel(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(evaluations): State<Evaluations>,
    Path((name, id)): Path<(String, String)>,
) -> ApiResult<axum::Json<EvaluationBody>> {
    let (mind, id) = found(&minds, &caller, &name, &id).await?;
    Ok(axum::Json(evaluations.cancel(&mind, id).await?.into()))
}

/// Deletes an evaluation
///
/// One that runs is stopped.
#[utoipa::path(delete, path = "/minds/{name}/evaluations/{id}", operation_id = "delete_evaluation",
    responses((status = 204, description = "Deleted.")))]
pub(super) async fn delete(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(evaluations): State<Evaluations>,
    Path((name, id)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let (mind, id) = found(&minds, &caller, &name, &id).await?;
    evaluations.delete(&mind, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn found(minds: &Minds, caller: &Caller, name: &str, id: &str) -> Result<(Mind, Uuid)> {
    let mind = minds.get(caller, name).await?;
    Ok((mind, ask::id(id, "", "id", Code::EvaluationNotFound)?))
}
