//! A SQL engine that is asked over HTTP: it answers with lines of JSON, the columns first, then one array a row.

mod cells;

use mindhost_sdk::http::{self, Lines, Request, Response};
use mindhost_sdk::{
    Batch, BatchBuilder, BatchLimits, Column, Config, Connector, Error, ErrorKind, Result,
    ServerInfo, Statement, Table, TableColumn, TableRef, export_connector,
};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::cells::{HeadColumn, column, value};

/// An engine without schemas uses one fixed name.
const SCHEMA: &str = "main";

/// What the datasource is configured with; `manifest.json` has its schema. The host adds `api_key` to the requests.
#[derive(Deserialize)]
struct Settings {
    url: String,
}

struct Engine {
    settings: Settings,
}

/// An answer in progress.
struct Answer {
    lines: Lines,
    batch: BatchBuilder,
    max_cell_bytes: u64,
}

#[derive(Deserialize)]
struct Version {
    product: String,
    version: String,
}

#[derive(Deserialize)]
struct Head {
    columns: Vec<HeadColumn>,
}

impl Engine {
    fn version(&self) -> Result<Version> {
        let request = Request::get(format!("{}/version", self.settings.url));
        let mut response = answered(http::send(&request)?)?;
        read(&response.body.read_to_end(64 << 10)?)
    }

    fn ask(&self, sql: &str, timeout_ms: u128, max_cell_bytes: u64) -> Result<Answer> {
        let request = Request::post(format!("{}/query", self.settings.url), sql.into())
            .header("x-timeout-ms", timeout_ms.to_string());
        let mut lines = answered(http::send(&request)?)?.body.lines();
        let head = lines.next().transpose()?.ok_or_else(cut_off)?;
        let columns = read::<Head>(&head)?
            .columns
            .into_iter()
            .map(column)
            .collect();
        Ok(Answer {
            lines,
            batch: BatchBuilder::new(columns),
            max_cell_bytes,
        })
    }

    /// All rows of a short answer, as text.
    fn texts(&self, sql: &str) -> Result<Vec<Vec<String>>> {
        let text = |cell: &Json| cell.as_str().unwrap_or_default().to_owned();
        let answer = self.ask(sql, 10_000, 1 << 20)?;
        let rows = answer.lines.map(|line| {
            let cells: Vec<Json> = read(&line?)?;
            Ok(cells.iter().map(text).collect())
        });
        rows.collect()
    }
}

impl Connector for Engine {
    const MANIFEST: &'static str = include_str!("../manifest.json");
    type Cursor = Answer;

    fn open(config: &Config) -> Result<Self> {
        let engine = Self {
            settings: config.parse()?,
        };
        engine.version()?;
        Ok(engine)
    }

    fn check(&mut self) -> Result<ServerInfo> {
        let version = self.version()?;
        Ok(ServerInfo::new(version.product, version.version))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        let names = self.texts(
            "select name from sqlite_master where type in ('table', 'view') order by name",
        )?;
        Ok(names
            .into_iter()
            .flatten()
            .map(|name| TableRef::new(SCHEMA, name))
            .collect())
    }

    fn describe_tables(&mut self, tables: &[TableRef]) -> Result<Vec<Table>> {
        let mut described = Vec::new();
        for table in tables {
            let name = table.name.replace('\'', "''");
            let columns = self.texts(&format!(
                "select name, type from pragma_table_info('{name}') order by cid"
            ))?;
            if table.schema != SCHEMA || columns.is_empty() {
                continue;
            }
            let mut about = Table::new(table.clone(), "TABLE");
            about.columns = (1..)
                .zip(&columns)
                .map(|(ordinal, column)| TableColumn::new(&column[0], ordinal, &column[1]))
                .collect();
            described.push(about);
        }
        Ok(described)
    }

    fn query(&mut self, statement: &Statement) -> Result<Answer> {
        self.ask(
            &statement.text,
            statement.timeout.as_millis(),
            statement.max_cell_bytes,
        )
    }

    fn schema(&mut self, answer: &mut Answer) -> Result<Vec<Column>> {
        Ok(answer.batch.columns().to_vec())
    }

    fn next(&mut self, answer: &mut Answer, limits: BatchLimits) -> Result<Option<Batch>> {
        answer.batch.start(limits);
        while !answer.batch.is_full() {
            let Some(line) = answer.lines.next() else {
                break;
            };
            for cell in read::<Vec<Json>>(&line?)? {
                answer.batch.append(value(cell, answer.max_cell_bytes)?);
            }
            answer.batch.end_row();
        }
        answer.batch.finish()
    }

    fn close(&mut self, _: Answer) -> Result<bool> {
        // Dropping the answer ends the exchange; the next statement is another one.
        Ok(true)
    }
}

/// The engine's refusals in the contract's words.
fn answered(mut response: Response) -> Result<Response> {
    let kind = match response.status {
        200 => return Ok(response),
        400 => ErrorKind::InvalidStatement,
        401 | 403 => ErrorKind::Auth,
        408 => ErrorKind::Timeout,
        413 => ErrorKind::TooLarge,
        429 => ErrorKind::RateLimited,
        _ => ErrorKind::Upstream,
    };
    let body = response.body.read_to_end(64 << 10)?;
    let told = serde_json::from_slice::<Json>(&body).ok();
    let message = told.as_ref().and_then(|told| told["error"].as_str());
    let message = message.unwrap_or("the engine gave no reason");
    Err(Error::new(kind, message).code(response.status.to_string()))
}

fn read<T: serde::de::DeserializeOwned>(line: &[u8]) -> Result<T> {
    serde_json::from_slice(line).map_err(|_| {
        Error::new(
            ErrorKind::Upstream,
            "the engine answers in another form than expected",
        )
    })
}

fn cut_off() -> Error {
    Error::new(
        ErrorKind::ConnectionLost,
        "the engine ended its answer too early",
    )
}

export_connector!(Engine);

#[cfg(test)]
mod tests;
