//! What an evaluation asks of the API.

use std::time::{Duration, Instant};

use anyhow::Context;
use mindhost_evaluation::{compare, suite::Question};
use reqwest13::Method;
use serde_json::{Value, json};

use super::{answer::Answer, events::Events};
use crate::commands::remote::{Failure, Server};

/// Rows of one page of a result.
const PAGE: u64 = 1_000;
/// How often a request is sent again that the server had no room for.
const RETRIES: u32 = 6;
/// The longest wait before that.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A result, as the API sends it.
pub(super) struct Table {
    /// Names of its columns.
    pub columns: Vec<String>,
    /// Its rows, or the first of them.
    pub rows: compare::Rows,
    /// All of its rows.
    pub total: u64,
}

/// A server, asked for one evaluation.
pub(super) struct Client {
    /// The server.
    pub server: Server,
    /// Most rows of a result that are read.
    pub max_rows: u64,
}

impl Client {
    /// Asks a question. The time runs from the request that the server accepts.
    pub(super) async fn ask(&self, mind: &str, question: &Question) -> anyhow::Result<Answer> {
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
            // The text comes again with the last event.
            let new = reader.add(&piece)?.into_iter();
            events.extend(new.filter(|event| event["type"] != "response.output_text.delta"));
        }
        Answer::of(&events, began.elapsed())
            .context("the server ended its answer before the last event")
    }

    /// The rows of an answer. Pages of a statement without an ORDER BY may overlap, so one with more rows than a page
    /// runs as a whole where the Mind allows that.
    pub(super) async fn result(&self, mind: &str, answer: &Answer) -> Result<Table, Failure> {
        let mut rows = Vec::new();
        loop {
            let page = self.page(answer, rows.len() as u64).await?;
            let total = page["total"].as_u64().unwrap_or(0);
            if total > PAGE
                && page["is_pagination_consistent"] == false
                && let Some(sql) = &answer.sql
                && let Ok(whole) = self.gold(mind, sql).await
            {
                return Ok(whole);
            }
            let data = self.rows(&page["result"]["data"])?;
            let is_last = data.is_empty();
            rows.extend(data);
            let read = rows.len() as u64;
            if is_last || read >= total || read >= self.max_rows {
                return Ok(Table {
                    columns: names(&page["result"]["column_names"]),
                    rows,
                    total,
                });
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
    pub(super) async fn gold(&self, mind: &str, sql: &str) -> Result<Table, Failure> {
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
        Ok(Table {
            columns: names(&item["column_names"]),
            rows: self.rows(&item["data"])?,
            total: item["total"].as_u64().unwrap_or(0),
        })
    }

    /// Removes a conversation of this evaluation. It may stay if that fails: nothing depends on it.
    pub(super) async fn forget(&self, conversation: &str) {
        let request = self
            .server
            .request(Method::DELETE, &["conversations", conversation]);
        let _ = self.server.send(request).await;
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

    fn rows(&self, data: &Value) -> Result<compare::Rows, Failure> {
        let data: Vec<Vec<Value>> = serde_json::from_value(data.clone()).map_err(|_| {
            let base = self.server.base();
            Failure::Unreachable(format!(
                "{base} sent a result without rows; does it run the same version?"
            ))
        })?;
        Ok(compare::rows(&data))
    }
}

fn names(names: &Value) -> Vec<String> {
    let names = names.as_array().into_iter().flatten();
    names
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}
