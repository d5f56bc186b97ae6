//! The queries of conversations and messages.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sqlx::{
    Any, AssertSqlSafe, Row,
    any::{AnyArguments, AnyRow},
    query::Query,
};
use uuid::Uuid;

use super::{
    Author, Conversation, Message, SqlOrigin, StoredSql, Window, not_found, of_another_mind,
};
use mindhost_base::error::{Error, Result};
use mindhost_core::auth::{Caller, Role};
use mindhost_store as store;
use mindhost_store::{Store, Tx, groups, rows_of_placeholders};

/// The Mind has the name that it has now; the stored one is for a Mind that is gone.
const COLUMNS: &str = "id, workspace_id, key_id, mind_id, \
     COALESCE((SELECT m.name FROM minds m WHERE m.id = conversations.mind_id), mind_name) AS mind_name, \
     metadata, created_at";

const MESSAGE_COLUMNS: &str = "id, role, status, content, sql, sql_origin, read_from, response_id, \
     created_at";

/// Adds new conversations; their ids must not exist.
pub async fn insert(tx: &mut Tx, conversations: &[&Conversation]) -> Result<()> {
    for group in groups(conversations) {
        let sql = format!(
            "INSERT INTO conversations (id, workspace_id, key_id, mind_id, mind_name, metadata, created_at) VALUES {}",
            rows_of_placeholders(group.len(), 7)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for conversation in group {
            query = query
                .bind(conversation.id.to_string())
                .bind(&conversation.workspace_id)
                .bind(&conversation.key_id)
                .bind(&conversation.mind_id)
                .bind(&conversation.mind_name)
                .bind(store::to_json(&conversation.metadata)?)
                .bind(conversation.created_at.as_microsecond());
        }
        query.execute(&mut **tx).await?;
    }
    Ok(())
}

/// A message with its position in its conversation.
#[derive(Clone, Copy, Debug)]
pub struct NewMessage<'a> {
    /// The one that the message is added to.
    pub conversation: &'a Conversation,
    /// Id of the response that wrote or answers it.
    pub response: Option<Uuid>,
    /// From 1.
    pub position: i64,
    /// What is added, with its statement if it has one.
    pub message: &'a Message,
}

/// Adds messages at their positions.
pub async fn insert_messages(tx: &mut Tx, said: &[NewMessage<'_>]) -> Result<()> {
    for group in groups(said) {
        let sql = format!(
            "INSERT INTO messages (id, workspace_id, conversation_id, response_id, kind, role, status, content, sql, \
             sql_origin, read_from, created_at, position) VALUES {}",
            rows_of_placeholders(group.len(), 13)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for one in group {
            query = bind(query, one.conversation, one.response, one.message).bind(one.position);
        }
        query.execute(&mut **tx).await?;
    }
    Ok(())
}

fn bind<'q>(
    query: Query<'q, Any, AnyArguments>,
    conversation: &'q Conversation,
    response: Option<Uuid>,
    message: &'q Message,
) -> Query<'q, Any, AnyArguments> {
    query
        .bind(message.id.to_string())
        .bind(&conversation.workspace_id)
        .bind(conversation.id.to_string())
        .bind(response.map(|id| id.to_string()))
        .bind("message")
        .bind(message.author.as_str())
        .bind(&message.status)
        .bind(content(message))
        .bind(message.sql.as_ref().map(|sql| sql.text.as_str()))
        .bind(message.sql.as_ref().map(|sql| sql.origin.as_str()))
        .bind(read_from(message))
        .bind(message.created_at.as_microsecond())
}

/// The stored form of the text of a message.
pub(super) fn content(message: &Message) -> String {
    json!([{"type": "text", "text": message.text}]).to_string()
}

/// The stored form of where a message was read.
pub(super) fn read_from(message: &Message) -> Option<String> {
    let read_from = message.read_from.as_ref()?;
    Some(json!(read_from).to_string())
}

