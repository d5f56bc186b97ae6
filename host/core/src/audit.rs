//! The audit trail: who did what to which resource.
//!
//! Everything but reading is noted, refused attempts too. Questions and refused attempts beyond a number in a minute become
//! one note with their count (`folding`), so that no caller fills the store with notes. Notes are written by one task, many at
//! a time; a request that waits for its note does not hold up the others. While the store is busy or away they are tried again and
//! again, and as many wait as memory was set aside for. Never a secret, never a row of data: a note holds
//! the route, the path, the status and the name of what was made.

mod folding;
mod store;

use std::{sync::Arc, time::Duration};

use serde::Serialize;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::folding::Folding;
use mindhost_base::error::Result;
use mindhost_store::{Store, new_id, now};

/// Notes that may wait to be written; who comes then waits too.
const WAITING: usize = 4096;
/// Notes that are written at a time.
const AT_ONCE: usize = 256;
/// How long a note waits for others that nobody waits for.
const LINGER: Duration = Duration::from_millis(100);
/// How long until notes are tried again that the store did not take, at first and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// How long an act is held up for its note, and anything for a place among those that wait. The note is tried on after it.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long notes are tried at the end of the server.
const LAST_TRIES: Duration = Duration::from_secs(10);
/// How often old notes are looked for.
const TIDY: Duration = Duration::from_secs(60 * 60);
/// How often it is looked for minutes of `folding` that are over.
const FOLD: Duration = Duration::from_secs(5);

/// Something that was done.
#[derive(Clone, Debug)]
pub struct Note {
    /// Workspace in which it was done.
    pub workspace: Arc<str>,
    /// Key that did it; `None` on the command line, and for a wrong key.
    pub key: Option<Arc<str>>,
    /// `PUT /minds/{name}`, `mindhost keys create`
    pub action: String,
    /// `/minds/sales`
    pub resource: String,
    /// Id of the Mind that was asked.
    pub mind: Option<Arc<str>>,
    /// Name or id of what was made.
    pub made: Option<String>,
    /// HTTP status of the answer, where there was one.
    pub status: Option<u16>,
    /// Of the answer and the log.
    pub request_id: Option<String>,
}

/// A stored note.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = AuditEntry)]
pub struct Entry {
    /// Id; later ones sort after earlier ones.
    pub id: String,
    /// When it was done.
    pub created_at: jiff::Timestamp,
    /// Id of the key that did it; `None` on the command line, and for a wrong key.
    #[schema(required = true)]
    pub key_id: Option<String>,
    /// Its name.
    #[schema(required = true)]
    pub key_name: Option<String>,
    /// `PUT /minds/{name}`, `POST /mcp run_sql`, `mindhost keys create`, `failed login`
    pub action: String,
    /// `/minds/sales`; of a failed login the address that it came from.
    pub resource: String,
    /// Name of the Mind that was asked; its id once it is deleted.
    #[schema(required = true)]
    pub mind: Option<String>,
    /// Name or id of what was made, or the name that it has now.
    #[schema(required = true)]
    pub made: Option<String>,
    /// HTTP status of the answer, where there was one; of a tool that failed, that of its failure.
    #[schema(required = true)]
    pub status: Option<u16>,
    /// Of the answer and the log.
    #[schema(required = true)]
    pub request_id: Option<String>,
}

/// Which notes to read.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Older than this one.
    pub after: Option<String>,
    /// Of one key.
    pub key: Option<String>,
    /// At most so many.
    pub limit: u32,
}

