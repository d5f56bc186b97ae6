//! A connection to several datasources at once, for one statement after the other.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    QueryEngine,
    federation::{Budget, Keys, Report, Sources, SqlSource},
    plan::{Bounds, Tables},
    running::{self, Running},
};
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, ColumnStatistics, Connection, ServerInfo, Statement, StatisticsOptions,
    TableInfo, TableRef,
};

/// A connection over several datasources. Each statement opens connections of its own to them.
pub struct FederatedConnection {
    engine: Arc<QueryEngine>,
    sources: Vec<Arc<dyn SqlSource>>,
    report: Arc<Report>,
    keys: Keys,
    query: Option<Query>,
}

/// A running statement over the datasources.
struct Query {
    running: Running,
    /// Cancels what goes on in the datasources.
    _stop: DropGuard,
}

impl FederatedConnection {
    /// A connection that tells `report` what it does.
    pub fn new(
        engine: &Arc<QueryEngine>,
        sources: Vec<Arc<dyn SqlSource>>,
        report: Arc<Report>,
        keys: Keys,
    ) -> Self {
        Self {
            engine: Arc::clone(engine),
            sources,
            report,
            keys,
            query: None,
        }
    }

    /// What a statement plans with and reads from.
    fn members(&self, call: &Call) -> Arc<Sources> {
        let budget = Budget::new(self.engine.moved_rows, self.engine.moved_bytes);
        let report = Arc::clone(&self.report);
        let column_types = Arc::clone(&self.engine.column_types);
        let tasks = self.engine.tasks.clone();
        let sources = self.sources.clone();
        Sources::new(
            sources,
            call,
            report,
            self.keys,
            budget,
            column_types,
            tasks,
        )
    }
}

fn not_here() -> Error {
    Error::internal("several datasources together have no catalog")
}

#[async_trait]
impl Connection for FederatedConnection {
    /// None: several plugins serve it.
    fn digest(&self) -> &str {
        ""
    }

    async fn check(&mut self, _: &Call) -> Result<ServerInfo> {
        Err(not_here())
    }

    async fn tables(&mut self, _: &Call) -> Result<Vec<TableRef>> {
        Err(not_here())
    }

    async fn describe_tables(&mut self, _: &[TableRef], _: &Call) -> Result<Vec<TableInfo>> {
        Err(not_here())
    }

    async fn statistics(
        &mut self,
        _: &TableRef,
        _: &StatisticsOptions,
        _: &Call,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        Err(not_here())
    }

    /// False: each statement that is sent sees a state of its own datasource.
    async fn begin_snapshot(&mut self, _: Duration, _: &Call) -> Result<bool> {
        Ok(false)
    }

    async fn end_snapshot(&mut self, _: &Call) -> Result<()> {
        Ok(())
    }

    async fn query(&mut self, statement: &Statement, call: &Call) -> Result<Arc<[Column]>> {
        if self.query.is_some() {
            return Err(Error::internal("a statement runs on this connection"));
        }
        let engine = Arc::clone(&self.engine);
        // Ends with the statement, and with the call that began it.
        let cancel: CancellationToken = call.cancel.child_token();
        let stop = cancel.clone().drop_guard();
        let whole = Call {
            deadline: Instant::now() + statement.timeout,
            cancel,
            ..call.clone()
        };
        let first = self.sources.first().map_or("", |source| source.id());
        let bounds = Bounds::of(&engine, first, whole.clone());
        let tables = Tables::Several(self.members(&whole));
        let planned = running::plan(&engine, &statement.text, tables, bounds, call).await?;
        self.report.set_plan(planned.shown());
        let columns = Arc::clone(planned.columns());
        self.query = Some(Query {
            running: Running::start(&engine, planned)?,
            _stop: stop,
        });
        Ok(columns)
    }

    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        let query = self.query.as_mut();
        let query = query.ok_or_else(|| Error::internal("no statement runs on this connection"))?;
        let next = query.running.next(max_rows, call).await;
        if next.is_err() {
            self.query = None;
        }
        next
    }

    async fn close(&mut self, _: &Call) -> Result<()> {
        self.query = None;
        Ok(())
    }
}
