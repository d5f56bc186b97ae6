//! `mindhost plugin watch`

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::Args;
use mindhost::{
    api::AppState,
    config::{Compiler, Config},
    rollouts::Rollouts,
};
use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::super::serve;

/// A file that was not written to for so long is whole.
const QUIET: Duration = Duration::from_millis(100);
/// Files whose names wait to be looked at; more changes than that are those of a whole build.
const WAITING: usize = 1_024;

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The directory that plugins are built into. Each .wasm file with a manifest serves as soon as it is written.
    dir: PathBuf,
}

pub(super) async fn run(watch: Watch) -> anyhow::Result<()> {
    let mut config = Config::load()?;
    let dir = watch.dir.canonicalize();
    let dir = dir.with_context(|| format!("{}", watch.dir.display()))?;
    if !dir.is_dir() {
        bail!("{} is no directory", dir.display());
    }
    config.plugins_dir.clone_from(&dir);
    config.plugins.limits.compiler = Compiler::Winch;
    serve::run_with(config, |state| follow(&dir, state)).await
}

/// Lets every file of the directory serve, now and whenever one is written, until the server ends.
fn follow(dir: &Path, state: &AppState) -> anyhow::Result<()> {
    let (sender, mut written) = mpsc::channel(WAITING);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        for path in event.into_iter().flat_map(|event| event.paths) {
            // Whoever finds the queue full finds the file in it too, or a later change of it.
            let _ = sender.try_send(path);
        }
    })?;
    watcher.watch(dir, RecursiveMode::NonRecursive)?;
    let entries = std::fs::read_dir(dir)?;
    let mut changed: BTreeSet<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    let rollouts = state.rollouts.clone();
    let ending = state.shutdown.ending.clone();
    state.shutdown.tasks.spawn(async move {
        // Dropped at the end, which ends the watching.
        let _watcher = watcher;
        loop {
            for path in std::mem::take(&mut changed) {
                if path
                    .extension()
                    .is_some_and(|extension| extension == "wasm")
                {
                    serve_file(&rollouts, &path).await;
                }
            }
            tokio::select! {
                () = ending.cancelled() => return,
                path = written.recv() => changed.extend(path),
            }
            while let Ok(Some(path)) = tokio::time::timeout(QUIET, written.recv()).await {
                changed.insert(path);
            }
        }
    });
    Ok(())
}

async fn serve_file(rollouts: &Rollouts, path: &Path) {
    let begun = Instant::now();
    // One that is gone again was a compiler's own.
    let Ok(bytes) = tokio::fs::read(path).await else {
        return;
    };
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    match rollouts.develop(bytes).await {
        Ok(about) => println!(
            "{file}: {} {} ({}) serves after {:.1} s",
            about.name,
            about.version,
            about.digest.get(..12).unwrap_or_default(),
            begun.elapsed().as_secs_f64()
        ),
        Err(error) => println!("{file}: {}; what served before serves on", error.message()),
    }
}
