//! The answers under way on this host, and for a while the events of those that were made in the background.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::json;
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    events::{Event, EventLog},
    record::{ResponseRecord, ResponseStatus},
};
use mindhost_base::{
    config,
    error::{Code, Error, Result},
    locks::lock,
};

/// Knows every answer under way, by the id of its response.
pub struct Running {
    answers: Mutex<HashMap<Uuid, Underway>>,
    ended: Mutex<VecDeque<Ended>>,
    settings: config::Answering,
}

/// An answer under way.
#[derive(Clone)]
pub struct Underway {
    /// The response as it was when it began.
    record: Arc<ResponseRecord>,
    /// What has happened since.
    pub log: Arc<EventLog>,
}

/// An answer that was made in the background, with all its events.
struct Ended {
    id: Uuid,
    at: Instant,
    bytes: usize,
    log: Arc<EventLog>,
}

impl Underway {
    /// The response as it is now.
    pub fn now(&self) -> Arc<ResponseRecord> {
        self.log.record().unwrap_or_else(|| self.record.clone())
    }
}

impl Running {
    /// None yet; the settings bound how many there may be.
    pub fn new(settings: config::Answering) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::default(),
            ended: Mutex::default(),
            settings,
        })
    }

    /// Takes a place for an answer.
    ///
    /// # Errors
    /// `rate_limit_exceeded` when its key has as many as it may.
    pub fn take_place(
        self: &Arc<Self>,
        record: &ResponseRecord,
        log: &Arc<EventLog>,
    ) -> Result<Place> {
        let underway = Underway {
            record: Arc::new(record.clone()),
            log: log.clone(),
        };
        let mut answers = lock(&self.answers);
        let mut of_key = 0;
        let mut in_background = 0;
        for one in answers.values() {
            if one.record.key_id == record.key_id {
                of_key += 1;
                in_background += usize::from(one.record.background);
            }
        }
        if of_key >= self.settings.concurrent_per_key {
            let setting = "answering.concurrent_per_key";
            return Err(too_many(of_key, "concurrent answers", setting));
        }
        if record.background && in_background >= self.settings.background_per_key {
            let setting = "answering.background_per_key";
            return Err(too_many(
                in_background,
                "answers in the background",
                setting,
            ));
        }
        answers.insert(record.id, underway.clone());
        Ok(Place {
            underway,
            running: self.clone(),
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        lock(&self.answers).len()
    }

    /// The answer of a response, if it is under way here.
    pub fn find(&self, id: Uuid) -> Option<Underway> {
        lock(&self.answers).get(&id).cloned()
    }

    /// The keys that they are made for.
    pub fn keys(&self) -> HashSet<String> {
        let answers = lock(&self.answers);
        answers
            .values()
            .map(|one| one.record.key_id.clone())
            .collect()
    }

    /// Tells those of a key to stop.
    pub fn cancel(&self, key_id: &str) {
        let answers = lock(&self.answers);
        let of_key = answers.values().filter(|one| one.record.key_id == key_id);
        of_key.for_each(|one| one.log.cancel.cancel());
    }

    /// Ids of the responses that are stored, or will be.
    pub fn ids(&self) -> Vec<Uuid> {
        let answers = lock(&self.answers);
        let stored = answers.values().filter(|one| one.record.is_stored);
        stored.map(|one| one.record.id).collect()
    }

    /// The answers that will be added to a conversation.
    pub fn in_conversation(&self, id: Uuid) -> Vec<Underway> {
        let of_it = |one: &&Underway| one.record.conversation_id == Some(id);
        lock(&self.answers)
            .values()
            .filter(of_it)
            .cloned()
            .collect()
    }

    /// The events of an answer that was made in the background and has ended, while they are kept.
    pub fn ended(&self, id: Uuid) -> Option<Arc<EventLog>> {
        self.forget_old();
        let ended = lock(&self.ended);
        let found = ended.iter().find(|one| one.id == id);
        found.map(|one| one.log.clone())
    }

    /// Gives the memory of events back that nobody may pick up any more.
    pub fn forget_old(&self) {
        let mut ended = lock(&self.ended);
        let mut bytes: usize = ended.iter().map(|one| one.bytes).sum();
        while let Some(oldest) = ended.front() {
            if oldest.at.elapsed() < self.settings.replay && bytes <= self.settings.replay_bytes {
                return;
            }
            bytes -= oldest.bytes;
            ended.pop_front();
        }
    }

    fn remember(&self, id: Uuid, log: &Arc<EventLog>) {
        lock(&self.ended).push_back(Ended {
            id,
            at: Instant::now(),
            bytes: log.bytes(),
            log: log.clone(),
        });
        self.forget_old();
    }
}

fn too_many(count: usize, what: &str, setting: &str) -> Error {
    Error::new(
        Code::RateLimited,
        format!("limit of {count} {what} per key reached ({setting}); wait for one to end"),
    )
    .with_retry_after(Duration::from_secs(1))
}

/// A place among the answers under way, given back when dropped.
pub struct Place {
    underway: Underway,
    running: Arc<Running>,
}

impl Place {
    /// Where the answer is written.
    pub fn log(&self) -> &Arc<EventLog> {
        &self.underway.log
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Underway { record, log } = &self.underway;
        // A task that panicked has told its readers nothing, and they would wait for ever.
        if !log.has_ended() {
            let error = Error::internal("an answer ended without a last event");
            let mut record = ResponseRecord::clone(record);
            record.status = ResponseStatus::Failed;
            record.completed_at = Some(Timestamp::now());
            record.error = Some(json!({"code": error.code().as_str(), "message": error.message()}));
            log.push(Event::Failed(Arc::new(error), Arc::new(record)));
        }
        if record.background {
            self.running.remember(record.id, log);
        }
        lock(&self.running.answers).remove(&record.id);
    }
}
