//! One session with the server: its settings, transactions, requests and their answers in order.
//!
//! Requests whose answers matter to nobody yet (a timeout, the start and the end of a snapshot) are sent along with the
//! next one; [`Session::settle`] reads what is still on its way.

use std::time::{Duration, Instant};

use mindhost_sdk::{Error, ErrorKind, Result};

use crate::config::ConnectionData;
use crate::error::{ServerError, untrue};
use crate::handshake::{self, Established};
use crate::packet::Reader;
use crate::wire::{Packet, Wire};

/// No statement of the connector's own may take longer.
const CATALOG_TIMEOUT: Duration = Duration::from_secs(300);
/// A session that nobody used for longer may be gone without its client knowing.
const STALE_AFTER: Duration = Duration::from_secs(1);
/// What the answer to a statement of the connector's own may take in memory.
const MAX_ANSWER: usize = 64 << 20;
/// What a row of it takes beside its bytes.
const ROW_COST: usize = 64;

/// What every session is set to, so that the guard and the server read a statement in the same way: of the server's
/// `sql_mode` only the rule for GROUP BY stays, which changes no meaning. A reader may pause for an hour. The default
/// of `sql_select_limit` is the server's global value, which would cut answers without a word.
const SETTINGS: &str = "SET NAMES utf8mb4, SESSION time_zone = '+00:00', SESSION autocommit = 1, \
    SESSION sql_mode = IF(FIND_IN_SET('ONLY_FULL_GROUP_BY', @@SESSION.sql_mode) > 0, 'ONLY_FULL_GROUP_BY', ''), \
    SESSION net_write_timeout = 3600, SESSION group_concat_max_len = 1048576, \
    SESSION sql_select_limit = 18446744073709551615";
/// Every statement by itself is a read-only transaction then.
const READ_ONLY: &str = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
/// Beyond the default of 1000 steps MariaDB ends a recursion without a word.
const MARIADB_SETTINGS: &str = "SESSION max_recursive_iterations = 4294967295";
/// The same for MySQL. Its `information_schema` shows the number of rows of a table from a copy that may be a day old;
/// without an expiry it asks the engine.
const MYSQL_SETTINGS: &str =
    "SESSION cte_max_recursion_depth = 4294967295, SESSION information_schema_stats_expiry = 0";
/// What tells a server from the others behind a load balancer. Where only newer versions have a unique id it is not
/// asked for.
const MARIADB_IDENTITY: &str =
    "SELECT CONNECTION_ID(), CONCAT_WS(' ', @@hostname, @@port, @@server_id)";
const MYSQL_IDENTITY: &str =
    "SELECT CONNECTION_ID(), CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@server_uuid)";
/// More characters of it are not kept.
const MAX_IDENTITY: usize = 512;
const SNAPSHOT: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

pub(crate) struct Session {
    pub(crate) wire: Wire,
    pub(crate) id: u32,
    /// Which server knows the session by this id; empty if it does not say.
    pub(crate) server: String,
    pub(crate) version: String,
    pub(crate) is_mariadb: bool,
    pub(crate) has_extended_metadata: bool,
    /// The statement timeout that is set, in milliseconds.
    timeout: u128,
    /// The most seconds that a snapshot may be left alone.
    idle: u64,
    in_snapshot: bool,
    /// When the server last answered.
    heard: Instant,
}

/// One row of a statement of the connector's own.
pub(crate) struct TextRow<'a> {
    cells: Vec<Option<&'a str>>,
}

impl<'a> TextRow<'a> {
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
}

impl Session {
    /// Connects; see [`handshake::connect`].
    pub(crate) fn open(data: &ConnectionData) -> Result<Self> {
        let Established {
            wire,
            id,
            version,
            is_mariadb,
            has_extended_metadata,
        } = handshake::connect(data)?;
        let mut session = Self {
            wire,
            id,
            server: String::new(),
            version,
            is_mariadb,
            has_extended_metadata,
            timeout: 0,
            idle: 0,
            in_snapshot: false,
            heard: Instant::now(),
        };
        session
            .wire
            .set_deadline(Some(Instant::now() + data.connect_timeout()));
        let (own, identity) = match is_mariadb {
            true => (MARIADB_SETTINGS, MARIADB_IDENTITY),
            false => (MYSQL_SETTINGS, MYSQL_IDENTITY),
        };
        session.wire.query(
            &format!("{SETTINGS}, {own}"),
            "set up the session (SET NAMES and session variables)",
        );
        session.wire.query(
            READ_ONLY,
            "make the session read-only (SET SESSION TRANSACTION)",
        );
        session
            .wire
            .query(identity, "say which server it is (SELECT CONNECTION_ID())");
        session.wire.flush()?;
        session.settle_until(1)?;
        session.read_identity()?;
        session.wire.set_deadline(None);
        Ok(session)
    }

