//! Why the value of a subquery is none that DataFusion can join with the statement around it.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion},
    },
    logical_expr::{
        BinaryExpr, Distinct, Expr, LogicalPlan, Operator, Subquery, utils::split_conjunction,
    },
};

use super::lifted_lookups::has_subquery;
use crate::errors;
use mindhost_base::error::{Code, Error};

const COMPARED: &str = "a (SELECT …) that stands for a value compares with the statement around it by `=` alone here, \
                        each side of the `=` with columns of one of them; not by `<`, LIKE, IN, IS NOT DISTINCT FROM, \
                        OR or NOT; join its table with LEFT JOIN … ON that condition, and GROUP BY";
const JOINED: &str = "a (SELECT …) that stands for a value uses the columns of the statement around it in its WHERE and \
                      in its value here, not in an ON of its own; write the condition into its WHERE";
const AGGREGATED: &str = "a (SELECT …) that stands for a value uses the columns of the statement around it in none of \
                          its aggregates here, not in its GROUP BY and not in its ORDER BY; compute that outside of \
                          it, as in x * (SELECT sum(y) …), or join its table with LEFT JOIN, and GROUP BY";
const CUT: &str = "a (SELECT …) that depends on the statement around it and stands for a value has no UNION, no OFFSET \
                   and no LIMIT here, but for ORDER BY … LIMIT 1 without aggregates, groups and DISTINCT; give it an \
                   aggregate alone, (SELECT max(x) …), or number the rows with row_number() OVER (PARTITION BY … \
                   ORDER BY …) in a table of a LEFT JOIN";
const LATERAL: &str = "a LATERAL table with an aggregate compares columns of its own with the tables around it by `=` alone \
                       here; join its table ON that condition in place of LATERAL, and GROUP BY";

/// Refuses an optimised plan in which such a subquery is still one, if the reason can be told.
pub fn check(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if let Expr::ScalarSubquery(subquery) = part
                    && let Some(why) = reason(subquery)?
                {
                    return Err(errors::external(Error::new(Code::SqlNotSupported, why)));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(())
}

/// An optimised plan in which a LATERAL table that depends on no table around it is a table like any other. A condition
/// that is constantly false has taken its other conditions away, and DataFusion only joins it by those.
pub fn independent(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up(|node| match node {
        LogicalPlan::Subquery(table) if !depends(&table.subquery)? => {
            Ok(Transformed::yes(Arc::unwrap_or_clone(table.subquery)))
        }
        other => Ok(Transformed::no(other)),
    })
    .data()
}

/// Whether a plan has a column of a table around it.
fn depends(plan: &LogicalPlan) -> Result<bool> {
    let found = plan.apply_with_subqueries(|node| {
        Ok(match node.contains_outer_reference() {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(matches!(found, TreeNodeRecursion::Stop))
}

fn reason(subquery: &Subquery) -> Result<Option<&'static str>> {
    let mut why = None;
    if subquery.outer_ref_columns.is_empty() {
        return Ok(why);
    }
    subquery.subquery.apply(|node| {
        why = match node {
            LogicalPlan::Filter(filter) => has_others([&filter.predicate]).then_some(COMPARED),
            LogicalPlan::TableScan(scan) => has_others(&scan.filters).then_some(COMPARED),
            LogicalPlan::Join(join) => match has_others(&join.filter) {
                true => Some(COMPARED),
                false => node.contains_outer_reference().then_some(JOINED),
            },
            LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) | LogicalPlan::Sort(_) => {
                node.contains_outer_reference().then_some(AGGREGATED)
            }
            LogicalPlan::Limit(_)
            | LogicalPlan::Union(_)
            | LogicalPlan::Distinct(Distinct::On(_)) => {
                (!node.all_out_ref_exprs().is_empty()).then_some(CUT)
            }
            _ => None,
        };
        Ok(match why {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(why)
}

/// Refuses a LATERAL table whose aggregates would be of other rows behind the join with the tables around it. DataFusion
/// says of it that it has no such columns.
pub fn check_lateral(node: &LogicalPlan) -> Result<()> {
    // A subquery that stands for a value is one too, but within an expression.
    for input in node.inputs() {
        if let LogicalPlan::Subquery(table) = input
            && aggregates_otherwise(&table.subquery, is_of_column)?
        {
            return Err(errors::external(Error::new(Code::SqlNotSupported, LATERAL)));
        }
    }
    Ok(())
}

/// Refuses a subquery that stands for such an aggregate: of some tables DataFusion says the same of it.
pub fn check_value(part: &Expr) -> Result<()> {
    match part {
        Expr::ScalarSubquery(value) if aggregates_otherwise(&value.subquery, is_equality)? => Err(
            errors::external(Error::new(Code::SqlNotSupported, COMPARED)),
        ),
        _ => Ok(()),
    }
}

/// Whether a table has an aggregate over rows that are compared with those around it by other conditions.
fn aggregates_otherwise(table: &LogicalPlan, is_joined: fn(&Expr) -> bool) -> Result<bool> {
    let compares_otherwise = |node: &LogicalPlan| match node {
        LogicalPlan::Filter(filter) => split_conjunction(&filter.predicate)
            .into_iter()
            .any(|condition| condition.contains_outer() && !is_joined(condition)),
        _ => false,
    };
    table.exists(|node| match node {
        LogicalPlan::Aggregate(aggregate) if !aggregate.aggr_expr.is_empty() => aggregate
            .input
            .exists(|below| Ok(compares_otherwise(below))),
        _ => Ok(false),
    })
}

/// Whether a column equals something of the tables around it.
fn is_of_column(condition: &Expr) -> bool {
    let is_column = |side: &Expr| match side {
        Expr::Cast(cast) => matches!(*cast.expr, Expr::Column(_)),
        other => matches!(other, Expr::Column(_)),
    };
    match condition {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq,
            right,
        }) => {
            is_column(left) && !right.any_column_refs()
                || is_column(right) && !left.any_column_refs()
        }
        _ => false,
    }
}

fn has_others<'a>(conditions: impl IntoIterator<Item = &'a Expr>) -> bool {
    let mut all = conditions.into_iter().flat_map(split_conjunction);
    all.any(|condition| condition.contains_outer() && !is_equality(condition))
}

/// Whether something of the subquery equals something of the outer statement, or the condition is about that alone: it is
/// compared with what is true of the subquery, then.
pub fn is_equality(condition: &Expr) -> bool {
    let is_outer = |side: &Expr| side.contains_outer() && !side.any_column_refs();
    match condition {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq,
            right,
        }) if is_outer(left) && !right.contains_outer()
            || is_outer(right) && !left.contains_outer() =>
        {
            true
        }
        other => is_outer(other) && matches!(has_subquery(other), Ok(false)),
    }
}
