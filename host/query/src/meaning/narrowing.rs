//! Decimals that are cast to fewer digits.
//!
//! DataFusion takes `CAST(price AS int) = 1` for `price = 1.00`: it moves the cast to the other side, though it takes
//! digits from this one. It does so wherever a comparison meets a cast, which may stand in a derived table.

use datafusion::{
    arrow::datatypes::DataType,
    common::DFSchema,
    logical_expr::{Cast, Expr, ExprSchemable as _, TryCast},
};

/// A cast that stays: DataFusion moves none whose inner value is wider than 128 bits.
pub fn kept(cast: Expr, schema: &DFSchema) -> Expr {
    let (Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field })) = &cast else {
        return cast;
    };
    let Ok(from) = expr.get_type(schema) else {
        return cast;
    };
    let wide = match (scale(&from), scale(field.data_type())) {
        (Some((precision, scale)), Some((_, kept))) if kept < scale => {
            DataType::Decimal256(precision, scale)
        }
        _ => return cast,
    };
    let inner = Box::new(Expr::Cast(Cast::new(expr.clone(), wide)));
    match cast {
        Expr::TryCast(cast) => Expr::TryCast(TryCast {
            expr: inner,
            ..cast
        }),
        Expr::Cast(cast) => Expr::Cast(Cast {
            expr: inner,
            ..cast
        }),
        other => other,
    }
}

/// The digits of an exact number, and those of them behind the point.
fn scale(of: &DataType) -> Option<(u8, i8)> {
    match of {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale) => Some((*precision, *scale)),
        of if of.is_integer() => Some((0, 0)),
        _ => None,
    }
}
