//! The queries of conversations and messages.

use serde_json::json;
use sqlx::{Row, any::AnyRow};
use uuid::Uuid;

use super::{Author, Conversation, Message, SqlOrigin, StoredSql, not_found, of_another_mind};
use crate::{
    error::{Error, Result},
    store::{self, Store, Tx},
};

const MESSAGE_COLUMNS: &str = "id, role, status, content, sql, sql_origin, created_at";

/// Adds a conversation.
pub async fn insert(tx: &mut Tx, conversation: &Conversation) -> Result<()> {
    sqlx::query(
        "INSERT INTO conversations (id, workspace_id, key_id, mind_id, mind_name, metadata, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(conversation.id.to_string())
    .bind(&conversation.workspace_id)
    .bind(&conversation.key_id)
    .bind(&conversation.mind_id)
    .bind(&conversation.mind_name)
    .bind(store::to_json(&conversation.metadata)?)
    .bind(conversation.created_at.as_microsecond())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Takes the row of a conversation until the end of the transaction, and gives it this Mind if it has none yet.
///
/// # Errors
/// When it has another Mind, or was deleted.
pub async fn bind_to_mind(tx: &mut Tx, id: Uuid, mind_id: &str, mind_name: &str) -> Result<()> {
    let done = sqlx::query(
        "UPDATE conversations SET mind_id = $2, mind_name = COALESCE(mind_name, $3)
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
    let row = sqlx::query("SELECT mind_name FROM conversations WHERE id = $1")
        .bind(id.to_string())
        .fetch_optional(&mut **tx)
        .await?
        .ok_or_else(|| not_found(id))?;
    let bound: Option<String> = row.try_get("mind_name")?;
    Err(of_another_mind(bound.as_deref().unwrap_or_default()))
}

/// Takes the row of a conversation until the end of the transaction, so that nobody else writes to it meanwhile.
async fn lock(tx: &mut Tx, id: Uuid) -> Result<bool> {
    let done = sqlx::query("UPDATE conversations SET key_id = key_id WHERE id = $1")
        .bind(id.to_string())
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// Adds messages behind those that are there.
pub async fn append(
    tx: &mut Tx,
    conversation: &Conversation,
    response: Option<Uuid>,
    messages: &[Message],
) -> Result<()> {
    for message in messages {
        sqlx::query(
            "INSERT INTO messages
                (id, workspace_id, conversation_id, response_id, position, kind, role, status, content, sql, sql_origin, created_at)
             SELECT $1, $2, $3, $4, COALESCE(MAX(position), 0) + 1, 'message', $5, $6, $7, $8, $9, $10
             FROM messages WHERE conversation_id = $11",
        )
        .bind(message.id.to_string())
        .bind(&conversation.workspace_id)
        .bind(conversation.id.to_string())
        .bind(response.map(|id| id.to_string()))
        .bind(message.author.as_str())
        .bind(&message.status)
        .bind(json!([{"type": "text", "text": message.text}]).to_string())
        .bind(message.sql.as_ref().map(|sql| sql.text.as_str()))
        .bind(message.sql.as_ref().map(|sql| sql.origin.as_str()))
        .bind(message.created_at.as_microsecond())
        .bind(conversation.id.to_string())
        .execute(&mut **tx)
        .await?;
    }
    Ok(())
}

/// One conversation, whoever's it is.
pub async fn find(store: &Store, id: Uuid) -> Result<Option<Conversation>> {
    let row = sqlx::query(
        "SELECT id, workspace_id, key_id, mind_id, mind_name, metadata, created_at FROM conversations WHERE id = $1",
    )
    .bind(id.to_string())
    .fetch_optional(store.pool())
    .await?;
    row.map(|row| {
        Ok(Conversation {
            id,
            workspace_id: row.try_get("workspace_id")?,
            key_id: row.try_get("key_id")?,
            mind_id: row.try_get("mind_id")?,
            mind_name: row.try_get("mind_name")?,
            metadata: store::json(row.try_get("metadata")?)?,
            created_at: store::timestamp(row.try_get("created_at")?),
        })
    })
    .transpose()
}

/// Removes a conversation and its messages; its responses stay as a record without it.
pub async fn delete(store: &Store, id: Uuid) -> Result<()> {
    let mut tx = store.begin().await?;
    lock(&mut tx, id).await?;
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

/// Where a message stands in its conversation.
pub async fn position(store: &Store, conversation: Uuid, message: Uuid) -> Result<Option<i64>> {
    let row = sqlx::query("SELECT position FROM messages WHERE conversation_id = $1 AND id = $2")
        .bind(conversation.to_string())
        .bind(message.to_string())
        .fetch_optional(store.pool())
        .await?;
    Ok(row.map(|row| row.try_get("position")).transpose()?)
}

/// Messages in order, behind a position.
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
    let rows = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(conversation.to_string())
        .bind(from)
        .bind(i64::from(limit))
        .fetch_all(store.pool())
        .await?;
    rows.iter().map(message_of).collect()
}

/// One message of a conversation.
pub async fn message(store: &Store, conversation: Uuid, id: Uuid) -> Result<Option<Message>> {
    let query =
        format!("SELECT {MESSAGE_COLUMNS} FROM messages WHERE conversation_id = $1 AND id = $2");
    let row = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(conversation.to_string())
        .bind(id.to_string())
        .fetch_optional(store.pool())
        .await?;
    row.as_ref().map(message_of).transpose()
}

/// The message of the assistant that a response added.
pub async fn answer_of(store: &Store, response: Uuid) -> Result<Option<Message>> {
    let query = format!(
        "SELECT {MESSAGE_COLUMNS} FROM messages WHERE response_id = $1 AND role = 'assistant'"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(response.to_string())
        .fetch_optional(store.pool())
        .await?;
    row.as_ref().map(message_of).transpose()
}

fn message_of(row: &AnyRow) -> Result<Message> {
    let id: String = row.try_get("id")?;
    let content: Vec<TextPart> = store::json(row.try_get("content")?)?;
    let sql: Option<String> = row.try_get("sql")?;
    let origin: Option<String> = row.try_get("sql_origin")?;
    Ok(Message {
        id: id.parse().map_err(Error::internal)?,
        author: Author::parse(row.try_get("role")?),
        status: row.try_get("status")?,
        text: content.into_iter().map(|part| part.text).collect(),
        sql: sql.map(|text| StoredSql {
            text,
            origin: SqlOrigin::parse(origin.as_deref()),
        }),
        created_at: store::timestamp(row.try_get("created_at")?),
    })
}

#[derive(serde::Deserialize)]
struct TextPart {
    text: String,
}
