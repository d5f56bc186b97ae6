//! The type of `round(decimal, digits)`, and the halves of `round(double)`.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{Array as _, ArrayRef, AsArray as _},
        compute::cast,
        datatypes::{DataType, Float32Type, Float64Type},
    },
    common::{DFSchema, Result, ScalarValue, plan_err, tree_node::TreeNode as _},
    logical_expr::{
        ColumnarValue, Expr, ExprSchemable as _, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
        Signature, Volatility, expr::ScalarFunction, simplify::SimplifyContext,
    },
    optimizer::simplify_expressions::ExprSimplifier,
};

use super::scalar;

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

/// `round` of a float with halves to the even number, as in PostgreSQL. DataFusion rounds them away from zero, as
/// PostgreSQL does those of decimals.
pub fn half_to_even(expr: Expr, schema: &DFSchema) -> Expr {
    let Expr::ScalarFunction(call) = &expr else {
        return expr;
    };
    let [value] = call.args.as_slice() else {
        return expr;
    };
    let is_float = |of: DataType| matches!(of, DataType::Float32 | DataType::Float64);
    if call.func.name() != "round" || !value.get_type(schema).is_ok_and(is_float) {
        return expr;
    }
    let round = ScalarUDF::from(HalfToEven {
        signature: Signature::any(1, Volatility::Immutable),
    });
    Expr::ScalarFunction(ScalarFunction::new_udf(
        Arc::new(round),
        vec![value.clone()],
    ))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct HalfToEven {
    signature: Signature,
}

impl ScalarUDFImpl for HalfToEven {
    fn name(&self) -> &'static str {
        "round"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [of] => Ok(of.clone()),
            _ => plan_err!("`round` of a float has one argument"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        scalar::of_one(&args.args, |values| {
            let rounded: ArrayRef = match values.data_type() {
                DataType::Float32 => {
                    let values = values.as_primitive::<Float32Type>();
                    Arc::new(values.unary::<_, Float32Type>(f32::round_ties_even))
                }
                _ => {
                    let values = cast(values, &DataType::Float64)?;
                    let values = values.as_primitive::<Float64Type>();
                    Arc::new(values.unary::<_, Float64Type>(f64::round_ties_even))
                }
            };
            Ok(rounded)
        })
    }
}
