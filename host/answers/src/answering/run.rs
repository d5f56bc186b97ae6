//! The task that makes one answer, from its first event until its status is stored.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde_json::{json, value::RawValue};
use tokio::sync::oneshot;
use tracing::Instrument;

use super::{
    Inner, SqlQuery, context,
    costs::AnswerCosts,
    earlier_answers,
    embedding::{Embedder, Meaning},
    events::{Event, EventLog},
    facts::AnswerFacts,
    history::Dialogue,
    items,
    links::Links,
    persist::{self, EndRetries},
    prepare::AnswerRequest,
    prompt::{self, PromptFacts},
    provenance::Provenance,
    record::{EarlyEnd, ResponseRecord, ResponseStatus},
    running::Slot,
    tools::{CurrentRights, Toolbox},
    turns::{Answer, NumberCheck, Turns},
};
use crate::{
    conversations::{Author, Message, ReadFrom, SqlOrigin, StoredSql},
    results::{
        AcceptedStatement, Access,
        chart::{self, Chart},
    },
};
use mindhost_base::error::{Code, Error, Kind, Result};
use mindhost_core::{minds::Mind, providers};
use mindhost_plugin_api::{Call, Model, ModelMessage, Part, Role};
use mindhost_plugins::serving_versions;

/// Tokens of the Mind's knowledge in a prompt at most.
const KNOWLEDGE_TOKENS: usize = 2000;

/// Everything that makes one answer. [`Task::run`] takes it and sends the last event.
pub struct Task {
    /// What it is made with.
    pub inner: Arc<Inner>,
    /// Its registration, with the log that it writes to.
    pub slot: Slot,
    /// The checked request.
    pub prepared: AnswerRequest,
    /// The response so far.
    pub record: ResponseRecord,
    /// Words or SQL.
    pub work: Work,
    /// Whether the caller wants a chart.
    pub wants_chart: bool,
    /// What was used so far.
    pub spent: AnswerCosts,
}

/// The two ways to answer.
pub enum Work {
    /// Answer in words with this model; the answer fails if there is none.
    Words(Result<Vendor>),
    /// Run the caller's SQL.
    Query(AcceptedStatement, SqlQuery),
}

/// The model that makes an answer: one version for all of its turns.
#[derive(Clone)]
pub struct Vendor {
    provider: Arc<providers::Ready>,
    model: Arc<dyn Model>,
}

impl Inner {
    /// The model for an answer of this Mind.
    ///
    /// # Errors
    /// `provider_not_found`, `no_plugin`
    pub async fn vendor(&self, mind: &Mind) -> Result<Vendor> {
        let services = &self.services;
        let provider = services
            .providers
            .current(&mind.workspace_id, &mind.provider_id)
            .await?;
        let model = services.registry.serving_model(&provider.plugin)?;
        serving_versions::note(&provider.plugin, model.digest());
        Ok(Vendor { provider, model })
    }
}

/// The result of the work.
struct FinalMessage {
    message: Message,
    item: Arc<RawValue>,
    /// What is sent in place of the item, which is stored.
    charted: Option<Arc<RawValue>>,
    ending: Option<EarlyEnd>,
}

impl Task {
    /// Makes the answer. Sends to `opened` as soon as the response is stored, or why it cannot be.
    pub async fn run(mut self, opened: oneshot::Sender<Result<()>>) {
        // A background response must survive a crash, and an answer in words takes long enough to be recorded at its
        // start.
        let is_open = self.record.is_stored
            && (self.record.background || matches!(self.work, Work::Words(_)));
        if is_open
            && let Err(error) = persist::open(&self.inner, &self.prepared, &self.record).await
        {
            let _ = opened.send(Err(error.clone()));
            return self.end_with(error);
        }
        let log = self.slot.log().clone();
        log.push(Event::Created(Arc::new(self.record.clone())));
        self.record.status = ResponseStatus::InProgress;
        log.push(Event::InProgress(Arc::new(self.record.clone())));
        // Without a receiver the task goes on: a reader that disconnects cancels the log itself.
        let _ = opened.send(Ok(()));
        let made = match &self.work {
            Work::Words(Err(error)) => Err(error.clone()),
            Work::Words(Ok(vendor)) => self.unless_stopped(&log, self.words(&log, vendor)).await,
            Work::Query(accepted, query) => {
                self.unless_stopped(&log, self.query(&log, accepted, query))
                    .await
            }
        };
        let kept = match made {
            Ok(made) => self.complete(made, is_open).await,
            Err(error) => Err(error),
        };
        if let Err(error) = kept {
            self.fail(error, is_open).await;
        }
    }

