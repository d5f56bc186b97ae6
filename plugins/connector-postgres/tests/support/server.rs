//! Starts PostgreSQL as a plain user, on a free port, and makes sure that it ends with the test binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

#[path = "../../../../tests/src/ports.rs"]
mod ports;
#[path = "../../../../tests/src/sweep.rs"]
mod sweep;

pub use self::ports::free_port;

const INSTALL: &str =
    "PostgreSQL is not installed; `just setup` installs it (apt-get install -y postgresql)";
const STARTUP: Duration = Duration::from_secs(180);

/// Who may come in how. The first line that fits a user counts.
const ACCESS: &str = "
local   all all                            trust
host    all scram_user     127.0.0.1/32    scram-sha-256
host    all md5_user       127.0.0.1/32    md5
host    all password_user  127.0.0.1/32    password
hostssl all tls_user       127.0.0.1/32    trust
hostnossl all plain_user   127.0.0.1/32    trust
hostssl all certified_user 127.0.0.1/32    cert
host    all rejected_user,tls_user,plain_user,certified_user 127.0.0.1/32 reject
host    all all            127.0.0.1/32    trust
";

/// The passwords carry what must not appear in any message.
const ROLES: &str = "
    SET password_encryption = 'scram-sha-256';
    CREATE ROLE scram_user LOGIN PASSWORD 'hunter2 scram';
    CREATE ROLE password_user LOGIN PASSWORD 'hunter2 password';
    SET password_encryption = 'md5';
    CREATE ROLE md5_user LOGIN PASSWORD 'hunter2 md5';
    CREATE ROLE tls_user LOGIN; CREATE ROLE plain_user LOGIN; CREATE ROLE certified_user LOGIN;
    CREATE ROLE rejected_user LOGIN; CREATE ROLE crowded_user LOGIN CONNECTION LIMIT 0;
";

/// A running server.
pub struct Server {
    pub port: u16,
    folder: PathBuf,
    bin: PathBuf,
}

