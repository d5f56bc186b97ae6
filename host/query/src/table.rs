//! A DataFusion table over any scan source.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use datafusion::{
    arrow::datatypes::SchemaRef,
    catalog::{Session, TableProvider},
    common::Result,
    execution::{SendableRecordBatchStream, TaskContext},
    logical_expr::{Expr, TableProviderFilterPushDown, TableType},
    physical_plan::{
        ExecutionPlan,
        stream::RecordBatchStreamAdapter,
        streaming::{PartitionStream, StreamingTableExec},
    },
};
use futures_util::{StreamExt as _, stream::BoxStream};

use super::{decode, errors::external, filters};
use mindhost_base::error::Result as HostResult;
use mindhost_plugin_api::{
    Batch, Column, DataType,
    scanner::{Filter, Pushdown},
};

/// The source of one table's rows. The engine knows only this trait, so a statement can use tables of several
/// datasources.
pub trait ScanSource: fmt::Debug + Send + Sync {
    /// One result per filter. Called during planning, on a thread that may block.
    fn filter_support(&self, filters: &[Filter]) -> HostResult<Vec<Pushdown>>;
    /// A stream of rows with these columns. Reads nothing before the first poll; the drop ends the scan. With `is_count`
    /// only the number of rows matters.
    fn scan(
        &self,
        columns: Arc<[Column]>,
        filters: Vec<Filter>,
        limit: Option<u64>,
        is_count: bool,
    ) -> BoxStream<'static, HostResult<Batch>>;
}

/// A table over a scan source.
#[derive(Debug)]
pub struct ScannedTable {
    columns: Arc<[Column]>,
    schema: SchemaRef,
    rows: Arc<dyn ScanSource>,
}

impl ScannedTable {
    /// A table with these columns.
    pub fn new(columns: Arc<[Column]>, rows: Arc<dyn ScanSource>) -> Self {
        Self {
            schema: decode::schema(&columns),
            columns,
            rows,
        }
    }
}

#[async_trait]
impl TableProvider for ScannedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let translated: Vec<_> = filters
            .iter()
            .map(|filter| filters::translate(filter, &self.columns))
            .collect();
        let asked: Vec<_> = translated.iter().flatten().cloned().collect();
        let answers = match asked.is_empty() {
            true => Vec::new(),
            false => self.rows.filter_support(&asked).map_err(external)?,
        };
        let mut answers = answers.into_iter();
        let support = |filter: Option<Filter>| match filter.and_then(|_| answers.next()) {
            Some(Pushdown::Exact) => TableProviderFilterPushDown::Exact,
            Some(Pushdown::Inexact) => TableProviderFilterPushDown::Inexact,
            Some(Pushdown::No) | None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(translated.into_iter().map(support).collect())
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let wanted: Vec<usize> = match projection {
            Some(projection) => projection.clone(),
            None => (0..self.columns.len()).collect(),
        };
        let schema = Arc::new(self.schema.project(&wanted)?);
        // The contract knows no scan without columns.
        let is_count = wanted.is_empty();
        let asked = match is_count {
            true => vec![cheapest(&self.columns)],
            false => wanted,
        };
        let columns = asked.iter().filter_map(|index| self.columns.get(*index));
        let filters = filters
            .iter()
            .filter_map(|filter| filters::translate(filter, &self.columns));
        let part = ScanPartition {
            schema: Arc::clone(&schema),
            columns: columns.cloned().collect(),
            filters: filters.collect(),
            limit: limit.map(|limit| limit as u64),
            is_count,
            rows: Arc::clone(&self.rows),
        };
        let exec =
            StreamingTableExec::try_new(schema, vec![Arc::new(part)], None, [], false, limit)?;
        Ok(Arc::new(exec))
    }
}

/// The column to read if a statement only counts rows.
fn cheapest(columns: &[Column]) -> usize {
    let cost = |column: &Column| match column.data_type {
        DataType::Boolean => 0,
        DataType::Date => 1,
        DataType::Int64 | DataType::Uint64 | DataType::Float64 => 2,
        DataType::Time | DataType::Timestamp | DataType::TimestampUtc => 3,
        DataType::Decimal => 4,
        DataType::Text | DataType::Any => 5,
        DataType::Json | DataType::Bytes => 6,
    };
    let all = columns.iter().enumerate();
    all.min_by_key(|(_, column)| cost(column))
        .map_or(0, |(index, _)| index)
}

/// The only partition of a scan.
#[derive(Debug)]
struct ScanPartition {
    /// The projected schema; without columns if the statement only counts rows.
    schema: SchemaRef,
    /// The columns to read.
    columns: Arc<[Column]>,
    filters: Vec<Filter>,
    limit: Option<u64>,
    is_count: bool,
    rows: Arc<dyn ScanSource>,
}

impl PartitionStream for ScanPartition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let batches = self.rows.scan(
            Arc::clone(&self.columns),
            self.filters.clone(),
            self.limit,
            self.is_count,
        );
        let (columns, schema) = (Arc::clone(&self.columns), Arc::clone(&self.schema));
        let converted = batches.map(move |batch| {
            batch
                .and_then(|batch| decode::batch(batch, &columns, &schema))
                .map_err(external)
        });
        Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            converted,
        ))
    }
}
