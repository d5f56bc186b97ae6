//! Opens and migrates the store.

use std::{cmp::Ordering, fs::OpenOptions, os::unix::fs::OpenOptionsExt, path::Path, sync::Arc};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sqlx::{
    AssertSqlSafe, Executor,
    any::{AnyPoolOptions, install_default_drivers},
    postgres::PgConnectOptions,
};

use super::{Backend, Store, migrations, remembered::Changes, room::Bounds};
use mindhost_base::config::{self, Config, Synchronous};

/// What the journal of SQLite may keep of the disk between two times.
const WAL_BYTES: u32 = 64 << 20;

/// What need not be escaped in the path of a URL.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'.')
    .remove(b'-')
    .remove(b'_');

/// Why the store cannot be used. Never holds the password of its URL.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file of the store cannot be made.
    #[error("the store {path} cannot be made: {source}; check the rights on its directory")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The URL is of another kind.
    #[error("database_url must begin with postgres:// or be empty (SQLite in the data directory)")]
    Url,
    /// The database refuses or does not answer.
    #[error("the store cannot be opened: {0}; check database_url and that the server runs")]
    Connect(#[source] sqlx::Error),
    /// The tables cannot be brought up to date.
    #[error("the store cannot be migrated: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
}

/// How the tables of a store compare with what this program needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migrations {
    /// `serve` will bring them up to date.
    Behind,
    /// As they should be.
    UpToDate,
    /// A later version of the program made them.
    Ahead,
}

impl Store {
    /// Host and port of the database server that a URL names, as its driver understands the URL; none for a socket in
    /// the file system.
    pub fn server(url: &str) -> Option<(String, u16)> {
        let options: PgConnectOptions = url.parse().ok()?;
        let host = options.get_host().trim_matches(['[', ']']);
        let is_socket = options.get_socket().is_some() || host.starts_with('/');
        (!is_socket).then(|| (host.to_owned(), options.get_port()))
    }

    /// Opens the store that the settings name, without touching its tables.
    ///
    /// # Errors
    /// When it cannot be reached or made.
    pub async fn open(config: &Config) -> Result<Self, OpenError> {
        install_default_drivers();
        let (url, backend) = match config.database_url.get() {
            None => (sqlite_url(&config.data_dir)?, Backend::Sqlite),
            Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                (url.to_owned(), Backend::Postgres)
            }
            Some(_) => return Err(OpenError::Url),
        };
        let set_up: Arc<str> = set_up(backend, &config.store).into();
        let pool = AnyPoolOptions::new()
            // A file does not go away as a server does, and asking costs as much as a query.
            .test_before_acquire(backend == Backend::Postgres)
            .max_connections(config.store.max_connections)
            .acquire_timeout(config.store.acquire_timeout)
            .after_connect(move |connection, _| {
                let set_up = set_up.clone();
                Box::pin(async move {
                    connection.execute(AssertSqlSafe(set_up)).await?;
                    Ok(())
                })
            })
            .connect(&url)
            .await
            .map_err(OpenError::Connect)?;
        Ok(Self {
            pool,
            backend,
            workspaces: Arc::default(),
            changes: Changes::default(),
            bounds: Bounds::of(
                config,
                (backend == Backend::Sqlite).then(|| config.data_dir.clone()),
            ),
            turn: Arc::default(),
            patience: config.store.acquire_timeout,
        })
    }

    /// How the tables compare with what this program needs. Changes nothing.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn migrations(&self) -> mindhost_base::Result<Migrations> {
        let sql = "SELECT max(version) FROM _sqlx_migrations";
        let newest: Option<i64> = match sqlx::query_scalar(sql).fetch_one(self.pool()).await {
            Ok(newest) => newest,
            // No such table: nothing was ever migrated.
            Err(sqlx::Error::Database(_)) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(match newest.unwrap_or(0).cmp(&migrations::newest()) {
            Ordering::Less => Migrations::Behind,
            Ordering::Equal => Migrations::UpToDate,
            Ordering::Greater => Migrations::Ahead,
        })
    }

    /// Brings the tables up to date. Several hosts may do so at once: one does, the others wait.
    ///
    /// # Errors
    /// When a migration fails or the store is newer than this program.
    pub async fn migrate(&self) -> Result<(), OpenError> {
        let migrator = migrations::migrator(self.backend, migrations::newest());
        migrator.run(&self.pool).await?;
        if let Err(error) = self.let_space_go().await {
            let cause = std::error::Error::source(&error);
            tracing::warn!(
                ?cause,
                "the store cannot be written anew: what is deleted from it stays in its file"
            );
        }
        Ok(())
    }
}

/// The file is made here and not by SQLite, so that nobody else can read it, not even for a moment.
fn sqlite_url(data_dir: &Path) -> Result<String, OpenError> {
    let path = data_dir.join("mindhost.db");
    let failed = |source| OpenError::File {
        path: path.display().to_string(),
        source,
    };
    mindhost_base::owner_only::make_dir(data_dir).map_err(failed)?;
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&path)
        .map_err(failed)?;
    let path = path.canonicalize().map_err(failed)?;
    let escaped = utf8_percent_encode(&path.to_string_lossy(), PATH).to_string();
    Ok(format!("sqlite://{escaped}"))
}

/// What each connection begins with. Of SQLite, that a file gives back what is deleted comes before it has a page.
fn set_up(backend: Backend, settings: &config::Store) -> String {
    if backend == Backend::Postgres {
        return "SET TIME ZONE 'UTC'".to_owned();
    }
    let synchronous = match settings.synchronous {
        Synchronous::Normal => "NORMAL",
        Synchronous::Full => "FULL",
    };
    let patience = settings.acquire_timeout.as_millis().min(i32::MAX as u128);
    format!(
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; \
         PRAGMA foreign_keys = ON; PRAGMA busy_timeout = {patience}; PRAGMA trusted_schema = OFF; \
         PRAGMA journal_size_limit = {WAL_BYTES};"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    async fn the_file_is_private_and_migrating_twice_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = dir.path().join("data with spaces & ümläuts");
        let vars = [("MINDHOST_DATA_DIR", data_dir.to_str().unwrap())];
        let config = Config::from_env(vars.map(|(n, v)| (n.to_owned(), v.to_owned()))).unwrap();
        let store = Store::open(&config).await.unwrap();
        assert_eq!(store.migrations().await.unwrap(), Migrations::Behind);
        store.migrate().await.unwrap();
        store.migrate().await.unwrap();
        assert_eq!(store.migrations().await.unwrap(), Migrations::UpToDate);
        store.ping().await.unwrap();
        let mode = std::fs::metadata(data_dir.join("mindhost.db"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