impl Server {
    /// The server of this test binary, started on first use.
    pub fn shared() -> &'static Server {
        static SERVER: LazyLock<Server> = LazyLock::new(Server::start);
        &SERVER
    }

    /// A server of a test's own, for tests that stop it.
    pub fn start() -> Server {
        let bin = bin_dir();
        let folder = own_folder();
        make_certificates(&folder);
        must(
            as_servant("chmod")
                .args(["-R", "u=rwX,go=", "."])
                .current_dir(give_away(&folder)),
        );
        must(
            as_servant(bin.join("initdb"))
                .arg("-D")
                .arg(folder.join("data"))
                .current_dir(&folder)
                .args([
                    "--username=postgres",
                    "--auth=trust",
                    "--encoding=UTF8",
                    "--locale=C.UTF-8",
                    "--no-sync",
                ]),
        );
        let server = Server {
            port: free_port(),
            folder,
            bin,
        };
        server.configure();
        server.launch();
        server.psql(ROLES);
        server
    }

    /// What psql prints for some statements, without headers and alignment, run by the superuser.
    pub fn psql(&self, sql: &str) -> String {
        self.psql_in("postgres", sql)
    }

    /// The same in another database.
    pub fn psql_in(&self, database: &str, sql: &str) -> String {
        let mut command = Command::new(self.bin.join("psql"));
        command.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "postgres",
            "-d",
            database,
            "-c",
            sql,
        ]);
        command
            .arg("-h")
            .arg("127.0.0.1")
            .arg("-p")
            .arg(self.port.to_string());
        command
            .env("PGTZ", "UTC")
            .env("PGDATESTYLE", "ISO")
            .env("PGSSLMODE", "disable");
        must(&mut command).trim_end_matches('\n').to_owned()
    }

    /// A file of the folder: `ca.crt`, `other.crt`, `client.crt`, `client.key`.
    pub fn pem(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap()
    }

    /// Stops the server at once, as a crash would.
    pub fn crash(&self) {
        let mut command = as_servant(self.bin.join("pg_ctl"));
        must(
            command
                .current_dir(&self.folder)
                .args(["stop", "-w", "-m", "immediate", "-D"])
                .arg(self.folder.join("data")),
        );
    }

    fn configure(&self) {
        let (data, folder) = (self.folder.join("data"), self.folder.display());
        let settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = ''\nfsync = off\n\
             autovacuum = off\nshared_buffers = 32MB\nssl = on\nssl_cert_file = '{folder}/server.crt'\n\
             ssl_key_file = '{folder}/server.key'\nssl_ca_file = '{folder}/ca.crt'\n",
            self.port
        );
        std::fs::write(data.join("postgresql.auto.conf"), settings).unwrap();
        std::fs::write(data.join("pg_hba.conf"), ACCESS).unwrap();
        give_away(&self.folder);
    }

    /// The kernel stops the server when the thread that started it ends, so that thread waits for the server.
    fn launch(&self) {
        let mut command = as_servant_with(&["--pdeathsig", "QUIT"], self.bin.join("postgres"));
        command
            .arg("-D")
            .arg(self.folder.join("data"))
            .current_dir(&self.folder);
        let log = std::fs::File::create(self.folder.join("log")).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        std::thread::spawn(move || command.status());
        let deadline = Instant::now() + STARTUP;
        let pid_file = self.folder.join("data/postmaster.pid");
        while !std::fs::read_to_string(&pid_file)
            .is_ok_and(|text| text.lines().nth(7) == Some("ready   "))
        {
            let log = || std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(
                Instant::now() < deadline,
                "PostgreSQL is not ready after {STARTUP:?}:\n{}",
                log()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn bin_dir() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let bins = versions
        .map(|entry| entry.path().join("bin"))
        .filter(|bin| bin.join("initdb").exists());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let newest = bins.max_by_key(|bin| {
        bin.parent()
            .and_then(|version| version.file_name()?.to_str()?.parse::<u32>().ok())
            .unwrap_or(0)
    });
    let on_path = || std::env::split_paths(&path).find(|dir| dir.join("initdb").exists());
    newest
        .or_else(on_path)
        .unwrap_or_else(|| panic!("{INSTALL}"))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// PostgreSQL refuses to run as root: then it runs as `postgres`, whom Debian's package makes.
fn as_servant(program: impl AsRef<std::ffi::OsStr>) -> Command {
    as_servant_with(&[], program)
}

fn as_servant_with(options: &[&str], program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args([
            "--reuid",
            "postgres",
            "--regid",
            "postgres",
            "--init-groups",
        ]);
    }
    command.args(options).arg("--").arg(program);
    command
}

/// A new folder for a server of this process.
fn own_folder() -> PathBuf {
    static ALL: LazyLock<PathBuf> = LazyLock::new(|| sweep::own_folder("connector-postgres"));
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = ALL.join(number.to_string());
    // One of an earlier process that had this id.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn give_away(folder: &Path) -> &Path {
    if is_root() {
        must(
            Command::new("chown")
                .args(["-R", "postgres:postgres"])
                .arg(folder),
        );
    }
    folder
}

/// An authority `ca`, which signs the server's certificate for `localhost` (not for `127.0.0.1`) and one for a client;
/// and an authority `other`, which signs nothing.
fn make_certificates(folder: &Path) {
    let script = r#"
        set -e
        new() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout $1.key -out $1.crt -subj /CN=$1 "${@:2}"; }
        sign() { new $1 -CA ca.crt -CAkey ca.key -addext basicConstraints=critical,CA:FALSE "${@:2}"; }
        new ca; new other
        sign server -addext subjectAltName=DNS:localhost
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout client.key -out client.crt -subj /CN=certified_user \
            -CA ca.crt -CAkey ca.key -addext basicConstraints=critical,CA:FALSE
        "#;
    must(
        Command::new("bash")
            .arg("-c")
            .arg(script)
            .current_dir(folder),
    );
}

fn must(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
