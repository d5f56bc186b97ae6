//! `EXISTS` and `IN (SELECT …)` as values: in the columns of a result, and in what is grouped or aggregated. DataFusion
//! makes joins of them in conditions alone, so here they become counts of rows, which it joins anywhere.

use std::sync::Arc;

use datafusion::{
    common::{
        Column, DFSchema, Result,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion},
    },
    logical_expr::{
        Aggregate, Distinct, Expr, FetchType, LogicalPlan, LogicalPlanBuilder, Projection,
        SkipType, Subquery, expr::Exists, expr_rewriter::NamePreserver, not,
        utils::split_conjunction,
    },
};

use super::{unjoined, unknown};
use crate::errors;
use mindhost_base::error::{Code, Error};

/// Counts in the place of such values.
pub fn counted(node: LogicalPlan) -> Result<LogicalPlan> {
    check_comparisons(&node)?;
    let has_truths = |expr: &Expr| expr.exists(|part| Ok(is_truth(part)));
    match node {
        LogicalPlan::Projection(projection) => {
            let Projection { expr, input, .. } = projection;
            let names = NamePreserver::new_for_projection();
            let expr = expr.into_iter().map(|expr| match has_truths(&expr)? {
                true => {
                    let name = names.save(&expr);
                    Ok(name.restore(value(expr, input.schema())?))
                }
                false => Ok(expr),
            });
            let expr: Vec<Expr> = expr.collect::<Result<_>>()?;
            Projection::try_new(expr, input).map(LogicalPlan::Projection)
        }
        LogicalPlan::Aggregate(aggregate) => {
            for expr in aggregate.group_expr.iter().chain(&aggregate.aggr_expr) {
                if has_truths(expr)? {
                    return grouped(aggregate);
                }
            }
            Ok(LogicalPlan::Aggregate(aggregate))
        }
        other => Ok(other),
    }
}

/// Refuses `ANY` and `ALL` outside of conditions. Those that are a kind of IN have become one before.
fn check_comparisons(node: &LogicalPlan) -> Result<()> {
    let is_comparison = |part: &Expr| Ok(matches!(part, Expr::SetComparison(_)));
    node.apply_expressions(|expr| match expr.exists(is_comparison)? {
        true => Err(errors::external(Error::new(
            Code::SqlNotSupported,
            "ANY (SELECT …) and ALL (SELECT …) can stand in WHERE and HAVING alone here, except = ANY and <> ALL; \
             elsewhere compare with the least or the greatest value: a > (SELECT max(x) …)",
        ))),
        false => Ok(TreeNodeRecursion::Continue),
    })?;
    Ok(())
}

fn is_truth(part: &Expr) -> bool {
    matches!(part, Expr::Exists(_) | Expr::InSubquery(_))
}

/// Computes the values below the groups.
fn grouped(aggregate: Aggregate) -> Result<LogicalPlan> {
    let names = NamePreserver::new_for_projection();
    let input = Arc::clone(&aggregate.input);
    let mut values = Vec::new();
    let mut replaced = |expr: Expr| {
        let name = names.save(&expr);
        let replaced = expr.transform_down(|part| {
            if !is_truth(&part) {
                return Ok(Transformed::no(part));
            }
            let name = format!("__truth_{}", values.len() + 1);
            values.push(value(part, input.schema())?.alias(name.as_str()));
            let column = Expr::Column(Column::new_unqualified(name));
            Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
        })?;
        Ok(name.restore(replaced.data))
    };
    let groups: Vec<Expr> = aggregate
        .group_expr
        .into_iter()
        .map(&mut replaced)
        .collect::<Result<_>>()?;
    let aggregates: Vec<Expr> = aggregate
        .aggr_expr
        .into_iter()
        .map(&mut replaced)
        .collect::<Result<_>>()?;
    let columns = input.schema().columns().into_iter().map(Expr::Column);
    let columns: Vec<_> = columns.chain(values).collect();
    let input = LogicalPlanBuilder::from(Arc::unwrap_or_clone(aggregate.input))
        .project(columns)?
        .build()?;
    Aggregate::try_new(Arc::new(input), groups, aggregates).map(LogicalPlan::Aggregate)
}

/// The value of an expression with such parts, which are counts then.
fn value(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    unknown::told_value(expr, schema)?
        .transform_up(|part| {
            Ok(match part {
                Expr::InSubquery(query) => Transformed::yes(unknown::as_exists(&query, schema)?),
                other => Transformed::no(other),
            })
        })?
        .data
        .transform_up(|part| {
            Ok(match part {
                Expr::Exists(exists) => Transformed::yes(as_count(exists)?),
                other => Transformed::no(other),
            })
        })
        .data()
}

/// `EXISTS` as a count of rows.
fn as_count(exists: Exists) -> Result<Expr> {
    let Subquery {
        subquery,
        outer_ref_columns,
        ..
    } = exists.subquery;
    let rows = row_source(Arc::unwrap_or_clone(subquery))?;
    if !outer_ref_columns.is_empty() {
        check_joins(&rows)?;
    }
    let has_rows = unknown::has_rows(rows, outer_ref_columns)?;
    Ok(match exists.negated {
        true => not(has_rows),
        false => has_rows,
    })
}

/// Refuses what is no join by equal values: other conditions about the outer statement, and some rows for each of its.
fn check_joins(plan: &LogicalPlan) -> Result<()> {
    let has_others = plan.exists(|node| {
        Ok(match node {
            LogicalPlan::Filter(filter) => split_conjunction(&filter.predicate)
                .into_iter()
                .any(|condition| condition.contains_outer() && !unjoined::is_equality(condition)),
            LogicalPlan::Limit(limit) => !limit.input.all_out_ref_exprs().is_empty(),
            _ => false,
        })
    })?;
    match has_others {
        true => Err(errors::external(Error::new(
            Code::SqlNotSupported,
            "EXISTS and IN (SELECT …) outside of WHERE compare with the outer statement by `=` alone here, IN not with \
             what may be NULL, and without LIMIT; write them in WHERE, or count the rows of a join",
        ))),
        false => Ok(()),
    }
}

/// What has rows where the plan has some: without what only orders them, computes columns of them, or drops all but some.
fn row_source(plan: LogicalPlan) -> Result<LogicalPlan> {
    let input = match plan {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => sort.input,
        LogicalPlan::Distinct(Distinct::All(input)) => input,
        LogicalPlan::Limit(limit) => {
            let keeps_some = matches!(
                limit.get_fetch_type()?,
                FetchType::Literal(None | Some(1..))
            );
            match keeps_some && matches!(limit.get_skip_type()?, SkipType::Literal(0)) {
                true => limit.input,
                false => return Ok(LogicalPlan::Limit(limit)),
            }
        }
        LogicalPlan::Projection(projection) => projection.input,
        other => return Ok(other),
    };
    row_source(Arc::unwrap_or_clone(input))
}
