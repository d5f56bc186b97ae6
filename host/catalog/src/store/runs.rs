//! Runs: creating, claiming, heartbeats, ending.

use std::collections::HashSet;

use sqlx::{Row, any::AnyRow};

use super::{CatalogStore, query, read};
use crate::{
    Source,
    plan::{Plan, Start, plan},
    types::{Mode, Run, RunStatus, Table},
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::{Backend, CHUNK, Tx, is_referenced, new_id, now, placeholders};

const RUN: &str = "id, workspace_id, datasource_id, mode, status, whole, listed, total, done, message, \
     cancel_requested, request_id";
const ACTIVE: &str = "status IN ('PENDING', 'LOADING')";

/// What the host of a run must do after a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// The run is still this host's.
    Continue,
    /// Somebody wants the run to stop. It is still this host's.
    CancelRequested,
    /// The run has ended, was deleted, or belongs to another host.
    Lost,
}

impl CatalogStore {
    /// Plans a request and stores the new run, if any. Returns the ids of the runs that the request waits for.
    /// Concurrent requests are planned one after the other.
    ///
    /// # Errors
    /// `run_active`; `datasource_not_found` if it was deleted since it was read; or when the store fails.
    pub async fn request_run(
        &self,
        source: Source<'_>,
        mode: Mode,
        asked: Option<&HashSet<String>>,
    ) -> Result<Vec<String>> {
        let mut tx = self.store.begin().await?;
        self.lock_datasource(&mut tx, source.id).await?;
        let tables = tables_in(&mut tx, source.id).await?;
        let active = active_in(&mut tx, source.id).await?;
        let Plan { start, mut joined } = plan(mode, asked, &tables, &active)?;
        if let Some(start) = start {
            let run_id = new_id();
            insert_run(&mut tx, &run_id, source, mode, &start).await?;
            super::ownership::take(&mut tx, &run_id, mode, &start.tables).await?;
            joined.push(run_id);
        }
        tx.commit().await?;
        Ok(joined)
    }

