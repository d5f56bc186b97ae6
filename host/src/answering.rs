//! Answers: a Mind is asked in words or in SQL.
//!
//! [`Answering::start`] checks everything that a caller can get wrong, then makes the answer in a task of its
//! own, which writes to an [`events::EventLog`]. Whoever waits for it only reads that log. The task ends when
//! the answer ends, when its log's token is cancelled (by a reader that leaves, by the caller, at shutdown), or
//! at a bound; in each case the response is stored with how it ended.

pub mod events;
mod prompt;
pub mod record;
mod recovery;
mod run;
mod store;
mod tools;
mod turns;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use self::{
    events::{Event, EventLog, EventReader},
    record::{ResponseRecord, ResponseStatus, Usage},
};
use crate::{
    auth::Caller,
    catalog::Catalog,
    config,
    conversations::{Author, Conversation, Conversations, Message, Window},
    error::{Code, Error, Result},
    minds::{self, Mind, Minds},
    plugins::registry::Registry,
    providers::Providers,
    results::{Results, stored::StoredResults},
    store::Store,
};

/// Rows that a `sql_query` gives at once, by default and at most.
pub const MAX_INLINE_ROWS: u64 = 10_000;

/// What a caller asks.
#[derive(Debug, Default)]
pub struct Ask {
    /// Name of the Mind.
    pub model: String,
    /// Messages, the question last; empty to have the conversation's last question answered again.
    pub input: Vec<Message>,
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
}

/// The `sql_query` tool.
#[derive(Debug)]
pub struct SqlQuery {
    /// The statement.
    pub sql: String,
    /// Rows to give at once.
    pub max_inline_rows: u64,
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
    host_id: String,
    running: Mutex<HashMap<Uuid, Running>>,
}

/// An answer under way.
struct Running {
    key_id: String,
    log: Arc<EventLog>,
}

/// Everything that was checked before an answer begins.
struct Prepared {
    mind: Mind,
    conversation: Conversation,
    is_new: bool,
    history: Vec<Message>,
    input: Vec<Message>,
}

impl Answering {
    /// Over its parts; begins to look after responses that a dead host left behind.
    pub fn new(parts: Parts) -> Self {
        let this = Self(Arc::new(Inner {
            parts,
            host_id: Uuid::now_v7().to_string(),
            running: Mutex::default(),
        }));
        let worker = this.clone();
        this.0
            .parts
            .tasks
            .spawn(async move { recovery::keep(&worker.0).await });
        this
    }

    /// Checks the request and begins the answer. The reader sees it from its first event; dropping the reader
    /// before the end cancels the answer.
    ///
    /// # Errors
    /// What the caller got wrong: unknown Mind or conversation, a conversation of another Mind, direct queries
    /// that are not allowed, SQL that the guard refuses, too many answers at once.
    pub async fn start(&self, caller: &Caller, ask: Ask) -> Result<EventReader> {
        let prepared = self.prepare(caller, &ask).await?;
        let log = EventLog::new(self.0.parts.halt.child_token());
        let record = record(caller, &prepared, &ask);
        let place = self.0.take_place(&record, &log)?;
        let reader = log.reader(true);
        match ask.query {
            Some(query) => {
                let access = self.0.parts.results.access(&prepared.mind).await?;
                self.0.parts.results.check(&access, &query.sql)?;
                self.spawn(run::query(
                    self.0.clone(),
                    place,
                    prepared,
                    record,
                    access,
                    query,
                ));
            }
            None => {
                self.0.open(&prepared, &record).await?;
                self.spawn(run::words(
                    self.0.clone(),
                    place,
                    prepared,
                    record,
                    ask.max_output_tokens,
                ));
            }
        }
        Ok(reader)
    }

