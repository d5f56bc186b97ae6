//! Subqueries that depend on the statement around them, of which DataFusion makes joins.

use std::sync::Arc;

use datafusion::{
    common::{Column, DFSchema, Result, tree_node::TreeNode as _},
    logical_expr::{
        Distinct, Expr, JoinType, LogicalPlan, LogicalPlanBuilder, Subquery,
        expr::{Exists, InSubquery, SetComparison},
    },
};

use super::{correlated_keys, implied_groups, no_rows, unknown::COMPARED};
use crate::errors;
use mindhost_base::error::{Code, Error};

/// A subquery whose conditions about the outer statement are about columns of names of their own. DataFusion makes a
/// join of it, and finds these columns by their name alone: the first one, where two tables have it.
pub fn unambiguous(expr: Expr) -> Result<Expr> {
    Ok(match expr {
        Expr::Exists(Exists { subquery, negated }) => {
            check_rows(&subquery)?;
            check_limits(&subquery)?;
            let subquery = correlated_keys::named(subquery, false)?;
            Expr::Exists(Exists { subquery, negated })
        }
        Expr::InSubquery(InSubquery {
            expr,
            subquery,
            negated,
        }) => {
            check_rows(&subquery)?;
            let subquery = with_plain_column(correlated_keys::named(subquery, false)?)?;
            Expr::InSubquery(InSubquery::new(expr, subquery, negated))
        }
        Expr::SetComparison(comparison) => {
            check_rows(&comparison.subquery)?;
            check_limits(&comparison.subquery)?;
            let subquery = with_own_value(correlated_keys::named(comparison.subquery, false)?)?;
            Expr::SetComparison(SetComparison {
                subquery,
                ..comparison
            })
        }
        Expr::ScalarSubquery(subquery) => {
            check_windows(&subquery)?;
            check_joins(&subquery)?;
            let subquery = implied_groups::removed(subquery)?;
            no_rows::or_null(correlated_keys::named(subquery, true)?)
        }
        other => other,
    })
}

/// Refuses a subquery that uses columns which the rows right around it do not have: the join with these rows would not
/// find them.
pub fn check_reach(part: &Expr, schema: &DFSchema) -> Result<()> {
    let subquery = match part {
        Expr::Exists(exists) => &exists.subquery,
        Expr::InSubquery(one_of) => &one_of.subquery,
        Expr::SetComparison(comparison) => &comparison.subquery,
        Expr::ScalarSubquery(subquery) => subquery,
        _ => return Ok(()),
    };
    let is_far = |outer: &Expr| match outer {
        Expr::OuterReferenceColumn(_, column) => !schema.has_column(column),
        _ => false,
    };
    refuse_if(
        subquery.outer_ref_columns.iter().any(is_far),
        "a subquery uses columns of the statement right around it alone here, and behind GROUP BY those that are \
         grouped by, not those of a statement further out; join the tables of the subqueries into one",
    )
}

/// Refuses a subquery that would mean something else as a join.
fn refuse_if(means_another: bool, why: &str) -> Result<()> {
    match means_another {
        true => Err(errors::external(Error::new(Code::SqlNotSupported, why))),
        false => Ok(()),
    }
}

/// Refuses what has one row even where nothing matches, and would have none as a join.
fn check_rows(subquery: &Subquery) -> Result<()> {
    let has_always_one = subquery.subquery.exists(|node| {
        Ok(match node {
            LogicalPlan::Aggregate(aggregate) => {
                aggregate.group_expr.is_empty() && !aggregate.input.all_out_ref_exprs().is_empty()
            }
            _ => false,
        })
    })?;
    refuse_if(
        has_always_one,
        "an aggregate without GROUP BY in EXISTS, IN, ANY or ALL is not supported here if its rows depend on the \
         outer statement; compare with the value: (SELECT count(*) …) = 0",
    )?;
    check_windows(subquery)?;
    check_joins(subquery)
}

