//! A throw-away PostgreSQL for one test process, and a database of its own for each test.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rustix::process::{Signal, geteuid};
use serde_json::{Value, json};
use tokio_postgres::{Client, Config, NoTls};

use crate::{Process, eventually::found_within, free_port, process::spawn_with, sweep};

const INSTALL: &str =
    "PostgreSQL is not installed; `just setup` installs it (apt-get install -y postgresql)";
const PASSWORD: &str = "a password of the tests";
/// Who may come in how; the first line that fits counts. Everybody else needs a password over SCRAM.
const ACCESS: &str = "
local     all all                                             scram-sha-256
host      all md5_user                           127.0.0.1/32 md5
host      all password_user                      127.0.0.1/32 password
hostssl   all tls_user                           127.0.0.1/32 scram-sha-256
hostnossl all plain_user                         127.0.0.1/32 scram-sha-256
hostssl   all certified_user                     127.0.0.1/32 cert
host      all tls_user,plain_user,certified_user 127.0.0.1/32 reject
host      all all                                127.0.0.1/32 scram-sha-256
";
/// The roles of [`ACCESS`], and one for which there is no room.
const ROLES: &str = "
    CREATE ROLE password_user LOGIN PASSWORD 'secret of password_user';
    CREATE ROLE tls_user LOGIN PASSWORD 'secret of tls_user';
    CREATE ROLE plain_user LOGIN PASSWORD 'secret of plain_user';
    CREATE ROLE crowded_user LOGIN PASSWORD 'secret of crowded_user' CONNECTION LIMIT 0;
    CREATE ROLE certified_user LOGIN;
    SET password_encryption = 'md5';
    CREATE ROLE md5_user LOGIN PASSWORD 'secret of md5_user';
";
const STARTUP: Duration = Duration::from_secs(180);

/// The server that all tests of this process share.
#[derive(Debug)]
pub struct Postgres {
    folder: PathBuf,
    port: u16,
    ca: String,
    client: (String, String),
    process: Process,
}

/// A database that one test has for itself, owned by a plain role of its own.
#[derive(Clone, Debug)]
pub struct PostgresDatabase {
    /// Name of the database and of its owner.
    pub name: String,
    /// Password of the owner.
    pub password: String,
    /// Port on 127.0.0.1.
    pub port: u16,
}

impl Postgres {
    /// The server of this process, started on first use.
    ///
    /// # Panics
    /// When PostgreSQL is not installed or does not start; the panic says what to do.
    pub fn shared() -> &'static Postgres {
        static SERVER: LazyLock<Postgres> = LazyLock::new(Postgres::start);
        &SERVER
    }

    /// A new database with a new role that owns it, filled by running `sql` as that role.
    pub async fn database(&self, sql: &str) -> PostgresDatabase {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let admin = self.admin("postgres").await;
        for statement in [
            format!("CREATE ROLE {name} LOGIN PASSWORD '{name} secret'"),
            format!("CREATE DATABASE {name} OWNER {name} ENCODING 'UTF8' TEMPLATE template0"),
        ] {
            run(&admin, &statement).await;
        }
        let database = PostgresDatabase {
            password: format!("{name} secret"),
            name,
            port: self.port,
        };
        run(&database.client().await, sql).await;
        database
    }

    /// A connection of the superuser, for what an owner may not do.
    pub async fn admin(&self, database: &str) -> Client {
        connect(self.port, "postgres", PASSWORD, database).await
    }

    /// The certificate authority that signed the server's certificate for `localhost`, as PEM.
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// Certificate and key of `certified_user`, as PEM.
    pub fn client_certificate(&self) -> (&str, &str) {
        (&self.client.0, &self.client.1)
    }

    /// Makes the roles `password_user`, `md5_user`, `tls_user`, `plain_user` (which must come over TLS and without it),
    /// `certified_user` (with its certificate) and `crowded_user` (for whom there is no room). The password of each is
    /// `secret of <name>`.
    pub async fn special_roles(&self) {
        static MADE: tokio::sync::OnceCell<()> = tokio::sync::OnceCell::const_new();
        let make = async || run(&self.admin("postgres").await, ROLES).await;
        MADE.get_or_init(make).await;
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn start() -> Postgres {
        let folder = sweep::own_folder("mindhost-postgres");
        let bin = bin_dir();
        make_folder(&folder);
        std::fs::write(folder.join("password"), PASSWORD).expect("the password file");
        let (ca, client) = write_certificates(&folder);
        give_away(&folder);
        init(&bin, &folder);
        let port = free_port();
        configure(&folder.join("data"), port);
        let log = std::fs::File::create(folder.join("log")).expect("a log");
        let errors = log.try_clone().expect("the log once more");
        // SIGQUIT is the server's own immediate stop: it takes its children along.
        let privileges = [&as_servant()[..], &["--pdeathsig", "QUIT"]].concat();
        let process = spawn_with(&privileges, Signal::QUIT, bin.join("postgres"), |command| {
            command
                .arg("-D")
                .arg(folder.join("data"))
                .current_dir(&folder)
                .stdout(log)
                .stderr(errors);
        });
        let mut server = Postgres {
            folder,
            port,
            ca,
            client,
            process,
        };
        server.wait();
        server
    }

    fn wait(&mut self) {
        // The server writes this line when it takes connections, and `ready` into its pid file.
        let pid_file = self.folder.join("data/postmaster.pid");
        let log_file = self.folder.join("log");
        let log = || std::fs::read_to_string(&log_file).unwrap_or_default();
        let ready = found_within(STARTUP, || {
            let ended = self.process.ended();
            assert!(ended.is_none(), "PostgreSQL did not start:\n{}", log());
            let pid = std::fs::read_to_string(&pid_file).ok()?;
            (pid.lines().nth(7) == Some("ready   ")).then_some(())
        });
        assert!(
            ready.is_some(),
            "PostgreSQL is not ready after {STARTUP:?}:\n{}",
            log()
        );
    }
}