/// Locks a conversation until the end of the transaction, and binds it to this Mind if it has none.
///
/// # Errors
/// When it has another Mind, or was deleted.
pub async fn bind_to_mind(tx: &mut Tx, id: Uuid, mind_id: &str, mind_name: &str) -> Result<()> {
    let done = sqlx::query(
        "UPDATE conversations SET mind_id = $2, mind_name = $3
         WHERE id = $1 AND (mind_id IS NULL OR mind_id = $2)",
    )
    .bind(id.to_string())
    .bind(mind_id)
    .bind(mind_name)
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() > 0 {
        return Ok(());
    }
    let sql = format!("SELECT {COLUMNS} FROM conversations WHERE id = $1");
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(id.to_string())
        .fetch_optional(&mut **tx)
        .await?
        .ok_or_else(|| not_found(id))?;
    let bound: Option<String> = row.try_get("mind_name")?;
    let name = bound.as_deref().unwrap_or_default();
    Err(of_another_mind(name, "conversation"))
}

/// Locks a conversation until the end of the transaction. False when it does not exist.
pub async fn lock(tx: &mut Tx, id: Uuid) -> Result<bool> {
    let done = sqlx::query("UPDATE conversations SET key_id = key_id WHERE id = $1")
        .bind(id.to_string())
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// Adds messages behind the last one, each with the response that it belongs to. The conversation must be new in this
/// transaction, bound or locked by it.
pub async fn append<'a>(
    tx: &mut Tx,
    conversation: &Conversation,
    messages: impl IntoIterator<Item = (&'a Message, Option<Uuid>)>,
) -> Result<()> {
    let last: i64 = sqlx::query_scalar(
        "SELECT CAST(COALESCE(MAX(position), 0) AS BIGINT) FROM messages WHERE conversation_id = $1",
    )
    .bind(conversation.id.to_string())
    .fetch_one(&mut **tx)
    .await?;
    let said: Vec<_> = (last + 1..)
        .zip(messages)
        .map(|(position, (message, response))| NewMessage {
            conversation,
            response,
            position,
            message,
        })
        .collect();
    insert_messages(tx, &said).await
}

/// Says which response answers a question.
pub async fn set_response(tx: &mut Tx, question: Uuid, response: Uuid) -> Result<()> {
    sqlx::query("UPDATE messages SET response_id = $2 WHERE id = $1 AND role = 'user'")
        .bind(question.to_string())
        .bind(response.to_string())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Conversations that the caller may read, ordered by id; one more than the limit, if there is one. With `search`, only
/// those with this text in a question, an answer, a statement or their metadata.
pub async fn all(
    store: &Store,
    caller: &Caller,
    search: Option<&str>,
    window: Window,
) -> Result<Vec<Conversation>> {
    let mut values = vec![caller.workspace.to_string()];
    let mut bind = |value: String| {
        values.push(value);
        format!("${}", values.len())
    };
    let mut rules = vec!["workspace_id = $1".to_owned()];
    if caller.role < Role::Admin {
        rules.push(format!("key_id = {}", bind(caller.key_id.to_string())));
    }
    // As in `Caller::may_read`: a conversation without a Mind may get any Mind, so only its own key sees it.
    if let Some(minds) = &caller.minds {
        let own = bind(caller.key_id.to_string());
        let minds: Vec<String> = minds.iter().map(|id| bind(id.clone())).collect();
        let seen = match minds.is_empty() {
            true => String::new(),
            false => format!(" OR mind_id IN ({})", minds.join(", ")),
        };
        rules.push(format!("((mind_id IS NULL AND key_id = {own}){seen})"));
    }
    let (sign, order) = match window.descending {
        true => ("<", "DESC"),
        false => (">", "ASC"),
    };
    if let Some(after) = window.after {
        rules.push(format!("id {sign} {}", bind(after.to_string())));
    }
    if let Some(search) = search {
        let text = text_of_message();
        let (plain, json) = (bind(pattern(search)), bind(pattern(&escaped(search)?)));
        rules.push(format!(
            "(LOWER(metadata) LIKE LOWER({json}) ESCAPE '!' OR EXISTS (SELECT 1 FROM messages m \
             WHERE m.conversation_id = conversations.id AND (LOWER({text}) LIKE LOWER({json}) ESCAPE '!' \
             OR LOWER(m.sql) LIKE LOWER({plain}) ESCAPE '!')))"
        ));
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM conversations WHERE {} ORDER BY id {order} LIMIT {}",
        rules.join(" AND "),
        u64::from(window.limit) + 1,
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for value in values {
        query = query.bind(value);
    }
    let rows = query.fetch_all(store.pool()).await?;
    rows.iter().map(conversation_of_row).collect()
}

/// The text of a message `m` in SQL, escaped as in JSON: what is between the constant ends of [`content`]. So a search for
/// `text` does not find every message.
fn text_of_message() -> String {
    let empty = content(&Message::new(Author::User, ""));
    let before = empty.find("\"\"").map_or(0, |at| at + 1);
    let around = empty.len();
    format!("SUBSTR(m.content, {before} + 1, LENGTH(m.content) - {around})")
}

/// A text as it is inside of a JSON text.
fn escaped(text: &str) -> Result<String> {
    let quoted = store::to_json(&text)?;
    Ok(quoted[1..quoted.len() - 1].to_owned())
}

/// The pattern of `LIKE` for texts that contain this one.
fn pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// Replaces the metadata of a conversation.
pub async fn set_metadata(
    store: &Store,
    conversation: &Conversation,
    metadata: &Map<String, Value>,
) -> Result<()> {
    let mut tx = store.begin_records().await?;
    if !lock(&mut tx, conversation.id).await? {
        return Err(not_found(conversation.id));
    }
    let id = conversation.id.to_string();
    let sql = "SELECT CAST(octet_length(metadata) AS BIGINT) FROM conversations WHERE id = $1";
    let before: i64 = sqlx::query_scalar(sql)
        .bind(&id)
        .fetch_one(&mut *tx)
        .await?;
    let text = store::to_json(metadata)?;
    let more = i64::try_from(text.len()).unwrap_or(i64::MAX) - before;
    sqlx::query("UPDATE conversations SET metadata = $2 WHERE id = $1")
        .bind(&id)
        .bind(text)
        .execute(&mut *tx)
        .await?;
    match usize::try_from(more) {
        Ok(more) => store.add_stored(&mut tx, &conversation.added(more)).await?,
        Err(_) => store::count(
            &mut tx,
            &conversation.workspace_id,
            &conversation.key_id,
            more,
        )
        .await
        .map(drop)?,
    }
    Ok(tx.commit().await?)
}

/// The size of a message in SQL, as in [`Message::bytes`].
const MESSAGE_BYTES: &str = "CAST(octet_length(content) + COALESCE(octet_length(sql), 0) \
     + COALESCE(octet_length(read_from), 0) + 256 AS BIGINT)";

/// Removes a message. False when the conversation has none of that id.
pub async fn remove(store: &Store, conversation: &Conversation, id: Uuid) -> Result<bool> {
    let mut tx = store.begin_records().await?;
    let sql = format!(
        "DELETE FROM messages WHERE conversation_id = $1 AND id = $2 RETURNING {MESSAGE_BYTES}"
    );
    let removed: Option<i64> = sqlx::query_scalar(AssertSqlSafe(sql))
        .bind(conversation.id.to_string())
        .bind(id.to_string())
        .fetch_optional(&mut *tx)
        .await?;
    let Some(bytes) = removed else {
        return Ok(false);
    };
    store::count(
        &mut tx,
        &conversation.workspace_id,
        &conversation.key_id,
        -bytes,
    )
    .await?;
    tx.commit().await?;
    Ok(true)
}

/// Id of the conversation that a message is in, without a check of its owner. `None` if there is no such message.
pub async fn conversation_of(store: &Store, message: Uuid) -> Result<Option<Uuid>> {
    let row = sqlx::query("SELECT conversation_id FROM messages WHERE id = $1")
        .bind(message.to_string())
        .fetch_optional(store.pool())
        .await?;
    row.map(|row| uuid_of(&row, "conversation_id")).transpose()
}

/// One conversation, without a check of its owner.
pub async fn find(store: &Store, id: Uuid) -> Result<Option<Conversation>> {
    let sql = format!("SELECT {COLUMNS} FROM conversations WHERE id = $1");
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(id.to_string())
        .fetch_optional(store.pool())
        .await?;
    row.as_ref().map(conversation_of_row).transpose()
}

fn conversation_of_row(row: &AnyRow) -> Result<Conversation> {
    Ok(Conversation {
        id: uuid_of(row, "id")?,
        workspace_id: row.try_get("workspace_id")?,
        key_id: row.try_get("key_id")?,
        mind_id: row.try_get("mind_id")?,
        mind_name: row.try_get("mind_name")?,
        metadata: store::json(row.try_get("metadata")?)?,
        created_at: store::timestamp(row.try_get("created_at")?),
    })
}

fn uuid_of(row: &AnyRow, column: &str) -> Result<Uuid> {
    let text: String = row.try_get(column)?;
    text.parse().map_err(Error::internal)
}

/// Deletes a conversation and its messages; its responses stay without it.
pub async fn delete(store: &Store, id: Uuid) -> Result<()> {
    let mut tx = store.begin_records().await?;
    if !lock(&mut tx, id).await? {
        return Ok(());
    }
    let sql = format!(
        "SELECT workspace_id, key_id, CAST(octet_length(metadata) + 256 + COALESCE((SELECT SUM({MESSAGE_BYTES}) \
         FROM messages WHERE conversation_id = $1), 0) AS BIGINT) AS bytes FROM conversations WHERE id = $1"
    );
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(id.to_string())
        .fetch_one(&mut *tx)
        .await?;
    let (workspace, key): (String, String) = (row.try_get(0)?, row.try_get(1)?);
    store::count(&mut tx, &workspace, &key, -row.try_get::<i64, _>(2)?).await?;
    for statement in [
        "UPDATE responses SET conversation_id = NULL WHERE conversation_id = $1",
        "DELETE FROM messages WHERE conversation_id = $1",
        "DELETE FROM conversations WHERE id = $1",
    ] {
        sqlx::query(statement)
            .bind(id.to_string())
            .execute(&mut *tx)
            .await?;
    }
    Ok(tx.commit().await?)
}

/// Conversations that one sweep deletes at a time.
const INACTIVE_BATCH: u32 = 100;

/// A batch of conversations without a message since then and without a running answer.
pub async fn inactive(store: &Store, since: Timestamp) -> Result<Vec<Uuid>> {
    let sql = format!(
        "SELECT id FROM conversations c WHERE id < $1 AND created_at < $2
         AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = c.id AND m.created_at >= $2)
         AND NOT EXISTS (SELECT 1 FROM responses r WHERE r.conversation_id = c.id AND r.completed_at IS NULL)
         ORDER BY id LIMIT {INACTIVE_BATCH}"
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(store::first_id_of(since))
        .bind(since.as_microsecond())
        .fetch_all(store.pool())
        .await?;
    rows.iter().map(|row| uuid_of(row, "id")).collect()
}

/// The position of a message in its conversation.
pub async fn position(store: &Store, conversation: Uuid, message: Uuid) -> Result<Option<i64>> {
    let row = sqlx::query("SELECT position FROM messages WHERE conversation_id = $1 AND id = $2")
        .bind(conversation.to_string())
        .bind(message.to_string())
        .fetch_optional(store.pool())
        .await?;
    Ok(row.map(|row| row.try_get("position")).transpose()?)
}

/// Messages in order, after a position.
pub async fn list(
    store: &Store,
    conversation: Uuid,
    after: Option<i64>,
    limit: u32,
    descending: bool,
) -> Result<Vec<Message>> {
    let query = if descending {
        format!(
            "SELECT {MESSAGE_COLUMNS} FROM messages WHERE conversation_id = $1 AND position < $2 ORDER BY position DESC LIMIT $3"
        )
    } else {
        format!(
            "SELECT {MESSAGE_COLUMNS} FROM messages WHERE conversation_id = $1 AND position > $2 ORDER BY position LIMIT $3"
        )
    };
    let from = after.unwrap_or(if descending { i64::MAX } else { 0 });
    let rows = sqlx::query(AssertSqlSafe(query))
        .bind(conversation.to_string())
        .bind(from)
        .bind(i64::from(limit))
        .fetch_all(store.pool())
        .await?;
    rows.iter().map(message_of).collect()
}

/// Instructions of one conversation that are read.
const MAX_INSTRUCTIONS: u32 = 100;

/// The newest messages of the roles system and developer, in order.
pub async fn instructions(store: &Store, conversation: Uuid) -> Result<Vec<Message>> {
    let query = format!(
        "SELECT {MESSAGE_COLUMNS} FROM messages WHERE conversation_id = $1 AND role IN ('system', 'developer') \
         ORDER BY position DESC LIMIT {MAX_INSTRUCTIONS}"
    );
    let rows = sqlx::query(AssertSqlSafe(query))
        .bind(conversation.to_string())
        .fetch_all(store.pool())
        .await?;
    rows.iter().rev().map(message_of).collect()
}

/// `None` if the message does not exist or is in another conversation.
pub async fn message(store: &Store, conversation: Uuid, id: Uuid) -> Result<Option<Message>> {
    let query =
        format!("SELECT {MESSAGE_COLUMNS} FROM messages WHERE conversation_id = $1 AND id = $2");
    let row = sqlx::query(AssertSqlSafe(query))
        .bind(conversation.to_string())
        .bind(id.to_string())
        .fetch_optional(store.pool())
        .await?;
    row.as_ref().map(message_of).transpose()
}

/// The message of the assistant of a response: the last, as earlier versions gave the response to those before its
/// question too.
pub async fn answer_of(store: &Store, response: Uuid) -> Result<Option<Message>> {
    let query = format!(
        "SELECT {MESSAGE_COLUMNS} FROM messages WHERE response_id = $1 AND role = 'assistant' \
         ORDER BY position DESC LIMIT 1"
    );
    let row = sqlx::query(AssertSqlSafe(query))
        .bind(response.to_string())
        .fetch_optional(store.pool())
        .await?;
    row.as_ref().map(message_of).transpose()
}

fn message_of(row: &AnyRow) -> Result<Message> {
    let content: Vec<TextPart> = store::json(row.try_get("content")?)?;
    let sql: Option<String> = row.try_get("sql")?;
    let origin: Option<String> = row.try_get("sql_origin")?;
    let read_from: Option<String> = row.try_get("read_from")?;
    Ok(Message {
        id: uuid_of(row, "id")?,
        author: Author::parse(row.try_get("role")?),
        status: row.try_get("status")?,
        text: content.into_iter().map(|part| part.text).collect(),
        sql: sql.map(|text| StoredSql {
            text,
            origin: SqlOrigin::parse(origin.as_deref()),
        }),
        read_from: read_from.map(|text| store::json(&text)).transpose()?,
        response_id: row
            .try_get::<Option<String>, _>("response_id")?
            .map(|id| id.parse().map_err(Error::internal))
            .transpose()?,
        created_at: store::timestamp(row.try_get("created_at")?),
    })
}

#[derive(serde::Deserialize)]
struct TextPart {
    text: String,
}
