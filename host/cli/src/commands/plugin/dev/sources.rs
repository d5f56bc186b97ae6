//! The sources of a project: when one was saved, and whether that changed anything.

use std::{
    collections::hash_map::DefaultHasher,
    fs,
    hash::{Hash as _, Hasher as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::ensure;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::{super::watch::is_change, is_made, is_of_tests};

/// Saves that follow each other so soon are one.
const QUIET: Duration = Duration::from_millis(60);
/// Folders and files of a project.
const MAX_ENTRIES: usize = 5_000;
/// A larger file counts by its size and time.
const MAX_BYTES: u64 = 4 << 20;

/// The watched sources of a project.
pub(super) struct Sources {
    folder: PathBuf,
    watcher: RecommendedWatcher,
    heard: Arc<LastChange>,
    /// What the sources were when the last round began.
    known: Digests,
}

/// Of the files that the build reads, and of those that only tests read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Digests {
    sources: u64,
    tests: u64,
}

#[derive(Default)]
struct LastChange {
    last: Mutex<Option<Change>>,
    more: Notify,
}

/// A file that was saved.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// When.
    pub at: Instant,
    /// Which; the folder of the project where the system lost count.
    pub path: PathBuf,
    /// Whether the plugin has to be built again.
    pub of_source: bool,
}

impl Sources {
    /// Watches the folder of a project.
    pub fn watch(folder: &Path) -> anyhow::Result<Self> {
        let heard = Arc::new(LastChange::default());
        let (hears, whole) = (Arc::clone(&heard), folder.to_owned());
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            // Of a file that was renamed, the new name is the last one.
            let source = event.paths.iter().rfind(|path| !is_made(path));
            let source = source.filter(|_| is_change(event.kind)).cloned();
            if let Some(path) = source.or_else(|| event.need_rescan().then(|| whole.clone())) {
                let at = Instant::now();
                let mut last = hears.last.lock().unwrap_or_else(PoisonError::into_inner);
                // Editors write another file and rename it: the name of that one says nothing.
                let path = match last.take() {
                    Some(before) if !path.exists() => before.path,
                    _ => path,
                };
                *last = Some(Change {
                    at,
                    path,
                    of_source: true,
                });
                hears.more.notify_one();
            }
        })?;
        Ok(Self {
            folder: folder.to_owned(),
            watcher,
            heard,
            known: Digests::default(),
        })
    }

    /// Remembers the sources as they are, and watches folders that are new.
    pub fn note(&mut self) -> anyhow::Result<()> {
        let entries = entries(&self.folder)?;
        for folder in entries.iter().filter(|path| path.is_dir()) {
            self.watcher.watch(folder, RecursiveMode::NonRecursive)?;
        }
        self.known = digests(&entries);
        Ok(())
    }

    /// Waits until a source differs from what was remembered; gives the last one that was saved.
    pub async fn saved(&self) -> Change {
        loop {
            let last = self
                .heard
                .last
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            match last {
                None => self.heard.more.notified().await,
                Some(Change { at, .. }) if at.elapsed() < QUIET => {
                    tokio::time::sleep(QUIET.saturating_sub(at.elapsed())).await;
                }
                Some(change) => {
                    *self
                        .heard
                        .last
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner) = None;
                    // A build writes files too, and an editor touches them.
                    let now = entries(&self.folder).map(|entries| digests(&entries));
                    if let Ok(now) = now
                        && now != self.known
                    {
                        let of_source = now.sources != self.known.sources;
                        return Change {
                            of_source,
                            ..change
                        };
                    }
                }
            }
        }
    }
}

/// The folder, and all folders and sources below it, in order.
fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = vec![folder.to_owned()];
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            if is_made(&path) {
                continue;
            }
            // Links are not followed, so that the walk ends.
            if entry.file_type()?.is_dir() {
                waiting.push(path.clone());
            }
            all.push(path);
            ensure!(
                all.len() <= MAX_ENTRIES,
                "the project has more than {MAX_ENTRIES} files; name its own folder with --project"
            );
        }
    }
    all.sort();
    Ok(all)
}

fn digests(entries: &[PathBuf]) -> Digests {
    let (tests, sources): (Vec<_>, Vec<_>) = entries.iter().partition(|path| is_of_tests(path));
    Digests {
        sources: digest(&sources),
        tests: digest(&tests),
    }
}

fn digest(entries: &[&PathBuf]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for path in entries {
        path.hash(&mut hasher);
        match fs::metadata(path) {
            Ok(found) if found.is_file() && found.len() <= MAX_BYTES => {
                fs::read(path).unwrap_or_default().hash(&mut hasher);
            }
            Ok(found) if found.is_file() => {
                (found.len(), found.modified().ok()).hash(&mut hasher);
            }
            _ => {}
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_save_counts_if_it_changes_a_source() {
        let project = tempfile::tempdir().unwrap();
        let at = |name: &str| project.path().join(name);
        fs::create_dir(at("src")).unwrap();
        fs::write(at("src/lib.rs"), "one").unwrap();
        let mut sources = Sources::watch(project.path()).unwrap();
        sources.note().unwrap();
        // What a build writes, and a save without a change.
        fs::create_dir(at("target")).unwrap();
        fs::write(at("target/x.rs"), "made").unwrap();
        fs::write(at("x.wasm"), "made").unwrap();
        fs::write(at("package-lock.json"), "{}").unwrap();
        fs::write(at("src/lib.rs"), "one").unwrap();
        let soon = tokio::time::timeout(QUIET * 5, sources.saved()).await;
        assert!(soon.is_err(), "nothing changed");
        fs::write(at("src/lib.rs"), "two").unwrap();
        let saved = tokio::time::timeout(Duration::from_secs(20), sources.saved()).await;
        assert!(saved.unwrap().of_source);
        // Nothing of a plugin is built from these.
        sources.note().unwrap();
        fs::write(at("test.json"), "{}").unwrap();
        let saved = tokio::time::timeout(Duration::from_secs(20), sources.saved()).await;
        assert!(!saved.unwrap().of_source);
        // As editors save.
        sources.note().unwrap();
        fs::write(at("src/4913"), "three").unwrap();
        fs::rename(at("src/4913"), at("src/lib.rs")).unwrap();
        let saved = tokio::time::timeout(Duration::from_secs(20), sources.saved()).await;
        assert!(saved.unwrap().path.ends_with("src/lib.rs"));
    }
}
