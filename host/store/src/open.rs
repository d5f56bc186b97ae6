//! Opens and migrates the store.

use std::{
    cmp::Ordering, fs::OpenOptions, os::unix::fs::OpenOptionsExt, path::Path, sync::Arc,
    time::Duration,
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sqlx::{
    AnyConnection, AssertSqlSafe, Connection, Executor,
    any::{AnyPoolOptions, install_default_drivers},
    postgres::PgConnectOptions,
};
use tokio::{sync::Mutex, time::timeout};

use super::{
    Backend, Store, cache::ChangeCounter, migrations, quotas::Quotas, vacuum::INCREMENTAL,
};
use mindhost_base::config::{self, Config, Synchronous};

/// Size to which SQLite truncates its write-ahead log.
const WAL_BYTES: u32 = 64 << 20;

/// How long an attempt to connect may take that only finds out why there is no connection.
const DIAGNOSIS_TIMEOUT: Duration = Duration::from_secs(2);

/// Characters to escape in the path of a URL.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'.')
    .remove(b'-')
    .remove(b'_');

/// Why the store cannot be opened. Never contains the password of its URL.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file of the store cannot be created.
    #[error("cannot create the store {path}: {source}; check the permissions of its directory")]
    File {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The URL has another scheme.
    #[error("database_url must begin with postgres:// or be empty (SQLite in the data directory)")]
    Url,
    /// The database refuses the connection or does not answer.
    ///
    /// The cause is part of the message, so it is not a source: a chain of causes would show it twice.
    #[error("cannot open the store: {}; check database_url and that the server runs", connect_message(.0))]
    Connect(sqlx::Error),
    /// The file of the store is no store, or cannot be read and written.
    #[error(
        "cannot open the store {path}: {}; check that it is an SQLite file, and that the user that runs the server may \
         write it and its directory",
        connect_message(.cause)
    )]
    Sqlite {
        /// The file.
        path: String,
        /// The cause, as above.
        cause: sqlx::Error,
    },
    /// A migration failed.
    #[error("cannot migrate the store: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
}

impl OpenError {
    fn of(config: &Config, backend: Backend, cause: sqlx::Error) -> Self {
        match backend {
            Backend::Postgres => Self::Connect(cause),
            Backend::Sqlite => Self::Sqlite {
                path: config.data_dir.join("mindhost.db").display().to_string(),
                cause,
            },
        }
    }
}

/// How the schema of a store compares with that of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// Migrations are missing; `serve` runs them.
    Behind,
    /// All migrations have run.
    UpToDate,
    /// A later version of the program has migrated the store.
    Ahead,
}

impl Store {
    /// Host and port of the database server in a URL, as its driver reads it; none for a Unix socket.
    pub fn server(url: &str) -> Option<(String, u16)> {
        let options: PgConnectOptions = url.parse().ok()?;
        let host = options.get_host().trim_matches(['[', ']']);
        let is_socket = options.get_socket().is_some() || host.starts_with('/');
        (!is_socket).then(|| (host.to_owned(), options.get_port()))
    }

