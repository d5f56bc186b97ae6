//! Groups of a datasource that may be several for one group of the host, put together there.

use std::sync::Arc;

use datafusion::{
    common::Result,
    functions_aggregate::sum::sum_udaf,
    logical_expr::{
        Aggregate, Expr, ExprSchemable as _, LogicalPlan, Projection,
        expr::{AggregateFunction, AggregateFunctionParams},
    },
};

/// The groups of an aggregation out of finer groups, whose columns are those of the aggregation. `None` if an aggregate
/// does not follow from those of the parts of a group.
pub fn merged(aggregate: &Aggregate, groups: LogicalPlan) -> Result<Option<LogicalPlan>> {
    let columns: Vec<Expr> = groups
        .schema()
        .columns()
        .into_iter()
        .map(Expr::Column)
        .collect();
    let (keys, parts) = columns.split_at(aggregate.group_expr.len());
    let whole = aggregate.aggr_expr.iter().zip(parts);
    let whole = whole.map(|(expr, part)| of_parts(expr, part));
    let Some(whole) = whole.collect::<Option<Vec<Expr>>>() else {
        return Ok(None);
    };
    let groups = Aggregate::try_new(Arc::new(groups), keys.to_vec(), whole)?;
    let columns = groups.schema.columns().into_iter().map(Expr::Column);
    let fields = aggregate.schema.fields().iter();
    let named = columns.zip(fields).enumerate();
    let named = named.map(|(index, (column, field))| match index < keys.len() {
        true => Ok(column),
        // A sum of sums has more digits.
        false => Ok(column
            .cast_to(field.data_type(), &groups.schema)?
            .alias(field.name())),
    });
    let named = named.collect::<Result<Vec<_>>>()?;
    let groups = Arc::new(LogicalPlan::Aggregate(groups));
    Ok(Some(LogicalPlan::Projection(Projection::try_new(
        named, groups,
    )?)))
}

/// An aggregate of a group out of those of its parts.
fn of_parts(expr: &Expr, part: &Expr) -> Option<Expr> {
    let Expr::AggregateFunction(AggregateFunction {
        func,
        params: AggregateFunctionParams { distinct, .. },
    }) = expr.clone().unalias()
    else {
        return None;
    };
    let func = match (func.name(), distinct) {
        // The number of rows always fits.
        ("count", false) => sum_udaf(),
        ("sum", false) | ("min" | "max", _) => func,
        _ => return None,
    };
    let args = vec![part.clone()];
    let whole = AggregateFunction::new_udf(func, args, false, None, Vec::new(), None);
    Some(Expr::AggregateFunction(whole))
}
