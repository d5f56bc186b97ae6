//! A statement that runs: planned on a thread that may block, run by a task, read batch by batch.

use datafusion::arrow::array::RecordBatch;
use tokio::{
    runtime::Handle,
    sync::mpsc,
    task::{JoinError, JoinHandle},
};

use super::{
    QueryEngine,
    plan::{self, Bounds, StatementPlan, Tables},
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{Batch, Call};

/// Batches in the channel to the client. The statement waits for the client, so memory does not grow.
const BATCHES_AHEAD: usize = 1;

/// A running statement. Dropping it ends its task.
pub(crate) struct Execution {
    batches: mpsc::Receiver<Result<RecordBatch>>,
    task: JoinHandle<()>,
    /// Whether its end has been read.
    ended: bool,
    /// The rest of a batch with more rows than requested.
    rest: Option<RecordBatch>,
}

/// Plans a statement within the time of `call`. `bounds` hold the limits of the statement itself.
pub(crate) async fn plan(
    engine: &QueryEngine,
    text: &str,
    tables: Tables,
    bounds: Bounds,
    call: &Call,
) -> Result<StatementPlan> {
    let handle = engine.handle()?;
    let text = text.to_owned();
    // On a thread that may block: planning waits for the sources, and does not yield.
    let planned =
        engine.tasks.track_future(handle.spawn_blocking(move || {
            Handle::current().block_on(plan::make(&text, tables, &bounds))
        }));
    tokio::select! {
        planned = planned => planned.map_err(|error| panicked(&error)).flatten(),
        () = call.cancel.cancelled() => Err(cancelled()),
        () = tokio::time::sleep_until(call.deadline) => Err(call.timed_out()),
    }
}

impl Execution {
    /// Runs a planned statement.
    pub(crate) fn start(engine: &QueryEngine, planned: StatementPlan) -> Result<Self> {
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let task = engine.tasks.track_future(planned.run(sender));
        Ok(Self {
            batches,
            task: engine.handle()?.spawn(task),
            ended: false,
            rest: None,
        })
    }

    /// The next rows; none at the end. After an error the statement is of no use.
    pub(crate) async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match self.receive(call).await? {
                Some(batch) => batch,
                None => return self.finish().await.map(|()| None),
            },
        };
        let max_rows = max_rows as usize;
        if batch.num_rows() <= max_rows {
            return Ok(Some(Batch::Arrow(batch)));
        }
        self.rest = Some(batch.slice(max_rows, batch.num_rows() - max_rows));
        Ok(Some(Batch::Arrow(batch.slice(0, max_rows))))
    }

    async fn receive(&mut self, call: &Call) -> Result<Option<RecordBatch>> {
        tokio::select! {
            next = self.batches.recv() => next.transpose(),
            () = call.cancel.cancelled() => Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => Err(call.timed_out()),
        }
    }

    /// Handles the closed channel: the statement ended, or its task panicked.
    async fn finish(&mut self) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        self.ended = true;
        (&mut self.task).await.map_err(|error| panicked(&error))
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn panicked(error: &JoinError) -> Error {
    Error::new(
        Code::SqlNotSupported,
        "the statement cannot be run in the way it is written; write it more plainly",
    )
    .with_source(error.to_string())
}

fn cancelled() -> Error {
    Error::new(Code::Cancelled, "the call was cancelled")
}