    /// Active runs of these datasources and the run of each that ended last, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn newest_runs(&self, datasource_ids: &[String]) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        for ids in datasource_ids.chunks(CHUNK) {
            let sql = format!(
                "SELECT {RUN} FROM catalog_runs r WHERE datasource_id IN ({}) AND ({ACTIVE} OR id = \
                 (SELECT n.id FROM catalog_runs n WHERE n.datasource_id = r.datasource_id \
                 AND n.finished_at IS NOT NULL ORDER BY n.finished_at DESC, n.id DESC LIMIT 1)) ORDER BY id DESC",
                placeholders(1, ids.len())
            );
            let query = ids
                .iter()
                .fold(query(sql), |query, id| query.bind(id.clone()));
            for row in query.fetch_all(self.store.pool()).await? {
                runs.push(run(&row)?);
            }
        }
        Ok(runs)
    }

    /// Whether one of these runs is active.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn any_active(&self, run_ids: &[String]) -> Result<bool> {
        if run_ids.is_empty() {
            return Ok(false);
        }
        let sql = format!(
            "SELECT id FROM catalog_runs WHERE {ACTIVE} AND id IN ({}) LIMIT 1",
            placeholders(1, run_ids.len())
        );
        let query = run_ids
            .iter()
            .fold(query(sql), |query, id| query.bind(id.clone()));
        Ok(query.fetch_optional(self.store.pool()).await?.is_some())
    }

    /// Claims the oldest run without a host, or without a heartbeat since `silent_since`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn claim(&self, host: &str, silent_since: i64) -> Result<Option<Run>> {
        let skip_locked = match self.store.backend() {
            Backend::Postgres => "FOR UPDATE SKIP LOCKED",
            Backend::Sqlite => "",
        };
        let sql = format!(
            "UPDATE catalog_runs SET status = 'LOADING', claimed_by = $1, heartbeat_at = $2 WHERE id = \
             (SELECT id FROM catalog_runs WHERE {ACTIVE} AND (claimed_by IS NULL OR heartbeat_at < $3) \
              ORDER BY id LIMIT 1 {skip_locked}) AND {ACTIVE} RETURNING {RUN}"
        );
        let row = query(sql)
            .bind(host.to_owned())
            .bind(now())
            .bind(silent_since)
            .fetch_optional(self.store.pool())
            .await?;
        row.as_ref().map(run).transpose()
    }

    /// Records a heartbeat of the host.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn heartbeat(&self, run_id: &str, host: &str) -> Result<Heartbeat> {
        let sql = format!(
            "UPDATE catalog_runs SET heartbeat_at = $1 WHERE id = $2 AND claimed_by = $3 AND {ACTIVE} \
             RETURNING cancel_requested"
        );
        let row = query(sql)
            .bind(now())
            .bind(run_id.to_owned())
            .bind(host.to_owned())
            .fetch_optional(self.store.pool())
            .await?;
        Ok(match row {
            None => Heartbeat::Lost,
            Some(row) if row.try_get::<i64, _>(0)? != 0 => Heartbeat::CancelRequested,
            Some(_) => Heartbeat::Continue,
        })
    }

    /// Releases a run, for this host after its restart or for another.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn release(&self, run_id: &str, host: &str) -> Result<()> {
        let mut tx = self.store.begin().await?;
        let sql = format!(
            "UPDATE catalog_runs SET claimed_by = NULL, heartbeat_at = NULL \
             WHERE id = $1 AND claimed_by = $2 AND {ACTIVE}"
        );
        let released = query(sql)
            .bind(run_id.to_owned())
            .bind(host.to_owned())
            .execute(&mut *tx)
            .await?;
        if released.rows_affected() > 0 {
            sqlx::query(
                "UPDATE catalog_tables SET status = 'PENDING' WHERE run_id = $1 AND status = 'LOADING'",
            )
            .bind(run_id)
            .execute(&mut *tx)
            .await?;
        }
        Ok(tx.commit().await?)
    }

    /// Releases every run of an earlier process. Only if no other host uses the store.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn release_all(&self) -> Result<()> {
        let released =
            sqlx::query("UPDATE catalog_runs SET claimed_by = NULL WHERE status = 'LOADING'");
        self.store.record(released).await?;
        Ok(())
    }

    /// Ends a run. Its unfinished tables get the matching status, and `error` if the run failed. Deletes all but the
    /// last twenty runs of the datasource.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn finish(
        &self,
        run: &Run,
        host: &str,
        status: RunStatus,
        error: Option<&str>,
    ) -> Result<()> {
        let mut tx = self.store.begin().await?;
        let lock = match self.store.backend() {
            Backend::Postgres => "FOR UPDATE",
            Backend::Sqlite => "",
        };
        let sql = format!(
            "SELECT total, done FROM catalog_runs WHERE id = $1 AND claimed_by = $2 AND {ACTIVE} {lock}"
        );
        let row = query(sql)
            .bind(run.id.clone())
            .bind(host.to_owned())
            .fetch_optional(&mut *tx)
            .await?;
        let Some(row) = row else { return Ok(()) };
        let counts = (row.try_get(0)?, row.try_get(1)?);
        end_run(&mut tx, &run.id, status, error, counts).await?;
        forget_old(&mut tx, &run.datasource_id).await?;
        Ok(tx.commit().await?)
    }

    /// Requests the cancellation of every active run of a datasource; ends those without a host. Returns their ids.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn request_cancel(&self, datasource_id: &str) -> Result<Vec<String>> {
        let mut tx = self.store.begin().await?;
        self.lock_datasource(&mut tx, datasource_id).await?;
        let active = active_in(&mut tx, datasource_id).await?;
        if active.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "UPDATE catalog_runs SET cancel_requested = 1 WHERE datasource_id = $1 AND {ACTIVE}"
        );
        query(sql)
            .bind(datasource_id.to_owned())
            .execute(&mut *tx)
            .await?;
        for run in &active {
            let sql = format!(
                "SELECT total, done FROM catalog_runs WHERE id = $1 AND claimed_by IS NULL AND {ACTIVE}"
            );
            let unclaimed = query(sql)
                .bind(run.id.clone())
                .fetch_optional(&mut *tx)
                .await?;
            if let Some(row) = unclaimed {
                let counts = (row.try_get(0)?, row.try_get(1)?);
                end_run(&mut tx, &run.id, RunStatus::Cancelled, None, counts).await?;
            }
        }
        tx.commit().await?;
        Ok(active.into_iter().map(|run| run.id).collect())
    }
}

/// All tables of a datasource. Those of an unpublished list count as missing.
pub(super) async fn tables_in(
    executor: &mut sqlx::AnyConnection,
    datasource_id: &str,
) -> Result<Vec<Table>> {
    let hidden = format!("CASE WHEN {} THEN 1 ELSE missing END", read::HIDDEN);
    let sql = format!(
        "SELECT {} FROM catalog_tables WHERE datasource_id = $1 ORDER BY schema_name, table_name",
        read::TABLE.replace("missing", &hidden)
    );
    let rows = query(sql)
        .bind(datasource_id.to_owned())
        .fetch_all(executor)
        .await?;
    rows.iter().map(read::table).collect()
}

pub(super) async fn active_in(tx: &mut Tx, datasource_id: &str) -> Result<Vec<Run>> {
    let sql =
        format!("SELECT {RUN} FROM catalog_runs WHERE datasource_id = $1 AND {ACTIVE} ORDER BY id");
    let rows = query(sql)
        .bind(datasource_id.to_owned())
        .fetch_all(&mut **tx)
        .await?;
    rows.iter().map(run).collect()
}

