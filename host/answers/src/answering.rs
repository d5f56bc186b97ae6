//! Answers: a Mind is asked in words or in SQL.
//!
//! [`Answering::start`] checks the request, then makes the answer in its own task, which writes to an
//! [`events::EventLog`]. Clients only read that log. The task ends when the answer is complete, when the token of its
//! log is cancelled (by a reader that disconnects, by the caller, at shutdown), or at a limit. In each case the
//! response is stored with its status.

mod context;
mod costs;
mod data_marks;
mod decline;
pub mod details;
mod earlier_answers;
mod embedding;
mod endings;
pub mod events;
mod facts;
mod figures;
mod follow_ups;
mod history;
pub mod items;
mod links;
mod output_limit;
mod persist;
mod prepare;
mod prompt;
mod provenance;
pub mod record;
mod recovery;
mod repair;
mod retention;
mod revoked_keys;
mod run;
mod running;
pub mod step;
mod store;
mod stored_events;
mod token_count;
mod tools;
mod turn;
mod turns;

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures_util::future::join_all;
use serde_json::{Map, Value};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;
use uuid::Uuid;

pub(crate) use self::store::feedback_bytes;
use self::{
    costs::AnswerCosts,
    embedding::TableVectors,
    events::{Event, EventLog, EventReader},
    persist::GroupCommit,
    record::{ResponseRecord, ResponseStatus, Settings},
    run::{Task, Work},
    running::{RunningAnswer, RunningAnswers},
};
use crate::{
    conversations::{Conversations, Message, SqlOrigin},
    jobs::Job,
    knowledge::CheckedKnowledge,
    results::{Page, Results, stored::StoredResults},
};
use mindhost_base::{
    config,
    detached_task::DetachOnDrop,
    error::{Code, Error, Kind, Result},
};
use mindhost_catalog::Catalog;
use mindhost_core::{auth::Caller, minds::Minds, providers::Providers};
use mindhost_plugins::{registry::Registry, serving_versions::ServingVersions};
use mindhost_store::{Backend, Store};

/// Rows that a `sql_query` returns inline, by default and at most.
pub const MAX_INLINE_ROWS: u64 = 10_000;

/// How long another host may take to stop an answer before `cancel` fails.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// How often `cancel` checks whether the other host stopped the answer.
const STOP_POLL: Duration = Duration::from_millis(200);

/// A request for an answer.
#[derive(Debug)]
pub struct Ask {
    /// Name of the Mind.
    pub model: String,
    /// The messages, the question last; empty to answer the last question of the conversation again.
    pub input: Vec<Input>,
    /// `None` to begin a new one, unless `previous_response_id` is set.
    pub conversation: Option<Uuid>,
    /// Continues the conversation of this response; ignored if `conversation` is set.
    pub previous_response_id: Option<Uuid>,
    /// SQL instead of words.
    pub query: Option<SqlQuery>,
    /// Added to the Mind's instructions.
    pub instructions: Option<String>,
    /// The caller's own notes, kept with the response and not read: up to 16 short texts by name.
    pub metadata: Map<String, Value>,
    /// Limit for the answer, in tokens.
    pub max_output_tokens: Option<u32>,
    /// Other settings of the request.
    pub settings: Settings,
    /// Whether the response is stored.
    pub store: bool,
    /// Whether the answer continues after its client disconnects.
    pub background: bool,
    /// Whether the caller wants to see the steps.
    pub shows_steps: bool,
    /// Whether the caller wants a chart of the result.
    pub wants_chart: bool,
}

impl Default for Ask {
    /// An empty request whose response is stored.
    fn default() -> Self {
        Self {
            model: String::new(),
            input: Vec::new(),
            conversation: None,
            previous_response_id: None,
            query: None,
            instructions: None,
            metadata: Map::new(),
            max_output_tokens: None,
            settings: Settings::default(),
            store: true,
            background: false,
            shows_steps: false,
            wants_chart: false,
        }
    }
}

/// A part of the input: a message itself, or the id of an earlier one.
#[derive(Clone, Debug)]
pub enum Input {
    /// A message that is not stored yet.
    Message(Message),
    /// An earlier message, and the path of the field that names it.
    Reference(Uuid, String),
}

