//! The audit trail: who did what to which resource.
//!
//! Every request that does more than read gets a note, also if it is refused. Beyond a number per minute, questions and
//! refused requests become one note with their count (`folding`), so that no caller floods the store. One task writes
//! the notes in batches, so that waiting for a note does not delay other requests. While the store is unavailable the
//! task retries, and a bounded number of notes waits. A note holds the route, the path, the status and the name of what
//! was created: never a secret, never a row of data.

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

/// Notes that may wait to be written; beyond that, callers wait.
const QUEUE: usize = 4096;
/// Notes in one transaction.
const BATCH: usize = 256;
/// How long the task collects notes that no caller waits for.
const LINGER: Duration = Duration::from_millis(100);
/// The first and the longest delay before a retry.
const RETRY_BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// How long a request waits for its note, or for room in the queue. The task keeps trying after that.
const NOTE_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the task retries at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// How often old notes are deleted.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// How often finished minutes of `folding` are written.
const FOLD_INTERVAL: Duration = Duration::from_secs(5);

/// What is noted of one action of a caller or on the command line. Its time and id are added when it is queued.
#[derive(Clone, Debug)]
pub struct Note {
    /// Id of the workspace whose trail lists it.
    pub workspace: Arc<str>,
    /// Its key; `None` on the command line, and for a wrong key.
    pub key: Option<Arc<str>>,
    /// `PUT /minds/{name}`, `mindhost keys create`
    pub action: String,
    /// `/minds/sales`
    pub resource: String,
    /// Id of the Mind that was asked.
    pub mind: Option<Arc<str>>,
    /// Name or id of what was created.
    pub made: Option<String>,
    /// HTTP status of the answer, where there was one.
    pub status: Option<u16>,
    /// Id of the request, as in the response and the log.
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
pub struct AuditFilter {
    /// Older than this one.
    pub after: Option<String>,
    /// Id of the key whose acts are listed; none for those of all.
    pub key: Option<String>,
    /// At most so many.
    pub limit: u32,
}

/// Writes notes in the background, reads them, and deletes old ones.
#[derive(Clone, Debug)]
pub struct Audit {
    store: Store,
    queue: mpsc::Sender<PendingNote>,
    folding: Arc<Folding>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

#[derive(Debug)]
struct PendingNote {
    id: String,
    at: i64,
    note: Note,
    written: Option<oneshot::Sender<()>>,
}

/// Writes a note of an action on the command line.
///
/// # Errors
/// When the store fails.
pub async fn record(
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
    store::insert_one(store, &PendingNote::new(note, None)).await
}

impl PendingNote {
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
        let (queue, notes) = mpsc::channel(QUEUE);
        let audit = Self {
            store,
            queue,
            folding: Arc::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        audit.tasks.spawn(audit.clone().write(notes));
        audit.tasks.spawn(audit.clone().sweep(retention));
        audit.tasks.spawn(audit.clone().fold());
        audit
    }