async fn insert_run(
    tx: &mut Tx,
    run_id: &str,
    source: Source<'_>,
    mode: Mode,
    start: &Start,
) -> Result<()> {
    sqlx::query(
        "INSERT INTO catalog_runs (id, workspace_id, datasource_id, mode, status, whole, listed, total, done, \
         message, cancel_requested, created_at, request_id) \
         VALUES ($1, $2, $3, $4, 'PENDING', $5, $6, $7, 0, '', 0, $8, $9)",
    )
    .bind(run_id)
    .bind(source.workspace)
    .bind(source.id)
    .bind(mode.as_str())
    .bind(i64::from(start.whole))
    .bind(i64::from(!start.whole))
    .bind(i64::try_from(start.tables.len()).unwrap_or(i64::MAX))
    .bind(now())
    .bind(source.request_id)
    .execute(&mut **tx)
    .await
    .map_err(|error| match is_referenced(&error) {
        true => Error::new(
            Code::DatasourceNotFound,
            "the datasource was deleted before its catalog could be loaded",
        ),
        false => error.into(),
    })?;
    Ok(())
}

/// Ends a run whose row this transaction has locked. `counts` are its tables, and those that are done.
async fn end_run(
    tx: &mut Tx,
    run_id: &str,
    status: RunStatus,
    error: Option<&str>,
    counts: (i64, i64),
) -> Result<()> {
    sqlx::query(
        "UPDATE catalog_tables SET status = $1, error = $2 WHERE run_id = $3 AND status IN ('PENDING', 'LOADING')",
    )
    .bind(status.as_str())
    .bind(error)
    .bind(run_id)
    .execute(&mut **tx)
    .await?;
    let message = message_of(tx, run_id, status, error, counts).await?;
    sqlx::query(
        "UPDATE catalog_runs SET status = $1, message = $2, finished_at = $3, claimed_by = NULL WHERE id = $4",
    )
    .bind(status.as_str())
    .bind(message)
    .bind(now())
    .bind(run_id)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The message of an ended run: each failed table with its reason, up to a limit.
async fn message_of(
    tx: &mut Tx,
    run_id: &str,
    status: RunStatus,
    error: Option<&str>,
    (total, done): (i64, i64),
) -> Result<String> {
    if let Some(error) = error {
        return Ok(format!("failed: {error}"));
    }
    if status != RunStatus::Failed {
        let word = if status == RunStatus::Cancelled {
            "cancelled after"
        } else {
            "loaded"
        };
        return Ok(match (status, total) {
            (RunStatus::Completed, 0) => "nothing to load".into(),
            (RunStatus::Completed, _) => format!("{word} {done} tables"),
            _ => format!("{word} {done} of {total} tables"),
        });
    }
    let rows = sqlx::query(
        "SELECT schema_name, table_name, error FROM catalog_tables WHERE run_id = $1 AND status = 'FAILED' \
         ORDER BY schema_name, table_name",
    )
    .bind(run_id)
    .fetch_all(&mut **tx)
    .await?;
    let mut reasons = Vec::new();
    for row in rows.iter().take(20) {
        let (schema, name): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let error: Option<String> = row.try_get(2)?;
        reasons.push(format!("{schema}.{name}: {}", error.unwrap_or_default()));
    }
    if rows.len() > reasons.len() {
        reasons.push(format!("and {} more", rows.len() - reasons.len()));
    }
    Ok(format!(
        "{} of {total} tables failed: {}",
        rows.len(),
        reasons.join("; ")
    ))
}

async fn forget_old(tx: &mut Tx, datasource_id: &str) -> Result<()> {
    let sql = format!(
        "DELETE FROM catalog_runs WHERE datasource_id = $1 AND NOT ({ACTIVE}) AND id NOT IN \
         (SELECT id FROM catalog_runs WHERE datasource_id = $1 ORDER BY id DESC LIMIT 20)"
    );
    query(sql)
        .bind(datasource_id.to_owned())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

pub(super) fn run(row: &AnyRow) -> Result<Run> {
    let count = |index: usize| -> sqlx::Result<u64> {
        Ok(u64::try_from(row.try_get::<i64, _>(index)?).unwrap_or_default())
    };
    Ok(Run {
        id: row.try_get(0)?,
        workspace: row.try_get(1)?,
        datasource_id: row.try_get(2)?,
        mode: Mode::parse(&row.try_get::<String, _>(3)?)?,
        status: RunStatus::parse(&row.try_get::<String, _>(4)?)?,
        whole: count(5)? != 0,
        listed: count(6)? != 0,
        total: count(7)?,
        done: count(8)?,
        message: row.try_get(9)?,
        cancel_requested: count(10)? != 0,
        request_id: row.try_get(11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixture;

    #[tokio::test]
    async fn run_of_a_deleted_datasource_is_not_found() {
        let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
        let id = fixture::datasource(&store, &workspace).await;
        sqlx::query("DELETE FROM datasources WHERE id = $1")
            .bind(&id)
            .execute(store.pool())
            .await
            .unwrap();
        let source = Source {
            workspace: &workspace,
            id: &id,
            seen: None,
            request_id: None,
        };
        let catalog = CatalogStore::new(store);
        let error = catalog.request_run(source, Mode::All, None).await;
        assert_eq!(error.unwrap_err().code(), Code::DatasourceNotFound);
    }
}
