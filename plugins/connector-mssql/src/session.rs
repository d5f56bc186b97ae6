//! One session with the server: batches, the tokens of their answers, and transactions.

use std::time::{Duration, Instant};

use mindhost_sdk::{Error, ErrorKind, Result, Value, control};

use crate::config::ConnectionData;
use crate::decode::{Decoder, text_of};
use crate::error::{ServerError, malformed, untrue};
use crate::handshake::{self, Established};
use crate::types::ColumnMeta;
use crate::wire::{PACKET_SIZES, SQL_BATCH, Wire};

/// No statement of the connector's own may take longer.
const CATALOG_TIMEOUT: Duration = Duration::from_secs(300);
/// What the answer to a statement of the connector's own may take in memory, and a cell of it.
const MAX_ANSWER: usize = 64 << 20;
const MAX_CELL: usize = 1 << 20;
/// How long the server may take to confirm that it has stopped, once a statement is out of time.
const STOPPING: Duration = Duration::from_secs(5);
/// So long after an answer of the server a statement is sent without another look whether the connection is still there.
const PROVEN_FOR: Duration = Duration::from_secs(1);
/// Tokens without a row between them. A server that sends more never answers.
const MAX_CHATTER: usize = 1_000_000;

/// In the status of DONE: the statement failed, or failed so badly that its rows are to be discarded.
const DONE_ERROR: u16 = 0x2;
const DONE_SERVER_ERROR: u16 = 0x100;

/// What every session is set to: the settings of ANSI, a transaction that ends with its first error, texts as a whole,
/// a fixed language for dates, and the least claim to survive a deadlock.
const SETTINGS: &str = "SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, \
     QUOTED_IDENTIFIER, XACT_ABORT ON \
     SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS, CURSOR_CLOSE_ON_COMMIT, NOCOUNT OFF \
     SET TEXTSIZE 2147483647 SET ROWCOUNT 0 SET DATEFIRST 7 SET DATEFORMAT mdy SET DEADLOCK_PRIORITY LOW \
     SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
/// Ends what an earlier statement may have left open.
const CLEAN: &str = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION";

/// One token of an answer, as far as this connector cares.
pub(crate) enum Token {
    Columns(Vec<ColumnMeta>),
    /// Its cells follow. With `nulls`, a bit for each column stands before them.
    Row {
        nulls: bool,
    },
    Error(ServerError),
    /// The descriptor of the transaction that is open from here on; zeros for none.
    Transaction([u8; 8]),
    /// The end of a statement with the sign that it failed. An error that says why should come before it.
    Failed,
    PacketSize(usize),
    LoginAccepted {
        product: String,
        version: String,
    },
    /// The server wants the client to go elsewhere.
    Routed,
    /// The server wants another kind of login.
    Federation,
    Other,
}

/// Reads one token.
///
/// # Errors
/// `Upstream` when it is malformed.
pub(crate) fn token(wire: &mut Wire) -> Result<Token> {
    Ok(match wire.u8()? {
        0x81 => Token::Columns(ColumnMeta::read_all(wire)?),
        0xD1 => Token::Row { nulls: false },
        0xD2 => Token::Row { nulls: true },
        0xFD..=0xFF => done(wire)?,
        0xAA => Token::Error(ServerError::read(wire)?),
        0xAD => login_accepted(wire)?,
        0xE3 => environment(wire)?,
        // RETURNSTATUS has a fixed length.
        0x79 => {
            wire.skip(4)?;
            Token::Other
        }
        0xAC => {
            return_value(wire)?;
            Token::Other
        }
        0xAE => {
            features(wire)?;
            Token::Other
        }
        // FEDAUTHINFO and SSPI: another kind of login.
        0xED | 0xEE => Token::Federation,
        // INFO, ORDER, TABNAME and COLINFO begin with a length of two bytes.
        0xAB | 0xA9 | 0xA4 | 0xA5 => {
            let length = usize::from(wire.u16()?);
            wire.skip(length)?;
            Token::Other
        }
        // SESSIONSTATE begins with one of four bytes.
        0xE4 => {
            let length = wire.u32()? as usize;
            wire.skip(bounded(length)?)?;
            Token::Other
        }
        _ => return Err(malformed("a token")),
    })
}

