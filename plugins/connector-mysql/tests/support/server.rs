//! Starts MariaDB as a plain user, on a free port, and makes sure that it ends with the test binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

#[path = "../../../../tests/src/ports.rs"]
mod ports;
#[path = "../../../../tests/src/sweep.rs"]
mod sweep;

use self::ports::free_port;

const INSTALL: &str =
    "MariaDB is not installed; `just setup` installs it (apt-get install -y mariadb-server)";
const STARTUP: Duration = Duration::from_secs(180);

/// The passwords carry what must not appear in any message.
const ACCOUNTS: &str = "
    INSTALL SONAME 'auth_ed25519';
    CREATE USER native_user IDENTIFIED VIA mysql_native_password USING PASSWORD('hunter2 native');
    CREATE USER ed25519_user IDENTIFIED VIA ed25519 USING PASSWORD('hunter2 ed25519');
    CREATE USER tls_user REQUIRE SSL;
    CREATE USER certified_user REQUIRE X509;
    CREATE USER reader IDENTIFIED BY 'hunter2 reader';
    CREATE USER crowded_user WITH MAX_USER_CONNECTIONS 1;
    CREATE DATABASE shop CHARACTER SET utf8mb4;
";

/// A running server.
pub struct Server {
    pub port: u16,
    folder: PathBuf,
    pid: u32,
}

impl Server {
    /// The server of this test binary, started on first use.
    pub fn shared() -> &'static Server {
        static SERVER: LazyLock<Server> = LazyLock::new(Server::start);
        &SERVER
    }

    /// A server of a test's own, for tests that stop it. Its temporary files are in a folder of its own, because a server
    /// that starts removes those of all servers from the folder for them.
    pub fn start() -> Server {
        let folder = own_folder();
        make_certificates(&folder);
        std::fs::create_dir(folder.join("tmp")).unwrap();
        give_away(&folder);
        must(
            as_servant(&[], "mariadb-install-db")
                .args(["--no-defaults", "--skip-test-db", "--skip-name-resolve"])
                .arg("--auth-root-authentication-method=normal")
                .arg(format!("--datadir={}", folder.join("data").display()))
                .env("TMPDIR", folder.join("tmp"))
                .current_dir(&folder),
        );
        let port = free_port();
        let pid = launch(&folder, port);
        let server = Server { port, folder, pid };
        server.sql(ACCOUNTS);
        server
    }

    /// What the server's own client prints for some statements, without headers, run by the superuser.
    pub fn sql(&self, sql: &str) -> String {
        self.sql_as(&["--raw"], sql)
    }

    /// The same with further options of the client.
    pub fn sql_as(&self, options: &[&str], sql: &str) -> String {
        let mut command = Command::new("mariadb");
        command
            .args(["--no-defaults", "--batch", "--skip-column-names"])
            .args([
                "--default-character-set=utf8mb4",
                "--host=127.0.0.1",
                "--user=root",
            ])
            .arg(format!("--port={}", self.port))
            .args(options)
            .args(["--init-command=SET time_zone = '+00:00'", "--execute", sql]);
        must(&mut command).trim_end_matches('\n').to_owned()
    }

    /// A file of the folder: `ca.crt`, `other.crt`, `client.crt`, `client.key`.
    pub fn pem(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap()
    }

    /// Stops the server at once, as a crash would.
    pub fn crash(&self) {
        must(Command::new("kill").args(["-KILL", &self.pid.to_string()]));
    }
}

/// The kernel stops the server when the thread that started it ends, so that thread waits for the server.
fn launch(folder: &Path, port: u16) -> u32 {
    let file = |name: &str| folder.join(name).display().to_string();
    let log = std::fs::File::create(folder.join("log")).unwrap();
    let mut command = as_servant(&["--pdeathsig", "KILL"], "mariadbd");
    command
        .args([
            "--no-defaults",
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
        ])
        .args([
            "--innodb-buffer-pool-size=64M",
            "--innodb-log-file-size=16M",
        ])
        .args([
            "--innodb-flush-log-at-trx-commit=0",
            "--max-allowed-packet=256M",
        ])
        .args([
            "--character-set-server=utf8mb4",
            "--log-bin-trust-function-creators=1",
        ])
        .arg(format!("--datadir={}", file("data")))
        .arg(format!("--port={port}"))
        .arg(format!("--socket={}", file("socket")))
        .arg(format!("--pid-file={}", file("pid")))
        .arg(format!("--ssl-ca={}", file("ca.crt")))
        .arg(format!("--ssl-cert={}", file("server.crt")))
        .arg(format!("--ssl-key={}", file("server.key")))
        .env("TMPDIR", file("tmp"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log);
    std::thread::spawn(move || command.status());
    let deadline = Instant::now() + STARTUP;
    let log = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
    while !log().contains("ready for connections") {
        assert!(
            Instant::now() < deadline,
            "MariaDB is not ready after {STARTUP:?}:\n{}",
            log()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
    pid.trim().parse().unwrap()
}

/// MariaDB refuses to run as root: then it runs as `mysql`, whom Debian's package makes.
fn as_servant(options: &[&str], program: &str) -> Command {
    let folders = ["/usr/sbin", "/usr/bin", "/usr/local/bin"].map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = std::env::split_paths(&path)
        .chain(folders)
        .map(|folder| folder.join(program))
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("{INSTALL}"));
    let mut command = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        command.args(["--reuid", "mysql", "--regid", "mysql", "--init-groups"]);
    }
    command.args(options).arg("--").arg(program);
    command
}

/// A new folder for a server of this process.
fn own_folder() -> PathBuf {
    static ALL: LazyLock<PathBuf> = LazyLock::new(|| sweep::own_folder("connector-mysql"));
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = ALL.join(number.to_string());
    // One of an earlier process that had this id.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn give_away(folder: &Path) {
    if rustix::process::geteuid().is_root() {
        must(
            Command::new("chown")
                .args(["-R", "mysql:mysql"])
                .arg(folder),
        );
    }
}

/// An authority `ca`, which signs the server's certificate for `localhost` (not for `127.0.0.1`) and one for a client;
/// and an authority `other`, which signs nothing.
fn make_certificates(folder: &Path) {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let authority = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        write(
            &format!("{name}.crt"),
            &params.self_signed(&key).unwrap().pem(),
        );
        Issuer::new(params, key)
    };
    let ca = authority("ca");
    authority("other");
    for (name, hosts) in [
        ("server", vec!["localhost".to_owned()]),
        ("client", Vec::new()),
    ] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &ca).unwrap();
        write(&format!("{name}.crt"), &certificate.pem());
        write(&format!("{name}.key"), &key.serialize_pem());
    }
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
