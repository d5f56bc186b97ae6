//! Quotas: resources per workspace, stored bytes per key and workspace, and free space on the disk.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use sqlx::{Any, AssertSqlSafe, Executor};

use super::{Backend, Store, Tx, now};
use mindhost_base::{
    config,
    error::{Code, Error, Result},
    locks::lock,
};

/// How long a measurement of the free disk space is used.
const FREE_SPACE_MAX_AGE: Duration = Duration::from_secs(1);
/// The delay after which a client may retry a request over quota.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// A kind of resource with a quota per workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    /// Datasources.
    Datasources,
    /// Valid keys.
    Keys,
    /// Minds.
    Minds,
    /// Model providers.
    Providers,
}

impl ResourceKind {
    fn name(self) -> &'static str {
        match self {
            Self::Datasources => "datasources",
            Self::Keys => "keys",
            Self::Minds => "minds",
            Self::Providers => "providers",
        }
    }
}

/// Bytes that a row counts for in addition to its text.
pub const ROW_BYTES: usize = 256;

/// The quotas of a store, and which keys are over quota.
#[derive(Debug)]
pub(super) struct Quotas {
    limits: config::Limits,
    max_key_bytes: u64,
    max_workspace_bytes: u64,
    min_free_bytes: u64,
    /// The directory of the SQLite file; none for PostgreSQL.
    dir: Option<PathBuf>,
    /// Keys that are over quota, or whose workspaces are. Others are admitted without a query.
    over_quota: Mutex<HashSet<String>>,
    measured_at: Mutex<Option<Instant>>,
    free_bytes: AtomicU64,
}

impl Quotas {
    pub fn of(config: &config::Config, dir: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            limits: config.limits.clone(),
            max_key_bytes: config.store.max_key_bytes,
            max_workspace_bytes: config.store.max_workspace_bytes,
            min_free_bytes: config.store.min_free_bytes,
            dir,
            over_quota: Mutex::default(),
            measured_at: Mutex::default(),
            free_bytes: AtomicU64::new(u64::MAX),
        })
    }

    /// Free bytes on the disk of the store, at most [`FREE_SPACE_MAX_AGE`] old; `u64::MAX` if unknown.
    pub fn free_bytes(&self) -> u64 {
        let Some(dir) = &self.dir else {
            return u64::MAX;
        };
        let mut measured_at = lock(&self.measured_at);
        if measured_at.is_none_or(|at| at.elapsed() > FREE_SPACE_MAX_AGE) {
            let free = free_bytes(dir).unwrap_or(u64::MAX);
            self.free_bytes.store(free, Ordering::Relaxed);
            *measured_at = Some(Instant::now());
        }
        self.free_bytes.load(Ordering::Relaxed)
    }
}

/// Free bytes on the disk of a directory; `None` if it does not exist or cannot be asked.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(dir).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Bytes that a transaction stores: by key, its workspace and the bytes.
#[derive(Debug, Default)]
pub struct StoredBytes(BTreeMap<String, (String, i64)>);

impl StoredBytes {
    /// Bytes of one key.
    pub fn of(workspace: &str, key: &str, bytes: usize) -> Self {
        let mut stored = Self::default();
        stored.add(workspace, key, bytes);
        stored
    }

    /// Adds bytes of a key.
    pub fn add(&mut self, workspace: &str, key: &str, bytes: usize) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let sum = self.0.entry(key.to_owned()).or_default();
        *sum = (workspace.to_owned(), sum.1.saturating_add(bytes));
    }
}

impl Store {
    /// Checks that a workspace may have one more resource, and that the disk has space. Call it before any other work.
    ///
    /// # Errors
    /// `quota_exceeded`, `storage_full`
    pub async fn check_quota(&self, kind: ResourceKind, workspace: &str) -> Result<()> {
        self.check_free_space()?;
        self.check_count(self.pool(), kind, workspace).await
    }

    /// Checks the count again in the transaction that adds the resource, so that concurrent requests cannot exceed it.
    ///
    /// # Errors
    /// `quota_exceeded`
    pub async fn check_quota_in(
        &self,
        tx: &mut Tx,
        kind: ResourceKind,
        workspace: &str,
    ) -> Result<()> {
        // SQLite has one writer at a time. On PostgreSQL this lock serializes the transactions of a workspace.
        if self.backend() == Backend::Postgres {
            sqlx::query("SELECT id FROM workspaces WHERE id = $1 FOR NO KEY UPDATE")
                .bind(workspace)
                .execute(&mut **tx)
                .await?;
        }
        self.check_count(&mut **tx, kind, workspace).await
    }

    async fn check_count(
        &self,
        executor: impl Executor<'_, Database = Any>,
        kind: ResourceKind,
        workspace: &str,
    ) -> Result<()> {
        let limits = &self.quotas.limits;
        let (limit, rule) = match kind {
            ResourceKind::Datasources => (limits.datasources_per_workspace, ""),
            ResourceKind::Keys => (
                limits.keys_per_workspace,
                " AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
            ),
            ResourceKind::Minds => (limits.minds_per_workspace, ""),
            ResourceKind::Providers => (limits.providers_per_workspace, ""),
        };
        if limit == 0 {
            return Ok(());
        }
        let name = kind.name();
        let sql = format!("SELECT COUNT(*) FROM {name} WHERE workspace_id = $1{rule}");
        let query = sqlx::query_scalar(AssertSqlSafe(sql)).bind(workspace);
        let query = match kind {
            ResourceKind::Keys => query.bind(now()),
            _ => query,
        };
        let count: i64 = query.fetch_one(executor).await?;
        match count < i64::from(limit) {
            true => Ok(()),
            false => Err(exceeded(format!(
                "limit of {limit} {name} per workspace reached (limits.{name}_per_workspace); delete some first"
            ))),
        }
    }

