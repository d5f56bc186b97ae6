//! A connection to several datasources at once, for one statement after the other.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    QueryEngine,
    execution::{self, Execution},
    federation::{Budget, Keys, Recorder, Sources, SqlSource},
    plan::{Bounds, Tables},
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
    recorder: Arc<Recorder>,
    keys: Keys,
    query: Option<Query>,
}

/// A running statement over the datasources.
struct Query {
    execution: Execution,
    /// Cancels what goes on in the datasources.
    _stop: DropGuard,
}

impl FederatedConnection {
    /// A connection that tells `recorder` what it does.
    pub fn new(
        engine: &Arc<QueryEngine>,
        sources: Vec<Arc<dyn SqlSource>>,
        recorder: Arc<Recorder>,
        keys: Keys,
    ) -> Self {
        Self {
            engine: Arc::clone(engine),
            sources,
            recorder,
            keys,
            query: None,
        }
    }

    /// What a statement plans with and reads from.
    fn members(&self, call: &Call) -> Arc<Sources> {
        let budget = Budget::new(self.engine.moved_rows, self.engine.moved_bytes);
        let recorder = Arc::clone(&self.recorder);
        let column_types = Arc::clone(&self.engine.column_types);
        let tasks = self.engine.tasks.clone();
        let sources = self.sources.clone();
        Sources::new(
            sources,
            call,
            recorder,
            self.keys,
            budget,
            column_types,
            tasks,
        )
    }
}

fn no_catalog() -> Error {
    Error::internal("several datasources together have no catalog")
}

#[async_trait]
impl Connection for FederatedConnection {
    /// None: several plugins serve it.
    fn digest(&self) -> &str {
        ""
    }

    async fn check(&mut self, _: &Call) -> Result<ServerInfo> {
        Err(no_catalog())
    }

    async fn tables(&mut self, _: &Call) -> Result<Vec<TableRef>> {
        Err(no_catalog())
    }

    async fn describe_tables(&mut self, _: &[TableRef], _: &Call) -> Result<Vec<TableInfo>> {
        Err(no_catalog())
    }

    async fn statistics(
        &mut self,
        _: &TableRef,
        _: &StatisticsOptions,
        _: &Call,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        Err(no_catalog())
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
        let planned = execution::plan(&engine, &statement.text, tables, bounds, call).await?;
        self.recorder.planned(planned.shown(), planned.disk());
        let columns = Arc::clone(planned.columns());
        self.query = Some(Query {
            execution: Execution::start(&engine, planned)?,
            _stop: stop,
        });
        Ok(columns)
    }

    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        let query = self.query.as_mut();
        let query = query.ok_or_else(|| Error::internal("no statement runs on this connection"))?;
        let next = query.execution.next(max_rows, call).await;
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
