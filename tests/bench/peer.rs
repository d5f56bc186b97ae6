//! The service that people write by hand, started beside ours on the same PostgreSQL.

use std::{path::PathBuf, process::Stdio};

use mindhost_tests::{PostgresDatabase, build, eventually, free_port};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// What it is made of; the newest at the time of writing.
const PACKAGES: [&str; 5] = [
    "fastapi",
    "uvicorn[standard]",
    "psycopg[binary]",
    "psycopg_pool",
    "sqlglot",
];

/// The key that it takes.
pub const KEY: &str = "a-key-for-the-service-written-by-hand";

/// The running service; it ends with this value, its workers too.
pub struct Peer {
    process: Child,
    /// Where it listens.
    pub url: String,
}

impl Peer {
    /// Starts it with as many workers as the machine has cores, and waits until it answers.
    pub async fn start(database: &PostgresDatabase) -> Self {
        let python = environment().await;
        let port = free_port();
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let data = database.connection_data();
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        let process = Command::new(python)
            .args(["-m", "uvicorn", "service:app", "--log-level", "warning"])
            .args([
                "--port",
                &port.to_string(),
                "--workers",
                &workers.to_string(),
            ])
            .current_dir(build::workspace_dir().join("tests/bench/peer"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env(
                "PEER_DATABASE",
                format!(
                    "host={} port={} user={} password='{}' dbname={}",
                    text("host"),
                    data["port"],
                    text("user"),
                    text("password"),
                    text("database")
                ),
            )
            .env("PEER_KEY", KEY)
            .stdin(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let url = format!("http://127.0.0.1:{port}");
        let client = reqwest::Client::new();
        let ready = async || {
            let reply = client.get(format!("{url}/ready")).send().await;
            reply.ok().map(|reply| reply.status().as_u16())
        };
        eventually(ready, |status| *status == Some(200)).await;
        Self { process, url }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let pid = self.process.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = pid.and_then(Pid::from_raw) {
            // Nobody is left to be told that it did not work.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// A Python environment of its own, made once.
async fn environment() -> PathBuf {
    let folder = build::target_dir().join("peer");
    let (python, done) = (folder.join("bin/python"), folder.join("done"));
    if !done.exists() {
        println!(
            "installing {} into {}",
            PACKAGES.join(", "),
            folder.display()
        );
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear"]).arg(&folder);
        assert!(make.status().await.unwrap().success());
        let install = ["-m", "pip", "install", "--quiet"];
        let installed = Command::new(&python).args(install).args(PACKAGES).status();
        assert!(installed.await.unwrap().success());
        std::fs::write(done, "").unwrap();
    }
    python
}
