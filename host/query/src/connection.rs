//! A connection that runs SQL over the rows of a source.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    QueryEngine,
    execution::{self, Execution},
    plan::{Bounds, Tables},
    reader::{Reader, SourceReceiver},
    scans::Scans,
};
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, ColumnStatistics, Connection, ServerInfo, Statement, StatisticsOptions,
    TableInfo, TableRef, scanner::Source,
};

/// How long the scans of a statement may take to end before they are cancelled.
const SCAN_END_TIMEOUT: Duration = Duration::from_millis(500);

/// A connection over a source.
pub struct QueryConnection {
    engine: Arc<QueryEngine>,
    /// Id of the target, for fair scheduling.
    target: String,
    digest: String,
    /// Absent while a statement runs, and after one that lost it.
    source: Option<Box<dyn Source>>,
    query: Option<Query>,
    /// The plan of the first statement, and its scans.
    explained: Option<(String, Scans)>,
}

/// A running statement over the source.
struct Query {
    execution: Execution,
    returned: SourceReceiver,
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
            query: None,
            explained: None,
        }
    }

    fn source(&mut self) -> Result<&mut Box<dyn Source>> {
        self.source.as_mut().ok_or_else(gone)
    }
}

#[async_trait]
impl Connection for QueryConnection {
    fn digest(&self) -> &str {
        &self.digest
    }

    fn plan(&self) -> Option<String> {
        let (plan, scans) = self.explained.as_ref()?;
        Some(format!("{plan}{}", scans.lines()))
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
        if self.query.is_some() {
            return Err(Error::internal("a statement runs on this connection"));
        }
        let engine = Arc::clone(&self.engine);
        let source = self.source.take().ok_or_else(gone)?;
        let cancel = CancellationToken::new();
        let stop = cancel.clone().drop_guard();
        let whole = Call::new(statement.timeout, cancel);
        let (reader, returned) = Reader::start(source, &statement.id, whole.clone(), &engine.tasks);
        let bounds = Bounds::of(&engine, &self.target, whole);
        let scans = reader.scans().clone();
        let tables = Tables::Reader(reader);
        let planned = match execution::plan(&engine, &statement.text, tables, bounds, call).await {
            Ok(planned) => planned,
            Err(error) if call.cancel.is_cancelled() => return Err(error),
            Err(error) => {
                self.wait_for_source(returned, call).await;
                return Err(error);
            }
        };
        let columns = Arc::clone(planned.columns());
        self.explained
            .get_or_insert_with(|| (planned.shown(), scans));
        self.query = Some(Query {
            execution: Execution::start(&engine, planned)?,
            returned,
            stop,
        });
        Ok(columns)
    }

    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        let query = self.query.as_mut().ok_or_else(gone)?;
        let next = query.execution.next(max_rows, call).await;
        if next.is_err() {
            self.close(call).await?;
        }
        next
    }

    async fn close(&mut self, call: &Call) -> Result<()> {
        let Some(query) = self.query.take() else {
            return Ok(());
        };
        // The scans end with the task, and the source is returned when the last one closes. If one is in a long call,
        // it is cancelled and the source is dropped.
        drop(query.execution);
        self.wait_for_source(query.returned, call).await;
        drop(query.stop);
        Ok(())
    }
}

impl QueryConnection {
    /// Takes the source back, unless its scans take too long to end.
    async fn wait_for_source(&mut self, returned: SourceReceiver, call: &Call) {
        let wait = SCAN_END_TIMEOUT.min(call.remaining());
        self.source = timeout(wait, returned).await.ok().and_then(Result::ok);
    }
}

fn gone() -> Error {
    Error::internal("the connection is gone: an earlier statement on it was cancelled or failed")
}
