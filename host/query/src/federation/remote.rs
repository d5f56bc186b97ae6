//! The operator that reads the rows of one statement from its datasource.

use std::{
    convert::Infallible,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use datafusion::{
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    common::{
        Result, Statistics, config::ConfigOptions, stats::Precision, tree_node::TreeNodeRecursion,
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{EquivalenceProperties, PhysicalExpr},
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
        execution_plan::{Boundedness, EmissionType},
        filter_pushdown::{
            ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
        },
        statistics::StatisticsArgs,
        stream::RecordBatchStreamAdapter,
    },
};
use futures_util::stream;
use tokio::sync::{mpsc, oneshot};

use super::{
    SqlSource,
    cut::MAX_BYTES,
    dynamic_filters::{Columns, DynamicFilters, dynamic_filters, is_about, that_fit},
    estimates::Estimate,
    expressions::Value,
    receive,
    select::Select,
    sources::{Sources, Turn, statement_id},
};
use crate::errors::external;
use mindhost_base::{
    error::{Error, Result as HostResult},
    locks::lock,
};
use mindhost_plugin_api::{Batch, Call, Column, Connection, Statement};

/// Rows that are asked of a datasource at once.
const ROWS_AT_ONCE: u32 = 8_192;
/// Batches that a datasource may be ahead of the statement.
const BATCHES_AHEAD: usize = 2;
/// A statement over tables with fewer rows is sent at once, and not with what a join may become known as: keys save less
/// than it costs to wait for them, and a chain of joins with names of codes would be read one after the other. Conditions
/// of its own do not count: what they leave may be a guess, and keys leave less.
const FEW_ROWS: f64 = 100.0;

/// Reads the rows of one statement.
#[derive(Clone)]
pub struct RemoteExec {
    sources: Arc<Sources>,
    select: Arc<Select>,
    schema: SchemaRef,
    /// Its index in the report.
    index: usize,
    /// Conditions above it with values of subqueries, which are known when it begins.
    values: Vec<Arc<dyn PhysicalExpr>>,
    /// Filters that joins above it will know when they have read their other side.
    filters: Vec<Arc<dyn PhysicalExpr>>,
    properties: Arc<PlanProperties>,
}

impl RemoteExec {
    /// The operator for a statement whose rows have this schema.
    pub fn new(sources: Arc<Sources>, select: Arc<Select>, schema: SchemaRef) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let name = sources
            .all
            .get(select.source)
            .map_or("", |source| source.name());
        let index = sources.recorder.add(name, &select.text());
        Self {
            sources,
            select,
            schema,
            index,
            values: Vec::new(),
            filters: Vec::new(),
            properties: Arc::new(properties),
        }
    }

    /// The same with conditions that stay above it; `None` if it has no use for them.
    pub fn with_values(&self, conditions: Vec<Arc<dyn PhysicalExpr>>) -> Option<Self> {
        (!conditions.is_empty() && self.takes_conditions()).then(|| Self {
            values: conditions,
            ..self.clone()
        })
    }

    fn takes_conditions(&self) -> bool {
        self.select.takes_filters() && self.select.estimate.of >= FEW_ROWS
    }

    /// What it gives, roughly.
    pub fn estimate(&self) -> Estimate {
        self.select.estimate
    }

    /// Distinct values of a column, if the catalog knows them.
    pub fn distinct(&self, place: usize) -> Option<f64> {
        self.select.distinct.get(place).copied().flatten()
    }

    fn job(&self) -> Result<Job> {
        let source = self.sources.all.get(self.select.source).cloned();
        let source = source
            .ok_or_else(|| external(Error::internal("a statement without its datasource")))?;
        Ok(Job {
            sources: Arc::clone(&self.sources),
            source,
            select: Arc::clone(&self.select),
            schema: Arc::clone(&self.schema),
            index: self.index,
            filters: self.values.iter().chain(&self.filters).cloned().collect(),
        })
    }
}

impl fmt::Debug for RemoteExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteExec({})", self.index)
    }
}

impl DisplayAs for RemoteExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self
            .sources
            .all
            .get(self.select.source)
            .map_or("", |source| source.name());
        write!(f, "RemoteExec: datasource={name}, statement={}", self.index)?;
        for (name, filters) in [
            ("subqueries", self.values.len()),
            ("joins", self.filters.len()),
        ] {
            if filters > 0 {
                write!(f, ", filters_from_{name}={filters}")?;
            }
        }
        Ok(())
    }
}

