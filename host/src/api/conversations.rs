//! `/conversations`: what was said, and the results of the SQL in it.

use axum::{
    body::Body,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    ask,
    extract::{Json, Path, Query},
};
use crate::{
    answering::Answering,
    auth::Caller,
    conversations::{Author, Conversation, Conversations, Message, Window},
    error::{Code, Error, Result},
    results::stored::{StoredResults, StoredStatement},
    sql::{json::Rows, schema},
};

/// Rows of a page, by default and at most.
const DEFAULT_LIMIT: u64 = 100;
const MAX_LIMIT: u64 = 1000;

/// Items of a list, by default and at most.
const DEFAULT_ITEMS: u32 = 20;
const MAX_ITEMS: u32 = 100;

/// Items that one request adds at most.
const MAX_NEW_ITEMS: usize = 20;

/// The body of `POST /conversations`.
#[derive(Debug, Default, Deserialize)]
pub struct CreateConversation {
    #[serde(default)]
    items: Value,
    metadata: Option<Map<String, Value>>,
}

/// `POST /conversations`
pub async fn create(
    State(conversations): State<Conversations>,
    caller: Caller,
    body: Option<Json<CreateConversation>>,
) -> Result<Response> {
    let body = body.map(|Json(body)| body).unwrap_or_default();
    let messages = items_of(&body.items)?;
    let conversation = conversations
        .create(&caller, ask::metadata(body.metadata)?, &messages)
        .await?;
    Ok(axum::Json(object(&conversation)).into_response())
}

/// At most as many items at once as OpenAI's API takes.
fn items_of(items: &Value) -> Result<Vec<Message>> {
    if items
        .as_array()
        .is_some_and(|items| items.len() > MAX_NEW_ITEMS)
    {
        return Err(Error::invalid(
            "items",
            format!("`items` has at most {MAX_NEW_ITEMS} messages; send more with another request"),
        ));
    }
    ask::messages(items, "items")
}

/// `GET /conversations`
pub async fn list(
    State(conversations): State<Conversations>,
    caller: Caller,
    Query(list): Query<List>,
) -> Result<axum::Json<Value>> {
    let window = list.window("conv_", Code::ConversationNotFound)?;
    let (found, has_more) = conversations.all(&caller, window).await?;
    let ids = ends(&found, |one| one.id);
    Ok(axum::Json(page(
        found.iter().map(object).collect(),
        ids,
        has_more,
    )))
}

/// The body of `POST /conversations/{id}`.
#[derive(Debug, Deserialize)]
pub struct UpdateConversation {
    metadata: Map<String, Value>,
}

/// `POST /conversations/{id}`
pub async fn update(
    State(conversations): State<Conversations>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<UpdateConversation>,
) -> Result<axum::Json<Value>> {
    let metadata = ask::metadata(Some(body.metadata))?;
    let updated = conversations
        .update(&caller, conversation_id(&id)?, metadata)
        .await?;
    Ok(axum::Json(object(&updated)))
}

