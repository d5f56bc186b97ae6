//! One statement, from its first page to its last row.

use mindhost_sdk::{Batch, BatchBuilder, BatchLimits, Column, Error, ErrorKind, Result, Statement};
use serde_json::value::RawValue;

use crate::cells::Reader;
use crate::client::{self, Content, Running, Sending};
use crate::config::ConnectionData;
use crate::error::malformed;
use crate::segments::Segments;
use crate::types::Type;
use crate::wire::WireColumn;

/// The most columns of a result; the host has the same limit.
const MAX_COLUMNS: usize = 4096;
/// How often the host is asked whether it still wants the rows.
const ROWS_BETWEEN_CHECKS: usize = 4096;

/// A running statement, in a transaction of its own.
pub struct Cursor {
    running: Running,
    transaction: Option<String>,
    max_cell: u64,
    readers: Vec<Reader>,
    rows: Rows,
    segments: Segments,
    /// Made once the columns are known.
    batch: Option<BatchBuilder>,
}

impl Cursor {
    /// Sends a statement. What is wrong with it shows when its columns are asked for.
    pub(crate) fn open(data: &ConnectionData, statement: &Statement) -> Result<Self> {
        // The server would refuse the request, as if the protocol had been broken.
        if statement.text.is_empty() {
            let message = "the statement is empty";
            return Err(Error::new(ErrorKind::InvalidStatement, message));
        }
        let transaction = client::begin(data, statement.timeout)?;
        let sending = Sending {
            sql: &statement.text,
            trace: &statement.id,
            timeout: statement.timeout,
            transaction: Some(&transaction),
            spools: data.spooling,
            max_cell: statement.max_cell_bytes,
        };
        let started = Running::start(data, sending);
        let (running, content) = match started {
            Ok(started) => started,
            Err(error) => {
                // The first error says more than one of this.
                let _ = client::roll_back(data, &transaction);
                return Err(error.of_begun_statement());
            }
        };
        let mut cursor = Self {
            running,
            transaction: Some(transaction),
            max_cell: statement.max_cell_bytes,
            readers: Vec::new(),
            rows: Rows::default(),
            segments: Segments::default(),
            batch: None,
        };
        if let Err(error) = cursor.take(content) {
            // The server would run it on. The first error says more than one of this.
            let _ = cursor.close(data);
            return Err(error);
        }
        Ok(cursor)
    }

    /// The server's name of the statement.
    pub(crate) fn id(&self) -> &str {
        &self.running.id
    }

    /// Waits until the server knows the columns of the result. The statement runs by then, so a connection that ends here
    /// is not `ConnectionLost`.
    pub(crate) fn schema(&mut self) -> Result<Vec<Column>> {
        self.columns().map_err(Error::of_begun_statement)
    }

    fn columns(&mut self) -> Result<Vec<Column>> {
        loop {
            if let Some(batch) = &self.batch {
                return Ok(batch.columns().to_vec());
            }
            match self.running.next()? {
                Some(content) => self.take(content)?,
                None => return Err(malformed("a result without columns")),
            }
        }
    }

    fn take(&mut self, content: Content) -> Result<()> {
        // While a batch is being filled it is not in its place, so its absence says nothing.
        if let (true, Some(columns)) = (self.readers.is_empty(), &content.columns) {
            self.describe(columns)?;
        }
        match content.data {
            Some(_) if self.readers.is_empty() => Err(malformed("rows before their columns")),
            Some(data) if data.starts_with('{') => self.segments.take(&data),
            Some(data) => {
                self.rows = Rows::new(data, None)?;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn describe(&mut self, columns: &[WireColumn]) -> Result<()> {
        if columns.is_empty() || columns.len() > MAX_COLUMNS {
            return Err(malformed("a result without columns, or with too many"));
        }
        let mut described = Vec::with_capacity(columns.len());
        for column in columns {
            let of = Type::parse(&column.of)?;
            described.push(of.column(&column.name, &column.of));
            self.readers.push(Reader {
                name: column.name.clone(),
                of,
                max_cell: self.max_cell,
            });
        }
        self.batch = Some(BatchBuilder::new(described));
        Ok(())
    }

    /// The next rows; `None` at the end. A batch ends with its page, so that rows do not wait for those behind them.
    pub(crate) fn next(
        &mut self,
        data: &ConnectionData,
        limits: BatchLimits,
    ) -> Result<Option<Batch>> {
        self.columns()?;
        let Some(mut batch) = self.batch.take() else {
            return Ok(None);
        };
        batch.start(limits);
        let filled = self.fill(data, &mut batch);
        let batch = self.batch.insert(batch);
        filled?;
        batch.finish()
    }

    fn fill(&mut self, data: &ConnectionData, batch: &mut BatchBuilder) -> Result<()> {
        let mut appended = 0_usize;
        while !batch.is_full() {
            if self.rows.append_to(batch, &self.readers)? {
                appended += 1;
                if appended.is_multiple_of(ROWS_BETWEEN_CHECKS) {
                    mindhost_sdk::control::check()?;
                }
            } else if appended > 0 {
                return Ok(());
            } else if let Some(piece) = self.segments.next(data)? {
                self.rows = Rows::new(piece.text, piece.rows_count)?;
            } else {
                match self.running.next()? {
                    Some(content) => self.take(content)?,
                    None => return Ok(()),
                }
            }
        }
        Ok(())
    }

    /// Ends the statement and its transaction.
    pub(crate) fn close(mut self, data: &ConnectionData) -> Result<()> {
        let ended = self.running.end();
        let rolled_back = match self.transaction.take() {
            Some(transaction) => client::roll_back(data, &transaction),
            None => Ok(()),
        };
        ended.and(rolled_back)
    }

    /// Whether the last page was read.
    pub(crate) fn has_ended(&self) -> bool {
        self.running.has_ended()
    }
}

/// Rows of one page: `[[1, "a"], [2, null]]`.
struct Rows {
    text: String,
    at: usize,
    /// How many have been read.
    count: u64,
    /// How many there are, where the server says so.
    expected: Option<u64>,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            text: "[]".into(),
            at: 1,
            count: 0,
            expected: None,
        }
    }
}

impl Rows {
    fn new(text: String, expected: Option<u64>) -> Result<Self> {
        let open = text.find('[').filter(|at| text[..*at].trim().is_empty());
        let at = open.ok_or_else(unreadable)? + 1;
        Ok(Self {
            text,
            at,
            count: 0,
            expected,
        })
    }