/// SQL of the caller, which is answered with rows. No model is asked.
#[derive(Debug)]
pub struct SqlQuery {
    /// One SELECT over the Mind's tables, before the guard.
    pub sql: String,
    /// Rows to return inline, from 1 to [`MAX_INLINE_ROWS`].
    pub max_inline_rows: u64,
    /// Whether to tell what went to which datasource.
    pub explain: bool,
    /// The parameter that held the statement, for error messages.
    pub param: &'static str,
}

impl SqlQuery {
    /// Adds the parameter of the statement to an error that the statement caused.
    fn to_blame(&self, error: Error) -> Error {
        match error.kind() {
            Kind::Invalid => error.param(self.param),
            _ => error,
        }
    }
}

/// What answers are made with.
pub struct Services {
    /// Holds the responses.
    pub store: Store,
    /// Where questions and answers are kept, by conversation.
    pub conversations: Conversations,
    /// Says which datasources, provider and instructions a question is answered with.
    pub minds: Arc<Minds>,
    /// Finds the provider whose model answers.
    pub providers: Arc<Providers>,
    /// Finds the model plugin that serves a provider.
    pub registry: Arc<Registry>,
    /// Tells the model which tables and columns there are.
    pub catalog: Arc<Catalog>,
    /// Checks and runs the statements of callers and models.
    pub results: Results,
    /// What Minds were taught.
    pub knowledge: CheckedKnowledge,
    /// Statements of messages.
    pub stored_results: StoredResults,
    /// What one answer may use, and how many a key may have.
    pub settings: config::Answering,
    /// How long conversations and responses are kept; zero means forever.
    pub retention: Duration,
    /// The tasks that a shutdown waits for.
    pub tasks: TaskTracker,
    /// Cancelled when the server begins to end.
    pub ending: CancellationToken,
    /// Cancelled when answers must stop because the server ends.
    pub halt: CancellationToken,
}

/// Starts, finds, cancels and deletes answers. A clone is cheap and shares all state.
#[derive(Clone)]
pub struct Answering(Arc<Inner>);

struct Inner {
    services: Services,
    host_id: Arc<str>,
    group_commit: GroupCommit,
    running: Arc<RunningAnswers>,
    vectors: Arc<TableVectors>,
}

impl Answering {
    /// Also starts the background tasks: recovery, retention, and the stop of answers whose keys are invalid.
    pub fn new(services: Services) -> Self {
        let host_id: Arc<str> = Uuid::now_v7().to_string().into();
        let (store, ending) = (services.store.clone(), services.ending.clone());
        let this = Self(Arc::new(Inner {
            group_commit: GroupCommit::start(store, host_id.clone(), &services.tasks, ending),
            host_id,
            running: RunningAnswers::new(services.settings.clone()),
            vectors: TableVectors::new(&services.tasks, &services.ending),
            services,
        }));
        let worker = this.clone();
        let tasks = &this.0.services.tasks;
        tasks.spawn(async move { recovery::run(&worker.0).await });
        let worker = this.clone();
        tasks.spawn(async move { revoked_keys::run(&worker.0).await });
        if !this.0.services.retention.is_zero() {
            let worker = this.clone();
            tasks.spawn(async move { retention::run(&worker.0).await });
        }
        if this.0.services.store.backend() == Backend::Postgres {
            let worker = this.clone();
            tasks.spawn(async move { recovery::watch_stop_requests(&worker.0).await });
        }
        this
    }

    /// Checks the request and starts the answer. The reader sees all events. Dropping it before the end cancels the
    /// answer, unless the answer is made in the background.
    ///
    /// # Errors
    /// When the request is invalid: an unknown Mind or conversation, a conversation of another Mind, direct queries that are
    /// not allowed, SQL that the guard refuses, too many concurrent answers, no room to store one.
    pub async fn start(&self, caller: &Caller, ask: Ask) -> Result<EventReader> {
        let (reader, task) = self.begin(caller, ask).await?;
        let (opened, is_open) = oneshot::channel();
        let served = ServingVersions::current();
        let task = async move { served.during(task.run(opened)).await }.in_current_span();
        self.0.services.tasks.spawn(task);
        match is_open.await {
            Ok(Err(error)) => Err(error),
            // The last event of a task that panicked says so.
            Ok(Ok(())) | Err(_) => Ok(reader),
        }
    }

