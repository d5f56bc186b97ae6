//! One statement, one request: what is sent, and how an answer is told from an error.

use std::time::Duration;

use mindhost_sdk::http::{self, Body, Request, Response};
use mindhost_sdk::{Error, ErrorKind, Result};

use crate::config::ConnectionData;
use crate::error::{Exception, malformed};

/// How much of an error's text is read.
const MAX_ERROR: usize = 64 << 10;
/// How much longer than the statement its answer may take: the server stops it a little late.
const GRACE: Duration = Duration::from_secs(5);

/// One statement on its way.
pub(crate) struct Sending<'a> {
    /// What names the connection, in `system.processes` as `http_user_agent`.
    pub(crate) agent: &'a str,
    pub(crate) sql: &'a str,
    /// Settings and the parameters of the interface.
    pub(crate) parameters: Vec<(&'a str, String)>,
    pub(crate) timeout: Duration,
    /// How many characters of `sql` are not the caller's, at its beginning.
    pub(crate) before: u32,
}

/// The answer to a statement: its bytes, and what marks an exception in them.
pub(crate) struct Answer {
    pub(crate) body: Body,
    /// The server's mark of an exception in the middle of a result; since version 25.
    pub(crate) tag: Option<String>,
}

/// Sends a statement and waits for the head of the answer.
///
/// # Errors
/// The server's exception, those of [`http::send`], and `Upstream` for an answer that is not ClickHouse's.
pub(crate) fn send(data: &ConnectionData, sending: &Sending<'_>) -> Result<Answer> {
    let mut request = Request::post(data.url.as_str(), sending.sql.as_bytes().to_vec())
        .header("x-clickhouse-user", &data.user)
        .header("user-agent", sending.agent)
        .header("content-type", "text/plain; charset=UTF-8");
    for (name, value) in &sending.parameters {
        request = request.query(name, value);
    }
    request.first_byte_timeout = sending.timeout.saturating_add(GRACE);
    request.between_bytes_timeout = request.first_byte_timeout;
    let response = http::send(&request)?;
    answered(response, sending.before)
}

/// What stands in a cell for bytes that are not UTF-8.
const NOT_TEXT: char = char::REPLACEMENT_CHARACTER;

/// Whether a name of the server is known as it is. One with bytes that are not UTF-8 is not: no statement can have it.
pub(crate) fn is_sayable(name: &str) -> bool {
    !name.contains(NOT_TEXT)
}

/// Sends a statement of the connector's own and reads all of its answer, as lines of unescaped cells. Bytes that are
/// not UTF-8 become U+FFFD.
pub(crate) fn rows(
    data: &ConnectionData,
    sending: &Sending<'_>,
    limit: usize,
) -> Result<Vec<Vec<String>>> {
    let mut answer = send(data, sending)?;
    // The statement is the connector's own, so the caller can do nothing about a long answer.
    let bytes = answer
        .body
        .read_to_end(limit)
        .map_err(|error| match error.kind() {
            ErrorKind::TooLarge => malformed(&format!("more than {limit} bytes about itself")),
            _ => error,
        })?;
    // Names and comments of the server may be any bytes.
    let text = String::from_utf8_lossy(&bytes);
    let mut rows = Vec::new();
    for line in text.lines() {
        // Statements of the connector's own have no cell that begins so.
        if line.starts_with("Code: ") || line.starts_with("__exception__") {
            let exception = Exception::find(text.as_bytes());
            return Err(exception.map_or_else(|| malformed("a broken answer"), |e| e.into_error(0)));
        }
        let cells = line.split('\t').map(|cell| {
            let bytes = crate::tsv::unescaped(cell.as_bytes());
            String::from_utf8_lossy(&bytes).into_owned()
        });
        rows.push(cells.collect());
    }
    Ok(rows)
}

fn answered(mut response: Response, before: u32) -> Result<Answer> {
    let is_clickhouse = response
        .header("x-clickhouse-server-display-name")
        .is_some()
        || response.header("x-clickhouse-summary").is_some()
        || response.header("x-clickhouse-exception-code").is_some();
    if response.status == 200 && is_clickhouse {
        let tag = response.header("x-clickhouse-exception-tag");
        let tag = tag.filter(|tag| !tag.is_empty()).map(str::to_owned);
        return Ok(Answer {
            body: response.body,
            tag,
        });
    }
    let text = beginning(&mut response.body)?;
    match Exception::find(&text) {
        Some(exception) => Err(exception.into_error(before)),
        // Proxies before ClickHouse have their own words.
        None if matches!(response.status, 401 | 403) => Err(Error::new(
            ErrorKind::Auth,
            "the server refused user or password",
        )),
        None if is_clickhouse => {
            Err(malformed("an error without a text").code(response.status.to_string()))
        }
        None => Err(Error::new(
            ErrorKind::Upstream,
            format!(
                "the server answered with HTTP status {} and is not ClickHouse's HTTP interface",
                response.status
            ),
        )),
    }
}

/// The first bytes of a body; a server that says more than that is left.
fn beginning(body: &mut Body) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    while text.len() < MAX_ERROR {
        match body.read() {
            Ok(Some(piece)) => text.extend_from_slice(&piece),
            Ok(None) => break,
            Err(error) if error.kind() == ErrorKind::ConnectionLost => break,
            Err(error) => return Err(error),
        }
    }
    text.truncate(MAX_ERROR);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, headers: &[(&str, &str)], text: &str) -> Error {
        let mut response = Response::scripted(status, vec![Ok(text.as_bytes().to_vec())]);
        for (name, value) in headers {
            response = response.with_header(*name, *value);
        }
        answered(response, 10).err().unwrap()
    }

    #[test]
    fn an_exception_has_its_position_in_the_callers_words() {
        let text =
            "Code: 62. DB::Exception: Syntax error: failed at position 18 (x): x. (SYNTAX_ERROR)";
        let error = refused(400, &[("x-clickhouse-exception-code", "62")], text);
        assert_eq!(error.kind(), ErrorKind::InvalidStatement);
        assert_eq!(error.statement_position(), Some(8));
    }

    #[test]
    fn another_server_is_not_quoted() {
        let error = refused(200, &[], "secret page");
        assert_eq!(error.kind(), ErrorKind::Upstream);
        assert!(!error.message().contains("secret"));
        assert_eq!(refused(403, &[], "no").kind(), ErrorKind::Auth);
    }
}
