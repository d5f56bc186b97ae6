//! A Mind of this server, asked without HTTP.

use std::time::{Duration, Instant};

use serde_json::{Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    answering::{
        Answering, Ask, Input, SqlQuery,
        events::{Event, EventReader},
        record::ResponseRecord,
    },
    conversations::{Author, Message},
    results::{Page, stored::StoredResults},
};
use mindhost_base::error::{Code, Error, Kind, Result};
use mindhost_core::auth::Caller;
use mindhost_evaluation::{
    answer::{Answer, Table},
    judge::{Failure, Subject},
    named_items::NamedItems,
    suite::Question,
};
use mindhost_sql::{json::Rows, schema};

/// Rows of one page of a result.
const PAGE: u64 = 1_000;
/// How often a question is asked again that the server has no room for.
const RETRIES: u32 = 6;
/// The longest wait before that.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The services of this server, asked as a caller.
pub(super) struct InProcess<'a> {
    pub answering: &'a Answering,
    pub stored_results: &'a StoredResults,
    pub caller: Caller,
    /// Most rows of a result that are read.
    pub max_rows: u64,
    /// Ends the answer that is waited for. It is read to its end all the same, so that its conversation is known, and
    /// deleted.
    pub stop: CancellationToken,
}

impl Subject for InProcess<'_> {
    async fn ask(&self, mind: &str, question: &Question) -> Result<Answer, Failure> {
        let ask = || Ask {
            model: mind.to_owned(),
            input: vec![Input::Message(Message::new(
                Author::User,
                &question.question,
            ))],
            instructions: question.instructions.clone(),
            shows_steps: true,
            ..Ask::default()
        };
        let (reader, began) = self.started(ask).await.map_err(failure)?;
        answer(reader, began, &self.stop).await.map_err(failure)
    }

    async fn result(&self, _mind: &str, answer: &Answer) -> Result<Table, Failure> {
        let rows = self.rows_of(answer);
        let rows = self.stop.run_until_cancelled(rows).await;
        rows.unwrap_or_else(|| Err(stopped())).map_err(failure)
    }

    async fn gold(&self, mind: &str, sql: &str) -> Result<Table, Failure> {
        let rows = self.stop.run_until_cancelled(self.query(mind, sql)).await;
        rows.unwrap_or_else(|| Err(stopped())).map_err(failure)
    }

    async fn forget(&self, conversation: &str) {
        if let Ok(id) = conversation.parse() {
            // It may stay if that fails.
            let _ = self.answering.delete_conversation(&self.caller, id).await;
        }
    }
}

impl InProcess<'_> {
    /// Starts an answer, and again while the server has no room for it.
    async fn started(&self, ask: impl Fn() -> Ask) -> Result<(EventReader, Instant)> {
        let mut tries = 0;
        loop {
            if self.stop.is_cancelled() {
                return Err(stopped());
            }
            let began = Instant::now();
            match self.answering.start(&self.caller, ask()).await {
                Ok(reader) => return Ok((reader, began)),
                Err(error) => {
                    let pause = pause(&mut tries, error);
                    let pause = self.stop.run_until_cancelled(pause).await;
                    pause.unwrap_or_else(|| Err(stopped()))?;
                }
            }
        }
    }

    /// The rows of an answer. Pages of a statement without an ORDER BY may overlap, so one with more rows than a page
    /// is read as one page if it is not too large for that.
    async fn rows_of(&self, answer: &Answer) -> Result<Table> {
        let id = |text: &str| text.parse::<Uuid>().map_err(Error::internal);
        let (conversation, message) = (id(&answer.conversation)?, id(&answer.message)?);
        let results = self.stored_results;
        let statement = results.find(&self.caller, conversation, message).await?;
        let mut rows = Vec::new();
        loop {
            let (limit, offset) = (PAGE.min(self.max_rows), rows.len() as u64);
            let page = results.page(&statement, limit, offset).await?;
            if page.total > PAGE
                && !page.ordered
                && let Ok(whole) = results.page(&statement, self.max_rows, 0).await
            {
                return table(whole);
            }
            let total = page.total;
            let read = table(page)?;
            let is_last = read.rows.is_empty();
            rows.extend(read.rows);
            let count = rows.len() as u64;
            if is_last || count >= total || count >= self.max_rows {
                return Ok(Table { rows, ..read });
            }
        }
    }

    /// The rows of an accepted statement.
    async fn query(&self, mind: &str, sql: &str) -> Result<Table> {
        let ask = || Ask {
            model: mind.to_owned(),
            query: Some(SqlQuery {
                sql: sql.to_owned(),
                max_inline_rows: self.max_rows,
                explain: false,
                param: "sql",
            }),
            store: false,
            ..Ask::default()
        };
        let (reader, _) = self.started(ask).await?;
        let record = ended(reader.last().await)?;
        let item = item(&record)?;
        let table = Table::of(&item["column_names"], &item["data"], &item["total"]);
        table.ok_or_else(|| Error::internal("a query without rows"))
    }
}

