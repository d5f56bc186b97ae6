//! Joins by `IS NOT DISTINCT FROM`. A join of DataFusion compares NULLs of all its keys in one way, and two of its rules
//! put keys of both kinds into one join. There such keys are conditions in their place, which say themselves what they
//! mean of NULL.

use datafusion::{
    common::{
        NullEquality, Result,
        tree_node::{Transformed, TreeNode as _},
    },
    logical_expr::{Join, JoinType, LogicalPlan, Operator, binary_expr, utils::conjunction},
};

/// A join with its keys in its condition, if they make NULL equal to NULL.
pub fn as_condition(plan: LogicalPlan) -> Transformed<LogicalPlan> {
    match plan {
        LogicalPlan::Join(join) if is_null_safe(&join) => {
            let keys = join.on.into_iter();
            let keys = keys.map(|(a, b)| binary_expr(a, Operator::IsNotDistinctFrom, b));
            Transformed::yes(LogicalPlan::Join(Join {
                on: Vec::new(),
                filter: conjunction(keys.chain(join.filter)),
                null_equality: NullEquality::NullEqualsNothing,
                ..join
            }))
        }
        other => Transformed::no(other),
    }
}

/// A plan in which such a join stands alone: beside another inner join, and below a filter, its keys are conditions.
pub fn apart(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let is_there = plan.exists(|node| Ok(is_null_safe_inner(node)))?;
    if !is_there {
        return Ok(Transformed::no(plan));
    }
    plan.transform_up(|node| {
        let is_inner = is_inner(&node);
        if !is_inner && !matches!(node, LogicalPlan::Filter(_)) {
            return Ok(Transformed::no(node));
        }
        let has_neighbour = node.inputs().into_iter().any(self::is_inner);
        let node = node.map_children(|child| {
            Ok(match is_null_safe_inner(&child) {
                true => as_condition(child),
                false => Transformed::no(child),
            })
        })?;
        Ok(match is_inner && has_neighbour {
            true => node.transform_data(|node| Ok(as_condition(node)))?,
            false => node,
        })
    })
}

fn is_inner(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.join_type == JoinType::Inner)
}

fn is_null_safe_inner(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.join_type == JoinType::Inner && is_null_safe(join))
}

fn is_null_safe(join: &Join) -> bool {
    join.null_equality == NullEquality::NullEqualsNull && !join.on.is_empty()
}
