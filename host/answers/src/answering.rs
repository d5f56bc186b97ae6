//! Answers: a Mind is asked in words or in SQL.
//!
//! [`Answering::start`] checks everything that a caller can get wrong, then makes the answer in a task of its
//! own, which writes to an [`events::EventLog`]. Whoever waits for it only reads that log. The task ends when
//! the answer ends, when its log's token is cancelled (by a reader that leaves, by the caller, at shutdown), or
//! at a bound; in each case the response is stored with how it ended.

mod ended;
pub mod events;
pub mod items;
mod keep;
mod links;
mod prepare;
mod prompt;
mod provenance;
pub mod record;
mod recovery;
mod replay;
mod retention;
mod run;
mod running;
mod spent;
mod store;
mod tools;
mod turns;

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use serde_json::{Map, Value};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;
use uuid::Uuid;

use self::{
    events::{Event, EventLog, EventReader},
    keep::Together,
    record::{ResponseRecord, ResponseStatus, Settings},
    run::{Task, Work},
    running::{Running, Underway},
};
use crate::{
    conversations::{Conversations, Message},
    results::{Results, stored::StoredResults},
};
use mindhost_base::{
    config,
    detached_task::DetachOnDrop,
    error::{Code, Error, Kind, Result},
};
use mindhost_catalog::Catalog;
use mindhost_core::{auth::Caller, minds::Minds, providers::Providers};
use mindhost_plugins::{registry::Registry, served::Served};
use mindhost_store::{Backend, Store};

/// Rows that a `sql_query` gives at once, by default and at most.
pub const MAX_INLINE_ROWS: u64 = 10_000;

/// How long another host may take to stop an answer.
const STOPPED_WITHIN: Duration = Duration::from_secs(10);
/// How often it is looked whether it has.
const STOPPED_LOOK: Duration = Duration::from_millis(200);

/// What a caller asks.
#[derive(Debug)]
pub struct Ask {
    /// Name of the Mind.
    pub model: String,
    /// What is said, the question last; empty to have the conversation's last question answered again.
    pub input: Vec<Input>,
    /// The conversation to go on with.
    pub conversation: Option<Uuid>,
    /// The response whose conversation to go on with.
    pub previous_response_id: Option<Uuid>,
    /// SQL instead of words.
    pub query: Option<SqlQuery>,
    /// Added to the Mind's instructions.
    pub instructions: Option<String>,
    /// The caller's own notes.
    pub metadata: Map<String, Value>,
    /// Bound on the answer, in tokens.
    pub max_output_tokens: Option<u32>,
    /// What else the caller sets.
    pub settings: Settings,
    /// Whether anything of the answer is kept.
    pub store: bool,
    /// Whether the answer goes on without its caller.
    pub background: bool,
    /// Whether the caller wants to see the steps.
    pub shows_steps: bool,
}

impl Default for Ask {
    /// Nothing yet, to be stored.
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
        }
    }
}

/// A part of what is said.
#[derive(Clone, Debug)]
pub enum Input {
    /// A new message.
    Message(Message),
    /// A message of before, and the path of the field that names it.
    Reference(Uuid, String),
}

/// The `sql_query` tool.
#[derive(Debug)]
pub struct SqlQuery {
    /// The statement.
    pub sql: String,
    /// Rows to give at once.
    pub max_inline_rows: u64,
    /// The parameter that it came in, for messages about what is wrong with it.
    pub param: &'static str,
}

impl SqlQuery {
    /// A failure that the statement itself is to blame for, with the parameter that it came in.
    fn to_blame(&self, error: Error) -> Error {
        match error.kind() {
            Kind::Invalid => error.param(self.param),
            _ => error,
        }
    }
}

/// The parts that answers are made from.
pub struct Parts {
    /// Where responses are kept.
    pub store: Store,
    /// Conversations.
    pub conversations: Conversations,
    /// Minds.
    pub minds: Arc<Minds>,
    /// Model providers.
    pub providers: Arc<Providers>,
    /// Plugins.
    pub registry: Arc<Registry>,
    /// Tables.
    pub catalog: Arc<Catalog>,
    /// Statements.
    pub results: Results,
    /// Statements of messages.
    pub stored_results: StoredResults,
    /// Bounds.
    pub settings: config::Answering,
    /// How long conversations and responses are kept; zero means without an end.
    pub retention: Duration,
    /// The tasks that a shutdown waits for.
    pub tasks: TaskTracker,
    /// Cancelled when the server begins to end.
    pub ending: CancellationToken,
    /// Cancelled when answers must stop because the server ends.
    pub halt: CancellationToken,
}

/// Makes answers.
#[derive(Clone)]
pub struct Answering(Arc<Inner>);

struct Inner {
    parts: Parts,
    host_id: Arc<str>,
    together: Together,
    running: Arc<Running>,
}

