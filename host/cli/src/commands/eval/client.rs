//! What an evaluation asks of the API.

use std::{
    collections::HashSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context;
use futures_util::{StreamExt, stream};
use mindhost_evaluation::{
    answer::{Answer, Table},
    judge::{self, Subject},
    suite::Question,
};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::events::Events;
use crate::commands::{
    remote::{Failure, Server},
    say::aside,
};

/// Rows of one page of a result.
const PAGE: u64 = 1_000;
/// How often a request is sent again that the server had no room for.
const RETRIES: u32 = 6;
/// The longest wait before that.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long a server may be away, as while it is restarted, until the run stops.
const LONGEST_AWAY: Duration = Duration::from_secs(60);
/// The wait before the next attempt to connect to it.
const RECONNECT: Duration = Duration::from_millis(500);
/// Conversations that are deleted at the same time at the end.
const DELETIONS: usize = 16;

/// A server, asked for one evaluation.
pub(super) struct Client {
    /// The server.
    pub server: Server,
    /// Most rows of a result that are read.
    pub max_rows: u64,
    /// The conversations that this run began and has not deleted.
    pub open: Mutex<HashSet<String>>,
    /// Questions that were sent, and whose conversations are not known yet.
    pub unnamed: AtomicUsize,
    /// Cancelled when nothing new is to be sent, because the run is about to stop.
    pub stopping: CancellationToken,
    /// Since when the server is away.
    pub away_since: Mutex<Option<Instant>>,
    /// Cancelled when it stayed away.
    pub gone: CancellationToken,
}

/// Counts a question as unnamed until it is dropped.
struct Unnamed<'a>(&'a AtomicUsize);

impl<'a> Unnamed<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Unnamed<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Subject for Client {
    async fn ask(&self, mind: &str, question: &Question) -> Result<Answer, judge::Failure> {
        self.answer(mind, question)
            .await
            .map_err(|error| judge::Failure {
                code: String::new(),
                message: error.to_string(),
            })
    }

    async fn result(&self, mind: &str, answer: &Answer) -> Result<Table, judge::Failure> {
        Ok(self.rows_of(mind, answer).await?)
    }

    async fn gold(&self, mind: &str, sql: &str) -> Result<Table, judge::Failure> {
        Ok(self.query(mind, sql).await?)
    }

    async fn forget(&self, conversation: &str) {
        let path = ["conversations", conversation];
        let request = self.server.request(Method::DELETE, &path);
        if self.server.send(request).await.is_ok() {
            self.open().remove(conversation);
        }
    }
}

impl From<Failure> for judge::Failure {
    fn from(failure: Failure) -> Self {
        let message = failure.to_string();
        let code = match failure {
            Failure::Answered { code, .. } => code,
            Failure::Unreachable(_) | Failure::NotConnected(_) => String::new(),
        };
        Self { code, message }
    }
}

impl Client {
    fn open(&self) -> MutexGuard<'_, HashSet<String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many questions were sent whose conversations are not known yet.
    pub(super) fn unnamed(&self) -> usize {
        self.unnamed.load(Ordering::Relaxed)
    }

    /// Deletes the conversations that are still there: those of answers that were interrupted, or that broke off. Gives
    /// how many could not be deleted in this time.
    pub(super) async fn forget_rest(&self, limit: Duration) -> usize {
        let rest: Vec<String> = self.open().iter().cloned().collect();
        let deletions = stream::iter(rest)
            .for_each_concurrent(DELETIONS, |id| async move { self.forget(&id).await });
        let _ = tokio::time::timeout(limit, deletions).await;
        self.open().len()
    }

    /// Asks a question. The time runs from the request that the server accepts.
    async fn answer(&self, mind: &str, question: &Question) -> anyhow::Result<Answer> {
        let mut body = json!({
            "model": mind, "input": question.question, "stream": true, "include": ["steps"],
        });
        if let Some(instructions) = &question.instructions {
            body["instructions"] = json!(instructions);
        }
        let mut tries = 0;
        let (mut stream, began, unnamed) = loop {
            if self.stopping.is_cancelled() {
                // It is dropped with the run.
                std::future::pending::<()>().await;
            }
            let (began, unnamed) = (Instant::now(), Unnamed::begin(&self.unnamed));
            let request = self.server.request(Method::POST, &["responses"]);
            match self.server.open(request.json(&body)).await {
                Ok(stream) => break (stream, began, unnamed),
                Err(failure) => {
                    drop(unnamed);
                    self.pause(&mut tries, failure).await?;
                }
            }
        };
        self.is_back();
        let mut unnamed = Some(unnamed);
        let (mut reader, mut events) = (Events::default(), Vec::new());
        while let Some(piece) = self.server.piece(&mut stream).await? {
            let new = reader.add(&piece)?;
            let begun = new.iter().filter(|one| one["type"] == "response.created");
            let ids = begun.filter_map(|one| one["response"]["conversation"]["id"].as_str());
            for id in ids {
                self.open().insert(id.to_owned());
                unnamed = None;
            }
            // The text comes again with the last event.
            let kept = |event: &Value| event["type"] != "response.output_text.delta";
            events.extend(new.into_iter().filter(kept));
        }
        drop(unnamed);
        Answer::of(&events, began.elapsed())
            .context("the server ended its answer before the last event")
    }

