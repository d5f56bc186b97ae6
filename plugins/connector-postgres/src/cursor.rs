//! One statement's portal: rows in portions that are asked for ahead, within bounds.

use std::time::{Duration, Instant};

use fallible_iterator::FallibleIterator;
use mindhost_sdk::{Batch, BatchBuilder, BatchLimits, Column, Error, ErrorKind, Result, Statement};
use postgres_protocol::Oid;
use postgres_protocol::message::backend::{self, Message, RowDescriptionBody};

use crate::aggregate::answers_one_row;
use crate::decode::{Form, RowDecoder};
use crate::error::malformed;
use crate::plans::Plan;
use crate::session::Session;
use crate::types::{Kind, Type, has_binary, is_dear, look_up};

/// The rows of the first portion: a small answer ends in the first flight.
const FIRST_ROWS: u32 = 1024;
/// A first portion that took no longer may be asked for again in a cheaper format.
const CHEAP: Duration = Duration::from_millis(20);
/// The portions grow from the first size to the second, in bytes, so that a reader who stops early costs little and
/// one who goes on seldom waits.
const FIRST_BYTES: usize = 64 << 10;
const MAX_BYTES: usize = 1 << 20;
const MAX_ROWS: usize = 1 << 16;
/// The rows of the first portion that may wait in memory while types are looked up.
const READ_AHEAD: usize = 32 << 20;
/// Rows that trickle in are handed on after so long.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long the end of an unfinished statement may take by itself, and after it was cancelled.
const DRAIN: Duration = Duration::from_millis(100);
const DRAIN_CANCELLED: Duration = Duration::from_secs(1);

/// One statement in execution.
pub struct Cursor {
    decoder: RowDecoder,
    batch: BatchBuilder,
    columns: Vec<Column>,
    began: Instant,
    timeout: Duration,
    /// Portions that were asked for and not yet read to their end: none, the current one, or that and the next.
    asked: u32,
    /// The rows of the current portion, as asked for and as read.
    expected: u32,
    received: u32,
    /// The rows of the portion after the current one, when it was asked for.
    next_expected: u32,
    /// The size that the next portion should have, and what rows have taken so far.
    portion_bytes: usize,
    rows: usize,
    bytes: usize,
    state: State,
    source: Source,
}

/// How the server came to know the statement.
enum Source {
    /// As text; the name under which it was prepared, if that is to be kept.
    Text(String, Option<String>),
    /// The server kept it under this name. The end of its transaction travelled with it unless in a snapshot.
    Kept { name: String, ended: bool },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The server has sent the last row.
    Complete,
    /// The server's error has ended the statement; its transaction is taken care of.
    Failed,
}

impl Cursor {
    /// Sends the statement with its transaction and the demand for the first rows in one flight, and reads as far
    /// as the description of the columns.
    pub(crate) fn open(session: &mut Session, statement: &Statement) -> Result<Self> {
        if statement.text.contains('\0') {
            let message = "the statement holds a NUL character, which PostgreSQL does not allow";
            return Err(Error::invalid_statement(message));
        }
        let began = Instant::now();
        // The text of bytes is twice their size, and a row has more cells than one.
        session.wire.set_max_row(
            max_cell(statement)
                .saturating_mul(2)
                .saturating_add(16 << 20),
        );
        if session.is_at_start()
            && let Some(plan) = session.plans.find(&statement.text)
            && let Some(cursor) = Self::open_kept(session, statement, &plan, began)?
        {
            return Ok(cursor);
        }
        let name = session.plans.name_for(&statement.text);
        let opened = Self::open_text(session, statement, name.clone(), began);
        if let (Err(_), Some(name)) = (&opened, name) {
            session.plans.forget(&name);
        }
        opened
    }

    /// Runs a statement that the server keeps. `None`, and nothing has happened, when it keeps it no more or the
    /// columns are others by now.
    fn open_kept(
        session: &mut Session,
        statement: &Statement,
        plan: &Plan,
        began: Instant,
    ) -> Result<Option<Self>> {
        session.begin(statement.timeout)?;
        let ended = !session.in_snapshot();
        let first_rows = if ended { 0 } else { FIRST_ROWS };
        session.request_planned(plan, first_rows.cast_signed())?;
        session.send_statement()?;
        let bound = is_bound(session, plan, (began, statement.timeout));
        if !bound.map_err(Error::of_begun_statement)? {
            return Ok(None);
        }
        let source = Source::Kept {
            name: plan.name.clone(),
            ended,
        };
        let (forms, columns) = (plan.forms.clone(), plan.columns.clone());
        Ok(Some(Self::new(
            statement, began, forms, columns, first_rows, source,
        )))
    }

