//! The answers under way on this host.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::{
    events::{Event, EventLog},
    record::{ResponseRecord, ResponseStatus},
};
use crate::{
    error::{Code, Error, Result},
    locks::lock,
};

/// Knows every answer under way, by the id of its response.
pub struct Running {
    answers: Mutex<HashMap<Uuid, Underway>>,
    per_key: usize,
}

/// An answer under way.
#[derive(Clone)]
pub struct Underway {
    /// The response as it was when it began.
    record: Arc<ResponseRecord>,
    /// What has happened since.
    pub log: Arc<EventLog>,
}

impl Underway {
    /// The response as it is now.
    pub fn now(&self) -> Arc<ResponseRecord> {
        self.log.record().unwrap_or_else(|| self.record.clone())
    }
}

impl Running {
    /// None yet; a key may have so many at once.
    pub fn new(per_key: usize) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::default(),
            per_key,
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
        let mut answers = self.lock();
        let of_key = answers
            .values()
            .filter(|one| one.record.key_id == record.key_id);
        if of_key.count() >= self.per_key {
            return Err(too_many(self.per_key));
        }
        answers.insert(record.id, underway.clone());
        Ok(Place {
            underway,
            running: self.clone(),
        })
    }

    /// The answer of a response, if it is under way here.
    pub fn find(&self, id: Uuid) -> Option<Underway> {
        self.lock().get(&id).cloned()
    }

    /// Ids of all responses.
    pub fn ids(&self) -> Vec<Uuid> {
        self.lock().keys().copied().collect()
    }

    /// The answers that will be added to a conversation.
    pub fn in_conversation(&self, id: Uuid) -> Vec<Underway> {
        let of_it = |one: &&Underway| one.record.conversation_id == Some(id);
        self.lock().values().filter(of_it).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Underway>> {
        lock(&self.answers)
    }
}

fn too_many(limit: usize) -> Error {
    Error::new(
        Code::RateLimited,
        format!("this key has {limit} answers under way, as many as it may; wait for one to end"),
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
        self.running.lock().remove(&record.id);
    }
}
