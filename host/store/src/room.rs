//! How much there may be in the store: things of a workspace, bytes of a key and of a workspace, and what is left on the
//! disk.

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
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

/// How long the free space of the disk is believed.
const LOOKED: Duration = Duration::from_secs(1);
/// When a client may look again whether somebody made room.
const LATER: Duration = Duration::from_secs(60);

/// What of a workspace is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Datasources.
    Datasources,
    /// Keys that are valid.
    Keys,
    /// Minds.
    Minds,
    /// Model providers.
    Providers,
}

impl Counted {
    fn name(self) -> &'static str {
        match self {
            Self::Datasources => "datasources",
            Self::Keys => "keys",
            Self::Minds => "minds",
            Self::Providers => "providers",
        }
    }
}

/// What a stored row counts for a key beside its text.
pub const ROW_BYTES: usize = 256;

/// The bounds of a store, and what is known of how much is used.
#[derive(Debug)]
pub(super) struct Bounds {
    limits: config::Limits,
    max_key_bytes: u64,
    max_workspace_bytes: u64,
    min_free_bytes: u64,
    /// Where the store's own file is; none where a server keeps it.
    dir: Option<PathBuf>,
    /// Keys that were refused because they, or their workspaces, are full. All others are let in without a look.
    full: Mutex<HashSet<String>>,
    disk: Mutex<Option<Instant>>,
    free: AtomicU64,
}

impl Bounds {
    pub fn of(config: &config::Config, dir: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            limits: config.limits.clone(),
            max_key_bytes: config.store.max_key_bytes,
            max_workspace_bytes: config.store.max_workspace_bytes,
            min_free_bytes: config.store.min_free_bytes,
            dir,
            full: Mutex::default(),
            disk: Mutex::default(),
            free: AtomicU64::new(u64::MAX),
        })
    }

    /// Bytes that are free on the disk of the store, as of a moment ago; all there are where it is unknown.
    pub fn free(&self) -> u64 {
        let Some(dir) = &self.dir else {
            return u64::MAX;
        };
        let mut looked = lock(&self.disk);
        if looked.is_none_or(|at| at.elapsed() > LOOKED) {
            let free = rustix::fs::statvfs(dir)
                .map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
            self.free.store(free, Ordering::Relaxed);
            *looked = Some(Instant::now());
        }
        self.free.load(Ordering::Relaxed)
    }
}

/// What is added to the sums of some keys: by key, its workspace and the bytes.
#[derive(Debug, Default)]
pub struct Added(BTreeMap<String, (String, i64)>);

impl Added {
    /// Bytes of one key.
    pub fn of(workspace: &str, key: &str, bytes: usize) -> Self {
        let mut added = Self::default();
        added.add(workspace, key, bytes);
        added
    }

    /// More bytes of a key.
    pub fn add(&mut self, workspace: &str, key: &str, bytes: usize) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let sum = self.0.entry(key.to_owned()).or_default();
        *sum = (workspace.to_owned(), sum.1.saturating_add(bytes));
    }
}

impl Store {
    /// Refuses one more of something where a workspace has as many as it may have, or where the disk is full.
    ///
    /// # Errors
    /// `quota_exceeded`, `storage_full`
    pub async fn require_room_for(&self, what: Counted, workspace: &str) -> Result<()> {
        self.require_disk()?;
        self.check_count(self.pool(), what, workspace).await
    }

    /// Counts again in the transaction that adds one, so that of many requests in the same moment no more are let in than
    /// there is room for.
    ///
    /// # Errors
    /// `quota_exceeded`
    pub async fn require_room_in(&self, tx: &mut Tx, what: Counted, workspace: &str) -> Result<()> {
        // SQLite has one writer at a time; in PostgreSQL those of one workspace wait for each other here.
        if self.backend() == Backend::Postgres {
            sqlx::query("SELECT id FROM workspaces WHERE id = $1 FOR NO KEY UPDATE")
                .bind(workspace)
                .execute(&mut **tx)
                .await?;
        }
        self.check_count(&mut **tx, what, workspace).await
    }

