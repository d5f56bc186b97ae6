//! The value of a subquery without rows, which is NULL. DataFusion takes it for one that is NULL as rarely as the value
//! of a row, so that `(SELECT 1 FROM t WHERE id = 7) IS NULL` would be false.

use std::sync::Arc;

use datafusion::{
    arrow::datatypes::{DataType, FieldRef},
    common::{Result, internal_err},
    logical_expr::{
        ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
        ScalarUDFImpl, Signature, Subquery, Volatility,
    },
};

/// The function that may be NULL whatever its argument is. The guard lets no statement call it.
const OR_NULL: &str = "__or_null";

/// A subquery that stands for a value, which may be NULL if there may be no row.
pub fn or_null(subquery: Subquery) -> Expr {
    let may_be_null = subquery.subquery.schema().field(0).is_nullable();
    let is_known = may_be_null || is_never_null(&subquery.subquery);
    let value = Expr::ScalarSubquery(subquery);
    match is_known {
        true => value,
        false => function().call(vec![value]),
    }
}

/// Whether a query has one row in any case, whose value is no NULL: that of `count`, or of no table.
fn is_never_null(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_never_null(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_never_null(&alias.input),
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        LogicalPlan::Aggregate(aggregate) => {
            let mut functions = aggregate.aggr_expr.iter();
            aggregate.group_expr.is_empty() && functions.all(is_count)
        }
        _ => false,
    }
}

fn is_count(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_count(&alias.expr),
        Expr::AggregateFunction(call) => call.func.name() == "count",
        _ => false,
    }
}

/// The function of such values.
pub fn function() -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::from(OrNull { signature }))
}

/// Its argument is its result.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OrNull {
    signature: Signature,
}

impl ScalarUDFImpl for OrNull {
    fn name(&self) -> &str {
        OR_NULL
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [data_type] => Ok(data_type.clone()),
            _ => internal_err!("a value of no rows without a value"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields {
            [field] => Ok(Arc::new(field.as_ref().clone().with_nullable(true))),
            _ => internal_err!("a value of no rows without a value"),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.pop() {
            Some(value) => Ok(value),
            None => internal_err!("a value of no rows without a value"),
        }
    }
}
