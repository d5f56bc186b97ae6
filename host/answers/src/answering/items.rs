//! Output items, as they are sent and stored.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, value::RawValue};
use tokio::runtime::{Handle, RuntimeFlavor};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{facts::AnswerFacts, record::EarlyEnd};
use crate::{
    conversations::Message,
    results::{Page, chart::Chart},
};
use mindhost_base::error::{Error, Result};
use mindhost_query::federation::ExecutionReport;
use mindhost_sql::{json::Rows, schema};

/// The snapshot of a result out of several datasources: one each, which are of different moments.
pub const PER_SOURCE: &str = "per_source";

/// An item of type `message`.
///
/// # Errors
/// Never: its parts are texts.
pub fn message(message: &Message, facts: &AnswerFacts) -> Result<Arc<RawValue>> {
    message_with_chart(message, facts, None)
}

/// As [`message`], with a chart if the caller asked for one. It is sent and not stored, because rows are in it.
///
/// # Errors
/// Never: its parts are texts.
pub fn message_with_chart(
    message: &Message,
    facts: &AnswerFacts,
    chart: Option<&Chart>,
) -> Result<Arc<RawValue>> {
    let result = facts.result.as_ref();
    raw(&MessageItem {
        r#type: "message",
        id: message.id,
        status: &message.status,
        role: "assistant",
        content: [OutputText {
            r#type: "output_text",
            text: &message.text,
            annotations: [],
            logprobs: [],
        }],
        sql: message.sql.as_ref().map(|sql| sql.text.as_str()),
        chart: chart.map(|chart| chart.spec.as_ref()),
        chart_reason: chart.map(|chart| chart.reason.as_str()),
        tables: result.map_or(&[][..], |result| &result.tables[..]),
        row_count: result.map(|result| result.row_count),
        truncated: result.is_some_and(|result| result.truncated),
        assumptions: result.map_or(&[][..], |result| &result.assumptions[..]),
        follow_up_questions: &facts.follow_up_questions,
        unverified_numbers: &facts.unverified_numbers,
        ending: facts.ending.map(EarlyEnd::as_str),
    })
}

/// An item of type `query_result`, from a page of its statement.
///
/// # Errors
/// Never for checked batches.
pub fn query_result(
    message: &Message,
    page: Page,
    explain: bool,
    chart: Option<&Chart>,
) -> Result<Arc<RawValue>> {
    let item = QueryResult {
        r#type: "query_result",
        id: message.id,
        status: "success",
        query: sql_of(message),
        column_names: schema::column_names(&page.columns),
        column_types: schema::column_types(&page.columns),
        total: page.total,
        has_more: page.rows() < page.total,
        executed_query: Some(&page.executed),
        snapshot: page.is_per_source.then_some(PER_SOURCE),
        explain: explain.then_some(&page.report),
        data: Rows::new(page.columns, page.batches),
        chart: chart.map(|chart| chart.spec.as_ref()),
        chart_reason: chart.map(|chart| chart.reason.as_str()),
        error: None,
    };
    beside_other_tasks(|| raw(&item))
}

/// Runs work that takes long for a large page, so that other tasks of this thread go on.
fn beside_other_tasks<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// An item of type `query_result` without rows, with the reason.
///
/// # Errors
/// Never: its parts are texts.
pub fn without_rows(message: &Message, reason: &Error) -> Result<Arc<RawValue>> {
    raw(&QueryResult {
        r#type: "query_result",
        id: message.id,
        status: "unavailable",
        query: sql_of(message),
        executed_query: None,
        snapshot: None,
        explain: None,
        column_names: Vec::new(),
        column_types: Vec::new(),
        data: Rows::new(Arc::from([]), []),
        total: 0,
        has_more: false,
        chart: None,
        chart_reason: None,
        error: Some(Unavailable {
            code: reason.code().as_str(),
            message: reason.message(),
        }),
    })
}

