//! A connection to several datasources at once, for one statement after the other.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use tokio::{runtime::Handle, sync::mpsc, task::JoinHandle, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Budget, Report, Sources, SqlSource, sources::statement_id};
use crate::{
    QueryEngine,
    connection::{cancelled, panicked, timed_out},
    plan::{self, Bounds, Tables},
};
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, ColumnStatistics, Connection, ServerInfo, Statement, StatisticsOptions,
    TableInfo, TableRef,
};

/// Batches in the channel to the client. The statement waits for the client, so memory does not grow.
const BATCHES_AHEAD: usize = 1;

/// A connection over several datasources. Each statement opens connections of its own to them.
pub struct FederatedConnection {
    engine: Arc<QueryEngine>,
    sources: Vec<Arc<dyn SqlSource>>,
    report: Arc<Report>,
    running: Option<Running>,
}

/// A running statement.
struct Running {
    batches: mpsc::Receiver<Result<RecordBatch>>,
    task: JoinHandle<()>,
    ended: bool,
    /// The rest of a batch with more rows than requested.
    rest: Option<RecordBatch>,
    /// Cancels what goes on in the datasources.
    _stop: DropGuard,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FederatedConnection {
    /// A connection that tells `report` what it does.
    pub fn new(
        engine: &Arc<QueryEngine>,
        sources: Vec<Arc<dyn SqlSource>>,
        report: Arc<Report>,
    ) -> Self {
        Self {
            engine: Arc::clone(engine),
            sources,
            report,
            running: None,
        }
    }

    /// What a statement plans with and reads from.
    fn members(&self, call: &Call) -> Arc<Sources> {
        Arc::new(Sources {
            all: self.sources.clone(),
            main: Handle::current(),
            tasks: self.engine.tasks.clone(),
            call: call.clone(),
            id: statement_id(),
            report: Arc::clone(&self.report),
            budget: Budget::new(self.engine.moved_rows, self.engine.moved_bytes),
            known: Arc::clone(&self.engine.known_columns),
            names: std::sync::Mutex::default(),
        })
    }

    async fn finished(&mut self) -> Result<Option<Batch>> {
        let Some(running) = self.running.as_mut().filter(|running| !running.ended) else {
            return Ok(None);
        };
        running.ended = true;
        match (&mut running.task).await {
            Ok(()) => Ok(None),
            Err(error) => {
                self.running = None;
                Err(panicked(&error))
            }
        }
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
        if self.running.is_some() {
            return Err(Error::internal("a statement runs on this connection"));
        }
        let engine = Arc::clone(&self.engine);
        let handle = engine.handle()?.clone();
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
        let text = statement.text.clone();
        let planned = engine.tasks.track_future(handle.spawn_blocking(move || {
            Handle::current().block_on(plan::make(&text, tables, &bounds))
        }));
        let planned = tokio::select! {
            planned = planned => planned.map_err(|error| panicked(&error)).flatten()?,
            () = call.cancel.cancelled() => return Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => return Err(timed_out()),
        };
        self.report.set_plan(planned.shown());
        let columns = Arc::clone(planned.columns());
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let task = handle.spawn(engine.tasks.track_future(planned.run(sender)));
        self.running = Some(Running {
            batches,
            task,
            ended: false,
            rest: None,
            _stop: stop,
        });
        Ok(columns)
    }

    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        let running = self.running.as_mut();
        let running =
            running.ok_or_else(|| Error::internal("no statement runs on this connection"))?;
        let batch = match running.rest.take() {
            Some(rest) => rest,
            None => {
                let next = tokio::select! {
                    next = running.batches.recv() => next.transpose(),
                    () = call.cancel.cancelled() => Err(cancelled()),
                    () = tokio::time::sleep_until(call.deadline) => Err(timed_out()),
                };
                match next {
                    Ok(Some(batch)) => batch,
                    Ok(None) => return self.finished().await,
                    Err(error) => {
                        self.running = None;
                        return Err(error);
                    }
                }
            }
        };
        let max_rows = max_rows as usize;
        if batch.num_rows() <= max_rows {
            return Ok(Some(Batch::Arrow(batch)));
        }
        running.rest = Some(batch.slice(max_rows, batch.num_rows() - max_rows));
        Ok(Some(Batch::Arrow(batch.slice(0, max_rows))))
    }

    async fn close(&mut self, _: &Call) -> Result<()> {
        self.running = None;
        Ok(())
    }
}
