//! The type of `round(decimal, digits)`.

use datafusion::{
    arrow::datatypes::DataType,
    common::{ScalarValue, tree_node::TreeNode as _},
    logical_expr::{Expr, expr::ScalarFunction, simplify::SimplifyContext},
    optimizer::simplify_expressions::ExprSimplifier,
};

/// `round` with constant digits as the type that it takes them in. DataFusion makes the type of the result from a
/// literal alone. It would cast one of another type, have no literal then, and one again when the cast is computed: the
/// result would have another type when it runs than when its comparison was planned.
pub fn fixed_digits(expr: Expr) -> Expr {
    let Expr::ScalarFunction(mut call) = expr else {
        return expr;
    };
    if let Some(digits) = digits(&call)
        && let Some(argument) = call.args.get_mut(1)
    {
        *argument = Expr::Literal(digits, None);
    }
    Expr::ScalarFunction(call)
}

fn digits(call: &ScalarFunction) -> Option<ScalarValue> {
    let [_, digits] = call.args.as_slice() else {
        return None;
    };
    if call.func.name() != "round" || !is_constant(digits) {
        return None;
    }
    let simplifier = ExprSimplifier::new(SimplifyContext::default());
    match simplifier.simplify(digits.clone()) {
        Ok(Expr::Literal(value, _)) => value.cast_to(&DataType::Int32).ok(),
        _ => None,
    }
}

fn is_constant(expr: &Expr) -> bool {
    let varies = |part: &Expr| {
        matches!(
            part,
            Expr::Column(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::ScalarSubquery(_)
                | Expr::AggregateFunction(_)
                | Expr::WindowFunction(_)
        ) || part.is_volatile_node()
    };
    !expr.exists(|part| Ok(varies(part))).unwrap_or(true)
}
