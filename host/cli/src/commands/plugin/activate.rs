//! `mindhost plugin activate` and `mindhost plugin rollback`

use std::io::{IsTerminal, Write as _};

use anyhow::bail;
use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

use super::{
    super::remote::{Failure, Remote, Server},
    names, text,
};
use crate::commands::say::{aside, aside_part, say};

/// Interval of polls for the state of a rollout.
const EVERY: Duration = Duration::from_millis(200);
/// How long polls may fail. The rollout continues in the meantime.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
pub(crate) struct Activate {
    /// The plugin: connector-postgres.
    name: String,
    /// A version, or the first characters of a digest. Default: the highest installed version whose last
    /// rollout did not fail and was not rolled back.
    version: Option<String>,
    /// First give it only this percentage of the calls …
    #[arg(long, value_name = "PERCENT")]
    canary: Option<f64>,
    /// … for this many seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        requires = "canary"
    )]
    canary_seconds: u64,
    /// Activate it even if it fails with datasources that work now.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    accept: Accept,
    #[command(flatten)]
    remote: Remote,
}

/// The options about additional rights.
#[derive(Debug, Args)]
pub(super) struct Accept {
    /// Accept these additional rights, as listed by the refusal.
    #[arg(long = "accept-rights", value_name = "RIGHT", value_delimiter = ',')]
    rights: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Rollback {
    /// The plugin: connector-postgres.
    name: String,
    #[command(flatten)]
    remote: Remote,
}

pub(super) async fn run(activate: &Activate) -> anyhow::Result<()> {
    names::name(&activate.name)?;
    if let Some(version) = &activate.version {
        names::version(version)?;
    }
    let server = activate.remote.server()?;
    let mut body = json!({
        "version": activate.version, "force": activate.force, "accept_rights": activate.accept.rights,
    });
    if let Some(percent) = activate.canary {
        body["canary"] = json!({"percent": percent, "seconds": activate.canary_seconds});
    }
    let rollout = begin(&server, &activate.name, &body).await?;
    follow(&server, &activate.name, rollout, Progress::stderr()).await
}

pub(super) async fn roll_back(rollback: &Rollback) -> anyhow::Result<()> {
    let name = names::name(&rollback.name)?;
    let server = rollback.remote.server()?;
    let request = server.request(Method::POST, &["plugins", name, "rollback"]);
    let rollout = server.send(request).await?;
    say!("{}", text::rollout(&rollout));
    Ok(())
}

/// Starts a rollout.
async fn begin(server: &Server, name: &str, body: &Value) -> Result<Value, Failure> {
    let path = ["plugins", name, "activate"];
    let since = Instant::now();
    loop {
        let begun = server.send(server.request(Method::POST, &path).json(body));
        match begun.await {
            // Only these failures are certain to have started nothing.
            Err(error) if error.is("rate_limit_exceeded") && since.elapsed() < PATIENCE => {
                sleep(error.retry_after().unwrap_or(EVERY)).await;
            }
            begun => return begun,
        }
    }
}

/// Activates a version and follows its rollout. Does nothing if it serves already.
pub(super) async fn serve(
    server: &Server,
    name: &str,
    digest: &str,
    accept: &Accept,
) -> anyhow::Result<()> {
    let body = json!({"version": digest, "accept_rights": accept.rights});
    let error = match begin(server, name, &body).await {
        Ok(rollout) => return follow(server, name, rollout, Progress::stderr()).await,
        Err(error) => error,
    };
    if error.is("wrong_state") {
        let request = server.request(Method::GET, &["plugins", name]);
        let plugin = server.send(request).await?;
        if plugin["active"] == digest {
            say!("serves already");
            return Ok(());
        }
    }
    Err(error.into())
}

/// Follows a rollout to its end.
async fn follow(
    server: &Server,
    name: &str,
    mut rollout: Value,
    mut progress: Progress,
) -> anyhow::Result<()> {
    let mut answered = Instant::now();
    loop {
        let stage = rollout["stage"].as_str().unwrap_or_default().to_owned();
        progress.show(&stage);
        if matches!(stage.as_str(), "completed" | "rolled_back" | "failed") {
            progress.end();
            say!("{}", text::rollout(&rollout));
            if stage != "completed" {
                bail!("the version does not serve");
            }
            return Ok(());
        }
        sleep(EVERY).await;
        let id = rollout["id"].as_str().unwrap_or_default();
        let path = ["plugins", name, "rollouts", id];
        match server.send(server.request(Method::GET, &path)).await {
            Ok(stands) => {
                rollout = stands;
                answered = Instant::now();
            }
            // The rollout does not need this client.
            Err(error) if error.is_transient() && answered.elapsed() < PATIENCE => {
                sleep(error.retry_after().unwrap_or(EVERY).min(PATIENCE)).await;
            }
            Err(error) => {
                progress.end();
                return Err(anyhow::Error::new(error).context(format!(
                    "how it ended is not known; `mindhost plugin show {name}` shows it"
                )));
            }
        }
    }
}

/// Progress: one line on a terminal, otherwise one line per stage.
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
            "checking" => "checking it against its datasources or providers",
            "canary" => "serving a share of the calls",
            "probation" => "serving, on probation; Ctrl-C is safe",
            _ => return,
        };
        if self.is_terminal {
            aside_part!(
                "\r\x1b[K{what} … {:.0} s",
                self.since.elapsed().as_secs_f64()
            );
            let _ = std::io::stderr().flush();
        } else if is_new {
            aside!("{what}");
        }
    }

    fn end(&mut self) {
        if self.is_terminal && !self.stage.is_empty() {
            aside!();
        }
        self.stage.clear();
    }
}
