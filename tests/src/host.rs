//! The real server as a child process, with a data directory of its own.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use reqwest::Method;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::{EventStream, Process, Request, build, ready, spawn};

/// The key that every host of the tests starts with.
pub const ADMIN_KEY: &str = "mh_test_admin_key_0123456789abcdef";

/// A host stops within this time when it is asked to.
const SHUTDOWN: Duration = Duration::from_secs(20);

/// What all hosts of one test run share: the compiled code of the plugins and the key that authenticates it.
/// The first host of a run is started alone and compiles them; all others find them compiled. No host begins with other
/// code than its last, so that a test sees the same code from its start to its end.
static SHARED: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = build::target_dir().join("e2e");
    std::fs::create_dir_all(&folder).expect("a folder for what the hosts share");
    let data = TempDir::new().expect("a data directory");
    drop(Running::start(&Builder::default(), data.path(), &folder));
    folder
});

/// A running server. Clones are the same server; it stops when the last one is dropped.
#[derive(Clone, Debug)]
pub struct Host(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    builder: Builder,
    // Stopped before the data directory goes.
    running: Mutex<Running>,
    data: TempDir,
}

/// A server that is about to start.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    environment: Vec<(String, String)>,
    files: Vec<(PathBuf, Vec<u8>)>,
    plugins: Vec<PathBuf>,
    /// In place of `serve`.
    arguments: Vec<String>,
}

impl Builder {
    /// Sets a variable of its environment: any setting as `MINDHOST_SECTION__NAME`.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.environment
            .push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Puts a file into the data directory before the start.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((path.into(), content.into()));
        self
    }

    /// Installs one more plugin, such as [`build::guest`].
    #[must_use]
    pub fn plugin(mut self, path: impl Into<PathBuf>) -> Self {
        self.plugins.push(path.into());
        self
    }

    /// Runs another command than `serve` that serves.
    #[must_use]
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments = arguments.iter().map(|&one| one.to_owned()).collect();
        self
    }

    /// Starts it and waits until it is ready.
    ///
    /// # Panics
    /// When it does not become ready; the panic shows its log.
    pub async fn start(self) -> Host {
        blocking(move || self.start_blocking()).await
    }

    /// Those of the build; with more of them, a folder that links to all.
    fn plugins_dir(&self, data: &Path) -> PathBuf {
        let usual = build::plugins_dir();
        if self.plugins.is_empty() {
            return usual;
        }
        let folder = data.join("given");
        std::fs::create_dir_all(&folder).expect("a folder for plugins");
        let built = std::fs::read_dir(usual).expect("the plugins of the build");
        let built = built.map(|entry| entry.expect("a plugin of the build").path());
        for path in built.chain(self.plugins.iter().cloned()) {
            assert!(path.exists(), "there is no plugin at {}", path.display());
            let link = folder.join(path.file_name().expect("a file"));
            if !link.exists() {
                std::os::unix::fs::symlink(path, link).expect("a link to a plugin");
            }
        }
        folder
    }

    fn start_blocking(self) -> Host {
        let data = TempDir::new().expect("a data directory");
        for (path, content) in &self.files {
            let path = data.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a file in the data directory"))
                .expect("its folder");
            std::fs::write(path, content).expect("a file in the data directory");
        }
        let running = Mutex::new(Running::start(&self, data.path(), &SHARED));
        Host(Arc::new(Inner {
            builder: self,
            running,
            data,
        }))
    }
}

impl Host {
    /// A server with the default configuration.
    pub async fn start() -> Host {
        Self::builder().start().await
    }

    /// A server with a configuration of its own.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Another server with the same settings and a data directory of its own; both use one store where it is a PostgreSQL.
    pub async fn beside(&self) -> Host {
        self.0.builder.clone().start().await
    }

    /// As [`Self::beside`], with the plugins of the build alone.
    pub async fn beside_without_plugins(&self) -> Host {
        let mut builder = self.0.builder.clone();
        builder.plugins.clear();
        builder.start().await
    }

    /// `http://127.0.0.1:<port>`; another one after a restart.
    pub fn url(&self) -> String {
        self.running().url.clone()
    }

    /// The URL of the listener for metrics, when `MINDHOST_METRICS__LISTEN` is `127.0.0.1:0`.
    ///
    /// # Panics
    /// When the log names none.
    pub fn metrics_url(&self) -> String {
        let log = self.log();
        let mut lines = log.lines().rev();
        let line = lines.find(|line| line.contains("metrics are served without a key"));
        let (_, rest) = line
            .and_then(|line| line.split_once("127.0.0.1:"))
            .unwrap_or_else(|| panic!("no listener for metrics in\n{log}"));
        let end = rest.find(|c: char| !c.is_ascii_digit());
        format!("http://127.0.0.1:{}", &rest[..end.unwrap_or(rest.len())])
    }

    /// The base URL that clients are configured with.
    pub fn base_url(&self) -> String {
        format!("{}/api/v1", self.url())
    }

