//! The side of a join that is read first.
//!
//! DataFusion takes the one with fewer rows too, but without statistics of columns it expects of a join as few rows as
//! its smaller side has. What a small table was joined with then counts as small, is read first, and no later side can
//! tell it its keys. Here a join has as many rows of its larger side as its conditions leave of the smaller one, so the
//! largest table of a chain is read last, with the keys of all others.

use std::sync::Arc;

use datafusion::{
    common::{
        JoinType, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _},
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan,
        aggregates::AggregateExec,
        filter::FilterExec,
        joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode},
    },
};

use super::{
    remote::RemoteExec,
    select::{GROUPED, SELECTIVITY},
};

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
    estimate(plan).rows
}

/// A guess of what an operator gives.
#[derive(Clone, Copy)]
struct Estimate {
    rows: f64,
    /// Of so many, which conditions and limits left.
    of: f64,
}

impl Estimate {
    fn share(self) -> f64 {
        (self.rows / self.of).min(1.0)
    }

    fn larger(self, other: Self) -> Self {
        if self.rows < other.rows { other } else { self }
    }

    fn times(self, share: f64) -> Self {
        Self {
            rows: (self.rows * share).max(1.0),
            ..self
        }
    }
}

fn estimate(plan: &Arc<dyn ExecutionPlan>) -> Estimate {
    if let Some(remote) = plan.downcast_ref::<RemoteExec>() {
        let (rows, of) = remote.rows();
        return Estimate { rows, of };
    }
    let inputs: Vec<Estimate> = plan.children().into_iter().map(estimate).collect();
    let one = Estimate { rows: 1.0, of: 1.0 };
    let most = inputs.iter().copied().fold(one, Estimate::larger);
    let (Some(first), Some(last)) = (inputs.first(), inputs.last()) else {
        return one;
    };
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return joined(*join.join_type(), *first, *last);
    }
    if plan.is::<CrossJoinExec>() || plan.is::<NestedLoopJoinExec>() {
        return most.times(inputs.iter().map(|input| input.rows).product::<f64>() / most.rows);
    }
    let share = match plan.downcast_ref::<AggregateExec>() {
        Some(aggregate) if aggregate.group_expr().is_empty() => 0.0,
        Some(_) => GROUPED,
        None if plan.is::<FilterExec>() => SELECTIVITY,
        None => 1.0,
    };
    let limit = plan.fetch().map_or(f64::MAX, |rows| rows as f64);
    let left = most.times(share);
    Estimate {
        rows: left.rows.min(limit),
        ..left
    }
}

/// The rows of a join by keys.
fn joined(join_type: JoinType, left: Estimate, right: Estimate) -> Estimate {
    match join_type {
        // A key of the larger side is among those of the smaller one if no condition left it out there.
        JoinType::Inner if left.rows < right.rows => right.times(left.share()),
        JoinType::Inner | JoinType::LeftSemi => left.times(right.share()),
        JoinType::RightSemi => right.times(left.share()),
        JoinType::LeftAnti | JoinType::LeftMark => left,
        JoinType::RightAnti | JoinType::RightMark => right,
        _ => left.larger(right),
    }
}
