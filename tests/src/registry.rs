//! A registry for OCI artifacts: the real `docker-registry`, on a free port and with a folder of its own.

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{Process, spawn};

/// How long it may take to start.
const STARTUP: Duration = Duration::from_secs(20);

/// A registry that runs until it is dropped.
#[derive(Debug)]
pub struct OciRegistry {
    // Stopped before its folder goes.
    _process: Process,
    _folder: TempDir,
    port: u16,
}

impl OciRegistry {
    /// Starts one and waits until it answers.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    pub fn start() -> Self {
        let folder = TempDir::new().expect("a folder");
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port")
            .port();
        let config = folder.path().join("config.yml");
        let text = format!(
            "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: 127.0.0.1:{port}\n",
            folder.path().join("data").display()
        );
        std::fs::write(&config, text).expect("a configuration");
        let log = std::fs::File::create(folder.path().join("log")).expect("a log");
        let errors = log.try_clone().expect("the log once more");
        let process = spawn("docker-registry", |command| {
            command.arg("serve").arg(&config).stdout(log).stderr(errors);
        });
        let deadline = Instant::now() + STARTUP;
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                Instant::now() < deadline,
                "docker-registry does not answer; `just setup` installs it"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Self {
            _process: process,
            _folder: folder,
            port,
        }
    }

    /// `oci://127.0.0.1:<port>/{path}`
    pub fn reference(&self, path: &str) -> String {
        format!("oci://127.0.0.1:{}/{path}", self.port)
    }
}