    /// The rows of an answer. Pages of a statement without an ORDER BY may overlap, so one with more rows than a page
    /// runs as a whole where the Mind allows that.
    async fn rows_of(&self, mind: &str, answer: &Answer) -> Result<Table, Failure> {
        let mut rows = Vec::new();
        loop {
            let page = self.page(answer, rows.len() as u64).await?;
            let total = page["total"].as_u64().unwrap_or(0);
            if total > PAGE
                && page["is_pagination_consistent"] == false
                && let Some(sql) = &answer.sql
                && let Ok(whole) = self.query(mind, sql).await
            {
                return Ok(whole);
            }
            let result = &page["result"];
            let read = self.table(&result["column_names"], &result["data"], &page["total"])?;
            let is_last = read.rows.is_empty();
            rows.extend(read.rows);
            let count = rows.len() as u64;
            if is_last || count >= total || count >= self.max_rows {
                return Ok(Table { rows, ..read });
            }
        }
    }

    async fn page(&self, answer: &Answer, offset: u64) -> Result<Value, Failure> {
        let (conversation, message) = (&answer.conversation, &answer.message);
        let path = ["conversations", conversation, "items", message, "result"];
        let window = [("limit", PAGE.min(self.max_rows)), ("offset", offset)];
        let request = || self.server.request(Method::GET, &path).query(&window);
        self.send(request).await
    }

    /// The rows of an accepted statement.
    async fn query(&self, mind: &str, sql: &str) -> Result<Table, Failure> {
        let tool = json!({"type": "sql_query", "query": sql, "max_inline_rows": self.max_rows});
        let body = json!({"model": mind, "tools": [tool], "store": false});
        let request = || {
            self.server
                .request(Method::POST, &["responses"])
                .json(&body)
        };
        let response = self.send(request).await?;
        let item = &response["output"][0];
        self.table(&item["column_names"], &item["data"], &item["total"])
    }

    /// Sends a request until the server has room for it.
    async fn send(&self, request: impl Fn() -> RequestBuilder) -> Result<Value, Failure> {
        let mut tries = 0;
        loop {
            match self.server.send(request()).await {
                Ok(response) => {
                    self.is_back();
                    return Ok(response);
                }
                Err(failure) => self.pause(&mut tries, failure).await?,
            }
        }
    }

    fn away_since(&self) -> MutexGuard<'_, Option<Instant>> {
        let since = self.away_since.lock();
        since.unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the server answers.
    fn is_back(&self) {
        if self.away_since().take().is_some() {
            aside!("{} answers again", self.server.base());
        }
    }

    /// Waits for a server that is away. When it stays away, the run stops, and this does not return.
    async fn wait_for_server(&self) {
        let (base, longest) = (self.server.base(), LONGEST_AWAY.as_secs());
        let since = *self.away_since().get_or_insert_with(|| {
            aside!("no server answers at {base}; waiting for it for up to {longest} s");
            Instant::now()
        });
        if since.elapsed() >= LONGEST_AWAY {
            self.gone.cancel();
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(RECONNECT).await;
    }

    /// Waits before a request is sent again, or gives the failure back.
    async fn pause(&self, tries: &mut u32, failure: Failure) -> Result<(), Failure> {
        if let Failure::NotConnected(_) = failure {
            self.wait_for_server().await;
            return Ok(());
        }
        // It answers, though not yet with what was asked for.
        self.is_back();
        let has_no_room = matches!(
            failure,
            Failure::Answered {
                status: 429 | 503,
                ..
            }
        );
        if !has_no_room || *tries >= RETRIES {
            return Err(failure);
        }
        let usual = Duration::from_millis(250 << *tries);
        *tries += 1;
        tokio::time::sleep(failure.retry_after().unwrap_or(usual).min(LONGEST_PAUSE)).await;
        Ok(())
    }

    fn table(&self, names: &Value, data: &Value, total: &Value) -> Result<Table, Failure> {
        Table::of(names, data, total).ok_or_else(|| {
            let base = self.server.base();
            Failure::Unreachable(format!(
                "{base} sent a result without rows; does it run the same version?"
            ))
        })
    }
}