impl Answering {
    /// Over its parts; begins to look after responses that a dead host left behind.
    pub fn new(parts: Parts) -> Self {
        let host_id: Arc<str> = Uuid::now_v7().to_string().into();
        let (store, ending) = (parts.store.clone(), parts.ending.clone());
        let this = Self(Arc::new(Inner {
            together: Together::start(store, host_id.clone(), &parts.tasks, ending),
            host_id,
            running: Running::new(parts.settings.clone()),
            parts,
        }));
        let worker = this.clone();
        let tasks = &this.0.parts.tasks;
        tasks.spawn(async move { recovery::keep(&worker.0).await });
        let worker = this.clone();
        tasks.spawn(async move { ended::keep(&worker.0).await });
        if !this.0.parts.retention.is_zero() {
            let worker = this.clone();
            tasks.spawn(async move { retention::keep(&worker.0).await });
        }
        if this.0.parts.store.backend() == Backend::Postgres {
            let worker = this.clone();
            tasks.spawn(async move { recovery::obey(&worker.0).await });
        }
        this
    }

    /// Checks the request and begins the answer. The reader sees it from its first event; dropping the reader
    /// before the end cancels the answer, unless it is made in the background.
    ///
    /// # Errors
    /// What the caller got wrong: unknown Mind or conversation, a conversation of another Mind, direct queries
    /// that are not allowed, SQL that the guard refuses, too many answers at once, no room to store one.
    pub async fn start(&self, caller: &Caller, ask: Ask) -> Result<EventReader> {
        let (reader, task) = self.begin(caller, ask).await?;
        let (opened, is_open) = oneshot::channel();
        let served = Served::current();
        let task = async move { served.during(task.run(opened)).await }.in_current_span();
        self.0.parts.tasks.spawn(task);
        match is_open.await {
            Ok(Err(error)) => Err(error),
            // One that panicked says so in its last event.
            Ok(Ok(())) | Err(_) => Ok(reader),
        }
    }

    /// As [`Self::start`], for a caller that wants nothing but the completed response.
    ///
    /// # Errors
    /// As [`Self::start`], and why the answer failed.
    pub async fn complete(&self, caller: &Caller, ask: Ask) -> Result<Arc<ResponseRecord>> {
        let (reader, task) = self.begin(caller, ask).await?;
        let (opened, mut is_open) = oneshot::channel();
        let tasks = &self.0.parts.tasks;
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
            let store = &inner.parts.store;
            store
                .check_byte_quota(&caller.workspace, &caller.key_id)
                .await?;
        }
        let record = prepared.record(caller, &ask);
        let (background, shows_steps) = (ask.background, ask.shows_steps);
        let work = match ask.query {
            None => Work::Words(inner.vendor(&prepared.mind).await),
            Some(query) => {
                let access = inner.parts.results.access(&prepared.mind).await?;
                let accepted = inner.parts.results.accept(&access, &query.sql).await;
                Work::Query(accepted.map_err(|error| query.to_blame(error))?, query)
            }
        };
        let log = EventLog::new(inner.parts.halt.child_token(), shows_steps);
        let task = Task {
            inner: inner.clone(),
            place: inner.running.take_place(&record, &log)?,
            prepared,
            record,
            work,
        };
        // Made before the task: a caller that leaves meanwhile drops it, which cancels what was begun.
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

    /// As [`Self::get`], with the rows of a `sql_query` read again: they are not kept. Where they cannot be had
    /// any more, the item says why.
    ///
    /// # Errors
    /// `response_not_found`.
    pub async fn get_whole(&self, caller: &Caller, id: Uuid) -> Result<ResponseRecord> {
        let mut record = self.get(caller, id).await?;
        if record.status != ResponseStatus::Completed || !record.output.is_empty() {
            return Ok(record);
        }
        let parts = &self.0.parts;
        let Some(message) = parts.conversations.answer_of(id).await? else {
            return Ok(record);
        };
        let Some(conversation) = record.conversation_id.filter(|_| message.sql.is_some()) else {
            return Ok(record);
        };
        let rows = record.limits.max_inline_rows.unwrap_or(MAX_INLINE_ROWS);
        let page = async {
            let found = parts
                .stored_results
                .find(caller, conversation, message.id)
                .await?;
            parts.stored_results.page(&found, rows, 0).await
        };
        let item = match page.await {
            Ok(page) => items::query_result(&message, page)?,
            Err(error) if matches!(error.kind(), Kind::Internal | Kind::Cancelled) => {
                return Err(error);
            }
            Err(error) => items::without_rows(&message, &error)?,
        };
        record.output = vec![item];
        Ok(record)
    }

    /// The events of a response: as they happen, as they happened, or made from what is stored. The last are as many
    /// as they need to be, so they cannot be counted on from the middle.
    ///
    /// # Errors
    /// `response_not_found`; `wrong_state` when its events are not kept here and `from_middle` wants to go on.
    pub async fn follow(
        &self,
        caller: &Caller,
        id: Uuid,
        from_middle: bool,
    ) -> Result<EventReader> {
        let underway = self.0.running.find(id);
        let record = self.get(caller, id).await?;
        let log = underway.map(|one| one.log);
        if let Some(log) = log.or_else(|| self.0.running.ended(id)) {
            return Ok(log.reader(false));
        }
        if from_middle || record.completed_at.is_none() {
            return Err(Error::new(
                Code::WrongState,
                "the events of this response are not kept here; read it without `stream`",
            ));
        }
        let log = replay::log(self.get_whole(caller, id).await?)?;
        Ok(log.reader(false))
    }

