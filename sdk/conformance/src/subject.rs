//! What the kit needs of a host: a way to call one plugin, in the terms of the contract.
//!
//! The kit calls nothing else, so whoever can implement these traits can run it. `mindhost plugin test` implements them
//! over the host's real sandbox.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use mindhost_sdk::{
    Column, ColumnStatistics, ErrorKind, ServerInfo, StatisticsOptions, Table, TableRef, Value,
    model::{Event, Request},
    scanner::{Filter, Pushdown},
};
use serde_json::Map;
use tokio_util::sync::CancellationToken;

/// Connection data: an object of JSON.
pub type Data = Map<String, serde_json::Value>;

/// The bounds of one call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The host ends the call after this long, whatever the plugin does.
    pub timeout: Duration,
    /// Cancelled when the call shall end early.
    pub cancel: CancellationToken,
}

impl Call {
    /// A call that may take `timeout` and that nobody cancels.
    pub fn of(timeout: Duration) -> Self {
        Self {
            timeout,
            cancel: CancellationToken::new(),
        }
    }
}

/// What the host holds a plugin to; the kit asks for other limits than the usual ones where it looks at how they are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// `max-bytes` of `next`.
    pub batch_bytes: u32,
    /// `max-cell-bytes` of a statement.
    pub cell_bytes: u32,
    /// Linear memory of an instance.
    pub memory_bytes: u64,
}

impl Limits {
    /// Those that a host has by default.
    pub const USUAL: Self = Self {
        batch_bytes: 1 << 20,
        cell_bytes: 16 << 20,
        memory_bytes: 512 << 20,
    };
    /// Small batches and cells, so that small statements reach the limits.
    pub const NARROW: Self = Self {
        batch_bytes: 16 << 10,
        cell_bytes: 64 << 10,
        ..Self::USUAL
    };
    /// Less memory than a huge result has.
    pub const LEAN: Self = Self {
        memory_bytes: 128 << 20,
        ..Self::USUAL
    };
}

/// Why a call failed, as the host sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The plugin returned an error of this kind.
    Reported(ErrorKind),
    /// The plugin trapped, or returned what the contract does not allow. It costs the instance.
    Broken,
    /// The host's own time limit ran out before the plugin returned.
    TimedOut,
    /// The host cancelled the call.
    Cancelled,
    /// The plugin handed out a cell, batch or answer above the limit.
    TooLarge,
    /// The connection is gone: an earlier error said that it cannot be used again.
    Gone,
    /// The host refused by itself, before the plugin was asked.
    Host,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reported(kind) => f.write_str(kind_name(*kind)),
            Self::Broken => f.write_str("a broken contract"),
            Self::TimedOut => f.write_str("the host's time limit"),
            Self::Cancelled => f.write_str("the host's cancellation"),
            Self::TooLarge => f.write_str("a value above the host's limit"),
            Self::Gone => f.write_str("a connection that is gone"),
            Self::Host => f.write_str("a refusal of the host"),
        }
    }
}

/// A call that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Why.
    pub cause: Cause,
    /// What the host would show, without secrets.
    pub message: String,
    /// The engine's own code; empty when there is none.
    pub code: String,
    /// Where in the statement, in characters from 1.
    pub position: Option<u32>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.cause, self.message)?;
        match self.code.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", self.code),
        }
    }
}

/// Shorthand for what a call gives.
pub type Result<T> = std::result::Result<T, Failure>;

/// One batch of rows, as values whatever form it travelled in.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// One list a row, one value a column.
    pub values: Vec<Vec<Value>>,
    /// About how many bytes the rows take.
    pub bytes: usize,
}

/// What the host noticed beside the results, since it was asked last.
#[derive(Clone, Debug, Default)]
pub struct Noticed {
    /// Log lines of the plugin, cleaned of secrets.
    pub lines: Vec<String>,
    /// Why the sandbox refused something that the plugin tried.
    pub refusals: Vec<String>,
    /// Texts of the plugin in which the host found a configured secret and masked it.
    pub leaks: Vec<String>,
    /// Log lines above the limit, which were dropped.
    pub dropped_lines: u64,
}

/// What both kinds of plugin have.
#[async_trait]
pub trait Plugin: Send + Sync {
    /// The manifest.
    fn manifest(&self) -> &serde_json::Value;
    /// What was noticed since this was asked last.
    fn noticed(&self) -> Noticed;
    /// Waits until what was dropped is gone and has said its last word.
    async fn settle(&self);
}

/// A connector in its sandbox.
#[async_trait]
pub trait Connector: Plugin {
    /// A new connection in an instance of its own, never one that was used before.
    async fn open(&self, data: &Data, limits: Limits, call: &Call) -> Result<Box<dyn Connection>>;
    /// As [`Connector::open`], of a scanner: the source below the host's SQL.
    async fn open_source(
        &self,
        data: &Data,
        limits: Limits,
        call: &Call,
    ) -> Result<Box<dyn Source>>;
}

