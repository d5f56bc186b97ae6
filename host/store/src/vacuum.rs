//! Incremental vacuum of the SQLite file, which returns deleted space to the disk. PostgreSQL vacuums itself.

use std::time::Duration;

use sqlx::Connection;
use tokio::time::sleep;

use super::{Backend, Store};
use mindhost_base::error::Result;

/// How often the file is checked.
const INTERVAL: Duration = Duration::from_secs(10);
/// Free pages that stay in the file for new rows: 4 MiB.
const SPARE_PAGES: i64 = 1024;
/// Pages freed per transaction, so that no writer waits long.
const PAGES_PER_STEP: i64 = 512;
/// How long the final checkpoint waits for readers, in milliseconds. Writers wait in the meantime.
const CHECKPOINT_TIMEOUT_MS: u32 = 100;
/// The value of `PRAGMA auto_vacuum` that allows an incremental vacuum.
pub const INCREMENTAL: i64 = 2;

impl Store {
    /// Vacuums in small steps for as long as the future is polled.
    pub async fn run_vacuum(&self) {
        if self.backend() != Backend::Sqlite {
            return;
        }
        loop {
            sleep(INTERVAL).await;
            if let Err(error) = self.vacuum().await {
                tracing::debug!(cause = ?std::error::Error::source(&error), "the vacuum of the store failed");
            }
        }
    }

    async fn vacuum(&self) -> Result<()> {
        let mut free = self.pragma("freelist_count").await?;
        if free <= SPARE_PAGES || self.pragma("auto_vacuum").await? != INCREMENTAL {
            return Ok(());
        }
        while free > SPARE_PAGES {
            let mut tx = self.begin_records().await?;
            let step = format!("PRAGMA incremental_vacuum({PAGES_PER_STEP})");
            sqlx::query(sqlx::AssertSqlSafe(step))
                .fetch_all(&mut *tx)
                .await?;
            tx.commit().await?;
            let remaining = self.pragma("freelist_count").await?;
            if remaining >= free {
                break;
            }
            free = remaining;
        }
        // The file shrinks at the checkpoint. A passive one does most of the work without blocking writers.
        sqlx::query("PRAGMA wal_checkpoint(PASSIVE)")
            .fetch_all(self.pool())
            .await?;
        let _writer = self.lock_writer().await?;
        // On a connection of its own with a short busy timeout: if readers block it, the next round tries again.
        let mut connection = self.pool().acquire().await?.detach();
        let checkpoint = format!(
            "PRAGMA busy_timeout = {CHECKPOINT_TIMEOUT_MS}; PRAGMA wal_checkpoint(TRUNCATE);"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(checkpoint))
            .execute(&mut connection)
            .await?;
        Ok(connection.close().await?)
    }

    /// Enables the incremental vacuum for an existing file. That rewrites the file once, which needs as much space
    /// again; without it the file stays as it is.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn enable_vacuum(&self) -> Result<()> {
        if self.backend() != Backend::Sqlite || self.pragma("auto_vacuum").await? == INCREMENTAL {
            return Ok(());
        }
        let bytes = self.pragma("page_count").await? * self.pragma("page_size").await?;
        if self.quotas.free_bytes() / 2 < u64::try_from(bytes).unwrap_or(0) {
            tracing::warn!(
                bytes,
                "the disk has too little space to rewrite the store, so its file will not shrink"
            );
            return Ok(());
        }
        tracing::info!(
            bytes,
            "rewriting the store once, so that its file can shrink"
        );
        // Both on one connection, which is closed: the pragma takes effect with the VACUUM.
        let mut connection = self.pool().acquire().await?.detach();
        sqlx::raw_sql("PRAGMA auto_vacuum = INCREMENTAL; VACUUM;")
            .execute(&mut connection)
            .await?;
        Ok(connection.close().await?)
    }

    async fn pragma(&self, name: &str) -> Result<i64> {
        let mut connection = self.pool().acquire().await?;
        // A connection refreshes its copy of the file header only when it reads a table.
        sqlx::query("SELECT count(*) FROM sqlite_schema")
            .fetch_one(&mut *connection)
            .await?;
        let sql = format!("PRAGMA {name}");
        let value: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .fetch_one(&mut *connection)
            .await?;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::temporary;

    async fn fill_and_empty(store: &Store) {
        let mut tx = store.begin_records().await.unwrap();
        for number in 0..40 {
            sqlx::query("INSERT INTO host_facts (name, value) VALUES ($1, $2)")
                .bind(format!("filling {number}"))
                .bind(vec![7_u8; 512 << 10])
                .execute(&mut *tx)
                .await
                .unwrap();
        }
        tx.commit().await.unwrap();
        sqlx::query("DELETE FROM host_facts WHERE name LIKE 'filling%'")
            .execute(store.pool())
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn file_shrinks_after_rows_are_deleted() {
        let (dir, store, _) = temporary().await;
        fill_and_empty(&store).await;
        store.vacuum().await.unwrap();
        let file = std::fs::metadata(dir.path().join("mindhost.db")).unwrap();
        assert!(file.len() < 8 << 20, "{}", file.len());
    }

    #[tokio::test]
    async fn file_of_an_earlier_version_shrinks_too() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("mindhost.db");
        let url = format!("sqlite://{}?mode=rwc", old.display());
        let mut before = sqlx::SqliteConnection::connect(&url).await.unwrap();
        sqlx::raw_sql("PRAGMA journal_mode = WAL; CREATE TABLE something (a);")
            .execute(&mut before)
            .await
            .unwrap();
        before.close().await.unwrap();
        let var = (
            "MINDHOST_DATA_DIR".to_owned(),
            dir.path().display().to_string(),
        );
        let config = mindhost_base::config::Config::from_env([var]).unwrap();
        let store = Store::open(&config).await.unwrap();
        assert_eq!(store.pragma("auto_vacuum").await.unwrap(), 0);
        store.migrate().await.unwrap();
        assert_eq!(store.pragma("auto_vacuum").await.unwrap(), INCREMENTAL);
        fill_and_empty(&store).await;
        store.vacuum().await.unwrap();
        assert!(std::fs::metadata(old).unwrap().len() < 8 << 20);
    }
}
