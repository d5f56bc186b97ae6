//! A store for tests. Not behind `cfg(test)`, because the tests of other crates use it.

#![allow(
    clippy::unwrap_used,
    reason = "a fixture that fails makes the test fail with the reason"
)]

use mindhost_base::config::Config;

use crate::{DEFAULT_WORKSPACE, Store, migrations::migrator};

/// An empty SQLite store and the id of its workspace. Dropping the first field deletes the directory.
///
/// # Panics
/// When the directory or the store cannot be created.
pub async fn temporary() -> (tempfile::TempDir, Store, String) {
    let dir = tempfile::tempdir().unwrap();
    let var = (
        "MINDHOST_DATA_DIR".to_owned(),
        dir.path().display().to_string(),
    );
    let config = Config::from_env([var]).unwrap();
    let store = Store::open(&config).await.unwrap();
    store.migrate().await.unwrap();
    let workspace = store.ensure_workspace(DEFAULT_WORKSPACE).await.unwrap();
    (dir, store, workspace)
}

/// Migrates to an earlier version.
///
/// # Panics
/// When a migration fails.
pub async fn migrate_to(store: &Store, version: i64) {
    let migrator = migrator(store.backend, version);
    migrator.run(&store.pool).await.unwrap();
}