    /// The key that its requests are sent with.
    pub fn key(&self) -> &'static str {
        ADMIN_KEY
    }

    /// Its data directory.
    pub fn data_dir(&self) -> &Path {
        self.0.data.path()
    }

    /// Where the workspace `default` may read files.
    pub fn files_dir(&self) -> PathBuf {
        self.data_dir().join("files").join("default")
    }

    /// Everything that it has logged, over all restarts.
    pub fn log(&self) -> String {
        log(self.data_dir())
    }

    /// `mindhost {args}` on the same installation: the environment is that of this server.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(build::host_binary());
        command.args(args).current_dir(self.data_dir());
        environment(&mut command, &self.0.builder, self.data_dir(), &SHARED);
        command
    }

    /// Kills it (`kill -9`), as a power cut would, and leaves it dead until [`Host::restart`].
    pub async fn kill(&self) {
        self.running().process.kill();
    }

    /// Starts it again on the same data directory, after stopping it if it still runs.
    pub async fn restart(&self) {
        let host = self.clone();
        blocking(move || {
            let inner = &*host.0;
            let mut running = host.running();
            running.process.stop(SHUTDOWN);
            *running = Running::start(&inner.builder, inner.data.path(), &SHARED);
        })
        .await;
    }

    /// As [`Host::restart`], with one setting more until the next restart.
    pub async fn restart_with(&self, name: &str, value: &str) {
        let host = self.clone();
        let builder = self.0.builder.clone().env(name, value);
        blocking(move || {
            let mut running = host.running();
            running.process.stop(SHUTDOWN);
            *running = Running::start(&builder, host.0.data.path(), &SHARED);
        })
        .await;
    }

    /// Asks it to stop and waits for its end. True when it ended by itself with success.
    pub async fn shut_down(&self) -> bool {
        let host = self.clone();
        let status = blocking(move || host.running().process.stop(SHUTDOWN)).await;
        status.is_some_and(|status| status.success())
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.running().process.id()
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) {
        self.running().process.signal(signal);
    }

    /// A request to any path of the server, outside of `/api/v1` too.
    pub fn request(&self, method: Method, path: &str) -> Request {
        Request::new(method, format!("{}{path}", self.url()), ADMIN_KEY)
    }

    /// `GET /api/v1{path}`
    pub fn get(&self, path: &str) -> Request {
        self.api(Method::GET, path)
    }

    /// `POST /api/v1{path}`
    pub fn post(&self, path: &str, body: Value) -> Request {
        self.api(Method::POST, path).json(&body)
    }

    /// `PUT /api/v1{path}`
    pub fn put(&self, path: &str, body: Value) -> Request {
        self.api(Method::PUT, path).json(&body)
    }

    /// `PATCH /api/v1{path}`
    pub fn patch(&self, path: &str, body: Value) -> Request {
        self.api(Method::PATCH, path).json(&body)
    }

    /// `DELETE /api/v1{path}`
    pub fn delete(&self, path: &str) -> Request {
        self.api(Method::DELETE, path)
    }

    /// `{method} /api/v1{path}`, for bodies that are not JSON and methods that are not the right ones.
    pub fn api(&self, method: Method, path: &str) -> Request {
        self.request(method, &format!("/api/v1{path}"))
    }

    /// `POST /api/v1{path}`, with the reply read as events.
    pub async fn stream(&self, path: &str, body: Value) -> EventStream {
        EventStream::of(self.post(path, body).open().await).await
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.0
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "--- log of the host ---\n{}--- end of the log ---",
                log(self.data.path())
            );
        }
        let running = self
            .running
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        running.process.stop(SHUTDOWN);
    }
}

impl Running {
    fn start(builder: &Builder, data: &Path, shared: &Path) -> Self {
        let before = log(data).len();
        let output = std::fs::File::options()
            .create(true)
            .append(true)
            .open(data.join(LOG))
            .expect("a log");
        let errors = output.try_clone().expect("the log once more");
        let mut process = spawn(build::host_binary(), |command| {
            match builder.arguments.is_empty() {
                true => command.arg("serve"),
                false => command.args(&builder.arguments),
            };
            command.current_dir(data).stdin(Stdio::null());
            command.stdout(output).stderr(errors);
            environment(command, builder, data, shared);
        });
        let url = ready::wait(&mut process, || log(data).split_off(before));
        Self { process, url }
    }
}

/// The environment of a server: nothing of the caller's settings, everything that the tests share, then its own.
fn environment(command: &mut Command, builder: &Builder, data: &Path, shared: &Path) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MINDHOST_") {
            command.env_remove(name);
        }
    }
    command
        .env("MINDHOST_LISTEN", "127.0.0.1:0")
        .env("MINDHOST_DATA_DIR", data)
        .env("MINDHOST_ADMIN_KEY", ADMIN_KEY)
        .env("MINDHOST_PLUGINS_DIR", builder.plugins_dir(data))
        .env("MINDHOST_PLUGINS__CACHE_DIR", shared.join("compiled"))
        .env("MINDHOST_PLUGINS__QUICK_START", "false")
        .env("MINDHOST_PLUGINS__COMPILE_WAIT", "10m")
        .env("MINDHOST_SECRETS__KEY_FILE", shared.join("secrets.key"));
    command.envs(
        builder
            .environment
            .iter()
            .map(|(name, value)| (name, value)),
    );
}

/// Runs what waits for a process beside the test, and passes its panic on as it is.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

const LOG: &str = "host.log";

#[derive(Debug)]
struct Running {
    process: Process,
    url: String,
}

fn log(data: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(data.join(LOG)).unwrap_or_default()).into_owned()
}
