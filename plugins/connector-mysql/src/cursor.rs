//! One statement's answer, streamed.

use std::time::{Duration, Instant};

use mindhost_sdk::{Batch, BatchBuilder, BatchLimits, Column, Error, Result, Statement, log};

use crate::columns::{self, ColumnType};
use crate::decode::RowDecoder;
use crate::error::malformed;
use crate::session::Session;
use crate::wire::Packet;

/// Rows that trickle in are handed on after so long.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long the end of an unfinished statement may take by itself, and after it was killed.
const DRAIN: Duration = Duration::from_millis(100);
const DRAIN_KILLED: Duration = Duration::from_secs(1);
/// The descriptions of the columns together.
const MAX_DESCRIPTIONS: usize = 8 << 20;

/// One statement in execution.
pub struct Cursor {
    decoder: RowDecoder,
    batch: BatchBuilder,
    columns: Vec<Column>,
    began: Instant,
    timeout: Duration,
    has_ended: bool,
}

impl Cursor {
    /// Sends the statement, and reads as far as the description of the columns.
    pub(crate) fn open(session: &mut Session, statement: &Statement) -> Result<Self> {
        let began = Instant::now();
        let max_cell = usize::try_from(statement.max_cell_bytes).unwrap_or(usize::MAX);
        // A row has more cells than one.
        let max_row = max_cell.saturating_mul(2).saturating_add(16 << 20);
        session.wire.set_max_row(max_row);
        session.begin_statement(&statement.text, statement.timeout)?;
        let types =
            describe(session, (began, statement.timeout)).map_err(Error::of_begun_statement)?;
        let columns: Vec<Column> = types.iter().map(ColumnType::column).collect();
        Ok(Self {
            decoder: RowDecoder::new(types.iter().map(|found| found.kind).collect(), max_cell),
            batch: BatchBuilder::new(columns.clone()),
            columns,
            began,
            timeout: statement.timeout,
            has_ended: false,
        })
    }

    /// The columns of the answer.
    pub(crate) fn columns(&self) -> Vec<Column> {
        self.columns.clone()
    }

    /// The next rows within the limits, `None` after the last.
    pub(crate) fn next(
        &mut self,
        session: &mut Session,
        limits: BatchLimits,
    ) -> Result<Option<Batch>> {
        self.batch.start(limits);
        let since = Instant::now();
        while !self.has_ended && !self.batch.is_full() {
            match session.wire.next()? {
                Packet::Row(body) => {
                    self.decoder.append(body, &mut self.batch)?;
                    if !session.wire.has_next() && since.elapsed() > PATIENCE {
                        break;
                    }
                }
                Packet::ColumnsEnd => {}
                Packet::End => {
                    self.has_ended = true;
                    session.heard();
                }
                Packet::Error(error) => {
                    self.has_ended = true;
                    return Err(session.fail(error, (self.began, self.timeout)));
                }
                _ => return Err(malformed("a packet")),
            }
        }
        self.batch.finish()
    }

    /// Ends the statement; `kill` has the server stop it when it does not end by itself. True when the session can be
    /// used again.
    pub(crate) fn close(
        self,
        session: &mut Session,
        kill: impl FnOnce(&Session) -> Result<()>,
    ) -> Result<bool> {
        if self.has_ended || session.drain(DRAIN) {
            return Ok(true);
        }
        // If the kill is refused, the statement still runs in this session. The host then drops the connection, without
        // a line in its log.
        kill(session).map_err(|error| {
            log::warn(format_args!("a statement could not be stopped: {error}"));
            error.connection_usable(false)
        })?;
        Ok(session.drain(DRAIN_KILLED) && session.spend_kill(DRAIN_KILLED))
    }
}

fn describe(session: &mut Session, statement: (Instant, Duration)) -> Result<Vec<ColumnType>> {
    let extended = session.has_extended_metadata;
    let (mut types, mut count, mut room) = (Vec::new(), None, MAX_DESCRIPTIONS);
    while count != Some(types.len()) {
        match session.wire.next()? {
            Packet::Columns(number) => count = Some(number),
            Packet::Column(body) => {
                room = room
                    .checked_sub(body.len())
                    .ok_or_else(|| malformed("a description of columns"))?;
                types.push(columns::read(body, extended)?);
            }
            Packet::Done => {
                let message = "the statement is not a query: it returns no columns";
                return Err(Error::invalid_statement(message));
            }
            Packet::Error(error) => return Err(session.fail(error, statement)),
            _ => return Err(malformed("a packet")),
        }
    }
    Ok(types)
}
