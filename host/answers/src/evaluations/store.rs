//! The queries of evaluations.

use std::time::Duration;

use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{Evaluation, KEPT, RUNNING, Status};
use mindhost_base::error::{Code, Error, Result};
use mindhost_core::minds::{Mind, free_evaluations};
use mindhost_evaluation::{figures::Figures, judged::Judged};
use mindhost_store::{
    AnyRow, ROW_BYTES, Row, Store, StoredBytes, Tx, is_referenced, json, now, timestamp, to_json,
};

/// A run that was not written for so long, in microseconds, has lost its host.
const LOST_AFTER: i64 = 60_000_000;

/// The delay after which a client may retry when the workspace has too many runs.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// A report without questions.
const EMPTY: &str = "[]";

const COLUMNS: &str = "id, key_id, suite, currency, questions, judged, status, error, request_id, figures, \
     started_at, ended_at, beat_at";

/// Adds a run, and deletes the oldest of the Mind.
pub(super) async fn insert(store: &Store, mind: &Mind, new: &Evaluation) -> Result<()> {
    let mut tx = store.begin().await?;
    check_room(&mut tx, mind).await?;
    sqlx::query(
        "INSERT INTO evaluations (id, workspace_id, mind_id, key_id, suite, currency, questions, judged, status, \
         figures, report, started_at, beat_at, request_id) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 'running', $8, $9, $10, $10, $11)",
    )
    .bind(new.id.to_string())
    .bind(&mind.workspace_id)
    .bind(&mind.id)
    .bind(&new.key_id)
    .bind(&new.suite)
    .bind(&new.currency)
    .bind(count(new.questions))
    .bind(to_json(&new.figures)?)
    .bind(EMPTY)
    .bind(new.started_at.as_microsecond())
    .bind(&new.request_id)
    .execute(&mut *tx)
    .await
    .map_err(|error| match is_referenced(&error) {
        true => Error::new(Code::MindNotFound, "the Mind was deleted"),
        false => Error::from(error),
    })?;
    let added = StoredBytes::of(&mind.workspace_id, &new.key_id, ROW_BYTES + EMPTY.len());
    store.add_stored(&mut tx, &added).await?;
    let oldest = sqlx::query_scalar(
        "SELECT id FROM evaluations WHERE mind_id = $1 ORDER BY id DESC LIMIT 1000 OFFSET $2",
    );
    let oldest: Vec<String> = oldest
        .bind(&mind.id)
        .bind(count(KEPT))
        .fetch_all(&mut *tx)
        .await?;
    for id in oldest {
        remove(&mut tx, &mind.id, &id).await?;
    }
    Ok(tx.commit().await?)
}

/// Deletes a run and uncounts its bytes. False if there is none.
async fn remove(tx: &mut Tx, mind: &str, id: &str) -> Result<bool> {
    free_evaluations(tx, "mind_id = $1 AND id = $2", &[mind, id]).await?;
    let delete = sqlx::query("DELETE FROM evaluations WHERE mind_id = $1 AND id = $2");
    let done = delete.bind(mind.to_owned()).bind(id.to_owned());
    Ok(done.execute(&mut **tx).await?.rows_affected() == 1)
}

/// Refuses a run beside another of the Mind, and too many of the workspace.
async fn check_room(tx: &mut Tx, mind: &Mind) -> Result<()> {
    let minds: Vec<String> = sqlx::query_scalar(
        "SELECT mind_id FROM evaluations WHERE workspace_id = $1 AND status = 'running' AND beat_at > $2",
    )
    .bind(&mind.workspace_id)
    .bind(now() - LOST_AFTER)
    .fetch_all(&mut **tx)
    .await?;
    if minds.contains(&mind.id) {
        let message = "an evaluation of this Mind is running; wait for its end, or cancel it";
        return Err(Error::new(Code::WrongState, message));
    }
    if minds.len() >= RUNNING {
        let message =
            format!("the workspace runs {RUNNING} evaluations already; wait for the end of one");
        return Err(Error::new(Code::QuotaExceeded, message).with_retry_after(RETRY_AFTER));
    }
    Ok(())
}