    /// As [`Self::start`], for a caller that only wants the completed response.
    ///
    /// # Errors
    /// As [`Self::start`], and why the answer failed.
    pub async fn complete(&self, caller: &Caller, ask: Ask) -> Result<Arc<ResponseRecord>> {
        let (reader, task) = self.begin(caller, ask).await?;
        let (opened, mut is_open) = oneshot::channel();
        let tasks = &self.0.services.tasks;
        DetachOnDrop::new(tasks.track_future(task.run(opened))).await;
        if let Ok(Err(error)) = is_open.try_recv() {
            return Err(error);
        }
        match reader.last().await {
            Some(Event::Completed(record)) => Ok(record),
            Some(Event::Failed(error, _)) => Err((*error).clone()),
            _ => Err(Error::internal("an answer ended without a last event")),
        }
    }

    /// Checks the request. The task has not begun; the reader cancels it when it is dropped before the end.
    async fn begin(&self, caller: &Caller, ask: Ask) -> Result<(EventReader, Task)> {
        let inner = &self.0;
        let prepared = inner.prepare(caller, &ask).await?;
        if ask.store {
            let store = &inner.services.store;
            store
                .check_byte_quota(&caller.workspace, &caller.key_id)
                .await?;
        }
        let record = prepared.record(caller, &ask);
        let asked = match &ask.query {
            Some(query) => &query.sql,
            None => prepared.question(),
        };
        let asked = ask.store.then(|| asked.to_owned());
        let (background, shows_steps) = (ask.background, ask.shows_steps);
        let wants_chart = ask.wants_chart;
        let work = match ask.query {
            None => Work::Words(inner.vendor(&prepared.mind).await),
            Some(query) => {
                let results = &inner.services.results;
                let access = results.access(&prepared.mind, &caller.attributes).await?;
                let accepted = inner
                    .services
                    .results
                    .accept(&access, &query.sql, SqlOrigin::SqlQuery)
                    .await;
                Work::Query(accepted.map_err(|error| query.to_blame(error))?, query)
            }
        };
        let log = EventLog::new(inner.services.halt.child_token(), shows_steps);
        let task = Task {
            inner: inner.clone(),
            slot: inner
                .running
                .take_slot(caller, &record, &log, asked.as_deref())?,
            prepared,
            record,
            work,
            wants_chart,
            spent: AnswerCosts::default(),
        };
        // Made before the task starts: a client that disconnects now drops it, which cancels the answer.
        let reader = log.reader(!background);
        Ok((reader, task))
    }

    /// The caller's response as it is now.
    ///
    /// # Errors
    /// `response_not_found`.
    pub async fn get(&self, caller: &Caller, id: Uuid) -> Result<ResponseRecord> {
        self.0.response(caller, id).await
    }

    /// As [`Self::get`], with the rows of a `sql_query`. Rows are not stored, so the statement runs again; if it fails,
    /// the item says why.
    ///
    /// # Errors
    /// `response_not_found`, also when the statement is gone.
    pub async fn get_with_rows(&self, caller: &Caller, id: Uuid) -> Result<ResponseRecord> {
        let mut record = self.get(caller, id).await?;
        if let Some((message, page)) = self.read_again(caller, &record).await? {
            let item = match page {
                Ok(page) => items::query_result(&message, page, false, None)?,
                Err(error) if matches!(error.kind(), Kind::Internal | Kind::Cancelled) => {
                    return Err(error);
                }
                Err(error) => items::without_rows(&message, &error)?,
            };
            record.output = vec![item];
        }
        Ok(record)
    }

