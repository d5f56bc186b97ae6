//! `mindhost demo`: the whole job on a made-up shop.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use mindhost_demo::Stop;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The options of `mindhost demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Exit after the last step; the exit code is 0 if every answer was right.
    #[arg(long)]
    once: bool,
    /// Data directory of the demo's server. Data of an earlier demo is deleted. One that no demo made is refused.
    #[arg(long, value_name = "DIR", default_value = "mindhost-demo")]
    dir: PathBuf,
    /// Directory of the plugins. Default: the folder `plugins` here, beside the program, or one level above it.
    #[arg(long, value_name = "DIR")]
    plugins_dir: Option<PathBuf>,
}

/// Runs the demo, blocking this thread. SIGTERM and Ctrl-C end the server of the demo first.
pub(crate) fn run(demo: Demo) -> anyhow::Result<()> {
    let program =
        std::env::current_exe().context("finding this program, which is started as the server")?;
    let stop = Stop::default();
    tokio::spawn(asked_to_end(
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
        stop.clone(),
    ));
    let options = mindhost_demo::Options {
        plugins_dir: demo.plugins_dir.unwrap_or_else(|| plugins_dir(&program)),
        dir: demo.dir,
        program,
        once: demo.once,
        stop,
    };
    tokio::task::block_in_place(|| mindhost_demo::run(&options))
}

async fn asked_to_end(mut terminate: Signal, mut interrupt: Signal, stop: Stop) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    stop.ask();
}

/// The first of the usual places that exists.
fn plugins_dir(program: &Path) -> PathBuf {
    let beside = program
        .ancestors()
        .skip(1)
        .take(2)
        .map(|dir| dir.join("plugins"));
    let here = PathBuf::from("plugins");
    let holds_plugins = |dir: &PathBuf| dir.join("connector-sqlite.wasm").is_file();
    [here.clone()]
        .into_iter()
        .chain(beside)
        .find(holds_plugins)
        .unwrap_or(here)
}