impl ExecutionPlan for RemoteExec {
    fn name(&self) -> &str {
        "RemoteExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for filter in self.values.iter().chain(&self.filters) {
            visit(filter)?;
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema);
        let rows = self.select.estimate.rows.clamp(0.0, 1e15) as usize;
        statistics.num_rows = Precision::Inexact(rows);
        statistics.total_byte_size =
            Precision::Inexact(rows.saturating_mul(32 * self.schema.fields().len().max(1)));
        Ok(Arc::new(statistics))
    }

    /// Takes the filters that a join will know. It promises nothing: the join tests each row.
    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let filters: Vec<_> = result
            .parent_filters
            .into_iter()
            .map(|filter| filter.filter)
            .collect();
        let unsure = vec![PushedDown::No; filters.len()];
        let taken = FilterPushdownPropagation::with_parent_pushdown_result(unsure);
        if !matches!(phase, FilterPushdownPhase::Post) || !self.takes_conditions() {
            return Ok(taken);
        }
        let filters = filters
            .into_iter()
            .filter(|filter| is_about(filter, &self.schema));
        let mut told = self.clone();
        told.filters.extend(filters);
        Ok(taken.with_updated_node(Arc::new(told)))
    }

    /// Sends the statement at once, unless a join will know more when it reads the first row.
    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (job, turn) = (self.job()?, self.sources.turn());
        let reading = match self.filters.is_empty() {
            true => ReadStage::Open(job.start(turn)),
            false => ReadStage::Later(Box::new(job), turn),
        };
        let batches = stream::unfold(reading, next);
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            batches,
        )))
    }
}

/// What it takes to read the rows of a statement.
struct Job {
    sources: Arc<Sources>,
    source: Arc<dyn SqlSource>,
    select: Arc<Select>,
    schema: SchemaRef,
    index: usize,
    filters: Vec<Arc<dyn PhysicalExpr>>,
}

type BatchResult = HostResult<(Batch, Arc<[Column]>)>;

/// The rows of a running statement. The drop ends it, down to the engine.
struct StatementRows {
    batches: mpsc::Receiver<BatchResult>,
    /// Whether all rows were sent.
    is_whole: Arc<AtomicBool>,
    /// Dropped when the first of them is waited for.
    unread: Option<oneshot::Sender<Infallible>>,
    sources: Arc<Sources>,
    name: String,
    id: String,
    schema: SchemaRef,
}

enum ReadStage {
    Later(Box<Job>, Turn),
    Open(StatementRows),
    End,
}

async fn next(reading: ReadStage) -> Option<(Result<RecordBatch>, ReadStage)> {
    let mut open = match reading {
        ReadStage::End => return None,
        ReadStage::Open(open) => open,
        ReadStage::Later(job, turn) => job.start(turn),
    };
    open.unread = None;
    let received = match open.batches.recv().await {
        Some(received) => received,
        None if open.is_whole.load(Ordering::Acquire) => return None,
        None => Err(Error::internal(
            "a task that reads rows ended before they did",
        )),
    };
    let converted = received
        .and_then(|(batch, columns)| receive::batch(&batch, &columns, &open.schema, &open.name));
    Some(match converted {
        Ok(batch) => (Ok(batch), ReadStage::Open(open)),
        Err(error) => {
            open.sources.column_types.forget(&open.id);
            (Err(external(error)), ReadStage::End)
        }
    })
}

impl Job {
    fn start(self, turn: Turn) -> StatementRows {
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let (unread, read) = oneshot::channel();
        let is_whole = Arc::new(AtomicBool::new(false));
        let open = StatementRows {
            batches,
            is_whole: Arc::clone(&is_whole),
            unread: Some(unread),
            sources: Arc::clone(&self.sources),
            name: self.source.name().to_owned(),
            id: self.source.id().to_owned(),
            schema: Arc::clone(&self.schema),
        };
        // Conditions are about the columns of what they stand in.
        let select = match self.filters.is_empty() {
            true => (*self.select).clone(),
            false => (*self.select).clone().open(&mut lock(&self.sources.names)),
        };
        let about = |values: &[Option<Value>]| {
            let columns = Columns {
                dialect: select.dialect,
                schema: &self.schema,
                values,
            };
            dynamic_filters(&self.filters, columns)
        };
        // Nothing is sent, and the stream is at its end.
        if about(&[]) == DynamicFilters::Empty {
            is_whole.store(true, Ordering::Release);
            return open;
        }
        let mut room = MAX_BYTES.saturating_sub(select.text().len());
        let select = select
            .clone()
            .with_conditions(|values| match about(values) {
                DynamicFilters::Empty => Vec::new(),
                DynamicFilters::Conditions(conditions) => that_fit(conditions, &mut room),
            });
        let (tasks, main) = (self.sources.tasks.clone(), self.sources.main.clone());
        let texts = StatementTexts::new(select.text(), self.select.text());
        let run = async move {
            if self.run(texts, sender.clone(), (turn, read)).await {
                is_whole.store(true, Ordering::Release);
            }
            drop(sender);
        };
        tasks.spawn_on(run, &main);
        open
    }

