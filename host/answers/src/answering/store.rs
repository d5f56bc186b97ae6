//! The queries of responses.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use jiff::Timestamp;
use serde_json::value::RawValue;
use sqlx::{
    Any, AssertSqlSafe, Row,
    any::{AnyArguments, AnyRow},
    query::Query,
};
use uuid::Uuid;

use super::{
    details::{AnswerDetails, StoredError, StoredFacts},
    record::{EarlyEnd, Limits, ResponseRecord, ResponseStatus, Settings},
    step::Step,
};
use crate::jobs::Job;
use mindhost_base::error::{Error, Result};
use mindhost_store as store;
use mindhost_store::{CHUNK, ROW_BYTES, Store, Tx, groups, placeholders, rows_of_placeholders};

/// The size of a response in SQL, as in [`bytes_of`].
const BYTES: &str = "CAST(octet_length(output) + octet_length(metadata) + COALESCE(octet_length(instructions), 0) \
     + COALESCE(octet_length(error), 0) + COALESCE(octet_length(steps), 0) + 256 AS BIGINT)";

/// The size of a response, counted for its key.
pub fn bytes_of(record: &ResponseRecord) -> usize {
    let metadata = store::to_json(&record.metadata).map_or(0, |text| text.len());
    let instructions = record.instructions.as_ref().map_or(0, String::len);
    ROW_BYTES + metadata + instructions + bytes_of_end(record)
}

/// The part of the size that is added at its end.
fn bytes_of_end(record: &ResponseRecord) -> usize {
    let output = store::to_json(&record.output).map_or(0, |text| text.len());
    let error = record
        .error
        .as_ref()
        .map_or(0, |error| error.to_string().len());
    output + error + steps_of(record).map_or(0, |steps| steps.map_or(0, |text| text.len()))
}

/// The stored form of the tool calls; none of a statement of the caller.
fn steps_of(record: &ResponseRecord) -> Result<Option<String>> {
    match record.steps.is_empty() {
        true => Ok(None),
        false => {
            let steps: Vec<&Step> = record.steps.iter().map(|step| &**step).collect();
            store::to_json(&steps).map(Some)
        }
    }
}

/// Adds responses, running or finished.
pub async fn insert(tx: &mut Tx, records: &[&ResponseRecord], host_id: &str) -> Result<()> {
    for group in groups(records) {
        let sql = format!(
            "INSERT INTO responses (id, workspace_id, key_id, conversation_id, mind_id, mind_name, status, error, \
             output, usage, metadata, previous_response_id, instructions, background, limits, settings, is_cut, host_id, \
             heartbeat_at, created_at, completed_at, steps) VALUES {}",
            rows_of_placeholders(group.len(), 22)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for record in group {
            query = bind(query, record, host_id)?;
        }
        query.execute(&mut **tx).await?;
    }
    Ok(())
}

fn bind<'q>(
    query: Query<'q, Any, AnyArguments>,
    record: &'q ResponseRecord,
    host_id: &'q str,
) -> Result<Query<'q, Any, AnyArguments>> {
    Ok(query
        .bind(record.id.to_string())
        .bind(&record.workspace_id)
        .bind(&record.key_id)
        .bind(record.conversation_id.map(|id| id.to_string()))
        .bind(&record.mind_id)
        .bind(&record.mind_name)
        .bind(record.status.as_str())
        .bind(record.error.as_ref().map(ToString::to_string))
        .bind(store::to_json(&record.output)?)
        .bind(store::to_json(&record.usage)?)
        .bind(store::to_json(&record.metadata)?)
        .bind(record.previous_response_id.map(|id| id.to_string()))
        .bind(&record.instructions)
        .bind(i64::from(record.background))
        .bind(store::to_json(&record.limits)?)
        .bind(store::to_json(&record.settings)?)
        .bind(EarlyEnd::number(record.ending))
        .bind(host_id)
        .bind(store::now())
        .bind(record.created_at.as_microsecond())
        .bind(record.completed_at.map(|time| time.as_microsecond()))
        .bind(steps_of(record)?))
}

/// Writes the end of a response, and counts its bytes.
pub async fn finish(tx: &mut Tx, record: &ResponseRecord) -> Result<()> {
    sqlx::query(
        "UPDATE responses SET status = $2, error = $3, output = $4, usage = $5, is_cut = $6, completed_at = $7,
                steps = $8
         WHERE id = $1",
    )
    .bind(record.id.to_string())
    .bind(record.status.as_str())
    .bind(record.error.as_ref().map(ToString::to_string))
    .bind(store::to_json(&record.output)?)
    .bind(store::to_json(&record.usage)?)
    .bind(EarlyEnd::number(record.ending))
    .bind(record.completed_at.map(|time| time.as_microsecond()))
    .bind(steps_of(record)?)
    .execute(&mut **tx)
    .await?;
    // The row had an empty list before.
    let more = bytes_of_end(record).saturating_sub("[]".len());
    let more = i64::try_from(more).unwrap_or(i64::MAX);
    store::count(tx, &record.workspace_id, &record.key_id, more).await?;
    Ok(())
}