    /// Checks that the disk is not nearly full. Refusing a request at its start leaves space for the end of running
    /// ones.
    ///
    /// # Errors
    /// `storage_full`
    pub fn check_free_space(&self) -> Result<()> {
        match self.quotas.free_bytes() >= self.quotas.min_free_bytes {
            true => Ok(()),
            false => Err(Error::storage_full()),
        }
    }

    /// Checks a key's byte quota before any work for it. Queries only for keys that were over quota; for others,
    /// [`Self::add_stored`] decides.
    ///
    /// # Errors
    /// `quota_exceeded`, `storage_full`
    pub async fn check_byte_quota(&self, workspace: &str, key: &str) -> Result<()> {
        self.check_free_space()?;
        if !lock(&self.quotas.over_quota).contains(key) {
            return Ok(());
        }
        let own: Option<i64> =
            sqlx::query_scalar("SELECT bytes FROM stored_bytes WHERE key_id = $1")
                .bind(key)
                .fetch_optional(self.pool())
                .await?;
        let all: i64 = sqlx::query_scalar(WORKSPACE_BYTES)
            .bind(workspace)
            .fetch_one(self.pool())
            .await?;
        self.quotas.check(own.unwrap_or(0), all)?;
        lock(&self.quotas.over_quota).remove(key);
        Ok(())
    }

    /// Counts the bytes that a transaction stores.
    ///
    /// # Errors
    /// `quota_exceeded` when a key or its workspace is over quota; then the transaction must not be committed.
    pub async fn add_stored(&self, tx: &mut Tx, stored: &StoredBytes) -> Result<()> {
        for (key, (workspace, bytes)) in &stored.0 {
            self.count_and_check(tx, workspace, key, *bytes).await??;
        }
        Ok(())
    }

    /// Counts bytes that a transaction stores or removes for an admitted request. If the key is over quota then, its
    /// next request is refused.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn count_stored(
        &self,
        tx: &mut Tx,
        workspace: &str,
        key: &str,
        bytes: i64,
    ) -> Result<()> {
        // The inner result is for the next request.
        let _ = self.count_and_check(tx, workspace, key, bytes).await?;
        Ok(())
    }

    /// Counts bytes. The outer result is that of the query, the inner one that of the quota.
    async fn count_and_check(
        &self,
        tx: &mut Tx,
        workspace: &str,
        key: &str,
        bytes: i64,
    ) -> Result<Result<()>> {
        let own = count(tx, workspace, key, bytes).await?;
        let all = match self.quotas.max_workspace_bytes {
            0 => 0,
            _ => {
                sqlx::query_scalar(WORKSPACE_BYTES)
                    .bind(workspace)
                    .fetch_one(&mut **tx)
                    .await?
            }
        };
        let checked = self.quotas.check(own, all);
        if checked.is_err() {
            lock(&self.quotas.over_quota).insert(key.to_owned());
        }
        Ok(checked)
    }
}

impl Quotas {
    fn check(&self, own: i64, all: i64) -> Result<()> {
        let exceeds = |used: i64, max: u64| max > 0 && u64::try_from(used).unwrap_or(0) > max;
        let advice = "delete conversations (DELETE /conversations/{id}) or responses (DELETE /responses/{id}), or send `store: false`; \
                      responses stored for an `Idempotency-Key` expire after a day";
        if exceeds(own, self.max_key_bytes) {
            return Err(exceeded(format!(
                "limit of {} bytes of conversations and responses per key reached (store.max_key_bytes); {advice}",
                self.max_key_bytes
            )));
        }
        if exceeds(all, self.max_workspace_bytes) {
            return Err(exceeded(format!(
                "limit of {} bytes of conversations and responses per workspace reached (store.max_workspace_bytes); {advice}",
                self.max_workspace_bytes
            )));
        }
        Ok(())
    }
}

const WORKSPACE_BYTES: &str =
    "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM stored_bytes WHERE workspace_id = $1";

/// Counts bytes that a transaction stores or removes, without a check: the end of an admitted request must be written.
pub async fn count(tx: &mut Tx, workspace: &str, key: &str, bytes: i64) -> Result<i64> {
    let own = sqlx::query_scalar(
        "INSERT INTO stored_bytes (key_id, workspace_id, bytes) VALUES ($1, $2, $3) ON CONFLICT (key_id) DO UPDATE \
         SET bytes = CASE WHEN stored_bytes.bytes + excluded.bytes < 0 THEN 0 ELSE stored_bytes.bytes + excluded.bytes END \
         RETURNING bytes",
    )
    .bind(key)
    .bind(workspace)
    .bind(bytes)
    .fetch_one(&mut **tx)
    .await?;
    Ok(own)
}

/// The error of a quota.
fn exceeded(message: String) -> Error {
    Error::new(Code::QuotaExceeded, message).with_retry_after(RETRY_AFTER)
}
