//! `IN (SELECT …)` where NULL is not the same as false.

use std::sync::Arc;

use datafusion::{
    common::{
        Column, DFSchema, Result, ScalarValue, Spans,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _},
    },
    functions_aggregate::expr_fn::count,
    logical_expr::{
        BinaryExpr, Expr, ExprSchemable as _, Filter, LogicalPlan, LogicalPlanBuilder, Operator,
        Subquery,
        expr::{Exists, InSubquery},
        lit, not,
        utils::{conjunction, split_conjunction_owned},
        when,
    },
};

use crate::errors;
use mindhost_base::error::{Code, Error};

/// A condition in which `IN (SELECT …)` is NULL where SQL says so: where nothing is equal and something is NULL.
/// DataFusion knows that of a `NOT IN` that stands alone or below `AND`. In other places it makes a column of it that is
/// true or false, so that its negation is true where it is unknown.
pub fn told_from_false(filter: Filter) -> Result<LogicalPlan> {
    let Filter {
        predicate, input, ..
    } = filter;
    let conditions = split_conjunction_owned(predicate).into_iter();
    let conditions = conditions.map(|condition| match is_join(&condition) {
        true => Ok(condition),
        false => told(condition, true, input.schema()),
    });
    let conditions: Vec<_> = conditions.collect::<Result<_>>()?;
    let all = conjunction(conditions).unwrap_or_else(|| lit(true));
    Filter::try_new(all, input).map(LogicalPlan::Filter)
}

/// A condition that becomes a join of its own, which knows NULLs. A `NOT IN` of a constant or of a correlated subquery
/// becomes one that does not, or none.
fn is_join(condition: &Expr) -> bool {
    let is_known = |query: &InSubquery| {
        query.subquery.outer_ref_columns.is_empty() && query.expr.any_column_refs()
    };
    match condition {
        Expr::Not(inner) => match inner.as_ref() {
            Expr::InSubquery(query) => query.negated || is_known(query),
            other => matches!(other, Expr::Exists(_)),
        },
        Expr::InSubquery(query) => !query.negated || is_known(query),
        other => matches!(other, Expr::Exists(_)),
    }
}

/// As [`told_from_false`], for a condition whose value is looked at.
pub fn told_value(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    told(expr, false, schema)
}

/// `is_kept`: the whole condition is false where this part is, so that false and NULL are the same.
fn told(expr: Expr, is_kept: bool, schema: &DFSchema) -> Result<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: op @ (Operator::And | Operator::Or),
            right,
        }) => {
            let left = told(*left, is_kept, schema)?;
            let right = told(*right, is_kept, schema)?;
            Ok(Expr::BinaryExpr(BinaryExpr::new(
                Box::new(left),
                op,
                Box::new(right),
            )))
        }
        Expr::InSubquery(query) if is_kept && !query.negated => Ok(Expr::InSubquery(query)),
        Expr::InSubquery(query) => three_valued(query, schema),
        other => other
            .map_children(|child| told(child, false, schema).map(Transformed::yes))
            .data(),
    }
}

/// True where a value is equal, else NULL where the comparison with a value is NULL, else false.
fn three_valued(query: InSubquery, schema: &DFSchema) -> Result<Expr> {
    let values = &query.subquery.subquery;
    let (relation, field) = values.schema().qualified_field(0);
    let is_never_null = !field.is_nullable() && !query.expr.nullable(schema)?;
    // `EXISTS` would lose such a limit.
    let is_limited = !query.subquery.outer_ref_columns.is_empty() && has_limit(values)?;
    if is_limited && !is_never_null {
        return Err(errors::external(Error::new(
            Code::SqlNotSupported,
            "NOT IN, <> ALL, and IN below OR or in SELECT are not supported here with a subquery that depends on the \
             statement around it and has a LIMIT; number its rows with row_number() and compare the number",
        )));
    }
    if is_limited || (is_never_null && query.subquery.outer_ref_columns.is_empty()) {
        return Ok(Expr::InSubquery(query));
    }
    if is_never_null {
        // A join of DataFusion that knows NULLs has one column alone.
        return as_exists(&query, schema);
    }
    let value = Expr::Column(Column::new(relation.cloned(), field.name()));
    // What is the same for all rows is computed once.
    let unknown = match query.subquery.outer_ref_columns.is_empty() {
        true => {
            let inner = query.expr.as_ref().clone();
            let nulls = Filter::try_new(value.is_null(), Arc::clone(values))?;
            let has_null = has_rows(LogicalPlan::Filter(nulls), Vec::new())?;
            let all = values.as_ref().clone();
            has_null.or(inner.is_null().and(has_rows(all, Vec::new())?))
        }
        false => any_row(&query, schema, |outer, value| {
            outer.is_null().or(value.is_null())
        })?,
    };
    let equal = equal_row(&query, schema)?;
    let is_in = when(equal, lit(true))
        .when(unknown, lit(ScalarValue::Boolean(None)))
        .otherwise(lit(false))?;
    Ok(match query.negated {
        true => not(is_in),
        false => is_in,
    })
}

