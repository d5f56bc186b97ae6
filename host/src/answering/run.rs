//! The task that makes one answer, from its first event to its stored end.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{json, value::RawValue};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    Inner, Place, Prepared, SqlQuery,
    events::{Event, EventLog},
    prompt::{self, PromptFacts},
    record::{ResponseRecord, ResponseStatus},
    store,
    tools::Toolbox,
    turns::{Answer, Turns},
};
use crate::{
    conversations::{self, Author, Message, SqlOrigin, StoredSql},
    error::{Code, Error, Kind, Result},
    plugins::{Call, ModelMessage, Part, Role},
    results::{Access, Page},
    sql::{json::Rows, schema},
};

/// Answers in words.
pub async fn words(
    inner: Arc<Inner>,
    place: Place,
    prepared: Prepared,
    mut record: ResponseRecord,
    max_output_tokens: Option<u32>,
) {
    let log = &place.log;
    begin(log, &mut record);
    log.push(Event::MessageAdded);
    let made = unless_cancelled(
        &log.cancel,
        answer(&inner, log, &prepared, &record, max_output_tokens),
    )
    .await;
    match made {
        Ok(answer) => {
            record.usage = answer.usage;
            let message = Message {
                id: log.message_id,
                author: Author::Assistant,
                status: if answer.cut_short {
                    "incomplete"
                } else {
                    "completed"
                }
                .into(),
                sql: answer.sql,
                text: answer.text,
                created_at: Timestamp::now(),
            };
            log.push(Event::TextDone(message.text.as_str().into()));
            let item = raw(&message_item(&message));
            complete(&inner, log, &prepared, record, item, &[message]).await;
        }
        Err(error) => fail(&inner, log, record, error).await,
    }
}

/// Answers in SQL.
pub async fn query(
    inner: Arc<Inner>,
    place: Place,
    prepared: Prepared,
    mut record: ResponseRecord,
    access: Access,
    query: SqlQuery,
) {
    let log = &place.log;
    begin(log, &mut record);
    log.push(Event::QueryAdded(query.sql.as_str().into()));
    // The statement has its own, shorter limit inside; this one only makes the wait finite.
    let call = Call::new(inner.parts.settings.wall_clock, log.cancel.clone());
    let read = inner
        .parts
        .results
        .page(&access, &query.sql, query.max_inline_rows, 0, &call);
    let made = unless_cancelled(&log.cancel, read).await;
    match made {
        Ok(page) => {
            let message = Message {
                sql: Some(StoredSql {
                    text: query.sql,
                    origin: SqlOrigin::SqlQuery,
                }),
                id: log.message_id,
                ..Message::new(
                    Author::Assistant,
                    format!("The query gave {} rows.", page.total),
                )
            };
            let item = query_item(&message, page);
            complete(&inner, log, &prepared, record, item, &[message]).await;
        }
        Err(error) => fail(&inner, log, record, error).await,
    }
}

fn begin(log: &EventLog, record: &mut ResponseRecord) {
    log.push(Event::Created(Arc::new(record.clone())));
    record.status = ResponseStatus::InProgress;
    log.push(Event::InProgress(Arc::new(record.clone())));
}

async fn answer(
    inner: &Inner,
    log: &Arc<EventLog>,
    prepared: &Prepared,
    record: &ResponseRecord,
    max_output_tokens: Option<u32>,
) -> Result<Answer> {
    let parts = &inner.parts;
    let provider = parts
        .providers
        .get_by_id(&prepared.mind.workspace_id, &prepared.mind.provider_id)
        .await?;
    let model = parts.registry.model(&provider.plugin)?;
    let target = parts.providers.target(&provider).await?;
    let access = parts.results.access(&prepared.mind).await?;
    let toolbox = Toolbox {
        results: &parts.results,
        catalog: &parts.catalog,
        access: &access,
        max_rows: parts.settings.rows_for_model,
    };
    let messages = dialogue(prepared, record, &access);
    let turns = Turns {
        model: &*model,
        target: &target,
        model_name: &prepared.mind.model_name,
        toolbox,
        log,
        bounds: &parts.settings,
        max_output_tokens,
    };
    turns.run(messages).await
}

/// System message, history, question.
fn dialogue(prepared: &Prepared, record: &ResponseRecord, access: &Access) -> Vec<ModelMessage> {
    let question = prepared
        .input
        .iter()
        .rev()
        .find(|message| message.author == Author::User);
    let facts = PromptFacts {
        mind: &prepared.mind.name,
        parameters: &prepared.mind.parameters,
        datasources: access.dialects(),
        instructions: record.instructions.as_deref(),
        question: question.map_or("", |message| message.text.as_str()),
        today: Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date(),
    };
    let message = |role, text: &str| ModelMessage {
        role,
        parts: vec![Part::Text(text.to_owned())],
    };
    let mut messages = vec![message(Role::System, &prompt::system_message(&facts))];
    for one in prepared.history.iter().chain(&prepared.input) {
        let role = match one.author {
            Author::User => Role::User,
            Author::Assistant => Role::Assistant,
            Author::System | Author::Developer => Role::System,
        };
        messages.push(message(role, &one.text));
    }
    messages
}

