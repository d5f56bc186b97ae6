//! The two zeros of floats. DataFusion takes them for two values where it compares by their bits: in `CASE x WHEN 0`,
//! and among the rows of a window that stand at the same place. A computed NaN has a sign by which it is less than all
//! numbers.

use datafusion::{
    arrow::datatypes::DataType,
    common::{DFSchema, Result, ScalarValue},
    logical_expr::{BinaryExpr, Case, Expr, ExprSchemable as _, Operator},
};

use crate::checked_arithmetic;

/// An expression that compares floats as numbers. The sum with zero is the zero without a sign, and the one NaN.
pub fn equal(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(match expr {
        Expr::Case(Case {
            expr: Some(of),
            when_then_expr,
            else_expr,
        }) => {
            let pairs = when_then_expr.into_iter().map(|(mut when, then)| {
                add_zero(&mut when, schema)?;
                Ok((when, then))
            });
            let pairs = pairs.collect::<Result<_>>()?;
            let mut of = of;
            add_zero(&mut of, schema)?;
            Expr::Case(Case::new(Some(of), pairs, else_expr))
        }
        Expr::WindowFunction(mut function) => {
            let window = &mut function.params;
            for part in &mut window.partition_by {
                add_zero(part, schema)?;
            }
            for key in &mut window.order_by {
                add_zero(&mut key.expr, schema)?;
            }
            Expr::WindowFunction(function)
        }
        Expr::BinaryExpr(BinaryExpr {
            op: Operator::Divide,
            ..
        }) => match negative_zero(&expr.get_type(schema)?) {
            // It changes no value. A sum has the one NaN.
            Some(zero) => plus(expr, zero),
            None => expr,
        },
        other => other,
    })
}

fn negative_zero(of: &DataType) -> Option<ScalarValue> {
    match of {
        DataType::Float32 => Some(ScalarValue::Float32(Some(-0.0))),
        DataType::Float64 => Some(ScalarValue::Float64(Some(-0.0))),
        _ => None,
    }
}

fn plus(value: Expr, zero: ScalarValue) -> Expr {
    let zero = Expr::Literal(zero, None);
    checked_arithmetic::call(Some(Operator::Plus), vec![value, zero])
}

fn add_zero(value: &mut Expr, schema: &DFSchema) -> Result<()> {
    let of = value.get_type(schema)?;
    let is_float = matches!(of, DataType::Float32 | DataType::Float64);
    if is_float && !matches!(value, Expr::Literal(..)) {
        *value = plus(std::mem::take(value), ScalarValue::new_zero(&of)?);
    }
    Ok(())
}