    /// Returns at once when the answer is cancelled. The work is dropped, which cancels what it waits for.
    async fn unless_stopped<T>(
        &self,
        log: &EventLog,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        tokio::select! {
            biased;
            () = log.cancel.cancelled() => Err(match self.inner.services.halt.is_cancelled() {
                true => Error::new(
                    Code::Overloaded,
                    "the server stopped while it made this answer; ask again",
                )
                .with_retry_after(Duration::from_secs(1)),
                false => Error::new(Code::Cancelled, "the answer was cancelled"),
            }),
            made = work => made,
        }
    }

    async fn words(&self, log: &Arc<EventLog>, vendor: &Vendor) -> Result<FinalMessage> {
        log.push(Event::MessageAdded);
        let answer = self.answer(log, vendor).await?;
        let status = match answer.facts.ending {
            Some(ending) if ending.is_cut() => "incomplete",
            _ => "completed",
        };
        let message = Message {
            id: log.message_id,
            status: status.into(),
            sql: answer.sql,
            read_from: Some(answer.read_from),
            ..Message::new(Author::Assistant, answer.text)
        };
        log.push(Event::TextDone(message.text.as_str().into()));
        let chart = self.chart_of_words(log, message.sql.as_ref()).await?;
        let charted =
            chart.map(|chart| items::message_with_chart(&message, &answer.facts, Some(&chart)));
        Ok(FinalMessage {
            item: items::message(&message, &answer.facts)?,
            charted: charted.transpose()?,
            message,
            ending: answer.facts.ending,
        })
    }

    async fn query(
        &self,
        log: &EventLog,
        accepted: &AcceptedStatement,
        query: &SqlQuery,
    ) -> Result<FinalMessage> {
        log.push(Event::QueryAdded(query.sql.as_str().into()));
        let results = &self.inner.services.results;
        // The statement has its own, shorter timeout; this one only bounds the wait.
        let call = Call::new(results.longest(), log.cancel.clone());
        let call = call.for_key(self.record.key_id.as_str());
        let page = results
            .page(accepted, query.max_inline_rows, 0, &call)
            .await
            .map_err(|error| query.to_blame(error))?;
        if let Some(tally) = &self.prepared.tally {
            tally.rows(page.rows());
        }
        let message = Message {
            id: log.message_id,
            sql: Some(StoredSql {
                text: query.sql.clone(),
                origin: SqlOrigin::SqlQuery,
            }),
            read_from: Some(ReadFrom {
                datasources: accepted.datasource_ids(),
                others: Vec::new(),
            }),
            ..Message::new(
                Author::Assistant,
                match page.total {
                    1 => "The query gave one row.".to_owned(),
                    total => format!("The query gave {total} rows."),
                },
            )
        };
        let chart = match self.wants_chart {
            true => Some(chart::of_page(results, accepted, &page, &call).await?),
            false => None,
        };
        Ok(FinalMessage {
            item: items::query_result(&message, page, query.explain, chart.as_ref())?,
            charted: None,
            message,
            ending: None,
        })
    }

    /// The chart of an answer in words, if the caller wants one. The model had only some of the rows, or none, so the
    /// statement runs once more. A failure of that does not fail the answer.
    async fn chart_of_words(
        &self,
        log: &EventLog,
        sql: Option<&StoredSql>,
    ) -> Result<Option<Chart>> {
        if !self.wants_chart {
            return Ok(None);
        }
        let Some(sql) = sql else {
            let reason = "The answer is not based on a statement.";
            return Ok(Some(Chart::none(reason)));
        };
        let results = &self.inner.services.results;
        let call = Call::new(results.longest(), log.cancel.clone());
        let call = call.for_key(self.record.key_id.as_str());
        let made = async {
            // As for a tool call: the Mind may have changed since.
            let mind = self.rights().mind().await?;
            let attributes = &self.prepared.caller.attributes;
            let access = results.access(&mind, attributes).await?;
            let accepted = results.accept(&access, &sql.text, sql.origin).await?;
            chart::of_statement(results, &accepted, &call).await
        };
        let chart = match made.await {
            Ok(chart) => chart,
            Err(error) => chart::unreadable(error)?,
        };
        if let Some(tally) = &self.prepared.tally {
            tally.rows(chart.rows);
        }
        Ok(Some(chart))
    }

