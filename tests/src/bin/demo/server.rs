//! The server of the demo.

use std::{
    fs::File,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use mindhost_tests::{Process, build, ready, spawn_service};

/// Runs until it is dropped or ends by itself.
pub(crate) struct Server {
    process: Process,
    log: PathBuf,
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) startup: Duration,
}

/// Removes what an earlier demo left, except for the compiled plugins and the key that authenticates them.
pub(crate) fn clear(data: &Path) -> Result<()> {
    for entry in std::fs::read_dir(data).into_iter().flatten() {
        let path = entry?.path();
        match path.is_dir() {
            _ if path.ends_with("cache") || path.ends_with("secrets.key") => Ok(()),
            true => std::fs::remove_dir_all(&path),
            false => std::fs::remove_file(&path),
        }
        .with_context(|| format!("removing {}", path.display()))?;
    }
    Ok(())
}

impl Server {
    /// Starts `mindhost serve` as a new user would, and waits until it is ready. The first start makes the key.
    pub(crate) fn start(data: &Path, any_port: bool) -> Result<Self> {
        let started = Instant::now();
        let log = data.join("server.log");
        let output = File::create(&log).context("the log of the server")?;
        let errors = output.try_clone()?;
        let mut process = spawn_service(build::host_binary(), |command| {
            command
                .arg("serve")
                .stdin(Stdio::null())
                .stdout(output)
                .stderr(errors);
            for (name, _) in std::env::vars_os() {
                if name.to_string_lossy().starts_with("MINDHOST_") && name != "MINDHOST_LISTEN" {
                    command.env_remove(name);
                }
            }
            if let Some(listen) = listen(any_port) {
                command.env("MINDHOST_LISTEN", listen);
            }
            command
                .env("MINDHOST_DATA_DIR", data)
                .env("MINDHOST_PLUGINS_DIR", build::plugins_dir());
        });
        let read = || std::fs::read_to_string(&log).unwrap_or_default();
        let url = ready::wait(&mut process, read);
        let startup = started.elapsed();
        let key = std::fs::read_to_string(data.join("admin.key"))
            .context("the key that the first start makes")?;
        Ok(Self {
            process,
            log,
            url,
            key: key.trim().to_owned(),
            startup,
        })
    }

    pub(crate) fn show_log(&self) {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        println!("\nThe end of {}:", self.log.display());
        lines
            .iter()
            .skip(lines.len().saturating_sub(40))
            .for_each(|line| println!("  {line}"));
    }

    /// Waits until the server ends; Ctrl-C reaches it as it reaches us.
    pub(crate) fn wait_for_end(&mut self) -> Result<()> {
        self.process.wait().context("waiting for the server")?;
        Ok(())
    }
}

/// The usual port if it is free and a person may want to find it there, else any.
fn listen(any_port: bool) -> Option<&'static str> {
    if std::env::var_os("MINDHOST_LISTEN").is_some() {
        return None;
    }
    match !any_port && TcpListener::bind("127.0.0.1:8080").is_ok() {
        true => Some("127.0.0.1:8080"),
        false => Some("127.0.0.1:0"),
    }
}
