//! The results of the SQL behind a message, as pages and as CSV.

use super::{conversation_id, message_id};
use crate::{
    error::ApiResult,
    extract::{Path, Query},
    list::limit,
    routes::{ASKED, Routes, SQL, Tag, USER},
};
use axum::{
    body::Body,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use mindhost_answers::{
    answering::items::PER_SOURCE,
    results::stored::{StoredResults, StoredStatement},
};
use mindhost_base::{
    config::Formulas,
    error::{Code, Result},
};
use mindhost_core::auth::Caller;
use mindhost_sql::{json::Rows, schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

/// Failures of a message's result.
const RESULT: &[Code] = &[
    Code::ConversationNotFound,
    Code::MessageNotFound,
    Code::MindDeleted,
    Code::NotAnAssistantMessage,
    Code::MessageWithoutSql,
    Code::DirectQueriesNotAllowed,
];

/// Rows of a page, by default and at most.
const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 1000;

/// `/conversations/{id}/items/{item_id}/result` and `/export`
pub fn routes() -> Routes {
    let read = || USER.fails(RESULT).fails(ASKED).fails(SQL);
    Routes::of(Tag::Conversations)
        .route(routes!(self::result), read())
        .route(routes!(self::export), read())
}

/// The parameters of a page.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Rows of the page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000, default = 100)]
    limit: Option<i64>,
    /// Rows before the page.
    #[param(minimum = 0, maximum = 9_223_372_036_854_775_807u64, default = 0)]
    offset: Option<u64>,
    /// `chart` adds a chart of the whole result.
    #[param(value_type = Option<String>, pattern = "^chart$", example = "chart")]
    include: Option<Include>,
}

/// What a page may have beside its rows.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Include {
    Chart,
}

/// A page of a result.
#[derive(Serialize, ToSchema)]
struct ResultPage {
    result: ResultRows,
    /// Rows of the whole result.
    total: u64,
    /// Whether the SQL has an ORDER BY. Without one, pages may overlap.
    is_pagination_consistent: bool,
    /// `per_source` where several datasources were read: each in a state of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "per_source")]
    snapshot: Option<&'static str>,
    /// With `include=chart`: a Vega-Lite specification with the rows of the whole result in it, or null.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    chart: Option<Option<Value>>,
    /// With `include=chart`: why this chart, or why none.
    #[serde(skip_serializing_if = "Option::is_none")]
    chart_reason: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct ResultRows {
    /// Rows, each in the order of the columns.
    #[schema(value_type = Vec<Vec<Value>>, example = json!([["Ann", 3]]))]
    data: Rows,
    #[schema(example = json!(["name", "orders"]))]
    column_names: Vec<String>,
    column_types: Vec<schema::ColumnType>,
}

/// Gets a page of an answer's result
///
/// The SQL of the message runs again, against the Mind as it is now.
#[utoipa::path(get, path = "/conversations/{id}/items/{item_id}/result", operation_id = "get_result",
    params(PageQuery),
    responses((status = 200, body = ResultPage, description = "The page.",
        headers(("x-mindhost-plugin" = String, description = "SHA-256 of the plugin that served it.")))))]
pub async fn result(
    State(results): State<StoredResults>,
    caller: Caller,
    Path((id, item_id)): Path<(String, String)>,
    Query(query): Query<PageQuery>,
) -> ApiResult<Response> {
    let limit = limit(query.limit, DEFAULT_LIMIT, MAX_LIMIT)?;
    let offset = query.offset.unwrap_or(0);
    let statement = stored(&results, &caller, &id, &item_id).await?;
    let page = results.page(&statement, limit.into(), offset).await?;
    let chart = match query.include {
        Some(Include::Chart) => Some(results.chart(&statement, &page).await?),
        None => None,
    };
    let (chart, chart_reason) = chart.map(|chart| (chart.spec, chart.reason)).unzip();
    let body = ResultPage {
        total: page.total,
        is_pagination_consistent: page.ordered,
        snapshot: page.is_per_source.then_some(PER_SOURCE),
        chart,
        chart_reason,
        result: ResultRows {
            column_names: schema::column_names(&page.columns),
            column_types: schema::column_types(&page.columns),
            data: Rows::new(page.columns, page.batches),
        },
    };
    Ok(([("x-mindhost-plugin", page.digest)], axum::Json(body)).into_response())
}

/// The parameters of an export.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExportQuery {
    /// `escape` puts an apostrophe before texts that a spreadsheet would run as formulas, `keep` leaves them. Default:
    /// the setting `sql.csv_formulas`.
    #[param(value_type = Option<String>, pattern = "^(keep|escape)$", example = "escape")]
    formulas: Option<Formulas>,
}

/// Exports an answer's whole result as CSV
///
/// A failure after the first byte aborts the transfer.
#[utoipa::path(get, path = "/conversations/{id}/items/{item_id}/export", operation_id = "export_result",
    params(ExportQuery),
    responses((status = 200, description = "UTF-8, the names of the columns first, one line a row.", body = String, content_type = "text/csv",
        headers(("content-disposition" = String, description = "Names a file."),
            ("x-mindhost-plugin" = String, description = "SHA-256 of the plugin that served it.")))))]
pub async fn export(
    State(results): State<StoredResults>,
    caller: Caller,
    Path((id, item_id)): Path<(String, String)>,
    Query(query): Query<ExportQuery>,
) -> ApiResult<Response> {
    let statement = stored(&results, &caller, &id, &item_id).await?;
    let message_id = statement.message_id;
    let export = results.export(statement, query.formulas).await?;
    let headers = [
        (
            header::CONTENT_TYPE.as_str(),
            "text/csv; charset=utf-8".to_owned(),
        ),
        (
            header::CONTENT_DISPOSITION.as_str(),
            format!("attachment; filename=\"result-{}.csv\"", message_id),
        ),
        ("x-mindhost-plugin", export.digest.clone()),
    ];
    let pieces = stream::unfold(export, |mut export| async move {
        Some((export.next().await?, export))
    });
    Ok((headers, Body::from_stream(pieces)).into_response())
}

async fn stored(
    results: &StoredResults,
    caller: &Caller,
    id: &str,
    item_id: &str,
) -> Result<StoredStatement> {
    results
        .find(caller, conversation_id(id)?, message_id(item_id)?)
        .await
}