    async fn check_count(
        &self,
        executor: impl Executor<'_, Database = Any>,
        what: Counted,
        workspace: &str,
    ) -> Result<()> {
        let limits = &self.bounds.limits;
        let (limit, rule) = match what {
            Counted::Datasources => (limits.datasources_per_workspace, ""),
            Counted::Keys => (
                limits.keys_per_workspace,
                " AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
            ),
            Counted::Minds => (limits.minds_per_workspace, ""),
            Counted::Providers => (limits.providers_per_workspace, ""),
        };
        if limit == 0 {
            return Ok(());
        }
        let name = what.name();
        let sql = format!("SELECT COUNT(*) FROM {name} WHERE workspace_id = $1{rule}");
        let query = sqlx::query_scalar(AssertSqlSafe(sql)).bind(workspace);
        let query = match what {
            Counted::Keys => query.bind(now()),
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

    /// Refuses to write more where the disk is nearly full: better nothing of a request than a part of it, and what is
    /// left is for what must be written, such as the end of what was begun.
    ///
    /// # Errors
    /// `storage_full`
    pub fn require_disk(&self) -> Result<()> {
        match self.bounds.free() >= self.bounds.min_free_bytes {
            true => Ok(()),
            false => Err(Error::storage_full()),
        }
    }

    /// Refuses a key that would store more, before any work is done for it. Where nothing was refused before, nothing is
    /// asked: then [`Self::add_stored`] decides.
    ///
    /// # Errors
    /// `quota_exceeded`, `storage_full`
    pub async fn require_room_to_store(&self, workspace: &str, key: &str) -> Result<()> {
        self.require_disk()?;
        if !lock(&self.bounds.full).contains(key) {
            return Ok(());
        }
        let own: Option<i64> =
            sqlx::query_scalar("SELECT bytes FROM stored_bytes WHERE key_id = $1")
                .bind(key)
                .fetch_optional(self.pool())
                .await?;
        let all: i64 = sqlx::query_scalar(OF_WORKSPACE)
            .bind(workspace)
            .fetch_one(self.pool())
            .await?;
        self.bounds.check(own.unwrap_or(0), all)?;
        lock(&self.bounds.full).remove(key);
        Ok(())
    }

    /// Counts what a transaction stores for keys.
    ///
    /// # Errors
    /// `quota_exceeded` when it is too much for a key or its workspace; the transaction must not be committed then.
    pub async fn add_stored(&self, tx: &mut Tx, added: &Added) -> Result<()> {
        for (key, (workspace, bytes)) in &added.0 {
            self.counted(tx, workspace, key, *bytes).await??;
        }
        Ok(())
    }

    /// Counts what a transaction stores or removes for a key that was let in before. A key that then has too much is
    /// refused by its next request.
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
        // Whether it is too much now is for the next request.
        let _ = self.counted(tx, workspace, key, bytes).await?;
        Ok(())
    }

    /// The outer result is the store's, the inner one says whether it is too much.
    async fn counted(
        &self,
        tx: &mut Tx,
        workspace: &str,
        key: &str,
        bytes: i64,
    ) -> Result<Result<()>> {
        let own = count(tx, workspace, key, bytes).await?;
        let all = match self.bounds.max_workspace_bytes {
            0 => 0,
            _ => {
                sqlx::query_scalar(OF_WORKSPACE)
                    .bind(workspace)
                    .fetch_one(&mut **tx)
                    .await?
            }
        };
        let checked = self.bounds.check(own, all);
        if checked.is_err() {
            lock(&self.bounds.full).insert(key.to_owned());
        }
        Ok(checked)
    }
}

impl Bounds {
    fn check(&self, own: i64, all: i64) -> Result<()> {
        let is_more = |used: i64, max: u64| max > 0 && u64::try_from(used).unwrap_or(0) > max;
        let advice = "delete conversations (DELETE /conversations/{id}) or responses (DELETE /responses/{id}), or send `store: false`; \
                      what is kept for an `Idempotency-Key` goes after a day";
        if is_more(own, self.max_key_bytes) {
            return Err(exceeded(format!(
                "this key would store more than the {} bytes of conversations and responses that it may (store.max_key_bytes); {advice}",
                self.max_key_bytes
            )));
        }
        if is_more(all, self.max_workspace_bytes) {
            return Err(exceeded(format!(
                "the keys of this workspace would store more than the {} bytes of conversations and responses that they may \
                 (store.max_workspace_bytes); {advice}",
                self.max_workspace_bytes
            )));
        }
        Ok(())
    }
}

const OF_WORKSPACE: &str =
    "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM stored_bytes WHERE workspace_id = $1";

/// Counts what a transaction stores or removes, whatever the bounds are: the end of what was let in.
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

/// There is as much of something as there may be.
fn exceeded(message: String) -> Error {
    Error::new(Code::QuotaExceeded, message).with_retry_after(LATER)
}