/// One response, without a check of its owner.
pub async fn find(store: &Store, id: Uuid) -> Result<Option<ResponseRecord>> {
    let row = sqlx::query(
        "SELECT workspace_id, key_id, conversation_id, mind_id, mind_name, status, error, output, usage, metadata,
                previous_response_id, instructions, background, limits, settings, is_cut, created_at, completed_at, steps
         FROM responses WHERE id = $1",
    )
    .bind(id.to_string())
    .fetch_optional(store.pool())
    .await?;
    let Some(row) = row else { return Ok(None) };
    let error: Option<String> = row.try_get("error")?;
    let output: Vec<Box<RawValue>> = store::json(row.try_get("output")?)?;
    let completed_at: Option<i64> = row.try_get("completed_at")?;
    Ok(Some(ResponseRecord {
        id,
        workspace_id: row.try_get("workspace_id")?,
        key_id: row.try_get("key_id")?,
        conversation_id: uuid(row.try_get("conversation_id")?)?,
        mind_id: row.try_get("mind_id")?,
        mind_name: row.try_get("mind_name")?,
        // The row has the status of the start, but the response is in progress.
        status: match ResponseStatus::parse(row.try_get("status")?) {
            ResponseStatus::Created => ResponseStatus::InProgress,
            status => status,
        },
        error: error.map(|text| store::json(&text)).transpose()?,
        output: output.into_iter().map(Arc::from).collect(),
        steps: steps(&row)?,
        usage: store::json(row.try_get("usage")?)?,
        metadata: store::json(row.try_get("metadata")?)?,
        instructions: row.try_get("instructions")?,
        previous_response_id: uuid(row.try_get("previous_response_id")?)?,
        background: row.try_get::<i64, _>("background")? != 0,
        is_stored: true,
        limits: store::json(row.try_get("limits")?)?,
        settings: store::json(row.try_get("settings")?)?,
        ending: EarlyEnd::of_number(row.try_get("is_cut")?),
        created_at: store::timestamp(row.try_get("created_at")?),
        completed_at: completed_at.map(store::timestamp),
    }))
}

