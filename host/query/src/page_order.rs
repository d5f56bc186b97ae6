//! The order of rows with equal sort keys. The first rows of an order are found without the others, so such rows would
//! come in another order for each LIMIT and OFFSET, and pages would lose some and repeat others. They are sorted by all
//! their columns at last: what is equal then may stand for one another.

use std::sync::Arc;

use datafusion::{
    arrow::row::{RowConverter, SortField},
    common::{
        Result,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _},
    },
    logical_expr::{Expr, LogicalPlan, Sort, SortExpr},
};

/// A plan whose limit has a total order below it, if the statement has an order.
pub fn total(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Limit(_) => sorted(plan),
        other => Ok(other),
    }
}

fn sorted(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Sort(sort) => Ok(LogicalPlan::Sort(by_all_columns(sort))),
        LogicalPlan::Limit(_) | LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => plan
            .map_children(|input| sorted(input).map(Transformed::yes))
            .data(),
        other => Ok(other),
    }
}

fn by_all_columns(mut sort: Sort) -> Sort {
    let schema = Arc::clone(sort.input.schema());
    for (column, field) in schema.columns().into_iter().zip(schema.fields()) {
        let column = Expr::Column(column);
        let is_key = sort.expr.iter().any(|key| key.expr == column);
        let can_sort = RowConverter::supports_fields(&[SortField::new(field.data_type().clone())]);
        if !is_key && can_sort {
            sort.expr.push(SortExpr::new(column, true, false));
        }
    }
    sort
}
