//! Conversations and their messages.
//!
//! A conversation is bound to the id of a Mind, not to its name, so a new Mind of the same name does not inherit it. It
//! belongs to the key that created it. A message of the assistant may have the SQL that it is based on, which passes
//! the guard again each time it runs.

mod store;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use mindhost_base::error::{Code, Error, Result};
use mindhost_core::auth::{Caller, Role, keys};
use mindhost_store::{ROW_BYTES, Store, StoredBytes, to_json};

/// A series of messages that belong to one Mind.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// UUID, given when it is created.
    pub id: Uuid,
    /// Id of the workspace whose keys may see it.
    pub workspace_id: String,
    /// Id of the key that owns it: only that key may add to it or change it.
    pub key_id: String,
    /// Id of its Mind. `None` until its first question.
    pub mind_id: Option<String>,
    /// Name that this Mind has now; of a Mind that is gone, the last name that was asked.
    pub mind_name: Option<String>,
    /// The caller's own notes: up to 16 short texts by name.
    pub metadata: Map<String, Value>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Conversation {
    /// A new conversation of the caller, without a Mind.
    pub fn new(caller: &Caller) -> Self {
        Self {
            id: Uuid::now_v7(),
            workspace_id: caller.workspace.to_string(),
            key_id: caller.key_id.to_string(),
            mind_id: None,
            mind_name: None,
            metadata: Map::new(),
            created_at: Timestamp::now(),
        }
    }

    /// Its size without its messages, counted for its key.
    pub fn bytes(&self) -> usize {
        ROW_BYTES + to_json(&self.metadata).map_or(0, |text| text.len())
    }

    /// Bytes that its key stores.
    pub fn added(&self, bytes: usize) -> StoredBytes {
        StoredBytes::of(&self.workspace_id, &self.key_id, bytes)
    }
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = Author)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// The person.
    User,
    /// The Mind.
    Assistant,
    /// Instructions that came as a message.
    System,
    /// The same, by its newer name in OpenAI's API.
    Developer,
}

impl Author {
    /// Its name in the store and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Developer => "developer",
        }
    }

    fn parse(text: &str) -> Self {
        match text {
            "assistant" => Self::Assistant,
            "system" => Self::System,
            "developer" => Self::Developer,
            _ => Self::User,
        }
    }
}

/// Who wrote the SQL of a message. It decides which right the Mind needs to run it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SqlOrigin {
    /// The model wrote it for an answer.
    Model,
    /// The caller sent it with the `sql_query` tool.
    SqlQuery,
}

impl SqlOrigin {
    /// As stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::SqlQuery => "sql_query",
        }
    }

    /// From its stored name. An unknown name gets the stricter rule.
    fn parse(text: Option<&str>) -> Self {
        match text {
            Some("model") => Self::Model,
            _ => Self::SqlQuery,
        }
    }
}

/// The SQL that a message is based on, as its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSql {
    /// The statement, before the guard.
    pub text: String,
    /// Who wrote it.
    pub origin: SqlOrigin,
}

/// Where the text of an answer was read. A later question must not send it to another datasource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadFrom {
    /// Ids of the datasources of its statement, or of the only one that the Mind had. Empty if it may be any.
    pub datasources: Vec<String>,
    /// Words and values of the text that the model read elsewhere than in the one datasource.
    pub others: Vec<String>,
}

/// One message of a conversation, by a person or a Mind.
#[derive(Clone, Debug)]
pub struct Message {
    /// UUID; its result and export are asked for by it.
    pub id: Uuid,
    /// Who wrote it.
    pub author: Author,
    /// `completed`, `incomplete`.
    pub status: String,
    /// The question, or the words of the answer.
    pub text: String,
    /// What the answer is based on; `None` for a question, and for an answer without data.
    pub sql: Option<StoredSql>,
    /// Where an answer was read. `None` if that is not known: of messages that callers wrote, and of older versions.
    pub read_from: Option<ReadFrom>,
    /// The response that it was made for, once it is stored.
    pub response_id: Option<Uuid>,
    /// When it was written.
    pub created_at: Timestamp,
}