pub(super) async fn list(store: &Store, mind: &str) -> Result<Vec<Evaluation>> {
    let sql = format!("SELECT {COLUMNS} FROM evaluations WHERE mind_id = $1 ORDER BY id DESC");
    let rows = sqlx::query(AssertSqlSafe(sql)).bind(mind.to_owned());
    let rows = rows.fetch_all(store.pool()).await?;
    rows.iter().map(evaluation).collect()
}

pub(super) async fn find(
    store: &Store,
    mind: &str,
    id: Uuid,
) -> Result<Option<(Evaluation, Vec<Judged>)>> {
    let sql = format!("SELECT {COLUMNS}, report FROM evaluations WHERE mind_id = $1 AND id = $2");
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(mind.to_owned())
        .bind(id.to_string())
        .fetch_optional(store.pool())
        .await?;
    let read = |row: AnyRow| {
        let report: String = row.try_get("report")?;
        Ok((evaluation(&row)?, json(&report)?))
    };
    row.map(read).transpose()
}

/// Writes what was judged. False if the run is not to go on: it was cancelled or deleted.
pub(super) async fn beat(store: &Store, id: Uuid, judged: &[Judged]) -> Result<bool> {
    write(store, id, judged).await?;
    let update =
        sqlx::query("UPDATE evaluations SET beat_at = $2 WHERE id = $1 AND status = 'running'");
    let done = store
        .change(update.bind(id.to_string()).bind(now()))
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Writes what was judged, however the run stands. The bytes count for the key that began it.
pub(super) async fn write(store: &Store, id: Uuid, judged: &[Judged]) -> Result<()> {
    let report = to_json(&judged)?;
    let mut tx = store.begin().await?;
    let known: Option<(String, String, i64)> = sqlx::query_as(
        "SELECT workspace_id, key_id, CAST(octet_length(report) AS BIGINT) FROM evaluations WHERE id = $1",
    )
    .bind(id.to_string())
    .fetch_optional(&mut *tx)
    .await?;
    let Some((workspace, key, before)) = known else {
        return Ok(());
    };
    let added = count(report.len()) - before;
    store.count_stored(&mut tx, &workspace, &key, added).await?;
    sqlx::query("UPDATE evaluations SET judged = $2, figures = $3, report = $4 WHERE id = $1")
        .bind(id.to_string())
        .bind(count(judged.len()))
        .bind(to_json(&Figures::of(judged))?)
        .bind(report)
        .execute(&mut *tx)
        .await?;
    Ok(tx.commit().await?)
}

/// Ends a run. False if it has ended already.
pub(super) async fn end(
    store: &Store,
    id: Uuid,
    status: Status,
    error: Option<&str>,
) -> Result<bool> {
    let update = sqlx::query(
        "UPDATE evaluations SET status = $2, error = $3, ended_at = $4 WHERE id = $1 AND status = 'running'",
    )
    .bind(id.to_string())
    .bind(status.as_str())
    .bind(error.map(str::to_owned))
    .bind(now());
    Ok(store.change(update).await?.rows_affected() == 1)
}

pub(super) async fn delete(store: &Store, mind: &str, id: Uuid) -> Result<bool> {
    let mut tx = store.begin().await?;
    let removed = remove(&mut tx, mind, &id.to_string()).await?;
    tx.commit().await?;
    Ok(removed)
}

fn evaluation(row: &AnyRow) -> Result<Evaluation> {
    let (id, figures): (String, String) = (row.try_get("id")?, row.try_get("figures")?);
    let number = |name: &str| -> Result<usize> {
        Ok(usize::try_from(row.try_get::<i64, _>(name)?).unwrap_or_default())
    };
    let beat_at: i64 = row.try_get("beat_at")?;
    let mut ended_at: Option<i64> = row.try_get("ended_at")?;
    let mut status = Status::parse(&row.try_get::<String, _>("status")?);
    if status == Status::Running && beat_at < now() - LOST_AFTER {
        (status, ended_at) = (Status::Interrupted, Some(beat_at));
    }
    Ok(Evaluation {
        id: id.parse().map_err(Error::internal)?,
        key_id: row.try_get("key_id")?,
        suite: row.try_get("suite")?,
        currency: row.try_get("currency")?,
        questions: number("questions")?,
        judged: number("judged")?,
        status,
        error: row.try_get("error")?,
        request_id: row.try_get("request_id")?,
        figures: json(&figures)?,
        started_at: timestamp(row.try_get("started_at")?),
        ended_at: ended_at.map(timestamp),
    })
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