    /// The message of a completed `sql_query`, with its rows as they are now, or why they cannot be read. `None` for
    /// any other response. One whose message was deleted is not found: it would look like an empty answer.
    async fn read_again(
        &self,
        caller: &Caller,
        record: &ResponseRecord,
    ) -> Result<Option<(Message, Result<Page>)>> {
        if record.status != ResponseStatus::Completed || !record.output.is_empty() {
            return Ok(None);
        }
        let services = &self.0.services;
        let message = services.conversations.answer_of(record.id).await?;
        let message = message.filter(|message| message.sql.is_some());
        let (message, conversation) = message.zip(record.conversation_id).ok_or_else(|| {
            not_found(format!(
                "the statement of the response '{}' was deleted with its message, so it has no result; ask again",
                record.id
            ))
        })?;
        let rows = record.limits.max_inline_rows.unwrap_or(MAX_INLINE_ROWS);
        let stored = &services.stored_results;
        let page = match stored.find(caller, conversation, message.id).await {
            Ok(found) => stored.page(&found, rows, 0).await,
            Err(error) => Err(error),
        };
        Ok(Some((message, page)))
    }

    /// The events of a response: live, from the kept log, or rebuilt from the stored response. Rebuilt events of an
    /// answer in words differ in number from the original ones, so a client cannot resume in them. Those of a completed
    /// `sql_query` do not, and have its rows as they are read now.
    ///
    /// # Errors
    /// `response_not_found`; `wrong_state` when its events are not kept here and `from_middle` wants to go on.
    pub async fn events(
        &self,
        caller: &Caller,
        id: Uuid,
        from_middle: bool,
    ) -> Result<EventReader> {
        let running = self.0.running.find(id);
        let record = self.get(caller, id).await?;
        let log = running.map(|one| one.log);
        if let Some(log) = log.or_else(|| self.0.running.finished_log(id)) {
            return Ok(log.reader(false));
        }
        let is_query = record.is_of_query() && record.status == ResponseStatus::Completed;
        if record.completed_at.is_none() || (from_middle && !is_query) {
            return Err(Error::new(
                Code::WrongState,
                "the events of this response are not kept here; read it without `stream`",
            ));
        }
        let record = self.get_with_rows(caller, id).await?;
        Ok(stored_events::log(record)?.reader(false))
    }

