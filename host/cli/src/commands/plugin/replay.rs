//! `mindhost plugin replay`: repeats the calls of a recording on another plugin.

mod connections;
mod differences;
mod models;

use std::{path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use clap::Args;
use mindhost_plugin_api::Call;
use mindhost_plugins::record::{self, Entry, Tape};
use mindhost_runtime::standalone::LoadedPlugin;
use tokio_util::sync::CancellationToken;

use self::differences::Differences;
use super::{configured::PluginSetup, lines};
use crate::commands::say::say;

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The recording.
    recording: PathBuf,
    /// The plugin that gets the calls.
    #[arg(long)]
    plugin: PathBuf,
    /// Connection data, as for `plugin run`: a recording holds no secrets, so it cannot connect by itself.
    #[arg(long, short, value_name = "FILE|JSON")]
    config: Option<String>,
    /// Seconds that each call may take.
    #[arg(long, default_value_t = 60)]
    timeout: u64,
}

pub(super) async fn run(replay: Replay) -> anyhow::Result<ExitCode> {
    // Log lines are not results.
    lines::listen(|_| {})?;
    let (header, entries) =
        record::read(&replay.recording).with_context(|| replay.recording.display().to_string())?;
    let configured = PluginSetup::read(&replay.plugin, replay.config.as_deref()).await?;
    let manifest = &configured.package.manifest;
    say!(
        "recorded {} {} {}",
        header.plugin,
        header.version,
        short(&header.digest)
    );
    say!(
        "replayed {} {} {}",
        manifest.name,
        manifest.version,
        short(&configured.package.digest)
    );
    let alone = configured.load().await?;
    // The replay is recorded too, and the two recordings are compared.
    let tape = Arc::new(Tape::in_memory());
    let mut again = ReplayRun {
        configured: &configured,
        timeout: Duration::from_secs(replay.timeout),
        tape: &tape,
        found: Differences::default(),
    };
    match record::recorded(&alone.loaded, &tape) {
        LoadedPlugin::Connector(connector) => {
            connections::replay(&*connector, &entries, &mut again).await
        }
        LoadedPlugin::Model(model) => models::replay(&*model, &entries, &mut again).await,
    }
    alone.drain().await;
    Ok(again.found.report())
}

/// A replay in progress.
struct ReplayRun<'a> {
    configured: &'a PluginSetup,
    timeout: Duration,
    tape: &'a Tape,
    found: Differences,
}

impl ReplayRun<'_> {
    fn call(&self) -> Call {
        Call::new(self.timeout, CancellationToken::new())
    }

    /// The outcome of the last call.
    fn came(&self) -> Option<Entry> {
        self.tape.take().pop()
    }

    /// Compares a recorded call with its replay.
    fn compare(&mut self, entry: &Entry) {
        if let Some(now) = self.came() {
            self.found.compare(entry, &now.outcome);
        }
    }
}

fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}
