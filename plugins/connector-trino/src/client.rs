//! Statements, page after page.

use std::time::{Duration, Instant};

use mindhost_sdk::http::{Request, Response};
use mindhost_sdk::{Error, ErrorKind, Result};
use serde_json::value::RawValue;

use crate::config::ConnectionData;
use crate::error::{failed, malformed};
use crate::http::{answer, headed, own};
use crate::wire::{Page, WireColumn};

/// How long a statement of the connector's own may take.
pub(crate) const OWN: Duration = Duration::from_secs(60);
/// How long a statement may run on beyond its timeout, in which the server itself should end it. It does not while it
/// parses a text, which takes half a minute for some.
const GRACE: Duration = Duration::from_secs(2);
/// How large the server is asked to make a page.
const PAGE: &str = "targetResultSize=2MB";
/// What a page may have beside one row, in bytes.
const MAX_PAGE: u64 = 64 << 20;
/// Bytes of the longest id that a server may give.
const MAX_ID: usize = 128;

/// What a statement is sent with.
#[derive(Clone, Copy)]
pub(crate) struct Sending<'a> {
    pub(crate) sql: &'a str,
    /// The host's id of the statement, for the server's log.
    pub(crate) trace: &'a str,
    /// After this the server ends the statement.
    pub(crate) timeout: Duration,
    pub(crate) transaction: Option<&'a str>,
    /// Whether rows may come as segments.
    pub(crate) spools: bool,
    /// In bytes.
    pub(crate) max_cell: u64,
}

impl<'a> Sending<'a> {
    /// A statement of the connector's own.
    pub(crate) fn own(sql: &'a str) -> Self {
        Self {
            sql,
            trace: "",
            timeout: OWN,
            transaction: None,
            spools: false,
            max_cell: 16 << 20,
        }
    }
}

/// A statement that the server has.
pub(crate) struct Running {
    data: ConnectionData,
    sql: String,
    /// The server's name of it.
    pub(crate) id: String,
    /// Where the next page is; none once the last one was read.
    next: Option<String>,
    max_page: usize,
    transaction: Option<String>,
    started: Option<String>,
    since: Instant,
    timeout: Duration,
}

/// What a page had in it.
#[derive(Default)]
pub(crate) struct Content {
    pub(crate) columns: Option<Vec<WireColumn>>,
    /// JSON: rows, or segments.
    pub(crate) data: Option<String>,
}

impl Running {
    /// Sends a statement. The server takes it into its queue and answers at once.
    ///
    /// # Errors
    /// What the server says against user, password or statement, and `Upstream` if it is not Trino.
    pub(crate) fn start(data: &ConnectionData, sending: Sending<'_>) -> Result<(Self, Content)> {
        let url = format!("{}/v1/statement", data.base());
        let request = Request::post(url, sending.sql.as_bytes().to_vec())
            .header("content-type", "text/plain; charset=UTF-8")
            .header("x-trino-catalog", &data.catalog)
            .header("x-trino-time-zone", "UTC")
            .header("x-trino-language", "en-US")
            .header("x-trino-client-tags", "mindhost")
            .header("x-trino-client-capabilities", "PARAMETRIC_DATETIME")
            .header("x-trino-session", data.session(seconds(sending.timeout)))
            .header(
                "x-trino-transaction-id",
                sending.transaction.unwrap_or("NONE"),
            );
        let request = match sending.trace {
            "" => request,
            trace => request.header("x-trino-trace-token", plain(trace)),
        };
        let request = match sending.spools {
            true => request.header("x-trino-query-data-encoding", "json+zstd, json"),
            false => request,
        };
        let cell = usize::try_from(sending.max_cell.saturating_mul(2).saturating_add(MAX_PAGE));
        let mut running = Self {
            data: data.clone(),
            sql: sending.sql.to_owned(),
            id: String::new(),
            next: None,
            max_page: cell.unwrap_or(usize::MAX),
            transaction: sending.transaction.map(str::to_owned),
            started: None,
            since: Instant::now(),
            timeout: sending.timeout,
        };
        let content = running.read(answer(&headed(data, request))?)?;
        Ok((running, content))
    }