impl Message {
    /// A finished message with a new id.
    pub fn new(author: Author, text: impl Into<String>) -> Self {
        Self {
            id: Uuid::now_v7(),
            author,
            status: "completed".into(),
            text: text.into(),
            sql: None,
            read_from: None,
            response_id: None,
            created_at: Timestamp::now(),
        }
    }

    /// Its size, counted for the key of its conversation.
    pub fn bytes(&self) -> usize {
        let sql = self.sql.as_ref().map_or(0, |sql| sql.text.len());
        let read_from = store::read_from(self).map_or(0, |text| text.len());
        ROW_BYTES + store::content(self).len() + sql + read_from
    }
}

/// A page of a list.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The id that the page begins behind; `None` for the first page.
    pub after: Option<Uuid>,
    /// Most entries to return.
    pub limit: u32,
    /// Newest first.
    pub descending: bool,
}

/// Most characters of a search. It finds conversations with that text in a question, an answer, a statement or their
/// metadata. The case of ASCII letters does not matter; that of others does on SQLite.
pub const MAX_SEARCH: usize = 200;

/// Creates, reads, changes and deletes conversations, for callers that may.
#[derive(Clone, Debug)]
pub struct Conversations {
    store: Store,
}

impl Conversations {
    /// Over a store.
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Creates a conversation with its first messages.
    ///
    /// # Errors
    /// `quota_exceeded`, `storage_full`; or when the store fails.
    pub async fn create(
        &self,
        caller: &Caller,
        metadata: Map<String, Value>,
        messages: &[Message],
    ) -> Result<Conversation> {
        let conversation = Conversation {
            metadata,
            ..Conversation::new(caller)
        };
        self.require_room(&conversation).await?;
        let mut transaction = self.store.begin_records().await?;
        insert(&mut transaction, &[&conversation]).await?;
        append(&mut transaction, &conversation, of_no_response(messages)).await?;
        let added = conversation.added(conversation.bytes() + bytes_of(messages));
        self.store.add_stored(&mut transaction, &added).await?;
        transaction.commit().await?;
        Ok(conversation)
    }

    /// The caller's conversation.
    ///
    /// A key that is limited to other Minds does not see it.
    ///
    /// # Errors
    /// `conversation_not_found` when it does not exist for this caller.
    pub async fn get(&self, caller: &Caller, id: Uuid) -> Result<Conversation> {
        let sees = |found: &Conversation| {
            caller.may_read(&found.workspace_id, &found.key_id, found.mind_id.as_deref())
        };
        store::find(&self.store, id)
            .await?
            .filter(sees)
            .ok_or_else(|| not_found(id))
    }

    /// The conversations that the caller may read, by time of creation, and whether there are more.
    ///
    /// `after` may be a deleted conversation. `search` is as for [`MAX_SEARCH`].
    ///
    /// # Errors
    /// `invalid_parameter` for a search that is empty or too long; when the store fails.
    pub async fn all(
        &self,
        caller: &Caller,
        search: Option<&str>,
        window: Window,
    ) -> Result<(Vec<Conversation>, bool)> {
        if let Some(search) = search
            && !(1..=MAX_SEARCH).contains(&search.chars().count())
        {
            let message = format!("`search` must have 1 to {MAX_SEARCH} characters");
            return Err(Error::invalid("search", message));
        }
        let mut found = store::all(&self.store, caller, search, window).await?;
        let more = found.len() > window.limit as usize;
        found.truncate(window.limit as usize);
        Ok((found, more))
    }