/// Ends at once when the answer is cancelled, whatever it waits for; what it waited for is dropped, which
/// cancels it in turn.
async fn unless_cancelled<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Error::new(Code::Cancelled, "the answer was cancelled")),
        made = work => made,
    }
}

async fn complete(
    inner: &Inner,
    log: &EventLog,
    prepared: &Prepared,
    mut record: ResponseRecord,
    item: Result<Arc<RawValue>>,
    messages: &[Message],
) {
    let item = match item {
        Ok(item) => item,
        Err(error) => return fail(inner, log, record, error).await,
    };
    record.status = ResponseStatus::Completed;
    record.completed_at = Some(Timestamp::now());
    record.output = vec![item.clone()];
    if let Err(error) = keep(inner, prepared, &record, messages).await {
        record.output.clear();
        return fail(inner, log, record, error).await;
    }
    log.push(Event::ItemDone(item));
    log.push(Event::Completed(Arc::new(record)));
}

/// Stores the end of an answer. SQL was not stored at its beginning: it is short, and most often all that
/// happens in its conversation.
async fn keep(
    inner: &Inner,
    prepared: &Prepared,
    record: &ResponseRecord,
    messages: &[Message],
) -> Result<()> {
    let conversation = &prepared.conversation;
    let by_query = messages.iter().any(|one| {
        one.sql
            .as_ref()
            .is_some_and(|sql| sql.origin == SqlOrigin::SqlQuery)
    });
    let mut tx = inner.parts.store.begin().await?;
    if by_query {
        if prepared.is_new {
            conversations::insert(&mut tx, conversation).await?;
        }
        conversations::bind_to_mind(
            &mut tx,
            conversation.id,
            &prepared.mind.id,
            &prepared.mind.name,
        )
        .await?;
        // The rows are not stored with the response: they are read again when somebody asks for it.
        let kept = ResponseRecord {
            output: Vec::new(),
            ..record.clone()
        };
        store::insert(&mut tx, &kept, &inner.host_id).await?;
        conversations::append(&mut tx, conversation, Some(record.id), &prepared.input).await?;
    } else {
        store::finish(&mut tx, record).await?;
    }
    conversations::append(&mut tx, conversation, Some(record.id), messages).await?;
    Ok(tx.commit().await?)
}

async fn fail(inner: &Inner, log: &EventLog, mut record: ResponseRecord, error: Error) {
    record.status = if error.kind() == Kind::Cancelled {
        ResponseStatus::Cancelled
    } else {
        ResponseStatus::Failed
    };
    record.completed_at = Some(Timestamp::now());
    record.error = Some(json!({"code": error.code().as_str(), "message": error.message()}));
    if error.kind() == Kind::Internal {
        tracing::error!(response = %record.id, source = ?std::error::Error::source(&error), "an answer failed");
    }
    if let Err(stored) = keep_failure(inner, &record).await {
        tracing::error!(response = %record.id, source = ?std::error::Error::source(&stored), "could not store how a response ended");
    }
    log.push(Event::Failed(Arc::new(error), Arc::new(record)));
}

async fn keep_failure(inner: &Inner, record: &ResponseRecord) -> Result<()> {
    let mut tx = inner.parts.store.begin().await?;
    store::finish(&mut tx, record).await?;
    Ok(tx.commit().await?)
}

/// An output item of type `query_result`, from a page of its statement.
///
/// # Errors
/// Never for checked batches.
pub fn query_item(message: &Message, page: Page) -> Result<Arc<RawValue>> {
    raw(&QueryResult::new(message, page))
}

/// An output item of type `message`.
fn message_item(message: &Message) -> serde_json::Value {
    json!({
        "type": "message",
        "id": message.id,
        "status": message.status,
        "role": "assistant",
        "content": [{"type": "output_text", "text": message.text, "annotations": [], "logprobs": []}],
        "sql": message.sql.as_ref().map(|sql| sql.text.as_str()),
    })
}

/// An output item of type `query_result`.
#[derive(Serialize)]
struct QueryResult {
    r#type: &'static str,
    id: Uuid,
    status: &'static str,
    query: String,
    executed_query: String,
    column_names: Vec<String>,
    column_types: Vec<schema::ColumnType>,
    data: Rows,
    total: u64,
    has_more: bool,
}

impl QueryResult {
    fn new(message: &Message, page: Page) -> Self {
        Self {
            r#type: "query_result",
            id: message.id,
            status: "success",
            query: message
                .sql
                .as_ref()
                .map(|sql| sql.text.clone())
                .unwrap_or_default(),
            column_names: schema::column_names(&page.columns),
            column_types: schema::column_types(&page.columns),
            total: page.total,
            has_more: page.rows() < page.total,
            executed_query: page.executed.clone(),
            data: Rows::new(page.columns, page.batches),
        }
    }
}

fn raw(item: &impl Serialize) -> Result<Arc<RawValue>> {
    serde_json::value::to_raw_value(item)
        .map(Arc::from)
        .map_err(Error::internal)
}