/// `IN` where neither side is NULL, as `EXISTS`.
pub fn as_exists(query: &InSubquery, schema: &DFSchema) -> Result<Expr> {
    let is_in = equal_row(query, schema)?;
    Ok(match query.negated {
        true => not(is_in),
        false => is_in,
    })
}

/// Whether the value before `IN` equals one of the subquery.
fn equal_row(query: &InSubquery, schema: &DFSchema) -> Result<Expr> {
    any_row(query, schema, |outer, value| outer.eq(value))
}

/// The name of a subquery's value that the statement has a column like.
pub const COMPARED: &str = "__compared";

/// Whether a condition about the value before `IN` holds for a row of the subquery. Where the statement reads the same
/// table by the same name, the subquery's value gets a name of its own: `t.q` would be equal to itself.
fn any_row(
    query: &InSubquery,
    schema: &DFSchema,
    condition: impl FnOnce(Expr, Expr) -> Expr,
) -> Result<Expr> {
    let InSubquery { expr, subquery, .. } = query;
    let (outer, columns) = seen_from_inside(expr.as_ref().clone(), schema)?;
    let (relation, field) = subquery.subquery.schema().qualified_field(0);
    let value = Column::new(relation.cloned(), field.name());
    let is_outer =
        |one: &Expr| matches!(one, Expr::OuterReferenceColumn(_, column) if *column == value);
    let (rows, value) = match columns.iter().any(is_outer) {
        false => (Arc::clone(&subquery.subquery), Expr::Column(value)),
        true => {
            let renamed = Expr::Column(value).alias(COMPARED);
            let rows =
                LogicalPlanBuilder::from(Arc::clone(&subquery.subquery)).project([renamed])?;
            let value = Expr::Column(Column::new_unqualified(COMPARED));
            (Arc::new(rows.build()?), value)
        }
    };
    let filter = Filter::try_new(condition(outer, value), rows)?;
    let outer_ref_columns = subquery.outer_ref_columns.iter().cloned();
    Ok(Expr::Exists(Exists {
        subquery: Subquery {
            subquery: Arc::new(LogicalPlan::Filter(filter)),
            outer_ref_columns: outer_ref_columns.chain(columns).collect(),
            spans: subquery.spans.clone(),
        },
        negated: false,
    }))
}

/// Whether a subquery has rows, as a count of them. `outer_ref_columns`: those of the statement around it.
pub fn has_rows(plan: LogicalPlan, outer_ref_columns: Vec<Expr>) -> Result<Expr> {
    let counted = LogicalPlanBuilder::from(plan)
        .aggregate(Vec::<Expr>::new(), [count(lit(1))])?
        .build()?;
    let rows = Expr::ScalarSubquery(Subquery {
        subquery: Arc::new(counted),
        outer_ref_columns,
        spans: Spans::new(),
    });
    Ok(rows.gt(lit(0_i64)))
}

fn has_limit(plan: &Arc<LogicalPlan>) -> Result<bool> {
    plan.exists(|node| Ok(matches!(node, LogicalPlan::Limit(_))))
}

/// The value of the statement, as the subquery sees it; and the columns that it takes.
fn seen_from_inside(value: Expr, schema: &DFSchema) -> Result<(Expr, Vec<Expr>)> {
    let mut columns = Vec::new();
    let value = value
        .transform_up(|part| match part {
            Expr::Column(column) => {
                let (_, field) = schema.qualified_field_from_column(&column)?;
                let field = Arc::clone(field);
                let column = Expr::OuterReferenceColumn(field, column);
                columns.push(column.clone());
                Ok(Transformed::yes(column))
            }
            Expr::OuterReferenceColumn(..)
            | Expr::ScalarSubquery(_)
            | Expr::InSubquery(_)
            | Expr::Exists(_) => Err(errors::external(Error::new(
                Code::SqlNotSupported,
                "a subquery or a column from further out before IN (SELECT …) below OR or NOT is not supported here; \
                 write EXISTS in place of IN",
            ))),
            other => Ok(Transformed::no(other)),
        })
        .data()?;
    Ok((value, columns))
}
