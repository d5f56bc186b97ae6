//! A throw-away MariaDB for one test process, and a database of its own for each test.

use std::{
    io::{Seek, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rustix::process::{Signal, geteuid};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::{
    eventually::found_within,
    free_port,
    process::{Process, spawn_with},
    sweep,
};

const INSTALL: &str =
    "MariaDB is not installed; `just setup` installs it (apt-get install -y mariadb-server)";
const STARTUP: Duration = Duration::from_secs(180);

/// The server that all tests of this process share.
#[derive(Debug)]
pub struct MariaDb {
    folder: PathBuf,
    port: u16,
    process: Process,
}

/// A database that one test has for itself, and an account that may do everything: what is refused, the host refuses.
#[derive(Clone, Debug)]
pub struct MariaDatabase {
    /// Name of the database and of its account.
    pub name: String,
    /// Password of the account.
    pub password: String,
    /// Port on 127.0.0.1.
    pub port: u16,
}

impl MariaDb {
    /// The server of this process, started on first use.
    ///
    /// # Panics
    /// When MariaDB is not installed or does not start; the panic says what to do.
    pub fn shared() -> &'static MariaDb {
        static SERVER: LazyLock<MariaDb> = LazyLock::new(|| MariaDb::start("", &[]));
        &SERVER
    }

    /// Another one, which finds names in any case and stores them in lower case.
    ///
    /// # Panics
    /// As [`MariaDb::shared`].
    pub fn folding() -> &'static MariaDb {
        static SERVER: LazyLock<MariaDb> =
            LazyLock::new(|| MariaDb::start("-folding", &["--lower-case-table-names=1"]));
        &SERVER
    }

    /// A new database, filled by running `sql`.
    pub async fn database(&self, sql: &str) -> MariaDatabase {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.database_named(&name, sql).await
    }

    /// As [`MariaDb::database`], with this name.
    pub async fn database_named(&self, name: &str, sql: &str) -> MariaDatabase {
        let password = format!("{name} secret");
        let make = format!(
            "CREATE DATABASE {name} CHARACTER SET utf8mb4;
             CREATE USER {name} IDENTIFIED BY '{password}';
             GRANT ALL PRIVILEGES ON *.* TO {name};"
        );
        let root = MariaDatabase {
            name: "root".to_owned(),
            password: String::new(),
            port: self.port,
        };
        root.client(&["mysql"], &make).await;
        let database = MariaDatabase {
            name: name.to_owned(),
            password,
            port: self.port,
        };
        database.client(&[name], sql).await;
        database
    }

    fn start(suffix: &str, more: &[&str]) -> MariaDb {
        let folder = sweep::own_folder(&format!("mindhost-mariadb{suffix}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(temporary(&folder)).expect("folders for MariaDB");
        give_away(&folder);
        init(&folder);
        let port = free_port();
        let log = std::fs::File::create(folder.join("log")).expect("a log");
        let errors = log.try_clone().expect("the log once more");
        let privileges = [&as_servant()[..], &["--pdeathsig", "KILL"]].concat();
        let process = spawn_with(&privileges, Signal::KILL, program("mariadbd"), |command| {
            command
                .args(settings(&folder, port))
                .args(more)
                .env("TMPDIR", temporary(&folder))
                .current_dir(&folder)
                .stdout(log)
                .stderr(errors);
        });
        let mut server = MariaDb {
            folder,
            port,
            process,
        };
        server.wait();
        server
    }

    fn wait(&mut self) {
        let file = self.folder.join("log");
        let log = || std::fs::read_to_string(&file).unwrap_or_default();
        let ready = found_within(STARTUP, || {
            let ended = self.process.ended();
            assert!(ended.is_none(), "MariaDB did not start:\n{}", log());
            log().contains("ready for connections").then_some(())
        });
        assert!(
            ready.is_some(),
            "MariaDB is not ready after {STARTUP:?}:\n{}",
            log()
        );
    }
}

impl MariaDatabase {
    /// What a datasource is made with.
    pub fn connection_data(&self) -> Value {
        json!({
            "host": "127.0.0.1",
            "port": self.port,
            "user": self.name,
            "password": self.password,
            "database": self.name,
        })
    }

    /// What the server's own client prints for some statements: a line a row, tabs between the cells, `NULL`, bytes in
    /// hexadecimal, and other signs that are no text after a backslash.
    pub async fn run(&self, sql: &str) -> String {
        self.client(&["--binary-as-hex", &self.name], sql).await
    }

    /// The same, below a line with the names of the columns; no line if there is no row. Comments are sent, too.
    pub async fn run_with_names(&self, sql: &str) -> String {
        let options = [
            "--binary-as-hex",
            "--column-names",
            "--comments",
            &self.name,
        ];
        self.client(&options, sql).await
    }

    /// Runs each of some statements after `setup` in one session, whatever becomes of the others. Gives how many failed.
    pub async fn run_each(&self, setup: &str, statements: &[String]) -> usize {
        // From a file: the client writes the rows of one statement before it reads the next.
        let mut input = tempfile::tempfile().expect("a file for the statements");
        let written = statements
            .iter()
            .try_for_each(|statement| writeln!(input, "{statement};"));
        written
            .and_then(|()| input.rewind())
            .expect("the statements in a file");
        let init = format!("--init-command={setup}");
        let options = [
            "--batch",
            "--force",
            "--default-character-set=utf8mb4",
            &init,
            &self.name,
        ];
        let child = self
            .program("mariadb", &options)
            .stdin(input)
            .stdout(Stdio::null())
            .spawn();
        let child = child.unwrap_or_else(|error| panic!("{INSTALL}: {error}"));
        let output = child
            .wait_with_output()
            .await
            .expect("the end of the client");
        let errors = String::from_utf8_lossy(&output.stderr);
        errors
            .lines()
            .filter(|line| line.starts_with("ERROR "))
            .count()
    }

    /// Reads all rows of a statement with the server's own client, as fast as it can, and throws them away.
    pub async fn read_through(&self, sql: &str) {
        let options = ["--batch", "--quick", "--execute", sql, &self.name];
        let run = self
            .program("mariadb", &options)
            .stdout(Stdio::null())
            .output()
            .await;
        let run = run.unwrap_or_else(|error| panic!("{INSTALL}: {error}"));
        assert!(
            run.status.success(),
            "{}",
            String::from_utf8_lossy(&run.stderr)
        );
    }

    /// Everything in some databases, as statements that would make it again.
    pub async fn dump(&self, databases: &[&str]) -> String {
        let options = [
            "--skip-comments",
            "--skip-dump-date",
            "--routines",
            "--databases",
        ];
        self.execute("mariadb-dump", &[&options, databases].concat(), "")
            .await
    }

    async fn client(&self, options: &[&str], sql: &str) -> String {
        let usual = [
            "--batch",
            "--skip-column-names",
            "--default-character-set=utf8mb4",
            "--init-command=SET time_zone = '+00:00'",
        ];
        self.execute("mariadb", &[&usual, options].concat(), sql)
            .await
    }

    fn program(&self, program: &str, options: &[&str]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(program);
        command
            .args(["--no-defaults", "--host=127.0.0.1", "--protocol=tcp"])
            .arg(format!("--port={}", self.port))
            .arg(format!("--user={}", self.name))
            .arg(format!("--password={}", self.password))
            .args(options)
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    async fn execute(&self, program: &str, options: &[&str], input: &str) -> String {
        let mut child = self
            .program(program, options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{INSTALL}: {error}"));
        let mut stdin = child.stdin.take().expect("the input of the client");
        stdin
            .write_all(input.as_bytes())
            .await
            .expect("a client that reads");
        drop(stdin);
        let output = child
            .wait_with_output()
            .await
            .expect("the end of the client");
        assert!(
            output.status.success(),
            "{} in {input}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Fast rather than durable.
fn settings(folder: &Path, port: u16) -> Vec<String> {
    let folder = folder.display();
    vec![
        "--no-defaults".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        "--skip-name-resolve".to_owned(),
        "--character-set-server=utf8mb4".to_owned(),
        "--innodb-flush-log-at-trx-commit=0".to_owned(),
        "--innodb-buffer-pool-size=64M".to_owned(),
        "--innodb-log-file-size=32M".to_owned(),
        "--max-connections=200".to_owned(),
        format!("--port={port}"),
        format!("--datadir={folder}/data"),
        format!("--socket={folder}/socket"),
        format!("--pid-file={folder}/pid"),
    ]
}

/// A server that starts removes the temporary files of all servers from the folder for them, so each has its own.
fn temporary(folder: &Path) -> PathBuf {
    folder.join("tmp")
}

fn init(folder: &Path) {
    let output = Command::new("setpriv")
        .args(as_servant())
        .arg("--")
        .arg(program("mariadb-install-db"))
        .args(["--no-defaults", "--skip-test-db", "--skip-name-resolve"])
        .arg("--auth-root-authentication-method=normal")
        .arg(format!("--datadir={}", folder.join("data").display()))
        .env("TMPDIR", temporary(folder))
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("mariadb-install-db: {error}"));
    assert!(
        output.status.success(),
        "mariadb-install-db: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Debian's server is in a folder that is not on every path.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/usr/local/bin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(more)
        .map(|folder| folder.join(name))
        .find(|file| file.exists())
        .unwrap_or_else(|| panic!("{INSTALL}"))
}

/// The server refuses to run as root: then it runs as `mysql`, which Debian's package makes.
fn as_servant() -> Vec<&'static str> {
    match geteuid().is_root() {
        true => vec!["--reuid", "mysql", "--regid", "mysql", "--init-groups"],
        false => Vec::new(),
    }
}

fn give_away(folder: &Path) {
    if geteuid().is_root() {
        let given = Command::new("chown")
            .args(["-R", "mysql:mysql"])
            .arg(folder)
            .status();
        assert!(given.is_ok_and(|status| status.success()), "chown to mysql");
    }
}
