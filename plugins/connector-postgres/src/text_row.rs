//! Rows of the connector's own statements, as text.

use fallible_iterator::FallibleIterator;
use mindhost_sdk::{Error, ErrorKind, Result};
use postgres_protocol::message::backend::DataRowBody;

use crate::error::malformed;

/// One row of a statement of the connector's own, as text.
pub(crate) struct TextRow<'a> {
    cells: Vec<Option<&'a str>>,
}

impl<'a> TextRow<'a> {
    /// The row of a message.
    ///
    /// # Errors
    /// `Upstream` when it is malformed or not UTF-8.
    pub(crate) fn parse(body: &'a DataRowBody) -> Result<Self> {
        let mut cells = Vec::new();
        let mut ranges = body.ranges();
        while let Some(range) = ranges.next().map_err(|_| malformed("a row"))? {
            let cell = match range {
                Some(range) => {
                    let bytes = body.buffer().get(range);
                    let bytes = bytes.ok_or_else(|| malformed("a row"))?;
                    Some(std::str::from_utf8(bytes).map_err(|_| not_utf8())?)
                }
                None => None,
            };
            cells.push(cell);
        }
        Ok(Self { cells })
    }

    /// The cell, if it is not NULL.
    pub(crate) fn optional(&self, index: usize) -> Option<&'a str> {
        self.cells.get(index).copied().flatten()
    }

    /// The cell, empty for NULL.
    pub(crate) fn text(&self, index: usize) -> &'a str {
        self.optional(index).unwrap_or_default()
    }

    /// The cell as a number, if it is one.
    pub(crate) fn number<T: std::str::FromStr>(&self, index: usize) -> Option<T> {
        self.optional(index)?.parse().ok()
    }

    /// Whether the cell is true.
    pub(crate) fn is_true(&self, index: usize) -> bool {
        self.optional(index) == Some("t")
    }
}

/// The database's encoding is SQL_ASCII, which promises nothing about its texts.
pub(crate) fn not_utf8() -> Error {
    let message = "the server sent a text that is not UTF-8: the database's encoding is SQL_ASCII and the text is in \
         another one; convert it in the statement, as with convert_from(column::bytea, 'LATIN1')";
    Error::new(ErrorKind::Upstream, message)
}
