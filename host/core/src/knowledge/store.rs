//! The queries of knowledge.

use std::{collections::HashMap, time::Duration};

use sqlx::{AssertSqlSafe, Executor};

use super::{Change, Entry, Imports, Kind, Knowledge, MindRef, Mode, Status};
use crate::minds::Mind;
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::{
    AnyRow, Backend, Row, Store, Tx, is_referenced, is_taken, json, new_id, now, timestamp, to_json,
};

const COLUMNS: &str =
    "id, workspace_id, mind_id, body, status, stale_reason, created_at, updated_at, checked_at";

/// Bytes of the entries of one Mind at most: every question reads them.
const MAX_BYTES: i64 = 8 << 20;

/// The delay after which a client may retry a request over quota.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// A page of the entries of a Mind by id, with one more if there are more.
pub(super) async fn page(
    store: &Store,
    mind: &str,
    kind: Option<Kind>,
    after: &str,
    limit: u32,
) -> Result<Vec<Entry>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM knowledge WHERE mind_id = $1 AND ($2 = '' OR kind = $2) AND id > $3 ORDER BY id LIMIT $4"
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(mind)
        .bind(kind.map_or("", Kind::as_str))
        .bind(after)
        .bind(i64::from(limit) + 1)
        .fetch_all(store.pool())
        .await?;
    rows.iter().map(entry).collect()
}

pub(super) async fn all(
    executor: impl Executor<'_, Database = sqlx::Any>,
    mind: &str,
) -> Result<Vec<Entry>> {
    let sql = format!("SELECT {COLUMNS} FROM knowledge WHERE mind_id = $1 ORDER BY id");
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(mind)
        .fetch_all(executor)
        .await?;
    rows.iter().map(entry).collect()
}

pub(super) async fn find(store: &Store, mind: &str, id: &str) -> Result<Option<Entry>> {
    let sql = format!("SELECT {COLUMNS} FROM knowledge WHERE mind_id = $1 AND id = $2");
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(mind)
        .bind(id)
        .fetch_optional(store.pool())
        .await?;
    row.as_ref().map(entry).transpose()
}

/// Adds an entry in a transaction, which [`begin`] began.
pub(super) async fn insert(tx: &mut Tx, mind: &Mind, knowledge: &Knowledge) -> Result<String> {
    let (id, at) = (new_id(), now());
    sqlx::query(
        "INSERT INTO knowledge (id, workspace_id, mind_id, kind, name, name_key, body, status, created_at, updated_at, \
         checked_at) VALUES ($1, $2, $3, $4, $5, $6, $7, 'valid', $8, $8, $8)",
    )
    .bind(&id)
    .bind(&mind.workspace_id)
    .bind(&mind.id)
    .bind(knowledge.kind().as_str())
    .bind(knowledge.name())
    .bind(knowledge.name_key())
    .bind(to_json(knowledge)?)
    .bind(at)
    .execute(&mut **tx)
    .await
    .map_err(|error| named(error, knowledge))?;
    Ok(id)
}