    fn rights(&self) -> CurrentRights<'_> {
        let services = &self.inner.services;
        CurrentRights {
            minds: &services.minds,
            knowledge: &services.knowledge,
            caller: &self.prepared.caller,
            begun: &self.prepared.mind,
        }
    }

    async fn answer(&self, log: &Arc<EventLog>, vendor: &Vendor) -> Result<Answer> {
        let services = &self.inner.services;
        let mind = &self.prepared.mind;
        let Vendor { provider, model } = vendor;
        let access = services
            .results
            .access(mind, &self.prepared.caller.attributes)
            .await?;
        let bounds = &services.settings;
        let pack = |messages| {
            Dialogue::pack(
                messages,
                self.prepared.is_history_whole,
                bounds.context_tokens,
                self.record.settings.truncation,
            )
        };
        // What is too long is refused before anything is searched for its words.
        pack(dialogue(&self.prepared, &self.record, &access, ""))?;
        let earlier = self.prepared.earlier_questions();
        let told =
            services
                .knowledge
                .told(mind, self.prepared.question(), &earlier, KNOWLEDGE_TOKENS);
        let told = told.await?;
        let messages = dialogue(&self.prepared, &self.record, &access, &told.text);
        // The model is sent these at most, so the words are theirs.
        let mut messages = pack(messages)?.into_messages();
        let words = words(&messages);
        let provenance = provenance_of(words.clone()).await?;
        let toolbox = Toolbox {
            results: &services.results,
            catalog: &services.catalog,
            access: access.clone(),
            rights: self.rights(),
            knowledge: services.knowledge.of_tables(mind, &access.scope).await?,
            max_rows: services.settings.rows_for_model,
            provenance: Mutex::new(provenance),
            has_others: earlier_answers::are_of_others(&self.prepared),
            max_plan_cost: bounds.max_plan_cost,
            // A quarter of the room, at about four bytes a token.
            max_result_bytes: bounds.context_tokens,
            warned: Mutex::default(),
            outages: Mutex::default(),
        };
        earlier_answers::note(&toolbox, &self.prepared).await;
        // After `words`: what the catalog says was not said by the caller.
        let meaning = Embedder::of(model, &provider.target).map(|embedder| Meaning {
            vectors: &self.inner.vectors,
            embedder,
            call: Call::new(bounds.wall_clock, log.cancel.clone())
                .for_key(self.record.key_id.as_str()),
        });
        let mut step =
            context::add(&mut messages, &toolbox, meaning, bounds.catalog_tokens).await?;
        if told.left_out > 0 {
            let left_out = told.left_out;
            step.message += &format!("; knowledge that did not fit: {left_out}");
        }
        log.push(Event::Step(Arc::new(step)));
        let dialogue = pack(messages)?;
        let turns = Turns {
            model: &**model,
            target: &provider.target,
            model_name: &mind.model_name,
            question: self.prepared.question(),
            toolbox,
            log,
            bounds,
            max_output_tokens: self.record.limits.max_output_tokens,
            settings: &self.record.settings,
            key: &self.record.key_id,
            tally: self.prepared.tally.as_deref(),
            spent: &self.spent,
            links: Links::new(words),
            begins_paragraph: false,
            answer: Answer::default(),
            check: NumberCheck::default(),
        };
        turns.run(dialogue).await
    }

    async fn complete(&mut self, made: FinalMessage, is_open: bool) -> Result<()> {
        let mut record = self.record.clone();
        record.status = ResponseStatus::Completed;
        record.completed_at = Some(Timestamp::now());
        record.usage = self.spent.usage();
        record.steps = self.slot.log().steps();
        record.ending = made.ending;
        record.output = vec![made.item.clone()];
        if record.is_stored {
            let mut retries = EndRetries::new(&self.inner, &record, !record.background);
            loop {
                let (inner, prepared) = (&self.inner, &self.prepared);
                let stored = persist::complete(inner, prepared, &record, &made.message, is_open);
                if retries.are_over(stored.await).await? {
                    break;
                }
            }
        }
        let log = self.slot.log();
        let sent = match made.charted {
            Some(charted) => {
                let _ = log.stored_item.set(made.item);
                charted
            }
            None => made.item,
        };
        record.output = vec![sent.clone()];
        log.push(Event::ItemDone(sent));
        log.push(Event::Completed(Arc::new(record)));
        Ok(())
    }

    async fn fail(mut self, error: Error, is_open: bool) {
        self.mark(&error);
        self.record.usage = self.spent.usage();
        self.record.steps = self.slot.log().steps();
        let said = self.partial_answer();
        let facts = AnswerFacts::default();
        if let Some(item) = said
            .as_ref()
            .and_then(|said| items::message(said, &facts).ok())
        {
            self.record.output = vec![item];
        }
        if error.kind() == Kind::Internal {
            tracing::error!(response = %self.record.id, source = ?std::error::Error::source(&error), "an answer failed");
        }
        let is_awaited = !self.record.background;
        let stored = match self.record.is_stored {
            true => self.store_failure(said.as_ref(), is_open, is_awaited).await,
            false => Ok(()),
        };
        self.tell(error);
        match stored {
            // What is read later must be what the caller was told.
            Err(failed) if is_open && is_awaited && persist::is_passing(&failed) => {
                let tasks = self.inner.services.tasks.clone();
                let later = async move {
                    let stored = self.store_failure(said.as_ref(), is_open, false).await;
                    self.log_unstored(stored);
                };
                tasks.spawn(later.in_current_span());
            }
            stored => self.log_unstored(stored),
        }
    }

    async fn store_failure(
        &mut self,
        said: Option<&Message>,
        is_open: bool,
        is_awaited: bool,
    ) -> Result<()> {
        let mut retries = EndRetries::new(&self.inner, &self.record, is_awaited);
        loop {
            let (inner, prepared) = (&self.inner, &self.prepared);
            let stored = persist::fail(inner, prepared, &mut self.record, said, is_open);
            if retries.are_over(stored.await).await? {
                return Ok(());
            }
        }
    }

    fn log_unstored(&self, stored: Result<()>) {
        if let Err(error) = stored {
            tracing::error!(response = %self.record.id, source = ?std::error::Error::source(&error), "cannot store the end of a response");
        }
    }

    /// The part of an answer in words that was streamed. It is stored, because later questions may refer to it.
    fn partial_answer(&self) -> Option<Message> {
        let log = self.slot.log();
        let text = log.text();
        (!text.is_empty()).then(|| Message {
            id: log.message_id,
            status: "incomplete".into(),
            read_from: Some(earlier_answers::read_from(&self.prepared)),
            ..Message::new(Author::Assistant, text)
        })
    }

    /// Ends an answer that could not be stored.
    fn end_with(mut self, error: Error) {
        self.mark(&error);
        self.tell(error);
    }

    fn mark(&mut self, error: &Error) {
        self.record.status = match error.kind() {
            Kind::Cancelled => ResponseStatus::Cancelled,
            _ => ResponseStatus::Failed,
        };
        self.record.completed_at = Some(Timestamp::now());
        self.record.error =
            Some(json!({"code": error.code().as_str(), "message": error.message()}));
    }

    fn tell(&self, error: Error) {
        let failed = Event::Failed(Arc::new(error), Arc::new(self.record.clone()));
        self.slot.log().push(failed);
    }
}