/// The audit trail.
#[derive(Clone, Debug)]
pub struct Audit {
    store: Store,
    waiting: mpsc::Sender<Waiting>,
    folding: Arc<Folding>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

#[derive(Debug)]
struct Waiting {
    id: String,
    at: i64,
    note: Note,
    written: Option<oneshot::Sender<()>>,
}

/// Writes what was done on the command line.
///
/// # Errors
/// When the store fails.
pub async fn by_hand(
    store: &Store,
    workspace: &str,
    action: &str,
    resource: String,
    made: Option<String>,
) -> Result<()> {
    let note = Note {
        workspace: workspace.into(),
        key: None,
        action: action.to_owned(),
        resource,
        mind: None,
        made,
        status: None,
        request_id: None,
    };
    store::insert_one(store, &Waiting::new(note, None)).await
}

impl Waiting {
    fn new(note: Note, written: Option<oneshot::Sender<()>>) -> Self {
        Self {
            id: new_id(),
            at: now(),
            note,
            written,
        }
    }
}

impl Audit {
    /// Starts writing, until [`Self::close`]. Notes older than `retention` are deleted.
    pub fn start(store: Store, retention: Duration) -> Self {
        let (waiting, notes) = mpsc::channel(WAITING);
        let audit = Self {
            store,
            waiting,
            folding: Arc::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        audit.tasks.spawn(audit.clone().write(notes));
        audit.tasks.spawn(audit.clone().tidy(retention));
        audit.tasks.spawn(audit.clone().fold());
        audit
    }

    /// Writes what waits, and ends.
    pub async fn close(&self) {
        for rest in self.folding.end_all() {
            self.pass(Waiting::new(rest, None));
        }
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Takes a note of what may be done often, to be written soon, or counted.
    pub async fn note(&self, note: Note) {
        if self.admits(&note) {
            self.send(note, None).await;
        }
    }

    /// As [`Self::note`], of somebody who cannot wait for a place among those that wait. False when it is only counted.
    pub fn note_in_passing(&self, note: Note) -> bool {
        let is_admitted = self.admits(&note);
        if is_admitted {
            self.pass(Waiting::new(note, None));
        }
        is_admitted
    }

    fn admits(&self, note: &Note) -> bool {
        let has_disk = self.store.check_free_space().is_ok();
        let now = std::time::Instant::now();
        self.folding.admits(note, has_disk, now)
    }

    fn pass(&self, waiting: Waiting) {
        if let Err(lost) = self.waiting.try_send(waiting) {
            let action = lost.into_inner().note.action;
            tracing::error!(
                action,
                "a note of the audit trail was lost: too many wait, or it came after its end"
            );
        }
    }

    /// Takes a note of an act and waits until it is written, or cannot be. One that was refused may be counted instead.
    pub async fn note_now(&self, note: Note) {
        let is_refused = note.status.is_some_and(|status| status >= 400);
        if is_refused && !self.admits(&note) {
            return;
        }
        let (written, done) = oneshot::channel();
        self.send(note, Some(written)).await;
        // Dropped without a word when it cannot be written, which the log says.
        let _ = timeout(PATIENCE, done).await;
    }

    async fn send(&self, note: Note, written: Option<oneshot::Sender<()>>) {
        let waiting = Waiting::new(note, written);
        let action = waiting.note.action.clone();
        if self.waiting.send_timeout(waiting, PATIENCE).await.is_err() {
            tracing::error!(
                action,
                "a note of the audit trail was lost: too many wait, or it came after its end"
            );
        }
    }

    /// Notes of a workspace, newest first, and whether there are older ones.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn read(&self, workspace: &str, wanted: &Wanted) -> Result<(Vec<Entry>, bool)> {
        let mut entries = store::read(&self.store, workspace, wanted).await?;
        let more = entries.len() > wanted.limit as usize;
        entries.truncate(wanted.limit as usize);
        Ok((entries, more))
    }

    async fn write(self, mut notes: mpsc::Receiver<Waiting>) {
        let mut batch = Vec::with_capacity(AT_ONCE);
        let mut pause = AGAIN.0;
        let mut last_try = None;
        loop {
            if batch.is_empty() {
                pause = AGAIN.0;
                tokio::select! {
                    () = gather(&mut notes, &mut batch) => {}
                    () = self.closing.cancelled() => {
                        notes.close();
                        notes.recv_many(&mut batch, AT_ONCE).await;
                        if batch.is_empty() {
                            return;
                        }
                    }
                }
            } else {
                // Those that the store did not take. More would only wait with them.
                sleep(pause).await;
                pause = (pause * 2).min(AGAIN.1);
                if self.closing.is_cancelled()
                    && *last_try.get_or_insert_with(|| Instant::now() + LAST_TRIES) < Instant::now()
                {
                    let waiting = std::iter::from_fn(|| notes.try_recv().ok());
                    return lost(batch.into_iter().chain(waiting));
                }
            }
            match store::insert(&self.store, &batch).await {
                Ok(()) => {
                    for written in batch.drain(..).filter_map(|one| one.written) {
                        // Nobody waits any more: the client went away.
                        let _ = written.send(());
                    }
                }
                Err(error) if store::is_passing(&error) => {
                    let cause = std::error::Error::source(&error);
                    tracing::warn!(
                        notes = batch.len(),
                        ?cause,
                        "notes of the audit trail wait for the store"
                    );
                }
                Err(_) => batch = self.write_singly(batch).await,
            }
        }
    }

    /// Once more, so that one that cannot be written takes no other with it. Gives those that can later.
    async fn write_singly(&self, batch: Vec<Waiting>) -> Vec<Waiting> {
        let mut left = Vec::with_capacity(AT_ONCE);
        for one in batch {
            match store::insert_one(&self.store, &one).await {
                Ok(()) => {
                    let _ = one.written.map(|written| written.send(()));
                }
                Err(error) if store::is_passing(&error) => left.push(one),
                Err(error) => {
                    let (action, cause) = (one.note.action, std::error::Error::source(&error));
                    tracing::error!(
                        action,
                        ?cause,
                        "a note of the audit trail cannot be written"
                    );
                }
            }
        }
        left
    }

    async fn fold(self) {
        let fold = async {
            loop {
                sleep(FOLD).await;
                for rest in self.folding.end(std::time::Instant::now()) {
                    self.pass(Waiting::new(rest, None));
                }
            }
        };
        self.closing.run_until_cancelled(fold).await;
    }

    async fn tidy(self, retention: Duration) {
        let retention = i64::try_from(retention.as_micros()).unwrap_or(i64::MAX);
        let tidy = async {
            loop {
                let before = now().saturating_sub(retention);
                if let Err(error) = store::delete_before(&self.store, before).await {
                    tracing::warn!(cause = ?std::error::Error::source(&error), "the audit trail cannot be tidied");
                }
                sleep(TIDY).await;
            }
        };
        self.closing.run_until_cancelled(tidy).await;
    }
}

/// Says which notes are lost, so that the log has them at least.
fn lost(notes: impl Iterator<Item = Waiting>) {
    for Waiting { note, .. } in notes {
        let Note {
            key,
            action,
            resource,
            status,
            request_id,
            ..
        } = note;
        tracing::error!(
            ?key,
            action,
            resource,
            ?status,
            ?request_id,
            "a note of the audit trail was lost: the store did not take it before the end"
        );
    }
}

/// Takes notes until there are many, somebody waits for one, or the first of them has waited for [`LINGER`].
async fn gather(notes: &mut mpsc::Receiver<Waiting>, batch: &mut Vec<Waiting>) {
    notes.recv_many(batch, AT_ONCE).await;
    let until = Instant::now() + LINGER;
    while batch.len() < AT_ONCE && batch.iter().all(|one| one.written.is_none()) {
        let more = notes.recv_many(batch, AT_ONCE - batch.len());
        if !matches!(timeout_at(until, more).await, Ok(1..)) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(workspace: &str, action: &str) -> Note {
        Note {
            workspace: workspace.into(),
            key: Some("no such key".into()),
            action: action.to_owned(),
            resource: "/minds/x".to_owned(),
            mind: None,
            made: None,
            status: Some(200),
            request_id: None,
        }
    }

    #[tokio::test]
    async fn what_was_noted_before_the_end_is_written_and_old_notes_go() {
        let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
        let day = Duration::from_secs(24 * 60 * 60);
        let audit = Audit::start(store.clone(), day);
        audit.note_now(note(&workspace, "first")).await;
        let wanted = Wanted {
            limit: 1,
            ..Wanted::default()
        };
        let (entries, more) = audit.read(&workspace, &wanted).await.unwrap();
        assert_eq!((entries[0].action.as_str(), more), ("first", false));
        for number in 0..2 * AT_ONCE {
            let key = format!("key {}", number % 2);
            audit
                .note(Note {
                    key: Some(key.into()),
                    ..note(&workspace, "later")
                })
                .await;
        }
        audit.close().await;
        let all = Wanted {
            limit: 10_000,
            ..Wanted::default()
        };
        let (entries, _) = audit.read(&workspace, &all).await.unwrap();
        assert_eq!(entries.len(), 1 + 2 * AT_ONCE);
        assert_eq!(entries.last().unwrap().action, "first");
        let next = Wanted {
            after: Some(entries[0].id.clone()),
            limit: 1,
            key: None,
        };
        let (page, more) = audit.read(&workspace, &next).await.unwrap();
        assert_eq!((page[0].id.as_str(), more), (entries[1].id.as_str(), true));

        store::delete_before(&store, now() + 1).await.unwrap();
        assert!(audit.read(&workspace, &all).await.unwrap().0.is_empty());
    }

    #[tokio::test]
    async fn questions_and_refusals_are_counted_where_there_are_many() {
        let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
        let audit = Audit::start(store.clone(), Duration::from_secs(60 * 60));
        let refused = Note {
            status: Some(403),
            ..note(&workspace, "PUT /minds/{name}")
        };
        for _ in 0..250 {
            audit.note(note(&workspace, "POST /responses")).await;
            audit.note_now(refused.clone()).await;
        }
        audit
            .note_now(note(&workspace, "DELETE /minds/{name}"))
            .await;
        audit.close().await;
        let all = Wanted {
            limit: 10_000,
            ..Wanted::default()
        };
        let (entries, _) = audit.read(&workspace, &all).await.unwrap();
        assert_eq!(entries.len(), 300 + 1 + 1);
        let is_there = |action: &str, resource: &str| {
            let mut entries = entries.iter();
            entries.any(|entry| entry.action == action && entry.resource == resource)
        };
        assert!(
            is_there("DELETE /minds/{name}", "/minds/x"),
            "an act is noted"
        );
        assert!(is_there("further requests", "200 within a minute"));
    }

    #[tokio::test]
    async fn a_note_that_the_store_does_not_take_at_once_is_written_later() {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = dir.path().display().to_string();
        let set = [("DATA_DIR", &*data_dir), ("STORE__MAX_CONNECTIONS", "1")]
            .map(|(name, value)| (format!("MINDHOST_{name}"), value.to_owned()));
        let store = Store::open(&mindhost_base::config::Config::from_env(set).unwrap())
            .await
            .unwrap();
        store.migrate().await.unwrap();
        let workspace = store.ensure_workspace("default").await.unwrap();
        let url = format!("sqlite://{data_dir}/mindhost.db");
        let mut other = <sqlx::SqliteConnection as sqlx::Connection>::connect(&url)
            .await
            .unwrap();
        sqlx::query("BEGIN IMMEDIATE")
            .execute(&mut other)
            .await
            .unwrap();
        // Its one connection does not wait for the lock itself.
        sqlx::query("PRAGMA busy_timeout = 1")
            .execute(store.pool())
            .await
            .unwrap();
        let audit = Audit::start(store.clone(), Duration::from_secs(60 * 60));
        audit.note(note(&workspace, "held up")).await;
        sleep(3 * LINGER).await;
        sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
        audit.close().await;
        let wanted = Wanted {
            limit: 10,
            ..Wanted::default()
        };
        let (entries, _) = audit.read(&workspace, &wanted).await.unwrap();
        assert_eq!(entries[0].action, "held up");
    }

    #[tokio::test]
    async fn a_note_that_cannot_be_written_takes_no_other_with_it() {
        let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
        let audit = Audit::start(store.clone(), Duration::from_secs(60));
        let (written, done) = oneshot::channel();
        let first = Waiting::new(note(&workspace, "first"), None);
        let mut again = Waiting::new(note(&workspace, "the same id again"), None);
        again.id = first.id.clone();
        let deleted = Waiting::new(note("of a workspace that is gone", "gone"), None);
        let last = Waiting::new(note(&workspace, "last"), Some(written));
        for waiting in [first, again, deleted, last] {
            audit.waiting.send(waiting).await.unwrap();
        }
        done.await.unwrap();
        let wanted = Wanted {
            limit: 10,
            ..Wanted::default()
        };
        let (entries, _) = audit.read(&workspace, &wanted).await.unwrap();
        let actions: Vec<_> = entries.iter().map(|one| one.action.as_str()).collect();
        assert_eq!(actions, ["last", "first"]);
        audit.close().await;
    }
}