    /// The caller's response as it is stored.
    ///
    /// # Errors
    /// `response_not_found`.
    pub async fn get(&self, caller: &Caller, id: Uuid) -> Result<ResponseRecord> {
        store::find(&self.0.parts.store, id)
            .await?
            .filter(|found| caller.may_read(&found.workspace_id, &found.key_id))
            .ok_or_else(|| {
                Error::new(
                    Code::ResponseNotFound,
                    format!("there is no response '{id}'"),
                )
            })
    }

    /// As [`Self::get`], with the rows of a `sql_query` read again: they are not kept.
    ///
    /// # Errors
    /// `response_not_found`; what the Mind no longer allows; what the engine says.
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
        let stored = parts
            .stored_results
            .find(caller, conversation, message.id)
            .await?;
        let page = parts
            .stored_results
            .page(&stored, MAX_INLINE_ROWS, 0)
            .await?;
        record.output = vec![run::query_item(&message, page)?];
        Ok(record)
    }

    /// Removes a response that has ended; one under way is cancelled first.
    ///
    /// # Errors
    /// `response_not_found`.
    pub async fn delete(&self, caller: &Caller, id: Uuid) -> Result<()> {
        self.cancel(caller, id).await?;
        store::delete(&self.0.parts.store, id).await
    }

    /// Stops a response that is under way, down to the database, and gives it as it then is.
    ///
    /// # Errors
    /// `response_not_found`.
    pub async fn cancel(&self, caller: &Caller, id: Uuid) -> Result<ResponseRecord> {
        let record = self.get(caller, id).await?;
        let Some(log) = self.0.log_of(id) else {
            return Ok(record);
        };
        log.cancel.cancel();
        log.reader(false).last().await;
        self.get(caller, id).await
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.parts.tasks.spawn(work);
    }

    async fn prepare(&self, caller: &Caller, ask: &Ask) -> Result<Prepared> {
        let parts = &self.0.parts;
        let mind = parts
            .minds
            .get(caller, &ask.model)
            .await
            .map_err(|error| error.param("model"))?;
        if ask.query.is_some() && !mind.allows_direct_queries() {
            return Err(minds::direct_queries_not_allowed(&mind));
        }
        let named = match (ask.conversation, ask.previous_response_id) {
            (Some(id), None) => Some(id),
            (None, Some(id)) => {
                self.get(caller, id)
                    .await
                    .map_err(|error| error.param("previous_response_id"))?
                    .conversation_id
            }
            _ => None,
        };
        let (conversation, is_new) = match named {
            Some(id) => (parts.conversations.get(caller, id).await?, false),
            None => (Conversation::new(caller), true),
        };
        self.check_mind(caller, &conversation, &mind).await?;
        let mut history = match is_new {
            true => Vec::new(),
            false => self.history(&conversation).await?,
        };
        let input = match (&ask.query, ask.input.is_empty()) {
            (None, true) => vec![last_question(&mut history)?],
            _ => ask.input.clone(),
        };
        Ok(Prepared {
            mind,
            conversation,
            is_new,
            history,
            input,
        })
    }

    /// The conversation must be of this Mind, or of none yet.
    async fn check_mind(
        &self,
        caller: &Caller,
        conversation: &Conversation,
        mind: &Mind,
    ) -> Result<()> {
        let Some(bound) = conversation.mind_id.as_deref().filter(|id| *id != mind.id) else {
            return Ok(());
        };
        let name = conversation.mind_name.as_deref().unwrap_or("another Mind");
        if self.0.parts.minds.get_by_id(caller, bound).await?.is_none() {
            return Err(minds::deleted(name));
        }
        Err(Error::new(
            Code::ConversationOfAnotherMind,
            format!("this conversation belongs to the Mind '{name}'; ask that one, or leave `conversation` out"),
        )
        .param("conversation"))
    }

    /// The newest messages of a conversation, oldest first.
    async fn history(&self, conversation: &Conversation) -> Result<Vec<Message>> {
        let limit = u32::try_from(self.0.parts.settings.history).unwrap_or(u32::MAX - 1);
        let window = Window {
            after: None,
            limit,
            descending: true,
        };
        let (mut messages, _) = self
            .0
            .parts
            .conversations
            .list(conversation, window)
            .await?;
        messages.reverse();
        Ok(messages)
    }
}