impl PostgresDatabase {
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

    /// A connection of the owner.
    pub async fn client(&self) -> Client {
        connect(self.port, &self.name, &self.password, &self.name).await
    }

    /// Runs SQL as the owner.
    pub async fn run(&self, sql: &str) {
        run(&self.client().await, sql).await;
    }
}

async fn run(client: &Client, sql: &str) {
    client
        .batch_execute(sql)
        .await
        .unwrap_or_else(|error| panic!("{error:?} in {sql}"));
}

async fn connect(port: u16, user: &str, password: &str, database: &str) -> Client {
    let mut config = Config::new();
    config
        .host("127.0.0.1")
        .port(port)
        .user(user)
        .password(password)
        .dbname(database);
    let (client, connection) = config
        .connect(NoTls)
        .await
        .expect("a connection to PostgreSQL");
    tokio::spawn(connection);
    client
}

/// The newest version of Debian's, else what is on the path.
fn bin_dir() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let newest = versions
        .filter(|entry| entry.path().join("bin/initdb").exists())
        .max_by_key(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .parse::<u32>()
                .unwrap_or(0)
        });
    if let Some(newest) = newest {
        return newest.path().join("bin");
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .find(|dir| dir.join("initdb").exists())
        .unwrap_or_else(|| panic!("{INSTALL}"))
}

/// The server refuses to run as root: then it runs as `postgres`, which Debian's package makes.
fn as_servant() -> Vec<&'static str> {
    match geteuid().is_root() {
        true => vec![
            "--reuid",
            "postgres",
            "--regid",
            "postgres",
            "--init-groups",
        ],
        false => Vec::new(),
    }
}

fn make_folder(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).expect("a folder for PostgreSQL");
}

fn give_away(folder: &Path) {
    if geteuid().is_root() {
        must(
            "chown",
            Command::new("chown")
                .args(["-R", "postgres:postgres"])
                .arg(folder),
        );
    }
}

fn init(bin: &Path, folder: &Path) {
    let mut command = Command::new("setpriv");
    command.args(as_servant()).arg("--").arg(bin.join("initdb"));
    command
        .arg("-D")
        .arg(folder.join("data"))
        .arg("--pwfile")
        .arg(folder.join("password"));
    command.args([
        "--username=postgres",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
    ]);
    must("initdb", command.arg("--no-sync").current_dir(folder));
}

/// Fast rather than durable; quiet about nothing, so that a failure can be read.
fn configure(data: &Path, port: u16) {
    let settings = format!(
        "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{socket}'\n\
         max_connections = 200\nshared_buffers = 64MB\nfsync = off\nsynchronous_commit = off\n\
         full_page_writes = off\nautovacuum = off\nssl = on\n\
         ssl_cert_file = '{socket}/server.crt'\nssl_key_file = '{socket}/server.key'\n\
         ssl_ca_file = '{socket}/ca.crt'\n",
        socket = data.parent().unwrap_or(data).display(),
    );
    let file = data.join("postgresql.conf");
    let defaults = std::fs::read_to_string(&file).expect("the configuration that initdb wrote");
    std::fs::write(file, format!("{defaults}\n{settings}")).expect("the configuration");
    std::fs::write(data.join("pg_hba.conf"), ACCESS).expect("the rules of access");
}

/// Writes a certificate for `localhost` and `127.0.0.1`, and gives the authority that signed it, and certificate and key
/// of a client.
fn write_certificates(folder: &Path) -> (String, (String, String)) {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
    let ca_key = KeyPair::generate().expect("a key");
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_pem = ca.self_signed(&ca_key).expect("an authority").pem();
    let key = KeyPair::generate().expect("a key");
    let server =
        CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).expect("names");
    let issuer = Issuer::new(ca, ca_key);
    let certificate = server.signed_by(&key, &issuer).expect("a certificate");
    std::fs::write(folder.join("ca.crt"), &ca_pem).expect("the authority");
    std::fs::write(folder.join("server.crt"), certificate.pem()).expect("the certificate");
    write_private(&folder.join("server.key"), &key.serialize_pem());
    let key = KeyPair::generate().expect("a key");
    let mut client = CertificateParams::default();
    client
        .distinguished_name
        .push(DnType::CommonName, "certified_user");
    let certificate = client.signed_by(&key, &issuer).expect("a certificate");
    (ca_pem, (certificate.pem(), key.serialize_pem()))
}

fn write_private(path: &Path, text: &str) {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    let file = std::fs::File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("a private file");
}

fn must(what: &str, command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(
        output.status.success(),
        "{what}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