/// Refuses outer joins whose partners depend on the outer statement. The condition would be tested behind the join, where
/// it takes the rows without a partner away.
fn check_joins(subquery: &Subquery) -> Result<()> {
    let depends = |plan: &LogicalPlan| !plan.all_out_ref_exprs().is_empty();
    let is_correlated = subquery.subquery.exists(|node| {
        let LogicalPlan::Join(join) = node else {
            return Ok(false);
        };
        let (of_left, of_right) = match join.join_type {
            JoinType::Inner => return Ok(false),
            JoinType::Left => (false, depends(&join.right)),
            JoinType::Right => (depends(&join.left), false),
            _ => (depends(&join.left), depends(&join.right)),
        };
        let in_keys = || {
            join.on
                .iter()
                .any(|(left, right)| left.contains_outer() || right.contains_outer())
        };
        Ok(of_left || of_right || join.filter.iter().any(Expr::contains_outer) || in_keys())
    })?;
    refuse_if(
        is_correlated,
        "a LEFT, RIGHT or FULL JOIN in a subquery is not supported here if its condition depends on the outer \
         statement; join its tables in the outer statement itself, with GROUP BY",
    )
}

/// Refuses windows over rows that depend on the outer statement. The join would test that condition after the window,
/// which then has the rows of all.
fn check_windows(subquery: &Subquery) -> Result<()> {
    let is_correlated = subquery.subquery.exists(|node| {
        Ok(match node {
            LogicalPlan::Window(window) => !window.input.all_out_ref_exprs().is_empty(),
            LogicalPlan::Distinct(Distinct::On(on)) => !on.input.all_out_ref_exprs().is_empty(),
            _ => false,
        })
    })?;
    refuse_if(
        is_correlated,
        "a window function or DISTINCT ON in a subquery is not supported here if its rows depend on the outer \
         statement; compute it in a table, with PARTITION BY, and join that",
    )
}

/// Refuses limits of rows that depend on the outer statement. The join has all of them. Whether there is a row is the
/// same with a LIMIT at the end.
fn check_limits(subquery: &Subquery) -> Result<()> {
    let plan: &LogicalPlan = match &*subquery.subquery {
        LogicalPlan::Limit(limit) if limit.skip.is_none() => &limit.input,
        plan => plan,
    };
    let is_correlated = plan.exists(|node| {
        Ok(match node {
            LogicalPlan::Limit(limit) => !limit.input.all_out_ref_exprs().is_empty(),
            _ => false,
        })
    })?;
    refuse_if(
        is_correlated,
        "LIMIT and OFFSET in EXISTS, ANY, ALL or behind a row and IN are not supported here if the rows depend on \
         the outer statement; number the rows in a table with row_number() and PARTITION BY, and join that",
    )
}

/// A subquery whose values DataFusion finds. It looks for them in the operators below, and sees none in `VALUES` and in
/// the nodes of [`super::keys`], which stand below the joins that EXCEPT and INTERSECT are.
fn with_plain_column(subquery: Subquery) -> Result<Subquery> {
    if !hides_columns(&subquery.subquery) {
        return Ok(subquery);
    }
    let (relation, field) = subquery.subquery.schema().qualified_field(0);
    let values = Expr::Column(Column::new(relation.cloned(), field.name()));
    let plan = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery)).project([values])?;
    Ok(Subquery {
        subquery: Arc::new(plan.build()?),
        ..subquery
    })
}

/// A subquery whose value has a name that no column of the statement has. `ANY` and `ALL` become conditions of the
/// subquery, in which a column of the same table by the same name would be compared with itself.
fn with_own_value(subquery: Subquery) -> Result<Subquery> {
    let (relation, field) = subquery.subquery.schema().qualified_field(0);
    let value = Expr::Column(Column::new(relation.cloned(), field.name())).alias(COMPARED);
    let plan = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery)).project([value])?;
    Ok(Subquery {
        subquery: Arc::new(plan.build()?),
        ..subquery
    })
}

fn hides_columns(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Join(_) | LogicalPlan::Values(_) => true,
        LogicalPlan::Distinct(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::SubqueryAlias(_) => plan.inputs().into_iter().any(hides_columns),
        _ => false,
    }
}