/// Nothing that is passed over has a reason to be longer.
fn bounded(length: usize) -> Result<usize> {
    match length <= 1 << 20 {
        true => Ok(length),
        false => Err(malformed("an oversized token")),
    }
}

/// DONE, DONEPROC and DONEINPROC: a status, a command and a number of rows.
fn done(wire: &mut Wire) -> Result<Token> {
    let status = wire.u16()?;
    wire.skip(2 + 8)?;
    Ok(match status & (DONE_ERROR | DONE_SERVER_ERROR) {
        0 => Token::Other,
        _ => Token::Failed,
    })
}

/// The server says that a statement failed, in an answer without an error. Rows before it are not the whole result.
pub(crate) fn failed_without_error() -> Error {
    untrue("says that a request failed, and does not say why")
}

fn login_accepted(wire: &mut Wire) -> Result<Token> {
    let length = usize::from(wire.u16()?);
    let bytes = wire.take(length)?;
    let wrong = || malformed("an answer to the login");
    let units = usize::from(*bytes.get(5).ok_or_else(wrong)?);
    let name = bytes.get(6..6 + units * 2).ok_or_else(wrong)?;
    let mut product = String::new();
    crate::decode::utf16(name, &mut product);
    let numbers = bytes.get(6 + units * 2..).ok_or_else(wrong)?;
    let &[major, minor, build_high, build_low] = numbers else {
        return Err(wrong());
    };
    let build = u16::from_be_bytes([build_high, build_low]);
    Ok(Token::LoginAccepted {
        product: product.trim_end_matches('\0').chars().take(64).collect(),
        version: format!("{major}.{minor}.{build}"),
    })
}

fn environment(wire: &mut Wire) -> Result<Token> {
    let length = usize::from(wire.u16()?);
    let bytes = wire.take(length)?;
    let wrong = || malformed("a change of the environment");
    let (kind, rest) = bytes.split_first().ok_or_else(wrong)?;
    match kind {
        4 => {
            let units = usize::from(*rest.first().ok_or_else(wrong)?);
            let mut digits = String::new();
            crate::decode::utf16(rest.get(1..1 + units * 2).ok_or_else(wrong)?, &mut digits);
            let size = digits.parse().ok();
            let size = size.filter(|size| PACKET_SIZES.contains(size));
            Ok(Token::PacketSize(size.ok_or_else(wrong)?))
        }
        // BEGIN TRANSACTION; the new value is the descriptor.
        8 => match rest {
            [8, descriptor @ ..] => {
                let descriptor = descriptor.get(..8).and_then(|eight| eight.try_into().ok());
                Ok(Token::Transaction(descriptor.ok_or_else(wrong)?))
            }
            _ => Err(wrong()),
        },
        // COMMIT and ROLLBACK.
        9 | 10 => Ok(Token::Transaction([0; 8])),
        20 => Ok(Token::Routed),
        _ => Ok(Token::Other),
    }
}

fn return_value(wire: &mut Wire) -> Result<()> {
    wire.skip(2)?;
    wire.short_text()?;
    wire.skip(1 + 4 + 2)?;
    let meta = ColumnMeta::read_type(wire)?;
    let mut ignored = None;
    Decoder::new(MAX_CELL).cell(wire, &meta, &mut ignored)
}

fn features(wire: &mut Wire) -> Result<()> {
    // Feature numbers are one byte, of which the last is the end.
    for _ in 0..u8::MAX {
        if wire.u8()? == 0xFF {
            return Ok(());
        }
        let length = wire.u32()? as usize;
        wire.skip(bounded(length)?)?;
    }
    Err(malformed("an endless list of features"))
}

/// The transaction that outlives a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Snapshot {
    None,
    Open,
    /// An error ended it.
    Failed,
}