    /// Writes the pending notes, and stops.
    pub async fn close(&self) {
        for rest in self.folding.end_all() {
            self.enqueue(PendingNote::new(rest, None));
        }
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Queues the note of a frequent action, or counts it.
    pub async fn note(&self, note: Note) {
        if self.admits(&note) {
            self.send(note, None).await;
        }
    }

    /// As [`Self::note`], without waiting for room in the queue. False when the note is only counted.
    pub fn try_note(&self, note: Note) -> bool {
        let is_admitted = self.admits(&note);
        if is_admitted {
            self.enqueue(PendingNote::new(note, None));
        }
        is_admitted
    }

    fn admits(&self, note: &Note) -> bool {
        let has_disk = self.store.check_free_space().is_ok();
        let now = std::time::Instant::now();
        self.folding.admits(note, has_disk, now)
    }

    fn enqueue(&self, waiting: PendingNote) {
        if let Err(lost) = self.queue.try_send(waiting) {
            let action = lost.into_inner().note.action;
            tracing::error!(
                action,
                "a note of the audit trail was lost: too many wait, or it came after its end"
            );
        }
    }

    /// Queues a note and waits until it is written or cannot be. That of a refused request may be counted instead.
    pub async fn note_and_wait(&self, note: Note) {
        let is_refused = note.status.is_some_and(|status| status >= 400);
        if is_refused && !self.admits(&note) {
            return;
        }
        let (written, done) = oneshot::channel();
        self.send(note, Some(written)).await;
        // The sender is dropped when the note cannot be written, which is logged.
        let _ = timeout(NOTE_TIMEOUT, done).await;
    }

    async fn send(&self, note: Note, written: Option<oneshot::Sender<()>>) {
        let waiting = PendingNote::new(note, written);
        let action = waiting.note.action.clone();
        if self
            .queue
            .send_timeout(waiting, NOTE_TIMEOUT)
            .await
            .is_err()
        {
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
    pub async fn read(&self, workspace: &str, filter: &AuditFilter) -> Result<(Vec<Entry>, bool)> {
        let mut entries = store::read(&self.store, workspace, filter).await?;
        let more = entries.len() > filter.limit as usize;
        entries.truncate(filter.limit as usize);
        Ok((entries, more))
    }

    async fn write(self, mut notes: mpsc::Receiver<PendingNote>) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut pause = RETRY_BACKOFF.0;
        let mut last_try = None;
        loop {
            if batch.is_empty() {
                pause = RETRY_BACKOFF.0;
                tokio::select! {
                    () = gather(&mut notes, &mut batch) => {}
                    () = self.closing.cancelled() => {
                        notes.close();
                        notes.recv_many(&mut batch, BATCH).await;
                        if batch.is_empty() {
                            return;
                        }
                    }
                }
            } else {
                // A batch that failed. No further notes are taken until it is written.
                sleep(pause).await;
                pause = (pause * 2).min(RETRY_BACKOFF.1);
                if self.closing.is_cancelled()
                    && *last_try.get_or_insert_with(|| Instant::now() + SHUTDOWN_TIMEOUT)
                        < Instant::now()
                {
                    let waiting = std::iter::from_fn(|| notes.try_recv().ok());
                    return lost(batch.into_iter().chain(waiting));
                }
            }
            match store::insert(&self.store, &batch).await {
                Ok(()) => {
                    for written in batch.drain(..).filter_map(|one| one.written) {
                        // The client may have disconnected.
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

    /// Writes the notes one by one, so that an invalid one does not block the others. Returns those to retry.
    async fn write_singly(&self, batch: Vec<PendingNote>) -> Vec<PendingNote> {
        let mut left = Vec::with_capacity(BATCH);
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
                sleep(FOLD_INTERVAL).await;
                for rest in self.folding.end(std::time::Instant::now()) {
                    self.enqueue(PendingNote::new(rest, None));
                }
            }
        };
        self.closing.run_until_cancelled(fold).await;
    }

    async fn sweep(self, retention: Duration) {
        let retention = i64::try_from(retention.as_micros()).unwrap_or(i64::MAX);
        let sweep = async {
            loop {
                let before = now().saturating_sub(retention);
                if let Err(error) = store::delete_before(&self.store, before).await {
                    tracing::warn!(cause = ?std::error::Error::source(&error), "old entries of the audit trail cannot be deleted");
                }
                sleep(SWEEP_INTERVAL).await;
            }
        };
        self.closing.run_until_cancelled(sweep).await;
    }
}

/// Logs the lost notes.
fn lost(notes: impl Iterator<Item = PendingNote>) {
    for PendingNote { note, .. } in notes {
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

/// Collects notes until the batch is full, a caller waits for one, or [`LINGER`] has passed.
async fn gather(notes: &mut mpsc::Receiver<PendingNote>, batch: &mut Vec<PendingNote>) {
    notes.recv_many(batch, BATCH).await;
    let until = Instant::now() + LINGER;
    while batch.len() < BATCH && batch.iter().all(|one| one.written.is_none()) {
        let more = notes.recv_many(batch, BATCH - batch.len());
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
    async fn pending_notes_are_written_at_close_and_old_ones_deleted() {
        let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
        let day = Duration::from_secs(24 * 60 * 60);
        let audit = Audit::start(store.clone(), day);
        audit.note_and_wait(note(&workspace, "first")).await;
        let filter = AuditFilter {
            limit: 1,
            ..AuditFilter::default()
        };
        let (entries, more) = audit.read(&workspace, &filter).await.unwrap();
        assert_eq!((entries[0].action.as_str(), more), ("first", false));
        for number in 0..2 * BATCH {
            let key = format!("key {}", number % 2);
            audit
                .note(Note {
                    key: Some(key.into()),
                    ..note(&workspace, "later")
                })
                .await;
        }
        audit.close().await;
        let all = AuditFilter {
            limit: 10_000,
            ..AuditFilter::default()
        };
        let (entries, _) = audit.read(&workspace, &all).await.unwrap();
        assert_eq!(entries.len(), 1 + 2 * BATCH);
        assert_eq!(entries.last().unwrap().action, "first");
        let next = AuditFilter {
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
            audit.note_and_wait(refused.clone()).await;
        }
        audit
            .note_and_wait(note(&workspace, "DELETE /minds/{name}"))
            .await;
        audit.close().await;
        let all = AuditFilter {
            limit: 10_000,
            ..AuditFilter::default()
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
    async fn note_is_retried_while_the_store_is_locked() {
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
        let filter = AuditFilter {
            limit: 10,
            ..AuditFilter::default()
        };
        let (entries, _) = audit.read(&workspace, &filter).await.unwrap();
        assert_eq!(entries[0].action, "held up");
    }

    #[tokio::test]
    async fn invalid_note_does_not_block_others() {
        let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
        let audit = Audit::start(store.clone(), Duration::from_secs(60));
        let (written, done) = oneshot::channel();
        let first = PendingNote::new(note(&workspace, "first"), None);
        let mut again = PendingNote::new(note(&workspace, "the same id again"), None);
        again.id = first.id.clone();
        let deleted = PendingNote::new(note("of a workspace that is gone", "gone"), None);
        let last = PendingNote::new(note(&workspace, "last"), Some(written));
        for waiting in [first, again, deleted, last] {
            audit.queue.send(waiting).await.unwrap();
        }
        done.await.unwrap();
        let filter = AuditFilter {
            limit: 10,
            ..AuditFilter::default()
        };
        let (entries, _) = audit.read(&workspace, &filter).await.unwrap();
        let actions: Vec<_> = entries.iter().map(|one| one.action.as_str()).collect();
        assert_eq!(actions, ["last", "first"]);
        audit.close().await;
    }
}
