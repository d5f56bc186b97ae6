//! Timestamps in microseconds, as sources have them. DataFusion's default, nanoseconds, ends in the year 2262.

use std::ops::ControlFlow;

use sqlparser::ast::{DataType, Expr, Statement, VisitMut as _, VisitorMut};

/// Fractional digits of a second.
const DIGITS: u64 = 6;

/// Plans `TIMESTAMP` without a precision as microseconds.
pub fn to_microseconds(statement: &mut Statement) {
    let _ = statement.visit(&mut Microseconds);
}

struct Microseconds;

impl VisitorMut for Microseconds {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let data_type = match expr {
            Expr::Cast { data_type, .. } => data_type,
            Expr::TypedString(typed) => &mut typed.data_type,
            _ => return ControlFlow::Continue(()),
        };
        if let DataType::Timestamp(digits @ None, _) | DataType::Datetime(digits @ None) = data_type
        {
            *digits = Some(DIGITS);
        }
        ControlFlow::Continue(())
    }
}
