//! One session with the server: transactions, requests and their answers in order.
//!
//! Every request ends with a Sync, so every answer ends with a ReadyForQuery, also after an error. Requests whose answers
//! matter to nobody yet (BEGIN, ROLLBACK) are sent without waiting; [`Session::settle`] reads what is still on its way.

use std::time::{Duration, Instant};

use mindhost_sdk::{Error, ErrorKind, Result, control};
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{self, Message};
use postgres_protocol::message::frontend;

use crate::config::ConnectionData;
use crate::error::{ServerError, endless, malformed};
use crate::handshake::{self, CancelKey, Established, SETTINGS};
use crate::plans::{Plan, Plans};
use crate::search_path;
use crate::text_row::TextRow;
use crate::types::TypeCache;
use crate::wire::Wire;

/// No statement of the connector's own may take longer.
pub(crate) const CATALOG_TIMEOUT: Duration = Duration::from_secs(300);
/// A session that nobody used for longer may be gone without its client knowing.
const STALE_AFTER: Duration = Duration::from_secs(1);
/// What the answer to a statement of the connector's own may take in memory.
const MAX_ANSWER: usize = 64 << 20;
/// What a row of it takes beside its bytes.
const ROW_COST: usize = 64;
/// The server counts milliseconds in a signed 32-bit number.
const MAX_TIMEOUT_MS: u128 = i32::MAX as u128;

/// The transaction that outlives a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Snapshot {
    None,
    /// It begins with its first statement.
    Promised,
    Open,
    /// An error ended it; only a ROLLBACK is possible.
    Failed,
}

/// The settings that change from statement to statement, in milliseconds; 0 is the server's own default.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Limits {
    statement: u128,
    idle_in_transaction: u128,
}

pub(crate) struct Session {
    pub(crate) wire: Wire,
    pub(crate) cancel: CancelKey,
    pub(crate) version: String,
    pub(crate) types: TypeCache,
    /// A connection pool stands between: what a session is set to does not last beyond the transaction.
    pooled: bool,
    /// What each transaction sets the search path to, behind a connection pool.
    path: Option<String>,
    pub(crate) plans: Plans,
    /// What the session is set to.
    limits: Limits,
    /// How long the snapshot may be left alone, in milliseconds.
    snapshot_idle: u128,
    /// The `statement_timeout` of the snapshot that is open.
    in_force: u128,
    /// Answers that are still to be read, each up to its ReadyForQuery.
    unread: u32,
    /// How many of them come first and belong to a statement that has failed: their errors only follow from its own.
    unread_of_failed: u32,
    /// Whether a transaction was open, or failed and not ended, by the last answer that [`Session::settle`] read.
    in_transaction: bool,
    snapshot: Snapshot,
    /// When the server last answered.
    heard: Instant,
}

impl Session {
    /// Connects; see [`handshake::connect`].
    pub(crate) fn open(data: &ConnectionData) -> Result<Self> {
        let Established {
            wire,
            cancel,
            version,
            pooled,
        } = handshake::connect(data)?;
        let mut session = Self {
            wire,
            cancel,
            version,
            types: TypeCache::default(),
            pooled,
            path: None,
            plans: Plans::new(pooled),
            limits: Limits::default(),
            snapshot_idle: 0,
            in_force: 0,
            unread: 0,
            unread_of_failed: 0,
            in_transaction: false,
            snapshot: Snapshot::None,
            heard: Instant::now(),
        };
        match pooled {
            true => session.path = Some(search_path::found(&mut session)?),
            false => search_path::set(&mut session)?,
        }
        Ok(session)
    }

    /// Whether statements run in the transaction of a snapshot.
    pub(crate) fn in_snapshot(&self) -> bool {
        self.snapshot != Snapshot::None
    }

    /// Whether an error ended the snapshot.
    pub(crate) fn snapshot_failed(&self) -> bool {
        self.snapshot == Snapshot::Failed
    }

    /// Whether the transaction of a statement of its own has ended, after [`Session::settle`].
    pub(crate) fn has_ended_transaction(&self) -> bool {
        !self.in_transaction
    }

