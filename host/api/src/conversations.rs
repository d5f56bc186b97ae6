//! `/conversations` and their messages.

mod answer;
mod results;

use crate::{
    error::ApiResult,
    routes::{ID, KeyHandler, Routes, STORING, Tag, USER},
};
use axum::{Extension, extract::State};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;
use uuid::Uuid;

use super::{
    admission::CreatedName,
    ask::{
        self,
        body::{self, InputItem},
    },
    extract::{Json, Path, Query},
    list::{Page, limit},
};
use mindhost_answers::{
    answering::Answering,
    conversations::{Author, Conversation, Conversations, Message, Window},
    feedback::FeedbackBox,
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_core::auth::Caller;

/// `/conversations`
pub fn routes() -> Routes {
    let read = || USER.fails(&[Code::ConversationNotFound]);
    let read_item = || read().fails(&[Code::MessageNotFound]);
    let change = || read().audited_after().fails(&[Code::Forbidden]);
    let create = USER
        .audited_after()
        .once(KeyHandler::Resource("/conversations"))
        .fails(STORING)
        .leads_to(
            ID,
            &[
                "get_conversation",
                "update_conversation",
                "list_items",
                "add_items",
                "delete_conversation",
            ],
        );
    let items_add = change().fails(STORING).leads_to(
        &[
            ("id", "$request.path.id"),
            ("item_id", "$response.body#/first_id"),
        ],
        &["get_item", "delete_item"],
    );
    Routes::of(Tag::Conversations)
        .route(routes!(self::list), read())
        .route(routes!(self::create), create)
        .route(routes!(self::get), read())
        .route(routes!(self::update), change().fails(STORING))
        .route(routes!(self::delete), change())
        .route(routes!(self::items), read_item())
        .route(routes!(self::items_add), items_add)
        .route(routes!(self::item_get), read_item())
        .route(
            routes!(self::item_delete),
            change().fails(&[Code::MessageNotFound]),
        )
        .and(results::routes())
}

/// Items of a list, by default and at most.
const DEFAULT_ITEMS: u32 = 20;
const MAX_ITEMS: u32 = 100;

/// Items that one request adds at most.
const MAX_NEW_ITEMS: usize = 20;

/// The body of `POST /conversations`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = NewConversation)]
pub struct CreateConversation {
    /// Its first messages.
    #[schema(value_type = Option<Vec<body::Message>>, max_items = 20)]
    items: Option<Vec<InputItem>>,
    /// Free metadata of the caller.
    #[schema(schema_with = body::metadata)]
    metadata: Option<Map<String, Value>>,
}

/// Creates a conversation
#[utoipa::path(post, path = "/conversations", operation_id = "create_conversation", request_body = Option<CreateConversation>,
    responses((status = 200, body = ShownConversation, description = "The new conversation.")))]
pub async fn create(
    State(conversations): State<Conversations>,
    caller: Caller,
    body: Option<Json<CreateConversation>>,
) -> ApiResult<(Extension<CreatedName>, axum::Json<ShownConversation>)> {
    let body = body.map(|Json(body)| body).unwrap_or_default();
    let messages = items_of(body.items.unwrap_or_default())?;
    let conversation = conversations
        .create(&caller, ask::metadata(body.metadata)?, &messages)
        .await?;
    let made = Extension(CreatedName(conversation.id.to_string()));
    Ok((made, axum::Json(object(&conversation))))
}

/// OpenAI's API has the same limit of items.
fn items_of(items: Vec<InputItem>) -> Result<Vec<Message>> {
    if items.len() > MAX_NEW_ITEMS {
        return Err(Error::invalid(
            "items",
            format!("`items` has at most {MAX_NEW_ITEMS} messages; send more with another request"),
        ));
    }
    ask::messages(items, "items")
}

/// Lists the conversations of the key, by default newest first
#[utoipa::path(get, path = "/conversations", operation_id = "list_conversations",
    params(List, Search),
    responses((status = 200, body = Page<ShownConversation>, description = "A page of them.")))]
pub async fn list(
    State(conversations): State<Conversations>,
    caller: Caller,
    Query(list): Query<List>,
    Query(with): Query<Search>,
) -> ApiResult<axum::Json<Page<ShownConversation>>> {
    let window = list.window("conv_", Code::ConversationNotFound)?;
    let search = with.search.as_deref();
    let (found, has_more) = conversations.all(&caller, search, window).await?;
    let id = |one: &Conversation| one.id.to_string();
    Ok(axum::Json(Page::new(&found, id, object, has_more)))
}

/// `?search=`
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Search {
    /// Only conversations with this text in a question, an answer, a statement or their metadata. The case of ASCII
    /// letters does not matter.
    #[param(min_length = 1, max_length = 200, example = "refund")]
    search: Option<String>,
}