/// What a scan is asked for.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table.
    pub table: TableRef,
    /// Columns of the table, in the order in which they are wanted.
    pub columns: Vec<Column>,
    /// Those that `filter-support` did not answer with `no`.
    pub filters: Vec<Filter>,
    /// Given only where every filter is exact.
    pub limit: Option<u64>,
}

/// One source of a scanner, with any number of scans under way. Dropped, it ends in the background.
#[async_trait]
pub trait Source: Send {
    /// `source.tables`
    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>>;
    /// `source.columns`
    async fn columns(&mut self, table: &TableRef, call: &Call) -> Result<Vec<Column>>;
    /// `source.filter-support`
    async fn filter_support(
        &mut self,
        table: &TableRef,
        filters: &[Filter],
        call: &Call,
    ) -> Result<Vec<Pushdown>>;
    /// `source.scan` and `cursor.schema`; gives the number of the scan.
    async fn scan(&mut self, scan: &Scan, call: &Call) -> Result<u64>;
    /// `cursor.next`, until there is something or the end.
    async fn next(&mut self, scan: u64, max_rows: u32, call: &Call) -> Result<Option<Rows>>;
    /// `cursor.close`
    async fn close(&mut self, scan: u64, call: &Call) -> Result<()>;
}

/// One connection with at most one cursor. Dropped, it ends in the background.
#[async_trait]
pub trait Connection: Send {
    /// `connection.check`
    async fn check(&mut self, call: &Call) -> Result<ServerInfo>;
    /// `connection.tables`
    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>>;
    /// `connection.describe-tables`
    async fn describe_tables(&mut self, tables: &[TableRef], call: &Call) -> Result<Vec<Table>>;
    /// `connection.statistics`
    async fn statistics(
        &mut self,
        table: &TableRef,
        options: &StatisticsOptions,
        call: &Call,
    ) -> Result<Option<Vec<ColumnStatistics>>>;
    /// `connection.begin-snapshot`
    async fn begin_snapshot(&mut self, timeout: Duration, call: &Call) -> Result<bool>;
    /// `connection.end-snapshot`
    async fn end_snapshot(&mut self, call: &Call) -> Result<()>;
    /// `connection.query` and `cursor.schema`. The engine is told to stop by itself after `timeout`.
    async fn query(&mut self, text: &str, timeout: Duration, call: &Call) -> Result<Vec<Column>>;
    /// `cursor.next`, until there is something or the end.
    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Rows>>;
    /// `cursor.close`
    async fn close(&mut self, call: &Call) -> Result<()>;
}

/// A model provider in its sandbox.
#[async_trait]
pub trait Model: Plugin {
    /// `model.check`
    async fn check(&self, data: &Data, call: &Call) -> Result<String>;
    /// `model.models`
    async fn models(&self, data: &Data, call: &Call) -> Result<Vec<String>>;
    /// `model.start`
    async fn start(
        &self,
        data: &Data,
        request: Request,
        call: &Call,
    ) -> Result<Box<dyn Completion>>;
}

/// An answer under way. Dropped, it ends.
#[async_trait]
pub trait Completion: Send {
    /// `completion.next`
    async fn next(&mut self, call: &Call) -> Result<Option<Vec<Event>>>;
}

/// The name of a kind in the contract.
pub fn kind_name(kind: ErrorKind) -> &'static str {
    let (_, name) = KINDS
        .iter()
        .find(|(known, _)| *known == kind)
        .unwrap_or(&KINDS[0]);
    name
}

/// The kind of a name in the contract.
pub fn kind_named(name: &str) -> Option<ErrorKind> {
    let found = KINDS.iter().find(|(_, known)| *known == name);
    found.map(|(kind, _)| *kind)
}

const KINDS: [(ErrorKind, &str); 16] = [
    (ErrorKind::Internal, "internal"),
    (ErrorKind::InvalidConfig, "invalid-config"),
    (ErrorKind::Auth, "auth"),
    (ErrorKind::Unreachable, "unreachable"),
    (ErrorKind::Tls, "tls"),
    (ErrorKind::Denied, "denied"),
    (ErrorKind::NotFound, "not-found"),
    (ErrorKind::InvalidStatement, "invalid-statement"),
    (ErrorKind::Permission, "permission"),
    (ErrorKind::Cancelled, "cancelled"),
    (ErrorKind::Timeout, "timeout"),
    (ErrorKind::RateLimited, "rate-limited"),
    (ErrorKind::TooLarge, "too-large"),
    (ErrorKind::Unsupported, "unsupported"),
    (ErrorKind::ConnectionLost, "connection-lost"),
    (ErrorKind::Upstream, "upstream"),
];
