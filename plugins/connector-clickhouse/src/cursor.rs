//! One statement, from its request to its last row.

use mindhost_sdk::{Batch, BatchBuilder, BatchLimits, Column, Error, Result, Statement};

use crate::arrow::{Messages, Physical, Rows};
use crate::cells::ArrowColumn;
use crate::config::ConnectionData;
use crate::error::malformed;
use crate::http::{self, Sending};
use crate::server::{Format, Server};
use crate::text::TextColumn;
use crate::tsv::{self, Lines};
use crate::types::Type;

/// What stands before a statement whose columns are asked for.
const DESCRIBE: &str = "DESCRIBE (";
/// What the description of a result may have, in bytes.
const MAX_DESCRIPTION: usize = 16 << 20;
/// The most columns of a result; the host has the same limit.
const MAX_COLUMNS: usize = 4096;
/// Brackets in each other: servers before version 20 do not count them, and are gone when their stack ends.
const MAX_NESTING: usize = 300;
/// How often the host is asked whether it still wants the rows.
const ROWS_BETWEEN_CHECKS: usize = 4096;

/// A running statement.
pub struct Cursor {
    /// `query_id` of the server.
    pub(crate) id: String,
    columns: Vec<Column>,
    source: Source,
    batch: BatchBuilder,
    ended: bool,
}

enum Source {
    Arrow {
        messages: Messages,
        physical: Vec<Physical>,
        readers: Vec<ArrowColumn>,
        rows: Option<(Rows, usize)>,
    },
    Text {
        lines: Lines,
        readers: Vec<TextColumn>,
        max_cell: u64,
    },
}

/// What a statement runs with.
pub(crate) struct Session<'a> {
    pub(crate) data: &'a ConnectionData,
    pub(crate) server: &'a Server,
    pub(crate) agent: &'a str,
}

impl Cursor {
    /// Starts a statement. The types of its columns are asked for first: Arrow carries an `Enum` as its number, and a
    /// `DateTime` as an integer. A statement with a column that Arrow does not carry exactly is run as text.
    pub(crate) fn open(session: &Session<'_>, statement: &Statement) -> Result<Self> {
        if nesting(&statement.text) > MAX_NESTING {
            return Err(Error::invalid_statement(format!(
                "the statement has more than {MAX_NESTING} brackets in each other; simplify it"
            )));
        }
        let id = plain_id(&statement.id);
        // There is no description of an EXPLAIN.
        let is_described = !statement.text.starts_with("EXPLAIN ");
        if is_described && session.server.has_arrow() {
            let described = describe(session, statement)?;
            // Names in Arrow have to be UTF-8.
            let fits =
                |(name, of, _): &Described| http::is_sayable(name) && of.fits_arrow(session.server);
            if described.iter().all(fits) {
                return Self::arrow(session, statement, id, described)
                    .map_err(Error::of_begun_statement);
            }
        }
        Self::text(session, statement, id).map_err(Error::of_begun_statement)
    }

    fn arrow(
        session: &Session<'_>,
        statement: &Statement,
        id: String,
        described: Vec<Described>,
    ) -> Result<Self> {
        let answer = send(session, statement, &id, Format::Arrow)?;
        let mut messages = Messages::new(answer.body, 0);
        let carried = messages.schema()?;
        if carried.len() != described.len() {
            return Err(malformed("another number of columns than it described"));
        }
        let mut columns = Vec::with_capacity(carried.len());
        let mut readers = Vec::with_capacity(carried.len());
        for ((name, physical), (_, of, native)) in carried.iter().zip(described) {
            columns.push(of.column(name, &native, session.server)?);
            readers.push(ArrowColumn::new(
                name,
                of,
                *physical,
                statement.max_cell_bytes,
            )?);
        }
        let physical = carried.into_iter().map(|(_, physical)| physical).collect();
        Ok(Self::new(
            id,
            columns,
            Source::Arrow {
                messages,
                physical,
                readers,
                rows: None,
            },
        ))
    }

    fn text(session: &Session<'_>, statement: &Statement, id: String) -> Result<Self> {
        let answer = send(session, statement, &id, Format::Text)?;
        // Escapes may double a cell; other cells stand beside it.
        let cell = usize::try_from(statement.max_cell_bytes).unwrap_or(usize::MAX);
        let limit = cell.saturating_mul(2).saturating_add(16 << 20);
        let mut lines = Lines::new(answer.body, answer.tag, limit);
        let names = header(&mut lines)?;
        let types = header(&mut lines)?;
        if names.is_empty() || names.len() != types.len() || names.len() > MAX_COLUMNS {
            return Err(malformed("names and types that do not fit each other"));
        }
        let mut columns = Vec::with_capacity(names.len());
        let mut readers = Vec::with_capacity(names.len());
        for (name, native) in names.iter().zip(&types) {
            let of = Type::parse(native)?;
            columns.push(of.column(name, native, session.server)?);
            readers.push(TextColumn::new(name, of, session.server));
        }
        let max_cell = statement.max_cell_bytes;
        Ok(Self::new(
            id,
            columns,
            Source::Text {
                lines,
                readers,
                max_cell,
            },
        ))
    }

