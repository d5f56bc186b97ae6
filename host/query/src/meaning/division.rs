//! Division of decimals. DataFusion gives the quotient four digits more than the dividend has, which are none at all
//! of `1 / 1000000.0`. Parts of dates are decimals in it, as in PostgreSQL, though DataFusion has integers for them.

use datafusion::{
    arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType},
    common::{DFSchema, Result},
    logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable as _, Operator},
};

/// Digits of a dividend behind the point, so that the quotient has twelve.
const SCALE: i8 = 8;
/// Digits of an integer of 64 bits.
const DIGITS_OF_INTEGER: u8 = 20;

/// A quotient with at least twelve digits behind the point, if one of its sides is a decimal or a part of a date, and
/// both are exact.
pub fn exact(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::Divide,
        right,
    }) = expr
    else {
        return Ok(expr);
    };
    let types = (left.get_type(schema)?, right.get_type(schema)?);
    let are_integers = types.0.is_integer() && types.1.is_integer();
    let (left, dividend) = match are_integers && is_part_of_date(&left) {
        true => as_decimal(left),
        false => (left, types.0),
    };
    let (right, divisor) = match are_integers && is_part_of_date(&right) {
        true => as_decimal(right),
        false => (right, types.1),
    };
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
            let digits = digits
                .saturating_add_signed(SCALE - scale)
                .min(DECIMAL128_MAX_PRECISION);
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

fn as_decimal(integer: Box<Expr>) -> (Box<Expr>, DataType) {
    let decimal = DataType::Decimal128(DIGITS_OF_INTEGER, 0);
    let cast = Expr::Cast(Cast::new(integer, decimal.clone()));
    (Box::new(cast), decimal)
}

/// Whether an integer is `extract(…)`, or computed of one by `+`, `-` and `*`, which are checked functions by now.
/// Above groups it is a column, which has the name of the call.
fn is_part_of_date(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(call) => match call.func.name() {
            "date_part" => true,
            "+" | "-" | "*" => call.args.iter().any(is_part_of_date),
            _ => false,
        },
        Expr::BinaryExpr(operation) => {
            is_part_of_date(&operation.left) || is_part_of_date(&operation.right)
        }
        Expr::Alias(alias) => is_part_of_date(&alias.expr),
        Expr::Column(column) => column.relation.is_none() && column.name.starts_with("date_part("),
        _ => false,
    }
}
