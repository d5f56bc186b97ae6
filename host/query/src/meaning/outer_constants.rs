//! Columns that have NULL beside what a filter or a join makes them.
//!
//! A column that a filter makes constant has NULL beside its constant above an outer join whose other side has no
//! match. So has a column that grouping sets omit in some groups, whether it is constant or equal to another one.
//! DataFusion takes them for constant and equal there too: it drops them from orders, and believes groups by them to
//! be sorted. So such an input stands below an operator that tells nothing of its columns.

use std::{fmt, sync::Arc};

use datafusion::{
    common::{
        JoinType, Result, Statistics,
        config::ConfigOptions,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{EquivalenceProperties, PhysicalExpr},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, StatisticsArgs,
        aggregates::AggregateExec,
        filter_pushdown::{FilterDescription, FilterPushdownPhase},
        joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec},
    },
};

use crate::plan_rules::with_children;

/// Puts the operator below outer joins and grouping sets.
#[derive(Debug)]
pub struct ForgetConstants;

impl PhysicalOptimizerRule for ForgetConstants {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            if has_grouping_sets(node.as_ref()) {
                return with_children(node, |_, child| {
                    Arc::new(VariableExec::new(Arc::clone(child))) as _
                });
            }
            let Some(optional) = optional_sides(node.as_ref()) else {
                return Ok(Transformed::no(node));
            };
            with_children(node, |index, child| {
                let known = child.properties().equivalence_properties().constants();
                match optional.get(index) == Some(&true) && !known.is_empty() {
                    true => Arc::new(VariableExec::new(Arc::clone(child))) as _,
                    false => Arc::clone(child),
                }
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "forget_constants"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether it makes the groups of ROLLUP, CUBE or GROUPING SETS.
fn has_grouping_sets(plan: &dyn ExecutionPlan) -> bool {
    plan.downcast_ref::<AggregateExec>()
        .is_some_and(|aggregate| aggregate.group_expr().has_grouping_set())
}

/// For a join, whether its left and its right side may have no match.
fn optional_sides(plan: &dyn ExecutionPlan) -> Option<[bool; 2]> {
    let join_type = if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        *join.join_type()
    } else if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        *join.join_type()
    } else {
        plan.downcast_ref::<SortMergeJoinExec>()?.join_type()
    };
    match join_type {
        JoinType::Left => Some([false, true]),
        JoinType::Right => Some([true, false]),
        JoinType::Full => Some([true, true]),
        _ => None,
    }
}

/// The same rows, about whose columns nothing is known.
#[derive(Debug)]
struct VariableExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl VariableExec {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let of = input.properties();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            of.partitioning.clone(),
            of.emission_type,
            of.boundedness,
        );
        Self {
            input,
            properties: Arc::new(properties),
        }
    }
}

impl DisplayAs for VariableExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VariableExec")
    }
}

impl ExecutionPlan for VariableExec {
    fn name(&self) -> &str {
        "VariableExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(match children.pop() {
            Some(input) => Arc::new(Self::new(input)),
            None => self,
        })
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let unknown = || Arc::new(Statistics::new_unknown(&self.schema()));
        Ok(inputs.first().cloned().unwrap_or_else(unknown))
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(filters, &self.children())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