/// Replaces an entry. False if there is none.
pub(super) async fn replace(
    tx: &mut Tx,
    mind: &str,
    id: &str,
    knowledge: &Knowledge,
) -> Result<bool> {
    let done = sqlx::query(
        "UPDATE knowledge SET name = $3, name_key = $4, body = $5, status = 'valid', stale_reason = NULL, \
         updated_at = $6, checked_at = $6 WHERE mind_id = $1 AND id = $2",
    )
    .bind(mind)
    .bind(id)
    .bind(knowledge.name())
    .bind(knowledge.name_key())
    .bind(to_json(knowledge)?)
    .bind(now())
    .execute(&mut **tx)
    .await
    .map_err(|error| named(error, knowledge))?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn delete(store: &Store, mind: &str, id: &str) -> Result<bool> {
    let delete = sqlx::query("DELETE FROM knowledge WHERE mind_id = $1 AND id = $2");
    let done = store.change(delete.bind(mind).bind(id)).await?;
    Ok(done.rows_affected() == 1)
}

/// Stores many entries in one transaction.
pub(super) async fn import(
    tx: &mut Tx,
    mind: &Mind,
    entries: &[Knowledge],
    mode: Mode,
) -> Result<Imports> {
    let mut there: HashMap<(Kind, String), Entry> = all(&mut **tx, &mind.id)
        .await?
        .into_iter()
        .map(|entry| ((entry.knowledge.kind(), entry.knowledge.name_key()), entry))
        .collect();
    let mut imports = Imports::default();
    for one in entries {
        match there.remove(&(one.kind(), one.name_key())) {
            // Also if it is equal: it was checked, so it is valid now.
            Some(old) => {
                replace(tx, &mind.id, &old.id, one).await?;
                match old.knowledge == *one {
                    true => imports.unchanged += 1,
                    false => imports.updated += 1,
                }
            }
            None => {
                insert(tx, mind, one).await?;
                imports.created += 1;
            }
        }
    }
    if mode == Mode::Replace {
        for (_, old) in there {
            sqlx::query("DELETE FROM knowledge WHERE id = $1")
                .bind(&old.id)
                .execute(&mut **tx)
                .await?;
            imports.deleted += 1;
        }
    }
    Ok(imports)
}

/// Begins a change of a Mind's knowledge; one at a time, so that the bounds hold.
pub(super) async fn begin(store: &Store, mind: &Mind) -> Result<Tx> {
    let mut tx = store.begin().await?;
    if store.backend() == Backend::Postgres {
        sqlx::query("SELECT id FROM minds WHERE id = $1 FOR NO KEY UPDATE")
            .bind(&mind.id)
            .execute(&mut *tx)
            .await?;
    }
    Ok(tx)
}

/// Checks the bounds of a Mind's knowledge at the end of a change, before its commit.
pub(super) async fn check_bounds(tx: &mut Tx, mind: &str, most: u32) -> Result<()> {
    let row = sqlx::query(
        "SELECT COUNT(*), CAST(COALESCE(SUM(octet_length(body)), 0) AS BIGINT) FROM knowledge WHERE mind_id = $1",
    )
    .bind(mind)
    .fetch_one(&mut **tx)
    .await?;
    let (count, bytes): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    if most > 0 && count > i64::from(most) {
        let message = format!(
            "limit of {most} entries of knowledge per Mind reached (limits.knowledge_per_mind); delete some first"
        );
        return Err(Error::new(Code::QuotaExceeded, message).with_retry_after(RETRY_AFTER));
    }
    if bytes > MAX_BYTES {
        let message = "the knowledge of a Mind may have 8 MiB; delete some first";
        return Err(Error::new(Code::QuotaExceeded, message).with_retry_after(RETRY_AFTER));
    }
    Ok(())
}

/// Notes the result of a check, unless the entry was changed since.
pub(super) async fn checked(
    store: &Store,
    entry: &Entry,
    stale_reason: Option<&str>,
) -> Result<Change> {
    let status = match stale_reason {
        None => Status::Valid,
        Some(_) => Status::Stale,
    };
    if status == entry.status && stale_reason == entry.stale_reason.as_deref() {
        return Ok(Change::None);
    }
    let update = sqlx::query(
        "UPDATE knowledge SET status = $1, stale_reason = $2, checked_at = $3 WHERE id = $4 AND updated_at = $5",
    );
    let update = update
        .bind(status.as_str())
        .bind(stale_reason.map(str::to_owned))
        .bind(now())
        .bind(&entry.id)
        .bind(entry.updated_at.as_microsecond());
    match store.change(update).await?.rows_affected() {
        0 => Ok(Change::Overtaken),
        _ => Ok(Change::Done),
    }
}

/// The Minds with knowledge, with what decides whether it must be checked.
pub(super) async fn taught(store: &Store) -> Result<Vec<MindRef>> {
    let rows = sqlx::query(
        "SELECT m.workspace_id, m.id, m.updated_at, c.state FROM minds m LEFT JOIN knowledge_checks c ON c.mind_id = m.id \
         WHERE m.id IN (SELECT mind_id FROM knowledge) ORDER BY m.id",
    )
    .fetch_all(store.pool())
    .await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let mut datasources = datasources(store).await?;
    let taught = |row: &AnyRow| -> Result<MindRef> {
        let mind: String = row.try_get(1)?;
        Ok(MindRef {
            workspace: row.try_get(0)?,
            updated_at: row.try_get(2)?,
            datasources: datasources.remove(&mind).unwrap_or_default(),
            state: row.try_get(3)?,
            mind,
        })
    };
    rows.iter().map(taught).collect()
}

/// Ids of the datasources of Minds with knowledge, and when each was changed, by Mind.
async fn datasources(store: &Store) -> Result<HashMap<String, Vec<(String, i64)>>> {
    let rows = sqlx::query(
        "SELECT md.mind_id, d.id, d.modified_at FROM mind_datasources md JOIN datasources d ON d.id = md.datasource_id \
         WHERE md.mind_id IN (SELECT mind_id FROM knowledge) ORDER BY md.mind_id, md.position",
    )
    .fetch_all(store.pool())
    .await?;
    let mut found: HashMap<String, Vec<(String, i64)>> = HashMap::new();
    for row in &rows {
        let datasource = (row.try_get(1)?, row.try_get(2)?);
        found.entry(row.try_get(0)?).or_default().push(datasource);
    }
    Ok(found)
}

/// Notes the state that the knowledge of a Mind was checked against.
pub(super) async fn note_state(store: &Store, mind: &Mind, state: &str) -> Result<()> {
    let note = sqlx::query(
        "INSERT INTO knowledge_checks (mind_id, workspace_id, state, checked_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (mind_id) DO UPDATE SET state = excluded.state, checked_at = excluded.checked_at",
    );
    let note = note
        .bind(&mind.id)
        .bind(&mind.workspace_id)
        .bind(state)
        .bind(now());
    match store.record(note).await {
        // The Mind was deleted.
        Err(error) if is_referenced(&error) => Ok(()),
        done => Ok(done.map(drop)?),
    }
}

fn named(error: sqlx::Error, knowledge: &Knowledge) -> Error {
    if is_taken(&error) {
        let message = format!(
            "the Mind has {} already, and case makes no difference; choose another name or change that one",
            knowledge.in_a_message()
        );
        return Error::new(Code::NameTaken, message).param("name");
    }
    match is_referenced(&error) {
        true => Error::new(Code::MindNotFound, "the Mind was deleted in the meantime"),
        false => error.into(),
    }
}

fn entry(row: &AnyRow) -> Result<Entry> {
    Ok(Entry {
        id: row.try_get("id")?,
        workspace_id: row.try_get("workspace_id")?,
        mind_id: row.try_get("mind_id")?,
        knowledge: json(&row.try_get::<String, _>("body")?)?,
        status: Status::parse(&row.try_get::<String, _>("status")?),
        stale_reason: row.try_get("stale_reason")?,
        created_at: timestamp(row.try_get("created_at")?),
        updated_at: timestamp(row.try_get("updated_at")?),
        checked_at: timestamp(row.try_get("checked_at")?),
    })
}
