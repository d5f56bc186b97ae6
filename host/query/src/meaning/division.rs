//! Division of decimals. DataFusion gives the quotient four digits more than the dividend has, which are none at all
//! of `1 / 1000000.0`.

use datafusion::{
    arrow::datatypes::DataType,
    common::{DFSchema, Result},
    logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable as _, Operator},
};

/// Digits of a dividend behind the point, so that the quotient has twelve.
const SCALE: i8 = 8;
const MAX_DIGITS: u8 = 38;
/// Digits of an integer of 64 bits.
const DIGITS_OF_INTEGER: u8 = 20;

/// A quotient with at least twelve digits behind the point, if one of its sides is a decimal and both are exact.
pub fn exact(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::Divide,
        right,
    }) = expr
    else {
        return Ok(expr);
    };
    let dividend = left.get_type(schema)?;
    let divisor = right.get_type(schema)?;
    let missing = match &dividend {
        DataType::Decimal128(digits, scale) if divisor.is_decimal() || divisor.is_integer() => {
            Some((*digits, *scale)).filter(|(_, scale)| *scale < SCALE)
        }
        whole if whole.is_integer() && divisor.is_decimal() => Some((DIGITS_OF_INTEGER, 0)),
        _ => None,
    };
    let left = match missing {
        None => left,
        Some((digits, scale)) => {
            let digits = digits.saturating_add_signed(SCALE - scale).min(MAX_DIGITS);
            let wider = DataType::Decimal128(digits, SCALE);
            Box::new(Expr::Cast(Cast::new(left, wider)))
        }
    };
    Ok(Expr::BinaryExpr(BinaryExpr::new(
        left,
        Operator::Divide,
        right,
    )))
}