    /// Answers that are being made on this host.
    pub fn under_way(&self) -> u64 {
        self.0.running.count() as u64
    }

    /// The events of a response that the caller asked for before, if it is under way or was completed. Under way, it
    /// ends when the last of those leaves who asked for it.
    ///
    /// # Errors
    /// As [`Self::get_whole`], but for a response that is not there any more.
    pub async fn join(&self, caller: &Caller, id: Uuid) -> Result<Option<EventReader>> {
        if let Some(underway) = self.0.running.find(id) {
            let now = underway.now();
            caller.count(|tally| tally.mind(&now.mind_id));
            let owns = !now.background;
            return Ok(Some(underway.log.reader(owns)));
        }
        let record = match self.get_whole(caller, id).await {
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
        caller.count(|tally| tally.mind(&record.mind_id));
        let log = match self.0.running.ended(id) {
            Some(log) => log,
            None => replay::log(record)?,
        };
        Ok(Some(log.reader(false)))
    }

    /// How often a quiet stream says that it lives.
    pub fn keep_alive(&self) -> Duration {
        self.0.parts.settings.keep_alive
    }

    /// Removes a response; one under way is cancelled first.
    ///
    /// # Errors
    /// `response_not_found`; `forbidden` for one of another key.
    pub async fn delete(&self, caller: &Caller, id: Uuid) -> Result<()> {
        self.cancel(caller, id).await?;
        store::delete(&self.0.parts.store, id).await
    }

    /// Stops a response that is under way, here or on another host, down to the database, and gives it as it then is.
    ///
    /// # Errors
    /// `response_not_found`; `forbidden` for one of another key; `wrong_state` when its host does not stop it in time.
    pub async fn cancel(&self, caller: &Caller, id: Uuid) -> Result<ResponseRecord> {
        let record = self.get(caller, id).await?;
        self.require_heir(caller, &record.key_id).await?;
        match self.0.running.find(id) {
            Some(underway) => {
                stop(&underway).await;
                Ok(ResponseRecord::clone(&underway.now()))
            }
            None => {
                if record.completed_at.is_none() {
                    self.0.stop_elsewhere(id).await?;
                }
                self.get(caller, id).await
            }
        }
    }

    async fn require_heir(&self, caller: &Caller, key_id: &str) -> Result<()> {
        let conversations = &self.0.parts.conversations;
        conversations.require_heir(caller, key_id).await
    }

    /// Stops the answers under way on this host whose keys have ended. Nobody waits for that.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stop_ended(&self) -> Result<()> {
        ended::stop(&self.0).await
    }

    /// Removes a conversation with all its messages; answers that would be added to it are cancelled first.
    ///
    /// # Errors
    /// `conversation_not_found`; `forbidden` for one of another key.
    pub async fn delete_conversation(&self, caller: &Caller, id: Uuid) -> Result<()> {
        let conversations = &self.0.parts.conversations;
        let conversation = conversations.get(caller, id).await?;
        self.require_heir(caller, &conversation.key_id).await?;
        join_all(self.0.running.in_conversation(id).iter().map(stop)).await;
        for response in store::under_way_in(&self.0.parts.store, id).await? {
            self.0.stop_elsewhere(response).await?;
        }
        conversations.delete(&conversation).await
    }
}

/// Stops an answer and waits until its end is stored.
async fn stop(underway: &Underway) {
    underway.log.cancel.cancel();
    underway.log.reader(false).last().await;
}

impl Inner {
    /// Has the host that makes a response stop it, and waits until it has.
    async fn stop_elsewhere(&self, id: Uuid) -> Result<()> {
        let store = &self.parts.store;
        store::ask_to_stop(store, id).await?;
        let until = Instant::now() + STOPPED_WITHIN;
        loop {
            let found = store::find(store, id).await?;
            if found.is_none_or(|record| record.completed_at.is_some()) {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(Error::new(
                    Code::WrongState,
                    "the host that makes this response has not stopped it yet; ask again in a minute",
                ));
            }
            tokio::time::sleep(STOPPED_LOOK).await;
        }
    }

    /// A response that the caller may see: under way here, or stored.
    async fn response(&self, caller: &Caller, id: Uuid) -> Result<ResponseRecord> {
        let found = match self.running.find(id) {
            Some(underway) => Some(ResponseRecord::clone(&underway.now())),
            None => store::find(&self.parts.store, id).await?,
        };
        found
            .filter(|one| caller.may_read(&one.workspace_id, &one.key_id, Some(&one.mind_id)))
            .ok_or_else(|| {
                Error::new(
                    Code::ResponseNotFound,
                    format!("there is no response '{id}'"),
                )
            })
    }
}
