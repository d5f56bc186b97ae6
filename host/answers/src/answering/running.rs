//! The running answers of this host, and for a while the event logs of finished background answers.

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
use crate::jobs::{self, Job};
use mindhost_base::{
    config,
    error::{Code, Error, Result},
    locks::lock,
};
use mindhost_core::auth::{Caller, keys::UsedKey};

/// All running answers, by response id.
pub struct RunningAnswers {
    answers: Mutex<HashMap<Uuid, RunningAnswer>>,
    finished: Mutex<VecDeque<FinishedLog>>,
    settings: config::Answering,
}

/// A running answer: the response as it began, and its events.
#[derive(Clone)]
pub struct RunningAnswer {
    /// The response at the start.
    record: Arc<ResponseRecord>,
    /// The key that asked, with the text that it had then.
    key: UsedKey,
    /// The question or the statement, as it is shown; `None` if the response is not stored.
    asked: Option<Arc<str>>,
    /// The events since then.
    pub log: Arc<EventLog>,
}

/// The events of a finished background answer.
struct FinishedLog {
    id: Uuid,
    at: Instant,
    bytes: usize,
    log: Arc<EventLog>,
}

impl RunningAnswer {
    /// From the newest event that has it; else as it was at the start.
    pub fn now(&self) -> Arc<ResponseRecord> {
        self.log.record().unwrap_or_else(|| self.record.clone())
    }

    /// The answer for those who look after the server.
    fn shown(&self) -> Job {
        Job {
            text: self.asked.as_deref().map(str::to_owned),
            is_here: true,
            ..self.record.job()
        }
    }
}

impl RunningAnswers {
    /// The settings limit their number.
    pub fn new(settings: config::Answering) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::default(),
            finished: Mutex::default(),
            settings,
        })
    }

    /// Registers an answer.
    ///
    /// # Errors
    /// `rate_limit_exceeded` when its key has reached its limit.
    pub fn take_slot(
        self: &Arc<Self>,
        caller: &Caller,
        record: &ResponseRecord,
        log: &Arc<EventLog>,
        asked: Option<&str>,
    ) -> Result<Slot> {
        let answer = RunningAnswer {
            record: Arc::new(record.clone()),
            key: caller.used_key(),
            asked: asked.map(|text| jobs::shown(text).into()),
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
        answers.insert(record.id, answer.clone());
        Ok(Slot {
            answer,
            running: self.clone(),
        })
    }

    /// How many answers run on this host.
    pub fn count(&self) -> usize {
        lock(&self.answers).len()
    }

    /// All of them, for those who look after the server.
    pub fn all(&self) -> Vec<Job> {
        let answers = lock(&self.answers);
        answers.values().map(RunningAnswer::shown).collect()
    }

    /// The answer of a response, if it runs on this host.
    pub fn find(&self, id: Uuid) -> Option<RunningAnswer> {
        lock(&self.answers).get(&id).cloned()
    }

    /// Their keys.
    pub fn keys(&self) -> HashSet<UsedKey> {
        let answers = lock(&self.answers);
        answers.values().map(|one| one.key.clone()).collect()
    }

    /// Cancels those that began with this text of a key.
    pub fn cancel(&self, key: &UsedKey) {
        let answers = lock(&self.answers);
        let of_key = answers.values().filter(|one| one.key == *key);
        of_key.for_each(|one| one.log.cancel.cancel());
    }

    /// Ids of the responses that are stored, or will be.
    pub fn ids(&self) -> Vec<Uuid> {
        let answers = lock(&self.answers);
        let stored = answers.values().filter(|one| one.record.is_stored);
        stored.map(|one| one.record.id).collect()
    }

    /// The answers that will be added to a conversation.
    pub fn in_conversation(&self, id: Uuid) -> Vec<RunningAnswer> {
        let of_it = |one: &&RunningAnswer| one.record.conversation_id == Some(id);
        lock(&self.answers)
            .values()
            .filter(of_it)
            .cloned()
            .collect()
    }

    /// The events of a finished background answer, while they are kept.
    pub fn finished_log(&self, id: Uuid) -> Option<Arc<EventLog>> {
        self.evict_logs();
        let finished = lock(&self.finished);
        let found = finished.iter().find(|one| one.id == id);
        found.map(|one| one.log.clone())
    }

    /// Drops the logs that are too old or too large to keep.
    pub fn evict_logs(&self) {
        let mut finished = lock(&self.finished);
        let mut bytes: usize = finished.iter().map(|one| one.bytes).sum();
        while let Some(oldest) = finished.front() {
            if oldest.at.elapsed() < self.settings.replay && bytes <= self.settings.replay_bytes {
                return;
            }
            bytes -= oldest.bytes;
            finished.pop_front();
        }
    }

    fn keep_log(&self, id: Uuid, log: &Arc<EventLog>) {
        lock(&self.finished).push_back(FinishedLog {
            id,
            at: Instant::now(),
            bytes: log.bytes(),
            log: log.clone(),
        });
        self.evict_logs();
    }
}

fn too_many(count: usize, what: &str, setting: &str) -> Error {
    Error::new(
        Code::RateLimited,
        format!("limit of {count} {what} per key reached ({setting}); wait for one to end"),
    )
    .with_retry_after(Duration::from_secs(1))
}

/// The registration of a running answer, which ends when this is dropped.
pub struct Slot {
    answer: RunningAnswer,
    running: Arc<RunningAnswers>,
}

impl Slot {
    /// Where the answer appends its events.
    pub fn log(&self) -> &Arc<EventLog> {
        &self.answer.log
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let RunningAnswer { record, log, .. } = &self.answer;
        // A task that panicked has sent no last event, and its readers would wait forever.
        if !log.has_ended() {
            let error = Error::internal("an answer ended without a last event");
            let mut record = ResponseRecord::clone(record);
            record.status = ResponseStatus::Failed;
            record.completed_at = Some(Timestamp::now());
            record.error = Some(json!({"code": error.code().as_str(), "message": error.message()}));
            log.push(Event::Failed(Arc::new(error), Arc::new(record)));
        }
        if let Some(log) = log.without_rows().filter(|_| record.background) {
            self.running.keep_log(record.id, &log);
        }
        lock(&self.running.answers).remove(&record.id);
    }
}
