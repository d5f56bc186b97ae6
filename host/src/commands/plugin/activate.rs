//! `mindhost plugin activate` and `mindhost plugin rollback`

use std::io::{IsTerminal, Write as _};

use anyhow::bail;
use clap::Args;
use reqwest13::Method;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

use super::{
    super::remote::{Remote, Server},
    text,
};

/// How often the server is asked how a rollout stands.
const EVERY: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub(crate) struct Activate {
    /// The plugin: connector-postgres.
    name: String,
    /// A version, or the beginning of a digest; the highest installed version unless given.
    version: Option<String>,
    /// Give it only so many per cent of the calls first …
    #[arg(long, value_name = "PERCENT")]
    canary: Option<f64>,
    /// … for so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    canary_seconds: u64,
    /// Activate it even if it fails with datasources that work now.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Args)]
pub(crate) struct Rollback {
    /// The plugin: connector-postgres.
    name: String,
    #[command(flatten)]
    remote: Remote,
}

pub(super) async fn run(activate: &Activate) -> anyhow::Result<()> {
    let server = activate.remote.server()?;
    let mut body = json!({"version": activate.version, "force": activate.force});
    if let Some(percent) = activate.canary {
        body["canary"] = json!({"percent": percent, "seconds": activate.canary_seconds});
    }
    follow(&server, &activate.name, &body, Progress::stderr()).await
}

pub(super) async fn roll_back(rollback: &Rollback) -> anyhow::Result<()> {
    let server = rollback.remote.server()?;
    let path = format!("/plugins/{}/rollback", rollback.name);
    let rollout = server.send(server.request(Method::POST, &path)).await?;
    println!("{}", text::rollout(&rollout));
    Ok(())
}

/// Begins a rollout and shows how it goes, to its end.
pub(super) async fn follow(
    server: &Server,
    name: &str,
    body: &Value,
    mut progress: Progress,
) -> anyhow::Result<()> {
    let path = format!("/plugins/{name}/activate");
    let request = server.request(Method::POST, &path).json(body);
    let mut rollout = server.send(request).await?;
    loop {
        let stage = rollout["stage"].as_str().unwrap_or_default().to_owned();
        progress.show(&stage);
        if matches!(stage.as_str(), "completed" | "rolled_back" | "failed") {
            progress.end();
            println!("{}", text::rollout(&rollout));
            if stage != "completed" {
                bail!("the version does not serve");
            }
            return Ok(());
        }
        sleep(EVERY).await;
        let path = format!(
            "/plugins/{name}/rollouts/{}",
            rollout["id"].as_str().unwrap_or_default()
        );
        rollout = server.send(server.request(Method::GET, &path)).await?;
    }
}

/// What is going on, on one line of a terminal, or a line a stage elsewhere.
pub(super) struct Progress {
    is_terminal: bool,
    stage: String,
    since: Instant,
}

impl Progress {
    pub(super) fn stderr() -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            stage: String::new(),
            since: Instant::now(),
        }
    }

    fn show(&mut self, stage: &str) {
        let is_new = self.stage != stage;
        if is_new {
            self.end();
            stage.clone_into(&mut self.stage);
            self.since = Instant::now();
        }
        let what = match stage {
            "compiling" => "verifying and compiling",
            "checking" => "trying it with those that would use it",
            "canary" => "serving a share of the calls",
            "probation" => "serving; watched for a while, Ctrl-C does no harm",
            _ => return,
        };
        if self.is_terminal {
            eprint!(
                "\r\x1b[K{what} … {:.0} s",
                self.since.elapsed().as_secs_f64()
            );
            let _ = std::io::stderr().flush();
        } else if is_new {
            eprintln!("{what}");
        }
    }

    fn end(&mut self) {
        if self.is_terminal && !self.stage.is_empty() {
            eprintln!();
        }
        self.stage.clear();
    }
}