/// `GET /conversations/{id}`
pub async fn get(
    State(conversations): State<Conversations>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<axum::Json<Value>> {
    let conversation = conversations.get(&caller, conversation_id(&id)?).await?;
    Ok(axum::Json(object(&conversation)))
}

/// `DELETE /conversations/{id}`
pub async fn delete(
    State(answering): State<Answering>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<axum::Json<Value>> {
    let id = conversation_id(&id)?;
    answering.delete_conversation(&caller, id).await?;
    Ok(axum::Json(
        json!({"id": id, "object": "conversation.deleted", "deleted": true}),
    ))
}

/// The parameters of a list.
#[derive(Debug, Deserialize)]
pub struct List {
    after: Option<String>,
    limit: Option<u32>,
    order: Option<Order>,
}

impl List {
    /// Newest first unless asked otherwise, as OpenAI's API has it.
    fn window(&self, prefix: &str, not_found: Code) -> Result<Window> {
        let limit = self.limit.unwrap_or(DEFAULT_ITEMS);
        if !(1..=MAX_ITEMS).contains(&limit) {
            return Err(Error::invalid(
                "limit",
                format!("`limit` is a whole number from 1 to {MAX_ITEMS}"),
            ));
        }
        let after = self
            .after
            .as_deref()
            .map(|id| ask::id(id, prefix, "after", not_found));
        Ok(Window {
            after: after.transpose()?,
            limit,
            descending: self.order != Some(Order::Asc),
        })
    }
}

/// The ids of the first and the last of some.
fn ends<T>(all: &[T], id: impl Fn(&T) -> Uuid) -> [Option<Uuid>; 2] {
    [all.first().map(&id), all.last().map(&id)]
}

/// A page of a list, as OpenAI's clients read it.
fn page(data: Vec<Value>, [first, last]: [Option<Uuid>; 2], has_more: bool) -> Value {
    json!({"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": has_more})
}

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    Asc,
    Desc,
}

/// `GET /conversations/{id}/items`
pub async fn items(
    State(conversations): State<Conversations>,
    caller: Caller,
    Path(id): Path<String>,
    Query(list): Query<List>,
) -> Result<axum::Json<Value>> {
    let conversation = conversations.get(&caller, conversation_id(&id)?).await?;
    let window = list.window("msg_", Code::MessageNotFound)?;
    let (messages, has_more) = conversations.list(&conversation, window).await?;
    let ids = ends(&messages, |message| message.id);
    Ok(axum::Json(page(
        messages.iter().map(item).collect(),
        ids,
        has_more,
    )))
}

/// The body of `POST /conversations/{id}/items`.
#[derive(Debug, Deserialize)]
pub struct AddItems {
    items: Value,
}

/// `POST /conversations/{id}/items`
pub async fn items_add(
    State(conversations): State<Conversations>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<AddItems>,
) -> Result<axum::Json<Value>> {
    let messages = items_of(&body.items)?;
    if messages.is_empty() {
        return Err(Error::invalid(
            "items",
            "`items` is a list of at least one message",
        ));
    }
    conversations
        .add(&caller, conversation_id(&id)?, &messages)
        .await?;
    let ids = ends(&messages, |message| message.id);
    Ok(axum::Json(page(
        messages.iter().map(item).collect(),
        ids,
        false,
    )))
}

/// `DELETE /conversations/{id}/items/{item_id}`
pub async fn item_delete(
    State(conversations): State<Conversations>,
    caller: Caller,
    Path((id, item_id)): Path<(String, String)>,
) -> Result<axum::Json<Value>> {
    let conversation = conversations
        .remove(&caller, conversation_id(&id)?, message_id(&item_id)?)
        .await?;
    Ok(axum::Json(object(&conversation)))
}

/// `GET /conversations/{id}/items/{item_id}`
pub async fn item_get(
    State(conversations): State<Conversations>,
    caller: Caller,
    Path((id, item_id)): Path<(String, String)>,
) -> Result<axum::Json<Value>> {
    let conversation = conversations.get(&caller, conversation_id(&id)?).await?;
    let message = conversations
        .message(&conversation, message_id(&item_id)?)
        .await?;
    Ok(axum::Json(item(&message)))
}

/// The parameters of a page.
#[derive(Debug, Deserialize)]
pub struct PageQuery {
    limit: Option<u64>,
    offset: Option<u64>,
}

/// A page of a result.
#[derive(Serialize)]
struct ResultPage {
    result: ResultRows,
    total: u64,
    is_pagination_consistent: bool,
}

#[derive(Serialize)]
struct ResultRows {
    data: Rows,
    column_names: Vec<String>,
    column_types: Vec<schema::ColumnType>,
}

/// `GET /conversations/{id}/items/{item_id}/result`
pub async fn result(
    State(results): State<StoredResults>,
    caller: Caller,
    Path((id, item_id)): Path<(String, String)>,
    Query(query): Query<PageQuery>,
) -> Result<Response> {
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Error::invalid(
            "limit",
            format!("`limit` is a whole number from 1 to {MAX_LIMIT}"),
        ));
    }
    let offset = query.offset.unwrap_or(0);
    if i64::try_from(offset).is_err() {
        return Err(Error::invalid(
            "offset",
            "`offset` is larger than any result",
        ));
    }
    let statement = stored(&results, &caller, &id, &item_id).await?;
    let page = results.page(&statement, limit, offset).await?;
    let body = ResultPage {
        total: page.total,
        is_pagination_consistent: page.ordered,
        result: ResultRows {
            column_names: schema::column_names(&page.columns),
            column_types: schema::column_types(&page.columns),
            data: Rows::new(page.columns, page.batches),
        },
    };
    Ok(([("x-mindhost-plugin", page.digest)], axum::Json(body)).into_response())
}

/// `GET /conversations/{id}/items/{item_id}/export`
pub async fn export(
    State(results): State<StoredResults>,
    caller: Caller,
    Path((id, item_id)): Path<(String, String)>,
) -> Result<Response> {
    let statement = stored(&results, &caller, &id, &item_id).await?;
    let export = results.export(&statement).await?;
    let headers = [
        (
            header::CONTENT_TYPE.as_str(),
            "text/csv; charset=utf-8".to_owned(),
        ),
        (
            header::CONTENT_DISPOSITION.as_str(),
            format!(
                "attachment; filename=\"result-{}.csv\"",
                statement.message_id
            ),
        ),
        ("x-mindhost-plugin", export.digest.clone()),
    ];
    let pieces = stream::unfold(export, |mut export| async move {
        Some((export.pieces.recv().await?, export))
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

fn conversation_id(text: &str) -> Result<Uuid> {
    ask::id(text, "conv_", "conversation_id", Code::ConversationNotFound)
}

fn message_id(text: &str) -> Result<Uuid> {
    ask::id(text, "msg_", "message_id", Code::MessageNotFound)
}

fn object(conversation: &Conversation) -> Value {
    json!({
        "id": conversation.id,
        "object": "conversation",
        "created_at": conversation.created_at.as_second(),
        "metadata": conversation.metadata,
        "model": conversation.mind_name,
    })
}

/// A message as OpenAI's clients read it.
fn item(message: &Message) -> Value {
    let part = match message.author {
        Author::Assistant => {
            json!({"type": "output_text", "text": message.text, "annotations": [], "logprobs": []})
        }
        _ => json!({"type": "input_text", "text": message.text}),
    };
    json!({
        "type": "message",
        "id": message.id,
        "status": message.status,
        "role": message.author,
        "content": [part],
        "created_at": message.created_at.as_second(),
        "sql": message.sql.as_ref().map(|sql| sql.text.as_str()),
    })
}
