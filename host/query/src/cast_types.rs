//! The types that a statement casts to.

use std::ops::ControlFlow;

use sqlparser::ast::{DataType, Expr, Statement, VisitMut as _, VisitorMut};

/// Lets `change` change each type of a cast and of a constant with a type (`timestamp '2024-01-31'`).
pub fn change(statement: &mut Statement, change: impl FnMut(&mut DataType)) {
    let _ = statement.visit(&mut CastTypes(change));
}

struct CastTypes<F>(F);

impl<F: FnMut(&mut DataType)> VisitorMut for CastTypes<F> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Cast { data_type, .. } => (self.0)(data_type),
            Expr::TypedString(typed) => (self.0)(&mut typed.data_type),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
