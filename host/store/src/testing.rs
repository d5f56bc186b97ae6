//! A store for the tests of the crates above, which cannot share what is compiled for tests alone.

#![allow(
    clippy::unwrap_used,
    reason = "a fixture that cannot do its work fails the test with the reason"
)]

use mindhost_base::config::Config;

use crate::{DEFAULT_WORKSPACE, Store, migrations::migrator};

/// An empty store on SQLite, with the id of its workspace. The directory is deleted when the first field is dropped.
///
/// # Panics
/// When the directory or the store cannot be made.
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

/// Makes the tables of an earlier version.
///
/// # Panics
/// When a migration fails.
pub async fn migrate_to(store: &Store, version: i64) {
    let migrator = migrator(store.backend, version);
    migrator.run(&store.pool).await.unwrap();
}