    /// Replaces the metadata.
    ///
    /// # Errors
    /// `conversation_not_found`; `forbidden` for one of another key; `quota_exceeded`, `storage_full`.
    pub async fn update(
        &self,
        caller: &Caller,
        id: Uuid,
        metadata: Map<String, Value>,
    ) -> Result<Conversation> {
        let mut conversation = self.owned(caller, id).await?;
        self.require_room(&conversation).await?;
        store::set_metadata(&self.store, &conversation, &metadata).await?;
        conversation.metadata = metadata;
        Ok(conversation)
    }

    /// Adds messages at the end.
    ///
    /// # Errors
    /// As [`Self::update`].
    pub async fn add(&self, caller: &Caller, id: Uuid, messages: &[Message]) -> Result<()> {
        let conversation = self.owned(caller, id).await?;
        self.require_room(&conversation).await?;
        let mut transaction = self.store.begin_records().await?;
        if !store::lock(&mut transaction, id).await? {
            return Err(not_found(id));
        }
        append(&mut transaction, &conversation, of_no_response(messages)).await?;
        let added = conversation.added(bytes_of(messages));
        self.store.add_stored(&mut transaction, &added).await?;
        Ok(transaction.commit().await?)
    }

    async fn require_room(&self, conversation: &Conversation) -> Result<()> {
        let Conversation {
            workspace_id,
            key_id,
            ..
        } = conversation;
        self.store.check_byte_quota(workspace_id, key_id).await
    }

    /// Removes one message.
    ///
    /// # Errors
    /// As [`Self::update`]; `message_not_found`.
    pub async fn remove(&self, caller: &Caller, id: Uuid, message: Uuid) -> Result<Conversation> {
        let conversation = self.get(caller, id).await?;
        self.require_owner_or_heir(caller, &conversation.key_id)
            .await?;
        match store::remove(&self.store, &conversation, message).await? {
            true => Ok(conversation),
            false => Err(no_message(message)),
        }
    }

    /// A message of any conversation that the caller may read, and the id of that conversation.
    ///
    /// # Errors
    /// `message_not_found`.
    pub async fn find_message(&self, caller: &Caller, id: Uuid) -> Result<(Uuid, Message)> {
        let unknown = || {
            Error::new(
                Code::MessageNotFound,
                format!("there is no message '{id}'; send its text in place of a reference"),
            )
        };
        let at = store::conversation_of(&self.store, id).await?;
        let conversation = self.get(caller, at.ok_or_else(unknown)?).await;
        let conversation = conversation.map_err(|_| unknown())?;
        Ok((conversation.id, self.message(&conversation, id).await?))
    }

    async fn owned(&self, caller: &Caller, id: Uuid) -> Result<Conversation> {
        let found = self.get(caller, id).await?;
        require_owner(caller, &found.key_id)?;
        Ok(found)
    }

    /// Refuses to remove or stop what another key made. If that key is invalid, admins may do so in its place.
    ///
    /// # Errors
    /// `forbidden`
    pub async fn require_owner_or_heir(&self, caller: &Caller, key_id: &str) -> Result<()> {
        let owned = require_owner(caller, key_id);
        if owned.is_ok() || caller.role < Role::Admin {
            return owned;
        }
        match self.key_is_invalid(key_id).await? {
            false => owned,
            true => Ok(()),
        }
    }