pub(crate) struct Session {
    pub(crate) wire: Wire,
    pub(crate) product: String,
    pub(crate) version: String,
    /// The transaction that is open in the server; zeros for none.
    transaction: [u8; 8],
    snapshot: Snapshot,
    /// Whether the database takes snapshots; none until it was asked.
    has_snapshots: Option<bool>,
    /// Whether `sys.columns` has the column `graph_type`; none until it was asked.
    has_graph_type: Option<bool>,
    /// When the server answered a request of the connector's own, unless another request came after it.
    proven: Option<Instant>,
}

/// What an answer comes to.
pub(crate) enum Event {
    Columns(Vec<ColumnMeta>),
    Row {
        nulls: bool,
    },
    /// The answer is over.
    End,
}

impl Session {
    /// Connects and sets the session up.
    pub(crate) fn open(data: &ConnectionData) -> Result<Self> {
        let Established {
            wire,
            product,
            version,
        } = handshake::connect(data)?;
        let mut session = Self {
            wire,
            product,
            version,
            transaction: [0; 8],
            snapshot: Snapshot::None,
            has_snapshots: None,
            has_graph_type: None,
            proven: None,
        };
        session.run(SETTINGS)?;
        Ok(session)
    }

    /// Sends a batch, which waits for locks no longer than `timeout`. The limit outlives a batch, so every batch sets it.
    fn send(&mut self, sql: &str, timeout: Duration) -> Result<()> {
        self.proven = None;
        let lock_timeout = timeout.as_millis().clamp(1, 2_147_483_647);
        let sql = format!("SET LOCK_TIMEOUT {lock_timeout} {sql}");
        let mut payload = Vec::with_capacity(22 + sql.len() * 2);
        // One header: the transaction that is open, and that one request is outstanding.
        payload.extend(22_u32.to_le_bytes());
        payload.extend(18_u32.to_le_bytes());
        payload.extend(2_u16.to_le_bytes());
        payload.extend(self.transaction);
        payload.extend(1_u32.to_le_bytes());
        payload.extend(sql.encode_utf16().flat_map(u16::to_le_bytes));
        self.wire.send(SQL_BATCH, &payload)
    }

    /// Starts the statement of a cursor: in a transaction of its own that ends with ROLLBACK, or in the snapshot. The
    /// statement is a text to the batch around it, so whatever it holds cannot keep the ROLLBACK from running.
    pub(crate) fn start(&mut self, statement: &str, timeout: Duration) -> Result<()> {
        let quoted = statement.replace('\'', "''");
        let execute = format!("EXECUTE sys.sp_executesql N'{quoted}'");
        let batch = match self.snapshot {
            Snapshot::None => format!("{CLEAN} BEGIN TRANSACTION {execute} {CLEAN}"),
            Snapshot::Open => execute,
            Snapshot::Failed => {
                return Err(Error::invalid_statement(
                    "an earlier error ended the snapshot that this statement belongs to",
                ));
            }
        };
        self.send(&batch, timeout)
    }

    /// The next thing in the answer that matters to a reader of rows, an error of the server's included: what follows
    /// that was read then, and the session can be used again if the error says so.
    pub(crate) fn event(&mut self, statement: Option<&str>) -> Result<Event> {
        for _ in 0..MAX_CHATTER {
            if self.wire.is_at_end()? {
                return Ok(Event::End);
            }
            match token(&mut self.wire)? {
                Token::Columns(columns) => return Ok(Event::Columns(columns)),
                Token::Row { nulls } => return Ok(Event::Row { nulls }),
                Token::Transaction(descriptor) => self.transaction = descriptor,
                Token::Error(error) => return Err(self.fail(error, statement)),
                // After an error this is never reached: `fail` reads the rest of the answer.
                Token::Failed => return Err(failed_without_error()),
                Token::Other => {}
                Token::PacketSize(size) => self.wire.set_packet_size(size),
                Token::LoginAccepted { .. } | Token::Routed | Token::Federation => {
                    return Err(malformed("an answer to a login"));
                }
            }
        }
        Err(untrue(&format!(
            "sent more than {MAX_CHATTER} messages without a row"
        )))
    }