    fn open_text(
        session: &mut Session,
        statement: &Statement,
        name: Option<String>,
        began: Instant,
    ) -> Result<Self> {
        // Zero asks for all rows, in which case the server may use parallel workers.
        let first_rows = if answers_one_row(&statement.text) {
            0
        } else {
            FIRST_ROWS
        };
        let known_as = name.as_deref().unwrap_or_default();
        session.begin(statement.timeout)?;
        session.request_cursor(known_as, &statement.text, first_rows.cast_signed())?;
        session.send_statement()?;
        Self::of_text(session, statement, name, first_rows, began)
            .map_err(Error::of_begun_statement)
    }

    /// The cursor of a statement that was sent as text. Reads as far as the description of the columns.
    fn of_text(
        session: &mut Session,
        statement: &Statement,
        name: Option<String>,
        first_rows: u32,
        began: Instant,
    ) -> Result<Self> {
        let fields = read_fields(session, (began, statement.timeout))?;
        let first = prepare(session, &fields, (began, statement.timeout))?;
        let types = types(session, &fields);
        let binary = first == First::DearAndMoreToCome && began.elapsed() <= CHEAP;
        let form = |(field, found): (&FieldDescription, &Type)| Form {
            kind: found.kind,
            binary: binary && has_binary(field.oid),
        };
        let forms: Vec<Form> = fields.iter().zip(&types).map(form).collect();
        if binary || first == First::Dropped {
            start_again(session, name.as_deref().unwrap_or_default(), &forms)?;
        }
        let column = |(field, found): (&FieldDescription, Type)| {
            Column::new(&field.name, found.kind.data_type()).native_type(found.name)
        };
        let columns: Vec<Column> = fields.iter().zip(types).map(column).collect();
        let source = Source::Text(statement.text.clone(), name);
        Ok(Self::new(
            statement, began, forms, columns, first_rows, source,
        ))
    }

    fn new(
        statement: &Statement,
        began: Instant,
        forms: Vec<Form>,
        columns: Vec<Column>,
        first_rows: u32,
        source: Source,
    ) -> Self {
        Self {
            decoder: RowDecoder::new(forms, max_cell(statement)),
            batch: BatchBuilder::new(columns.clone()),
            columns,
            began,
            timeout: statement.timeout,
            asked: 1,
            expected: if first_rows == 0 {
                u32::MAX
            } else {
                first_rows
            },
            received: 0,
            next_expected: 0,
            portion_bytes: FIRST_BYTES,
            rows: 0,
            bytes: 0,
            state: State::Open,
            source,
        }
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
        let (since, rows) = (Instant::now(), self.rows);
        while !self.batch.is_full() && self.state == State::Open {
            if self.asked == 0 {
                self.ask(session)?;
            }
            let frame = session.wire.next()?;
            match frame.tag {
                backend::DATA_ROW_TAG => {
                    self.received += 1;
                    self.rows += 1;
                    self.bytes += frame.body.len();
                    self.decoder.append(frame.body, &mut self.batch)?;
                    // The server works on the next portion while this one is decoded.
                    if self.asked == 1 && self.received == self.expected / 2 + 1 {
                        self.ask(session)?;
                    }
                }
                backend::READY_FOR_QUERY_TAG => {
                    self.asked -= 1;
                    self.received = 0;
                    self.expected = self.next_expected;
                    if self.rows > rows && !session.wire.has_next() && since.elapsed() > PATIENCE {
                        break;
                    }
                }
                backend::PORTAL_SUSPENDED_TAG | backend::BIND_COMPLETE_TAG => {}
                backend::COMMAND_COMPLETE_TAG => self.state = State::Complete,
                backend::ERROR_RESPONSE_TAG => {
                    let error = frame.server_error()?;
                    self.state = State::Failed;
                    let further = self.asked.saturating_sub(1);
                    return Err(session.fail(error, further, (self.began, self.timeout)));
                }
                _ => return Err(malformed("a message")),
            }
        }
        self.batch.finish()
    }

    /// Has the session keep the statement if its answer was small, or forget it if it was not.
    fn remember(self, session: &mut Session) {
        let is_small = self.state == State::Complete
            && self.rows <= FIRST_ROWS as usize
            && self.bytes <= FIRST_BYTES;
        match self.source {
            Source::Text(text, Some(name)) if is_small => {
                session
                    .plans
                    .keep(name, text, self.columns, self.decoder.into_forms());
            }
            Source::Text(text, None) if is_small => session.plans.saw(&text),
            Source::Text(_, Some(name)) => session.plans.forget(&name),
            // An error says nothing of the size.
            Source::Kept { name, .. } if !is_small && self.state != State::Failed => {
                session.plans.forget(&name);
            }
            Source::Text(..) | Source::Kept { .. } => {}
        }
    }

