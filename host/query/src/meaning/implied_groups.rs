//! Groups of a subquery by columns that another one determines. Where a table has groups of its own, DataFusion adds its
//! other columns to a GROUP BY that has its key. It then refuses a value of groups by columns that are not compared with
//! the statement around it. Without these columns the groups are the same.

use std::{collections::HashSet, sync::Arc};

use datafusion::{
    common::{
        Column, Result,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion},
    },
    logical_expr::{
        Aggregate, Expr, LogicalPlan, Subquery,
        logical_plan::builder::add_group_by_exprs_from_dependencies, utils::split_conjunction,
    },
};

/// A subquery that stands for a value, without such columns in its GROUP BY.
pub fn removed(subquery: Subquery) -> Result<Subquery> {
    if subquery.outer_ref_columns.is_empty() {
        return Ok(subquery);
    }
    let compared = compared(&subquery.subquery)?;
    let plan = Arc::unwrap_or_clone(subquery.subquery);
    Ok(Subquery {
        subquery: Arc::new(fewer_groups(plan, &compared, HashSet::new())?),
        ..subquery
    })
}

/// The columns that are compared with the statement around the subquery.
fn compared(plan: &LogicalPlan) -> Result<HashSet<Column>> {
    let mut compared = HashSet::new();
    plan.apply(|node| {
        if let LogicalPlan::Filter(filter) = node {
            let conditions = split_conjunction(&filter.predicate);
            for condition in conditions.into_iter().filter(|one| one.contains_outer()) {
                compared.extend(condition.column_refs().into_iter().cloned());
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(compared)
}

/// `used`: the columns that stand above this operator.
fn fewer_groups(
    plan: LogicalPlan,
    compared: &HashSet<Column>,
    mut used: HashSet<Column>,
) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Aggregate(aggregate) => {
            of_keys(aggregate, compared, &used).map(LogicalPlan::Aggregate)
        }
        LogicalPlan::Projection(_) | LogicalPlan::Filter(_) => {
            plan.apply_expressions(|expr| {
                used.extend(expr.column_refs().into_iter().cloned());
                Ok(TreeNodeRecursion::Continue)
            })?;
            plan.map_children(|child| {
                fewer_groups(child, compared, used.clone()).map(Transformed::yes)
            })?
            .map_data(LogicalPlan::recompute_schema)
            .data()
        }
        other => Ok(other),
    }
}

fn of_keys(
    aggregate: Aggregate,
    compared: &HashSet<Column>,
    used: &HashSet<Column>,
) -> Result<Aggregate> {
    let (keys, others): (Vec<Expr>, Vec<Expr>) =
        aggregate.group_expr.iter().cloned().partition(|group| {
            let columns = group.column_refs();
            !columns.is_empty() && columns.iter().all(|column| compared.contains(*column))
        });
    if keys.is_empty() || others.is_empty() {
        return Ok(aggregate);
    }
    let implied = add_group_by_exprs_from_dependencies(keys.clone(), aggregate.input.schema())?;
    let is_unused = |group: &Expr| matches!(group, Expr::Column(column) if !used.contains(column));
    let are_needless = others
        .iter()
        .all(|group| is_unused(group) && implied.contains(group));
    match are_needless {
        true => Aggregate::try_new(aggregate.input, keys, aggregate.aggr_expr),
        false => Ok(aggregate),
    }
}