    /// Runs until the end, an error, or until the reader is dropped. Returns whether it came to the end.
    async fn run(
        self,
        texts: StatementTexts,
        sender: mpsc::Sender<BatchResult>,
        turn: (Turn, oneshot::Receiver<Infallible>),
    ) -> bool {
        let call = Call {
            cancel: self.sources.call.cancel.child_token(),
            ..self.sources.call.clone()
        };
        let read = tokio::select! {
            read = self.read(&texts, &sender, &call, turn) => read,
            // Dropping the connection in the middle of a call cancels the statement down to the engine.
            () = sender.closed() => return false,
        };
        match read {
            Ok(()) => true,
            Err(error) => {
                drop(sender.send(Err(error)).await);
                false
            }
        }
    }

    async fn read(
        &self,
        texts: &StatementTexts,
        sender: &mpsc::Sender<BatchResult>,
        call: &Call,
        (turn, read): (Turn, oneshot::Receiver<Infallible>),
    ) -> HostResult<()> {
        let first = turn.take(read, self.source.open(call)).await?;
        let sent = self.send(&texts.keyed, first, call).await;
        let sent = match (sent, &texts.plain) {
            (Err(error), Some(plain)) if lacks_character(&error) => {
                let again = self.source.open(call).await?;
                self.send(plain, again, call).await
            }
            (sent, _) => sent,
        };
        let (mut connection, columns) = sent?;
        receive::check(&columns, &self.schema, self.source.name())?;
        while let Some(batch) = connection.next(ROWS_AT_ONCE, call).await? {
            let (rows, bytes) = (batch.rows() as u64, batch.bytes() as u64);
            self.sources.recorder.received(self.index, rows, bytes);
            self.sources.budget.take(rows, bytes)?;
            if rows > 0
                && sender
                    .send(Ok((batch, Arc::clone(&columns))))
                    .await
                    .is_err()
            {
                return Ok(());
            }
        }
        connection.close(call).await
    }

    /// Sends a statement. Returns its connection and the columns of its rows.
    async fn send(
        &self,
        sql: &str,
        mut connection: Box<dyn Connection>,
        call: &Call,
    ) -> HostResult<OpenStatement> {
        let text = self.source.guard(sql).map_err(|error| {
            tracing::error!(%error, sql, "the guard refuses a statement that the host made");
            error
        })?;
        let visible_sql = match self.source.is_policed() {
            true => sql,
            false => &text,
        };
        self.sources.recorder.sent(self.index, visible_sql);
        let statement = Statement {
            text,
            id: statement_id(),
            timeout: call.remaining(),
        };
        let columns = connection.query(&statement, call).await?;
        Ok((connection, columns))
    }
}

/// A statement that runs, and the columns of its rows.
type OpenStatement = (Box<dyn Connection>, Arc<[Column]>);

/// The texts of one statement.
struct StatementTexts {
    /// With the keys that joins found.
    keyed: String,
    /// Without them, to be sent if the character set of the engine lacks characters of the keys. The join tests every row
    /// anyway.
    plain: Option<String>,
}

impl StatementTexts {
    fn new(keyed: String, plain: String) -> Self {
        let beyond_ascii = |text: &str| text.bytes().filter(|byte| !byte.is_ascii()).count();
        let is_refusable = beyond_ascii(&keyed) > beyond_ascii(&plain);
        Self {
            plain: is_refusable.then_some(plain),
            keyed,
        }
    }
}

/// Whether the engine could not read a statement, because its character set lacks a character of it. PostgreSQL says so
/// of texts (`untranslatable_character`) and of names (`character_not_in_repertoire`).
fn lacks_character(error: &Error) -> bool {
    matches!(error.engine_code(), Some("22P05" | "22021"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_beyond_ascii_may_be_refused() {
        let plain = "SELECT 1 FROM t";
        for (keyed, expected) in [
            (plain, None),
            ("SELECT 1 FROM t WHERE a IN ('b')", None),
            ("SELECT 1 FROM t WHERE a IN ('日本')", Some(plain)),
        ] {
            let texts = StatementTexts::new(keyed.to_owned(), plain.to_owned());
            assert_eq!(texts.plain.as_deref(), expected, "{keyed}");
        }
    }
}
