//! PostgreSQL with the tables of TPC-H, as somebody has them before they move to Trino.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::programs::{Program, free_port, until};

/// The account that owns everything; there is no password on this machine.
const USER: &str = "app";
/// `nobody`: PostgreSQL does not run as root.
const NOBODY: u32 = 65534;
const TABLES: &str = include_str!("../../../../tests/tpch/tables.sql");

/// A running PostgreSQL.
pub struct Postgres {
    port: u16,
    folder: PathBuf,
    _server: Program,
}

impl Postgres {
    pub fn start() -> Self {
        let port = free_port();
        // Not in the target folder: `nobody` may not look into somebody's home.
        let folder = std::env::temp_dir().join(format!("mindhost-real-postgres-{port}"));
        fs::create_dir_all(&folder).unwrap();
        let is_root = fs::metadata("/proc/self").is_ok_and(|own| is_roots(&own));
        if is_root {
            chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let data = folder.join("data");
        let data = data.to_str().unwrap();
        let mut initdb = as_servant(is_root, &tool("initdb"));
        initdb.args([
            "--auth",
            "trust",
            "--username",
            USER,
            "--no-sync",
            "--pgdata",
            data,
        ]);
        let made = initdb.current_dir(&folder).stdout(Stdio::null()).status();
        assert!(made.unwrap().success(), "initdb");
        let log = fs::File::create(folder.join("log")).unwrap();
        let server = Program::of(as_servant(is_root, &tool("postgres")), |command| {
            command
                .args(["-D", data, "-p", &port.to_string(), "-h", "127.0.0.1"])
                .args(["-k", folder.to_str().unwrap(), "-c", "fsync=off"])
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .current_dir(&folder);
        });
        let postgres = Self {
            port,
            folder,
            _server: server,
        };
        until("PostgreSQL is ready", || {
            postgres.psql("postgres", "SELECT 1").then_some(())
        });
        postgres
    }

    /// A database with some tables of TPC-H, from files `<table>.csv`.
    pub fn database(&self, name: &str, tables: &[&str], folder: &Path) {
        assert!(self.psql("postgres", &format!("CREATE DATABASE {name}")));
        for table in tables {
            let start = format!("CREATE TABLE {table} ");
            let create = TABLES.split(';').find(|one| one.trim().starts_with(&start));
            assert!(self.psql(name, create.unwrap()), "{table}");
            let file = folder.join(format!("{table}.csv"));
            let copy = format!(
                "\\copy {table} FROM '{}' (FORMAT csv, HEADER)",
                file.display()
            );
            assert!(self.psql(name, &copy), "{table}");
        }
        assert!(self.psql(name, "ANALYZE"));
    }

    /// Runs statements in a database.
    pub fn run(&self, database: &str, sql: &str) {
        assert!(self.psql(database, sql), "{sql}");
    }

    fn psql(&self, database: &str, command: &str) -> bool {
        let done = Command::new(tool("psql"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", USER])
            .args(["-d", database, "-q", "-c", command])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        done.unwrap().success()
    }

    /// What a datasource of this server is made with.
    pub fn connection_data(&self, database: &str) -> Value {
        json!({"host": "127.0.0.1", "port": self.port, "user": USER, "database": database, "sslmode": "disable"})
    }

    /// The properties of a catalog of Trino for it.
    pub fn catalog(&self, database: &str) -> String {
        format!(
            "connector.name=postgresql\nconnection-url=jdbc:postgresql://127.0.0.1:{}/{database}\nconnection-user={USER}\n",
            self.port
        )
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn is_roots(file: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(file) == 0
}

/// A program of Debian's newest PostgreSQL.
fn tool(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("Debian's postgresql");
    let newest = versions.map(|one| one.unwrap().path()).max();
    newest.expect("a version").join("bin").join(name)
}

/// A program that runs as `nobody` where the test runs as root.
fn as_servant(is_root: bool, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root {
        let id = NOBODY.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
    }
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}
