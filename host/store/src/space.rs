//! Space that was deleted from the file of an SQLite store, given back to the disk. PostgreSQL does so by itself.

use std::time::Duration;

use sqlx::Connection;
use tokio::time::sleep;

use super::{Backend, Store};
use mindhost_base::error::Result;

/// How often it is looked for.
const LOOK: Duration = Duration::from_secs(10);
/// Free pages that a file may keep for what comes next: 4 MiB.
const KEPT_PAGES: i64 = 1024;
/// Pages that are given back in one transaction, so that no writer waits long.
const PAGES_AT_ONCE: i64 = 512;
/// How long the end of giving back waits for readers while it keeps writers waiting, in milliseconds.
const PATIENCE_MS: u32 = 100;
/// `PRAGMA auto_vacuum` of a file whose free pages can be given back a few at a time.
const INCREMENTAL: i64 = 2;

impl Store {
    /// Gives back what was deleted, a little at a time, for as long as the future is polled.
    pub async fn give_space_back(&self) {
        if self.backend() != Backend::Sqlite {
            return;
        }
        loop {
            sleep(LOOK).await;
            if let Err(error) = self.give_some_back().await {
                tracing::debug!(cause = ?std::error::Error::source(&error), "the store could not give space back");
            }
        }
    }

    async fn give_some_back(&self) -> Result<()> {
        let mut free = self.pragma("freelist_count").await?;
        if free <= KEPT_PAGES || self.pragma("auto_vacuum").await? != INCREMENTAL {
            return Ok(());
        }
        while free > KEPT_PAGES {
            let mut tx = self.begin_records().await?;
            let step = format!("PRAGMA incremental_vacuum({PAGES_AT_ONCE})");
            sqlx::query(sqlx::AssertSqlSafe(step))
                .fetch_all(&mut *tx)
                .await?;
            tx.commit().await?;
            let left = self.pragma("freelist_count").await?;
            if left >= free {
                break;
            }
            free = left;
        }
        // The file becomes shorter when what was written reaches it. The most of that is done while others write.
        sqlx::query("PRAGMA wal_checkpoint(PASSIVE)")
            .fetch_all(self.pool())
            .await?;
        let _turn = self.turn().await?;
        // On a connection of its own, which waits for no reader: another time will do.
        let mut connection = self.pool().acquire().await?.detach();
        let rest = format!("PRAGMA busy_timeout = {PATIENCE_MS}; PRAGMA wal_checkpoint(TRUNCATE);");
        sqlx::raw_sql(sqlx::AssertSqlSafe(rest))
            .execute(&mut connection)
            .await?;
        Ok(connection.close().await?)
    }

    /// Lets an existing file give space back later. It is written anew for that once, which needs as much space again;
    /// where that is not there the file stays as it is.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn let_space_go(&self) -> Result<()> {
        if self.backend() != Backend::Sqlite || self.pragma("auto_vacuum").await? == INCREMENTAL {
            return Ok(());
        }
        let bytes = self.pragma("page_count").await? * self.pragma("page_size").await?;
        if self.bounds.free() / 2 < u64::try_from(bytes).unwrap_or(0) {
            tracing::warn!(
                bytes,
                "too little space is free on the disk to write the store anew: what is deleted from it stays in its file"
            );
            return Ok(());
        }
        tracing::info!(
            bytes,
            "writing the store anew, so that it can give back what is deleted"
        );
        // Both on one connection, which ends with it: the pragma alone changes nothing.
        let mut connection = self.pool().acquire().await?.detach();
        sqlx::raw_sql("PRAGMA auto_vacuum = INCREMENTAL; VACUUM;")
            .execute(&mut connection)
            .await?;
        Ok(connection.close().await?)
    }

    async fn pragma(&self, name: &str) -> Result<i64> {
        let mut connection = self.pool().acquire().await?;
        // A connection reads the head of the file with the next table that it reads, and until then it says what it knew.
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
    async fn what_is_deleted_leaves_the_file() {
        let (dir, store, _) = temporary().await;
        fill_and_empty(&store).await;
        store.give_some_back().await.unwrap();
        let left = std::fs::metadata(dir.path().join("mindhost.db")).unwrap();
        assert!(left.len() < 8 << 20, "{}", left.len());
    }

    #[tokio::test]
    async fn a_file_from_before_learns_to_give_space_back() {
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
        store.give_some_back().await.unwrap();
        assert!(std::fs::metadata(old).unwrap().len() < 8 << 20);
    }
}
