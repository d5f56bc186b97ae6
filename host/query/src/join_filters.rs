//! Filters of joins that check the deadline and take turns.
//!
//! A join compares until it has a batch. Where its filter lets little through, that takes as long as the statement, and
//! the operator does not return in between: so its filter, which it evaluates for some thousand pairs at a time, checks
//! the deadline and pauses for other statements.

use std::{fmt, hash, sync::Arc};

use datafusion::{
    arrow::{
        array::RecordBatch,
        datatypes::{DataType, FieldRef, Schema},
    },
    common::{Result, config::ConfigOptions},
    logical_expr::ColumnarValue,
    physical_expr::PhysicalExpr,
    physical_plan::{
        ExecutionPlan,
        joins::{HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder, utils::JoinFilter},
    },
};

use super::{scheduler::Share, slow_functions::check_deadline};

/// The join with a filter that can be interrupted; none for other operators, and for joins without a filter.
///
/// # Errors
/// When the join cannot be built again.
pub fn interruptible(
    node: &Arc<dyn ExecutionPlan>,
    share: &Arc<Share>,
    options: &Arc<ConfigOptions>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let wrapped = |filter: &JoinFilter| {
        let filter = JoinFilter::new(
            Arc::new(Interruptible {
                inner: Arc::clone(filter.expression()),
                share: Arc::clone(share),
                options: Arc::clone(options),
            }),
            filter.column_indices().to_vec(),
            Arc::clone(filter.schema()),
        );
        Some(filter)
    };
    if let Some(join) = node.downcast_ref::<HashJoinExec>()
        && let Some(filter) = join.filter()
    {
        let join = join.builder().with_filter(wrapped(filter)).build()?;
        return Ok(Some(Arc::new(join)));
    }
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>()
        && let Some(filter) = join.filter()
    {
        let join = NestedLoopJoinExecBuilder::from(join).with_filter(wrapped(filter));
        return Ok(Some(Arc::new(join.build()?)));
    }
    Ok(None)
}

/// A filter that checks the deadline and pauses before each evaluation.
#[derive(Debug)]
struct Interruptible {
    inner: Arc<dyn PhysicalExpr>,
    share: Arc<Share>,
    options: Arc<ConfigOptions>,
}

impl PartialEq for Interruptible {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for Interruptible {}

impl hash::Hash for Interruptible {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl fmt::Display for Interruptible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PhysicalExpr for Interruptible {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.inner.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.inner.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        check_deadline(&self.options)?;
        self.share.pause();
        self.inner.evaluate(batch)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.inner.return_field(schema)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(match children.pop() {
            Some(inner) => Arc::new(Self {
                inner,
                share: Arc::clone(&self.share),
                options: Arc::clone(&self.options),
            }),
            None => self,
        })
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}