    /// Asks for the next portion, sized by what rows have taken so far.
    fn ask(&mut self, session: &mut Session) -> Result<()> {
        let average = self.bytes.checked_div(self.rows).unwrap_or(0).max(1);
        let rows = (self.portion_bytes / average).clamp(1, MAX_ROWS);
        self.portion_bytes = (self.portion_bytes * 2).min(MAX_BYTES);
        self.next_expected = u32::try_from(rows).unwrap_or(FIRST_ROWS);
        if self.asked == 0 {
            self.expected = self.next_expected;
        }
        self.asked += 1;
        session.request_more(self.next_expected.cast_signed())
    }

    /// Ends the statement; `cancel` asks the server to stop it when it does not end by itself. True when the session
    /// can be used again.
    pub(crate) fn close(
        self,
        session: &mut Session,
        cancel: impl FnOnce(&Session) -> Result<()>,
    ) -> Result<bool> {
        if self.state == State::Failed {
            self.remember(session);
            return Ok(!session.snapshot_failed());
        }
        session.leave_unread(self.asked);
        let is_complete = self.state == State::Complete;
        // An error may still keep the end that travelled with an unfinished statement from being reached.
        let has_ended = is_complete && matches!(self.source, Source::Kept { ended: true, .. });
        if !session.in_snapshot() && !has_ended {
            session.rollback()?;
        }
        let asked = self.asked;
        self.remember(session);
        if is_complete || asked == 0 {
            return Ok(true);
        }
        if drain(session, DRAIN) {
            return Ok(true);
        }
        cancel(session)?;
        // In a snapshot the cancellation has ended that too.
        Ok(drain(session, DRAIN_CANCELLED) && !session.in_snapshot())
    }
}

/// The largest cell that is taken.
fn max_cell(statement: &Statement) -> usize {
    usize::try_from(statement.max_cell_bytes).unwrap_or(usize::MAX)
}

/// Reads what is left of the answers. An error of the server's among them is the end that is wanted, unless it kept the
/// ROLLBACK from running, as a cancellation does that comes when the statement has just ended.
fn drain(session: &mut Session, time: Duration) -> bool {
    session.wire.set_deadline(Some(Instant::now() + time));
    let drained = session.settle();
    session.wire.set_deadline(None);
    let is_usable = drained.map_or_else(|error| error.is_connection_usable(), |()| true);
    is_usable && (session.in_snapshot() || session.has_ended_transaction())
}

/// Reads to the description of the columns.
fn read_fields(
    session: &mut Session,
    statement: (Instant, Duration),
) -> Result<Vec<FieldDescription>> {
    match describe(session, statement)? {
        Some(fields) if !fields.is_empty() => Ok(fields),
        _ => Err(no_columns(session)),
    }
}

/// Reads until a statement that the server keeps has begun. False when it refused because it does not know the
/// statement any more, or because its columns have changed; the transaction is taken back then.
fn is_bound(session: &mut Session, plan: &Plan, statement: (Instant, Duration)) -> Result<bool> {
    // The transaction's start is bound before.
    let mut has_begun = false;
    loop {
        let frame = session.wire.next()?;
        match frame.tag {
            backend::BIND_COMPLETE_TAG if has_begun => return Ok(true),
            backend::COMMAND_COMPLETE_TAG => has_begun = true,
            backend::PARSE_COMPLETE_TAG
            | backend::BIND_COMPLETE_TAG
            | backend::CLOSE_COMPLETE_TAG => {}
            backend::ERROR_RESPONSE_TAG => {
                let error = frame.server_error()?;
                match error.code.as_str() {
                    "0A000" => session.plans.forget(&plan.name),
                    "26000" => session.plans.lose(),
                    _ => return Err(session.fail(error, 0, statement)),
                }
                return session.start_over().map(|()| false);
            }
            _ => return Err(malformed("a message")),
        }
    }
}

/// A column as the server describes it.
struct FieldDescription {
    name: String,
    oid: Oid,
    modifier: i32,
}

/// Reads to the description of the columns; `None` when the statement has none.
fn describe(
    session: &mut Session,
    statement: (Instant, Duration),
) -> Result<Option<Vec<FieldDescription>>> {
    loop {
        let frame = session.wire.next()?;
        match frame.tag {
            // The statement's own, and those of the transaction's start.
            backend::PARSE_COMPLETE_TAG
            | backend::BIND_COMPLETE_TAG
            | backend::CLOSE_COMPLETE_TAG
            | backend::COMMAND_COMPLETE_TAG => {}
            backend::ROW_DESCRIPTION_TAG => {
                return match frame.message()? {
                    Message::RowDescription(body) => field_descriptions(&body).map(Some),
                    _ => Err(malformed("a description of columns")),
                };
            }
            backend::NO_DATA_TAG => return Ok(None),
            backend::ERROR_RESPONSE_TAG => {
                let error = frame.server_error()?;
                return Err(session.fail(error, 0, statement));
            }
            _ => return Err(malformed("a message")),
        }
    }
}

