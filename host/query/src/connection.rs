//! A connection that runs SQL over the rows of a source.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    QueryEngine,
    plan::{self, Bounds, Tables},
    reader::{Reader, Returned},
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, ColumnStatistics, Connection, ServerInfo, Statement, StatisticsOptions,
    TableInfo, TableRef, scanner::Source,
};

/// Batches in the channel to the client. The statement waits for the client, so memory does not grow.
const BATCHES_AHEAD: usize = 1;
/// How long the scans of a statement may take to end before they are cancelled.
const FAREWELL: Duration = Duration::from_millis(500);

/// A connection over a source.
pub struct QueryConnection {
    engine: Arc<QueryEngine>,
    /// Id of the target, for fair scheduling.
    target: String,
    digest: String,
    /// Absent while a statement runs, and after one that lost it.
    source: Option<Box<dyn Source>>,
    running: Option<Running>,
}

/// A running statement.
struct Running {
    batches: mpsc::Receiver<Result<RecordBatch>>,
    task: JoinHandle<()>,
    /// Whether its end has been read.
    ended: bool,
    /// The rest of a batch with more rows than requested.
    rest: Option<RecordBatch>,
    returned: Returned,
    /// Cancels the calls of the source.
    stop: DropGuard,
}

impl QueryConnection {
    /// A connection that holds the source until it is dropped.
    pub fn new(engine: &Arc<QueryEngine>, target: &str, source: Box<dyn Source>) -> Self {
        Self {
            engine: Arc::clone(engine),
            target: target.to_owned(),
            digest: source.digest().to_owned(),
            source: Some(source),
            running: None,
        }
    }

    fn source(&mut self) -> Result<&mut Box<dyn Source>> {
        self.source.as_mut().ok_or_else(gone)
    }

    /// Cancels the running statement at once.
    fn abandon(&mut self) {
        if let Some(running) = self.running.take() {
            running.task.abort();
        }
    }
}

#[async_trait]
impl Connection for QueryConnection {
    fn digest(&self) -> &str {
        &self.digest
    }

    async fn check(&mut self, call: &Call) -> Result<ServerInfo> {
        self.source()?.check(call).await
    }

    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>> {
        self.source()?.tables(call).await
    }

    async fn describe_tables(
        &mut self,
        tables: &[TableRef],
        call: &Call,
    ) -> Result<Vec<TableInfo>> {
        self.source()?.describe_tables(tables, call).await
    }

    /// None: the host samples engines without statistics.
    async fn statistics(
        &mut self,
        _: &TableRef,
        _: &StatisticsOptions,
        _: &Call,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        Ok(None)
    }

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
        let source = self.source.take().ok_or_else(gone)?;
        let cancel = CancellationToken::new();
        let stop = cancel.clone().drop_guard();
        let whole = Call::new(statement.timeout, cancel);
        let (reader, returned) = Reader::start(source, &statement.id, whole.clone(), &engine.tasks);
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let bounds = Bounds::of(&engine, &self.target, whole);
        let text = statement.text.clone();
        // On a thread that may block: planning waits for filter support, and does not yield.
        let planned = engine.tasks.track_future(async move {
            let blocking = handle.clone();
            let plan = blocking.spawn_blocking(move || {
                tokio::runtime::Handle::current().block_on(plan::make(
                    &text,
                    Tables::Reader(reader),
                    &bounds,
                ))
            });
            (handle, plan.await)
        });
        let (handle, plan) = tokio::select! {
            planned = planned => planned,
            () = call.cancel.cancelled() => return Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => return Err(timed_out()),
        };
        let planned = match plan.map_err(|error| panicked(&error)).flatten() {
            Ok(planned) => planned,
            Err(error) => {
                self.source = timeout(FAREWELL, returned)
                    .await
                    .ok()
                    .and_then(|back| back.ok());
                return Err(error);
            }
        };
        let columns = Arc::clone(planned.columns());
        let task = handle.spawn(engine.tasks.track_future(planned.run(sender)));
        self.running = Some(Running {
            batches,
            task,
            ended: false,
            rest: None,
            returned,
            stop,
        });
        Ok(columns)
    }

    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        let running = self.running.as_mut().ok_or_else(gone)?;
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
                        self.close(call).await?;
                        return Err(error);
                    }
                }
            }
        };
        let max_rows = max_rows as usize;
        if batch.num_rows() <= max_rows {
            return Ok(Some(Batch::Arrow(batch)));
        }
        if let Some(running) = &mut self.running {
            running.rest = Some(batch.slice(max_rows, batch.num_rows() - max_rows));
        }
        Ok(Some(Batch::Arrow(batch.slice(0, max_rows))))
    }

    async fn close(&mut self, call: &Call) -> Result<()> {
        let Some(running) = self.running.take() else {
            return Ok(());
        };
        let Running {
            batches,
            task,
            returned,
            stop,
            ..
        } = running;
        drop(batches);
        task.abort();
        // The scans end with the task, and the source is returned when the last one closes. If one is in a long call,
        // it is cancelled and the source is dropped.
        let wait = FAREWELL.min(call.remaining());
        if let Ok(Ok(source)) = timeout(wait, returned).await {
            self.source = Some(source);
        }
        drop(stop);
        Ok(())
    }
}

impl QueryConnection {
    /// Handles the closed channel: the statement ended, or its task panicked.
    async fn finished(&mut self) -> Result<Option<Batch>> {
        let Some(running) = self.running.as_mut().filter(|running| !running.ended) else {
            return Ok(None);
        };
        running.ended = true;
        match (&mut running.task).await {
            Ok(()) => Ok(None),
            Err(error) => {
                self.abandon();
                Err(panicked(&error))
            }
        }
    }
}

impl Drop for QueryConnection {
    fn drop(&mut self) {
        self.abandon();
    }
}

pub(crate) fn panicked(error: &tokio::task::JoinError) -> Error {
    Error::new(
        Code::SqlNotSupported,
        "the statement cannot be run in the way it is written; write it more plainly",
    )
    .with_source(error.to_string())
}

fn gone() -> Error {
    Error::internal("the connection is gone: an earlier statement on it was cancelled or failed")
}

pub(crate) fn cancelled() -> Error {
    Error::new(Code::Cancelled, "the call was cancelled")
}

pub(crate) fn timed_out() -> Error {
    Error::new(
        Code::Timeout,
        "the time limit ran out; simplify the statement or raise the time limit",
    )
}