/// A message of a Mind.
#[derive(Serialize, ToSchema)]
#[schema(as = OutputMessage)]
pub struct MessageItem<'a> {
    #[schema(example = "message")]
    r#type: &'static str,
    id: Uuid,
    /// `completed`, `incomplete`
    #[schema(example = "completed")]
    status: &'a str,
    #[schema(example = "assistant")]
    role: &'static str,
    /// One part.
    content: [OutputText<'a>; 1],
    /// The SQL that the answer is based on.
    #[schema(required = true)]
    sql: Option<&'a str>,
    /// With `"include": ["chart"]`: a Vega-Lite specification with the rows in it, or null.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    chart: Option<Option<&'a Value>>,
    /// With `"include": ["chart"]`: why this chart, or why none.
    #[serde(skip_serializing_if = "Option::is_none")]
    chart_reason: Option<&'a str>,
    /// The tables that this SQL read, as `datasource.schema.table`.
    #[schema(example = json!(["shop.public.orders"]))]
    tables: &'a [String],
    /// Rows of the whole result of this SQL.
    #[schema(required = true)]
    row_count: Option<u64>,
    /// Whether the model got fewer rows than there are.
    truncated: bool,
    /// What the model took for granted where the question leaves it open.
    #[schema(example = json!(["Cancelled orders are left out."]))]
    assumptions: &'a [String],
    /// Questions that can be answered next.
    #[schema(example = json!(["How many orders are there for each status?"]))]
    follow_up_questions: &'a [String],
    /// Numbers of the text that are in nothing that the model has read, and do not follow from it. Absent if there are
    /// none, and where rows are withheld from the model.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    #[schema(required = false, example = json!(["6"]))]
    unverified_numbers: &'a [String],
    /// Null where the answer ended by itself; else as `ending` of the response.
    #[schema(required = true, example = "cannot_answer")]
    ending: Option<&'static str>,
}

/// The text of an answer.
#[derive(Serialize, ToSchema)]
pub struct OutputText<'a> {
    #[schema(example = "output_text")]
    r#type: &'static str,
    text: &'a str,
    #[schema(value_type = Vec<Object>)]
    annotations: [u8; 0],
    #[schema(value_type = Vec<Object>)]
    logprobs: [u8; 0],
}

/// The result of a statement.
#[derive(Serialize, ToSchema)]
pub struct QueryResult<'a> {
    #[schema(example = "query_result")]
    r#type: &'static str,
    id: Uuid,
    /// `success`; `unavailable` for a stored response whose rows can no longer be read.
    #[schema(example = "success")]
    status: &'static str,
    /// The statement of the caller.
    query: &'a str,
    /// The statement that the engine ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    executed_query: Option<&'a str>,
    #[schema(example = json!(["name", "orders"]))]
    column_names: Vec<String>,
    column_types: Vec<schema::ColumnType>,
    /// Rows, each in the order of the columns.
    #[schema(value_type = Vec<Vec<serde_json::Value>>, example = json!([["Ann", 3]]))]
    data: Rows,
    /// Rows of the whole result.
    total: u64,
    /// Whether there are more rows than these.
    has_more: bool,
    /// `per_source` where several datasources were read: each in a state of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "per_source")]
    snapshot: Option<&'static str>,
    /// With `explain`: the `plan` of the host, and in `sources` what was sent to which `datasource`, as
    /// `executed_query`, and the `rows` and `bytes` that came back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    explain: Option<&'a ExecutionReport>,
    /// With `"include": ["chart"]`: a Vega-Lite specification with the rows in it, or null.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    chart: Option<Option<&'a Value>>,
    /// With `"include": ["chart"]`: why this chart, or why none.
    #[serde(skip_serializing_if = "Option::is_none")]
    chart_reason: Option<&'a str>,
    /// Why there are no rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Unavailable<'a>>,
}

/// Why a stored response has no rows.
#[derive(Serialize, ToSchema)]
pub struct Unavailable<'a> {
    code: &'a str,
    message: &'a str,
}

fn sql_of(message: &Message) -> &str {
    message.sql.as_ref().map_or("", |sql| sql.text.as_str())
}

fn raw(item: &impl Serialize) -> Result<Arc<RawValue>> {
    serde_json::value::to_raw_value(item)
        .map(Arc::from)
        .map_err(Error::internal)
}