    /// Whether a key is revoked, expired or deleted.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn key_is_invalid(&self, key_id: &str) -> Result<bool> {
        let invalid = keys::invalid(&self.store, vec![key_id.to_owned()]).await?;
        Ok(!invalid.is_empty())
    }

    /// Whether the key of a caller is invalid by now, or was rotated since the call.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn key_has_ended(&self, caller: &Caller) -> Result<bool> {
        let ended = keys::ended(&self.store, vec![caller.used_key()]).await?;
        Ok(!ended.is_empty())
    }

    /// Deletes a conversation with all its messages.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn delete(&self, conversation: &Conversation) -> Result<()> {
        store::delete(&self.store, conversation.id).await
    }

    /// Deletes a batch of the conversations without a message since then. False when there was none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn delete_inactive(&self, since: Timestamp) -> Result<bool> {
        let quiet = store::inactive(&self.store, since).await?;
        for id in &quiet {
            store::delete(&self.store, *id).await?;
        }
        Ok(!quiet.is_empty())
    }

    /// A page of the messages of a conversation, and whether there are more.
    ///
    /// # Errors
    /// `message_not_found` when `after` is none of its messages.
    pub async fn list(
        &self,
        conversation: &Conversation,
        window: Window,
    ) -> Result<(Vec<Message>, bool)> {
        let after = match window.after {
            None => None,
            Some(id) => Some(
                store::position(&self.store, conversation.id, id)
                    .await?
                    .ok_or_else(|| no_message(id).param("after"))?,
            ),
        };
        let mut messages = store::list(
            &self.store,
            conversation.id,
            after,
            window.limit + 1,
            window.descending,
        )
        .await?;
        let more = messages.len() > window.limit as usize;
        messages.truncate(window.limit as usize);
        Ok((messages, more))
    }

    /// The instructions in a conversation, which are its messages of the roles system and developer, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn instructions(&self, conversation: &Conversation) -> Result<Vec<Message>> {
        store::instructions(&self.store, conversation.id).await
    }

    /// The answer of a response, if it is stored.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn answer_of(&self, response: Uuid) -> Result<Option<Message>> {
        store::answer_of(&self.store, response).await
    }

    /// One message.
    ///
    /// # Errors
    /// `message_not_found`.
    pub async fn message(&self, conversation: &Conversation, id: Uuid) -> Result<Message> {
        store::message(&self.store, conversation.id, id)
            .await?
            .ok_or_else(|| no_message(id))
    }
}

/// The size of messages, counted for the key of their conversation.
pub fn bytes_of(messages: &[Message]) -> usize {
    messages.iter().map(Message::bytes).sum()
}

/// Refuses to change what another key made: admins may read it, and remove it once that key is invalid.
///
/// # Errors
/// `forbidden`
pub fn require_owner(caller: &Caller, key_id: &str) -> Result<()> {
    match *caller.key_id == *key_id {
        true => Ok(()),
        false => Err(Error::new(
            Code::Forbidden,
            "this belongs to another key, which alone may go on with it or change it; rotating that key hands it on",
        )),
    }
}

/// `conversation_of_another_mind`, for the parameter that named it; `name` is the Mind that it belongs to.
pub fn of_another_mind(name: &str, param: &'static str) -> Error {
    Error::new(
        Code::ConversationOfAnotherMind,
        format!(
            "this conversation belongs to the Mind '{name}'; ask that one, or leave `{param}` out"
        ),
    )
    .param(param)
}

fn not_found(id: Uuid) -> Error {
    Error::new(
        Code::ConversationNotFound,
        format!("there is no conversation '{id}'; leave `conversation` out to begin a new one"),
    )
    .param("conversation")
}

fn no_message(id: Uuid) -> Error {
    Error::new(
        Code::MessageNotFound,
        format!("this conversation has no message '{id}'; list its items to see those there are"),
    )
}

/// Messages that no response wrote or answers.
fn of_no_response(messages: &[Message]) -> impl Iterator<Item = (&Message, Option<Uuid>)> {
    messages.iter().map(|message| (message, None))
}

/// Messages of a request with the response that they belong to: the last of the user is its question. What a client
/// sends along, such as answers of before, belongs to none.
pub fn with_question_of(
    response: Uuid,
    messages: &[Message],
) -> impl Iterator<Item = (&Message, Option<Uuid>)> {
    let is_of_user = |message: &Message| message.author == Author::User;
    let question = messages.iter().rposition(is_of_user);
    let numbered = messages.iter().enumerate();
    numbered.map(move |(index, message)| (message, (question == Some(index)).then_some(response)))
}

pub use store::{NewMessage, append, bind_to_mind, insert, insert_messages, set_response};