/// The text of the caller and of the Mind, without the earlier answers of the model.
fn words(messages: &[ModelMessage]) -> String {
    let theirs = messages
        .iter()
        .filter(|message| message.role != Role::Assistant);
    let mut words = String::new();
    for part in theirs.flat_map(|message| &message.parts) {
        if let Part::Text(text) = part {
            words.push_str(text);
            words.push('\n');
        }
    }
    words
}

/// On a thread that may be held: there may be hundreds of thousands of words.
async fn provenance_of(words: String) -> Result<Provenance> {
    tokio::task::spawn_blocking(move || Provenance::new(&words, today()))
        .await
        .map_err(Error::internal)
}

/// In UTC.
fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

/// System message, history, question.
fn dialogue(
    prepared: &AnswerRequest,
    record: &ResponseRecord,
    access: &Access,
    knowledge: &str,
) -> Vec<ModelMessage> {
    let said = prepared.history.iter().chain(&prepared.input);
    let facts = PromptFacts {
        mind: &prepared.mind.name,
        parameters: &prepared.mind.parameters,
        datasources: access.dialects(),
        instructions: record.instructions.as_deref(),
        question: prepared.question(),
        knowledge,
        today: today(),
    };
    let message = |role, text: &str| ModelMessage {
        role,
        parts: vec![Part::Text(text.to_owned())],
    };
    let mut messages = vec![message(Role::System, &prompt::system_message(&facts))];
    // An answer that was cancelled before its first word is empty, and vendors refuse empty messages.
    for one in said.filter(|one| !one.text.trim().is_empty()) {
        let role = match one.author {
            Author::User => Role::User,
            Author::Assistant => Role::Assistant,
            Author::System | Author::Developer => Role::System,
        };
        match &one.sql {
            // Its text has the number of rows, which is a value that may not leave this datasource.
            Some(sql) if sql.origin == SqlOrigin::SqlQuery && !access.sends_rows() => {
                messages.push(message(
                    role,
                    &format!("The query was run.\n\n{}", sql.text),
                ));
            }
            // Its text does not contain the query.
            Some(sql) if sql.origin == SqlOrigin::SqlQuery => {
                messages.push(message(role, &format!("{}\n\n{}", one.text, sql.text)));
            }
            // So that the next question can build on it: "and by month?"
            Some(sql) => messages.push(message(
                role,
                &format!("{}\n\nSQL of this answer:\n{}", one.text, sql.text),
            )),
            None => messages.push(message(role, &one.text)),
        }
    }
    messages
}
