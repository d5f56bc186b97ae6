//! The side of a join that is read first.
//!
//! DataFusion takes the one with fewer rows too, but it expects other numbers of rows than the order of the joins was
//! chosen by ([`estimates`]). Here both go by the same, so that the largest table of a chain is read last, with the
//! keys of all others.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _},
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan,
        joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode},
    },
};

use super::estimates;

/// The rule of DataFusion behind which this one stands.
const BEFORE: &str = "join_selection";

/// Puts the smaller side of each join where it is read first.
#[derive(Debug)]
pub struct SmallSidesFirst;

impl SmallSidesFirst {
    /// The rules of the physical plan with this one.
    pub fn among(
        rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>,
    ) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
        let mut all = Vec::with_capacity(rules.len() + 1);
        for rule in rules {
            let is_before = rule.name() == BEFORE;
            all.push(rule);
            if is_before {
                all.push(Arc::new(Self));
            }
        }
        all
    }
}

impl PhysicalOptimizerRule for SmallSidesFirst {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            Ok(match swapped(node.as_ref())? {
                Some(swapped) => Transformed::yes(swapped),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "small_sides_first"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A join with its sides the other way round, if its right side is smaller.
fn swapped(node: &dyn ExecutionPlan) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        let can_swap = join.join_type().supports_swap() && !join.null_aware;
        return match can_swap && rows(join.left()) > rows(join.right()) {
            true => join.swap_inputs(PartitionMode::CollectLeft).map(Some),
            false => Ok(None),
        };
    }
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        let can_swap = join.join_type().supports_swap();
        return match can_swap && rows(join.left()) > rows(join.right()) {
            true => join.swap_inputs().map(Some),
            false => Ok(None),
        };
    }
    match node.downcast_ref::<CrossJoinExec>() {
        Some(join) if rows(join.left()) > rows(join.right()) => join.swap_inputs().map(Some),
        _ => Ok(None),
    }
}

/// Rows that an operator gives, roughly.
fn rows(plan: &Arc<dyn ExecutionPlan>) -> f64 {
    estimates::operator(plan).rows
}
