//! Texts beside truth values: `flag = 't'`. In PostgreSQL such a constant is a truth value. DataFusion compares the two
//! not at all.

use datafusion::{
    arrow::datatypes::DataType,
    common::{DFSchema, Result, ScalarValue},
    logical_expr::{
        Expr, ExprSchemable as _,
        planner::{ExprPlanner, PlannerResult, RawBinaryExpr},
    },
};
use sqlparser::ast::BinaryOperator;

use crate::errors;
use mindhost_base::error::{Code, Error};

/// Reads them in comparisons, whose types DataFusion already looks at while it plans the list of SELECT.
#[derive(Debug)]
pub struct TruthPlanner;

impl ExprPlanner for TruthPlanner {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
        let RawBinaryExpr { op, left, right } = expr;
        let mut sides = [left, right];
        if matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq) {
            // A side whose type is not known yet is no truth value.
            let of = |side: &Expr| side.get_type(schema).unwrap_or(DataType::Null);
            let types = sides.each_ref().map(of);
            as_truths(&mut sides, &types)?;
        }
        let [left, right] = sides;
        Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
    }
}

/// Constant texts beside truth values as truth values.
///
/// # Errors
/// `sql_invalid` for a text that is none.
pub fn as_truths(sides: &mut [Expr], types: &[DataType]) -> Result<()> {
    if !types.contains(&DataType::Boolean) {
        return Ok(());
    }
    for side in sides {
        let Expr::Literal(value, _) = side else {
            continue;
        };
        if let Some(Some(text)) = value.try_as_str() {
            let truth = truth(text)?;
            *side = Expr::Literal(truth, None);
        }
    }
    Ok(())
}

/// The truth value that PostgreSQL reads in a text: `true`, `yes`, `on` and `1`, `false`, `no`, `off` and `0`, in any
/// case and shortened.
fn truth(text: &str) -> Result<ScalarValue> {
    let value = ScalarValue::from(text.trim()).cast_to(&DataType::Boolean);
    value.map_err(|_| {
        errors::external(Error::new(
            Code::SqlInvalid,
            "a truth value is compared with a text that is none; compare it with TRUE or FALSE",
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_truth_values_as_in_postgresql() {
        for (text, expected) in [
            ("true", Some(true)),
            (" T ", Some(true)),
            ("ye", Some(true)),
            ("on", Some(true)),
            ("1", Some(true)),
            ("FALSE", Some(false)),
            ("of", Some(false)),
            ("n", Some(false)),
            ("0", Some(false)),
            ("o", None),
            ("2", None),
            ("", None),
            ("maybe", None),
        ] {
            let found = truth(text).ok();
            let expected = expected.map(|value| ScalarValue::Boolean(Some(value)));
            assert_eq!(found, expected, "{text}");
        }
    }
}
