//! The two zeros of floats. DataFusion takes them for two values where it compares by their bits: in `CASE x WHEN 0`, in
//! long lists of IN, and among the rows of a window that stand at the same place. A computed NaN has a sign by which it is
//! less than all numbers.

use datafusion::{
    arrow::datatypes::DataType,
    common::{DFSchema, Result, ScalarValue},
    logical_expr::{BinaryExpr, Case, Expr, ExprSchemable as _, Operator, expr::InList},
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
        Expr::InList(list) => in_list(list, schema)?,
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

/// `x IN (0, …)` as `x IN (0, …) OR x = 0`, because `=` compares floats as numbers. The same for each constant that may
/// turn out to be zero.
fn in_list(list: InList, schema: &DFSchema) -> Result<Expr> {
    let mut of_floats = false;
    for value in std::iter::once(&*list.expr).chain(&list.list) {
        of_floats |= is_float(&value.get_type(schema)?);
    }
    let zeros: Vec<Expr> = list.list.iter().filter(may_be_zero).cloned().collect();
    let of = Expr::clone(&list.expr);
    let negated = list.negated;
    let whole = Expr::InList(list);
    if !of_floats {
        return Ok(whole);
    }
    Ok(zeros.into_iter().fold(whole, |all, zero| match negated {
        false => all.or(of.clone().eq(zero)),
        true => all.and(of.clone().not_eq(zero)),
    }))
}

/// Whether it is a constant that is zero, or that is not computed yet.
fn may_be_zero(constant: &&Expr) -> bool {
    match constant {
        Expr::Literal(value, _) => matches!(
            value.cast_to(&DataType::Float64),
            Ok(ScalarValue::Float64(Some(0.0)))
        ),
        other => other.column_refs().is_empty(),
    }
}

fn is_float(of: &DataType) -> bool {
    matches!(of, DataType::Float32 | DataType::Float64)
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
    if is_float(&of) && !matches!(value, Expr::Literal(..)) {
        *value = plus(std::mem::take(value), ScalarValue::new_zero(&of)?);
    }
    Ok(())
}