    /// Waits for the next page: with rows, or without any if there are none yet. `None` behind the last one.
    ///
    /// # Errors
    /// Why the statement failed.
    pub(crate) fn next(&mut self) -> Result<Option<Content>> {
        let Some(next) = self.next.take() else {
            return Ok(None);
        };
        if self.since.elapsed() > self.timeout + GRACE {
            // Whether the server can be told so or not: the statement is over for the caller.
            let _ = delete(&self.data, next);
            let message = format!("the statement took more than {} s", self.timeout.as_secs());
            return Err(Error::new(ErrorKind::Timeout, message));
        }
        let joint = if next.contains('?') { '&' } else { '?' };
        let mut request = Request::get(format!("{next}{joint}{PAGE}"));
        if let Some(transaction) = &self.transaction {
            request = request.header("x-trino-transaction-id", transaction);
        }
        // Kept until the answer is there, so that a statement can be ended after an error of the way.
        self.next = Some(next);
        let response = answer(&headed(&self.data, request))?;
        self.read(response).map(Some)
    }

    fn read(&mut self, mut response: Response) -> Result<Content> {
        let started = response.header("x-trino-started-transaction-id");
        if let Some(started) = started {
            self.started = Some(identifier(started)?);
        }
        let bytes = response.body.read_to_end(self.max_page)?;
        let page: Page<'_> = serde_json::from_slice(&bytes)
            .map_err(|_| malformed("an answer that is not Trino's; `url` in connection_data must lead to a coordinator"))?;
        let id = identifier(&page.id)?;
        if !self.id.is_empty() && self.id != id {
            return Err(malformed("a page of another statement"));
        }
        self.id = id;
        self.next = None;
        if let Some(failure) = &page.error {
            return Err(failed(failure, &self.sql));
        }
        if let Some(next) = &page.next_uri {
            own(&self.data, next)?;
            self.next.clone_from(&page.next_uri);
        }
        Ok(Content {
            data: page.data.map(RawValue::get).map(str::to_owned),
            columns: page.columns,
        })
    }

    /// Ends a statement whose last page was not read.
    pub(crate) fn end(&mut self) -> Result<()> {
        match self.next.take() {
            Some(next) => delete(&self.data, next),
            None => Ok(()),
        }
    }

    /// Whether the last page was read.
    pub(crate) fn has_ended(&self) -> bool {
        self.next.is_none()
    }
}

/// Begins a transaction that cannot write, whatever is asked in it. Gives its id.
///
/// `timeout` is that of the statement for which it begins. The host cannot cancel what may wait in the server's queue
/// here, so it must not wait there for longer than its caller does.
pub(crate) fn begin(data: &ConnectionData, timeout: Duration) -> Result<String> {
    let sending = Sending {
        timeout: timeout.min(OWN),
        ..Sending::own("START TRANSACTION READ ONLY")
    };
    let (mut running, _) = Running::start(data, sending)?;
    while running.next()?.is_some() {}
    let started = running.started.take();
    started.ok_or_else(|| malformed("no id of the transaction that it began"))
}

/// Ends a transaction.
pub(crate) fn roll_back(data: &ConnectionData, transaction: &str) -> Result<()> {
    let sending = Sending {
        transaction: Some(transaction),
        ..Sending::own("ROLLBACK")
    };
    let (mut running, _) = Running::start(data, sending)?;
    while running.next()?.is_some() {}
    Ok(())
}

/// Ends a statement of this user by its name.
pub(crate) fn kill(data: &ConnectionData, id: &str) -> Result<()> {
    let id = identifier(id)?;
    let ended = delete(data, format!("{}/v1/query/{id}", data.base()));
    match ended {
        // It is over and forgotten.
        Err(error) if error.engine_code() == "404" || error.engine_code() == "410" => Ok(()),
        other => other,
    }
}

fn delete(data: &ConnectionData, url: String) -> Result<()> {
    let mut request = Request::get(url);
    request.method = "DELETE";
    answer(&headed(data, request)).map(drop)
}

