//! Comparisons of a decimal that was cast to fewer digits.

use datafusion::{
    arrow::datatypes::DataType,
    common::DFSchema,
    logical_expr::{Between, BinaryExpr, Cast, Expr, ExprSchemable as _, TryCast, expr::InList},
};

use super::is_comparison;

/// A comparison whose casts stay. DataFusion takes `CAST(price AS int) = 1` for `price = 1.00`: it moves the cast to the
/// other side, though it takes digits from this one. It does not where the inner value is wider than 128 bits.
pub fn kept(expr: Expr, schema: &DFSchema) -> Expr {
    let widened = |side: Box<Expr>| Box::new(widened(*side, schema));
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            Expr::BinaryExpr(BinaryExpr::new(widened(left), op, widened(right)))
        }
        Expr::Between(between) => Expr::Between(Between {
            expr: widened(between.expr),
            ..between
        }),
        Expr::InList(list) => Expr::InList(InList {
            expr: widened(list.expr),
            ..list
        }),
        other => other,
    }
}

fn widened(side: Expr, schema: &DFSchema) -> Expr {
    let (Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field })) = &side else {
        return side;
    };
    let Ok(from) = expr.get_type(schema) else {
        return side;
    };
    let wide = match (scale(&from), scale(field.data_type())) {
        (Some((precision, scale)), Some((_, kept))) if kept < scale => {
            Some(DataType::Decimal256(precision, scale))
        }
        _ => None,
    };
    let inner = Box::new(match wide {
        Some(wide) => Expr::Cast(Cast::new(expr.clone(), wide)),
        // `CAST(CAST(price AS int) AS bigint)`.
        None => widened(expr.as_ref().clone(), schema),
    });
    match side {
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