impl Inner {
    fn take_place(self: &Arc<Self>, record: &ResponseRecord, log: &Arc<EventLog>) -> Result<Place> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = self.parts.settings.concurrent_per_key;
        if running
            .values()
            .filter(|one| one.key_id == record.key_id)
            .count()
            >= limit
        {
            return Err(Error::new(
                Code::RateLimited,
                format!(
                    "this key has {limit} answers under way, as many as it may; wait for one to end"
                ),
            )
            .with_retry_after(std::time::Duration::from_secs(1)));
        }
        running.insert(
            record.id,
            Running {
                key_id: record.key_id.clone(),
                log: log.clone(),
            },
        );
        Ok(Place {
            record: Arc::new(record.clone()),
            inner: self.clone(),
            log: log.clone(),
        })
    }

    /// Ids of the answers under way.
    fn running_ids(&self) -> Vec<Uuid> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.keys().copied().collect()
    }

    fn log_of(&self, id: Uuid) -> Option<Arc<EventLog>> {
        self.running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&id)
            .map(|one| one.log.clone())
    }

    /// Stores what was asked, before the answer begins.
    async fn open(&self, prepared: &Prepared, record: &ResponseRecord) -> Result<()> {
        use crate::conversations;
        let mut tx = self.parts.store.begin().await?;
        if prepared.is_new {
            conversations::insert(&mut tx, &prepared.conversation).await?;
        }
        conversations::bind_to_mind(
            &mut tx,
            prepared.conversation.id,
            &prepared.mind.id,
            &prepared.mind.name,
        )
        .await?;
        store::insert(&mut tx, record, &self.host_id).await?;
        conversations::append(
            &mut tx,
            &prepared.conversation,
            Some(record.id),
            &prepared.input,
        )
        .await?;
        Ok(tx.commit().await?)
    }
}

/// A place among the answers under way, given back when dropped.
struct Place {
    /// The response as it was when it began.
    record: Arc<ResponseRecord>,
    inner: Arc<Inner>,
    log: Arc<EventLog>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.inner
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.record.id);
        // A task that panicked has told its readers nothing, and they would wait for ever.
        if !self.log.has_ended() {
            let error = Error::internal("an answer ended without a last event");
            let mut record = ResponseRecord::clone(&self.record);
            record.status = ResponseStatus::Failed;
            record.completed_at = Some(Timestamp::now());
            record.error = Some(json!({"code": error.code().as_str(), "message": error.message()}));
            self.log
                .push(Event::Failed(Arc::new(error), Arc::new(record)));
        }
    }
}

fn record(caller: &Caller, prepared: &Prepared, ask: &Ask) -> ResponseRecord {
    ResponseRecord {
        id: Uuid::now_v7(),
        workspace_id: caller.workspace.to_string(),
        key_id: caller.key_id.to_string(),
        conversation_id: Some(prepared.conversation.id),
        mind_id: prepared.mind.id.clone(),
        mind_name: prepared.mind.name.clone(),
        status: ResponseStatus::Created,
        error: None,
        output: Vec::new(),
        usage: Usage::default(),
        metadata: ask.metadata.clone(),
        instructions: ask.instructions.clone(),
        previous_response_id: ask.previous_response_id,
        created_at: Timestamp::now(),
        completed_at: None,
    }
}

/// Takes the last question out of the history, with what was said to it, to have it answered again.
fn last_question(history: &mut Vec<Message>) -> Result<Message> {
    let index = history
        .iter()
        .rposition(|message| message.author == Author::User)
        .ok_or_else(|| {
            Error::invalid(
                "input",
                "there is no question: send `input`, or a `conversation` that has one",
            )
        })?;
    let question = history[index].clone();
    history.truncate(index);
    Ok(Message::new(Author::User, question.text))
}