/// What is stored of these answers besides their messages.
pub async fn details(store: &Store, ids: &[Uuid]) -> Result<HashMap<Uuid, AnswerDetails>> {
    let mut found = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(CHUNK) {
        let sql = format!(
            "SELECT id, error, output, settings, is_cut, steps FROM responses WHERE id IN ({})",
            placeholders(1, ids.len())
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for id in ids {
            query = query.bind(id.to_string());
        }
        for row in query.fetch_all(store.pool()).await? {
            let id: String = row.try_get("id")?;
            let output: Vec<StoredFacts> = store::json(row.try_get("output")?)?;
            let details = AnswerDetails {
                steps: steps(&row)?,
                error: error_of(&row)?,
                ending: EarlyEnd::of_number(row.try_get("is_cut")?),
                facts: output.into_iter().next().unwrap_or_default(),
            };
            found.insert(id.parse().map_err(Error::internal)?, details);
        }
    }
    Ok(found)
}

fn error_of(row: &AnyRow) -> Result<Option<StoredError>> {
    let Some(error) = row.try_get::<Option<String>, _>("error")? else {
        return Ok(None);
    };
    let settings: Settings = store::json(row.try_get("settings")?)?;
    Ok(Some(StoredError {
        request_id: settings.request_id,
        ..store::json(&error)?
    }))
}

fn steps(row: &AnyRow) -> Result<Vec<Arc<Step>>> {
    let steps: Option<String> = row.try_get("steps")?;
    let steps: Vec<Step> = steps
        .map(|text| store::json(&text))
        .transpose()?
        .unwrap_or_default();
    Ok(steps.into_iter().map(Arc::new).collect())
}

/// Deletes a response; the messages of its conversation stay.
pub async fn delete(store: &Store, id: Uuid) -> Result<()> {
    let mut tx = store.begin_records().await?;
    sqlx::query("UPDATE messages SET response_id = NULL WHERE response_id = $1")
        .bind(id.to_string())
        .execute(&mut *tx)
        .await?;
    // It is deleted with the response.
    let of_feedback = feedback_bytes(&mut tx, &id.to_string()).await?;
    let sql =
        format!("DELETE FROM responses WHERE id = $1 RETURNING workspace_id, key_id, {BYTES}");
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(id.to_string())
        .fetch_optional(&mut *tx)
        .await?;
    if let Some(row) = row {
        let (workspace, key): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let bytes = row.try_get::<i64, _>(2)? + of_feedback;
        store::count(&mut tx, &workspace, &key, -bytes).await?;
    }
    Ok(tx.commit().await?)
}

/// The size of feedback in SQL, as in [`crate::feedback::NewFeedback::bytes`].
const FEEDBACK_BYTES: &str =
    "COALESCE(octet_length(comment), 0) + COALESCE(octet_length(corrected_sql), 0) + 256";

/// Bytes of the feedback of a response, all of which is of the key of the response.
pub async fn feedback_bytes(tx: &mut Tx, response: &str) -> Result<i64> {
    let sql = format!(
        "SELECT CAST(COALESCE(SUM({FEEDBACK_BYTES}), 0) AS BIGINT) FROM feedback WHERE response_id = $1"
    );
    let bytes = sqlx::query_scalar(AssertSqlSafe(sql)).bind(response.to_owned());
    Ok(bytes.fetch_one(&mut **tx).await?)
}

/// Responses that one sweep deletes at a time.
const OLD_AT_ONCE: u32 = 100;

/// A batch of finished responses that were created before a time.
pub async fn older_than(store: &Store, before: Timestamp) -> Result<Vec<Uuid>> {
    let sql = format!(
        "SELECT id FROM responses WHERE id < $1 AND created_at < $2 AND completed_at IS NOT NULL ORDER BY id \
         LIMIT {OLD_AT_ONCE}"
    );
    let ids: Vec<String> = sqlx::query_scalar(AssertSqlSafe(sql))
        .bind(store::first_id_of(before))
        .bind(before.as_microsecond())
        .fetch_all(store.pool())
        .await?;
    Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
}

/// Writes the heartbeat of these responses.
pub async fn heartbeat(store: &Store, ids: &[Uuid]) -> Result<()> {
    let mut tx = store.begin_records().await?;
    for id in ids {
        sqlx::query(
            "UPDATE responses SET heartbeat_at = $2 WHERE id = $1 AND completed_at IS NULL",
        )
        .bind(id.to_string())
        .bind(store::now())
        .execute(&mut *tx)
        .await?;
    }
    Ok(tx.commit().await?)
}

/// Requests the host of a response to stop it.
pub async fn request_stop(store: &Store, id: Uuid) -> Result<()> {
    let mut tx = store.begin_records().await?;
    sqlx::query("UPDATE responses SET stop_asked = 1 WHERE id = $1 AND completed_at IS NULL")
        .bind(id.to_string())
        .execute(&mut *tx)
        .await?;
    Ok(tx.commit().await?)
}

/// Those of these responses with a stop request.
pub async fn stop_requests(store: &Store, ids: &[Uuid]) -> Result<Vec<Uuid>> {
    let mut found = Vec::new();
    for ids in ids.chunks(CHUNK) {
        let sql = format!(
            "SELECT id FROM responses WHERE stop_asked = 1 AND id IN ({})",
            placeholders(1, ids.len())
        );
        let mut query = sqlx::query_scalar::<_, String>(AssertSqlSafe(sql));
        for id in ids {
            query = query.bind(id.to_string());
        }
        let asked = query.fetch_all(store.pool()).await?;
        found.extend(asked.iter().filter_map(|id| id.parse::<Uuid>().ok()));
    }
    Ok(found)
}

/// The running responses of a conversation, on any host.
pub async fn running_in(store: &Store, conversation: Uuid) -> Result<Vec<Uuid>> {
    let ids = sqlx::query_scalar::<_, String>(
        "SELECT id FROM responses WHERE conversation_id = $1 AND completed_at IS NULL",
    )
    .bind(conversation.to_string())
    .fetch_all(store.pool())
    .await?;
    Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
}

/// The running responses of a workspace, on any host.
pub async fn running_of(store: &Store, workspace: &str) -> Result<Vec<Job>> {
    let rows = sqlx::query(
        "SELECT id, key_id, mind_id, mind_name, background, limits, created_at FROM responses
         WHERE workspace_id = $1 AND completed_at IS NULL AND status IN ('created', 'in_progress')",
    )
    .bind(workspace)
    .fetch_all(store.pool())
    .await?;
    let of_row = |row: &AnyRow| {
        let limits: Limits = store::json(row.try_get("limits")?)?;
        Ok(Job {
            id: row
                .try_get::<String, _>("id")?
                .parse()
                .map_err(Error::internal)?,
            kind: limits.job_kind(),
            workspace_id: workspace.to_owned(),
            key_id: row.try_get("key_id")?,
            mind_id: row.try_get("mind_id")?,
            mind_name: row.try_get("mind_name")?,
            text: None,
            background: row.try_get::<i64, _>("background")? != 0,
            started_at: store::timestamp(row.try_get("created_at")?),
            is_here: false,
        })
    };
    rows.iter().map(of_row).collect()
}

/// Marks abandoned responses as failed: those of this host without a heartbeat since `own_before`, and those of other
/// hosts without one since `others_before`. Returns their number.
pub async fn fail_abandoned(
    store: &Store,
    host_id: &str,
    own_before: i64,
    others_before: i64,
    error: &str,
) -> Result<u64> {
    let mut tx = store.begin_records().await?;
    let failed: Vec<(String, String)> = sqlx::query_as(
        "UPDATE responses SET status = 'failed', error = $1, completed_at = $2
         WHERE completed_at IS NULL
           AND ((host_id = $3 AND heartbeat_at < $4) OR (host_id <> $3 AND heartbeat_at < $5))
         RETURNING workspace_id, key_id",
    )
    .bind(error)
    .bind(store::now())
    .bind(host_id)
    .bind(own_before)
    .bind(others_before)
    .fetch_all(&mut *tx)
    .await?;
    let found = failed.len() as u64;
    // Ordered by key, as in every other count, so that transactions cannot deadlock.
    let bytes = i64::try_from(error.len()).unwrap_or(i64::MAX);
    let mut added = BTreeMap::<String, (String, i64)>::new();
    for (workspace, key) in failed {
        added.entry(key).or_insert((workspace, 0)).1 += bytes;
    }
    for (key, (workspace, bytes)) in added {
        store::count(&mut tx, &workspace, &key, bytes).await?;
    }
    tx.commit().await?;
    Ok(found)
}

fn uuid(text: Option<String>) -> Result<Option<Uuid>> {
    text.map(|text| text.parse().map_err(Error::internal))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_core::{
        auth::Auth,
        secrets::{SecretKey, SecretKeys},
    };
    use mindhost_store::testing::temporary;

    const KEY: &str = "a key that is long enough to be one";

    async fn stored(store: &Store) -> i64 {
        sqlx::query_scalar("SELECT bytes FROM stored_bytes")
            .fetch_one(store.pool())
            .await
            .unwrap()
    }

    /// A response that another host makes, and the key that asked for it.
    async fn of_another_host(store: &Store, workspace: &str) -> (Uuid, Arc<str>) {
        let keys = SecretKeys::single(SecretKey::new([7; 32]));
        let auth = Auth::new(store.clone(), keys, Some(KEY), workspace);
        let caller = auth.await.unwrap().authenticate(KEY).await.unwrap();
        let id = Uuid::now_v7();
        let begun = sqlx::query(
            "INSERT INTO responses (id, workspace_id, key_id, mind_id, mind_name, status, output, usage, metadata, \
             background, limits, settings, is_cut, host_id, heartbeat_at, created_at) \
             VALUES ($1, $2, $3, 'mind', 'mind', 'in_progress', '[]', '{}', '{}', 0, '{}', \
             '{\"request_id\": \"first\"}', 0, 'dead', 0, 0)",
        );
        let begun = begun.bind(id.to_string()).bind(workspace);
        store.record(begun.bind(&*caller.key_id)).await.unwrap();
        (id, caller.key_id)
    }

    #[tokio::test]
    async fn abandoned_response_counts_until_deleted() {
        let (_dir, store, workspace) = temporary().await;
        let (id, key) = of_another_host(&store, &workspace).await;
        // This response, and another row of the key.
        let own = i64::try_from(ROW_BYTES + "[]{}".len()).unwrap();
        let mut tx = store.begin_records().await.unwrap();
        store::count(&mut tx, &workspace, &key, own + 1000)
            .await
            .unwrap();
        tx.commit().await.unwrap();

        let now = store::now();
        let found = fail_abandoned(&store, "alive", now, now, "it stopped").await;
        assert_eq!(found.unwrap(), 1);
        assert_eq!(stored(&store).await, own + 1000 + 10);
        delete(&store, id).await.unwrap();
        assert_eq!(stored(&store).await, 1000);
    }

    #[tokio::test]
    async fn abandoned_response_keeps_the_id_of_its_request() {
        let (_dir, store, workspace) = temporary().await;
        let (id, _key) = of_another_host(&store, &workspace).await;
        let now = store::now();
        let error = r#"{"code": "internal_error", "message": "it stopped"}"#;
        fail_abandoned(&store, "alive", now, now, error)
            .await
            .unwrap();
        let known = details(&store, &[id]).await.unwrap().remove(&id).unwrap();
        let error = known.error.unwrap();
        assert_eq!(
            (&*error.message, error.request_id.as_deref()),
            ("it stopped", Some("first"))
        );
    }
}
