//! Output items, as they are sent and stored.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{json, value::RawValue};
use uuid::Uuid;

use crate::{
    conversations::Message,
    error::{Error, Result},
    results::Page,
    sql::{json::Rows, schema},
};

/// An item of type `message`.
///
/// # Errors
/// Never: it is made of texts.
pub fn message(message: &Message) -> Result<Arc<RawValue>> {
    raw(&json!({
        "type": "message",
        "id": message.id,
        "status": message.status,
        "role": "assistant",
        "content": [{"type": "output_text", "text": message.text, "annotations": [], "logprobs": []}],
        "sql": message.sql.as_ref().map(|sql| sql.text.as_str()),
    }))
}

/// An item of type `query_result`, from a page of its statement.
///
/// # Errors
/// Never for checked batches.
pub fn query_result(message: &Message, page: Page) -> Result<Arc<RawValue>> {
    raw(&QueryResult {
        r#type: "query_result",
        id: message.id,
        status: "success",
        query: sql_of(message),
        column_names: schema::column_names(&page.columns),
        column_types: schema::column_types(&page.columns),
        total: page.total,
        has_more: page.rows() < page.total,
        executed_query: &page.executed,
        data: Rows::new(page.columns, page.batches),
    })
}

/// An item of type `query_result` whose rows cannot be had any more, with the reason.
///
/// # Errors
/// Never: it is made of texts.
pub fn without_rows(message: &Message, reason: &Error) -> Result<Arc<RawValue>> {
    raw(&json!({
        "type": "query_result",
        "id": message.id,
        "status": "unavailable",
        "query": sql_of(message),
        "column_names": [],
        "column_types": [],
        "data": [],
        "total": 0,
        "has_more": false,
        "error": {"code": reason.code().as_str(), "message": reason.message()},
    }))
}

#[derive(Serialize)]
struct QueryResult<'a> {
    r#type: &'static str,
    id: Uuid,
    status: &'static str,
    query: &'a str,
    executed_query: &'a str,
    column_names: Vec<String>,
    column_types: Vec<schema::ColumnType>,
    data: Rows,
    total: u64,
    has_more: bool,
}

fn sql_of(message: &Message) -> &str {
    message.sql.as_ref().map_or("", |sql| sql.text.as_str())
}

fn raw(item: &impl Serialize) -> Result<Arc<RawValue>> {
    serde_json::value::to_raw_value(item)
        .map(Arc::from)
        .map_err(Error::internal)
}