    /// After an error: reads the rest of the answer, within bounds.
    fn fail(&mut self, error: ServerError, statement: Option<&str>) -> Error {
        if self.snapshot == Snapshot::Open {
            self.snapshot = Snapshot::Failed;
        }
        let error = error.into_error(statement);
        if !error.is_connection_usable() {
            return error;
        }
        for _ in 0..MAX_CHATTER {
            match self.wire.is_at_end() {
                Ok(true) => return error,
                Ok(false) => {}
                Err(_) => return error.connection_usable(false),
            }
            match token(&mut self.wire) {
                Ok(Token::Transaction(descriptor)) => self.transaction = descriptor,
                // Rows behind an error: a statement of several parts, which nobody reads to the end.
                Ok(Token::Columns(_) | Token::Row { .. }) => {
                    let stopped = self.wire.stop(STOPPING);
                    return error.connection_usable(stopped.is_ok());
                }
                Ok(_) => {}
                Err(_) => return error.connection_usable(false),
            }
        }
        error.connection_usable(false)
    }

    /// What a failed wait of a statement means. Where the statement is out of time, and the call is not, the server is
    /// told to stop, and the session can be used again.
    pub(crate) fn out_of_time(&mut self, error: Error) -> Error {
        if error.kind() != ErrorKind::Timeout || control::check().is_err() {
            return error;
        }
        let stopped = self.stop(STOPPING);
        let message = "the statement took longer than its timeout, and was stopped";
        Error::timeout(message).connection_usable(stopped.is_ok())
    }

    /// Stops what the server does for this session.
    pub(crate) fn stop(&mut self, within: Duration) -> Result<()> {
        self.wire.stop(within)?;
        // With XACT_ABORT an attention takes the transaction back, and what told so was not read.
        self.transaction = [0; 8];
        if self.snapshot == Snapshot::Open {
            self.snapshot = Snapshot::Failed;
        }
        Ok(())
    }

    /// Whether statements run in the transaction of a snapshot.
    pub(crate) fn in_snapshot(&self) -> bool {
        self.snapshot != Snapshot::None
    }

    /// Looks whether the connection is still there, before a statement is sent. If it ended while it was idle, the error
    /// is `ConnectionLost`: nothing was sent that could run twice, so the host may call again on a new connection. A
    /// session takes one request at a time, so the look is a round trip of its own.
    pub(crate) fn prove(&mut self, timeout: Duration) -> Result<()> {
        let is_proven = self.proven.is_some_and(|at| at.elapsed() <= PROVEN_FOR);
        // A new connection would not be in the snapshot of this one.
        if is_proven || self.in_snapshot() {
            return Ok(());
        }
        self.ping(timeout)
    }

    /// Has the server answer.
    pub(crate) fn ping(&mut self, timeout: Duration) -> Result<()> {
        self.ask("SELECT 1", timeout, |_| Ok(()))
    }

    /// Runs a batch of the connector's own that has no rows.
    fn run(&mut self, sql: &str) -> Result<()> {
        self.ask(sql, CATALOG_TIMEOUT, |_| Ok(()))
    }

    /// Runs a statement of the connector's own, and gives each row to `each`. A connection that is lost before the
    /// statement is sent is `ConnectionLost`; later errors go through [`Error::of_begun_statement`].
    pub(crate) fn rows(
        &mut self,
        sql: &str,
        each: impl FnMut(&TextRow) -> Result<()>,
    ) -> Result<()> {
        self.prove(CATALOG_TIMEOUT)?;
        self.ask(sql, CATALOG_TIMEOUT, each)
            .map_err(Error::of_begun_statement)
    }

    fn ask(
        &mut self,
        sql: &str,
        timeout: Duration,
        mut each: impl FnMut(&TextRow) -> Result<()>,
    ) -> Result<()> {
        let timeout = control::remaining().min(timeout);
        self.wire.set_deadline(Instant::now().checked_add(timeout));
        let outcome = self
            .send(sql, timeout)
            .and_then(|()| self.answer(&mut each));
        self.wire.set_deadline(None);
        if outcome.is_ok() {
            self.proven = Some(Instant::now());
        }
        outcome
    }

