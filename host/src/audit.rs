//! The audit trail: who did what to which resource.
//!
//! Everything but reading is noted, refused attempts too. Notes are written by one task, many at a time; whoever waits
//! for a note to be written does so without holding up the others. Never a secret, never a row of data: a note holds
//! the route, the path, the status and the name of what was made.

mod store;

use std::{sync::Arc, time::Duration};

use serde::Serialize;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    error::Result,
    store::{Store, new_id, now},
};

/// Notes that may wait to be written; who comes then waits too.
const WAITING: usize = 4096;
/// Notes that are written at a time.
const AT_ONCE: usize = 256;
/// How long a note waits for others that nobody waits for.
const LINGER: Duration = Duration::from_millis(100);
/// How often old notes are looked for.
const TIDY: Duration = Duration::from_secs(60 * 60);

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
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        audit.tasks.spawn(audit.clone().write(notes));
        audit.tasks.spawn(audit.clone().tidy(retention));
        audit
    }

    /// Writes what waits, and ends.
    pub async fn close(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Takes a note, to be written soon.
    pub async fn note(&self, note: Note) {
        self.send(note, None).await;
    }

    /// Takes a note of somebody who cannot wait for a place among those that wait.
    pub fn note_in_passing(&self, note: Note) {
        if let Err(lost) = self.waiting.try_send(Waiting::new(note, None)) {
            let action = lost.into_inner().note.action;
            tracing::error!(
                action,
                "a note of the audit trail was lost: too many wait, or it came after its end"
            );
        }
    }

    /// Takes a note and waits until it is written, or cannot be.
    pub async fn note_now(&self, note: Note) {
        let (written, done) = oneshot::channel();
        self.send(note, Some(written)).await;
        // Dropped without a word when the store failed, which the log says.
        let _ = done.await;
    }

    async fn send(&self, note: Note, written: Option<oneshot::Sender<()>>) {
        let waiting = Waiting::new(note, written);
        if let Err(lost) = self.waiting.send(waiting).await {
            tracing::error!(
                action = lost.0.note.action,
                "a note of the audit trail came after its end"
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
        loop {
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
            match store::insert(&self.store, &batch).await {
                Ok(()) => {
                    for written in batch.drain(..).filter_map(|one| one.written) {
                        // Nobody waits any more: the client went away.
                        let _ = written.send(());
                    }
                }
                Err(_) => self.write_singly(&mut batch).await,
            }
        }
    }

    /// Once more, so that one that cannot be written takes no other with it.
    async fn write_singly(&self, batch: &mut Vec<Waiting>) {
        for one in batch.drain(..) {
            match store::insert_one(&self.store, &one).await {
                Ok(()) => {
                    let _ = one.written.map(|written| written.send(()));
                }
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
    }

    async fn tidy(self, retention: Duration) {
        let retention = i64::try_from(retention.as_micros()).unwrap_or(i64::MAX);
        let tidy = async {
            loop {
                let before = now().saturating_sub(retention);
                if let Err(error) = store::delete_before(&self.store, before).await {
                    tracing::warn!(cause = ?std::error::Error::source(&error), "the audit trail cannot be tidied");
                }
                tokio::time::sleep(TIDY).await;
            }
        };
        self.closing.run_until_cancelled(tidy).await;
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
        let (_dir, store, workspace) = crate::store::temporary().await;
        let day = Duration::from_secs(24 * 60 * 60);
        let audit = Audit::start(store.clone(), day);
        audit.note_now(note(&workspace, "first")).await;
        let wanted = Wanted {
            limit: 1,
            ..Wanted::default()
        };
        let (entries, more) = audit.read(&workspace, &wanted).await.unwrap();
        assert_eq!((entries[0].action.as_str(), more), ("first", false));
        for _ in 0..2 * AT_ONCE {
            audit.note(note(&workspace, "later")).await;
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
    async fn a_note_that_cannot_be_written_takes_no_other_with_it() {
        let (_dir, store, workspace) = crate::store::temporary().await;
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