    /// Whether the next statement is the first of its transaction, so that the transaction can be begun anew for it.
    pub(crate) fn is_at_start(&self) -> bool {
        matches!(self.snapshot, Snapshot::None | Snapshot::Promised)
    }

    /// Puts the start of a statement's transaction into the output: its own, or the snapshot's unless that is open.
    /// The request must follow, and its answer tells also how this went.
    pub(crate) fn begin(&mut self, timeout: Duration) -> Result<()> {
        let timeout = milliseconds(timeout);
        match self.snapshot {
            Snapshot::None => self.begin_as("BEGIN TRANSACTION READ ONLY", timeout, 0),
            Snapshot::Promised => {
                self.snapshot = Snapshot::Open;
                self.in_force = timeout;
                let sql = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";
                self.begin_as(sql, timeout, self.snapshot_idle)
            }
            Snapshot::Open if self.in_force == timeout => Ok(()),
            Snapshot::Open => {
                self.in_force = timeout;
                self.step(&format!("SET LOCAL statement_timeout TO {timeout}"))
            }
            Snapshot::Failed => Err(Error::invalid_statement(
                "an earlier error ended the snapshot that this statement belongs to",
            )),
        }
    }

    fn begin_as(&mut self, sql: &str, statement: u128, idle_in_transaction: u128) -> Result<()> {
        if !self.pooled {
            self.set_limits(Limits {
                statement,
                idle_in_transaction,
            })?;
        }
        // Its answer is the sign of life that `send_statement` waits for.
        if self.wire.output.is_empty() {
            self.simple("")?;
        }
        self.step(sql)?;
        if !self.pooled {
            return Ok(());
        }
        for (name, value) in SETTINGS {
            self.step(&format!("SET LOCAL {name} TO '{value}'"))?;
        }
        if let Some(path) = &self.path {
            self.step(&format!("SET LOCAL search_path TO {path}"))?;
        }
        self.step(&format!("SET LOCAL statement_timeout TO {statement}"))?;
        if idle_in_transaction == 0 {
            return Ok(());
        }
        self.step(&format!(
            "SET LOCAL idle_in_transaction_session_timeout TO {idle_in_transaction}"
        ))
    }

    /// Puts the session's limits into the output, as far as they are not those already. A statement that changes them
    /// does so in its transaction, whose end takes that back.
    fn set_limits(&mut self, limits: Limits) -> Result<()> {
        let before = std::mem::replace(&mut self.limits, limits);
        if before.statement != limits.statement {
            self.simple(&format!("SET statement_timeout TO {}", limits.statement))?;
        }
        if before.idle_in_transaction == limits.idle_in_transaction {
            return Ok(());
        }
        let value = match limits.idle_in_transaction {
            0 => "DEFAULT".to_owned(),
            limit => limit.to_string(),
        };
        self.simple(&format!(
            "SET idle_in_transaction_session_timeout TO {value}"
        ))
    }

    /// Puts a statement without result into the output, as the first part of a request: the server goes on to the
    /// next part without an answer being sent, and skips all of the request when this fails.
    fn step(&mut self, sql: &str) -> Result<()> {
        let nul = |_| Error::internal("a setting holds a NUL");
        frontend::parse("", sql, [], &mut self.wire.output).map_err(nul)?;
        self.bind("", &[])?;
        frontend::execute("", 0, &mut self.wire.output).map_err(nul)
    }

    /// Sends the end of a statement's own transaction, and does not wait for the answer. Never a COMMIT: some
    /// functions write even in a read-only transaction, and only this takes it back.
    pub(crate) fn rollback(&mut self) -> Result<()> {
        self.simple("ROLLBACK")?;
        self.wire.flush()
    }

    /// Promises a snapshot, which begins with its first statement. Only a session that was idle is tried first; the host
    /// can replace a dead one also when the first statement did not arrive.
    pub(crate) fn begin_snapshot(&mut self, timeout: Duration) -> Result<()> {
        if self.heard.elapsed() > STALE_AFTER {
            self.simple("")?;
            self.wire.flush()?;
            self.settle()?;
        }
        self.snapshot_idle = milliseconds(timeout);
        self.snapshot = Snapshot::Promised;
        Ok(())
    }

