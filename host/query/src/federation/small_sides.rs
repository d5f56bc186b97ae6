//! The side of a join that is read first.
//!
//! DataFusion takes the one with fewer rows too, but it expects other numbers of rows than the order of the joins was
//! chosen by ([`estimates`]). Here both go by the same, so that the largest table of a chain is read last, with the
//! keys of all others.

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
        joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode},
    },
};

use super::estimates;

/// The rule of DataFusion behind which this one stands.
const BEFORE: &str = "join_selection";

/// Puts the smaller side of each join where it is read first, and lets that side begin first.
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

/// A join with its sides the other way round, if its right side is smaller; a cross join also as one that begins with its
/// left side.
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
    let Some(join) = node.downcast_ref::<CrossJoinExec>() else {
        return Ok(None);
    };
    // `CrossJoinExec` begins with its right side, which it reads last. That side could take the only connection of a
    // datasource, and keep it while the left one waits for it.
    let (left, right) = (Arc::clone(join.left()), Arc::clone(join.right()));
    let must_swap = rows(&left) > rows(&right);
    let join = NestedLoopJoinExec::try_new(left, right, None, &JoinType::Inner, None)?;
    match must_swap {
        true => join.swap_inputs().map(Some),
        false => Ok(Some(Arc::new(join))),
    }
}

/// Rows that an operator gives, roughly.
fn rows(plan: &Arc<dyn ExecutionPlan>) -> f64 {
    estimates::operator(plan).rows
}

#[cfg(test)]
mod tests {
    use datafusion::{
        arrow::datatypes::{DataType, Field, Schema},
        physical_plan::empty::EmptyExec,
    };

    use super::*;

    #[test]
    fn cross_join_begins_with_the_side_that_it_reads_first() {
        let table = |name: &str| -> Arc<dyn ExecutionPlan> {
            let field = Field::new(name, DataType::Int64, true);
            Arc::new(EmptyExec::new(Arc::new(Schema::new(vec![field]))))
        };
        let join = CrossJoinExec::new(table("a"), table("b"));
        let made = swapped(&join).unwrap().unwrap();
        let made = made.downcast_ref::<NestedLoopJoinExec>().unwrap();
        assert_eq!(made.left().schema().field(0).name(), "a");
        assert!(made.filter().is_none());
        assert_eq!(made.schema(), join.schema());
    }
}