/// The body of `POST /conversations/{id}`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChangeConversation)]
pub struct UpdateConversation {
    /// Free metadata; replaces all of it. Null clears it.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true, schema_with = body::metadata)]
    metadata: Option<Map<String, Value>>,
}

/// Changes the metadata of a conversation
#[utoipa::path(post, path = "/conversations/{id}", operation_id = "update_conversation",
    responses((status = 200, body = ShownConversation, description = "The conversation as it is now.")))]
pub async fn update(
    State(conversations): State<Conversations>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<UpdateConversation>,
) -> ApiResult<axum::Json<ShownConversation>> {
    let metadata = ask::metadata(body.metadata)?;
    let updated = conversations
        .update(&caller, conversation_id(&id)?, metadata)
        .await?;
    Ok(axum::Json(object(&updated)))
}

/// Gets a conversation
#[utoipa::path(get, path = "/conversations/{id}", operation_id = "get_conversation",
    responses((status = 200, body = ShownConversation, description = "The conversation.")))]
pub async fn get(
    State(conversations): State<Conversations>,
    caller: Caller,
    Path(id): Path<String>,
) -> ApiResult<axum::Json<ShownConversation>> {
    let conversation = conversations.get(&caller, conversation_id(&id)?).await?;
    Ok(axum::Json(object(&conversation)))
}

/// Deletes a conversation with its messages
#[utoipa::path(delete, path = "/conversations/{id}", operation_id = "delete_conversation",
    responses((status = 200, body = DeletedConversation, description = "Deleted.")))]
pub async fn delete(
    State(answering): State<Answering>,
    caller: Caller,
    Path(id): Path<String>,
) -> ApiResult<axum::Json<DeletedConversation>> {
    let id = conversation_id(&id)?;
    answering.delete_conversation(&caller, id).await?;
    Ok(axum::Json(DeletedConversation {
        id,
        object: "conversation.deleted",
        deleted: true,
    }))
}

/// The parameters of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct List {
    /// Id of an entry: only the entries after it, in the requested order.
    after: Option<String>,
    /// The maximum number of entries.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// Oldest or newest first. Default: newest.
    #[param(inline)]
    order: Option<Order>,
}

impl List {
    /// By default newest first, as in OpenAI's API.
    fn window(&self, prefix: &str, not_found: Code) -> Result<Window> {
        let limit = limit(self.limit, DEFAULT_ITEMS, MAX_ITEMS)?;
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

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Order {
    Asc,
    Desc,
}

/// Lists the messages of a conversation, by default newest first
#[utoipa::path(get, path = "/conversations/{id}/items", operation_id = "list_items",
    params(List, ItemsQuery),
    responses((status = 200, body = Page<Item>, description = "A page of them.")))]
pub async fn items(
    State(conversations): State<Conversations>,
    State(answering): State<Answering>,
    State(feedback): State<FeedbackBox>,
    caller: Caller,
    Path(id): Path<String>,
    Query(list): Query<List>,
    Query(with): Query<ItemsQuery>,
) -> ApiResult<axum::Json<Page<Item>>> {
    let conversation = conversations.get(&caller, conversation_id(&id)?).await?;
    let window = list.window("msg_", Code::MessageNotFound)?;
    let (messages, has_more) = conversations.list(&conversation, window).await?;
    let mut known = match with.include {
        Some(ItemPart::Answer) => answer::of(&messages, &answering, &feedback).await?,
        Some(ItemPart::ResponseId) | None => answer::Known::default(),
    };
    let item = |message: &Message| Item {
        response_id: match with.include {
            Some(ItemPart::Answer) => answer::response_with(message),
            Some(ItemPart::ResponseId) => answer::response_of(message),
            None => None,
        },
        answer: known.answers.remove(&message.id),
        failure: known.failures.remove(&message.id),
        ..item(message)
    };
    Ok(axum::Json(Page::new(&messages, id_of, item, has_more)))
}

/// `?include=`
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ItemsQuery {
    /// `response_id` adds to each answer in words the response that it was made for, which feedback is given to;
    /// `answer` adds that to questions too, and what is known of the answer: its steps, its assumptions, how it ended,
    /// how it was rated. A question gets why its response failed.
    #[param(value_type = Option<String>, pattern = "^(response_id|answer)$", example = "response_id")]
    include: Option<ItemPart>,
}

/// What a message may have beside its text.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ItemPart {
    ResponseId,
    Answer,
}

/// The body of `POST /conversations/{id}/items`.
#[derive(Debug, Deserialize, ToSchema)]
pub struct AddItems {
    /// Messages.
    #[schema(value_type = Vec<body::Message>, min_items = 1, max_items = 20)]
    items: Vec<InputItem>,
}

/// Adds messages to a conversation
#[utoipa::path(post, path = "/conversations/{id}/items", operation_id = "add_items",
    responses((status = 200, body = Page<Item>, description = "The new messages.")))]