fn field_descriptions(body: &RowDescriptionBody) -> Result<Vec<FieldDescription>> {
    let fields = body.fields().map(|field| {
        Ok(FieldDescription {
            name: field.name().to_owned(),
            oid: field.type_oid(),
            modifier: field.type_modifier(),
        })
    });
    fields
        .collect()
        .map_err(|_| malformed("a description of columns"))
}

/// A statement without columns has run (or copies, which breaks the rhythm of the protocol): not a query. The host
/// has no use for `SELECT FROM t` either.
fn no_columns(session: &mut Session) -> Error {
    session.leave_unread(1);
    let ended = if session.in_snapshot() {
        Ok(())
    } else {
        session.rollback()
    };
    let usable = ended.is_ok() && drain(session, DRAIN);
    Error::invalid_statement("the statement is not a query: it returns no columns")
        .connection_usable(usable)
}

/// What is known of the first portion when its rows are decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// It waits in memory, there are more rows after it, and the texts of some columns are dear to write.
    DearAndMoreToCome,
    /// It was too large to wait in memory while types were looked up, and has to be asked for again.
    Dropped,
    Other,
}

/// Reads the first portion into memory where that serves a purpose: to look up types that were not met before, and
/// to see whether columns whose text is dear to write are worth asking for anew.
fn prepare(
    session: &mut Session,
    fields: &[FieldDescription],
    statement: (Instant, Duration),
) -> Result<First> {
    let is_unknown =
        |field: &&FieldDescription| session.types.get(field.oid, field.modifier).is_none();
    let unknown: Vec<Oid> = fields
        .iter()
        .filter(is_unknown)
        .map(|field| field.oid)
        .collect();
    let is_any_dear = fields.iter().any(|field| is_dear(field.oid));
    let is_ahead = if !unknown.is_empty() {
        if !session.wire.read_ahead(READ_AHEAD)? {
            // What the columns are must not depend on what the session met before.
            skip_portion(session, statement)?;
            return look_up(session, &unknown).map(|()| First::Dropped);
        }
        true
    } else if is_any_dear {
        read_what_is_quick(session)?
    } else {
        false
    };
    if !is_ahead {
        return Ok(First::Other);
    }
    let rows = session.wire.take_replay();
    let found = if unknown.is_empty() || is_failed(&rows) {
        Ok(())
    } else {
        look_up(session, &unknown)
    };
    let first = if is_any_dear && is_suspended(&rows) {
        First::DearAndMoreToCome
    } else {
        First::Other
    };
    session.wire.put_replay(rows);
    found.map(|()| first)
}

/// Drops the rows of the first portion, those that were read ahead and those still to come.
fn skip_portion(session: &mut Session, statement: (Instant, Duration)) -> Result<()> {
    drop(session.wire.take_replay());
    loop {
        let frame = session.wire.next()?;
        match frame.tag {
            backend::READY_FOR_QUERY_TAG => return Ok(()),
            backend::ERROR_RESPONSE_TAG => {
                let error = frame.server_error()?;
                return Err(session.fail(error, 0, statement));
            }
            _ => {}
        }
    }
}

/// The first portion, if it arrives at once. Rows that take their time are handed on as they come.
fn read_what_is_quick(session: &mut Session) -> Result<bool> {
    session.wire.set_deadline(Some(Instant::now() + CHEAP));
    let ahead = session.wire.read_ahead(READ_AHEAD);
    session.wire.set_deadline(None);
    match ahead {
        Err(error) if error.kind() == ErrorKind::Timeout => Ok(false),
        ahead => ahead,
    }
}

/// Starts the statement again from its first row, none of which was handed on, with these forms. That costs the
/// server what the first portion did, and saves it the writing of texts for all the others.
fn start_again(session: &mut Session, name: &str, forms: &[Form]) -> Result<()> {
    drop(session.wire.take_replay());
    let formats: Vec<i16> = forms.iter().map(|form| i16::from(form.binary)).collect();
    session.request_again(name, &formats, FIRST_ROWS.cast_signed())
}

fn types(session: &Session, fields: &[FieldDescription]) -> Vec<Type> {
    let unnamed = || Type {
        kind: Kind::Text,
        name: "unknown".into(),
    };
    fields
        .iter()
        .map(|field| {
            session
                .types
                .get(field.oid, field.modifier)
                .unwrap_or_else(unnamed)
        })
        .collect()
}

/// Whether messages end with a portal that has more rows, in a transaction that goes on.
fn is_suspended(messages: &[u8]) -> bool {
    messages.ends_with(b"s\0\0\0\x04Z\0\0\0\x05T")
}

/// Whether the transaction has failed, by the status in the ReadyForQuery at the end.
fn is_failed(messages: &[u8]) -> bool {
    messages.last() == Some(&b'E')
}
