//! A registry for OCI artifacts: the real `docker-registry`, on a port that it chooses and with a folder of its own.

use std::time::Duration;

use tempfile::TempDir;

use crate::{Process, eventually::found_within, spawn};

/// How long it may take to start.
const STARTUP: Duration = Duration::from_secs(120);

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
        let config = folder.path().join("config.yml");
        let text = format!(
            "version: 0.1\nlog:\n  level: info\nstorage:\n  filesystem:\n    rootdirectory: {}\n\
             http:\n  addr: 127.0.0.1:0\n",
            folder.path().join("data").display()
        );
        std::fs::write(&config, text).expect("a configuration");
        let log_file = folder.path().join("log");
        let log = std::fs::File::create(&log_file).expect("a log");
        let errors = log.try_clone().expect("the log once more");
        let process = spawn("docker-registry", |command| {
            command.arg("serve").arg(&config).stdout(log).stderr(errors);
        });
        let log = || std::fs::read_to_string(&log_file).unwrap_or_default();
        let port = found_within(STARTUP, || port(&log()));
        let port = port.unwrap_or_else(|| {
            panic!(
                "docker-registry does not start; `just setup` installs it: {}",
                log()
            )
        });
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

/// The port that it says in its log to listen on.
fn port(log: &str) -> Option<u16> {
    let (_, rest) = log.split_once("listening on 127.0.0.1:")?;
    rest.split_once('"')?.0.parse().ok()
}