/// A page of rows, as they are judged.
fn table(page: Page) -> Result<Table> {
    let (names, total) = (json!(schema::column_names(&page.columns)), page.total);
    let data = serde_json::to_value(Rows::new(page.columns, page.batches));
    let read = Table::of(&names, &data.map_err(Error::internal)?, &json!(total));
    read.ok_or_else(|| Error::internal("a page without rows"))
}

/// Waits before a question is asked again, or gives the error back.
async fn pause(tries: &mut u32, error: Error) -> Result<()> {
    // A quota has room again only when somebody deletes something.
    let has_no_room = matches!(error.kind(), Kind::RateLimited | Kind::Unavailable)
        && error.code() != Code::QuotaExceeded;
    if !has_no_room || *tries >= RETRIES {
        return Err(error);
    }
    let usual = Duration::from_millis(250 << *tries);
    *tries += 1;
    tokio::time::sleep(error.retry_after().unwrap_or(usual).min(LONGEST_PAUSE)).await;
    Ok(())
}

/// Reads an answer to its end, which comes soon after it is stopped.
async fn answer(
    mut reader: EventReader,
    began: Instant,
    stop: &CancellationToken,
) -> Result<Answer> {
    let message = reader.log().message_id;
    let (mut steps, mut last) = (Vec::new(), None);
    loop {
        let next = match stop.run_until_cancelled(reader.next()).await {
            Some(next) => next,
            None => {
                reader.log().cancel.cancel();
                reader.next().await
            }
        };
        let Some(event) = next else {
            break;
        };
        match event {
            Event::Step(step) => steps.push(serde_json::to_value(&*step).map_err(Error::internal)?),
            event => last = Some(event),
        }
    }
    let (record, error) = match last {
        Some(Event::Completed(record)) => (record, None),
        Some(Event::Failed(error, record)) => (record, Some(error)),
        _ => return Err(no_end()),
    };
    let item = item(&record).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Ok(Answer {
        text: text(&item["content"][0]["text"]).unwrap_or_default(),
        sql: text(&item["sql"]),
        conversation: record
            .conversation_id
            .map(|id| id.to_string())
            .unwrap_or_default(),
        message: message.to_string(),
        error: error.map(|error| (error.code().as_str().to_owned(), error.message().to_owned())),
        ending: text(&item["ending"]),
        told: NamedItems::of(&steps),
        input_tokens: record.usage.input_tokens,
        output_tokens: record.usage.output_tokens,
        latency: began.elapsed(),
    })
}

fn ended(last: Option<Event>) -> Result<std::sync::Arc<ResponseRecord>> {
    match last {
        Some(Event::Completed(record)) => Ok(record),
        Some(Event::Failed(error, _)) => Err((*error).clone()),
        _ => Err(no_end()),
    }
}

fn stopped() -> Error {
    Error::new(Code::Cancelled, "the evaluation was stopped")
}

fn no_end() -> Error {
    Error::internal("an answer ended without a last event")
}

/// The first item of the output.
fn item(record: &ResponseRecord) -> Result<Value> {
    let item: Option<&std::sync::Arc<RawValue>> = record.output.first();
    let text = item.map_or("null", |item| item.get());
    serde_json::from_str(text).map_err(Error::internal)
}

fn failure(error: Error) -> Failure {
    Failure {
        code: error.code().as_str().to_owned(),
        message: match error.code() {
            Code::Internal => "an internal error; the log of the server says more".to_owned(),
            _ => error.message().to_owned(),
        },
    }
}
