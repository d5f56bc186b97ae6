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

/// Lets every file of the directory serve, now and whenever one is written, until the server ends.
fn follow(dir: &Path, state: &AppState) -> anyhow::Result<()> {
    let (changes, watcher) = changes::watch(dir)?;
    let mut bench = Bench {
        rollouts: state.rollouts.clone(),
        max_bytes: state.config.plugins.limits.max_package_bytes,
        seen: HashMap::new(),
    };
    let ending = state.shutdown.ending.clone();
    state.shutdown.tasks.spawn(async move {
        // Dropped at the end, which ends the watching.
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

/// What lies on the bench of whoever writes plugins.
struct Bench {
    rollouts: Rollouts,
    max_bytes: u64,
    /// Of each file, what was done with it last: nobody wants to hear the same twice.
    seen: HashMap<PathBuf, Seen>,
}

#[derive(PartialEq, Eq)]
enum Seen {
    /// These bytes with this signature were served or refused.
    Judged(String, Option<String>),
    /// It could not be read, for this reason.
    Unreadable(String),
}

impl Bench {
    /// Lets a file serve that changed at `since`.
    async fn look_at(&mut self, path: &Path, since: Instant) {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        // One that is gone again was a compiler's own.
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
                if self.is_new(path, Seen::Unreadable(why.clone())) {
                    say!("{why}; what served before serves on");
                }
                return;
            }
            Err(_) => return,
        };
        if !self.is_new(path, Seen::Judged(digest, signature.clone())) {
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
                    // What is not the file's fault may be over the next time that it is written.
                    self.seen.remove(path);
                }
            }
        }
    }

    fn is_new(&mut self, path: &Path, seen: Seen) -> bool {
        let is_new = self.seen.get(path) != Some(&seen);
        self.seen.insert(path.to_owned(), seen);
        is_new
    }
}
