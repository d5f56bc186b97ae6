//! Statements over several datasources: DataFusion plans them, and each datasource gets what it can do itself as SQL of
//! its own dialect.
//!
//! The plan is optimised first, then cut ([`cut`]): the largest parts that lie within one datasource, and whose
//! expressions mean the same there ([`dialects`]), become one statement each ([`select`]). Such a statement is guarded
//! like a caller's before it is sent ([`SqlSource::guard`]). Where cells may have other types than their columns,
//! groups look at the cells that they read ([`cells`]); where groups may be finer than the host's, it puts them
//! together ([`merged_groups`]). The order of joins follows from what the catalog knows of the tables ([`estimates`]).
//! Sources are read at the same time ([`remote`]); what one side of a join has become known by then is sent to the
//! other as a filter ([`dynamic_filters`]).
//!
//! Why not `datafusion-federation` and DataFusion's unparser: with several sources the first pushes nothing down but whole
//! subplans of one source, before the optimiser has moved filters there; and the second writes whatever the plan says in
//! the words of a dialect, also where that dialect computes something else.

mod cells;
mod cut;
mod dialects;
mod dynamic_filters;
mod estimates;
mod existence;
mod expressions;
mod group_keys;
mod key_filters;
mod kinds;
mod literals;
mod merged_groups;
mod planner;
mod receive;
mod regroup;
mod remote;
mod select;
mod small_sides;
mod sources;
mod subquery_values;

use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use serde::Serialize;

pub(crate) use planner::{cut_plan, planner};
pub(crate) use small_sides::{single_rows_first, small_sides_first};
pub use sources::Keys;
pub(crate) use sources::{Catalogs, ColumnTypes, Sources};
pub(crate) use subquery_values::told_subquery_values;

use super::spill::StatementDisk;
use mindhost_base::{error::Result, locks::lock};
use mindhost_plugin_api::{Call, ColumnStatistics, Connection, Dialect, TableRef};

/// A datasource that takes part in a statement.
#[async_trait]
pub trait SqlSource: Send + Sync {
    /// Id of the datasource.
    fn id(&self) -> &str;
    /// Its name, by which the statement knows it.
    fn name(&self) -> &str;
    /// What it speaks.
    fn dialect(&self) -> Dialect;
    /// The columns of a table as its catalog has them; empty if it has not loaded them.
    fn columns(&self, table: &TableRef) -> Vec<String>;
    /// The same for all who see the same columns of a table with the same types.
    fn fingerprint(&self, _table: &TableRef) -> u64 {
        0
    }
    /// Whether policies change the statements, so that what is sent is not for the caller.
    fn is_policed(&self) -> bool {
        false
    }
    /// Rows of a table, counted or estimated, if the catalog knows.
    fn row_count(&self, table: &TableRef) -> Option<u64>;
    /// What the values of the columns of a table are like, if the catalog knows. Decides how a statement is run, and
    /// nothing of its result.
    fn statistics(&self, _table: &TableRef) -> &[ColumnStatistics] {
        &[]
    }
    /// Passes a statement through the guard, in the dialect of this datasource and for its tables alone. Returns the
    /// text that may be sent.
    ///
    /// # Errors
    /// A `sql_*` code.
    fn guard(&self, sql: &str) -> Result<String>;
    /// A connection of its own.
    ///
    /// # Errors
    /// As for any connection.
    async fn open(&self, call: &Call) -> Result<Box<dyn Connection>>;
}

/// What a statement over several datasources did: its plan, and what went to which of them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ExecutionReport {
    /// The plan of the host, a line an operator.
    pub plan: String,
    /// The statements that were sent, in the order of the plan.
    pub sources: Vec<SourceStatement>,
    /// Bytes that the host wrote to its disk, because its memory for the statement was used up.
    pub spilled_bytes: u64,
}

/// One statement that was sent to a datasource.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SourceStatement {
    /// Name of the datasource.
    pub datasource: String,
    /// The statement as its engine got it; as it was planned if it was not sent, or if a table of it has a policy.
    pub executed_query: String,
    /// Whether it was sent: a part of a plan that turns out to be empty is not.
    pub sent: bool,
    /// Rows that came back so far.
    pub rows: u64,
    /// Bytes that came back so far, as the host holds them.
    pub bytes: u64,
}

/// Collects the report of a statement while it runs.
#[derive(Debug, Default)]
pub struct Recorder {
    report: Mutex<ExecutionReport>,
    /// What the statement keeps on disk.
    disk: OnceLock<Arc<StatementDisk>>,
}

impl Recorder {
    /// What is known now.
    pub fn report(&self) -> ExecutionReport {
        let written = self.disk.get().map_or(0, |disk| disk.written());
        ExecutionReport {
            spilled_bytes: written as u64,
            ..lock(&self.report).clone()
        }
    }

    pub(crate) fn planned(&self, plan: String, disk: Option<&Arc<StatementDisk>>) {
        lock(&self.report).plan = plan;
        if let Some(disk) = disk {
            self.disk.get_or_init(|| Arc::clone(disk));
        }
    }

    /// Adds a statement that may be sent. Returns its index.
    fn add(&self, datasource: &str, sql: &str) -> usize {
        let mut report = lock(&self.report);
        report.sources.push(SourceStatement {
            datasource: datasource.to_owned(),
            executed_query: sql.to_owned(),
            ..SourceStatement::default()
        });
        report.sources.len() - 1
    }

    fn sent(&self, index: usize, sql: &str) {
        if let Some(sent) = lock(&self.report).sources.get_mut(index) {
            sql.clone_into(&mut sent.executed_query);
            sent.sent = true;
        }
    }

    fn received(&self, index: usize, rows: u64, bytes: u64) {
        if let Some(sent) = lock(&self.report).sources.get_mut(index) {
            sent.rows += rows;
            sent.bytes += bytes;
        }
    }
}

/// What a statement may move into the host.
#[derive(Debug)]
pub(crate) struct Budget {
    rows: u64,
    bytes: u64,
    moved: Mutex<(u64, u64)>,
}

impl Budget {
    pub(crate) fn new(rows: u64, bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            rows,
            bytes,
            moved: Mutex::default(),
        })
    }

    /// Counts a batch.
    ///
    /// # Errors
    /// `result_too_large` when it is too much.
    fn take(&self, rows: u64, bytes: u64) -> Result<()> {
        let mut moved = lock(&self.moved);
        moved.0 = moved.0.saturating_add(rows);
        moved.1 = moved.1.saturating_add(bytes);
        if moved.0 <= self.rows && moved.1 <= self.bytes {
            return Ok(());
        }
        Err(mindhost_base::error::Error::new(
            mindhost_base::error::Code::ResultTooLarge,
            format!(
                "the statement moves more than {} rows or {} MiB out of its datasources (plugins.query_moved_rows, \
                 plugins.query_moved_bytes); filter or group more in each of them",
                self.rows,
                self.bytes >> 20
            ),
        ))
    }
}