    /// The running answers that are known here: those of this host, and the stored ones of the caller's workspace that
    /// other hosts make.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn running(&self, caller: &Caller) -> Result<Vec<Job>> {
        let mut all = self.0.running.all();
        let store = &self.0.services.store;
        if store.backend() == Backend::Postgres {
            let here: HashSet<Uuid> = all.iter().map(|one| one.id).collect();
            let stored = store::running_of(store, &caller.workspace).await?;
            all.extend(stored.into_iter().filter(|one| !here.contains(&one.id)));
        }
        Ok(all)
    }

    /// Stops a running answer, on this host or another, and waits for its end.
    ///
    /// # Errors
    /// `wrong_state` when its host does not stop it in time.
    pub async fn stop(&self, id: Uuid) -> Result<()> {
        match self.0.running.find(id) {
            Some(running) => stop(&running).await,
            None => self.0.stop_on_other_host(id).await?,
        }
        Ok(())
    }

    /// Answers that run on this host.
    pub fn running_count(&self) -> u64 {
        self.0.running.count() as u64
    }

    /// The events of a response that the caller requested before, if it is running or completed. A running answer is
    /// cancelled when the last client that requested it disconnects.
    ///
    /// # Errors
    /// Why the rows of a `sql_query` cannot be read any more. `None` if the response or its statement is gone.
    pub async fn attach(&self, caller: &Caller, id: Uuid) -> Result<Option<EventReader>> {
        if let Some(running) = self.0.running.find(id) {
            let now = running.now();
            let reader = running.log.reader(!now.background);
            if !running.log.cancel.is_cancelled() {
                caller.count(|tally| tally.mind(&now.mind_id));
                return Ok(Some(reader));
            }
            // Its last client left. What was cancelled is done again, after its end.
            reader.last().await;
        }
        let mut record = match self.get(caller, id).await {
            Ok(record) if record.status == ResponseStatus::Completed => record,
            Ok(record) if record.completed_at.is_none() => {
                return Err(Error::new(
                    Code::WrongState,
                    "another host of this server is answering the same request; send it again when that has ended",
                )
                .with_retry_after(Duration::from_secs(1)));
            }
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == Kind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match self.read_again(caller, &record).await {
            Ok(None) => {}
            Ok(Some((message, page))) => {
                record.output = vec![items::query_result(&message, page?, false, None)?];
            }
            Err(error) if error.kind() == Kind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        caller.count(|tally| tally.mind(&record.mind_id));
        let log = match self.0.running.finished_log(id) {
            Some(log) => log,
            None => stored_events::log(record)?,
        };
        Ok(Some(log.reader(false)))
    }

    /// How often an idle stream sends a keep-alive.
    pub fn keep_alive(&self) -> Duration {
        self.0.services.settings.keep_alive
    }

    /// Removes a response; a running one is cancelled first.
    ///
    /// # Errors
    /// `response_not_found`; `forbidden` for one of another key.
    pub async fn delete(&self, caller: &Caller, id: Uuid) -> Result<()> {
        self.cancel(caller, id).await?;
        store::delete(&self.0.services.store, id).await
    }

    /// Stops a running response, on this host or another, including its statement in the database. Returns the stopped
    /// response.
    ///
    /// # Errors
    /// `response_not_found`; `forbidden` for one of another key; `wrong_state` when its host does not stop it in time.
    pub async fn cancel(&self, caller: &Caller, id: Uuid) -> Result<ResponseRecord> {
        let record = self.get(caller, id).await?;
        self.require_owner_or_heir(caller, &record.key_id).await?;
        match self.0.running.find(id) {
            Some(running) => {
                stop(&running).await;
                Ok(ResponseRecord::clone(&running.now()))
            }
            None => {
                if record.completed_at.is_none() {
                    self.0.stop_on_other_host(id).await?;
                }
                self.get(caller, id).await
            }
        }
    }

    async fn require_owner_or_heir(&self, caller: &Caller, key_id: &str) -> Result<()> {
        let conversations = &self.0.services.conversations;
        conversations.require_owner_or_heir(caller, key_id).await
    }

    /// Stops the answers on this host whose keys are invalid or were rotated since, without waiting for their end.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stop_answers_of_ended_keys(&self) -> Result<()> {
        revoked_keys::stop_answers(&self.0).await
    }

    /// Removes a conversation with all its messages; answers that would be added to it are cancelled first.
    ///
    /// # Errors
    /// `conversation_not_found`; `forbidden` for one of another key.
    pub async fn delete_conversation(&self, caller: &Caller, id: Uuid) -> Result<()> {
        let conversations = &self.0.services.conversations;
        let conversation = conversations.get(caller, id).await?;
        self.require_owner_or_heir(caller, &conversation.key_id)
            .await?;
        join_all(self.0.running.in_conversation(id).iter().map(stop)).await;
        for response in store::running_in(&self.0.services.store, id).await? {
            self.0.stop_on_other_host(response).await?;
        }
        conversations.delete(&conversation).await
    }
}

fn not_found(message: String) -> Error {
    Error::new(Code::ResponseNotFound, message)
}

/// Stops an answer and waits until its status is stored.
async fn stop(running: &RunningAnswer) {
    running.log.cancel.cancel();
    running.log.reader(false).last().await;
}

impl Inner {
    /// Requests that another host stops a response, and waits until it has.
    async fn stop_on_other_host(&self, id: Uuid) -> Result<()> {
        let store = &self.services.store;
        store::request_stop(store, id).await?;
        let until = Instant::now() + STOP_TIMEOUT;
        loop {
            let found = store::find(store, id).await?;
            if found.is_none_or(|record| record.completed_at.is_some()) {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(Error::new(
                    Code::WrongState,
                    "the host that makes this response has not stopped it yet; try again in a minute",
                ));
            }
            tokio::time::sleep(STOP_POLL).await;
        }
    }

    /// A response that the caller may see: running here, or stored.
    async fn response(&self, caller: &Caller, id: Uuid) -> Result<ResponseRecord> {
        let found = match self.running.find(id) {
            Some(running) => Some(ResponseRecord::clone(&running.now())),
            None => store::find(&self.services.store, id).await?,
        };
        found
            .filter(|one| caller.may_read(&one.workspace_id, &one.key_id, Some(&one.mind_id)))
            .ok_or_else(|| not_found(format!("there is no response '{id}'")))
    }
}