/// Runs a statement of the connector's own: all rows, of texts.
pub(crate) fn rows(
    data: &ConnectionData,
    sql: &str,
    limit: usize,
) -> Result<Vec<Vec<Option<String>>>> {
    let (mut running, mut content) = Running::start(data, Sending::own(sql))?;
    let mut rows = Vec::new();
    let mut bytes = 0;
    loop {
        if let Some(page) = content.data.take() {
            bytes += page.len();
            if bytes > limit {
                let _ = running.end();
                let message = format!("the server's answer has more than {limit} bytes");
                return Err(Error::new(ErrorKind::TooLarge, message));
            }
            let page: Vec<Vec<serde_json::Value>> =
                serde_json::from_str(&page).map_err(|_| malformed("rows that cannot be read"))?;
            rows.extend(page.into_iter().map(texts));
        }
        match running.next()? {
            Some(next) => content = next,
            None => return Ok(rows),
        }
    }
}

fn texts(row: Vec<serde_json::Value>) -> Vec<Option<String>> {
    use serde_json::Value;
    let text = |value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    row.into_iter().map(text).collect()
}

/// What a statement may run, in whole seconds.
fn seconds(timeout: Duration) -> u128 {
    timeout.as_millis().div_ceil(1000).clamp(1, 86_400)
}

/// A name that the server gave, which goes back to it in a URL or a header.
fn identifier(text: &str) -> Result<String> {
    let is_plain = (1..=MAX_ID).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    match is_plain {
        true => Ok(text.to_owned()),
        false => Err(malformed("an id that is none")),
    }
}

/// What of the host's id may stand in a header.
fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .take(MAX_ID)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Running {
        Running {
            data: ConnectionData {
                url: "http://localhost:8080".into(),
                user: "app".into(),
                catalog: "tpch".into(),
                schemas: Vec::new(),
                session_properties: Default::default(),
                roles: Default::default(),
                spooling: false,
                segments_url: None,
            },
            sql: "SELECT 1".into(),
            id: String::new(),
            next: None,
            max_page: 1000,
            transaction: None,
            started: None,
            since: Instant::now(),
            timeout: OWN,
        }
    }

    fn page(json: &str) -> Response {
        Response::scripted(200, vec![Ok(json.as_bytes().to_vec())])
    }

    #[test]
    fn a_page_leads_to_the_next() {
        let mut running = running();
        let content = running
            .read(page(
                r#"{"id": "a_1", "nextUri": "http://localhost:8080/v1/statement/x", "stats": {},
                "columns": [{"name": "c", "type": "bigint", "typeSignature": {}}], "data": [[1], [2]]}"#,
            ))
            .unwrap();
        assert_eq!(content.data.as_deref(), Some("[[1], [2]]"));
        assert_eq!(content.columns.unwrap()[0].of, "bigint");
        assert!(!running.has_ended());
        running.read(page(r#"{"id": "a_1"}"#)).unwrap();
        assert!(running.has_ended());
    }

    #[test]
    fn lies_of_the_server_are_its_fault() {
        for json in [
            "<html>",
            "[]",
            "{}",
            r#"{"id": "../x"}"#,
            r#"{"id": "a", "nextUri": "http://evil.example.org/v1/statement/x"}"#,
            r#"{"id": "a", "nextUri": "/v1/statement/x"}"#,
        ] {
            let error = running().read(page(json)).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Upstream, "{json}");
        }
        let mut one = running();
        one.read(page(r#"{"id": "a"}"#)).unwrap();
        assert!(one.read(page(r#"{"id": "b"}"#)).is_err());
        let long = format!(r#"{{"id": "{}"}}"#, "x".repeat(2000));
        let error = running().read(page(&long)).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }

    #[test]
    fn times_and_ids_fit_into_headers() {
        assert_eq!(seconds(Duration::from_millis(1500)), 2);
        assert_eq!(seconds(Duration::ZERO), 1);
        assert_eq!(plain("a\r\nb c-1"), "abc-1");
    }
}
