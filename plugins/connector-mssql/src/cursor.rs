//! One statement: its columns, and its rows as they come.

use std::time::{Duration, Instant};

use mindhost_sdk::{Batch, BatchBuilder, BatchLimits, Column, Error, ErrorKind, Result, Statement};

use crate::decode::Decoder;
use crate::error::untrue;
use crate::screen;
use crate::session::{Event, Session};
use crate::types::ColumnMeta;

/// Rows that trickle in are handed on after so long.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long the server may take to confirm that it has stopped an unfinished statement.
const STOPPING: Duration = Duration::from_secs(1);

/// One statement in execution.
pub struct Cursor {
    text: String,
    timeout: Duration,
    metas: Vec<ColumnMeta>,
    decoder: Decoder,
    batch: BatchBuilder,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Rows may follow.
    Open,
    /// The server has sent the last row.
    Complete,
    /// The server's error has ended the statement, and was read to its end.
    Failed,
}

impl Cursor {
    /// Sends the statement in its transaction, and reads as far as the description of the columns. A connection that is
    /// lost before the statement is sent is `ConnectionLost`, and the host repeats the call on a new one.
    pub(crate) fn open(session: &mut Session, statement: &Statement) -> Result<Self> {
        screen::check(&statement.text)?;
        let began = Instant::now();
        session.prove(statement.timeout)?;
        session
            .wire
            .set_deadline(began.checked_add(statement.timeout));
        let opened = session
            .start(&statement.text, statement.timeout)
            .and_then(|()| columns(session, &statement.text));
        session.wire.set_deadline(None);
        let metas = opened.map_err(|error| session.out_of_time(error).of_begun_statement())?;
        let columns: Vec<Column> = metas.iter().map(ColumnMeta::column).collect();
        let max_cell = usize::try_from(statement.max_cell_bytes).unwrap_or(usize::MAX);
        Ok(Self {
            text: statement.text.clone(),
            timeout: statement.timeout,
            metas,
            decoder: Decoder::new(max_cell),
            batch: BatchBuilder::new(columns),
            state: State::Open,
        })
    }

    /// The columns of the answer.
    pub(crate) fn columns(&self) -> Vec<Column> {
        self.batch.columns().to_vec()
    }

    /// The next rows within the limits, `None` after the last.
    pub(crate) fn next(
        &mut self,
        session: &mut Session,
        limits: BatchLimits,
    ) -> Result<Option<Batch>> {
        self.batch.start(limits);
        let since = Instant::now();
        session.wire.set_deadline(since.checked_add(self.timeout));
        let read = self.read(session, since);
        session.wire.set_deadline(None);
        read.map_err(|error| {
            let error = session.out_of_time(error);
            let stopped =
                matches!(error.kind(), ErrorKind::Timeout) && error.is_connection_usable();
            if stopped {
                self.state = State::Failed;
            }
            error
        })?;
        self.batch.finish()
    }

    fn read(&mut self, session: &mut Session, since: Instant) -> Result<()> {
        let mut rows = 0_usize;
        while !self.batch.is_full() && self.state == State::Open {
            match session.event(Some(&self.text)) {
                Ok(Event::Row { nulls }) => {
                    self.row(session, nulls)?;
                    rows += 1;
                    if !session.wire.has_more() && since.elapsed() > PATIENCE && rows > 0 {
                        return Ok(());
                    }
                }
                Ok(Event::Columns(_)) => return Err(several()),
                Ok(Event::End) => self.state = State::Complete,
                Err(error) => {
                    if error.is_connection_usable() {
                        self.state = State::Failed;
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn row(&mut self, session: &mut Session, nulls: bool) -> Result<()> {
        let wire = &mut session.wire;
        self.decoder.begin_row(wire, nulls, self.metas.len())?;
        for (index, meta) in self.metas.iter().enumerate() {
            if self.decoder.is_null(index) {
                self.batch.append_null();
            } else {
                self.decoder.cell(wire, meta, &mut self.batch)?;
            }
        }
        self.batch.end_row();
        Ok(())
    }

    /// Ends the statement. True when the session can be used again.
    pub(crate) fn close(self, session: &mut Session) -> Result<bool> {
        match self.state {
            State::Complete => Ok(true),
            State::Failed => Ok(true),
            // Stopping is cheaper than reading on, and confirmed by the server.
            State::Open => Ok(session.stop(STOPPING).is_ok() && !session.in_snapshot()),
        }
    }
}

/// Reads as far as the description of the columns.
fn columns(session: &mut Session, text: &str) -> Result<Vec<ColumnMeta>> {
    match session.event(Some(text))? {
        Event::Columns(columns) if !columns.is_empty() => Ok(columns),
        Event::Columns(_) => Err(untrue("describes a result without columns")),
        Event::Row { .. } => Err(untrue("sends a row before its columns")),
        Event::End => Err(Error::invalid_statement("the statement has no result")),
    }
}

fn several() -> Error {
    untrue("answers one statement with several results")
}