    /// Opens the store of the settings. Does not change its tables.
    ///
    /// # Errors
    /// When the store cannot be created or reached.
    pub async fn open(config: &Config) -> Result<Self, OpenError> {
        install_default_drivers();
        let (url, backend) = match config.database_url.get() {
            None => (sqlite_url(&config.data_dir)?, Backend::Sqlite),
            Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                (url.to_owned(), Backend::Postgres)
            }
            Some(_) => return Err(OpenError::Url),
        };
        let setup: Arc<str> = session_setup(backend, &config.store).into();
        let of_pool = Arc::clone(&setup);
        let pool = AnyPoolOptions::new()
            // A file does not disconnect, and the test costs as much as a query.
            .test_before_acquire(backend == Backend::Postgres)
            .max_connections(config.store.max_connections)
            .acquire_timeout(config.store.acquire_timeout)
            .after_release(|connection, _| Box::pin(is_reusable(connection)))
            .after_connect(move |connection, _| {
                let setup = of_pool.clone();
                Box::pin(set_up(connection, backend, setup))
            })
            .connect(&url)
            .await;
        let pool = match pool {
            Ok(pool) => pool,
            Err(sqlx::Error::PoolTimedOut) => {
                // SQLite reads and writes its file only with the first statement.
                let attempt = connect(&url, backend, setup);
                let cause = connect_error(attempt).await;
                return Err(OpenError::of(config, backend, cause));
            }
            Err(error) => return Err(OpenError::of(config, backend, error)),
        };
        let anchor = match backend {
            Backend::Postgres => None,
            Backend::Sqlite => {
                let opened = connect(&url, backend, setup).await;
                Some(opened.map_err(|error| OpenError::of(config, backend, error))?)
            }
        };
        Ok(Self {
            pool,
            backend,
            anchor: Arc::new(Mutex::new(anchor)),
            workspaces: Arc::default(),
            changes: ChangeCounter::default(),
            quotas: Quotas::of(
                config,
                (backend == Backend::Sqlite).then(|| config.data_dir.clone()),
            ),
            writer: Arc::default(),
            write_timeout: config.store.acquire_timeout,
        })
    }

    /// Compares the schema with that of this program. Changes nothing.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn schema_state(&self) -> mindhost_base::Result<SchemaState> {
        let sql = "SELECT max(version) FROM _sqlx_migrations";
        let newest: Option<i64> = match sqlx::query_scalar(sql).fetch_one(self.pool()).await {
            Ok(newest) => newest,
            Err(sqlx::Error::Database(error)) if is_no_table(&*error) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(match newest.unwrap_or(0).cmp(&migrations::newest()) {
            Ordering::Less => SchemaState::Behind,
            Ordering::Equal => SchemaState::UpToDate,
            Ordering::Greater => SchemaState::Ahead,
        })
    }

    /// Runs the missing migrations. If several hosts do so at once, one runs them and the others wait.
    ///
    /// # Errors
    /// When a migration fails, or the store is newer than this program.
    pub async fn migrate(&self) -> Result<(), OpenError> {
        let migrator = migrations::migrator(self.backend, migrations::newest());
        migrator.run(&self.pool).await?;
        if let Err(error) = self.enable_vacuum().await {
            let cause = std::error::Error::source(&error);
            tracing::warn!(
                ?cause,
                "the store cannot be rewritten, so its file will not shrink"
            );
        }
        Ok(())
    }
}

/// Whether a table does not exist: no migration has run.
fn is_no_table(error: &dyn sqlx::error::DatabaseError) -> bool {
    let is_sqlites = error.message().starts_with("no such table");
    is_sqlites || error.code().is_some_and(|code| code == "42P01")
}

/// Why the pool could not connect, found by another attempt. The pool retries a refused connection until its timeout
/// and then reports only the timeout.
pub(super) async fn connect_error(
    attempt: impl Future<Output = sqlx::Result<AnyConnection>>,
) -> sqlx::Error {
    match timeout(DIAGNOSIS_TIMEOUT, attempt).await {
        Ok(Err(error)) => error,
        Ok(Ok(_)) | Err(_) => sqlx::Error::PoolTimedOut,
    }
}

/// The message of an error on connecting. The driver adds the line of the server's source to that of a server.
fn connect_message(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        sqlx::Error::PoolTimedOut => "no connection within store.acquire_timeout".to_owned(),
        other => other.to_string(),
    }
}

async fn connect(url: &str, backend: Backend, setup: Arc<str>) -> sqlx::Result<AnyConnection> {
    let mut connection = AnyConnection::connect(url).await?;
    set_up(&mut connection, backend, setup).await?;
    Ok(connection)
}

/// Sets up a new connection. Writes only to a new file: a connection opens while another one writes, and when the disk
/// is full.
async fn set_up(
    connection: &mut AnyConnection,
    backend: Backend,
    setup: Arc<str>,
) -> sqlx::Result<()> {
    if backend == Backend::Sqlite {
        // Each assignment writes it to the file. It must come before the file has a page.
        let mode: i64 = sqlx::query_scalar("PRAGMA auto_vacuum")
            .fetch_one(&mut *connection)
            .await?;
        if mode != INCREMENTAL {
            connection
                .execute("PRAGMA auto_vacuum = INCREMENTAL")
                .await?;
        }
    }
    connection.execute(AssertSqlSafe(setup)).await?;
    Ok(())
}

