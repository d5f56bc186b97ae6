//! The events of an answer, and the log that any number of readers can read from the start.
//!
//! The answer runs in its own task and appends to the log; an HTTP stream only reads it. So a slow or missing reader
//! never delays the answer, and the limits of the answer bound the log.

use std::sync::{Arc, Mutex, OnceLock};

use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{record::ResponseRecord, step::Step};
use mindhost_base::{error::Error, locks::lock};

/// An event, in the order of the stream.
#[derive(Clone, Debug)]
pub enum Event {
    /// The response exists; work has not started.
    Created(Arc<ResponseRecord>),
    /// Work has started.
    InProgress(Arc<ResponseRecord>),
    /// The message of the text that follows.
    MessageAdded,
    /// A piece of text.
    Delta(Arc<str>),
    /// The complete text, the same as all pieces together.
    TextDone(Arc<str>),
    /// The finished output item, as in the response.
    ItemDone(Arc<RawValue>),
    /// A `sql_query` has started; the statement.
    QueryAdded(Arc<str>),
    /// What the prompt shows of the catalog, or a tool call of the model.
    Step(Arc<Step>),
    /// The last event: the answer is complete.
    Completed(Arc<ResponseRecord>),
    /// The last event: the answer failed or was cancelled.
    Failed(Arc<Error>, Arc<ResponseRecord>),
}

impl Event {
    /// Whether it is the last event.
    pub fn is_last(&self) -> bool {
        matches!(self, Event::Completed(_) | Event::Failed(..))
    }

    fn bytes(&self) -> usize {
        let own = match self {
            Event::Delta(text) | Event::TextDone(text) | Event::QueryAdded(text) => text.len(),
            Event::ItemDone(item) => item.get().len(),
            Event::Step(step) => step.bytes(),
            _ => 0,
        };
        own + size_of::<Self>()
    }

    /// The same event with another item.
    fn with_item(&self, item: &Arc<RawValue>) -> Self {
        match self {
            Event::ItemDone(_) => Event::ItemDone(Arc::clone(item)),
            Event::Completed(record) => Event::Completed(Arc::new(ResponseRecord {
                output: vec![Arc::clone(item)],
                ..ResponseRecord::clone(record)
            })),
            other => other.clone(),
        }
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

/// The events of one answer so far, and the token that cancels it.
#[derive(Debug)]
pub struct EventLog {
    events: Mutex<Vec<Event>>,
    length: watch::Sender<usize>,
    /// Readers that own the answer: without any, it is cancelled.
    owners: Mutex<usize>,
    /// The message that the answer becomes; chosen before the answer starts.
    pub message_id: Uuid,
    /// Whether the client wants to see the steps, so that a resumed stream has the same number of events.
    pub shows_steps: bool,
    /// Cancels the answer, including the calls of model and database.
    pub cancel: CancellationToken,
    /// The item of the answer as it is stored, if rows are in the one that is sent.
    pub stored_item: OnceLock<Arc<RawValue>>,
}

impl EventLog {
    /// An empty log; `cancel` stops the answer that writes it.
    pub fn new(cancel: CancellationToken, shows_steps: bool) -> Arc<Self> {
        Arc::new(Self {
            events: Mutex::new(Vec::with_capacity(16)),
            length: watch::Sender::new(0),
            owners: Mutex::default(),
            message_id: Uuid::now_v7(),
            shows_steps,
            cancel,
            stored_item: OnceLock::new(),
        })
    }

    /// An empty log of a finished answer with this message.
    pub fn of_message(message_id: Uuid) -> Arc<Self> {
        Arc::new(Self {
            events: Mutex::default(),
            length: watch::Sender::new(0),
            owners: Mutex::default(),
            message_id,
            shows_steps: false,
            cancel: CancellationToken::new(),
            stored_item: OnceLock::new(),
        })
    }

    /// The log of an answer that has ended, as it may be kept: without rows, because the next reader may not be allowed
    /// to see them. `None` for a `sql_query` that gave rows.
    pub fn without_rows(self: &Arc<Self>) -> Option<Arc<Self>> {
        let events = lock(&self.events);
        let is_query = events.iter().any(|one| matches!(one, Event::QueryAdded(_)));
        if is_query && matches!(events.last(), Some(Event::Completed(_))) {
            return None;
        }
        let Some(item) = self.stored_item.get() else {
            return Some(Arc::clone(self));
        };
        let kept: Vec<Event> = events.iter().map(|one| one.with_item(item)).collect();
        Some(Arc::new(Self {
            length: watch::Sender::new(kept.len()),
            events: Mutex::new(kept),
            owners: Mutex::default(),
            message_id: self.message_id,
            shows_steps: self.shows_steps,
            cancel: self.cancel.clone(),
            stored_item: OnceLock::new(),
        }))
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

    /// Whether the log has its last event.
    pub fn has_ended(&self) -> bool {
        lock(&self.events).last().is_some_and(Event::is_last)
    }

    /// The response in the newest event that has one.
    pub fn record(&self) -> Option<Arc<ResponseRecord>> {
        let events = lock(&self.events);
        // Only the first two events and the last can have it, with many in between.
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

    /// The steps so far, as they are stored.
    pub fn steps(&self) -> Vec<Arc<Step>> {
        let events = lock(&self.events);
        let steps = events.iter().filter_map(|event| match event {
            Event::Step(step) if !step.tables.is_empty() => Some(Arc::new(step.without_tables())),
            Event::Step(step) => Some(step.clone()),
            _ => None,
        });
        steps.collect()
    }

    /// The approximate memory of the events, in bytes.
    pub fn bytes(&self) -> usize {
        let events = lock(&self.events);
        events.iter().map(Event::bytes).sum()
    }

    /// A reader from the first event. When the last reader that `owns` the answer is dropped before the end, the answer
    /// is cancelled.
    pub fn reader(self: &Arc<Self>, owns: bool) -> EventReader {
        *lock(&self.owners) += usize::from(owns);
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
    /// Waits for the next event; `None` after the last.
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

    /// The log of the same answer, also after this reader is at its end.
    pub fn log(&self) -> &EventLog {
        &self.log
    }

    /// Reads to the end and returns the last event.
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
        if self.owns {
            let mut owners = lock(&self.log.owners);
            *owners -= 1;
            if *owners == 0 {
                // Before the lock goes, so that a new owner sees it.
                self.log.cancel.cancel();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn late_reader_gets_all_events_in_order() {
        let log = EventLog::new(CancellationToken::new(), false);
        log.push(Event::Delta("a".into()));
        let mut reader = log.reader(false);
        log.push(Event::Delta("b".into()));
        for expected in ["a", "b"] {
            assert!(matches!(reader.next().await, Some(Event::Delta(text)) if &*text == expected));
        }
    }

    #[tokio::test]
    async fn answer_is_cancelled_when_the_last_owner_disconnects() {
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