pub async fn items_add(
    State(conversations): State<Conversations>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<AddItems>,
) -> ApiResult<axum::Json<Page<Item>>> {
    let messages = items_of(body.items)?;
    if messages.is_empty() {
        return Err(
            Error::invalid("items", "`items` must be a list of at least one message").into(),
        );
    }
    conversations
        .add(&caller, conversation_id(&id)?, &messages)
        .await?;
    Ok(axum::Json(Page::new(&messages, id_of, item, false)))
}

/// Deletes a message
#[utoipa::path(delete, path = "/conversations/{id}/items/{item_id}", operation_id = "delete_item",
    responses((status = 200, body = ShownConversation, description = "The conversation that it was in.")))]
pub async fn item_delete(
    State(conversations): State<Conversations>,
    caller: Caller,
    Path((id, item_id)): Path<(String, String)>,
) -> ApiResult<axum::Json<ShownConversation>> {
    let conversation = conversations
        .remove(&caller, conversation_id(&id)?, message_id(&item_id)?)
        .await?;
    Ok(axum::Json(object(&conversation)))
}

/// Gets a message
#[utoipa::path(get, path = "/conversations/{id}/items/{item_id}", operation_id = "get_item",
    responses((status = 200, body = Item, description = "The message.")))]
pub async fn item_get(
    State(conversations): State<Conversations>,
    caller: Caller,
    Path((id, item_id)): Path<(String, String)>,
) -> ApiResult<axum::Json<Item>> {
    let conversation = conversations.get(&caller, conversation_id(&id)?).await?;
    let message = conversations
        .message(&conversation, message_id(&item_id)?)
        .await?;
    Ok(axum::Json(item(&message)))
}

fn conversation_id(text: &str) -> Result<Uuid> {
    ask::id(text, "conv_", "conversation_id", Code::ConversationNotFound)
}

fn message_id(text: &str) -> Result<Uuid> {
    ask::id(text, "msg_", "message_id", Code::MessageNotFound)
}

fn id_of(message: &Message) -> String {
    message.id.to_string()
}

/// A conversation in OpenAI's format.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Conversation)]
pub struct ShownConversation {
    id: Uuid,
    #[schema(example = "conversation")]
    object: &'static str,
    /// In seconds since 1970.
    created_at: i64,
    #[schema(schema_with = body::metadata_object)]
    metadata: Map<String, Value>,
    /// The present name of its Mind, or the last known one of a Mind that was deleted. Null until the first answer.
    #[schema(required = true)]
    model: Option<String>,
    /// Id of the key that owns it: only that key adds to it.
    key_id: String,
}

/// A deleted conversation or response.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedConversation {
    /// Its id.
    pub id: Uuid,
    /// `conversation.deleted`, `response`
    #[schema(example = "response")]
    pub object: &'static str,
    /// Always true.
    #[schema(example = true)]
    pub deleted: bool,
}

/// A message in OpenAI's format.
#[derive(Debug, Serialize, ToSchema)]
pub struct Item {
    #[schema(example = "message")]
    r#type: &'static str,
    id: Uuid,
    /// `completed`, `incomplete`
    #[schema(example = "completed")]
    status: String,
    role: Author,
    /// One part.
    content: [Part; 1],
    /// In seconds since 1970.
    created_at: i64,
    /// The SQL behind an answer.
    #[schema(required = true)]
    sql: Option<String>,
    /// For an answer in words, with `include`: the response that it was made for. For a question, with
    /// `include=answer`: the response that answers it, which may still be in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<Uuid>,
    /// For an answer in words whose response is still stored, with `include=answer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<answer::AnswerBody>,
    /// For a question, with `include=answer`: why its response failed or was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<answer::AnswerFailure>,
}

/// The text of a message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    OutputText {
        text: String,
        #[schema(value_type = Vec<Object>)]
        annotations: [u8; 0],
        #[schema(value_type = Vec<Object>)]
        logprobs: [u8; 0],
    },
    InputText {
        text: String,
    },
}

fn object(conversation: &Conversation) -> ShownConversation {
    ShownConversation {
        id: conversation.id,
        object: "conversation",
        created_at: conversation.created_at.as_second(),
        metadata: conversation.metadata.clone(),
        model: conversation.mind_name.clone(),
        key_id: conversation.key_id.clone(),
    }
}

fn item(message: &Message) -> Item {
    let text = message.text.clone();
    let part = match message.author {
        Author::Assistant => Part::OutputText {
            text,
            annotations: [],
            logprobs: [],
        },
        _ => Part::InputText { text },
    };
    Item {
        r#type: "message",
        id: message.id,
        status: message.status.clone(),
        role: message.author,
        content: [part],
        created_at: message.created_at.as_second(),
        sql: message.sql.as_ref().map(|sql| sql.text.clone()),
        response_id: None,
        answer: None,
        failure: None,
    }
}