/// Whether a released connection may be used again. After a full disk SQLite ends the transaction itself, so its
/// rollback fails, and the driver counts it as open from then on: each later transaction would fail.
async fn is_reusable(connection: &mut AnyConnection) -> sqlx::Result<bool> {
    if !connection.is_in_transaction() {
        return Ok(true);
    }
    // A dropped transaction queues its rollback, and the ping returns after the rollback has run.
    connection.ping().await?;
    let has_ended = !connection.is_in_transaction();
    if !has_ended {
        tracing::warn!("closed a connection to the store whose transaction could not be ended");
    }
    Ok(has_ended)
}

/// The URL of the SQLite file. Creates the file with mode 0600, because SQLite would create it readable for others.
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

/// The statements that set up each connection.
fn session_setup(backend: Backend, settings: &config::Store) -> String {
    if backend == Backend::Postgres {
        return "SET TIME ZONE 'UTC'".to_owned();
    }
    let synchronous = match settings.synchronous {
        Synchronous::Normal => "NORMAL",
        Synchronous::Full => "FULL",
    };
    let busy_timeout = settings.acquire_timeout.as_millis().min(i32::MAX as u128);
    format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA foreign_keys = ON; \
         PRAGMA busy_timeout = {busy_timeout}; PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = {WAL_BYTES};"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_base::error::Code;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    async fn file_is_private_and_second_migration_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = dir.path().join("data with spaces & ümläuts");
        let vars = [("MINDHOST_DATA_DIR", data_dir.to_str().unwrap())];
        let config = Config::from_env(vars.map(|(n, v)| (n.to_owned(), v.to_owned()))).unwrap();
        let store = Store::open(&config).await.unwrap();
        assert_eq!(store.schema_state().await.unwrap(), SchemaState::Behind);
        store.migrate().await.unwrap();
        store.migrate().await.unwrap();
        assert_eq!(store.schema_state().await.unwrap(), SchemaState::UpToDate);
        store.ping().await.unwrap();
        let mode = std::fs::metadata(data_dir.join("mindhost.db"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[tokio::test]
    async fn file_that_is_no_store_is_told_by_its_name_and_cause() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mindhost.db");
        std::fs::write(&file, [b'x'; 5_000]).unwrap();
        let vars = [
            ("MINDHOST_DATA_DIR", dir.path().to_str().unwrap()),
            ("MINDHOST_STORE__ACQUIRE_TIMEOUT", "200ms"),
        ];
        let config = Config::from_env(vars.map(|(n, v)| (n.to_owned(), v.to_owned()))).unwrap();
        let Err(error) = Store::open(&config).await else {
            panic!("the store was opened");
        };
        let error = error.to_string();
        for part in [file.to_str().unwrap(), "file is not a database"] {
            assert!(error.contains(part), "{error}");
        }
        assert!(!error.contains("database_url"), "{error}");
    }

    #[tokio::test]
    async fn store_whose_pages_are_broken_is_not_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        let vars = [("MINDHOST_DATA_DIR", dir.path().to_str().unwrap())];
        let config = Config::from_env(vars.map(|(n, v)| (n.to_owned(), v.to_owned()))).unwrap();
        let store = Store::open(&config).await.unwrap();
        store.migrate().await.unwrap();
        store.close().await;
        let file = dir.path().join("mindhost.db");
        let mut bytes = std::fs::read(&file).unwrap();
        // Behind the head of the file, which says what it is.
        bytes[100..].fill(0xff);
        std::fs::write(&file, bytes).unwrap();
        let state = match Store::open(&config).await {
            Ok(store) => store.schema_state().await.map_err(|_| ()),
            Err(_) => Err(()),
        };
        assert_eq!(state, Err(()));
    }

    /// A store with one connection, so that each statement uses the connection of the one before.
    async fn store_of_one_connection() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let vars = [
            ("MINDHOST_DATA_DIR", dir.path().to_str().unwrap()),
            ("MINDHOST_STORE__MAX_CONNECTIONS", "1"),
        ];
        let config = Config::from_env(vars.map(|(n, v)| (n.to_owned(), v.to_owned()))).unwrap();
        let store = Store::open(&config).await.unwrap();
        store.migrate().await.unwrap();
        (dir, store)
    }

    async fn insert(store: &Store, name: &str) -> mindhost_base::Result<()> {
        let mut tx = store.begin().await?;
        sqlx::query("INSERT INTO host_facts (name, value) VALUES ($1, $2)")
            .bind(name)
            .bind(vec![7_u8; 512 << 10])
            .execute(&mut *tx)
            .await?;
        Ok(tx.commit().await?)
    }

    #[tokio::test]
    async fn store_writes_again_after_a_full_disk() {
        let (_dir, store) = store_of_one_connection().await;
        let limit_pages = async |pages: &'static str| {
            sqlx::query(AssertSqlSafe(format!("PRAGMA max_page_count = {pages}")))
                .fetch_one(store.pool())
                .await
                .unwrap();
        };
        // SQLite raises this to the size of the file.
        limit_pages("1").await;
        let error = insert(&store, "too large").await.unwrap_err();
        assert_eq!(error.code(), Code::StorageFull);
        limit_pages("1000000").await;
        insert(&store, "fits again").await.unwrap();
        let names: Vec<String> = sqlx::query_scalar(
            "SELECT name FROM host_facts WHERE name IN ('too large', 'fits again')",
        )
        .fetch_all(store.pool())
        .await
        .unwrap();
        assert_eq!(names, ["fits again"]);
    }

    #[tokio::test]
    async fn store_writes_again_after_a_failed_commit() {
        let (_dir, store) = store_of_one_connection().await;
        let mut tx = store.begin().await.unwrap();
        sqlx::raw_sql(
            "CREATE TABLE parent (id INTEGER PRIMARY KEY); \
             CREATE TABLE child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED); \
             INSERT INTO child VALUES (1);",
        )
        .execute(&mut *tx)
        .await
        .unwrap();
        tx.commit().await.unwrap_err();
        insert(&store, "after the commit").await.unwrap();
    }

    #[tokio::test]
    async fn transaction_that_cannot_be_rolled_back_costs_its_connection() {
        let (_dir, store) = store_of_one_connection().await;
        let mut tx = store.begin().await.unwrap();
        // Ends the transaction without the driver, as SQLite does by itself when the disk is full.
        sqlx::query("ROLLBACK").execute(&mut *tx).await.unwrap();
        drop(tx);
        insert(&store, "on another connection").await.unwrap();
    }

    /// A connection that wrote could not open on a full disk.
    #[tokio::test]
    async fn connection_opens_without_a_write() {
        let dir = tempfile::tempdir().unwrap();
        let vars = [
            ("MINDHOST_DATA_DIR", dir.path().to_str().unwrap()),
            ("MINDHOST_STORE__ACQUIRE_TIMEOUT", "2s"),
        ];
        let config = Config::from_env(vars.map(|(n, v)| (n.to_owned(), v.to_owned()))).unwrap();
        let store = Store::open(&config).await.unwrap();
        store.migrate().await.unwrap();
        let mut held = Vec::new();
        while store.pool().num_idle() > 0 {
            held.push(store.pool().acquire().await.unwrap());
        }
        // A second writer would wait for the end of this transaction.
        let mut writer = AnyConnection::connect(&sqlite_url(dir.path()).unwrap())
            .await
            .unwrap();
        writer.execute("BEGIN IMMEDIATE").await.unwrap();
        held.push(store.pool().acquire().await.unwrap());
        sqlx::query("SELECT name FROM host_facts")
            .fetch_all(&mut **held.last_mut().unwrap())
            .await
            .unwrap();
    }

    /// A full disk has no room for a new log.
    #[tokio::test]
    async fn write_ahead_log_outlives_the_connections_of_the_pool() {
        let (dir, store) = store_of_one_connection().await;
        insert(&store, "something").await.unwrap();
        let used = store.pool().acquire().await.unwrap().detach();
        used.close().await.unwrap();
        assert_eq!(store.connections().open, 0);
        let log = dir.path().join("mindhost.db-wal");
        assert!(log.exists());
        store.close().await;
        assert!(!log.exists());
    }

    #[tokio::test]
    async fn closed_port_is_named_once() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!(
            "postgres://someone@{}/store",
            listener.local_addr().unwrap()
        );
        drop(listener);
        let vars = [
            ("MINDHOST_DATABASE_URL", url.as_str()),
            ("MINDHOST_STORE__ACQUIRE_TIMEOUT", "1s"),
        ];
        let config = Config::from_env(vars.map(|(n, v)| (n.to_owned(), v.to_owned()))).unwrap();
        let error = Store::open(&config).await.unwrap_err();
        let message = error.to_string();
        assert!(message.contains("Connection refused"), "{message}");
        assert!(std::error::Error::source(&error).is_none());
    }
}
