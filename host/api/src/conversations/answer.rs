//! What is known of an answer besides its text, for those who read a conversation later.

use std::{collections::HashMap, sync::Arc};

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use mindhost_answers::{
    answering::{
        Answering,
        details::{AnswerDetails, StoredError},
        record::EarlyEnd,
        step::Step,
    },
    conversations::{Author, Message, SqlOrigin},
    feedback::{FeedbackBox, Rated, Rating},
};
use mindhost_base::error::Result;

/// What is known of an answer besides its text and its SQL.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AnswerDetails)]
pub(super) struct AnswerBody {
    /// The tool calls of the model, in order; empty for answers of a version that did not keep them.
    #[schema(value_type = Vec<Step>)]
    steps: Vec<Arc<Step>>,
    /// The tables that its SQL read, as `datasource.schema.table`.
    #[schema(example = json!(["shop.public.orders"]))]
    tables: Vec<String>,
    /// Rows of the whole result of its SQL.
    #[schema(required = true)]
    row_count: Option<u64>,
    /// Whether the model got fewer rows than there are.
    truncated: bool,
    /// What the model took for granted where the question leaves it open.
    #[schema(example = json!(["Cancelled orders are left out."]))]
    assumptions: Vec<String>,
    /// Questions that can be answered next.
    #[schema(example = json!(["How many orders are there for each status?"]))]
    follow_up_questions: Vec<String>,
    /// Numbers of the text that are in nothing that the model has read, and do not follow from it. Absent if there are
    /// none, and where rows are withheld from the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, example = json!(["6"]))]
    unverified_numbers: Vec<String>,
    /// Null where the answer ended by itself; else as `ending` of the response.
    #[schema(required = true, example = "cannot_answer")]
    ending: Option<&'static str>,
    /// Why it failed or was cancelled.
    #[schema(required = true)]
    error: Option<AnswerFailure>,
    /// How the key that asked rated it; null if it did not.
    #[schema(required = true)]
    feedback: Option<AnswerRating>,
}

/// Why an answer is not whole.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AnswerFailure {
    /// As in errors.
    #[schema(example = "cancelled")]
    code: String,
    /// For people.
    message: String,
    /// The `X-Request-ID` of the request that asked, under which the server's log has it. Null where it was not kept.
    #[schema(required = true, value_type = Option<String>)]
    request_id: Option<Arc<str>>,
}

impl From<StoredError> for AnswerFailure {
    fn from(error: StoredError) -> Self {
        Self {
            code: error.code,
            message: error.message,
            request_id: error.request_id,
        }
    }
}

/// How the key that asked rated its answer.
#[derive(Debug, Serialize, ToSchema)]
struct AnswerRating {
    rating: Rating,
    /// Why.
    #[schema(required = true)]
    comment: Option<String>,
    /// The statement that would have been right.
    #[schema(required = true)]
    corrected_sql: Option<String>,
}

/// The response of an answer in words; none of a question, nor of a statement of the caller.
pub(super) fn response_of(message: &Message) -> Option<Uuid> {
    let is_query = message
        .sql
        .as_ref()
        .is_some_and(|sql| sql.origin == SqlOrigin::SqlQuery);
    message
        .response_id
        .filter(|_| message.author == Author::Assistant && !is_query)
}

/// The response of an answer in words, or the one that answers a question, which may still be in progress.
pub(super) fn response_with(message: &Message) -> Option<Uuid> {
    match message.author {
        Author::User => message.response_id,
        _ => response_of(message),
    }
}

/// What is known of the responses of messages, by message.
#[derive(Default)]
pub(super) struct Known {
    pub answers: HashMap<Uuid, AnswerBody>,
    /// Why the response to a question failed, or was cancelled.
    pub failures: HashMap<Uuid, AnswerFailure>,
}

/// What is known of the responses of these messages.
pub(super) async fn of(
    messages: &[Message],
    answering: &Answering,
    feedback: &FeedbackBox,
) -> Result<Known> {
    let with = messages
        .iter()
        .filter_map(|message| Some((message, response_with(message)?)));
    let with: Vec<(&Message, Uuid)> = with.collect();
    let mut responses: Vec<Uuid> = with.iter().map(|(_, response)| *response).collect();
    responses.sort_unstable();
    responses.dedup();
    let details = answering.details(&responses).await?;
    let mut ratings = feedback.ratings(&responses).await?;
    let mut known = Known::default();
    for (message, response) in with {
        let Some(details) = details.get(&response) else {
            continue;
        };
        if message.author != Author::User {
            let body = body(details.clone(), ratings.remove(&response));
            known.answers.insert(message.id, body);
        } else if let Some(error) = &details.error {
            known.failures.insert(message.id, error.clone().into());
        }
    }
    Ok(known)
}

fn body(details: AnswerDetails, rated: Option<Rated>) -> AnswerBody {
    let facts = details.facts;
    AnswerBody {
        steps: details.steps,
        tables: facts.tables,
        row_count: facts.row_count,
        truncated: facts.truncated,
        assumptions: facts.assumptions,
        follow_up_questions: facts.follow_up_questions,
        unverified_numbers: facts.unverified_numbers,
        ending: details.ending.map(EarlyEnd::as_str),
        error: details.error.map(Into::into),
        feedback: rated.map(|rated| AnswerRating {
            rating: rated.rating,
            comment: rated.comment,
            corrected_sql: rated.corrected_sql,
        }),
    }
}
