//! The queries of the audit trail.

use sqlx::{Any, AssertSqlSafe, any::AnyArguments, query::Query};

use super::{AuditFilter, Entry, PendingNote};
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::{
    AnyRow, Row, Store, first_id_of, groups, placeholders, rows_of_placeholders, timestamp,
};

/// Notes that are deleted in one transaction.
const OLD_AT_ONCE: u64 = 1000;

/// Adds notes, all or none: none when the workspace of one was deleted in the meantime.
pub(super) async fn insert(store: &Store, notes: &[PendingNote]) -> Result<()> {
    let mut tx = store.begin_records().await?;
    for group in groups(notes) {
        let sql = format!(
            "{INSERT} VALUES {}",
            rows_of_placeholders(group.len(), COLUMNS)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for pending in group {
            query = bind(query, pending);
        }
        query.execute(&mut *tx).await?;
    }
    Ok(tx.commit().await?)
}

/// Adds one note, unless its workspace was deleted.
pub(super) async fn insert_one(store: &Store, note: &PendingNote) -> Result<()> {
    let sql = format!(
        "{INSERT} SELECT {} WHERE EXISTS (SELECT 1 FROM workspaces WHERE id = $2)",
        placeholders(1, COLUMNS)
    );
    let query = bind(sqlx::query(AssertSqlSafe(sql)), note);
    store.record(query).await?;
    Ok(())
}

const INSERT: &str = "INSERT INTO audit (id, workspace_id, key_id, action, resource, resource_id, detail, request_id, \
     created_at, mind_id)";
const COLUMNS: usize = 10;

fn bind<'q>(
    query: Query<'q, Any, AnyArguments>,
    pending: &'q PendingNote,
) -> Query<'q, Any, AnyArguments> {
    let PendingNote { id, at, note, .. } = pending;
    query
        .bind(id)
        .bind(note.workspace.to_string())
        .bind(note.key.as_deref().map(str::to_owned))
        .bind(&note.action)
        .bind(&note.resource)
        .bind(note.made.as_deref())
        .bind(
            note.status
                .map_or(String::new(), |status| status.to_string()),
        )
        .bind(note.request_id.as_deref())
        .bind(*at)
        .bind(note.mind.as_deref())
}

/// One entry more than asked for, where there is one.
pub(super) async fn read(
    store: &Store,
    workspace: &str,
    filter: &AuditFilter,
) -> Result<Vec<Entry>> {
    sqlx::query(
        "SELECT a.id, a.created_at, a.key_id, k.name AS key_name, a.action, a.resource, a.resource_id, a.detail, \
         a.request_id, COALESCE(m.name, a.mind_id) AS mind \
         FROM audit a LEFT JOIN keys k ON k.id = a.key_id LEFT JOIN minds m ON m.id = a.mind_id \
         WHERE a.workspace_id = $1 AND ($2 = '' OR a.id < $2) AND ($3 = '' OR a.key_id = $3) \
         ORDER BY a.id DESC LIMIT $4",
    )
    .bind(workspace)
    .bind(filter.after.clone().unwrap_or_default())
    .bind(filter.key.clone().unwrap_or_default())
    .bind(i64::from(filter.limit) + 1)
    .fetch_all(store.pool())
    .await?
    .iter()
    .map(entry)
    .collect()
}

/// Deletes notes that were taken before a time, a few in each transaction, so that no other writer waits long for it.
pub(super) async fn delete_before(store: &Store, before: i64) -> Result<()> {
    let sql = format!(
        "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id < $1 AND created_at < $2 ORDER BY id LIMIT {OLD_AT_ONCE})"
    );
    // Ids are as fine as a millisecond; what is within it is for the time to decide.
    let ids = first_id_of(timestamp(before.saturating_add(1000)));
    loop {
        let old = sqlx::query(AssertSqlSafe(sql.clone()))
            .bind(ids.clone())
            .bind(before);
        if store.record(old).await?.rows_affected() < OLD_AT_ONCE {
            return Ok(());
        }
    }
}

fn entry(row: &AnyRow) -> Result<Entry> {
    let status: String = row.try_get("detail")?;
    Ok(Entry {
        id: row.try_get("id")?,
        created_at: timestamp(row.try_get("created_at")?),
        key_id: row.try_get("key_id")?,
        key_name: row.try_get("key_name")?,
        action: row.try_get("action")?,
        resource: row.try_get("resource")?,
        mind: row.try_get("mind")?,
        made: row.try_get("resource_id")?,
        status: status.parse().ok(),
        request_id: row.try_get("request_id")?,
    })
}

/// Whether the store may take a note later: it is busy, full or away. What it refuses it will refuse again.
pub(super) fn is_passing(error: &Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref());
    error.code() != Code::Internal || !matches!(cause, Some(sqlx::Error::Database(_)))
}
