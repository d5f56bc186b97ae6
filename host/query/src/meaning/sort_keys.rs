//! Sort keys that stand twice. DataFusion drops the second one of an aggregate's rows, but not of what it compares them
//! with, and panics.

use datafusion::{
    common::Result,
    logical_expr::{Distinct, DistinctOn, Expr, LogicalPlan, SortExpr},
};

/// `DISTINCT ON` with each key once.
pub fn of_distinct(node: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Distinct(Distinct::On(mut distinct)) = node else {
        return Ok(node);
    };
    let Some(keys) = distinct.sort_expr.take() else {
        return Ok(LogicalPlan::Distinct(Distinct::On(distinct)));
    };
    let mut on = Vec::with_capacity(distinct.on_expr.len());
    for expr in distinct.on_expr {
        if !on.contains(&expr) {
            on.push(expr);
        }
    }
    let (select, input) = (distinct.select_expr, distinct.input);
    let distinct = DistinctOn::try_new(on, select, Some(once(keys)), input)?;
    Ok(LogicalPlan::Distinct(Distinct::On(distinct)))
}

/// An aggregate over rows in an order with each key once.
pub fn of_aggregate(expr: Expr) -> Expr {
    let Expr::AggregateFunction(mut function) = expr else {
        return expr;
    };
    let keys = &mut function.params.order_by;
    *keys = once(std::mem::take(keys));
    Expr::AggregateFunction(function)
}

/// The first of the keys of each expression decides.
fn once(keys: Vec<SortExpr>) -> Vec<SortExpr> {
    let mut kept: Vec<SortExpr> = Vec::with_capacity(keys.len());
    for key in keys {
        if kept.iter().all(|other| other.expr != key.expr) {
            kept.push(key);
        }
    }
    kept
}