    fn answer(&mut self, each: &mut dyn FnMut(&TextRow) -> Result<()>) -> Result<()> {
        let mut columns: Vec<ColumnMeta> = Vec::new();
        let mut decoder = Decoder::new(MAX_CELL);
        let mut room = MAX_ANSWER;
        loop {
            match self.event(None)? {
                Event::Columns(described) => columns = described,
                Event::Row { nulls } => {
                    let mut row = TextRow { cells: Vec::new() };
                    decoder.begin_row(&mut self.wire, nulls, columns.len())?;
                    for (index, column) in columns.iter().enumerate() {
                        let mut value: Option<Value> = None;
                        if !decoder.is_null(index) {
                            decoder.cell(&mut self.wire, column, &mut value)?;
                        }
                        let text = value.and_then(text_of);
                        let size = text.as_ref().map_or(0, String::len) + 64;
                        room = room
                            .checked_sub(size)
                            .ok_or_else(|| untrue("sends rows without an end"))?;
                        row.cells.push(text);
                    }
                    // What follows stays unread, so the session ends with such an error.
                    each(&row).map_err(|error| error.connection_usable(false))?;
                }
                Event::End => return Ok(()),
            }
        }
    }

    /// Begins a snapshot where the database allows it.
    pub(crate) fn begin_snapshot(&mut self) -> Result<bool> {
        if !self.takes_snapshots()? {
            return Ok(false);
        }
        self.run(&format!(
            "{CLEAN} SET TRANSACTION ISOLATION LEVEL SNAPSHOT BEGIN TRANSACTION"
        ))?;
        self.snapshot = Snapshot::Open;
        Ok(true)
    }

    fn takes_snapshots(&mut self) -> Result<bool> {
        if let Some(known) = self.has_snapshots {
            return Ok(known);
        }
        let mut allowed = false;
        let sql = "SELECT snapshot_isolation_state FROM sys.databases WHERE database_id = DB_ID()";
        self.rows(sql, |row| {
            allowed = row.text(0) == "1";
            Ok(())
        })?;
        self.has_snapshots = Some(allowed);
        Ok(allowed)
    }

    /// Whether the server has graph tables, whose columns have a `graph_type`. SQL Server has them since 2017. Azure SQL
    /// has them too, and its version does not tell.
    pub(crate) fn has_graph_type(&mut self) -> Result<bool> {
        if let Some(known) = self.has_graph_type {
            return Ok(known);
        }
        let mut found = false;
        let sql = "SELECT COL_LENGTH(N'sys.columns', N'graph_type')";
        self.rows(sql, |row| {
            found = row.optional(0).is_some();
            Ok(())
        })?;
        self.has_graph_type = Some(found);
        Ok(found)
    }

    /// Ends the snapshot.
    pub(crate) fn end_snapshot(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.snapshot, Snapshot::None) {
            Snapshot::None => Ok(()),
            Snapshot::Open | Snapshot::Failed => self.run(&format!(
                "{CLEAN} SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
            )),
        }
    }
}

/// One row of a statement of the connector's own, as text.
pub(crate) struct TextRow {
    cells: Vec<Option<String>>,
}

impl TextRow {
    /// The cell, if it is not NULL.
    pub(crate) fn optional(&self, index: usize) -> Option<&str> {
        self.cells.get(index)?.as_deref()
    }

    /// The cell, empty for NULL.
    pub(crate) fn text(&self, index: usize) -> &str {
        self.optional(index).unwrap_or_default()
    }

    /// The cell as a number, if it is one.
    pub(crate) fn number<T: std::str::FromStr>(&self, index: usize) -> Option<T> {
        self.optional(index)?.parse().ok()
    }

    /// Whether the cell is true.
    pub(crate) fn is_true(&self, index: usize) -> bool {
        matches!(self.text(index), "1" | "true")
    }
}