    /// Reads the answer to the question which server this is. One that refuses it has no identity.
    fn read_identity(&mut self) -> Result<()> {
        let (id, mut server) = (self.id, String::new());
        let read = self.read_rows(&mut |row| {
            // A proxy that has ids of its own finds the session for a KILL, whichever server it asked here.
            if row.number(0) == Some(id) {
                server = row.text(1).chars().take(MAX_IDENTITY).collect();
            }
            Ok(())
        });
        self.server = server;
        match read {
            Err(error) if !error.is_connection_usable() => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends a statement, and returns when the server has begun it. A connection that is lost before that is
    /// `ConnectionLost`, and the host repeats the call on a new one. Errors of the answer go
    /// through [`Error::of_begun_statement`].
    pub(crate) fn begin_statement(&mut self, sql: &str, timeout: Duration) -> Result<()> {
        self.prepare(timeout);
        // The server reads a request when it has answered the one before. So the answer to what precedes the statement
        // tells a statement that never arrived from one that was ended.
        if !self.wire.has_output() {
            self.wire.ping();
        }
        self.wire.query(sql, "run a statement");
        self.wire.flush()?;
        self.settle_until(1)
    }

    /// Puts what a statement needs before it into the output.
    fn prepare(&mut self, timeout: Duration) {
        // Tenths of a second, upwards: the host's own timeout is exact, and a change costs a request.
        let millis = timeout.as_millis().div_ceil(100).clamp(1, 20_000_000) * 100;
        if self.timeout == millis {
            return;
        }
        self.timeout = millis;
        if self.is_mariadb {
            let (seconds, rest) = (millis / 1000, millis % 1000);
            self.wire.query(
                &format!("SET SESSION max_statement_time = {seconds}.{rest:03}"),
                "limit the time of statements (SET SESSION max_statement_time)",
            );
        } else {
            self.wire.query(
                &format!("SET SESSION max_execution_time = {millis}"),
                "limit the time of statements (SET SESSION max_execution_time)",
            );
        }
    }

    /// Begins a snapshot. Its first statement waits for the answer, unless the session was idle; the host can replace a
    /// dead one also when the first statement did not arrive.
    pub(crate) fn begin_snapshot(&mut self, timeout: Duration) -> Result<()> {
        let idle = timeout.as_secs().clamp(1, 86_400);
        if self.is_mariadb && self.idle != idle {
            self.idle = idle;
            self.wire.query(
                &format!("SET SESSION idle_readonly_transaction_timeout = {idle}"),
                "limit the time of idle snapshots (SET SESSION idle_readonly_transaction_timeout)",
            );
        }
        self.wire.query(
            SNAPSHOT,
            "begin a snapshot (START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY)",
        );
        self.in_snapshot = true;
        if self.heard.elapsed() > STALE_AFTER {
            self.wire.flush()?;
            self.settle()?;
        }
        Ok(())
    }

    /// Ends the snapshot without waiting for the answer.
    pub(crate) fn end_snapshot(&mut self) -> Result<()> {
        if std::mem::take(&mut self.in_snapshot) {
            self.wire.query("ROLLBACK", "end a snapshot (ROLLBACK)");
            self.wire.flush()?;
        }
        Ok(())
    }

    /// Reads the answers that nobody waited for. The first error among them is returned after the last.
    pub(crate) fn settle(&mut self) -> Result<()> {
        self.settle_until(0)
    }

    fn settle_until(&mut self, unanswered: usize) -> Result<()> {
        let mut failure = None;
        while self.wire.unanswered() > unanswered {
            let purpose = self.wire.purpose();
            match self.wire.next()? {
                Packet::Error(error) => {
                    failure.get_or_insert((error, purpose));
                }
                Packet::Done | Packet::End => self.heard = Instant::now(),
                _ => {}
            }
        }
        match failure {
            None => Ok(()),
            // What follows the request that failed is not what it should be.
            Some((error, purpose)) => Err(error.into_refusal(purpose).connection_usable(false)),
        }
    }

    /// The error for the host, after the server's error has ended a statement.
    pub(crate) fn fail(&mut self, error: ServerError, statement: (Instant, Duration)) -> Error {
        self.heard = Instant::now();
        error.into_error(Some(statement))
    }

    /// Notes that the server has answered to the end.
    pub(crate) fn heard(&mut self) {
        self.heard = Instant::now();
    }

    /// Reads what is left of the answers, for so long at most. An error among them is the end that is wanted.
    pub(crate) fn drain(&mut self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        self.wire.set_deadline(Some(deadline));
        let drained = self.drain_until(deadline);
        self.wire.set_deadline(None);
        drained
    }

    fn drain_until(&mut self, deadline: Instant) -> bool {
        while self.wire.unanswered() > 0 {
            // While rows keep coming nothing waits, and the deadline of the transport does not count.
            if Instant::now() >= deadline {
                return false;
            }
            match self.wire.next() {
                Ok(Packet::Error(error)) => {
                    if !error.into_error(None).is_connection_usable() {
                        return false;
                    }
                }
                Ok(_) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// A KILL QUERY that came too late would end the statement after it. It ends this one.
    pub(crate) fn spend_kill(&mut self, time: Duration) -> bool {
        self.wire.query("DO 0", "do nothing (DO 0)");
        self.wire.flush().is_ok() && self.drain(time)
    }

    /// Runs a statement of the connector's own and hands each row to `each`.
    pub(crate) fn rows(
        &mut self,
        sql: &str,
        mut each: impl FnMut(&TextRow<'_>) -> Result<()>,
    ) -> Result<()> {
        self.begin_statement(sql, CATALOG_TIMEOUT)?;
        self.read_rows(&mut each).map_err(Error::of_begun_statement)
    }

    fn read_rows(&mut self, each: &mut dyn FnMut(&TextRow<'_>) -> Result<()>) -> Result<()> {
        let began = Instant::now();
        let (mut columns, mut room, mut outcome) = (0, MAX_ANSWER, Ok(()));
        loop {
            match self.wire.next()? {
                Packet::Columns(count) => columns = count,
                Packet::Column(_) | Packet::ColumnsEnd => {}
                Packet::Row(body) => {
                    let cost = body.len() + ROW_COST;
                    room = room.checked_sub(cost).ok_or_else(|| {
                        untrue("sends a catalog without an end").connection_usable(false)
                    })?;
                    if outcome.is_ok() {
                        outcome = text_row(body, columns).and_then(|row| each(&row));
                    }
                }
                Packet::Done | Packet::End => {
                    self.heard = Instant::now();
                    return outcome;
                }
                Packet::Error(error) => return Err(self.fail(error, (began, CATALOG_TIMEOUT))),
            }
        }
    }
}

fn text_row(body: &[u8], columns: usize) -> Result<TextRow<'_>> {
    let malformed = || crate::error::malformed("a row");
    let mut reader = Reader(body);
    let cells = (0..columns)
        .map(|_| match reader.cell().ok_or_else(malformed)? {
            None => Ok(None),
            Some(cell) => std::str::from_utf8(cell).map(Some).map_err(|_| not_utf8()),
        })
        .collect::<Result<_>>()?;
    match reader.0 {
        [] => Ok(TextRow { cells }),
        _ => Err(malformed()),
    }
}

/// The server was told to speak UTF-8.
pub(crate) fn not_utf8() -> Error {
    Error::new(
        ErrorKind::Upstream,
        "the server sent a text that is not UTF-8; convert it in the statement, as with CONVERT(… USING utf8mb4)",
    )
}

/// A literal of a text that means the same in every `sql_mode`.
pub(crate) fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() * 2 + 12);
    literal.push_str("_utf8mb4 X'");
    for byte in text.bytes() {
        for digit in [byte >> 4, byte & 15] {
            literal.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
    }
    literal.push('\'');
    literal
}
