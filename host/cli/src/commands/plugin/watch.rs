//! `mindhost plugin watch`

mod changes;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use anyhow::{Context, bail};
use clap::Args;
use mindhost_api::AppState;
use mindhost_base::{
    config::{Compiler, Config},
    error::Code,
};
use mindhost_core::rollouts::Rollouts;
use mindhost_runtime::package;

pub(super) use self::changes::is_change;

use self::changes::Changes;
use super::{super::serve, files};
use crate::commands::say::say;

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The directory that plugins are built into. Each packed .wasm file serves as soon as it is written.
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

/// Activates every file of the directory, now and whenever one is written, until the server shuts down.
fn follow(dir: &Path, state: &AppState) -> anyhow::Result<()> {
    let (changes, watcher) = changes::watch(dir)?;
    let mut bench = Bench {
        rollouts: state.rollouts.clone(),
        max_bytes: state.config.plugins.limits.max_package_bytes,
        seen: HashMap::new(),
    };
    let ending = state.shutdown.ending.clone();
    state.shutdown.tasks.spawn(async move {
        // Its drop stops the watch.
        let _watcher = watcher;
        loop {
            let (path, since) = tokio::select! {
                () = ending.cancelled() => return,
                changed = next(&changes) => changed,
            };
            bench.look_at(&path, since).await;
        }
    });
    Ok(())
}

async fn next(changes: &Arc<Changes>) -> (PathBuf, Instant) {
    changes.next().await
}

/// The plugin files of a development directory.
struct Bench {
    rollouts: Rollouts,
    max_bytes: u64,
    /// The last outcome for each file, so that nothing is reported twice.
    seen: HashMap<PathBuf, LastLook>,
}

#[derive(PartialEq, Eq)]
enum LastLook {
    /// The file with these bytes and this signature was activated or refused.
    Judged(String, Option<String>),
    /// The file could not be read.
    Unreadable(String),
}

impl Bench {
    /// Activates a file that changed at `since`.
    async fn look_at(&mut self, path: &Path, since: Instant) {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        // A file that has vanished was temporary.
        if path.symlink_metadata().is_err() {
            self.seen.remove(path);
            return;
        }
        let (at, max_bytes) = (path.to_owned(), self.max_bytes);
        let read = move || {
            let bytes = files::read(&at, max_bytes)?;
            let signature = files::signature(&at)?;
            anyhow::Ok((package::digest(&bytes), bytes, signature))
        };
        let (digest, bytes, signature) = match tokio::task::spawn_blocking(read).await {
            Ok(Ok(read)) => read,
            Ok(Err(error)) => {
                let why = format!("{error:#}");
                if self.is_new(path, LastLook::Unreadable(why.clone())) {
                    say!("{why}; what served before serves on");
                }
                return;
            }
            Err(_) => return,
        };
        if !self.is_new(path, LastLook::Judged(digest, signature.clone())) {
            return;
        }
        match self.rollouts.develop(bytes, signature.as_deref()).await {
            Ok(about) => say!(
                "{file}: {} {} ({}) serves {:.2} s after it was written",
                about.name,
                about.version,
                about.digest.get(..12).unwrap_or_default(),
                since.elapsed().as_secs_f64()
            ),
            Err(error) => {
                say!("{file}: {}; what served before serves on", error.message());
                if error.code() != Code::PluginRefused {
                    // An error that is not the file's fault may be gone the next time.
                    self.seen.remove(path);
                }
            }
        }
    }

    fn is_new(&mut self, path: &Path, seen: LastLook) -> bool {
        let is_new = self.seen.get(path) != Some(&seen);
        self.seen.insert(path.to_owned(), seen);
        is_new
    }
}