    /// Appends the next row. False if there is none: the page has ended, and had all its rows.
    fn append_to(&mut self, batch: &mut BatchBuilder, readers: &[Reader]) -> Result<bool> {
        let rest = self.text.get(self.at..).ok_or_else(unreadable)?;
        let row = rest.trim_start_matches([',', ' ', '\t', '\r', '\n']);
        if let Some(behind) = row.strip_prefix(']') {
            return self.end(behind).map(|()| false);
        }
        let mut values = serde_json::Deserializer::from_str(row).into_iter::<Vec<&RawValue>>();
        let cells = match values.next() {
            Some(Ok(cells)) => cells,
            _ => return Err(unreadable()),
        };
        if cells.len() != readers.len() {
            return Err(malformed("a row with too few values, or too many"));
        }
        for (reader, cell) in readers.iter().zip(cells) {
            reader.append(cell, batch)?;
        }
        batch.end_row();
        self.at += rest.len() - row.len() + values.byte_offset();
        self.count += 1;
        Ok(true)
    }

    /// What would be dropped here would be missing from the result, and no error would say so.
    fn end(&self, behind: &str) -> Result<()> {
        if !behind.trim_start().is_empty() {
            return Err(unreadable());
        }
        match self.expected {
            Some(expected) if expected != self.count => {
                let count = self.count;
                Err(malformed(&format!(
                    "a segment of {count} rows that says it has {expected}"
                )))
            }
            _ => Ok(()),
        }
    }
}

fn unreadable() -> Error {
    malformed("rows that cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> Result<usize> {
        count_of(text, None)
    }

    fn count_of(text: &str, expected: Option<u64>) -> Result<usize> {
        let of = Type::Integer;
        let mut batch = BatchBuilder::new(vec![of.column("a", "bigint")]);
        batch.start(BatchLimits {
            max_rows: 10,
            max_bytes: 1 << 20,
        });
        let readers = [Reader {
            name: "a".into(),
            of,
            max_cell: 100,
        }];
        let mut rows = Rows::new(text.to_owned(), expected)?;
        let mut count = 0;
        while rows.append_to(&mut batch, &readers)? {
            count += 1;
        }
        batch.finish()?;
        Ok(count)
    }

    #[test]
    fn rows_are_read_one_by_one() {
        assert_eq!(count("[]").unwrap(), 0);
        assert_eq!(count("[[1], [2] ,\n[null]]").unwrap(), 3);
        assert_eq!(count(" [[1]]\n ").unwrap(), 1);
    }

    #[test]
    fn a_page_has_as_many_rows_as_the_server_says() {
        assert_eq!(count_of("[]", Some(0)).unwrap(), 0);
        assert_eq!(count_of("[[1],[2]]", Some(2)).unwrap(), 2);
        for expected in [0, 1, 3, 1000] {
            let error = count_of("[[1],[2]]", Some(expected)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Upstream);
            let words = format!("2 rows that says it has {expected}");
            assert!(error.message().contains(&words), "{error}");
        }
    }

    #[test]
    fn broken_rows_are_the_servers_fault() {
        for text in [
            "",
            "5",
            "[[1]",
            "[[1],[1,2]]",
            "[[]]",
            "[5]",
            "[[\"x\"]]",
            "[[1]x]",
            "[[1],[2]] [[3]]",
            "[[1]],[[2]]",
            "[]]",
        ] {
            assert!(count(text).is_err(), "{text}");
        }
    }
}
