//! For a plugin's own native tests.

use crate::batch::{Row, rows_of};
use crate::error::{Error, Result};
use crate::values::{Batch, Column};

/// The rows of a batch in either form, for comparison. `columns` are those of the answer.
///
/// # Errors
/// `Internal` when the bytes are not an Arrow stream of these columns.
pub fn rows(batch: &Batch, columns: &[Column]) -> Result<Vec<Row>> {
    match batch {
        Batch::Rows(rows) => Ok(rows.clone()),
        Batch::Arrow(stream) => {
            rows_of(stream, columns).map_err(|error| Error::internal(error.to_string()))
        }
    }
}

/// A response as `curl -i` prints it, whose body comes in pieces of so many bytes.
///
/// # Panics
/// When the text does not begin with `HTTP/1.1` and a status.
#[allow(clippy::expect_used, reason = "it is for tests, which end here")]
pub fn transcript(text: &str, piece: usize) -> crate::http::Response {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let status = status.and_then(|status| status.parse().ok());
    let pieces = body.as_bytes().chunks(piece.max(1));
    let pieces = pieces.map(|piece| Ok(piece.to_vec())).collect();
    let response = crate::http::Response::scripted(status.expect("a status"), pieces);
    lines.fold(response, |response, line| match line.split_once(": ") {
        Some((name, value)) => response.with_header(name, value),
        None => response,
    })
}
