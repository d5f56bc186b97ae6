//! Finds plugin files that were written, once they are complete.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use mindhost_plugins::artifacts::SIGNATURE;
use notify::{
    EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode, ModifyKind},
};
use tokio::sync::Notify;

/// A file without writes for so long is complete.
const QUIET: Duration = Duration::from_millis(100);

/// Written files that were not handled yet, with the times of their last changes.
#[derive(Default)]
pub(super) struct Changes {
    written: Mutex<BTreeMap<PathBuf, Instant>>,
    more: Notify,
}

/// Follows a directory. Existing plugin files count as written now.
pub(super) fn watch(dir: &Path) -> anyhow::Result<(Arc<Changes>, RecommendedWatcher)> {
    let changes = Arc::new(Changes::default());
    let (heard, all) = (Arc::clone(&changes), dir.to_owned());
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        match event.need_rescan() {
            // The system lost events.
            true => heard.add_all(&all),
            false if is_change(event.kind) => heard.add(event.paths),
            false => {}
        }
    })?;
    watcher.watch(dir, RecursiveMode::NonRecursive)?;
    changes.add_all(dir);
    Ok((changes, watcher))
}

/// Whether an event may change a file. Reads cause events too, also our own.
pub(in super::super) fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Create(_) | EventKind::Remove(_) => true,
        EventKind::Modify(what) => !matches!(what, ModifyKind::Metadata(_)),
        EventKind::Access(how) => how == AccessKind::Close(AccessMode::Write),
        EventKind::Any | EventKind::Other => false,
    }
}

/// The plugin file that a path is or belongs to.
fn plugin_file(path: PathBuf) -> Option<PathBuf> {
    let is = |path: &Path, suffix: &str| path.extension().is_some_and(|own| own == suffix);
    let file = match is(&path, SIGNATURE) {
        true => path.with_extension(""),
        false => path,
    };
    is(&file, "wasm").then_some(file)
}

impl Changes {
    fn add(&self, paths: impl IntoIterator<Item = PathBuf>) {
        let mut files = paths.into_iter().filter_map(plugin_file).peekable();
        if files.peek().is_none() {
            return;
        }
        let now = Instant::now();
        self.lock().extend(files.map(|file| (file, now)));
        self.more.notify_one();
    }

    fn add_all(&self, dir: &Path) {
        let entries = std::fs::read_dir(dir).into_iter().flatten();
        self.add(entries.filter_map(|entry| Some(entry.ok()?.path())));
    }

    /// The next complete file, with its time.
    pub(super) async fn next(&self) -> (PathBuf, Instant) {
        loop {
            let first = {
                let mut written = self.lock();
                let first = written.iter().min_by_key(|(_, at)| **at);
                let first = first.map(|(path, at)| (path.clone(), *at));
                match first {
                    Some((path, at)) if at.elapsed() >= QUIET => {
                        written.remove(&path);
                        return (path, at);
                    }
                    other => other,
                }
            };
            match first {
                Some((_, at)) => {
                    tokio::time::sleep(QUIET.saturating_sub(at.elapsed())).await;
                }
                None => self.more.notified().await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Instant>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{CreateKind, DataChange, MetadataKind, RenameMode};

    use super::*;

    #[test]
    fn reading_a_file_is_no_change_of_it() {
        for kind in [
            EventKind::Access(AccessKind::Open(AccessMode::Any)),
            EventKind::Access(AccessKind::Read),
            EventKind::Access(AccessKind::Close(AccessMode::Read)),
            EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)),
        ] {
            assert!(!is_change(kind), "{kind:?}");
        }
        for kind in [
            EventKind::Create(CreateKind::File),
            EventKind::Access(AccessKind::Close(AccessMode::Write)),
            EventKind::Modify(ModifyKind::Data(DataChange::Any)),
            EventKind::Modify(ModifyKind::Name(RenameMode::To)),
        ] {
            assert!(is_change(kind), "{kind:?}");
        }
    }

    #[tokio::test]
    async fn a_signature_stands_for_its_plugin_and_other_files_for_nothing() {
        let changes = Changes::default();
        changes.add(["a.wasm.minisig", "b.d", "c.minisig", "a.wasm"].map(PathBuf::from));
        let begun = Instant::now();
        assert_eq!(changes.next().await.0, Path::new("a.wasm"));
        assert!(begun.elapsed() < Duration::from_secs(60));
        assert!(changes.lock().is_empty());
    }
}
