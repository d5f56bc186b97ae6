//! Programs that end with the test, and requests by `curl`.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The longest that anything is waited for: a Java machine on a busy computer takes minutes.
const PATIENCE: Duration = Duration::from_secs(600);

/// A program that ends when this is dropped, or when the test does.
pub struct Program(Child);

impl Program {
    /// Starts a program; `prepare` adds arguments and the like.
    pub fn start(program: &str, prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", program]);
        Self::of(command, prepare)
    }

    /// As [`Program::start`], of a command that sees to its own end.
    pub fn of(mut command: Command, prepare: impl FnOnce(&mut Command)) -> Self {
        command.stdin(Stdio::null());
        prepare(&mut command);
        Self(command.spawn().expect("a program that can be started"))
    }

    /// Whether it runs.
    pub fn runs(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The target folder of the build.
pub fn target() -> PathBuf {
    let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => workspace.join(folder),
        None => workspace.join("target"),
    }
}

/// A path in the target folder, which `just test-trino` makes.
pub fn built(path: &str) -> String {
    let path = target().join(path);
    assert!(
        path.exists(),
        "{} is missing; run `just test-trino`",
        path.display()
    );
    path.to_string_lossy().into_owned()
}

/// A new folder for a test, which is left for whoever wants to see why it failed.
pub fn folder(name: &str) -> PathBuf {
    let folder = target()
        .join("tmp/real")
        .join(format!("{name}-{}", free_port()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::path::absolute(folder).unwrap()
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Waits until something is there.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let from = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(from.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body, which must have come with this status.
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }
}

/// Sends a request; `None` if nobody answers.
pub fn ask(method: &str, url: &str, headers: &[String], body: &str) -> Option<Answer> {
    let mut command = curl(method, url, headers, body);
    let output = command.output().expect("curl is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (text, status) = text.rsplit_once('\n')?;
    let status = status.parse().ok().filter(|status| *status != 0)?;
    Some(Answer {
        status,
        text: text.to_owned(),
    })
}

/// A request that has not been sent yet.
pub fn curl(method: &str, url: &str, headers: &[String], body: &str) -> Command {
    let mut command = Command::new("curl");
    command.args(["--silent", "--max-time", "900", "--request", method, url]);
    for header in headers {
        command.args(["--header", header]);
    }
    if !body.is_empty() {
        command.args(["--data-binary", body]);
    }
    command.args(["--write-out", "\n%{http_code}"]);
    command
}