    fn new(id: String, columns: Vec<Column>, source: Source) -> Self {
        let batch = BatchBuilder::new(columns.clone());
        Self {
            id,
            columns,
            source,
            batch,
            ended: false,
        }
    }

    /// The columns of the result.
    pub(crate) fn columns(&self) -> Vec<Column> {
        self.columns.clone()
    }

    /// Whether the last row was read, so that nothing runs any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The next rows; `None` at the end.
    pub(crate) fn next(&mut self, limits: BatchLimits) -> Result<Option<Batch>> {
        self.batch.start(limits);
        let mut scratch = String::new();
        let mut since = 0;
        while !self.ended && !self.batch.is_full() {
            self.ended = !self.source.append_row(&mut self.batch, &mut scratch)?;
            since += 1;
            if since >= ROWS_BETWEEN_CHECKS {
                since = 0;
                mindhost_sdk::control::check()?;
            }
        }
        self.batch.finish()
    }
}

impl Source {
    /// Appends one row. False at the end.
    fn append_row(&mut self, batch: &mut BatchBuilder, scratch: &mut String) -> Result<bool> {
        match self {
            Source::Arrow {
                messages,
                physical,
                readers,
                rows,
            } => loop {
                match rows {
                    Some((rows, at)) if *at < rows.count => {
                        for (reader, buffers) in readers.iter().zip(&rows.buffers) {
                            reader.append(rows, buffers, *at, batch, scratch)?;
                        }
                        batch.end_row();
                        *at += 1;
                        return Ok(true);
                    }
                    _ => {
                        *rows = None;
                        *rows = match messages.rows(physical)? {
                            Some(next) => Some((next, 0)),
                            None => return Ok(false),
                        };
                    }
                }
            },
            Source::Text {
                lines,
                readers,
                max_cell,
            } => {
                let Some(line) = lines.next()? else {
                    return Ok(false);
                };
                let line = lines.bytes().get(line).unwrap_or_default();
                append_line(line, readers, *max_cell, batch)?;
                Ok(true)
            }
        }
    }
}

fn append_line(
    line: &[u8],
    readers: &[TextColumn],
    max_cell: u64,
    batch: &mut BatchBuilder,
) -> Result<()> {
    let mut cells = tsv::cells(line);
    for reader in readers {
        let cell = cells
            .next()
            .ok_or_else(|| malformed("a row with too few values"))?;
        if cell.len() as u64 > max_cell {
            // Escapes are longer than what they stand for.
            let bytes = tsv::unescaped(cell).len() as u64;
            if bytes > max_cell {
                return Err(Error::cell_too_large(reader.name(), bytes, max_cell));
            }
        }
        reader.append(cell, batch)?;
    }
    match cells.next() {
        Some(_) => Err(malformed("a row with too many values")),
        None => {
            batch.end_row();
            Ok(())
        }
    }
}

/// Name, type, and the type as the server writes it.
type Described = (String, Type, String);

/// The columns of a statement, which the server does not run for that.
fn describe(session: &Session<'_>, statement: &Statement) -> Result<Vec<Described>> {
    let sql = format!("{DESCRIBE}{})", statement.text);
    let mut parameters = session
        .server
        .parameters(session.data, statement, Format::Text);
    parameters.retain(|(name, _)| *name != "default_format");
    parameters.push(("default_format", "TabSeparated".to_owned()));
    let sending = Sending {
        agent: session.agent,
        sql: &sql,
        parameters,
        timeout: statement.timeout,
        before: u32::try_from(DESCRIBE.len()).unwrap_or(0),
    };
    let rows = http::rows(session.data, &sending, MAX_DESCRIPTION)?;
    if rows.is_empty() || rows.len() > MAX_COLUMNS {
        return Err(malformed("a description without columns, or with too many"));
    }
    let column = |row: Vec<String>| {
        let mut cells = row.into_iter();
        match (cells.next(), cells.next()) {
            (Some(name), Some(native)) => Ok((name, Type::parse(&native)?, native)),
            _ => Err(malformed("a description that cannot be read")),
        }
    };
    rows.into_iter().map(column).collect()
}

fn send(
    session: &Session<'_>,
    statement: &Statement,
    id: &str,
    format: Format,
) -> Result<http::Answer> {
    let mut parameters = session.server.parameters(session.data, statement, format);
    if !id.is_empty() {
        parameters.push(("query_id", id.to_owned()));
    }
    let sending = Sending {
        agent: session.agent,
        sql: &statement.text,
        parameters,
        timeout: statement.timeout,
        before: 0,
    };
    http::send(session.data, &sending)
}

/// How many brackets are open at once, those in texts and names included.
fn nesting(sql: &str) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    for byte in sql.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

fn header(lines: &mut Lines) -> Result<Vec<String>> {
    let line = lines
        .next()?
        .ok_or_else(|| malformed("a result without columns"))?;
    let line = lines.bytes().get(line).unwrap_or_default();
    let cells = tsv::cells(line).take(MAX_COLUMNS + 1);
    Ok(cells
        .map(|cell| String::from_utf8_lossy(&tsv::unescaped(cell)).into_owned())
        .collect())
}

/// The host's id, of which only signs are left that need no quotes in `KILL QUERY`.
pub(crate) fn plain_id(id: &str) -> String {
    id.chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .take(128)
        .collect()
}