    /// Ends the snapshot without waiting for the answer.
    pub(crate) fn end_snapshot(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.snapshot, Snapshot::None) {
            Snapshot::None | Snapshot::Promised => Ok(()),
            Snapshot::Open | Snapshot::Failed => self.rollback(),
        }
    }

    pub(crate) fn simple(&mut self, sql: &str) -> Result<()> {
        frontend::query(sql, &mut self.wire.output)
            .map_err(|_| Error::internal("a setting holds a NUL"))?;
        self.unread += 1;
        Ok(())
    }

    /// Counts an answer that nobody waits for.
    pub(crate) fn leave_unread(&mut self, answers: u32) {
        self.unread += answers;
    }

    /// Reads the answers that are still to come. The first error that is new among them is returned after the last.
    pub(crate) fn settle(&mut self) -> Result<()> {
        self.settle_until(0)
    }

    /// As [`Session::settle`], but for the last so many answers.
    pub(crate) fn settle_until(&mut self, unread: u32) -> Result<()> {
        let (mut failure, mut room) = (None, MAX_ANSWER);
        while self.unread > unread {
            let frame = self.wire.next()?;
            self.heard = Instant::now();
            match frame.tag {
                backend::DATA_ROW_TAG => take_room(&mut room, frame.body)?,
                backend::READY_FOR_QUERY_TAG => {
                    self.unread -= 1;
                    self.in_transaction = frame.body != b"I";
                    self.unread_of_failed = self.unread_of_failed.saturating_sub(1);
                }
                backend::ERROR_RESPONSE_TAG => match frame.server_error()? {
                    error if error.is_fatal() => return Err(error.into_error(None)),
                    error if self.unread_of_failed == 0 => failure = failure.or(Some(error)),
                    _ => {}
                },
                _ => {}
            }
        }
        failure.map_or(Ok(()), |error| Err(error.into_error(None)))
    }

    /// Sends a statement behind the start of its transaction, and returns when the server has answered all that
    /// precedes them. The server reads a request when it has answered the one before, so until then the statement has
    /// not begun: a lost connection is `ConnectionLost`, and the host repeats the call on a new one. Errors of the
    /// answer go through [`Error::of_begun_statement`].
    pub(crate) fn send_statement(&mut self) -> Result<()> {
        let sent = self.wire.flush();
        if sent
            .as_ref()
            .is_err_and(|error| error.kind() != ErrorKind::ConnectionLost)
        {
            return sent;
        }
        self.settle_before_answer()?;
        // The part that was sent may have been enough to begin.
        sent.map_err(Error::of_begun_statement)
    }

    /// As [`Session::settle`], between a request and its answer. What fails here is a SET or the end of an earlier
    /// transaction, as when the time of the statement before was up. The session is then not as it should be, so it
    /// ends, but for a setting that the server does not have.
    fn settle_before_answer(&mut self) -> Result<()> {
        let Err(error) = self.settle() else {
            return Ok(());
        };
        match error.is_connection_usable() && error.engine_code() == "42704" {
            true => Err(self.abandon(error, 1)),
            false => Err(error.connection_usable(false)),
        }
    }

    /// Puts the request for a statement that the server keeps into the output: all of its rows and the end of its
    /// transaction, or in a snapshot up to `max_rows` rows. What the columns are is known.
    pub(crate) fn request_planned(&mut self, plan: &Plan, max_rows: i32) -> Result<()> {
        self.forget_plans()?;
        self.bind(&plan.name, &[])?;
        frontend::execute("", max_rows, &mut self.wire.output)
            .map_err(|_| malformed("a portal"))?;
        if self.snapshot == Snapshot::None {
            self.step("ROLLBACK")?;
        }
        frontend::sync(&mut self.wire.output);
        Ok(())
    }

    /// As [`Session::request`] for the statement whose cursor stays open, which the server keeps under a name unless
    /// that is empty.
    pub(crate) fn request_cursor(&mut self, name: &str, sql: &str, max_rows: i32) -> Result<()> {
        self.forget_plans()?;
        let nul = |_| Error::internal("a statement or a name holds a NUL");
        frontend::parse(name, sql, [], &mut self.wire.output).map_err(nul)?;
        self.bind(name, &[])?;
        let output = &mut self.wire.output;
        frontend::describe(b'P', "", output).map_err(nul)?;
        frontend::execute("", max_rows, output).map_err(nul)?;
        frontend::sync(output);
        Ok(())
    }

    fn forget_plans(&mut self) -> Result<()> {
        for name in self.plans.take_forgotten() {
            frontend::close(b'S', &name, &mut self.wire.output)
                .map_err(|_| Error::internal("a name holds a NUL"))?;
        }
        Ok(())
    }

    /// Puts the start of a statement without parameters into the output.
    fn bind(&mut self, name: &str, formats: &[i16]) -> Result<()> {
        let (output, parameters) = (&mut self.wire.output, [""; 0]);
        let formats = formats.iter().copied();
        frontend::bind(
            "",
            name,
            [],
            parameters,
            |_, _| Ok(IsNull::Yes),
            formats,
            output,
        )
        .map_err(|_| malformed("a description of columns"))
    }

    /// After an error of a transaction's first statement, before any of its rows: takes the transaction back, so that
    /// the statement can be sent again in another one.
    pub(crate) fn start_over(&mut self) -> Result<()> {
        self.unread += 1;
        if self.snapshot == Snapshot::Open {
            self.snapshot = Snapshot::Promised;
        }
        self.simple("ROLLBACK")
    }

    /// Puts a whole extended request into the output: up to `max_rows` rows of one statement, all if 0.
    ///
    /// `name` names statement and portal; empty for the one that nothing else runs beside.
    pub(crate) fn request(
        &mut self,
        name: &str,
        sql: &str,
        parameters: &[&str],
        max_rows: i32,
    ) -> Result<()> {
        let output = &mut self.wire.output;
        let nul = |_| Error::internal("a statement or a name holds a NUL");
        frontend::parse(name, sql, [], output).map_err(nul)?;
        let bound = frontend::bind(
            name,
            name,
            [],
            parameters,
            |value, buffer| {
                buffer.extend_from_slice(value.as_bytes());
                Ok(IsNull::No)
            },
            [],
            output,
        );
        bound.map_err(|_| Error::internal("a parameter is too large"))?;
        frontend::describe(b'P', name, output).map_err(nul)?;
        frontend::execute(name, max_rows, output).map_err(nul)?;
        if !name.is_empty() {
            // The end of the statement is not that of its portal, whose name would be taken until the transaction ends.
            frontend::close(b'P', name, output).map_err(nul)?;
            frontend::close(b'S', name, output).map_err(nul)?;
        }
        frontend::sync(output);
        Ok(())
    }

    /// Starts the statement of the open portal anew, with a format for each column, and asks for its first rows.
    pub(crate) fn request_again(
        &mut self,
        name: &str,
        formats: &[i16],
        max_rows: i32,
    ) -> Result<()> {
        self.bind(name, formats)?;
        self.request_more(max_rows)
    }

    /// Asks for up to `max_rows` further rows of the open portal.
    pub(crate) fn request_more(&mut self, max_rows: i32) -> Result<()> {
        frontend::execute("", max_rows, &mut self.wire.output)
            .map_err(|_| malformed("a portal"))?;
        frontend::sync(&mut self.wire.output);
        self.wire.flush()
    }

    /// After an error of a statement: reads the rest of its answer, and ends its transaction.
    ///
    /// `further` answers of the same statement are still to come.
    pub(crate) fn fail(
        &mut self,
        error: ServerError,
        further: u32,
        statement: (Instant, Duration),
    ) -> Error {
        let error = error.into_error(Some(statement));
        match error.is_connection_usable() {
            true => self.abandon(error, 1 + further),
            false => error,
        }
    }

    /// Leaves a statement whose transaction has failed, with so many answers still to come.
    fn abandon(&mut self, error: Error, answers: u32) -> Error {
        self.unread += answers;
        self.unread_of_failed = self.unread;
        let ended = match self.snapshot {
            Snapshot::None | Snapshot::Promised => self.rollback(),
            Snapshot::Open | Snapshot::Failed => {
                self.snapshot = Snapshot::Failed;
                Ok(())
            }
        };
        error.connection_usable(ended.is_ok())
    }

    /// Runs a statement of the connector's own in its own transaction (or the snapshot's) and gives each row to `each`.
    pub(crate) fn rows(
        &mut self,
        sql: &str,
        parameters: &[&str],
        mut each: impl FnMut(&TextRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let timeout = control::remaining().min(CATALOG_TIMEOUT);
        self.begin(timeout)?;
        if !self.in_snapshot() {
            self.step(search_path::BUILT_IN)?;
        }
        self.ask(sql, parameters, timeout, &mut each)
    }

    /// Runs a statement of the connector's own, whose transaction is begun in the output.
    pub(crate) fn ask(
        &mut self,
        sql: &str,
        parameters: &[&str],
        timeout: Duration,
        each: &mut dyn FnMut(&TextRow<'_>) -> Result<()>,
    ) -> Result<()> {
        self.request("", sql, parameters, 0)?;
        self.send_statement()?;
        let answered = self.answer((Instant::now(), timeout), each);
        let ended = answered.and_then(|()| match self.in_snapshot() {
            true => Ok(()),
            false => self.rollback(),
        });
        ended.map_err(Error::of_begun_statement)
    }

    /// As [`Session::rows`], inside the transaction of the cursor that is open.
    pub(crate) fn rows_beside_cursor(
        &mut self,
        sql: &str,
        parameters: &[&str],
        mut each: impl FnMut(&TextRow<'_>) -> Result<()>,
    ) -> Result<()> {
        self.request("beside", sql, parameters, 0)?;
        self.wire.flush()?;
        self.answer((Instant::now(), CATALOG_TIMEOUT), &mut each)
    }

    fn answer(
        &mut self,
        statement: (Instant, Duration),
        each: &mut dyn FnMut(&TextRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut room = MAX_ANSWER;
        loop {
            let frame = self.wire.next()?;
            if frame.tag == backend::DATA_ROW_TAG {
                take_room(&mut room, frame.body)?;
            }
            match frame.tag {
                backend::DATA_ROW_TAG => match frame.message()? {
                    // What follows stays unread, so the session ends with such an error.
                    Message::DataRow(body) => TextRow::parse(&body)
                        .and_then(|row| each(&row))
                        .map_err(|error| error.connection_usable(false))?,
                    _ => return Err(malformed("a row")),
                },
                backend::ERROR_RESPONSE_TAG => {
                    let error = frame.server_error()?;
                    return Err(self.fail(error, 0, statement));
                }
                backend::READY_FOR_QUERY_TAG => return Ok(()),
                _ => {}
            }
        }
    }
}

/// Takes the room that a row needs from what is left for the answer.
fn take_room(room: &mut usize, row: &[u8]) -> Result<()> {
    *room = room
        .checked_sub(row.len() + ROW_COST)
        .ok_or_else(|| endless("rows"))?;
    Ok(())
}

/// For the server, which would take zero for no limit. Longer by up to an eighth, so that statements whose limits
/// differ by what the host needed before them share a setting; the host keeps to the limit itself.
fn milliseconds(timeout: Duration) -> u128 {
    let exact = timeout.as_millis().clamp(1, MAX_TIMEOUT_MS);
    let step = (exact / 8).checked_ilog2().map_or(1, |power| 1 << power);
    exact.next_multiple_of(step).min(MAX_TIMEOUT_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_never_shorter_and_hardly_longer() {
        for exact in [1, 7, 8, 9, 100, 29_999, 30_000, 3_600_000, MAX_TIMEOUT_MS] {
            let sent = milliseconds(Duration::from_millis(exact as u64));
            assert!(
                sent >= exact && sent <= exact + exact / 8,
                "{exact}: {sent}"
            );
        }
        assert_eq!(
            milliseconds(Duration::from_millis(29_999)),
            milliseconds(Duration::from_secs(30))
        );
        assert_eq!(milliseconds(Duration::ZERO), 1);
        assert_eq!(milliseconds(Duration::MAX), MAX_TIMEOUT_MS);
    }
}
