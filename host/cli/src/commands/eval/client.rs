//! What an evaluation asks of the API.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Context;
use futures_util::{StreamExt, stream};
use mindhost_evaluation::{
    answer::{Answer, Table},
    judge::{self, Subject},
    suite::Question,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::events::Events;
use crate::commands::remote::{Failure, Server};

/// Rows of one page of a result.
const PAGE: u64 = 1_000;
/// How often a request is sent again that the server had no room for.
const RETRIES: u32 = 6;
/// The longest wait before that.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
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
            Failure::Unreachable(_) => String::new(),
        };
        Self { code, message }
    }
}

impl Client {
    fn open(&self) -> MutexGuard<'_, HashSet<String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
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
        let (mut stream, began) = loop {
            let began = Instant::now();
            let request = self.server.request(Method::POST, &["responses"]);
            match self.server.open(request.json(&body)).await {
                Ok(stream) => break (stream, began),
                Err(failure) => self.pause(&mut tries, failure).await?,
            }
        };
        let (mut reader, mut events) = (Events::default(), Vec::new());
        while let Some(piece) = self.server.piece(&mut stream).await? {
            let new = reader.add(&piece)?;
            let begun = new.iter().filter(|one| one["type"] == "response.created");
            let ids = begun.filter_map(|one| one["response"]["conversation"]["id"].as_str());
            self.open().extend(ids.map(str::to_owned));
            // The text comes again with the last event.
            let kept = |event: &Value| event["type"] != "response.output_text.delta";
            events.extend(new.into_iter().filter(kept));
        }
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
        let request = self.server.request(Method::GET, &path);
        let window = [("limit", PAGE.min(self.max_rows)), ("offset", offset)];
        self.server.send(request.query(&window)).await
    }

    /// The rows of an accepted statement.
    async fn query(&self, mind: &str, sql: &str) -> Result<Table, Failure> {
        let tool = json!({"type": "sql_query", "query": sql, "max_inline_rows": self.max_rows});
        let body = json!({"model": mind, "tools": [tool], "store": false});
        let mut tries = 0;
        let response = loop {
            let request = self.server.request(Method::POST, &["responses"]);
            match self.server.send(request.json(&body)).await {
                Ok(response) => break response,
                Err(failure) => self.pause(&mut tries, failure).await?,
            }
        };
        let item = &response["output"][0];
        self.table(&item["column_names"], &item["data"], &item["total"])
    }

    /// Waits before a request is sent again, or gives the failure back.
    async fn pause(&self, tries: &mut u32, failure: Failure) -> Result<(), Failure> {
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
