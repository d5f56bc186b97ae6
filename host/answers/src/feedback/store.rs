//! The queries of feedback.

use std::collections::HashMap;

use serde::Deserialize;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{Feedback, NewFeedback, Rated, Rating};
use crate::answering::{feedback_bytes, record::ResponseRecord};
use mindhost_base::error::{Error, Result};
use mindhost_store::{
    AnyRow, CHUNK, Row, Store, StoredBytes, is_referenced, json, new_id, now, placeholders,
    timestamp,
};

/// Feedback with the statement of its answer and the question before that.
const SELECT: &str = "SELECT f.id, f.response_id, f.key_id, f.rating, f.comment, f.corrected_sql, f.knowledge_id, \
     f.created_at, f.updated_at, a.sql, (SELECT q.content FROM messages q WHERE q.conversation_id = a.conversation_id \
     AND q.role = 'user' AND q.position < a.position ORDER BY q.position DESC LIMIT 1) AS question \
     FROM feedback f LEFT JOIN messages a ON a.id = (SELECT m.id FROM messages m WHERE m.response_id = f.response_id \
     AND m.role = 'assistant' ORDER BY m.position DESC LIMIT 1) \
     WHERE f.mind_id = $1";

/// Adds feedback, or replaces what the key said before. Counts its bytes. Returns its id.
pub(super) async fn put(
    store: &Store,
    record: &ResponseRecord,
    new: &NewFeedback,
) -> Result<String> {
    let mut tx = store.begin_records().await?;
    let response = record.id.to_string();
    let before = feedback_bytes(&mut tx, &response).await?;
    let id: String = sqlx::query_scalar(
        "INSERT INTO feedback (id, workspace_id, mind_id, response_id, key_id, rating, comment, corrected_sql, \
         created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) ON CONFLICT (response_id, key_id) \
         DO UPDATE SET rating = excluded.rating, comment = excluded.comment, corrected_sql = excluded.corrected_sql, \
         updated_at = excluded.updated_at RETURNING id",
    )
    .bind(new_id())
    .bind(&record.workspace_id)
    .bind(&record.mind_id)
    .bind(&response)
    .bind(&record.key_id)
    .bind(new.rating.as_str())
    .bind(&new.comment)
    .bind(&new.corrected_sql)
    .bind(now())
    .fetch_one(&mut *tx)
    .await
    .map_err(|error| match is_referenced(&error) {
        true => super::no_response(record.id),
        false => Error::from(error),
    })?;
    let (workspace, key) = (&record.workspace_id, &record.key_id);
    mindhost_store::count(&mut tx, workspace, key, -before).await?;
    let added = StoredBytes::of(workspace, key, new.bytes());
    store.add_stored(&mut tx, &added).await?;
    tx.commit().await?;
    Ok(id)
}

pub(super) async fn page(
    store: &Store,
    mind: &str,
    after: Option<Uuid>,
    limit: u32,
) -> Result<Vec<Feedback>> {
    let sql = format!("{SELECT} AND f.id > $2 ORDER BY f.id LIMIT $3");
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(mind.to_owned())
        .bind(after.map(|id| id.to_string()).unwrap_or_default())
        .bind(i64::from(limit) + 1)
        .fetch_all(store.pool())
        .await?;
    rows.iter().map(feedback).collect()
}

pub(super) async fn find(store: &Store, mind: &str, id: &str) -> Result<Option<Feedback>> {
    let row = sqlx::query(AssertSqlSafe(format!("{SELECT} AND f.id = $2")))
        .bind(mind.to_owned())
        .bind(id.to_owned())
        .fetch_optional(store.pool())
        .await?;
    row.as_ref().map(feedback).transpose()
}

/// How these responses were rated.
pub(super) async fn ratings(store: &Store, ids: &[Uuid]) -> Result<HashMap<Uuid, Rated>> {
    let mut found = HashMap::new();
    for ids in ids.chunks(CHUNK) {
        let sql = format!(
            "SELECT response_id, rating, comment, corrected_sql FROM feedback WHERE response_id IN ({})",
            placeholders(1, ids.len())
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for id in ids {
            query = query.bind(id.to_string());
        }
        for row in query.fetch_all(store.pool()).await? {
            let rated = Rated {
                rating: Rating::parse(&row.try_get::<String, _>("rating")?),
                comment: row.try_get("comment")?,
                corrected_sql: row.try_get("corrected_sql")?,
            };
            found.insert(uuid(&row, "response_id")?, rated);
        }
    }
    Ok(found)
}

/// Notes the verified query that was made of feedback.
pub(super) async fn promoted(store: &Store, id: &str, knowledge: &str) -> Result<()> {
    let update = sqlx::query("UPDATE feedback SET knowledge_id = $2 WHERE id = $1");
    store.record(update.bind(id).bind(knowledge)).await?;
    Ok(())
}

#[derive(Deserialize)]
struct TextPart {
    text: String,
}

fn feedback(row: &AnyRow) -> Result<Feedback> {
    let question: Option<String> = row.try_get("question")?;
    let parts: Option<Vec<TextPart>> = question.map(|content| json(&content)).transpose()?;
    let text = |parts: Vec<TextPart>| parts.into_iter().map(|part| part.text).collect();
    Ok(Feedback {
        id: uuid(row, "id")?,
        response_id: uuid(row, "response_id")?,
        key_id: row.try_get("key_id")?,
        rating: Rating::parse(&row.try_get::<String, _>("rating")?),
        comment: row.try_get("comment")?,
        corrected_sql: row.try_get("corrected_sql")?,
        question: parts.map(text),
        sql: row.try_get("sql")?,
        knowledge_id: row.try_get("knowledge_id")?,
        created_at: timestamp(row.try_get("created_at")?),
        updated_at: timestamp(row.try_get("updated_at")?),
    })
}

fn uuid(row: &AnyRow, column: &str) -> Result<Uuid> {
    let text: String = row.try_get(column)?;
    text.parse().map_err(Error::internal)
}
