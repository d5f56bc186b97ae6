//! What happens while an answer is made, and the log that any number of readers can follow from the start.
//!
//! The answer runs in its own task and appends here; a stream over HTTP only reads. A slow or absent reader
//! therefore never holds the answer up, and the log is bounded by the bounds of the answer itself.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::record::ResponseRecord;
use mindhost_base::{error::Error, locks::lock};

/// One thing that happened, in the order of the stream.
#[derive(Clone, Debug)]
pub enum Event {
    /// The response exists; nothing was done yet.
    Created(Arc<ResponseRecord>),
    /// Work has begun.
    InProgress(Arc<ResponseRecord>),
    /// The message that the text will go to.
    MessageAdded,
    /// A piece of text.
    Delta(Arc<str>),
    /// The text is whole.
    TextDone(Arc<str>),
    /// The finished output item, as the response carries it.
    ItemDone(Arc<RawValue>),
    /// A `sql_query` was begun; the statement.
    QueryAdded(Arc<str>),
    /// Something the model had done for it.
    Step(Arc<Step>),
    /// The end: everything went well.
    Completed(Arc<ResponseRecord>),
    /// The end: it failed or was cancelled.
    Failed(Arc<Error>, Arc<ResponseRecord>),
}

impl Event {
    /// Whether nothing comes after it.
    pub fn is_last(&self) -> bool {
        matches!(self, Event::Completed(_) | Event::Failed(..))
    }

    fn bytes(&self) -> usize {
        let own = match self {
            Event::Delta(text) | Event::TextDone(text) | Event::QueryAdded(text) => text.len(),
            Event::ItemDone(item) => item.get().len(),
            _ => 0,
        };
        own + size_of::<Self>()
    }

    fn record(&self) -> Option<Arc<ResponseRecord>> {
        match self {
            Event::Created(record)
            | Event::InProgress(record)
            | Event::Completed(record)
            | Event::Failed(_, record) => Some(record.clone()),
            _ => None,
        }
    }
}

/// A step on the way to an answer, for those who asked to see them.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Step {
    /// `search_catalog`, `describe_tables`, `run_sql`.
    pub name: String,
    /// `completed` or `failed`.
    pub status: &'static str,
    /// The SQL, when the step ran one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// Rows that came back, or why it failed.
    pub message: String,
    /// Whole milliseconds that it took.
    pub duration_ms: u64,
}

/// The events of one answer so far, and the way to stop it.
#[derive(Debug)]
pub struct EventLog {
    events: Mutex<Vec<Event>>,
    length: watch::Sender<usize>,
    /// Readers without whom the answer is made for nobody.
    owners: AtomicUsize,
    /// The message that the answer becomes.
    pub message_id: Uuid,
    /// Whether who asked wants to see the steps; a stream that is picked up again counts the same events.
    pub shows_steps: bool,
    /// Stops the answer, down to model and database.
    pub cancel: CancellationToken,
}

impl EventLog {
    /// An empty log; `cancel` stops the answer that writes it.
    pub fn new(cancel: CancellationToken, shows_steps: bool) -> Arc<Self> {
        Arc::new(Self {
            events: Mutex::new(Vec::with_capacity(16)),
            length: watch::Sender::new(0),
            owners: AtomicUsize::new(0),
            message_id: Uuid::now_v7(),
            shows_steps,
            cancel,
        })
    }

    /// An empty log of an answer that was made before and became this message.
    pub fn of_message(message_id: Uuid) -> Arc<Self> {
        Arc::new(Self {
            events: Mutex::default(),
            length: watch::Sender::new(0),
            owners: AtomicUsize::new(0),
            message_id,
            shows_steps: false,
            cancel: CancellationToken::new(),
        })
    }

    /// Appends and wakes all readers.
    pub fn push(&self, event: Event) {
        let length = {
            let mut events = lock(&self.events);
            events.push(event);
            events.len()
        };
        self.length.send_replace(length);
    }

    /// Whether the last event was pushed.
    pub fn has_ended(&self) -> bool {
        lock(&self.events).last().is_some_and(Event::is_last)
    }

    /// The response as the newest event that carries it has it.
    pub fn record(&self) -> Option<Arc<ResponseRecord>> {
        let events = lock(&self.events);
        // Only the first two and the last can carry it, and there are many in between.
        let candidates = [events.last(), events.get(1), events.first()];
        candidates.into_iter().flatten().find_map(Event::record)
    }

    /// The text of the answer so far.
    pub fn text(&self) -> String {
        let events = lock(&self.events);
        let pieces = events.iter().filter_map(|event| match event {
            Event::Delta(piece) => Some(&**piece),
            _ => None,
        });
        pieces.collect()
    }

    /// About how much memory the events take.
    pub fn bytes(&self) -> usize {
        let events = lock(&self.events);
        events.iter().map(Event::bytes).sum()
    }

    /// A reader that begins at the first event. When the last one that `owns` is dropped before the end, the answer
    /// is cancelled: nobody waits for it any more.
    pub fn reader(self: &Arc<Self>, owns: bool) -> EventReader {
        self.owners.fetch_add(usize::from(owns), Ordering::Relaxed);
        EventReader {
            log: self.clone(),
            length: self.length.subscribe(),
            next: 0,
            owns,
        }
    }

    fn get(&self, index: usize) -> Option<Event> {
        lock(&self.events).get(index).cloned()
    }
}

/// Reads the events of one answer in order.
#[derive(Debug)]
pub struct EventReader {
    log: Arc<EventLog>,
    length: watch::Receiver<usize>,
    next: usize,
    owns: bool,
}

impl EventReader {
    /// The next event, waiting for it; `None` after the last.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.log.get(self.next) {
                self.next += 1;
                if event.is_last() {
                    self.owns = false;
                }
                return Some(event);
            }
            if self.finished() || self.length.changed().await.is_err() {
                return None;
            }
        }
    }

    /// The log that it reads.
    pub fn log(&self) -> &EventLog {
        &self.log
    }

    /// Reads to the end and gives the last event.
    pub async fn last(mut self) -> Option<Event> {
        let mut last = None;
        while let Some(event) = self.next().await {
            last = Some(event);
        }
        last
    }

    fn finished(&self) -> bool {
        self.next > 0
            && self
                .log
                .get(self.next - 1)
                .is_some_and(|event| event.is_last())
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        if self.owns && self.log.owners.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.log.cancel.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_that_comes_late_sees_everything_in_order() {
        let log = EventLog::new(CancellationToken::new(), false);
        log.push(Event::Delta("a".into()));
        let mut reader = log.reader(false);
        log.push(Event::Delta("b".into()));
        for expected in ["a", "b"] {
            assert!(matches!(reader.next().await, Some(Event::Delta(text)) if &*text == expected));
        }
    }

    #[tokio::test]
    async fn the_last_owner_that_leaves_stops_the_answer() {
        let log = EventLog::new(CancellationToken::new(), false);
        let owners = [log.reader(true), log.reader(true)];
        drop(log.reader(false));
        for owner in owners {
            assert!(!log.cancel.is_cancelled());
            drop(owner);
        }
        assert!(log.cancel.is_cancelled());
    }
}
